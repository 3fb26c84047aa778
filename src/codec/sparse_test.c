/* Payloads: their bytes, what is refused, and adding and packing by every kind of loops against
 * the slow way. */

#include "codec/sparse.h"

#include "codec/testing.h"

static void test_the_bytes_of_each_encoding_are_these(void **state)
{
    static const uint64_t bitmap[2] = {UINT64_C(1) << 63 | 2, 1};
    static const uint8_t list[] = {3, 0, 0, 0,    1, 0, 63,   0,    64, 0, 0, 0,
                                   0, 0, 0, 0x3f, 0, 0, 0x80, 0xbf, 0,  0, 0, 0x40};
    static const uint8_t bits[] = {2, 0, 0, 0, 0, 0,    0, 0x80, 1,    0,    0, 0, 0, 0,
                                   0, 0, 0, 0, 0, 0x3f, 0, 0,    0x80, 0xbf, 0, 0, 0, 0x40};
    float dense[65] = {[1] = 0.5F, [63] = -1, [64] = 2};
    float values[65];
    struct codec_packed packed;
    _Alignas(4) uint8_t out[260];

    (void)state;
    codec_pack(65, bitmap, dense, out, &packed);
    assert_int_equal(packed.codec, CODEC_LIST);
    assert_int_equal(packed.count, 3);
    assert_int_equal(packed.bytes, sizeof(list));
    assert_memory_equal(out, list, sizeof(list));
    assert_true(codec_payload_valid(CODEC_LIST, list, sizeof(list), 65));
    assert_true(codec_index_valid(CODEC_LIST, list, 12, 65));
    assert_true(codec_payload_valid(CODEC_BITMAP, bits, sizeof(bits), 65));
    assert_true(codec_index_valid(CODEC_BITMAP, bits, 16, 65));
    assert_true(codec_payload_valid(CODEC_F32, dense, sizeof(dense), 65));
    assert_true(codec_index_valid(CODEC_F32, NULL, 0, 65));
    for (uint32_t codec = 0; codec <= CODEC_LIST; codec++) {
        const void *payload =
            codec == CODEC_F32 ? (const void *)dense : (codec == CODEC_LIST ? list : bits);

        memset(values, 0, sizeof(values));
        assert_int_equal(codec_add(codec, payload, 65, values), 0);
        testing_same(values, dense, 65);
    }
}

static void test_the_bytes_of_whole_numbers_are_these(void **state)
{
    static const uint64_t few[2] = {UINT64_C(1) << 63 | 2, 1}, more[2] = {0x8000000000000115, 1};
    static const uint8_t list[] = {3, 0, 0, 0, 1, 0, 63, 0, 64, 0, 0, 0, 0x81, 0, 0x7f, 0};
    static const uint8_t bits[] = {0x15, 1, 0, 0, 0, 0,    0, 0x80, 1,    0,    0, 0,
                                   0,    0, 0, 0, 1, 0xff, 2, 0xfe, 0xff, 0x7f, 0, 0};
    float first[65] = {[1] = -127, [63] = 0, [64] = 127};
    float second[65] = {[0] = 1, [2] = -1, [4] = 2, [8] = -2, [63] = -1, [64] = 127};
    struct codec_packed packed;
    _Alignas(4) uint8_t out[260];
    float values[65] = {0};

    (void)state;
    codec_pack(65, few, first, out, &packed);
    assert_int_equal(packed.codec, CODEC_LIST_I8);
    assert_int_equal(packed.count, 3);
    assert_int_equal(packed.bytes, sizeof(list));
    assert_memory_equal(out, list, sizeof(list));
    assert_true(codec_payload_valid(CODEC_LIST_I8, list, sizeof(list), 65));
    assert_true(codec_index_valid(CODEC_LIST_I8, list, 12, 65));
    assert_int_equal(codec_add(CODEC_LIST_I8, list, 65, values), 0);
    testing_same(values, first, 65);
    codec_pack(65, more, second, out, &packed);
    assert_int_equal(packed.codec, CODEC_BITMAP_I8);
    assert_int_equal(packed.count, 6);
    assert_int_equal(packed.bytes, sizeof(bits));
    assert_memory_equal(out, bits, sizeof(bits));
    assert_true(codec_payload_valid(CODEC_BITMAP_I8, bits, sizeof(bits), 65));
    assert_true(codec_index_valid(CODEC_BITMAP_I8, bits, 16, 65));
    memset(values, 0, sizeof(values));
    assert_int_equal(codec_add(CODEC_BITMAP_I8, bits, 65, values), 0);
    testing_same(values, second, 65);
}

