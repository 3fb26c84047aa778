#include "app/layer_stack.h"

#include "app/gemm.h"
#include "app/layer.h"
#include "base/mem.h"

#include <math.h>

/* One layer with its room. */
struct stack_level {
    enum app_stack_kind kind;
    struct app_layer_conv conv;   /* Convolution. */
    struct app_layer_dense dense; /* Convolution (of patches) and dense. */
    uint32_t rows;                /* Rows of .dense for one image. */
    uint32_t side;                /* Pool: in. */
    uint32_t channels;
    uint32_t in_elements; /* Of one image. */
    uint32_t out_elements;
    uint32_t first; /* Of its parameters. */
    uint32_t count;
    float scale;
    float *patches; /* Convolution: as spread, then their derivative. */
    float *out;     /* Owned, but with relu the one below. */
};

struct app_stack {
    uint32_t level_count;
    uint32_t slice;
    uint32_t elements;
    double flops;
    float *params;
    float *images;
    float *d[2]; /* Derivatives going down, in turns. */
    uint32_t d_now;
    struct stack_level levels[APP_STACK_LAYERS_MAX];
};

/* Set the shape of a level by what is below it, and move @side and @channels above it. */
static void stack_shape(struct stack_level *l, const struct app_stack_layer *layer, uint32_t *side,
                        uint32_t *channels)
{
    l->kind = layer->kind;
    l->side = *side;
    l->channels = *channels;
    l->in_elements = *side * *side * *channels;
    if (layer->kind == APP_STACK_CONV) {
        CHECK(layer->kernel <= *side);
        l->conv = (struct app_layer_conv){*side, *channels, layer->kernel, layer->size};
        *side = app_layer_conv_side(&l->conv);
        *channels = layer->size;
        l->dense = (struct app_layer_dense){app_layer_conv_patch(&l->conv), layer->size};
        l->rows = *side * *side;
    } else if (layer->kind == APP_STACK_POOL) {
        CHECK(*side % 2 == 0);
        *side /= 2;
    } else if (layer->kind == APP_STACK_DENSE) {
        l->dense = (struct app_layer_dense){l->in_elements, layer->size};
        l->rows = 1;
        *side = 1;
        *channels = layer->size;
    }
    l->out_elements = *side * *side * *channels;
}

/* Number the parameters of a level, and count its work: a product forward, two backward. */
static void stack_count(struct app_stack *s, struct stack_level *l)
{
    if (l->rows == 0) {
        return;
    }
    l->first = s->elements;
    l->count = (l->dense.inputs + 1) * l->dense.outputs;
    l->scale = 1.0f / sqrtf((float)l->dense.inputs);
    s->elements += l->count;
    s->flops += 3 * 2.0 * l->rows * l->dense.inputs * l->dense.outputs;
}

static enum err stack_allocate(struct app_stack *s, struct stack_level *l, float *below)
{
    if (l->kind == APP_STACK_RELU) {
        l->out = below;
        return OK;
    }
    l->out = mem_calloc((size_t)s->slice * l->out_elements, sizeof(*l->out));
    if (l->kind == APP_STACK_CONV) {
        l->patches = mem_calloc((size_t)s->slice * l->rows * l->dense.inputs, sizeof(*l->patches));
    }
    return l->out == NULL || (l->kind == APP_STACK_CONV && l->patches == NULL) ? ERR_NOMEM : OK;
}

static enum err stack_build(struct app_stack *s, const struct app_stack_config *config)
{
    uint32_t side = config->side, channels = 1;
    uint32_t most = side * side;

    s->images = mem_calloc((size_t)s->slice * side * side, sizeof(*s->images));
    if (s->images == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < config->layer_count; i++) {
        struct stack_level *l = &s->levels[i];

        stack_shape(l, &config->layers[i], &side, &channels);
        stack_count(s, l);
        s->level_count++;
        most = l->out_elements > most ? l->out_elements : most;
        if (stack_allocate(s, l, i == 0 ? s->images : l[-1].out) != OK) {
            return ERR_NOMEM;
        }
    }
    s->params = mem_calloc(s->elements, sizeof(*s->params));
    s->d[0] = mem_calloc((size_t)s->slice * most, sizeof(*s->d[0]));
    s->d[1] = mem_calloc((size_t)s->slice * most, sizeof(*s->d[1]));
    return s->params == NULL || s->d[0] == NULL || s->d[1] == NULL ? ERR_NOMEM : OK;
}

enum err app_stack_create(const struct app_stack_config *config, struct app_stack **stack_out)
{
    uint32_t count = config->layer_count;
    struct app_stack *s;

