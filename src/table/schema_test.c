/* Schemas: what is allowed, how tables are cut into chunks, and where the chunks live. */

#include "table/schema.h"

#include "base/limits.h"
#include "table/testing.h"

static struct table_schema schema(uint64_t rows, uint32_t width)
{
    struct table_schema_text in = {.name = "t", .rows = rows, .width = width};
    struct table_schema s;

    assert_int_equal(table_schema_parse(&in, &s, NULL), OK);
    return s;
}

static void test_a_schema_is_read_with_its_defaults(void **state)
{
    struct table_schema_text in = {.name = "layer-1_w.0", .rows = 3, .width = 4};
    struct table_schema s;

    (void)state;
    assert_int_equal(table_schema_parse(&in, &s, NULL), OK);
    assert_string_equal(s.name, "layer-1_w.0");
    assert_true(s.rows == 3 && s.width == 4 && s.combine == TABLE_SUM);
    assert_true(s.init.kind == TABLE_INIT_ZEROS && s.apply.kind == TABLE_ADD);
    in.init = "normal 0.1 seed=3";
    in.apply = "momentum lr=0.1 mu=0.9";
    in.combine = "samples";
    assert_int_equal(table_schema_parse(&in, &s, NULL), OK);
    assert_true(s.combine == TABLE_SAMPLES && s.init.seed == 3 && s.apply.mu == 0.9F);
}

static void test_what_is_wrong_is_named_with_what_is_allowed(void **state)
{
    static const char name_rule[] = "a name has 1 to 31 lower-case letters, digits, '-', '_' and "
                                    "'.', and starts with a letter or digit";
    static const struct {
        struct table_schema_text in;
        enum err rc;
        const char *text;
    } rows[] = {
        {{"t", 0, 1, NULL, NULL, NULL, 0}, ERR_INVALID, "0 rows of 1: both must be at least 1"},
        {{"t", 1, 0, NULL, NULL, NULL, 0}, ERR_INVALID, "1 rows of 0: both must be at least 1"},
        {{"t", (UINT64_C(1) << 36) + 1, 1, NULL, NULL, NULL, 0},
         ERR_TOO_BIG,
         "68719476737 rows of 1 are more than 68719476736 elements, the largest table: split it"},
        {{"t", UINT64_MAX, UINT32_MAX, NULL, NULL, NULL, 0},
         ERR_TOO_BIG,
         "18446744073709551615 rows of 4294967295 are more than 68719476736 elements, the largest "
         "table: split it"},
        {{"t", 1, 1, NULL, NULL, NULL, 65537},
         ERR_INVALID,
         "chunks of 65537 elements: they have 1 to 65536, or leave it out"},
        {{"t", 1, 1, NULL, NULL, "median", 0},
         ERR_INVALID,
         "combine 'median' is unknown; there are sum, mean and samples"},
        {{"t", 1, 1, "ones", NULL, NULL, 0},
         ERR_INVALID,
         "init 'ones': 'ones' is unknown; there are zeros, constant VALUE, uniform HALF-WIDTH or "
         "normal DEVIATION"},
        {{"t", 1, 1, NULL, "sgd", NULL, 0},
         ERR_INVALID,
         "apply 'sgd': lr is missing: a number above 0"},
        {{"", 1, 1, NULL, NULL, NULL, 0}, ERR_INVALID, name_rule},
        {{"-a", 1, 1, NULL, NULL, NULL, 0}, ERR_INVALID, name_rule},
        {{"..", 1, 1, NULL, NULL, NULL, 0}, ERR_INVALID, name_rule},
        {{"A", 1, 1, NULL, NULL, NULL, 0}, ERR_INVALID, name_rule},
        {{"a/b", 1, 1, NULL, NULL, NULL, 0}, ERR_INVALID, name_rule},
        {{"a b", 1, 1, NULL, NULL, NULL, 0}, ERR_INVALID, name_rule},
        {{"abcdefghijklmnopqrstuvwxyz012345", 1, 1, NULL, NULL, NULL, 0}, ERR_INVALID, name_rule},
    };
    struct table_schema out = {.rows = 42};
    char expected[ERR_TEXT_BYTES];
    struct err_text text;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)snprintf(expected, sizeof(expected), "table '%s': %s", rows[i].in.name, rows[i].text);
        assert_int_equal(table_schema_parse(&rows[i].in, &out, &text), rows[i].rc);
        assert_string_equal(text.text, expected);
        assert_int_equal(table_schema_parse(&rows[i].in, &out, NULL), rows[i].rc);
    }
    assert_int_equal(
        table_schema_parse(&(struct table_schema_text){.rows = 1, .width = 1}, &out, &text),
        ERR_INVALID);
    assert_int_equal(out.rows, 42);
}