/* In every place, so that no loop overlooks one. */
static void test_only_whole_numbers_from_minus_127_to_127_are_bytes(void **state)
{
    static const struct {
        float value;
        bool byte;
    } rows[] = {
        {127, true},      {-127, true},        {0.0F, true},         {1, true},
        {-64, true},      {128, false},        {-128, false},        {-129, false},
        {0.5F, false},    {-0.0F, false},      {1e-45F, false},      {-1e-45F, false},
        {126.5F, false},  {1.0000001F, false}, {0.99999994F, false}, {127.00001F, false},
        {256, false},     {257, false},        {0x1p31F, false},     {-0x1p31F, false},
        {0x1p32F, false}, {3e38F, false},      {INFINITY, false},    {-INFINITY, false},
        {NAN, false},     {-NAN, false},
    };
    uint64_t bitmap[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0xff};
    float dense[200], out[200];

    (void)state;
    for (uint32_t n = 0; n < CODEC_LOOPS_MAX * sizeof(rows) / sizeof(rows[0]); n++) {
        const struct codec_loops *loops = codec_loops_at(n % CODEC_LOOPS_MAX);
        float value = rows[n / CODEC_LOOPS_MAX].value;
        bool byte = rows[n / CODEC_LOOPS_MAX].byte;

        for (uint32_t i = 0; i < 200 && loops != NULL; i++) {
            struct codec_packed packed;

            for (uint32_t k = 0; k < 200; k++) {
                dense[k] = k == i ? value : 1;
            }
            codec_pack_by(loops, 200, bitmap, dense, out, &packed);
            assert_int_equal(packed.codec, byte ? CODEC_BITMAP_I8 : CODEC_F32);
            assert_int_equal(packed.bytes, byte ? 32 + 200 : 800);
            if (!byte) {
                testing_same(out, dense, 200);
            }
        }
    }
}

static void test_what_is_not_named_need_not_be_a_byte(void **state)
{
    float dense[64] = {0.5F, 1, 1, 1, 1, 1, NAN, 300}, out[64];
    const uint64_t bitmap = 0x3e;
    struct codec_packed packed;

    (void)state;
    codec_pack(64, &bitmap, dense, out, &packed);
    assert_int_equal(packed.codec, CODEC_BITMAP_I8);
    assert_int_equal(packed.bytes, 16);
}

static void check_smallest(bool whole, uint32_t elements, uint32_t *seen)
{
    float *dense = testing_array(0, elements), *out = testing_array(0, elements);
    uint64_t bitmap[16] = {0};

    testing_fill(&(struct rng){{1, 2, 3, 4}}, dense, elements);
    if (whole) {
        testing_fill_whole(&(struct rng){{1, 2, 3, 4}}, dense, elements);
    }
    for (uint32_t count = 0; count <= elements; count++) {
        struct codec_packed packed;

        codec_pack(elements, bitmap, dense, out, &packed);
        assert_int_equal(packed.count, count);
        if (count == 0) {
            assert_int_equal(packed.bytes, 0);
        } else {
            assert_int_equal(packed.codec, testing_best(elements, bitmap, dense));
            assert_true(packed.bytes > 0 && packed.bytes <= codec_bytes_max(elements));
            assert_true(packed.bytes % 4 == 0);
            seen[packed.codec]++;
        }
        bitmap[count / 64 % 16] |= UINT64_C(1) << (count % 64);
    }
    testing_array_free(dense, 0);
    testing_array_free(out, 0);
}

static void test_the_smallest_encoding_is_taken_and_of_equal_ones_the_lower_number(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 63, 64, 65, 128, 129, 1000};
    uint32_t seen[CODEC_KINDS_PACKED] = {0};

    (void)state;
    for (uint32_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        check_smallest(false, sizes[s], seen);
        check_smallest(true, sizes[s], seen);
    }
    for (uint32_t codec = 0; codec < CODEC_KINDS_PACKED; codec++) {
        assert_true(seen[codec] > 10);
    }
}

