/* Sums of payloads against adding one by one. */

#include "base/mem.h"
#include "codec/sparse.h"
#include "codec/testing.h"

enum { PAYLOADS = 4 };

static struct codec_sum *sum_new(uint32_t elements)
{
    struct codec_sum *sum;

    assert_int_equal(codec_sum_create(&sum), OK);
    codec_sum_reset(sum, elements);
    return sum;
}

/* One payload of random elements goes into the sum and into the model. */
static uint32_t add_one(struct rng *r, bool whole, struct codec_sum *sum, uint32_t elements,
                        uint64_t *any, float *naive)
{
    uint32_t codec = (uint32_t)rng_below(r, CODEC_KINDS), kept = 0;
    float *dense = testing_array(0, elements);
    uint64_t bitmap[CODEC_WORDS_MAX];
    uint8_t *bytes = malloc(testing_room(elements));

    assert_non_null(bytes);
    testing_fill_for(r, whole ? CODEC_LIST_I8 : codec, dense, elements);
    testing_name(r, elements, bitmap);
    (void)testing_encode(codec, elements, bitmap, dense, bytes);
    for (uint32_t i = 0; i < elements; i++) {
        bool named = testing_named(bitmap, i);

        if (testing_is_dense(codec) || named) {
            float x = named ? dense[i] : -0.0F;
            float sum_now = testing_named(any, i) ? testing_add(naive[i], x) : x;

            naive[i] = testing_is_finite(sum_now) ? sum_now : naive[i];
            kept += !testing_is_finite(sum_now);
            any[i / 64] |= UINT64_C(1) << (i % 64);
        }
    }
    assert_int_equal(codec_sum_add(sum, codec, bytes), kept);
    testing_array_free(dense, 0);
    free(bytes);
    return kept;
}

static void test_a_sum_is_its_payloads_added_in_order_element_by_element(void **state)
{
    struct codec_sum *sum = sum_new(1);
    uint32_t seen[CODEC_KINDS_PACKED] = {0};
    struct rng r;

    (void)state;
    rng_init(&r, 12);
    for (uint32_t run = 0; run < 1500; run++) {
        uint32_t elements = testing_counts[rng_below(&r, TESTING_COUNTS - (run > 20))];
        float *naive = testing_array(0, elements), *out = testing_array(0, elements);
        uint64_t any[CODEC_WORDS_MAX] = {0};
        uint8_t *bytes = malloc(testing_room(elements));
        bool whole = rng_chance(&r, 400000);
        struct codec_packed packed;
        uint32_t codec;

        assert_non_null(bytes);
        codec_sum_reset(sum, elements);
        for (uint32_t k = 1 + (uint32_t)rng_below(&r, PAYLOADS); k-- > 0;) {
            (void)add_one(&r, whole, sum, elements, any, naive);
        }
        codec_sum_pack(sum, out, &packed);
        codec = testing_best(elements, any, naive);
        assert_int_equal(packed.codec, codec);
        seen[codec]++;
        assert_int_equal(packed.bytes, testing_encode(codec, elements, any, naive, bytes));
        assert_memory_equal(out, bytes, packed.bytes);
        testing_array_free(naive, 0);
        testing_array_free(out, 0);
        free(bytes);
    }
    for (uint32_t codec = 0; codec < CODEC_KINDS_PACKED; codec++) {
        assert_true(seen[codec] > 10);
    }
    codec_sum_destroy(sum);
}

/* 1 and -1 are nothing, but they were there: -0.0 that they are added to is 0.0 after it. */
static void test_what_comes_to_nothing_is_named_and_is_zero(void **state)
{
    struct codec_sum *sum = sum_new(64);
    const uint64_t bitmap = 0x3e;
    float dense[64] = {[1] = 1, [2] = 100, [3] = 100, [4] = -100, [5] = 1}, values[64], out[64];
    struct codec_packed packed;

    (void)state;
    codec_pack(64, &bitmap, dense, out, &packed);
    assert_int_equal(packed.codec, CODEC_BITMAP_I8);
    assert_int_equal(codec_sum_add(sum, packed.codec, out), 0);
    for (uint32_t i = 0; i < 64; i++) {
        dense[i] = -dense[i];
        values[i] = -0.0F;
    }
    codec_pack(64, &bitmap, dense, out, &packed);
    assert_int_equal(codec_sum_add(sum, packed.codec, out), 0);
    codec_sum_pack(sum, out, &packed);
    assert_int_equal(packed.codec, CODEC_BITMAP_I8);
    assert_int_equal(packed.count, 5);
    assert_int_equal(codec_add(packed.codec, out, 64, values), 0);
    for (uint32_t i = 0; i < 64; i++) {
        bool named = (bitmap >> i & 1) != 0;

        assert_int_equal(testing_bits(values[i]), testing_bits(named ? 0.0F : -0.0F));
    }
    codec_sum_destroy(sum);
}

