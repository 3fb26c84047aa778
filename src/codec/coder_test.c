/* Every way to write an update, with each kind of loops, run through one list of conditions. */

#include "codec/coder.h"

#include "base/mem.h"
#include "codec/squeeze.h"
#include "codec/testing.h"

#include <stdlib.h>
#include <zstd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { ELEMENTS_MAX = LIMIT_CHUNK_ELEMENTS };

/* With norm fewer are held at the same threshold, so it is lower to have as many. */
static const float thresholds[CODEC_CUTS] = {0, 0.25F, 0.05F};

/* One of them, and the room that its conditions use. */
struct way {
    const struct codec_loops *loops;
    struct codec_coder *coder;
    struct codec_squeezer *squeezer; /* Another than the coder's. */
    struct codec_chain chain;
    uint32_t kind;
    enum codec_cut cut;
    struct rng rng;
    uint32_t squeezed; /* Payloads that were. */
    float before[ELEMENTS_MAX], held[ELEMENTS_MAX], out[ELEMENTS_MAX], sum[ELEMENTS_MAX];
    struct codec_packed packed;
};

/* A chain that writes this kind, if the values suit and it does not take too much. */
static struct codec_chain chain_for(uint32_t kind, enum codec_cut cut, enum codec_squeeze squeeze)
{
    static const enum codec_form forms[CODEC_KINDS] = {
        [CODEC_F32] = CODEC_FORM_DENSE,
        [CODEC_BITMAP] = CODEC_FORM_BITMAP,
        [CODEC_LIST] = CODEC_FORM_SPARSE,
        [CODEC_GAPS] = CODEC_FORM_GAPS,
    };

    return (struct codec_chain){.cut = cut,
                                .low = thresholds[cut],
                                .up = thresholds[cut],
                                .form = forms[codec_kind_index(kind)],
                                .half = codec_kind_values(kind) == CODEC_VALUES_F16,
                                .squeeze = squeeze};
}

/* A value of the kind that is cut out, or one that is not. A few values come often, so that there
 * is something to squeeze. Halves are not exact unless nothing may be held. */
static float value_of(struct way *w, bool large)
{
    float sign = rng_chance(&w->rng, 500000) ? 1 : -1;
    bool often = rng_chance(&w->rng, 700000);

    if (!large) {
        return sign * (often || w->cut != CODEC_CUT_VALUE ? 0 : (float)rng_unit(&w->rng) / 5);
    }
    switch (codec_kind_values(w->kind)) {
    case CODEC_VALUES_I8:
        return sign * (float)(1 + rng_below(&w->rng, often ? 2 : 127));
    case CODEC_VALUES_F16:
        return w->cut == CODEC_CUT_NONE ? sign * (0.5F + (float)rng_below(&w->rng, 100) / 64)
                                        : sign * (often ? 0.7F : 0.5F + (float)rng_unit(&w->rng));
    default:
        return sign * (often ? 0.3F : 0.3F + (float)rng_unit(&w->rng) * 1000);
    }
}

static void fill(struct way *w, uint32_t elements, uint32_t ppm)
{
    for (uint32_t i = 0; i < elements; i++) {
        w->held[i] = w->before[i] = value_of(w, rng_chance(&w->rng, ppm));
    }
}

static void check_bound(const struct way *w, uint32_t elements)
{
    double sum = 0, t = (double)thresholds[w->cut];

    for (uint32_t i = 0; i < elements; i++) {
        sum += (double)w->held[i] * (double)w->held[i];
        assert_true(w->cut != CODEC_CUT_VALUE || fabsf(w->held[i]) <= thresholds[w->cut]);
        assert_true(w->cut != CODEC_CUT_NONE || w->held[i] == 0);
    }
    assert_true(sum <= t * t * elements * (1 + 1e-12));
}

static struct codec_plain decode(struct way *w, uint32_t elements)
{
    struct codec_plain plain;

    assert_int_equal(
        codec_decode(w->coder, w->packed.codec, w->out, w->packed.bytes, elements, &plain), OK);
    return plain;
}

static bool write(struct way *w, uint32_t elements)
{
    codec_encode(w->coder, &w->chain, thresholds[w->cut], 0, w->held, elements, w->out, &w->packed);
    assert_true(w->packed.bytes <= codec_bytes_max(elements));
    assert_int_equal(w->packed.bytes == 0, w->packed.count == 0);
    return w->packed.count > 0;
}

