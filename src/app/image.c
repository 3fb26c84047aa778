#include "app/image.h"

#include "app/idx.h"
#include "app/option.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { IMAGE_SEGMENTS = 7, IMAGE_STRAYS = 2 };

/* A stroke along a line or a column, in points from the middle of the figure. */
struct image_stroke {
    double x, y;           /* Its middle. */
    double half_x, half_y; /* One of them is zero. */
};

/* What is the same for a whole figure. */
struct image_figure {
    double x, y; /* Its middle in the image. */
    double shear_x, shear_y;
    double half; /* Width of a stroke, halved. */
    uint32_t stroke_count;
    struct image_stroke strokes[IMAGE_SEGMENTS + IMAGE_STRAYS];
};

/* Segments from the top, clockwise, the middle one last; in halves of width and height. */
static const struct image_stroke image_segments[IMAGE_SEGMENTS] = {
    {0, -1, 1, 0},     {1, -0.5, 0, 0.5},  {1, 0.5, 0, 0.5}, {0, 1, 1, 0},
    {-1, 0.5, 0, 0.5}, {-1, -0.5, 0, 0.5}, {0, 0, 1, 0},
};

/* Which segments shine, bit by bit. */
static const uint8_t image_figures[APP_IMAGE_CLASSES] = {0x3f, 0x06, 0x5b, 0x4f, 0x66,
                                                         0x6d, 0x7d, 0x07, 0x7f, 0x6f};

static double image_between(struct rng *r, double low, double high)
{
    return low + rng_unit(r) * (high - low);
}

static void image_plan(struct rng *r, uint8_t label, struct image_figure *f)
{
    double width = image_between(r, 3.0, 5.5);
    double height = image_between(r, 6.0, 9.0);

    memset(f, 0, sizeof(*f));
    f->x = image_between(r, 9.5, 17.5);
    f->y = image_between(r, 10.5, 16.5);
    f->shear_x = image_between(r, -0.3, 0.3);
    f->shear_y = image_between(r, -0.2, 0.2);
    f->half = image_between(r, 0.5, 1.2);
    for (uint32_t i = 0; i < IMAGE_SEGMENTS; i++) {
        const struct image_stroke *s = &image_segments[i];

        if ((image_figures[label] >> i & 1) != 0) {
            f->strokes[f->stroke_count++] = (struct image_stroke){
                s->x * width, s->y * height, s->half_x * width, s->half_y * height};
        }
    }
    for (uint32_t i = 0; i < IMAGE_STRAYS; i++) {
        double half = image_between(r, 0.5, 2.0);
        double x = image_between(r, -12, 12), y = image_between(r, -12, 12);
        bool lies = rng_chance(r, 500000);

        f->strokes[f->stroke_count++] =
            (struct image_stroke){x, y, lies ? half : 0, lies ? 0 : half};
    }
}

/* How much ink falls on a point, from 0 to 1. */
static double image_ink(const struct image_figure *f, uint32_t column, uint32_t line)
{
    double dx = column - f->x, dy = line - f->y;
    double x = dx + f->shear_x * dy, y = dy + f->shear_y * dx;
    double nearest = APP_IMAGE_PIXELS;
    double ink;

    for (uint32_t i = 0; i < f->stroke_count; i++) {
        const struct image_stroke *s = &f->strokes[i];
        double far_x = fabs(x - s->x) - s->half_x, far_y = fabs(y - s->y) - s->half_y;
        double square;

        far_x = far_x > 0 ? far_x : 0;
        far_y = far_y > 0 ? far_y : 0;
        square = far_x * far_x + far_y * far_y;
        nearest = square < nearest ? square : nearest;
    }
    ink = f->half + 0.5 - sqrt(nearest);
    return ink < 0 ? 0 : ink > 1 ? 1 : ink;
}

void app_image_draw(uint64_t seed, uint32_t index, uint8_t *pixels, uint8_t *label_out)
{
    struct image_figure f;
    struct rng r, of_image;
    double strength;

    rng_init(&r, seed);
    of_image = rng_fork(&r, index);
    *label_out = (uint8_t)rng_below(&of_image, APP_IMAGE_CLASSES);
    image_plan(&of_image, *label_out, &f);
    strength = image_between(&of_image, 90, 200);
    for (uint32_t i = 0; i < APP_IMAGE_PIXELS; i++) {
        double ink = image_ink(&f, i % APP_IMAGE_SIDE, i / APP_IMAGE_SIDE);
        /* The sum of two is more often small than large. */
        double noise = (double)(rng_below(&of_image, 28) + rng_below(&of_image, 28));

        pixels[i] = (uint8_t)(strength * ink + noise);
    }
}