static void test_the_longest_name_and_the_largest_table_are_allowed(void **state)
{
    struct table_schema_text in = {
        .name = "abcdefghijklmnopqrstuvwxyz01234", .rows = 1, .width = 1};
    struct table_schema s;

    (void)state;
    assert_int_equal(table_schema_parse(&in, &s, NULL), OK);
    assert_string_equal(s.name, in.name);
    in.rows = UINT64_C(1) << 36;
    assert_int_equal(table_schema_parse(&in, &s, NULL), OK);
    assert_int_equal(table_chunk_count(&s), 1 << 20);
    assert_false(table_has_rows(&s));
}

static void test_schemas_are_equal_only_if_all_of_them_is(void **state)
{
    struct table_schema_text in = {"t", 10, 3, "normal 1", "sgd lr=0.1", "mean", 64};
    struct table_schema a, b;

    (void)state;
    assert_int_equal(table_schema_parse(&in, &a, NULL), OK);
    for (uint32_t i = 0; i < 8; i++) {
        struct table_schema_text other = in;

        memset(&b, 0xff, sizeof(b));
        other.name = i == 1 ? "u" : other.name;
        other.rows += i == 2;
        other.width += i == 3;
        other.init = i == 4 ? "normal 2" : other.init;
        other.apply = i == 5 ? "sgd lr=0.2" : other.apply;
        other.combine = i == 6 ? "sum" : other.combine;
        other.chunk = i == 7 ? 63 : other.chunk;
        assert_int_equal(table_schema_parse(&other, &b, NULL), OK);
        assert_int_equal(table_schema_equal(&a, &b), i == 0);
    }
}

static void test_the_ways_to_combine_have_names(void **state)
{
    (void)state;
    assert_string_equal(table_combine_name(TABLE_SUM), "sum");
    assert_string_equal(table_combine_name(TABLE_MEAN), "mean");
    assert_string_equal(table_combine_name(TABLE_SAMPLES), "samples");
}

/* By walking all rows of a table, one after the other. */
static void check_cut(uint64_t rows, uint32_t width)
{
    struct table_schema s = schema(rows, width);
    uint32_t each = table_chunk_elements(&s);
    uint32_t count = table_chunk_count(&s);
    uint64_t elements = 0;

    assert_int_equal(table_elements(&s), rows * width);
    assert_true(each > 0 && each <= LIMIT_CHUNK_ELEMENTS);
    assert_true(each > LIMIT_CHUNK_ELEMENTS / 2);
    for (uint32_t c = 0; c < count; c++) {
        uint32_t size = table_chunk_size(&s, c);

        assert_true(size > 0 && (size == each || c == count - 1) && size <= each);
        assert_true(width > LIMIT_CHUNK_ELEMENTS || size % width == 0);
        elements += size;
    }
    assert_int_equal(elements, rows * width);
    if (!table_has_rows(&s)) {
        return;
    }
    assert_int_equal(table_rows_per_chunk(&s) * width, each);
    for (uint64_t row = 0, at = 0; row < rows; row++, at += width) {
        assert_int_equal(table_row_chunk(&s, (uint32_t)row), at / each);
        assert_int_equal((at + width - 1) / each, at / each);
    }
}

static void test_chunks_are_whole_rows_and_cover_the_table(void **state)
{
    static const uint32_t widths[] = {1,     2,     3,     7,      10,    16,    100,
                                      784,   1000,  21845, 21846,  32768, 32769, 65535,
                                      65536, 65537, 70000, 131072, 200001};
    struct rng r;

    (void)state;
    rng_init(&r, 8);
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        uint32_t per_chunk = LIMIT_CHUNK_ELEMENTS / widths[i];

        for (uint32_t k = 0; k < 4; k++) {
            uint64_t rows = per_chunk * k + rng_below(&r, per_chunk + 3);

            check_cut(rows + 1, widths[i]);
        }
        check_cut(per_chunk == 0 ? 1 : per_chunk, widths[i]);
        check_cut(per_chunk + 1, widths[i]);
    }
}

/* Smaller ones: as many whole rows as fit, but one at least; a row that no chunk can hold is cut.
 */
