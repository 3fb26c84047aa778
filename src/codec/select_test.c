/* What is significant: vectors worked out by hand, then every kind of loops against one element at
 * a time. Whatever is taken, nothing is lost. */

#include "codec/filter.h"

#include "codec/testing.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { GOLDEN_MAX = 8 };

#define TINY 0x1p-149F
#define HUGE_FLOAT 3e38F

/* Values and held of up to two tables; which elements go. */
struct golden {
    const char *name;
    enum codec_measure measure;
    enum codec_grain grain;
    float threshold;
    uint32_t elements;
    uint32_t width;
    float values[GOLDEN_MAX];
    float held[GOLDEN_MAX];
    float partner[GOLDEN_MAX];
    float partner_held[GOLDEN_MAX];
    uint32_t goes; /* A bit per element. */
};

static const struct golden goldens[] = {
    {"equality is not above",
     CODEC_RELATIVE,
     CODEC_ELEMENT,
     0.125F,
     3,
     1,
     {8, 8, 8},
     {1, 0x1.000002p0F, 0x1.fffffep-1F},
     {0},
     {0},
     1u << 1},
    {"signs do not matter",
     CODEC_RELATIVE,
     CODEC_ELEMENT,
     0.125F,
     4,
     1,
     {-8, 8, -8, -8},
     {1.5F, -1.5F, -1.5F, 1},
     {0},
     {0},
     7},
    {"a value of 0 makes all significant but nothing",
     CODEC_RELATIVE,
     CODEC_ELEMENT,
     1e6F,
     5,
     1,
     {0, -0.0F, 0, 0, -0.0F},
     {1, -1, 0, -0.0F, TINY},
     {0},
     {0},
     1 | 2 | 16},
    {"a threshold of 0 takes all but nothing",
     CODEC_RELATIVE,
     CODEC_ELEMENT,
     0,
     5,
     1,
     {1, 1, HUGE_FLOAT, 0, 5},
     {0, -0.0F, TINY, TINY, -5},
     {0},
     {0},
     4 | 8 | 16},
    {"tiny numbers count",
     CODEC_RELATIVE,
     CODEC_ELEMENT,
     0.5F,
     4,
     1,
     {4 * TINY, 4 * TINY, 0x1p-126F, 0x1p-126F},
     {2 * TINY, 3 * TINY, 0x1p-127F, -0x1.8p-127F},
     {0},
     {0},
     2 | 8},
    {"a product that overflows is above all",
     CODEC_RELATIVE,
     CODEC_ELEMENT,
     1e6F,
     2,
     1,
     {HUGE_FLOAT, -HUGE_FLOAT},
     {HUGE_FLOAT, HUGE_FLOAT},
     {0},
     {0},
     0},
    {"absolute, not at the threshold",
     CODEC_ABSOLUTE,
     CODEC_ELEMENT,
     0.5F,
     5,
     1,
     {0, 1e9F, 1, 1, 1},
     {0.5F, 0x1.000002p-1F, -0.75F, -0.5F, 0},
     {0},
     {0},
     2 | 4},
    {"absolute at 0",
     CODEC_ABSOLUTE,
     CODEC_ELEMENT,
     0,
     4,
     1,
     {0},
     {0, -0.0F, TINY, -1},
     {0},
     {0},
     4 | 8},
    {"a row goes with its best element, without what is zero",
     CODEC_RELATIVE,
     CODEC_ROW,
     0.125F,
     8,
     3,
     {8, 8, 8, 8, 8, 8, 8, 8},
     {0.5F, 2, 0, 1, 1, 1, 0, 3},
     {0},
     {0},
     3 | 128},
    {"rows, absolute, the last one shorter",
     CODEC_ABSOLUTE,
     CODEC_ROW,
     1,
     7,
     2,
     {0},
     {1, 1, 2, 0.5F, 0, -0.0F, 1.5F},
     {0},
     {0},
     4 | 8 | 64},
    /* 3 4 is 5 long, 24 32 is 40: exactly 0.125. */
    {"the norm of a row",
     CODEC_ROW_NORM,
     CODEC_ROW,
     0.125F,
     8,
     2,
     {24, 32, 24, 32, 0, 0, 0, 0},
     {3, 4, 3, 4.0001F, 0, TINY, 0, -0.0F},
     {0},
     {0},
     4 | 8 | 32},
    {"the norm of huge and tiny rows",
     CODEC_ROW_NORM,
     CODEC_ROW,
     0.5F,
     4,
     2,
     {HUGE_FLOAT, HUGE_FLOAT, 4 * TINY, 0},
     {HUGE_FLOAT, 0, 2 * TINY, 0},
     {0},
     {0},
     1},
    /* 8 * 2 = 16 now; (8 - 1) * 2 = 14 and (8 - 2) * 2 = 12 before. */
    {"a product, not at the threshold",
     CODEC_PRODUCT,
     CODEC_ELEMENT,
     0.125F,
     2,
     1,
     {8, 8},
     {1, 2},
     {2, 2},
     {0, 0},
     2},
    {"a partner of 0 makes a change insignificant",
     CODEC_PRODUCT,
     CODEC_ELEMENT,
     0,
     3,
     1,
     {8, 0, 8},
     {100, 5, 1},
     {0, -0.0F, 0},
     {0, 0, 0},
     0},
    {"a partner that has become 0 does not",
     CODEC_PRODUCT,
     CODEC_ELEMENT,
     1e6F,
     2,
     1,
     {8, 8},
     {1, 8},
     {0, 0},
     {-2, -2},
     1},
    {"a value that has become 0 is significant",
     CODEC_PRODUCT,
     CODEC_ELEMENT,
     1e6F,
     1,
     1,
     {0},
     {-3},
     {2},
     {0},
     1},
    /* 4 * 2 = 8 now, 2 * 4 = 8 before. */
    {"changes of a product that cancel are insignificant",
     CODEC_PRODUCT,
     CODEC_ELEMENT,
     0,
     1,
     1,
     {4},
     {2},
     {2},
     {-2},
     0},
    {"what a partner changed does not make nothing go",
     CODEC_PRODUCT,
     CODEC_ELEMENT,
     0,
     2,
     1,
     {4, 4},
     {0, 1},
     {2, 2},
     {2, 2},
     2},
    {"a product of huge numbers does not overflow",
     CODEC_PRODUCT,
     CODEC_ELEMENT,
     0.25F,
     2,
     1,
     {HUGE_FLOAT, HUGE_FLOAT},
     {HUGE_FLOAT / 2, HUGE_FLOAT / 8},
     {HUGE_FLOAT, HUGE_FLOAT},
     {0, 0},
     1},
    {"a product of tiny numbers does not vanish",
     CODEC_PRODUCT,
     CODEC_ELEMENT,
     0.25F,
     2,
     1,
     {TINY * 8, TINY * 8},
     {TINY * 4, TINY},
     {TINY, TINY},
     {0, 0},
     1},
    {"rows of a product; a row whose partner is 0 stays",
     CODEC_PRODUCT,
     CODEC_ROW,
     0.125F,
     6,
     3,
     {8, 8, 8, 8, 8, 8},
     {0.5F, 2, 0, 2, 2, 2},
     {2, 2, 2, 0, 0, 0},
     {0},
     3},
};

