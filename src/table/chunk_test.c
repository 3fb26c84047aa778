/* The store of chunks against a list that is walked, with shards, odd shapes and failing memory. */

#include "table/chunk.h"

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "table/testing.h"

enum { MODEL_MAX = 4096, TABLES = 6 };

static struct table_schema schema(const char *name, uint64_t rows, uint32_t width, const char *init,
                                  const char *apply)
{
    struct table_schema_text in = {
        .name = name, .rows = rows, .width = width, .init = init, .apply = apply};
    struct table_schema s;

    assert_int_equal(table_schema_parse(&in, &s, NULL), OK);
    return s;
}

static struct table_store *store(uint32_t shards, const uint32_t *held, uint32_t held_count)
{
    struct table_store *s;

    assert_int_equal(table_store_create(shards, held, held_count, &s), OK);
    return s;
}

/* What the index of each chunk should be: by walking. */
struct model {
    uint32_t count;
    struct {
        uint16_t table;
        uint32_t chunk;
        const float *values;
    } chunks[MODEL_MAX];
};

static bool model_holds(const bool *held, uint32_t shards, uint16_t id, uint32_t chunk)
{
    return held == NULL || held[table_chunk_shard(id, chunk, shards)];
}

static void model_add(struct model *m, const struct table_store *s, const bool *held,
                      uint32_t shards, uint16_t id)
{
    const struct table_schema *schema_of = table_store_schema(s, id);

    for (uint32_t c = 0; c < table_chunk_count(schema_of); c++) {
        if (model_holds(held, shards, id, c)) {
            assert_true(m->count < MODEL_MAX);
            m->chunks[m->count].table = id;
            m->chunks[m->count].chunk = c;
            m->chunks[m->count].values = table_store_values(s, m->count);
            m->count++;
        }
    }
}

static void check_values(const struct table_store *s, uint32_t index)
{
    const struct table_schema *of = table_store_schema(s, table_store_table(s, index));
    uint32_t count = table_store_elements(s, index);
    uint64_t first = (uint64_t)table_store_chunk(s, index) * table_chunk_elements(of);
    const float *state = table_store_state(s, index);
    float *expected = testing_array(0, count);

    table_init_fill(&of->init, hash_text(of->name), first, expected, count);
    testing_alike(table_store_values(s, index), expected, count);
    assert_int_equal(state != NULL, table_apply_planes(&of->apply));
    for (uint32_t i = 0; i < count && state != NULL; i++) {
        assert_int_equal(testing_bits(state[i]), 0);
    }
    testing_array_free(expected, 0);
}

static void model_check(const struct model *m, const struct table_store *s, const bool *held,
                        uint32_t shards)
{
    assert_int_equal(table_store_count(s), m->count);
    for (uint32_t i = 0; i < m->count; i++) {
        uint16_t id = m->chunks[i].table;
        uint32_t chunk = m->chunks[i].chunk;

        assert_int_equal(table_store_find(s, id, chunk), i);
        assert_int_equal(table_store_table(s, i), id);
        assert_int_equal(table_store_chunk(s, i), chunk);
        assert_int_equal(table_store_elements(s, i),
                         table_chunk_size(table_store_schema(s, id), chunk));
        assert_ptr_equal(table_store_values(s, i), m->chunks[i].values);
        assert_int_equal((uintptr_t)table_store_values(s, i) % TABLE_PLANE_ALIGN, 0);
        assert_int_equal((uintptr_t)table_store_state(s, i) % TABLE_PLANE_ALIGN, 0);
    }
    for (uint16_t id = 0; id < 2 * TABLES; id++) {
        const struct table_schema *of = table_store_schema(s, id);
        uint32_t count = of == NULL ? 0 : table_chunk_count(of);

        for (uint32_t c = 0; c < count + 3; c++) {
            bool there = c < count && model_holds(held, shards, id, c);

            assert_int_equal(table_store_find(s, id, c) != TABLE_STORE_NONE, there);
        }
    }
}