static void test_the_bytes_of_halves_and_gaps_are_these(void **state)
{
    /* Elements 1, 63 and 330: passed over are 1, 61, and 255 and 11. */
    static const uint8_t gaps[] = {2, 0, 1, 0, 1, 61, 255, 11, 0, 0x38, 0, 0xbc, 0, 0x40, 0, 0};
    static const uint8_t list[] = {3, 0, 0, 0,    1, 0,    63, 0,    0x4a, 1,
                                   0, 0, 0, 0x38, 0, 0xbc, 0,  0x40, 0,    0};
    static const uint8_t bytes[] = {2, 0, 1, 0, 1, 61, 255, 11, 1, 0xff, 2, 0};
    float values[331] = {0}, expected[331] = {[1] = 0.5F, [63] = -1, [330] = 2};
    uint8_t dense[664] = {[3] = 0x38, [127] = 0xbc, [661] = 0x40};

    (void)state;
    assert_true(codec_payload_valid(CODEC_GAPS_F16, gaps, sizeof(gaps), 331));
    assert_false(codec_payload_valid(CODEC_GAPS_F16, gaps, sizeof(gaps), 330));
    assert_int_equal(codec_add(CODEC_GAPS_F16, gaps, 331, values), 0);
    testing_same(values, expected, 331);
    memset(values, 0, sizeof(values));
    assert_true(codec_payload_valid(CODEC_LIST_F16, list, sizeof(list), 331));
    assert_int_equal(codec_add(CODEC_LIST_F16, list, 331, values), 0);
    testing_same(values, expected, 331);
    memset(values, 0, sizeof(values));
    assert_true(codec_payload_valid(CODEC_F16, dense, sizeof(dense), 331));
    assert_int_equal(codec_add(CODEC_F16, dense, 331, values), 0);
    testing_same(values, expected, 331);
    memset(values, 0, sizeof(values));
    expected[1] = 1;
    assert_true(codec_payload_valid(CODEC_GAPS_I8, bytes, sizeof(bytes), 331));
    assert_int_equal(codec_add(CODEC_GAPS_I8, bytes, 331, values), 0);
    testing_same(values, expected, 331);
}

/* Each of these differs from a good payload in one thing. 331 elements. */
static void test_what_is_wrong_with_gaps_is_seen(void **state)
{
    static const struct {
        uint32_t at;
        uint8_t value;
        bool valid;
    } rows[] = {
        {0, 2, true},    {0, 1, false},     {0, 3, false},     {1, 1, false},   {2, 0, false},
        {2, 2, false},   {3, 1, false},     {4, 0, true},      {4, 2, true},    {4, 255, false},
        {5, 254, false}, {5, 255, false},   {6, 254, false},   {7, 12, true},   {7, 13, false},
        {7, 255, false}, {9, 0x7c, false},  {9, 0xfc, false},  {9, 0x7b, true}, {11, 0xfd, false},
        {14, 1, false},  {15, 0x80, false}, {13, 0x7f, false},
    };
    static const uint8_t good[] = {2, 0, 1, 0, 1, 61, 255, 11, 0, 0x38, 0, 0xbc, 0, 0x40, 0, 0};
    uint8_t bytes[sizeof(good) + 4] = {0};

    (void)state;
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memcpy(bytes, good, sizeof(good));
        bytes[rows[i].at] = rows[i].value;
        if (codec_payload_valid(CODEC_GAPS_F16, bytes, sizeof(good), 332) != rows[i].valid) {
            fail_msg("row %u", i);
        }
    }
    memcpy(bytes, good, sizeof(good));
    for (uint32_t size = 0; size < sizeof(bytes); size++) {
        assert_int_equal(codec_payload_valid(CODEC_GAPS_F16, bytes, size, 331),
                         size == sizeof(good));
        assert_int_equal(codec_index_valid(CODEC_GAPS_F16, bytes, size, 331), size == 8);
    }
}