/* Write what is there, read it, and see that nothing is lost and the bound is kept. */
static void check_trip(struct way *w, uint32_t elements)
{
    uint64_t bitmap[CODEC_WORDS_MAX] = {0};
    struct codec_plain plain;

    if (write(w, elements)) {
        plain = decode(w, elements);
        w->squeezed += w->packed.codec >> CODEC_SQUEEZE_SHIFT != 0;
        assert_int_equal(plain.codec, w->packed.codec & 0xff);
        assert_true(w->packed.codec >> CODEC_SQUEEZE_SHIFT == 0 || plain.bytes > w->packed.bytes);
        memcpy(w->sum, w->held, elements * sizeof(float));
        assert_int_equal(codec_add_by(w->loops, plain.codec, plain.payload, elements, w->sum), 0);
        testing_same(w->sum, w->before, elements);
        codec_index_or(plain.codec, plain.payload, elements, bitmap);
        assert_true(testing_is_dense(plain.codec) ||
                    testing_count(bitmap, elements) == w->packed.count);
    } else {
        testing_same(w->held, w->before, elements);
    }
    check_bound(w, elements);
}

/* Under valgrind not every size: it takes many times as long. */
static uint32_t step(void)
{
    return getenv("STRAIT_VALGRIND") != NULL ? 29 : 1;
}

/* ---- The conditions. */

static void every_size_makes_the_trip(struct way *w)
{
    static const uint32_t ppms[] = {5000, 50000, 300000, 1000000};

    for (uint32_t elements = 1; elements <= 200; elements += step()) {
        fill(w, elements, ppms[elements % 4]);
        check_trip(w, elements);
    }
    fill(w, ELEMENTS_MAX, ppms[rng_below(&w->rng, 4)]);
    check_trip(w, ELEMENTS_MAX);
    for (uint32_t i = 0; i < ELEMENTS_MAX; i++) {
        w->held[i] = w->before[i] = i % 512 < 100 ? 100 : 0;
    }
    check_trip(w, ELEMENTS_MAX);
}

static void nothing_is_written_of_zeros(struct way *w)
{
    for (uint32_t elements = 1; elements <= 200; elements += step()) {
        for (uint32_t i = 0; i < elements; i++) {
            w->held[i] = w->before[i] = i % 3 == 0 ? -0.0F : 0.0F;
        }
        assert_false(write(w, elements));
        testing_same(w->held, w->before, elements);
    }
}

static void one_element_is_found_wherever_it_is(struct way *w)
{
    static const uint32_t sizes[] = {1, 2, 64, 65, 1000, ELEMENTS_MAX};

    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (uint32_t last = 0; last < 2; last++) {
            uint32_t at = last == 1 ? sizes[i] - 1 : 0;

            memset(w->held, 0, sizes[i] * sizeof(float));
            w->held[at] = 100;
            memcpy(w->before, w->held, sizes[i] * sizeof(float));
            check_trip(w, sizes[i]);
            /* With norm one among many may stay, even alone. */
            assert_true(w->held[at] == (w->packed.count == 1 ? 0.0F : 100.0F));
            assert_true(w->cut == CODEC_CUT_NORM || w->packed.count == 1);
        }
    }
}

static void the_kind_is_as_wanted_unless_floats_take_less(struct way *w)
{
    for (uint32_t elements = 500; elements < 520; elements++) {
        bool halves = codec_kind_values(w->kind) == CODEC_VALUES_F16;

        fill(w, elements, 100000);
        assert_true(write(w, elements));
        /* With norm there is rarely room for rounding errors. */
        if (!(halves && w->cut == CODEC_CUT_NORM)) {
            assert_int_equal(w->packed.codec & 0xff, w->kind);
        }
    }
    fill(w, 1, 1000000);
    w->held[0] = w->before[0] = 100;
    assert_true(write(w, 1));
    assert_int_equal(w->packed.codec,
                     codec_kind_values(w->kind) == CODEC_VALUES_F16 ? CODEC_F16 : CODEC_F32);
    assert_int_equal(w->packed.bytes, 4);
}

static void no_part_of_a_payload_is_valid(struct way *w)
{
    struct codec_plain plain;

    for (uint32_t elements = 1; elements < 100; elements += 7) {
        uint8_t *exact;

        fill(w, elements, 300000);
        if (!write(w, elements)) {
            continue;
        }
        for (uint32_t size = 0; size < w->packed.bytes; size++) {
            exact = malloc(size + 1);
            assert_non_null(exact);
            memcpy(exact, w->out, size);
            assert_int_equal(codec_decode(w->coder, w->packed.codec, exact, size, elements, &plain),
                             ERR_INVALID);
            free(exact);
        }
        for (uint32_t more = 1; more < 9; more++) {
            memset((uint8_t *)w->out + w->packed.bytes, 0, more);
            assert_int_equal(codec_decode(w->coder, w->packed.codec, w->out, w->packed.bytes + more,
                                          elements, &plain),
                             ERR_INVALID);
        }
    }
}