/* Tables of all sizes, whose chunks are full, short, of odd width, or one row of many chunks. */
static struct table_schema random_schema(struct rng *r)
{
    static const uint32_t widths[] = {1, 3, 10, 100, 1000, 40000, 65536, 150000};
    static const char *const inits[] = {"zeros", "constant 0.5", "uniform 0.1", "normal 0.02"};
    static const char *const appliers[] = {"add", "momentum lr=0.1 mu=0.9", "adagrad lr=0.1"};
    uint32_t width = widths[rng_below(r, 8)];
    uint64_t elements = UINT64_C(1) << rng_below(r, 20);

    return schema(rng_chance(r, 500000) ? "a" : "b", 1 + elements / width, width,
                  inits[rng_below(r, 4)], appliers[rng_below(r, 3)]);
}

static void test_random_stores_agree_with_a_list(void **state)
{
    static struct model m;
    struct rng r;

    (void)state;
    rng_init(&r, 77);
    for (uint32_t round = 0; round < 60; round++) {
        uint32_t shards = 1 + (uint32_t)rng_below(&r, 9), held_count = 0;
        bool all = round % 5 == 0, held[9] = {false};
        uint32_t list[9];
        struct table_store *s;

        m.count = 0;
        for (uint32_t i = 0; i < shards; i++) {
            held[i] = rng_chance(&r, 400000);
            list[held_count] = i;
            held_count += held[i];
        }
        s = store(shards, all ? NULL : list, held_count);
        for (uint16_t k = 0; k < TABLES; k++) {
            uint16_t id = (uint16_t)((k * 5 + round) % (2 * TABLES));
            struct table_schema of = random_schema(&r);
            uint32_t before = table_store_count(s);

            assert_int_equal(table_store_add_table(s, id, &of), OK);
            assert_true(table_schema_equal(table_store_schema(s, id), &of));
            model_add(&m, s, all ? NULL : held, shards, id);
            model_check(&m, s, all ? NULL : held, shards);
            for (uint32_t i = before; i < table_store_count(s); i++) {
                check_values(s, i);
            }
        }
        table_store_destroy(s);
    }
}

static void test_planes_do_not_overlap(void **state)
{
    struct table_store *s = store(3, (const uint32_t[]){0, 2}, 2);
    struct table_schema of = schema("t", 30001, 10, "zeros", "momentum lr=0.1 mu=0.9");

    (void)state;
    assert_int_equal(table_store_add_table(s, 1, &of), OK);
    for (uint32_t i = 0; i < table_store_count(s); i++) {
        for (uint32_t k = 0; k < table_store_elements(s, i); k++) {
            table_store_values(s, i)[k] = (float)(2 * i);
            table_store_state(s, i)[k] = (float)(2 * i + 1);
        }
    }
    for (uint32_t i = 0; i < table_store_count(s); i++) {
        for (uint32_t k = 0; k < table_store_elements(s, i); k++) {
            assert_true(table_store_values(s, i)[k] == (float)(2 * i));
            assert_true(table_store_state(s, i)[k] == (float)(2 * i + 1));
        }
    }
    table_store_destroy(s);
}