/* All of them, there and back, by the definition of a half. */
static void test_floats_become_halves_and_halves_floats_by_all_loops(void **state)
{
    enum { FLOATS = 1 << 16 };
    float *floats = testing_array(0, FLOATS), *errors = testing_array(0, FLOATS);
    uint16_t *halves = calloc(FLOATS, sizeof(*halves));
    struct rng r;

    (void)state;
    rng_init(&r, 16);
    assert_non_null(halves);
    for (uint32_t k = 0; k < CODEC_LOOPS_MAX * 3; k++) {
        const struct codec_loops *loops = codec_loops_at(k / 3);
        uint32_t most = 0;

        for (uint32_t i = 0; i < FLOATS; i++) {
            uint16_t half = (uint16_t)(i % 0x7bff | (i & 0x8000));
            float low = testing_from_half(half), high = testing_from_half((uint16_t)(half + 1));

            floats[i] = k % 3 == 0 ? low
                                   : (k % 3 == 1 ? low / 2 + high / 2
                                                 : low + (high - low) * (float)rng_unit(&r));
        }
        if (loops == NULL) {
            continue;
        }
        assert_true(loops->halve(floats, FLOATS, halves, errors) < 0x7f800000);
        assert_true(loops->finite_halves((const uint8_t *)halves, FLOATS));
        for (uint32_t i = 0; i < FLOATS; i++) {
            assert_int_equal(halves[i], testing_to_half(floats[i]));
            assert_true(testing_add(testing_from_half(halves[i]), errors[i]) == floats[i]);
            most = testing_bits(fabsf(errors[i])) > most ? testing_bits(fabsf(errors[i])) : most;
        }
        assert_int_equal(loops->halve(floats, FLOATS, halves, errors), most);
        assert_true(k % 3 != 0 || most == 0);
        floats[rng_below(&r, FLOATS)] = rng_chance(&r, 500000) ? 65520 : -3e38F;
        assert_int_equal(loops->halve(floats, FLOATS, halves, errors), 0x7f800000);
    }
    free(halves);
    testing_array_free(floats, 0);
    testing_array_free(errors, 0);
}

/* Each of these differs from a good payload in one thing. 70 elements. */
static void test_what_is_wrong_with_a_list_is_seen(void **state)
{
    static const struct {
        uint32_t at;
        uint16_t value;
        bool valid;
    } rows[] = {
        {0, 3, true},       {0, 0, false},       {0, 2, false},       {0, 4, false},
        {0, 0xffff, false}, {2, 1, false},       {2, 0xffff, false},  {4, 0, true},
        {4, 8, false},      {4, 9, false},       {6, 69, false},      {8, 8, false},
        {8, 69, true},      {8, 70, false},      {8, 0xffff, false},  {10, 1, false},
        {10, 0x100, false}, {14, 0x7f80, false}, {22, 0xff80, false}, {22, 0x7fc0, false},
        {22, 0x7f7f, true},
    };
    static const uint16_t good[] = {3, 0, 5, 8, 20, 0, 0, 0x3f80, 0, 0x3f80, 0, 0x3f80};
    uint8_t bytes[sizeof(good) + 4];

    (void)state;
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memcpy(bytes, good, sizeof(good));
        bytes_store16(bytes + rows[i].at, rows[i].value);
        if (codec_payload_valid(CODEC_LIST, bytes, sizeof(good), 70) != rows[i].valid) {
            fail_msg("row %u", i);
        }
    }
    memcpy(bytes, good, sizeof(good));
    for (uint32_t size = 0; size < sizeof(bytes); size++) {
        assert_int_equal(codec_payload_valid(CODEC_LIST, bytes, size, 70), size == sizeof(good));
        assert_int_equal(codec_index_valid(CODEC_LIST, bytes, size, 70), size == 12);
    }
    assert_true(codec_payload_valid(CODEC_LIST, bytes, sizeof(good), 21));
    assert_false(codec_payload_valid(CODEC_LIST, bytes, sizeof(good), 20));
}

static void test_what_is_wrong_with_a_bitmap_is_seen(void **state)
{
    uint8_t bytes[16 + 3 * 4 + 4] = {0};

    (void)state;
    bytes_store64(bytes, UINT64_C(1) << 63 | 1);
    bytes_store64(bytes + 8, 1 << 5);
    assert_true(codec_payload_valid(CODEC_BITMAP, bytes, 28, 70));
    for (uint32_t size = 0; size < sizeof(bytes); size++) {
        assert_int_equal(codec_payload_valid(CODEC_BITMAP, bytes, size, 70), size == 28);
        assert_int_equal(codec_index_valid(CODEC_BITMAP, bytes, size, 70), size == 16);
    }
    assert_false(codec_payload_valid(CODEC_BITMAP, bytes, 28, 69));
    assert_false(codec_payload_valid(CODEC_BITMAP, bytes, 28, 64));
    assert_false(codec_payload_valid(CODEC_BITMAP, bytes, 28, 129));
    for (uint32_t i = 70; i < 128; i++) {
        bytes_store64(bytes + 8, UINT64_C(1) << (i - 64));
        assert_false(codec_index_valid(CODEC_BITMAP, bytes, 16, 70));
    }
    memset(bytes, 0, sizeof(bytes));
    assert_false(codec_payload_valid(CODEC_BITMAP, bytes, 16, 70));
    assert_false(codec_index_valid(CODEC_BITMAP, bytes, 16, 70));
}