/* Each byte of a payload, also of its lengths, is anything. What is still valid can be added. */
static void hostile_bytes_break_nothing(struct way *w)
{
    static const uint8_t bytes[] = {0, 1, 0x7f, 0x80, 0xff};
    uint32_t elements = 70;
    struct codec_plain plain;

    fill(w, elements, 300000);
    assert_true(write(w, elements));
    for (uint32_t i = 0; i < w->packed.bytes * 6; i++) {
        uint8_t *exact = malloc(w->packed.bytes);
        uint8_t *at = exact + i / 6;

        assert_non_null(exact);
        memcpy(exact, w->out, w->packed.bytes);
        *at = i % 6 == 5 ? (uint8_t)(*at + 1) : bytes[i % 6];
        if (codec_decode(w->coder, w->packed.codec, exact, w->packed.bytes, elements, &plain) ==
            OK) {
            assert_true(plain.bytes <= codec_bytes_max(elements));
            memset(w->sum, 0, elements * sizeof(float));
            (void)codec_add_by(w->loops, plain.codec, plain.payload, elements, w->sum);
        }
        free(exact);
    }
}

/* The plain payload with other bytes, squeezed again if it can be. */
static enum err decode_changed(struct way *w, const uint8_t *payload, uint32_t size,
                               uint32_t elements)
{
    uint32_t kind = w->packed.codec & 0xff, squeeze = w->packed.codec >> CODEC_SQUEEZE_SHIFT;
    struct codec_plain plain;
    const void *squeezed;

    if (squeeze != CODEC_PLAIN) {
        squeezed = codec_squeeze(w->squeezer, (enum codec_squeeze)squeeze, payload, size, &size);
        payload = squeezed;
        if (squeezed == NULL) {
            return ERR_INVALID;
        }
    }
    return codec_decode(w->coder, kind | squeeze << CODEC_SQUEEZE_SHIFT, payload, size, elements,
                        &plain);
}

static void what_is_not_finite_is_refused(struct way *w)
{
    uint32_t elements = 1000;
    enum codec_values how;
    struct codec_plain plain;
    uint32_t index_bytes;
    uint8_t *copy;

    fill(w, elements, 200000);
    assert_true(write(w, elements));
    plain = decode(w, elements);
    how = codec_kind_values(plain.codec);
    index_bytes = codec_index_bytes(plain.codec, plain.payload, elements);
    copy = malloc(plain.bytes);
    assert_non_null(copy);
    for (uint32_t i = 0; i < 40; i++) {
        static const uint32_t floats[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001};
        static const uint16_t halves[] = {0x7c00, 0xfc00, 0x7e00, 0xffff};
        uint32_t at = (uint32_t)rng_below(&w->rng, w->packed.count);

        plain = decode(w, elements);
        memcpy(copy, plain.payload, plain.bytes);
        assert_int_equal(decode_changed(w, copy, plain.bytes, elements), OK);
        if (how == CODEC_VALUES_F32) {
            bytes_store32(copy + index_bytes + (size_t)at * 4, floats[i % 4]);
        } else if (how == CODEC_VALUES_F16) {
            bytes_store16(copy + index_bytes + (size_t)at * 2, halves[i % 4]);
        } else {
            copy[index_bytes + at] = 0x80;
        }
        assert_int_equal(decode_changed(w, copy, plain.bytes, elements), ERR_INVALID);
    }
    free(copy);
}

static void elements_beyond_the_end_are_refused(struct way *w)
{
    struct codec_plain plain;

    fill(w, 100, 500000);
    w->held[99] = w->before[99] = 100;
    assert_true(write(w, 100));
    assert_true(w->held[99] == 0);
    assert_int_equal(codec_decode(w->coder, w->packed.codec, w->out, w->packed.bytes, 99, &plain),
                     ERR_INVALID);
    assert_int_equal(codec_decode(w->coder, w->packed.codec, w->out, w->packed.bytes, 0, &plain),
                     ERR_INVALID);
    assert_int_equal(codec_decode(w->coder, w->packed.codec, w->out, w->packed.bytes,
                                  LIMIT_CHUNK_ELEMENTS + 1, &plain),
                     ERR_INVALID);
}

static void other_numbers_are_refused(struct way *w)
{
    uint32_t elements = 200;
    struct codec_plain plain;

    fill(w, elements, 300000);
    assert_true(write(w, elements));
    for (uint32_t squeeze = 0; squeeze < 256; squeeze += squeeze < 8 ? 1 : 31) {
        for (uint32_t kind = 0; kind < 256; kind += kind < 16 ? 1 : 15) {
            uint32_t codec = kind | squeeze << CODEC_SQUEEZE_SHIFT;

            if (kind >= CODEC_KINDS || squeeze >= CODEC_SQUEEZES) {
                assert_int_equal(
                    codec_decode(w->coder, codec, w->out, w->packed.bytes, elements, &plain),
                    ERR_INVALID);
            } else { /* It may happen to be good as something else. */
                (void)!codec_decode(w->coder, codec, w->out, w->packed.bytes, elements, &plain);
            }
        }
    }
    for (uint32_t bit = 16; bit < 32; bit++) {
        assert_int_equal(codec_decode(w->coder, w->packed.codec | 1u << bit, w->out,
                                      w->packed.bytes, elements, &plain),
                         ERR_INVALID);
    }
}