    CHECK(count >= 1 && count <= APP_STACK_LAYERS_MAX && config->slice >= 1);
    CHECK(config->layers[0].kind != APP_STACK_RELU);
    CHECK(config->layers[count - 1].kind == APP_STACK_DENSE);
    s = mem_zalloc(sizeof(*s));
    if (s == NULL) {
        return ERR_NOMEM;
    }
    s->slice = config->slice;
    if (stack_build(s, config) != OK) {
        app_stack_destroy(s);
        return ERR_NOMEM;
    }
    *stack_out = s;
    return OK;
}

void app_stack_destroy(struct app_stack *s)
{
    if (s == NULL) {
        return;
    }
    for (uint32_t i = 0; i < s->level_count; i++) {
        mem_free(s->levels[i].patches);
        if (s->levels[i].kind != APP_STACK_RELU) {
            mem_free(s->levels[i].out);
        }
    }
    mem_free(s->d[0]);
    mem_free(s->d[1]);
    mem_free(s->params);
    mem_free(s->images);
    mem_free(s);
}

uint32_t app_stack_elements(const struct app_stack *s)
{
    return s->elements;
}

double app_stack_flops(const struct app_stack *s)
{
    return s->flops;
}

void app_stack_load(struct app_stack *s, const float *values)
{
    for (uint32_t i = 0; i < s->level_count; i++) {
        const struct stack_level *l = &s->levels[i];

        for (uint32_t j = l->first; j < l->first + l->count; j++) {
            s->params[j] = values[j] * l->scale;
        }
    }
}

float *app_stack_images(struct app_stack *s)
{
    return s->images;
}

static void stack_up(const struct app_stack *s, struct stack_level *l, uint32_t count,
                     const float *in)
{
    const float *weights = s->params + l->first;
    const float *bias = weights + (size_t)l->dense.inputs * l->dense.outputs;

    switch (l->kind) {
    case APP_STACK_CONV:
        app_layer_conv_spread(&l->conv, count, in, l->patches);
        app_layer_dense_forward(&l->dense, count * l->rows, l->patches, weights, bias, l->out);
        break;
    case APP_STACK_POOL:
        app_layer_pool_forward(l->side, l->channels, count, in, l->out);
        break;
    case APP_STACK_RELU:
        app_layer_relu_forward(l->out, count * l->out_elements);
        break;
    case APP_STACK_DENSE:
        app_layer_dense_forward(&l->dense, count, in, weights, bias, l->out);
        break;
    }
}

const float *app_stack_forward(struct app_stack *s, uint32_t count)
{
    const float *in = s->images;

    CHECK(count <= s->slice);
    for (uint32_t i = 0; i < s->level_count; i++) {
        stack_up(s, &s->levels[i], count, in);
        in = s->levels[i].out;
    }
    s->d_now = 0;
    return in;
}

float *app_stack_scores_d(struct app_stack *s)
{
    return s->d[0];
}

/* Backward through one level from d[d_now], to the other one unless it works in place. */
static void stack_down(struct app_stack *s, struct stack_level *l, uint32_t count, const float *in,
                       bool bottom, float *update)
{
    float *d = s->d[s->d_now];
    float *below = s->d[1 - s->d_now];
    const float *weights = s->params + l->first;
    float *weights_d = update + l->first;
    float *bias_d = weights_d + (size_t)l->dense.inputs * l->dense.outputs;

    switch (l->kind) {
    case APP_STACK_CONV:
        /* The patches are read before their derivative takes their place. */
        app_layer_dense_backward(&l->dense, count * l->rows, l->patches, weights, d, weights_d,
                                 bias_d, bottom ? NULL : l->patches);
        if (!bottom) {
            app_layer_conv_gather(&l->conv, count, l->patches, below);
        }
        break;
    case APP_STACK_POOL:
        /* A relu above may have cut .out off at zero; what it cut has no derivative here. */
        app_layer_pool_backward(l->side, l->channels, count, in, l->out, d, below);
        break;
    case APP_STACK_RELU:
        app_layer_relu_backward(l->out, d, count * l->out_elements);
        return;
    case APP_STACK_DENSE:
        app_layer_dense_backward(&l->dense, count, in, weights, d, weights_d, bias_d,
                                 bottom ? NULL : below);
        break;
    }
    s->d_now = 1 - s->d_now;
}

void app_stack_backward(struct app_stack *s, uint32_t count, float *update)
{
    for (uint32_t i = s->level_count; i-- > 0;) {
        const float *in = i == 0 ? s->images : s->levels[i - 1].out;

        stack_down(s, &s->levels[i], count, in, i == 0, update);
    }
}

void app_stack_scale(const struct app_stack *s, uint32_t samples, float *update)
{
    for (uint32_t i = 0; i < s->level_count; i++) {
        const struct stack_level *l = &s->levels[i];
        float factor = 1.0f / ((float)samples * l->scale);

        for (uint32_t j = l->first; l->count > 0 && j < l->first + l->count; j++) {
            update[j] *= factor;
        }
    }
}