/* Every size of @good, and every other value of the bytes that fill it up. */
static void check_bytes_payload(uint32_t codec, const uint8_t *good, uint32_t size,
                                uint32_t index_bytes, uint32_t count)
{
    uint8_t bytes[64] = {0};

    memcpy(bytes, good, size);
    for (uint32_t n = 0; n < sizeof(bytes); n++) {
        assert_int_equal(codec_payload_valid(codec, bytes, n, 70), n == size);
        assert_int_equal(codec_index_valid(codec, bytes, n, 70), n == index_bytes);
    }
    for (uint32_t i = index_bytes; i < size; i++) {
        for (uint32_t value = 0; value < 256; value++) {
            bool right = i < index_bytes + count ? value != 0x80 : value == 0;

            bytes[i] = (uint8_t)value;
            assert_int_equal(codec_payload_valid(codec, bytes, size, 70), right);
        }
        bytes[i] = good[i];
    }
}

static void test_what_is_wrong_with_a_payload_of_bytes_is_seen(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 9; count++) {
        uint8_t bits[32] = {0}, list[64] = {0};
        uint32_t list_bytes = 4 + (count * 2 + 3) / 4 * 4, values_bytes = (count + 3) / 4 * 4;

        bytes_store32(list, count);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t element = i + 1 == count ? 69 : i * 3;

            bits[element / 8] = (uint8_t)(bits[element / 8] | 1u << (element % 8));
            bits[16 + i] = (uint8_t)(i % 2 == 0 ? 127 : 0x81);
            bytes_store16(list + 4 + (size_t)i * 2, (uint16_t)element);
            list[list_bytes + i] = bits[16 + i];
        }
        check_bytes_payload(CODEC_BITMAP_I8, bits, 16 + values_bytes, 16, count);
        check_bytes_payload(CODEC_LIST_I8, list, list_bytes + values_bytes, list_bytes, count);
        assert_false(codec_payload_valid(CODEC_BITMAP_I8, bits, 16 + values_bytes, 69));
        assert_false(codec_payload_valid(CODEC_LIST_I8, list, list_bytes + values_bytes, 69));
        bytes_store16(list + 4, 70);
        assert_false(codec_payload_valid(CODEC_LIST_I8, list, list_bytes + values_bytes, 70));
    }
}

static void test_minus_128_is_refused_in_every_place(void **state)
{
    uint8_t bytes[32 + 200];

    (void)state;
    memset(bytes, 0x7f, sizeof(bytes));
    for (uint32_t i = 0; i < 32; i++) {
        bytes[i] = i < 25 ? 0xff : 0;
    }
    for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
        const struct codec_loops *loops = codec_loops_at(k);

        for (uint32_t i = 32; i < sizeof(bytes) && loops != NULL; i++) {
            bytes[i] = 0x80;
            assert_false(codec_payload_valid_by(loops, CODEC_BITMAP_I8, bytes, sizeof(bytes), 200));
            bytes[i] = 0x81;
            assert_true(codec_payload_valid_by(loops, CODEC_BITMAP_I8, bytes, sizeof(bytes), 200));
        }
    }
}

static void test_floats_that_are_not_finite_are_refused_in_every_place(void **state)
{
    static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    float x[70];

    (void)state;
    for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
        const struct codec_loops *loops = codec_loops_at(k);

        for (uint32_t i = 0; i < 70 && loops != NULL; i++) {
            memset(x, 0, sizeof(x));
            assert_true(codec_payload_valid_by(loops, CODEC_F32, x, sizeof(x), 70));
            x[i] = bad[i % 4];
            assert_false(codec_payload_valid_by(loops, CODEC_F32, x, sizeof(x), 70));
        }
    }
    memset(x, 0, sizeof(x));
    assert_false(codec_payload_valid(CODEC_F32, x, sizeof(x) - 4, 70));
    assert_false(codec_payload_valid(CODEC_F32, x, sizeof(x) - 1, 70));
    assert_false(codec_payload_valid(CODEC_F32, x, 0, 0));
    assert_false(codec_index_valid(CODEC_F32, x, 4, 70));
}