/* What is too large for the chunk, and what is squeezed twice. */
static void a_bomb_is_refused(struct way *w)
{
    struct codec_plain plain;
    uint32_t size, codec = w->kind | (uint32_t)w->chain.squeeze << CODEC_SQUEEZE_SHIFT;
    const void *bomb;

    if (w->chain.squeeze == CODEC_PLAIN) {
        return;
    }
    memset(w->sum, 0, sizeof(w->sum));
    bomb = codec_squeeze(w->squeezer, w->chain.squeeze, w->sum, sizeof(w->sum), &size);
    assert_non_null(bomb);
    for (uint32_t elements = 1; elements < 1000; elements += 37) {
        assert_int_equal(codec_decode(w->coder, codec, bomb, size, elements, &plain), ERR_INVALID);
    }
    assert_int_equal(codec_decode(w->coder, codec, bomb, size, ELEMENTS_MAX - 1, &plain),
                     ERR_INVALID);
    memcpy(w->sum, bomb, size);
    bomb = codec_squeeze(w->squeezer, w->chain.squeeze, w->sum, size, &size);
    if (bomb != NULL) {
        assert_int_equal(codec_decode(w->coder, codec, bomb, size, ELEMENTS_MAX, &plain),
                         ERR_INVALID);
    }
}

static void the_rounding_mode_of_the_caller_does_not_count(struct way *w)
{
#if defined(__x86_64__)
    unsigned before = _mm_getcsr(), mode, after;

    for (uint32_t i = 0; i < 20; i++) {
        uint32_t elements = 500 + i;
        struct codec_packed packed;

        fill(w, elements, 300000);
        w->held[i] = w->before[i] = 1e-40F;
        assert_true(write(w, elements));
        memcpy(w->sum, w->out, w->packed.bytes);
        packed = w->packed;
        memcpy(w->held, w->before, elements * sizeof(float));
        _mm_setcsr(0xffc0);  /* Towards zero, tiny numbers are zero. */
        mode = _mm_getcsr(); /* As far as the processor has it: valgrind's has not all. */
        (void)write(w, elements);
        after = _mm_getcsr();
        _mm_setcsr(before);
        assert_int_equal(after & 0xffc0, mode & 0xffc0);
        assert_int_equal(packed.codec, w->packed.codec);
        assert_int_equal(packed.bytes, w->packed.bytes);
        assert_memory_equal(w->sum, w->out, packed.bytes);
    }
#else
    (void)w;
#endif
}

static void (*const conditions[])(struct way *) = {
    every_size_makes_the_trip,
    nothing_is_written_of_zeros,
    one_element_is_found_wherever_it_is,
    the_kind_is_as_wanted_unless_floats_take_less,
    no_part_of_a_payload_is_valid,
    hostile_bytes_break_nothing,
    what_is_not_finite_is_refused,
    elements_beyond_the_end_are_refused,
    other_numbers_are_refused,
    a_bomb_is_refused,
    the_rounding_mode_of_the_caller_does_not_count,
};

static void check_way(struct way *w, uint32_t kind, enum codec_cut cut, enum codec_squeeze squeeze)
{
    w->kind = kind;
    w->cut = cut;
    w->chain = chain_for(kind, cut, squeeze);
    w->squeezed = 0;
    rng_init(&w->rng, kind * 100 + (uint32_t)cut * 10 + (uint32_t)squeeze);
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        conditions[i](w);
    }
    assert_true(squeeze == CODEC_PLAIN || w->squeezed > 0);
}

static void test_every_way_meets_every_condition(void **state)
{
    const uint32_t ways = CODEC_KINDS * CODEC_CUTS * CODEC_SQUEEZES;
    const uint32_t next = getenv("STRAIT_VALGRIND") != NULL ? 5 : 1;
    struct way *w = *state;

    for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
        w->loops = codec_loops_at(k);
        for (uint32_t i = k % next; w->loops != NULL && i < ways; i += next) {
            codec_coder_use(w->coder, w->loops);
            check_way(w, i % CODEC_KINDS, (enum codec_cut)(i / CODEC_KINDS % CODEC_CUTS),
                      (enum codec_squeeze)(i / CODEC_KINDS / CODEC_CUTS));
        }
    }
    codec_coder_use(w->coder, codec_loops_best());
    w->loops = codec_loops_best();
}

/* ---- And what is not the same for all. */