void app_image_floats(const uint8_t *pixels, float *out)
{
    const float factor = (float)(1 / (255 * 0.3530)), shift = (float)(0.2860 / 0.3530);

    for (uint32_t i = 0; i < APP_IMAGE_PIXELS; i++) {
        out[i] = (float)pixels[i] * factor - shift;
    }
}

static enum err image_allocate(uint32_t count, struct app_image_set *set, struct err_text *text)
{
    /* An empty part still has something to point to. */
    set->pixels = mem_calloc(count + 1u, APP_IMAGE_PIXELS);
    set->labels = mem_calloc(count + 1u, 1);
    set->count = count;
    return set->pixels != NULL && set->labels != NULL
               ? OK
               : err_text_set(text, ERR_NOMEM, "out of memory for %u images", count);
}

static enum err image_generate(const struct app_image_config *c, enum app_idx_part part,
                               struct app_image_set *set, struct err_text *text)
{
    uint32_t most = c->train == 0 ? APP_IMAGE_TRAIN_DEFAULT : c->train;
    uint32_t base = part == APP_IDX_TRAIN ? 0 : APP_IMAGE_COUNT_MAX;
    uint64_t first, end;
    enum err rc;

    most = part == APP_IDX_TRAIN ? most : c->test;
    CHECK(most <= APP_IMAGE_COUNT_MAX);
    app_part(most, c->rank, c->workers, &first, &end);
    rc = image_allocate((uint32_t)(end - first), set, text);
    for (uint32_t i = 0; i < set->count && rc == OK; i++) {
        app_image_draw(c->seed, base + (uint32_t)first + i,
                       set->pixels + (size_t)i * APP_IMAGE_PIXELS, &set->labels[i]);
    }
    return rc;
}

/* Copy this worker's part out of a whole set. */
static enum err image_cut(const struct app_image_config *c, uint32_t most,
                          const struct app_idx_set *whole, struct app_image_set *set,
                          struct err_text *text)
{
    uint64_t first, end;
    enum err rc;

    if (whole->images.height != APP_IMAGE_SIDE || whole->images.width != APP_IMAGE_SIDE) {
        return err_text_set(
            text, ERR_INVALID, "%.300s: images of %u x %u points, not of %d x %d; convert them",
            c->folder, whole->images.width, whole->images.height, APP_IMAGE_SIDE, APP_IMAGE_SIDE);
    }
    most = most == 0 || most > whole->images.count ? whole->images.count : most;
    app_part(most, c->rank, c->workers, &first, &end);
    rc = image_allocate((uint32_t)(end - first), set, text);
    if (rc == OK) {
        memcpy(set->pixels, whole->images.pixels + first * APP_IMAGE_PIXELS,
               (size_t)set->count * APP_IMAGE_PIXELS);
        memcpy(set->labels, whole->labels.labels + first, set->count);
    }
    return rc;
}

static enum err image_read(const struct app_image_config *c, enum app_idx_part part,
                           struct app_image_set *set, struct err_text *text)
{
    struct app_idx_set whole;
    enum err rc;

    if (c->folder == NULL) {
        return image_generate(c, part, set, text);
    }
    rc = app_idx_set_read(c->folder, part, APP_IMAGE_CLASSES, &whole, text);
    if (rc != OK) {
        return rc;
    }
    rc = image_cut(c, part == APP_IDX_TRAIN ? c->train : c->test, &whole, set, text);
    app_idx_set_free(&whole);
    return rc;
}

enum err app_image_read(const struct app_image_config *config, struct app_image_set *train_out,
                        struct app_image_set *test_out, struct err_text *text)
{
    struct app_image_set train = {0}, test = {0};
    enum err rc;

    rc = image_read(config, APP_IDX_TRAIN, &train, text);
    if (rc == OK) {
        rc = image_read(config, APP_IDX_TEST, &test, text);
    }
    if (rc != OK) {
        app_image_free(&train);
        app_image_free(&test);
        return rc;
    }
    *train_out = train;
    *test_out = test;
    return OK;
}

void app_image_free(struct app_image_set *set)
{
    mem_free(set->pixels);
    mem_free(set->labels);
    *set = (struct app_image_set){0};
}
