/* Sparse access against one row and one element at a time. */

#include "table/rows.h"

#include "base/limits.h"
#include "table/testing.h"

static struct table_schema schema(uint64_t rows, uint32_t width)
{
    struct table_schema_text in = {.name = "t", .rows = rows, .width = width};
    struct table_schema s;

    assert_int_equal(table_schema_parse(&in, &s, NULL), OK);
    return s;
}

/* A list at an odd place, as in a frame. */
struct list {
    uint8_t bytes[4 * 4096 + 1];
    uint32_t count;
};

static const void *list_rows(const struct list *l)
{
    return l->bytes + 1;
}

static void list_add(struct list *l, uint32_t row)
{
    assert_true(l->count < 4096);
    memcpy(l->bytes + 1 + (size_t)4 * l->count++, &row, 4);
}

/* Some rows of a chunk: few, many or all; at most @max. */
static void list_random(struct list *l, struct rng *r, const struct table_schema *s, uint32_t chunk,
                        uint32_t max)
{
    uint32_t first = chunk * table_rows_per_chunk(s);
    uint32_t in_chunk = table_chunk_size(s, chunk) / s->width;
    uint32_t ppm = (uint32_t[]){1000, 100000, 500000, 950000, 1000000}[rng_below(r, 5)];

    l->count = 0;
    for (uint32_t i = 0; i < in_chunk && l->count < max; i++) {
        if (rng_chance(r, ppm)) {
            list_add(l, first + i);
        }
    }
}

struct sparse {
    struct table_schema s;
    uint32_t chunk;
    uint32_t size; /* Elements of the chunk. */
    struct list list;
    float *sum, *x, *naive;
};

static struct sparse *sparse_make(struct rng *r)
{
    static const uint32_t widths[] = {1, 2, 5, 16, 17, 100, 784, 30000, 65535};
    struct sparse *p = calloc(1, sizeof(*p));
    uint32_t width = widths[rng_below(r, 9)];
    uint32_t per_chunk = LIMIT_CHUNK_ELEMENTS / width;

    assert_non_null(p);
    p->s = schema(1 + rng_below(r, (uint64_t)3 * per_chunk), width);
    p->chunk = (uint32_t)rng_below(r, table_chunk_count(&p->s));
    p->size = table_chunk_size(&p->s, p->chunk);
    list_random(&p->list, r, &p->s, p->chunk, 4096);
    p->sum = testing_array(0, p->size);
    p->naive = testing_array(0, p->size);
    p->x = testing_array(1, p->list.count * width);
    testing_fill(r, p->sum, p->size);
    testing_fill(r, p->x, p->list.count * width);
    memcpy(p->naive, p->sum, p->size * sizeof(float));
    return p;
}

static void sparse_free(struct sparse *p)
{
    testing_array_free(p->sum, 0);
    testing_array_free(p->naive, 0);
    testing_array_free(p->x, 1);
    free(p);
}

/* Returns whether all is finite. */
static bool sparse_naive_add(struct sparse *p, float scale)
{
    uint32_t first = p->chunk * table_rows_per_chunk(&p->s);
    bool finite = true;

    for (uint32_t i = 0; i < p->list.count; i++) {
        uint32_t row = table_rows_get(list_rows(&p->list), i) - first;

        for (uint32_t k = 0; k < p->s.width; k++) {
            float *at = &p->naive[row * p->s.width + k];

            *at = testing_add(*at, testing_mul(scale, p->x[i * p->s.width + k]));
            finite = finite && testing_is_finite(*at);
        }
    }
    return finite;
}

static void test_random_rows_are_added_with_the_bits_of_single_operations(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 12);
    for (uint32_t i = 0; i < 150; i++) {
        struct sparse *p = sparse_make(&r);
        float scale = testing_float(&r);

        (void)sparse_naive_add(p, scale);
        table_rows_add(&p->s, p->chunk, list_rows(&p->list), p->list.count, scale, p->x, p->sum);
        testing_alike(p->sum, p->naive, p->size);
        sparse_free(p);
    }
}