static void test_all_loops_write_the_same_bytes(void **state)
{
    struct way *w = *state;
    static float first[ELEMENTS_MAX], held[ELEMENTS_MAX];
    struct codec_packed packed;

    rng_init(&w->rng, 3);
    for (uint32_t run = 0; run < 300; run++) {
        uint32_t elements = 1 + (uint32_t)rng_below(&w->rng, run < 10 ? ELEMENTS_MAX : 2000);
        float t = rng_chance(&w->rng, 200000) ? 0 : (float)rng_unit(&w->rng);

        testing_fill_for(&w->rng, (uint32_t)rng_below(&w->rng, CODEC_KINDS), w->before, elements);
        w->chain = chain_for((uint32_t)rng_below(&w->rng, CODEC_KINDS),
                             (enum codec_cut)rng_below(&w->rng, CODEC_CUTS), CODEC_PLAIN);
        w->chain.half = rng_chance(&w->rng, 500000);
        w->chain.form = (enum codec_form)rng_below(&w->rng, CODEC_FORMS);
        for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
            if (codec_loops_at(k) == NULL) {
                continue;
            }
            codec_coder_use(w->coder, codec_loops_at(k));
            memcpy(w->held, w->before, elements * sizeof(float));
            codec_encode(w->coder, &w->chain, t, 0, w->held, elements, w->out, &w->packed);
            if (k == 0) {
                packed = w->packed;
                memcpy(first, w->out, packed.bytes);
                memcpy(held, w->held, elements * sizeof(float));
            }
            assert_int_equal(packed.codec, w->packed.codec);
            assert_int_equal(packed.bytes, w->packed.bytes);
            assert_memory_equal(first, w->out, packed.bytes);
            testing_same(held, w->held, elements);
        }
    }
    codec_coder_use(w->coder, codec_loops_best());
}

static void test_a_threshold_of_zero_drops_zeros_and_nothing_else(void **state)
{
    struct way *w = *state;

    for (uint32_t i = 0; i < CODEC_CUTS * CODEC_FORMS; i++) {
        struct codec_chain chain = {.cut = (enum codec_cut)(i % CODEC_CUTS),
                                    .form = (enum codec_form)(i / CODEC_CUTS),
                                    .half = true};
        float held[6] = {0, -0.0F, 1e-45F, -1e-45F, 3e38F, 1};
        float expected[6] = {0, -0.0F, 0, 0, 0, 0};

        codec_encode(w->coder, &chain, 0, 0, held, 6, w->out, &w->packed);
        assert_int_equal(w->packed.count, 4);
        testing_same(held, expected, 6);
    }
}

static void test_halves_are_for_errors_within_the_bound_only(void **state)
{
    struct way *w = *state;
    struct codec_chain chain = chain_for(CODEC_LIST_F16, CODEC_CUT_VALUE, CODEC_PLAIN);
    static const struct {
        float value, threshold;
        uint32_t kind;
    } rows[] = {
        {1.0001F, -0.0F, CODEC_LIST},       {1, 0, CODEC_LIST_I8},
        {1.5F, 0, CODEC_LIST_F16},          {1.0001F, 0, CODEC_LIST},
        {1.0001F, 1.1e-4F, CODEC_LIST_F16}, {1.0001F, 9e-5F, CODEC_LIST},
        {65504, 0, CODEC_LIST_F16},         {65519, 16, CODEC_LIST_F16},
        {65520, 1e4F, CODEC_LIST},          {-3e38F, 1e6F, CODEC_LIST},
        {0x1p-24F, 0, CODEC_LIST_F16},      {0x1.8p-24F, 0, CODEC_LIST},
        {0x1p-25F, 0x1p-26F, CODEC_LIST},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        float held[64] = {[7] = rows[i].value};

        codec_encode(w->coder, &chain, rows[i].threshold, 0, held, 64, w->out, &w->packed);
        assert_int_equal(w->packed.codec, rows[i].kind);
        assert_true(fabsf(held[7]) <= rows[i].threshold);
        (void)codec_add(w->packed.codec, w->out, 64, held);
        assert_true(held[7] == rows[i].value);
    }
}

static void test_the_paper_sends_few_if_more_than_80_percent_are_zeros(void **state)
{
    struct way *w = *state;
    struct codec_chain chain = {.form = CODEC_FORM_PAPER, .squeeze = CODEC_SNAPPY};

    for (uint32_t count = 1; count <= 100; count++) {
        float held[100] = {0};

        for (uint32_t i = 0; i < count; i++) {
            held[i] = 1;
        }
        codec_encode(w->coder, &chain, 0, 0, held, 100, w->out, &w->packed);
        assert_int_equal(w->packed.codec & 0xff, count < 20 ? CODEC_LIST : CODEC_F32);
    }
}

/* As zstd writes it if it is told to, or by somebody who appends. */
static uint32_t zstd_frame(bool says_size, const void *bytes, size_t size, uint8_t *out,
                           size_t room)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    size_t written;

    assert_non_null(zstd);
    assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_contentSizeFlag, says_size)));
    written = ZSTD_compress2(zstd, out, room, bytes, size);
    assert_false(ZSTD_isError(written));
    ZSTD_freeCCtx(zstd);
    return (uint32_t)written;
}