/* The payload as an array with zeros, and what is held now: together they are what was held. */
static void check_conserved(const struct codec_packed *packed, const void *payload,
                            const float *before, const float *after, uint32_t elements,
                            const uint64_t *bitmap)
{
    float *sum = testing_array(0, elements);

    if (packed->count > 0) {
        assert_true(codec_payload_valid(packed->codec, payload, packed->bytes, elements));
    }
    memcpy(sum, after, elements * sizeof(float));
    if (packed->count > 0) {
        assert_int_equal(codec_add(packed->codec, payload, elements, sum), 0);
    }
    testing_same(sum, before, elements);
    for (uint32_t i = 0; i < elements; i++) {
        bool goes = testing_named(bitmap, i);

        assert_int_equal(testing_bits(after[i]), goes ? 0 : testing_bits(before[i]));
    }
    testing_array_free(sum, 0);
}

static void check_golden(const struct codec_loops *loops, const struct golden *g)
{
    struct codec_filter filter = {.measure = g->measure, .grain = g->grain};
    float held[GOLDEN_MAX], out[GOLDEN_MAX];
    struct codec_chunk chunk = {
        .values = g->values, .held = held, .elements = g->elements, .width = g->width};
    uint64_t goes = g->goes;
    struct codec_packed packed;

    if (g->measure == CODEC_PRODUCT) {
        filter.tables_count = 2;
        chunk.partners_count = 1;
        chunk.partners[0] = (struct codec_partner){.values = g->partner, .held = g->partner_held};
    }
    memcpy(held, g->held, sizeof(held));
    codec_select_by(loops, &filter, &chunk, g->threshold, out, &packed);
    for (uint32_t i = 0; i < g->elements; i++) {
        bool went = held[i] == 0 && g->held[i] != 0;

        if (went != testing_named(&goes, i)) {
            fail_msg("%s, %s: element %u", loops->name, g->name, i);
        }
    }
    assert_int_equal(packed.count, __builtin_popcount(g->goes));
    check_conserved(&packed, out, g->held, held, g->elements, &goes);
}

