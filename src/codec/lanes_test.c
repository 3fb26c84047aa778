/* The tables of lanes, against their rule. */

#include "codec/lanes.h"

#include "codec/testing.h"

static void test_each_entry_moves_its_lanes_together_and_back(void **state)
{
    (void)state;
    for (uint32_t group = 0; group < 256; group++) {
        uint32_t count = 0;

        for (uint32_t lane = 0; lane < 8; lane++) {
            if ((group >> lane & 1) != 0) {
                assert_int_equal(codec_lanes_pack[group] >> (8 * count) & 0xff, lane);
                assert_int_equal(codec_lanes_spread[group] >> (8 * lane) & 0xff, count);
                count++;
            }
            assert_true((codec_lanes_pack[group] >> (8 * lane) & 0xff) < 8);
            assert_true((codec_lanes_spread[group] >> (8 * lane) & 0xff) < 8);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_entry_moves_its_lanes_together_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