static void test_one_frame_of_zstd_that_says_its_size_is_taken_and_no_other(void **state)
{
    static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4};
    const uint32_t codec = CODEC_F32 | CODEC_ZSTD << CODEC_SQUEEZE_SHIFT;
    struct way *w = *state;
    struct codec_plain plain;
    uint8_t frame[1000];
    float floats[200];
    uint32_t size;

    for (uint32_t i = 0; i < 200; i++) {
        floats[i] = 1;
    }
    size = zstd_frame(true, floats, sizeof(floats), frame, sizeof(frame));
    assert_int_equal(codec_decode(w->coder, codec, frame, size, 200, &plain), OK);
    assert_int_equal(plain.bytes, 800);
    memcpy(frame + size, skippable, sizeof(skippable));
    assert_int_equal(codec_decode(w->coder, codec, frame, size + 12, 200, &plain), ERR_INVALID);
    memcpy(frame, skippable, sizeof(skippable));
    size = 12 + zstd_frame(true, floats, sizeof(floats), frame + 12, sizeof(frame) - 12);
    assert_int_equal(codec_decode(w->coder, codec, frame, size, 200, &plain), ERR_INVALID);
    size = zstd_frame(true, floats, sizeof(floats) / 2, frame, sizeof(frame));
    size += zstd_frame(true, floats, sizeof(floats) / 2, frame + size, sizeof(frame) - size);
    assert_int_equal(codec_decode(w->coder, codec, frame, size, 200, &plain), ERR_INVALID);
    size = zstd_frame(false, floats, sizeof(floats), frame, sizeof(frame));
    assert_int_equal(codec_decode(w->coder, codec, frame, size, 200, &plain), ERR_INVALID);
}

static int by_magnitude(const void *a, const void *b)
{
    const float *x = *(const float *const *)a, *y = *(const float *const *)b;

    if (fabsf(*x) != fabsf(*y)) {
        return fabsf(*x) < fabsf(*y) ? -1 : 1;
    }
    return x < y ? -1 : 1;
}

/* Sort, and drop from the smallest on. Sums are made in another order, so one that is within its
 * last bits of the bound decides nothing. */
static void check_norm(struct way *w, uint32_t elements, float t)
{
    const float **sorted = calloc(elements, sizeof(*sorted));
    double bound = (double)t * (double)t * elements, sum = 0, square;
    struct codec_chain chain = chain_for(CODEC_F32, CODEC_CUT_NORM, CODEC_PLAIN);
    uint32_t dropped = 0, kept;

    assert_non_null(sorted);
    for (uint32_t i = 0; i < elements; i++) {
        sorted[i] = &w->before[i];
    }
    qsort(sorted, elements, sizeof(*sorted), by_magnitude);
    memcpy(w->held, w->before, elements * sizeof(float));
    codec_encode(w->coder, &chain, t, 0, w->held, elements, w->out, &w->packed);
    kept = w->packed.count;
    for (uint32_t i = 0; i < elements - kept; i++) {
        size_t at = (size_t)(sorted[i] - w->before);

        assert_true(testing_bits(w->held[at]) == testing_bits(w->before[at]));
        sum += (double)*sorted[i] * (double)*sorted[i];
        dropped++;
    }
    assert_true(sum <= bound * (1 + 1e-12));
    for (uint32_t i = dropped; i < elements; i++) {
        assert_int_equal(testing_bits(w->held[sorted[i] - w->before]), 0);
    }
    if (kept > 0) {
        square = (double)*sorted[dropped] * (double)*sorted[dropped];
        assert_true(sum + square > bound * (1 - 1e-12));
    }
    free(sorted);
}

/* One element of eight, in each form that has floats or halves. */
static void test_what_is_not_finite_is_told_from_what_is_malformed(void **state)
{
    static const struct {
        uint32_t codec, size, at;
        bool half;
        uint8_t index[8];
    } cases[] = {
        {CODEC_BITMAP, 12, 8, false, {4}},           {CODEC_LIST, 12, 8, false, {1, 0, 0, 0, 2}},
        {CODEC_BITMAP_F16, 12, 8, true, {4}},        {CODEC_LIST_F16, 12, 8, true, {1, 0, 0, 0, 2}},
        {CODEC_GAPS, 12, 8, false, {0, 0, 0, 0, 2}}, {CODEC_GAPS_F16, 12, 8, true, {0, 0, 0, 0, 2}},
    };
    struct codec_coder *coder;
    struct codec_plain plain;
    uint8_t bytes[16];

    (void)state;
    assert_int_equal(codec_coder_create(&coder), OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(bytes, 0, sizeof(bytes));
        memcpy(bytes, cases[i].index, sizeof(cases[i].index));
        assert_int_equal(codec_decode(coder, cases[i].codec, bytes, cases[i].size, 8, &plain), OK);
        bytes[cases[i].at + (cases[i].half ? 1 : 3)] = 0x7f;
        bytes[cases[i].at + (cases[i].half ? 0 : 2)] = 0xc0; /* NaN. */
        assert_int_equal(codec_decode(coder, cases[i].codec, bytes, cases[i].size, 8, &plain),
                         ERR_INVALID);
        assert_true(codec_was_not_finite(coder));
        assert_int_equal(codec_decode(coder, cases[i].codec, bytes, cases[i].size + 4, 8, &plain),
                         ERR_INVALID);
        assert_false(codec_was_not_finite(coder));
    }
    codec_coder_destroy(coder);
}