static void test_chunks_may_be_smaller(void **state)
{
    static const struct {
        uint64_t rows;
        uint32_t width, chunk, each, count;
    } rows[] = {
        {100, 3, 0, 65535, 1},        {100, 3, 65536, 65535, 1}, {100, 3, 30, 30, 10},
        {100, 3, 31, 30, 10},         {100, 3, 1, 3, 100},       {100, 3, 299, 297, 2},
        {7, 65536, 10, 65536, 7},     {3, 65535, 1, 65535, 3},   {1, 65537, 100, 100, 656},
        {1, 200000, 65536, 65536, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct table_schema_text in = {
            .name = "t", .rows = rows[i].rows, .width = rows[i].width, .chunk = rows[i].chunk};
        struct table_schema s;
        uint64_t elements = 0;

        assert_int_equal(table_schema_parse(&in, &s, NULL), OK);
        assert_int_equal(table_chunk_elements(&s), rows[i].each);
        assert_int_equal(table_chunk_count(&s), rows[i].count);
        for (uint32_t c = 0; c < rows[i].count; c++) {
            elements += table_chunk_size(&s, c);
        }
        assert_int_equal(elements, table_elements(&s));
        if (table_has_rows(&s)) {
            assert_int_equal(table_rows_per_chunk(&s) * s.width, rows[i].each);
            assert_int_equal(table_row_chunk(&s, (uint32_t)s.rows - 1), rows[i].count - 1);
        }
    }
}

static void test_rows_need_a_width_and_a_number_that_frames_can_carry(void **state)
{
    struct table_schema s;

    (void)state;
    s = schema(5, 65535);
    assert_true(table_has_rows(&s));
    s = schema(5, 65536);
    assert_false(table_has_rows(&s));
    s = schema(UINT64_C(1) << 32, 1);
    assert_true(table_has_rows(&s));
    assert_int_equal(table_row_chunk(&s, UINT32_MAX), 65535);
    s = schema((UINT64_C(1) << 32) + 1, 1);
    assert_false(table_has_rows(&s));
}

/* Within a table the shards differ by one chunk at most, whatever it starts with. */
static void test_chunks_are_spread_evenly(void **state)
{
    uint32_t counts[TABLE_SHARDS_MAX];

    (void)state;
    for (uint32_t shards = 1; shards <= 70; shards++) {
        for (uint32_t table = 0; table < 80; table++) {
            memset(counts, 0, sizeof(counts));
            for (uint32_t chunk = 0; chunk < 3 * shards + table; chunk++) {
                uint32_t shard = table_chunk_shard((uint16_t)table, chunk, shards);
                uint32_t least = UINT32_MAX, most = 0;

                assert_true(shard < shards);
                counts[shard]++;
                for (uint32_t i = 0; i < shards && chunk % 7 == 0; i++) {
                    least = counts[i] < least ? counts[i] : least;
                    most = counts[i] > most ? counts[i] : most;
                }
                assert_true(chunk % 7 != 0 || most - least <= 1);
            }
        }
    }
}

static void test_tables_of_one_chunk_go_round_the_shards(void **state)
{
    (void)state;
    for (uint32_t shards = 1; shards <= 300; shards++) {
        bool seen[300] = {false};

        for (uint32_t table = 0; table < shards; table++) {
            uint32_t shard = table_chunk_shard((uint16_t)table, 0, shards);

            assert_false(seen[shard]);
            seen[shard] = true;
        }
    }
}

/* The layers of a small network: a few tables of a few chunks each. */
static void test_a_few_small_tables_share_the_shards_fairly(void **state)
{
    (void)state;
    for (uint32_t shards = 2; shards <= 64; shards++) {
        for (uint32_t chunks = 1; chunks <= shards; chunks++) {
            for (uint32_t tables = 1; tables <= 10; tables++) {
                uint32_t counts[64] = {0};
                uint32_t most = 0;

                for (uint32_t i = 0; i < tables * chunks; i++) {
                    uint32_t shard = table_chunk_shard((uint16_t)(i / chunks), i % chunks, shards);

                    counts[shard]++;
                    most = counts[shard] > most ? counts[shard] : most;
                }
                assert_true(most <= (tables * chunks + shards - 1) / shards + 3);
            }
        }
    }
}

static void test_a_chunk_stays_on_its_shard_for_ever(void **state)
{
    static const struct {
        uint16_t table;
        uint32_t chunk, shards, shard;
    } rows[] = {
        {0, 0, 1, 0},
        {9, 99, 1, 0},
        {0, 5, 4, 1},
        {1, 0, 4, 3},
        {2, 1, 4, 3},
        {1, 0, 8, 5},
        {3, 10, 8, 1},
        {1, 0, 6, 5},
        {1, 0, 16, 11},
        {7, 3, 7, 3},
        {1, 0, 7, 4},
        {255, 1048575, 24, 6},
        {65535, UINT32_MAX, 4096, 1534},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(table_chunk_shard(rows[i].table, rows[i].chunk, rows[i].shards),
                         rows[i].shard);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_schema_is_read_with_its_defaults),
        cmocka_unit_test(test_what_is_wrong_is_named_with_what_is_allowed),
        cmocka_unit_test(test_the_longest_name_and_the_largest_table_are_allowed),
        cmocka_unit_test(test_schemas_are_equal_only_if_all_of_them_is),
        cmocka_unit_test(test_the_ways_to_combine_have_names),
        cmocka_unit_test(test_chunks_are_whole_rows_and_cover_the_table),
        cmocka_unit_test(test_chunks_may_be_smaller),
        cmocka_unit_test(test_rows_need_a_width_and_a_number_that_frames_can_carry),
        cmocka_unit_test(test_chunks_are_spread_evenly),
        cmocka_unit_test(test_tables_of_one_chunk_go_round_the_shards),
        cmocka_unit_test(test_a_few_small_tables_share_the_shards_fairly),
        cmocka_unit_test(test_a_chunk_stays_on_its_shard_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