static void test_a_checked_addition_is_whole_or_not_at_all(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY, 3e38F};
    uint32_t refused = 0;
    struct rng r;

    (void)state;
    rng_init(&r, 13);
    for (uint32_t i = 0; i < 200; i++) {
        struct sparse *p = sparse_make(&r);
        uint32_t count = p->list.count * p->s.width;
        float scale = (float)rng_below(&r, 5);
        bool finite, done;

        if (i % 2 == 0 && count > 0) {
            p->x[rng_below(&r, count)] = bad[rng_below(&r, 4)];
        }
        finite = sparse_naive_add(p, scale);
        if (!finite) {
            memcpy(p->naive, p->sum, p->size * sizeof(float));
            refused++;
        }
        done = table_rows_add_checked(&p->s, p->chunk, list_rows(&p->list), p->list.count, scale,
                                      p->x, p->sum);
        assert_int_equal(done, finite);
        testing_alike(p->sum, p->naive, p->size);
        sparse_free(p);
    }
    assert_true(refused > 50 && refused < 190);
}

static void test_gathered_rows_are_those_of_the_chunk(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 14);
    for (uint32_t i = 0; i < 150; i++) {
        struct sparse *p = sparse_make(&r);
        uint32_t first = p->chunk * table_rows_per_chunk(&p->s);

        table_rows_gather(&p->s, p->chunk, list_rows(&p->list), p->list.count, p->sum, p->x);
        for (uint32_t k = 0; k < p->list.count; k++) {
            uint32_t row = table_rows_get(list_rows(&p->list), k) - first;

            testing_alike(p->x + (size_t)k * p->s.width, p->sum + (size_t)row * p->s.width,
                          p->s.width);
        }
        testing_alike(p->sum, p->naive, p->size);
        sparse_free(p);
    }
}

static void test_a_list_is_cut_where_its_chunk_ends(void **state)
{
    struct table_schema s = schema(UINT64_C(1) << 32, 3);
    uint32_t each = table_rows_per_chunk(&s);
    struct list l = {.count = 0};
    struct rng r;

    (void)state;
    rng_init(&r, 15);
    for (uint32_t round = 0; round < 300; round++) {
        uint64_t row = rng_below(&r, UINT64_C(1) << rng_below(&r, 33));
        uint64_t gap = UINT64_C(1) << rng_below(&r, 20);

        for (l.count = 0; l.count < 300 && row <= UINT32_MAX; row += 1 + rng_below(&r, gap)) {
            list_add(&l, (uint32_t)row);
        }
        for (uint32_t at = 0; at < l.count;) {
            const uint8_t *rest = l.bytes + 1 + (size_t)4 * at;
            uint32_t run = table_rows_run(&s, rest, l.count - at);
            uint32_t naive = 1;

            while (at + naive < l.count &&
                   table_rows_get(rest, naive) / each == table_rows_get(rest, 0) / each) {
                naive++;
            }
            assert_int_equal(run, naive);
            assert_true(
                table_rows_valid(&s, table_row_chunk(&s, table_rows_get(rest, 0)), rest, run));
            at += run;
        }
    }
}

static bool valid(const struct table_schema *s, uint32_t chunk, uint32_t a, uint32_t b)
{
    struct list l = {.count = 0};

    list_add(&l, a);
    list_add(&l, b);
    return table_rows_valid(s, chunk, list_rows(&l), 2);
}

static void test_lists_from_outside_are_judged(void **state)
{
    struct table_schema s = schema(25, 10000), wide = schema(25, 65536);

    (void)state;
    /* Six rows a chunk; the last has one. */
    assert_true(valid(&s, 0, 0, 5));
    assert_false(valid(&s, 0, 0, 6));
    assert_false(valid(&s, 0, 5, 5));
    assert_false(valid(&s, 0, 5, 4));
    assert_true(valid(&s, 3, 18, 23));
    assert_false(valid(&s, 3, 17, 23));
    assert_false(valid(&s, 4, 24, 25));
    assert_false(valid(&s, 4, 24, UINT32_MAX));
    assert_false(valid(&s, 5, 30, 31));
    assert_false(valid(&s, UINT32_MAX, 0, 1));
    assert_false(valid(&wide, 0, 0, 1));
    assert_true(table_rows_valid(&s, 4, NULL, 0));
    assert_false(table_rows_valid(&s, 5, NULL, 0));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_rows_are_added_with_the_bits_of_single_operations),
        cmocka_unit_test(test_a_checked_addition_is_whole_or_not_at_all),
        cmocka_unit_test(test_gathered_rows_are_those_of_the_chunk),
        cmocka_unit_test(test_a_list_is_cut_where_its_chunk_ends),
        cmocka_unit_test(test_lists_from_outside_are_judged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