static void test_the_norm_is_used_up_by_the_smallest(void **state)
{
    static const float tried[] = {0, 1e-45F, 1e-38F, 1e-3F, 0.1F, 0.5F, 1, 2, 1e30F, 3e38F};
    struct way *w = *state;

    rng_init(&w->rng, 77);
    for (uint32_t run = 0; run < 1500; run++) {
        uint32_t elements = run < 12 ? ELEMENTS_MAX - run % 3
                                     : testing_counts[rng_below(&w->rng, TESTING_COUNTS - 1)];
        float t = tried[rng_below(&w->rng, 10)];
        uint64_t what = rng_below(&w->rng, 4);

        codec_coder_use(w->coder, codec_loops_at(run % 3) != NULL ? codec_loops_at(run % 3)
                                                                  : codec_loops_best());
        testing_fill(&w->rng, w->before, elements);
        for (uint32_t i = 0; i < elements; i++) {
            if (what == 0) { /* Many that are equal. */
                w->before[i] = (float)rng_below(&w->rng, 4) - 2;
            } else if (what == 1) { /* Not far from the threshold, by few bits. */
                w->before[i] = t * (1 + (float)rng_below(&w->rng, 8) * 0x1p-20F);
                w->before[i] = testing_is_finite(w->before[i]) ? w->before[i] : 1;
            } else if (what == 2 && rng_chance(&w->rng, 900000)) {
                w->before[i] = 0;
            }
        }
        check_norm(w, elements, t);
    }
    codec_coder_use(w->coder, codec_loops_best());
}

static void test_of_equal_ones_the_first_are_dropped(void **state)
{
    struct way *w = *state;
    struct codec_chain chain = chain_for(CODEC_BITMAP, CODEC_CUT_NORM, CODEC_PLAIN);
    float held[100];

    for (uint32_t i = 0; i < 100; i++) {
        held[i] = i % 2 == 0 ? 2 : -2;
    }
    codec_encode(w->coder, &chain, 1, 0, held, 100, w->out, &w->packed);
    assert_int_equal(w->packed.count, 75); /* 100 * 1^2 are 25 times 2^2. */
    for (uint32_t i = 0; i < 100; i++) {
        assert_true((held[i] != 0) == (i < 25));
    }
}

/* ---- The choice. */

static uint32_t chosen(struct way *w, const struct codec_chain *chain, uint32_t ppm, double link)
{
    w->kind = CODEC_F32;
    w->cut = CODEC_CUT_VALUE;
    fill(w, ELEMENTS_MAX, ppm);
    codec_encode(w->coder, chain, thresholds[w->cut], link, w->held, ELEMENTS_MAX, w->out,
                 &w->packed);
    return w->packed.codec;
}

static void test_without_a_link_the_smallest_plain_form_is_taken(void **state)
{
    struct way *w = *state;
    struct codec_chain chain = {.cut = CODEC_CUT_VALUE, .squeeze = CODEC_SQUEEZE_AUTO};

    assert_int_equal(chosen(w, &chain, 50, 0), CODEC_LIST);
    assert_int_equal(chosen(w, &chain, 50000, 0), CODEC_GAPS);
    assert_int_equal(chosen(w, &chain, 200000, 0), CODEC_BITMAP);
    assert_int_equal(chosen(w, &chain, 1000000, 0), CODEC_F32);
    chain.squeeze = CODEC_ZSTD;
    assert_int_equal(chosen(w, &chain, 200000, 0) & 0xff, CODEC_BITMAP);
}

static void test_a_slow_link_gets_few_bytes_and_a_fast_one_is_not_kept_waiting(void **state)
{
    struct codec_chain chain = {.cut = CODEC_CUT_VALUE, .squeeze = CODEC_SQUEEZE_AUTO};
    struct way *w = *state;
    uint32_t squeezed = 0, slow_bytes = 0;

    for (uint32_t i = 0; i < 60; i++) {
        (void)chosen(w, &chain, 200000, 1e6);
        squeezed += w->packed.codec >> CODEC_SQUEEZE_SHIFT != CODEC_PLAIN;
        slow_bytes = w->packed.bytes;
    }
    assert_true(squeezed >= 40);
    for (uint32_t i = 0; i < 60; i++) {
        assert_int_equal(chosen(w, &chain, 200000, 1e12) >> CODEC_SQUEEZE_SHIFT, CODEC_PLAIN);
    }
    assert_true(slow_bytes < w->packed.bytes);
}

static void test_the_same_calls_make_the_same_choices(void **state)
{
    struct codec_chain chain = {.cut = CODEC_CUT_VALUE, .squeeze = CODEC_SQUEEZE_AUTO};
    struct way *w = *state;
    struct codec_coder *kept = w->coder;
    uint32_t first[200];

    for (uint32_t turn = 0; turn < 2; turn++) {
        assert_int_equal(codec_coder_create(&w->coder), OK);
        rng_init(&w->rng, 5);
        for (uint32_t i = 0; i < 200; i++) {
            uint32_t now = chosen(w, &chain, i % 7 * 50000 + 1000, 1e5 * (double)(1 + i));

            assert_true(turn == 0 || first[i] == now);
            first[i] = now;
        }
        codec_coder_destroy(w->coder);
    }
    w->coder = kept;
}