static void test_unknown_encodings_and_impossible_chunks_are_refused(void **state)
{
    static const uint8_t zeros[64];

    (void)state;
    for (uint32_t codec = CODEC_KINDS; codec < 1 << 17; codec += 7) {
        assert_false(codec_payload_valid(codec, zeros, 64, 16));
        assert_false(codec_index_valid(codec, zeros, 0, 16));
    }
    for (uint32_t codec = 0; codec < CODEC_KINDS; codec++) {
        assert_false(codec_payload_valid(codec, zeros, 0, 0));
        assert_false(codec_payload_valid(codec, zeros, 64, LIMIT_CHUNK_ELEMENTS + 1));
        assert_false(codec_payload_valid(codec, zeros, 64, UINT32_MAX));
        assert_false(codec_payload_valid(codec, zeros, 0, 16));
    }
}

/* Bytes of exactly this size at an odd address, so that each step beyond is seen. */
static uint8_t *at_odd_address(const uint8_t *bytes, size_t size, uint32_t offset, void **room)
{
    uint8_t *at;

    *room = malloc(size + offset);
    assert_non_null(*room);
    at = (uint8_t *)*room + offset;
    memcpy(at, bytes, size);
    return at;
}

/* Mutations of good payloads: what is still valid can be read, and is the same by all kinds. */
static void test_hostile_bytes_are_judged_alike_and_break_nothing(void **state)
{
    uint32_t valid = 0, invalid = 0;
    struct rng r;

    (void)state;
    rng_init(&r, 5);
    for (uint32_t run = 0; run < 20000; run++) {
        uint32_t elements = 1 + (uint32_t)rng_below(&r, 200);
        uint32_t codec = (uint32_t)rng_below(&r, CODEC_KINDS);
        uint8_t bytes[200 * 6 + 64];
        float dense[200], values[200] = {0};
        uint64_t bitmap[4];
        size_t size;
        uint8_t *at;
        void *room;
        bool good;

        testing_fill_for(&r, codec, dense, elements);
        testing_name(&r, elements, bitmap);
        size = testing_encode(codec, elements, bitmap, dense, bytes);
        for (uint32_t k = (uint32_t)rng_below(&r, 3); k-- > 0;) {
            bytes[rng_below(&r, size < 20 ? size : 20)] ^= (uint8_t)(1u << rng_below(&r, 8));
        }
        size -= rng_chance(&r, 100000) ? rng_below(&r, size + 1) : 0;
        at = at_odd_address(bytes, size, (uint32_t)rng_below(&r, 8), &room);
        good = codec_payload_valid(codec, at, size, elements);
        for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
            if (codec_loops_at(k) != NULL) {
                assert_int_equal(
                    codec_payload_valid_by(codec_loops_at(k), codec, at, size, elements), good);
            }
        }
        if (good) {
            (void)codec_add(codec, at, elements, values);
            assert_true(
                codec_index_valid(codec, at, codec_index_bytes(codec, at, elements), elements));
        }
        valid += good;
        invalid += !good;
        free(room);
    }
    assert_true(valid > 3000 && invalid > 3000);
}