/* A sum of bytes that no byte can hold is floats again, and back. */
static void test_a_sum_beyond_a_byte_has_floats(void **state)
{
    struct codec_sum *sum = sum_new(64);
    const uint64_t bitmap = UINT64_MAX;
    struct codec_packed packed;
    float dense[64], out[64], sums[64];

    (void)state;
    for (uint32_t i = 0; i < 64; i++) {
        dense[i] = 64;
    }
    codec_pack(64, &bitmap, dense, out, &packed);
    assert_int_equal(packed.codec, CODEC_BITMAP_I8);
    assert_int_equal(codec_sum_add(sum, packed.codec, out), 0);
    assert_int_equal(codec_sum_add(sum, packed.codec, out), 0);
    codec_sum_pack(sum, sums, &packed);
    assert_int_equal(packed.codec, CODEC_F32);
    for (uint32_t i = 0; i < 64; i++) {
        assert_true(sums[i] == 128);
        dense[i] = -1;
    }
    codec_pack(64, &bitmap, dense, out, &packed);
    assert_int_equal(codec_sum_add(sum, packed.codec, out), 0);
    codec_sum_pack(sum, out, &packed);
    assert_int_equal(packed.codec, CODEC_BITMAP_I8);
    assert_int_equal(((const uint8_t *)out)[8], 127);
    codec_sum_destroy(sum);
}

static void test_one_payload_comes_out_with_its_bits(void **state)
{
    struct codec_sum *sum = sum_new(3);
    const float payload[3] = {-0.0F, 0.0F, 0x1p-149F};
    struct codec_packed packed;
    float out[3];

    (void)state;
    assert_int_equal(codec_sum_add(sum, CODEC_F32, payload), 0);
    codec_sum_pack(sum, out, &packed);
    assert_int_equal(packed.bytes, 12);
    testing_same(out, payload, 3);
    codec_sum_destroy(sum);
}

/* What a hub packs and another one goes on with is as if it had never been packed. */
static void test_packing_in_between_changes_no_bit(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 13);
    for (uint32_t run = 0; run < 400; run++) {
        uint32_t elements = testing_counts[rng_below(&r, TESTING_COUNTS - 1)];
        struct codec_sum *both = sum_new(elements), *first = sum_new(elements);
        float *naive = testing_array(0, elements), *out = testing_array(0, elements);
        float *again = testing_array(0, elements);
        uint64_t any[CODEC_WORDS_MAX] = {0};
        bool counts = rng_chance(&r, 400000);
        struct codec_packed packed, packed_again;

        (void)add_one(&r, counts, both, elements, any, naive);
        (void)add_one(&r, counts, both, elements, any, naive);
        codec_sum_pack(both, out, &packed);
        codec_sum_reset(first, elements);
        assert_int_equal(codec_sum_add(first, packed.codec, out), 0);
        codec_sum_pack(first, again, &packed_again);
        assert_int_equal(packed.codec, packed_again.codec);
        assert_int_equal(packed.bytes, packed_again.bytes);
        assert_memory_equal(out, again, packed.bytes);
        testing_array_free(naive, 0);
        testing_array_free(out, 0);
        testing_array_free(again, 0);
        codec_sum_destroy(both);
        codec_sum_destroy(first);
    }
}

static void test_a_sum_with_nothing_in_it_writes_nothing(void **state)
{
    struct codec_sum *sum = sum_new(3);
    const float payload[3] = {1, 2, 3};
    struct codec_packed packed;
    float out[3] = {7, 7, 7};

    (void)state;
    codec_sum_pack(sum, out, &packed);
    assert_true(packed.count == 0 && packed.bytes == 0 && out[0] == 7);
    assert_int_equal(codec_sum_add(sum, CODEC_F32, payload), 0);
    codec_sum_reset(sum, 2);
    codec_sum_pack(sum, out, &packed);
    assert_true(packed.count == 0 && packed.bytes == 0 && out[0] == 7);
    codec_sum_destroy(sum);
}

static void test_without_memory_there_is_no_sum(void **state)
{
    struct codec_sum *sum = NULL;

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(codec_sum_create(&sum), ERR_NOMEM);
    mem_fail_at(0, 0);
    assert_null(sum);
    codec_sum_destroy(NULL);
}

static void test_nothing_is_allocated_once_the_sum_exists(void **state)
{
    struct codec_sum *sum = sum_new(3);
    const float payload[3] = {1, 2, 3};
    uint64_t before = mem_allocations();
    struct codec_packed packed;
    float out[3];

    (void)state;
    assert_int_equal(codec_sum_add(sum, CODEC_F32, payload), 0);
    codec_sum_pack(sum, out, &packed);
    codec_sum_reset(sum, 3);
    assert_int_equal(mem_allocations(), before);
    codec_sum_destroy(sum);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sum_is_its_payloads_added_in_order_element_by_element),
        cmocka_unit_test(test_what_comes_to_nothing_is_named_and_is_zero),
        cmocka_unit_test(test_a_sum_beyond_a_byte_has_floats),
        cmocka_unit_test(test_one_payload_comes_out_with_its_bits),
        cmocka_unit_test(test_packing_in_between_changes_no_bit),
        cmocka_unit_test(test_a_sum_with_nothing_in_it_writes_nothing),
        cmocka_unit_test(test_without_memory_there_is_no_sum),
        cmocka_unit_test(test_nothing_is_allocated_once_the_sum_exists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