/* Every server's part together is the worker's whole copy. */
static void test_the_shards_make_up_the_copy(void **state)
{
    enum { SHARDS = 5 };
    struct table_schema of = schema("t", 1000003, 1, "normal 1", "add");
    struct table_store *copy = store(SHARDS, NULL, 0), *parts[SHARDS];
    uint32_t chunks = 0;

    (void)state;
    assert_int_equal(table_store_add_table(copy, 3, &of), OK);
    for (uint32_t i = 0; i < SHARDS; i++) {
        parts[i] = store(SHARDS, &i, 1);
        assert_int_equal(table_store_add_table(parts[i], 3, &of), OK);
        chunks += table_store_count(parts[i]);
    }
    assert_int_equal(chunks, table_chunk_count(&of));
    for (uint32_t c = 0; c < chunks; c++) {
        const struct table_store *part = parts[table_chunk_shard(3, c, SHARDS)];
        uint32_t here = table_store_find(part, 3, c), there = table_store_find(copy, 3, c);

        assert_int_equal(there, c);
        assert_int_equal(table_store_elements(part, here), table_store_elements(copy, there));
        assert_memory_equal(table_store_values(part, here), table_store_values(copy, there),
                            table_store_elements(part, here) * sizeof(float));
    }
    table_store_destroy(copy);
    for (uint32_t i = 0; i < SHARDS; i++) {
        table_store_destroy(parts[i]);
    }
}

static void test_wrong_shards_and_ids_are_refused(void **state)
{
    struct table_schema of = schema("t", 1, 1, NULL, NULL);
    struct table_store *s = NULL;

    (void)state;
    assert_int_equal(table_store_create(0, NULL, 0, &s), ERR_INVALID);
    assert_int_equal(table_store_create(TABLE_SHARDS_MAX + 1, NULL, 0, &s), ERR_INVALID);
    assert_int_equal(table_store_create(4, (const uint32_t[]){4}, 1, &s), ERR_INVALID);
    assert_int_equal(table_store_create(4, (const uint32_t[]){2, 2}, 2, &s), ERR_INVALID);
    assert_null(s);
    s = store(TABLE_SHARDS_MAX, (const uint32_t[]){TABLE_SHARDS_MAX - 1}, 1);
    assert_int_equal(table_store_add_table(s, TABLE_COUNT_MAX, &of), ERR_TOO_BIG);
    assert_int_equal(table_store_add_table(s, TABLE_COUNT_MAX - 1, &of), OK);
    assert_int_equal(table_store_add_table(s, TABLE_COUNT_MAX - 1, &of), ERR_EXISTS);
    assert_int_equal(table_store_find(s, UINT16_MAX, 0), TABLE_STORE_NONE);
    assert_int_equal(table_store_find(s, TABLE_COUNT_MAX - 1, UINT32_MAX), TABLE_STORE_NONE);
    assert_null(table_store_schema(s, UINT16_MAX));
    assert_null(table_store_schema(s, 0));
    table_store_destroy(s);
    table_store_destroy(NULL);
}

static void test_a_store_of_no_shard_knows_its_tables_only(void **state)
{
    struct table_schema of = schema("t", 1000000, 1, "normal 1", "add");
    struct table_store *s = store(4, (const uint32_t[]){0}, 0);

    (void)state;
    assert_int_equal(table_store_add_table(s, 0, &of), OK);
    assert_int_equal(table_store_count(s), 0);
    assert_non_null(table_store_schema(s, 0));
    assert_int_equal(table_store_find(s, 0, 0), TABLE_STORE_NONE);
    table_store_destroy(s);
}

static void test_memory_is_little_more_than_the_floats(void **state)
{
    static const uint64_t sizes[] = {1, 10, 65536, 65537, 100000, 262144, 300000, 600000, 5000000};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct table_store *s = store(4, NULL, 0);
        uint64_t empty = table_store_bytes(s), size = sizes[i / 2], floats, taken;
        struct table_schema of = schema("t", size, 1, "zeros", i % 2 == 0 ? "add" : "adagrad lr=1");

        assert_int_equal(table_store_add_table(s, 0, &of), OK);
        taken = table_store_bytes(s) - empty;
        floats = size * (1 + i % 2) * sizeof(float);
        assert_true(taken >= floats);
        assert_true((double)taken <= 1.02 * (double)floats + 512.0 * table_store_count(s));
        table_store_destroy(s);
    }
}