static void check_add(const struct codec_loops *loops, struct rng *r, uint32_t codec,
                      uint32_t elements)
{
    uint32_t offset = (uint32_t)rng_below(r, 5), kept = 0, size;
    float *values = testing_array(offset, elements), *naive = testing_array(0, elements);
    float *dense = testing_array(0, elements);
    uint64_t bitmap[CODEC_WORDS_MAX];
    uint8_t *bytes = malloc(testing_room(elements));
    uint8_t *at;
    void *room;

    assert_non_null(bytes);
    testing_fill(r, values, elements);
    testing_fill_for(r, codec, dense, elements);
    testing_name(r, elements, bitmap);
    for (uint32_t i = 0; i < elements; i++) {
        if (rng_chance(r, 50000) && codec_kind_values(codec) != CODEC_VALUES_F32 &&
            codec != CODEC_F16) {
            values[i] = INFINITY; /* No byte and no half makes one of what is finite. */
        } else if (rng_chance(r, 50000) && codec_kind_values(codec) == CODEC_VALUES_F32) {
            values[i] = dense[i] = 3e38F;
        }
        naive[i] = values[i];
        if (testing_named(bitmap, i)) {
            float sum = testing_add(values[i], dense[i]);

            naive[i] = testing_is_finite(sum) ? sum : naive[i];
            kept += !testing_is_finite(sum);
        }
    }
    size = testing_encode(codec, elements, bitmap, dense, bytes);
    at = at_odd_address(bytes, size, (uint32_t)rng_below(r, 8), &room);
    assert_true(codec_payload_valid_by(loops, codec, at, size, elements));
    assert_int_equal(codec_add_by(loops, codec, at, elements, values), kept);
    testing_same(values, naive, elements);
    testing_array_free(values, offset);
    testing_array_free(naive, 0);
    testing_array_free(dense, 0);
    free(bytes);
    free(room);
}

static void check_pack(const struct codec_loops *loops, struct rng *r, uint32_t elements)
{
    uint32_t offset = (uint32_t)rng_below(r, 5), out_offset = (uint32_t)rng_below(r, 5);
    float *dense = testing_array(offset, elements);
    float *out = testing_array(out_offset, elements);
    uint64_t bitmap[CODEC_WORDS_MAX];
    uint8_t *bytes = malloc(testing_room(elements));
    struct codec_packed packed;
    uint32_t codec;

    assert_non_null(bytes);
    testing_fill_for(r, CODEC_F32, dense, elements);
    testing_name(r, elements, bitmap);
    codec_pack_by(loops, elements, bitmap, dense, out, &packed);
    codec = testing_best(elements, bitmap, dense);
    assert_int_equal(packed.codec, codec);
    assert_int_equal(packed.count, testing_count(bitmap, elements));
    assert_int_equal(packed.bytes, testing_encode(codec, elements, bitmap, dense, bytes));
    assert_memory_equal(out, bytes, packed.bytes);
    testing_array_free(dense, offset);
    testing_array_free(out, out_offset);
    free(bytes);
}

static void test_every_kind_of_loop_adds_and_packs_as_the_slow_way_does(void **state)
{
    struct rng r;

    (void)state;
    for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
        const struct codec_loops *loops = codec_loops_at(k);

        if (loops == NULL) {
            print_message("this processor lacks kind %u of the loops\n", k);
            continue;
        }
        rng_init(&r, 100);
        for (uint32_t i = 0; i < 120 * TESTING_COUNTS; i++) {
            uint32_t elements = testing_counts[i % TESTING_COUNTS];

            if (elements < 2000 || i < 10 * TESTING_COUNTS) {
                check_add(loops, &r, i / TESTING_COUNTS % CODEC_KINDS, elements);
                check_pack(loops, &r, elements);
            }
        }
    }
}

static void test_the_plain_loops_are_always_there_and_the_widest_is_taken(void **state)
{
    const struct codec_loops *widest = NULL;

    (void)state;
    assert_non_null(codec_loops_at(0));
    for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
        widest = codec_loops_at(k) != NULL ? codec_loops_at(k) : widest;
    }
    assert_ptr_equal(codec_loops_best(), widest);
    assert_null(codec_loops_at(CODEC_LOOPS_MAX));
}