static int64_t tick(void *user)
{
    int64_t *now = user;

    *now += 1000;
    return *now;
}

static void test_costs_are_measured_by_the_clock_that_is_given(void **state)
{
    struct way *w = *state;
    struct codec_packed packed = {
        .codec = CODEC_BITMAP | CODEC_LZ4 << CODEC_SQUEEZE_SHIFT, .bytes = 1000, .count = 500};
    struct codec_costs costs;
    int64_t now = 0, plain;

    codec_costs_measure(w->coder, tick, &now, &costs);
    assert_true(now > 0);
    for (uint32_t cut = 0; cut < CODEC_CUTS; cut++) { /* Each takes one tick, a microsecond. */
        assert_int_equal(costs.cut_ps[cut], 1000 * 1000 / 16384);
    }
    for (uint32_t kind = 0; kind < CODEC_KINDS; kind++) {
        assert_int_equal(costs.write[kind].value_ps, 0);
        assert_int_equal(costs.read[kind].element_ps, 1000 * 1000 / 16384);
    }
    assert_int_equal(costs.squeeze_ps[CODEC_PLAIN], 0);
    costs = codec_costs_default;
    plain = codec_encode_ns(&costs, &(struct codec_packed){.codec = CODEC_BITMAP, .count = 500},
                            10000, CODEC_CUT_VALUE);
    assert_true(plain > 0 && codec_encode_ns(&costs, &packed, 10000, CODEC_CUT_VALUE) > plain);
    assert_true(codec_decode_ns(&costs, packed.codec, 1000, 500, 10000) >
                codec_decode_ns(&costs, CODEC_BITMAP, 3256, 500, 10000));
    codec_coder_set_costs(w->coder, &costs);
}

static void test_without_memory_there_is_no_coder(void **state)
{
    struct codec_coder *coder;
    uint32_t failures = 0;

    (void)state;
    for (uint64_t k = 1;; k++) {
        enum err rc;

        mem_fail_at(k, 1);
        rc = codec_coder_create(&coder);
        mem_fail_at(0, 0);
        if (rc == OK) {
            break;
        }
        assert_int_equal(rc, ERR_NOMEM);
        failures++;
    }
    codec_coder_destroy(coder);
    codec_coder_destroy(NULL);
    assert_true(failures >= 5);
}

static void test_a_coder_takes_no_memory_later(void **state)
{
    struct way *w = *state;
    uint64_t before = mem_allocations();

    for (uint32_t squeeze = 0; squeeze < CODEC_SQUEEZES; squeeze++) {
        struct codec_chain chain = {.form = CODEC_FORM_DENSE,
                                    .squeeze = (enum codec_squeeze)squeeze};

        (void)chosen(w, &chain, 100000, 0);
        (void)decode(w, ELEMENTS_MAX);
    }
    assert_int_equal(mem_allocations(), before);
}

static int open_way(void **state)
{
    struct way *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    assert_int_equal(codec_coder_create(&w->coder), OK);
    assert_int_equal(codec_squeezer_create(&w->squeezer), OK);
    *state = w;
    return 0;
}

static int close_way(void **state)
{
    struct way *w = *state;

    codec_coder_destroy(w->coder);
    codec_squeezer_destroy(w->squeezer);
    free(w);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_way_meets_every_condition),
        cmocka_unit_test(test_all_loops_write_the_same_bytes),
        cmocka_unit_test(test_a_threshold_of_zero_drops_zeros_and_nothing_else),
        cmocka_unit_test(test_halves_are_for_errors_within_the_bound_only),
        cmocka_unit_test(test_the_paper_sends_few_if_more_than_80_percent_are_zeros),
        cmocka_unit_test(test_one_frame_of_zstd_that_says_its_size_is_taken_and_no_other),
        cmocka_unit_test(test_what_is_not_finite_is_told_from_what_is_malformed),
        cmocka_unit_test(test_the_norm_is_used_up_by_the_smallest),
        cmocka_unit_test(test_of_equal_ones_the_first_are_dropped),
        cmocka_unit_test(test_without_a_link_the_smallest_plain_form_is_taken),
        cmocka_unit_test(test_a_slow_link_gets_few_bytes_and_a_fast_one_is_not_kept_waiting),
        cmocka_unit_test(test_the_same_calls_make_the_same_choices),
        cmocka_unit_test(test_costs_are_measured_by_the_clock_that_is_given),
        cmocka_unit_test(test_without_memory_there_is_no_coder),
        cmocka_unit_test(test_a_coder_takes_no_memory_later),
    };

    return cmocka_run_group_tests(tests, open_way, close_way);
}