static void test_what_is_significant_by_hand_is_for_every_kind_of_loop(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
        for (uint32_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
            if (codec_loops_at(k) != NULL) {
                check_golden(codec_loops_at(k), &goldens[i]);
            }
        }
    }
}

/* The square of the value, so that it differs from all that is built in; odd rows are NaN. */
static void measure(const float *values, const float *held, uint32_t count, uint32_t width,
                    float *significance, void *user)
{
    (void)held;
    *(uint32_t *)user += 1;
    for (uint32_t i = 0; i < count; i++) {
        significance[i] = i / width % 2 == 1 ? NAN : testing_mul(values[i], values[i]);
    }
}

static double model_squares(const float *x, uint32_t count)
{
    volatile double s[8] = {0}, a, b, c, d;

    for (uint32_t i = 0; i < count; i++) {
        s[i % 8] = s[i % 8] + (double)x[i] * (double)x[i];
    }
    a = s[0] + s[4];
    b = s[2] + s[6];
    c = s[1] + s[5];
    d = s[3] + s[7];
    a = a + b;
    c = c + d;
    return a + c;
}

static bool model_product(const struct codec_chunk *c, uint32_t i, double threshold)
{
    volatile double now = (double)c->values[i], before = now - (double)c->held[i];
    volatile double change, bound;

    for (uint32_t k = 0; k < c->partners_count; k++) {
        volatile double was = (double)c->partners[k].values[i] - (double)c->partners[k].held[i];

        now = now * (double)c->partners[k].values[i];
        before = before * was;
    }
    change = now - before;
    bound = threshold * fabs(now);
    return fabs(change) > bound;
}

static bool model_element(const struct codec_filter *f, const struct codec_chunk *c, uint32_t i,
                          float threshold)
{
    uint32_t calls = 0;
    float s;

    if (c->held[i] == 0) {
        return false;
    }
    switch (f->measure) {
    case CODEC_RELATIVE:
        return fabsf(c->held[i]) > testing_mul(threshold, fabsf(c->values[i]));
    case CODEC_ABSOLUTE:
        return fabsf(c->held[i]) > threshold;
    case CODEC_PRODUCT:
        return model_product(c, i, (double)threshold);
    case CODEC_CUSTOM:
        measure(&c->values[i], NULL, 1, 1, &s, &calls);
        return i / c->width % 2 == 0 && s > threshold;
    default:
        return false;
    }
}

static void model(const struct codec_filter *f, const struct codec_chunk *c, float threshold,
                  uint64_t *bitmap)
{
    memset(bitmap, 0, codec_bitmap_words(c->elements) * sizeof(*bitmap));
    for (uint32_t first = 0; first < c->elements;) {
        uint32_t width = f->grain == CODEC_ROW ? c->width : 1;
        uint32_t left = c->elements - first;
        uint32_t count = width < left ? width : left;
        bool goes = false;

        if (f->measure == CODEC_ROW_NORM) {
            volatile double t = (double)threshold * (double)threshold;
            volatile double bound = t * model_squares(c->values + first, count);

            goes = model_squares(c->held + first, count) > bound;
        }
        for (uint32_t i = first; i < first + count; i++) {
            goes = goes || model_element(f, c, i, threshold);
        }
        for (uint32_t i = first; i < first + count && goes; i++) {
            bitmap[i / 64] |= (uint64_t)(c->held[i] != 0) << (i % 64);
        }
        first += count;
    }
}

/* Arrays of a chunk and its partners, each at its own odd place. */
struct arrays {
    float *x[2 * CODEC_PRODUCT_MAX];
    uint32_t offsets[2 * CODEC_PRODUCT_MAX];
};

/* Often there are zeros and exact eighths; sometimes everything is large, so that all of it goes,
 * or what is held are whole numbers. */
static void arrays_make(struct rng *r, uint32_t elements, struct arrays *a)
{
    bool large = rng_chance(r, 200000), whole = rng_chance(r, 250000);

    for (uint32_t i = 0; i < 2 * CODEC_PRODUCT_MAX; i++) {
        a->offsets[i] = (uint32_t)rng_below(r, 5);
        a->x[i] = testing_array(a->offsets[i], elements);
        testing_fill(r, a->x[i], elements);
        for (uint32_t k = 0; k < elements; k++) {
            if (i % 2 == 1 && large) {
                a->x[i][k] = 20 + (float)rng_unit(r);
            } else if (i % 2 == 1 && rng_chance(r, 300000)) {
                a->x[i][k] = rng_chance(r, 500000) ? 0 : a->x[i - 1][k] * 0.125F;
            }
        }
        if (i % 2 == 1 && whole) {
            testing_fill_whole(r, a->x[i], elements);
        }
    }
}