static void test_an_index_part_names_its_elements(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 8);
    for (uint32_t run = 0; run < 3000; run++) {
        uint32_t elements = 1 + (uint32_t)rng_below(&r, 300);
        uint32_t codec = (uint32_t)rng_below(&r, CODEC_KINDS);
        uint64_t named[5], bitmap[5], before[5];
        uint8_t bytes[300 * 6 + 64];
        float dense[300] = {0};
        uint32_t count = elements;

        testing_name(&r, elements, named);
        testing_name(&r, elements, bitmap);
        memcpy(before, bitmap, sizeof(before));
        (void)testing_encode(codec, elements, named, dense, bytes);
        if (!testing_is_dense(codec)) {
            count = testing_count(named, elements);
        }
        assert_int_equal(codec_index_count(codec, bytes, elements), count);
        codec_index_or(codec, bytes, elements, bitmap);
        for (uint32_t i = 0; i < elements; i++) {
            assert_int_equal(testing_named(bitmap, i), testing_named(before, i) ||
                                                           testing_is_dense(codec) ||
                                                           testing_named(named, i));
        }
        codec_index_clear(codec, bytes, elements, bitmap);
        for (uint32_t i = 0; i < elements; i++) {
            assert_int_equal(testing_named(bitmap, i), testing_named(before, i) &&
                                                           !testing_is_dense(codec) &&
                                                           !testing_named(named, i));
        }
        codec_index_or(CODEC_F32, NULL, elements, bitmap);
        assert_int_equal(bitmap[(elements - 1) / 64], UINT64_MAX >> (63 - (elements - 1) % 64));
    }
}

static void test_what_is_not_named_keeps_its_bits_in_every_encoding(void **state)
{
    float dense[64], values[64], out[64];
    uint64_t bitmap = ~(UINT64_C(1) << 17);
    struct codec_packed packed;

    (void)state;
    for (uint32_t i = 0; i < 64; i++) {
        dense[i] = 1.5F;
        values[i] = -0.0F;
    }
    codec_pack(64, &bitmap, dense, out, &packed);
    assert_int_equal(packed.codec, CODEC_F32);
    assert_int_equal(packed.count, 63);
    assert_int_equal(codec_add(CODEC_F32, out, 64, values), 0);
    assert_int_equal(testing_bits(values[17]), testing_bits(-0.0F));
    assert_true(values[16] == 1.5F && values[18] == 1.5F);
    for (uint32_t i = 0; i < 64; i++) {
        dense[i] = 1;
        values[i] = -0.0F;
    }
    codec_pack(64, &bitmap, dense, out, &packed);
    assert_int_equal(packed.codec, CODEC_BITMAP_I8);
    assert_int_equal(codec_add(CODEC_BITMAP_I8, out, 64, values), 0);
    assert_int_equal(testing_bits(values[17]), testing_bits(-0.0F));
    assert_true(values[16] == 1 && values[18] == 1);
}

static void test_a_sum_that_would_not_be_finite_is_left_out_and_counted(void **state)
{
    float values[3] = {3e38F, -3e38F, 1};
    const float payload[3] = {3e38F, -3e38F, 1};

    (void)state;
    assert_int_equal(codec_add(CODEC_F32, payload, 3, values), 2);
    assert_true(values[0] == 3e38F && values[1] == -3e38F && values[2] == 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bytes_of_each_encoding_are_these),
        cmocka_unit_test(test_the_bytes_of_whole_numbers_are_these),
        cmocka_unit_test(test_only_whole_numbers_from_minus_127_to_127_are_bytes),
        cmocka_unit_test(test_what_is_not_named_need_not_be_a_byte),
        cmocka_unit_test(test_the_smallest_encoding_is_taken_and_of_equal_ones_the_lower_number),
        cmocka_unit_test(test_the_bytes_of_halves_and_gaps_are_these),
        cmocka_unit_test(test_what_is_wrong_with_gaps_is_seen),
        cmocka_unit_test(test_floats_become_halves_and_halves_floats_by_all_loops),
        cmocka_unit_test(test_what_is_wrong_with_a_list_is_seen),
        cmocka_unit_test(test_what_is_wrong_with_a_bitmap_is_seen),
        cmocka_unit_test(test_what_is_wrong_with_a_payload_of_bytes_is_seen),
        cmocka_unit_test(test_minus_128_is_refused_in_every_place),
        cmocka_unit_test(test_floats_that_are_not_finite_are_refused_in_every_place),
        cmocka_unit_test(test_unknown_encodings_and_impossible_chunks_are_refused),
        cmocka_unit_test(test_hostile_bytes_are_judged_alike_and_break_nothing),
        cmocka_unit_test(test_every_kind_of_loop_adds_and_packs_as_the_slow_way_does),
        cmocka_unit_test(test_the_plain_loops_are_always_there_and_the_widest_is_taken),
        cmocka_unit_test(test_an_index_part_names_its_elements),
        cmocka_unit_test(test_what_is_not_named_keeps_its_bits_in_every_encoding),
        cmocka_unit_test(test_a_sum_that_would_not_be_finite_is_left_out_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