static void test_no_memory_changes_nothing(void **state)
{
    struct table_schema first = schema("a", 100, 10, "normal 1", "momentum lr=0.1 mu=0.9");
    struct table_schema second = schema("b", 100000, 10, "normal 1", "momentum lr=0.1 mu=0.9");
    uint32_t k = 0;
    enum err rc = ERR_NOMEM;

    (void)state;
    for (; rc == ERR_NOMEM; k++) {
        struct table_store *s = NULL;

        mem_fail_at(k + 1, 1);
        rc = table_store_create(4, (const uint32_t[]){1, 3}, 2, &s);
        rc = rc == OK ? table_store_add_table(s, 0, &first) : rc;
        if (rc == OK) {
            uint64_t bytes = table_store_bytes(s);
            uint32_t count = table_store_count(s);

            rc = table_store_add_table(s, 1, &second);
            assert_true(rc == OK || table_store_bytes(s) == bytes);
            assert_true(rc == OK || table_store_count(s) == count);
            assert_true((table_store_schema(s, 1) != NULL) == (rc == OK));
        }
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        if (rc == ERR_NOMEM && s != NULL && table_store_schema(s, 0) != NULL) {
            assert_int_equal(table_store_add_table(s, 1, &second), OK);
            check_values(s, 0);
        }
        table_store_destroy(s);
    }
    assert_true(k > 6);
}

/* More than most machines have. If the system gives it all the same, nothing touches it. */
static void test_a_table_beyond_the_machine_is_no_memory(void **state)
{
    struct table_schema huge = schema("t", UINT64_C(1) << 36, 1, "zeros", "adagrad lr=1");
    struct table_schema small = schema("u", 10, 1, "constant 2", "add");
    struct table_store *s = store(1, NULL, 0);
    enum err rc = table_store_add_table(s, 0, &huge);

    (void)state;
    assert_true(rc == OK || rc == ERR_NOMEM);
    assert_int_equal(table_store_add_table(s, 1, &small), OK);
    assert_true(table_store_values(s, table_store_find(s, 1, 0))[9] == 2);
    table_store_destroy(s);
}

/* Whatever table goes, the chunks of the others are found, in order and with their values. */
static void test_a_dropped_table_leaves_no_gap(void **state)
{
    static const uint32_t held[] = {1, 2};
    struct rng r;

    (void)state;
    rng_init(&r, 5);
    for (int run = 0; run < 200; run++) {
        struct table_store *s = store(5, held, 2);
        bool there[6] = {false};

        for (int i = 0; i < 40; i++) {
            uint16_t id = (uint16_t)rng_below(&r, 6);
            uint32_t before = table_store_count(s), first, count, index = 0;

            if (!there[id]) {
                struct table_schema of = schema("t", 1 + rng_below(&r, 9), 65536, NULL, NULL);

                assert_int_equal(table_store_add_table(s, id, &of), OK);
            } else {
                table_store_drop(s, id, &first, &count);
                assert_int_equal(table_store_count(s), before - count);
                assert_null(table_store_schema(s, id));
            }
            there[id] = !there[id];
            for (; index < table_store_count(s); index++) {
                uint16_t table = table_store_table(s, index);

                assert_true(there[table]);
                assert_int_equal(table_store_find(s, table, table_store_chunk(s, index)), index);
            }
        }
        table_store_destroy(s);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_stores_agree_with_a_list),
        cmocka_unit_test(test_planes_do_not_overlap),
        cmocka_unit_test(test_the_shards_make_up_the_copy),
        cmocka_unit_test(test_wrong_shards_and_ids_are_refused),
        cmocka_unit_test(test_a_store_of_no_shard_knows_its_tables_only),
        cmocka_unit_test(test_memory_is_little_more_than_the_floats),
        cmocka_unit_test(test_no_memory_changes_nothing),
        cmocka_unit_test(test_a_table_beyond_the_machine_is_no_memory),
        cmocka_unit_test(test_a_dropped_table_leaves_no_gap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