static void arrays_free(struct arrays *a)
{
    for (uint32_t i = 0; i < 2 * CODEC_PRODUCT_MAX; i++) {
        testing_array_free(a->x[i], a->offsets[i]);
    }
}

static float random_threshold(struct rng *r)
{
    static const float some[] = {0, 1e-3F, 0.01F, 0.125F, 0.5F, 1, 10, 1e6F};

    return some[rng_below(r, 8)];
}

static uint32_t check_select(const struct codec_loops *loops, struct rng *r, uint32_t elements)
{
    uint32_t out_offset = (uint32_t)rng_below(r, 5), calls = 0;
    float *before = testing_array(0, elements), *out = testing_array(out_offset, elements);
    uint8_t *bytes = malloc(testing_room(elements));
    uint64_t bitmap[CODEC_WORDS_MAX];
    struct codec_filter filter = {
        .measure = (enum codec_measure)rng_below(r, CODEC_MEASURES),
        .grain = (enum codec_grain)rng_below(r, CODEC_GRAINS),
        .custom = measure,
        .user = &calls,
    };
    struct codec_chunk chunk = {.elements = elements, .width = 1 + (uint32_t)rng_below(r, 100)};
    float threshold = random_threshold(r);
    struct codec_packed packed;
    struct arrays a;
    uint32_t codec;

    assert_non_null(bytes);
    arrays_make(r, elements, &a);
    chunk.values = a.x[0];
    chunk.held = a.x[1];
    if (filter.measure == CODEC_PRODUCT) {
        filter.tables_count = 2 + (uint32_t)rng_below(r, CODEC_PRODUCT_MAX - 1);
        chunk.partners_count = filter.tables_count - 1;
    }
    for (uint32_t i = 0; i < chunk.partners_count; i++) {
        chunk.partners[i] =
            (struct codec_partner){.values = a.x[2 + 2 * i], .held = a.x[3 + 2 * i]};
    }
    if (filter.measure == CODEC_ROW_NORM) {
        filter.grain = CODEC_ROW;
    }
    memcpy(before, chunk.held, elements * sizeof(float));
    model(&filter, &chunk, threshold, bitmap);
    codec_select_by(loops, &filter, &chunk, threshold, out, &packed);
    assert_int_equal(calls, filter.measure == CODEC_CUSTOM);
    assert_int_equal(packed.count, testing_count(bitmap, elements));
    check_conserved(&packed, out, before, chunk.held, elements, bitmap);
    if (packed.count > 0) {
        codec = testing_best(elements, bitmap, before);
        assert_int_equal(packed.codec, codec);
        assert_int_equal(packed.bytes, testing_encode(codec, elements, bitmap, before, bytes));
        assert_memory_equal(out, bytes, packed.bytes);
    }
    arrays_free(&a);
    testing_array_free(before, 0);
    testing_array_free(out, out_offset);
    free(bytes);
    return packed.count;
}

static void test_every_kind_of_loop_takes_what_the_model_takes_and_loses_nothing(void **state)
{
    struct rng r;

    (void)state;
    for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
        const struct codec_loops *loops = codec_loops_at(k);
        uint64_t taken = 0;

        if (loops == NULL) {
            print_message("this processor lacks kind %u of the loops\n", k);
            continue;
        }
        rng_init(&r, 55);
        for (uint32_t i = 0; i < 200 * TESTING_COUNTS; i++) {
            uint32_t elements = testing_counts[i % TESTING_COUNTS];

            if (elements < 2000 || i < 8 * TESTING_COUNTS) {
                taken += check_select(loops, &r, elements);
            }
        }
        assert_true(taken > 100000);
    }
}

/* Two squares that are lost if they are added to 1 one by one, and count if they meet before: which
 * do is the order of the sums. */
