/* Every way to write an update, run through one list of conditions. */

#include "codec/coder.h"

#include "codec/testing.h"

static void test_what_was_written_and_what_is_held_is_what_was_held(void **state)
{
    struct codec_coder *coder;
    struct rng r;

    (void)state;
    rng_init(&r, 7);
    assert_int_equal(codec_coder_create(&coder), OK);
    for (uint32_t i = 0; i < 40 * TESTING_COUNTS; i++) {
        uint32_t elements = testing_counts[i % TESTING_COUNTS];
        struct codec_chain chain = {.cut = rng_below(&r, 2), .form = rng_below(&r, CODEC_FORMS)};
        float *held = testing_array(0, elements), *before = testing_array(0, elements);
        float *out = testing_array(0, elements);
        struct codec_packed packed;
        struct codec_plain plain;

        testing_fill(&r, held, elements);
        memcpy(before, held, elements * 4);
        codec_encode(coder, &chain, 0.5F, 0, held, elements, out, &packed);
        if (packed.count > 0) {
            assert_int_equal(codec_decode(coder, packed.codec, out, packed.bytes, elements, &plain),
                             OK);
            assert_int_equal(codec_add(plain.codec, plain.payload, elements, held), 0);
        }
        testing_same(held, before, elements);
        testing_array_free(held, 0);
        testing_array_free(before, 0);
        testing_array_free(out, 0);
    }
    codec_coder_destroy(coder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_written_and_what_is_held_is_what_was_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