static void test_the_squares_of_a_row_are_summed_in_the_order_of_the_header(void **state)
{
    const float values[16] = {1};
    uint32_t above = 0, below = 0;

    (void)state;
    for (uint32_t n = 0; n < 16 * 16 * 16; n++) {
        uint32_t one = n % 16, a = n / 16 % 16, b = n / 256;
        float held[16] = {0};
        bool expected;

        if (one == a || one == b || a == b) {
            continue;
        }
        held[one] = 1;
        held[a] = held[b] = 1.25F * 0x1p-27F;
        expected = model_squares(held, 16) > 1;
        above += expected;
        below += !expected;
        for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
            const struct codec_loops *loops = codec_loops_at(k);

            assert_true(loops == NULL || loops->row_above(values, held, 16, 1) == expected);
        }
    }
    assert_true(above > 100 && below > 100);
}

static void test_a_custom_measure_decides_and_nan_means_no(void **state)
{
    uint32_t calls = 0;
    struct codec_filter filter = {.measure = CODEC_CUSTOM, .custom = measure, .user = &calls};
    const float values[6] = {1, 3, 3, 3, 3, INFINITY};
    float held[6] = {1, 1, 1, 1, 0, 1}, out[6];
    struct codec_chunk chunk = {.values = values, .held = held, .elements = 6, .width = 2};
    struct codec_packed packed;

    (void)state;
    codec_select(&filter, &chunk, 2, out, &packed);
    assert_int_equal(calls, 1);
    assert_int_equal(packed.count, 2);
    assert_true(held[0] == 1 && held[1] == 0 && held[2] == 1 && held[3] == 1 && held[5] == 0);
}

static void test_nothing_significant_writes_nothing(void **state)
{
    struct codec_filter filter = {.measure = CODEC_RELATIVE};
    const float values[3] = {8, 8, 8};
    float held[3] = {1, 1, 1}, out[3] = {7, 7, 7};
    struct codec_chunk chunk = {.values = values, .held = held, .elements = 3, .width = 1};
    struct codec_packed packed = {.bytes = 9, .count = 9};

    (void)state;
    codec_select(&filter, &chunk, 1, out, &packed);
    assert_true(packed.count == 0 && packed.bytes == 0);
    assert_true(out[0] == 7 && out[1] == 7 && out[2] == 7);
    assert_true(held[0] == 1 && held[1] == 1 && held[2] == 1);
}

/* A decaying threshold finds what it left before: with the clock everything goes at last. */
static void test_what_is_held_goes_when_the_threshold_has_fallen(void **state)
{
    struct codec_filter filter = {.measure = CODEC_RELATIVE};
    const float values[1] = {1};
    float held[1] = {0.004F}, out[1];
    struct codec_chunk chunk = {.values = values, .held = held, .elements = 1, .width = 1};
    struct codec_packed packed;
    uint64_t clock = 0;

    (void)state;
    do {
        codec_select(&filter, &chunk, codec_threshold(0.01F, ++clock), out, &packed);
    } while (packed.count == 0 && clock < 100);
    assert_int_equal(clock, 7); /* 0.01 / sqrt(6) is 0.00408, 0.01 / sqrt(7) is 0.00378. */
    assert_true(out[0] == 0.004F && held[0] == 0);
}

static void test_the_callers_rounding_mode_is_kept_but_not_used(void **state)
{
#if defined(__x86_64__)
    struct codec_filter filter = {.measure = CODEC_RELATIVE};
    struct codec_packed packed;
    unsigned before = _mm_getcsr(), after;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        const float values[2] = {4 * TINY, 4 * TINY};
        float held[2] = {2 * TINY, 3 * TINY}, out[2];
        struct codec_chunk chunk = {.values = values, .held = held, .elements = 2, .width = 1};

        _mm_setcsr(i == 0 ? 0x9fc0 : 0x5f80); /* Tiny is zero; upwards. */
        codec_select(&filter, &chunk, 0.5F, out, &packed);
        after = _mm_getcsr();
        _mm_setcsr(before);
        assert_int_equal(after & 0x6000, i == 0 ? 0 : 0x4000);
        assert_int_equal(packed.count, 1);
        assert_int_equal(testing_bits(held[0]), 2);
        assert_int_equal(testing_bits(held[1]), 0);
    }
#else
    (void)state;
    skip();
#endif
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_significant_by_hand_is_for_every_kind_of_loop),
        cmocka_unit_test(test_every_kind_of_loop_takes_what_the_model_takes_and_loses_nothing),
        cmocka_unit_test(test_the_squares_of_a_row_are_summed_in_the_order_of_the_header),
        cmocka_unit_test(test_a_custom_measure_decides_and_nan_means_no),
        cmocka_unit_test(test_nothing_significant_writes_nothing),
        cmocka_unit_test(test_what_is_held_goes_when_the_threshold_has_fallen),
        cmocka_unit_test(test_the_callers_rounding_mode_is_kept_but_not_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
