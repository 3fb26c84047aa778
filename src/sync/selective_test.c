/* Selective barriers: case by case, and random runs against sets of elements. */

#include "sync/selective.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SITES = 5, CHUNKS = 4, WORDS = 3, ELEMENTS = WORDS * 64, RUNS = 200, STEPS = 400 };
enum { CLOCK = 4 }; /* Of what is announced. */

/* A machine that has begun, with sites 1 and on. */
static void open_world(struct mirror *m, struct selective *s)
{
    struct mirror_config config = {.staleness = 3, .life = 1};
    struct err_text text;
    uint32_t site;

    assert_int_equal(mirror_init(m, &config, 0, &text), OK);
    for (uint32_t i = 1; i < SITES; i++) {
        assert_int_equal(mirror_add_site(m, 0, 0, &site), OK);
    }
    assert_int_equal(mirror_grow(m, CHUNKS), OK);
    mirror_begin(m, 0);
    selective_init(s);
    assert_int_equal(selective_grow(s, CHUNKS), OK);
}

static void close_world(struct mirror *m, struct selective *s)
{
    selective_deinit(s);
    mirror_deinit(m);
}

static void raise_one(struct selective *s, const struct mirror *m, uint32_t chunk, uint32_t site,
                      uint64_t number, uint32_t element, int64_t now_ns)
{
    struct mirror_range range = {.site = site, .number = number};
    uint64_t bitmap[WORDS] = {0};

    bitmap[element / 64] |= UINT64_C(1) << element % 64;
    assert_int_equal(selective_raise(s, m, chunk, CLOCK, &range, 1, bitmap, WORDS, now_ns), OK);
}

static bool may_read(const struct selective *s, uint32_t chunk, uint32_t first, uint32_t count)
{
    uint32_t site;
    int64_t since_ns;

    return selective_may_read(s, chunk, first, count, &site, &since_ns);
}

static void test_only_readers_of_the_named_elements_wait(void **state)
{
    static const uint32_t elements[] = {0, 1, 62, 63, 64, 65, 127, 128, 191};
    struct selective s;
    struct mirror m;

    (void)state;
    for (uint32_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++) {
        uint32_t e = elements[i];

        open_world(&m, &s);
        raise_one(&s, &m, 1, 2, 5, e, 7);
        assert_false(may_read(&s, 1, e, 1));
        assert_false(may_read(&s, 1, 0, ELEMENTS));
        assert_false(may_read(&s, 1, 0, e + 1));
        assert_false(may_read(&s, 1, e, ELEMENTS - e));
        assert_true(may_read(&s, 1, 0, e));
        assert_true(may_read(&s, 1, e + 1, ELEMENTS - e - 1));
        assert_true(may_read(&s, 1, e, 0));
        assert_true(may_read(&s, 0, e, 1));
        assert_true(selective_is_free(&s, 0));
        assert_false(selective_is_free(&s, 1));
        close_world(&m, &s);
    }
}

static void test_elements_beyond_the_bitmap_are_free(void **state)
{
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    raise_one(&s, &m, 0, 1, 5, ELEMENTS - 1, 0);
    assert_true(may_read(&s, 0, ELEMENTS, 64));
    assert_true(may_read(&s, 0, ELEMENTS + 1000, UINT32_MAX));
    assert_false(may_read(&s, 0, ELEMENTS - 1, UINT32_MAX));
    close_world(&m, &s);
}

static void test_a_reader_is_told_for_whom_it_waits_and_since_when(void **state)
{
    struct selective s;
    struct mirror m;
    uint32_t site = 99;
    int64_t since_ns = -1;

    (void)state;
    open_world(&m, &s);
    raise_one(&s, &m, 1, 2, 5, 10, 70);
    raise_one(&s, &m, 1, 3, 5, 20, 80);
    raise_one(&s, &m, 1, 2, 6, 30, 90); /* The same barrier: it is as old as its first part. */
    assert_int_equal(s.count, 2);
    assert_false(selective_may_read(&s, 1, 20, 1, &site, &since_ns));
    assert_int_equal(site, 3);
    assert_int_equal(since_ns, 80);
    assert_false(selective_may_read(&s, 1, 30, 1, &site, &since_ns));
    assert_int_equal(site, 2);
    assert_int_equal(since_ns, 70);
    close_world(&m, &s);
}

static void test_a_barrier_goes_when_its_piece_has_come(void **state)
{
    struct mirror_range range = {.site = 2, .prev = 0, .number = 5};
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    raise_one(&s, &m, 1, 2, 5, 10, 0);
    assert_false(selective_look(&s, &m, 1));
    range.number = 4;
    assert_int_equal(mirror_judge(&m, 1, &range, 1, false, true), MIRROR_TAKE);
    assert_false(selective_look(&s, &m, 1));
    assert_false(may_read(&s, 1, 10, 1));
    range = (struct mirror_range){.site = 2, .prev = 4, .number = 6};
    assert_int_equal(mirror_judge(&m, 1, &range, 1, false, true), MIRROR_TAKE);
    assert_false(selective_look(&s, &m, 0));
    assert_true(selective_look(&s, &m, 1));
    assert_true(may_read(&s, 1, 10, 1));
    assert_int_equal(s.count, 0);
    close_world(&m, &s);
}

static void test_a_barrier_that_comes_too_late_does_nothing(void **state)
{
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    mirror_adopt(&m, 1, 2, 5);
    raise_one(&s, &m, 1, 2, 5, 10, 0);
    assert_int_equal(s.count, 0);
    raise_one(&s, &m, 1, MIRROR_SELF, 500, 10, 0); /* Nobody waits for oneself. */
    assert_int_equal(s.count, 0);
    raise_one(&s, &m, 1, 2, 6, 10, 0);
    assert_int_equal(s.count, 1);
    close_world(&m, &s);
}

static void test_a_merged_barrier_waits_for_the_larger_number(void **state)
{
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    raise_one(&s, &m, 1, 2, 9, 10, 0);
    raise_one(&s, &m, 1, 2, 5, 20, 0);
    mirror_adopt(&m, 1, 2, 8);
    assert_false(selective_look_all(&s, &m));
    mirror_adopt(&m, 1, 2, 9);
    assert_true(selective_look_all(&s, &m));
    assert_false(selective_look_all(&s, &m));
    close_world(&m, &s);
}

static void test_a_merged_piece_is_waited_for_part_by_part(void **state)
{
    struct mirror_range ranges[] = {{.site = 1, .number = 3}, {.site = 2, .number = 4}};
    uint64_t bitmap[1] = {1};
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    mirror_adopt(&m, 0, 1, 3); /* That part is here already. */
    assert_int_equal(selective_raise(&s, &m, 0, CLOCK, ranges, 2, bitmap, 1, 0), OK);
    assert_int_equal(s.count, 1);
    assert_int_equal(selective_raise(&s, &m, 1, CLOCK, ranges, 2, bitmap, 1, 0), OK);
    assert_int_equal(s.count, 3);
    mirror_adopt(&m, 1, 1, 3);
    assert_true(selective_look(&s, &m, 1));
    assert_false(may_read(&s, 1, 0, 1));
    mirror_adopt(&m, 1, 2, 4);
    assert_true(selective_look(&s, &m, 1));
    assert_true(may_read(&s, 1, 0, 1));
    close_world(&m, &s);
}

static void test_a_longer_bitmap_makes_a_barrier_longer(void **state)
{
    struct mirror_range range = {.site = 1, .number = 3};
    uint64_t first[1] = {1}, second[WORDS] = {2, 0, UINT64_C(1) << 63}, third[2] = {0, 1};
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    assert_int_equal(selective_raise(&s, &m, 0, CLOCK, &range, 1, first, 1, 5), OK);
    assert_int_equal(selective_raise(&s, &m, 0, CLOCK, &range, 1, second, WORDS, 6), OK);
    assert_int_equal(selective_raise(&s, &m, 0, CLOCK, &range, 1, third, 2, 7), OK);
    assert_int_equal(s.count, 1);
    assert_false(may_read(&s, 0, 0, 1));
    assert_false(may_read(&s, 0, 1, 1));
    assert_true(may_read(&s, 0, 2, 62));
    assert_false(may_read(&s, 0, 64, 1));
    assert_true(may_read(&s, 0, 65, ELEMENTS - 66));
    assert_false(may_read(&s, 0, ELEMENTS - 1, 1));
    close_world(&m, &s);
}

static void test_nobody_waits_for_a_site_that_is_left_out(void **state)
{
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    raise_one(&s, &m, 1, 2, 5, 10, 0);
    raise_one(&s, &m, 3, 2, 5, 10, 0);
    raise_one(&s, &m, 3, 1, 5, 11, 0);
    mirror_late_site(&m, 2);
    assert_true(selective_look_all(&s, &m));
    assert_int_equal(s.count, 1);
    assert_false(may_read(&s, 3, 11, 1));
    raise_one(&s, &m, 1, 2, 6, 10, 0);
    assert_int_equal(s.count, 1);
    close_world(&m, &s);
}

/* What a site announced and forgot when it died never comes. */
static void test_nobody_waits_for_what_was_announced_in_a_life_before(void **state)
{
    uint64_t base = UINT64_C(7) << MIRROR_LIFE_SHIFT;
    struct mirror_report report = {.number = base, .floor = base};
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    mirror_up(&m, 2, true, 0);
    assert_int_equal(mirror_hear(&m, 2, &report, 0), OK);
    raise_one(&s, &m, 1, 2, base + 5, 10, 0);
    assert_false(selective_look(&s, &m, 1));
    base = UINT64_C(8) << MIRROR_LIFE_SHIFT;
    report = (struct mirror_report){.number = base, .floor = base};
    mirror_up(&m, 2, true, 0);
    assert_int_equal(mirror_hear(&m, 2, &report, 0), OK);
    assert_true(selective_look(&s, &m, 1));
    assert_true(may_read(&s, 1, 10, 1));
    close_world(&m, &s);
}

/* A site that stored less than it announced goes on in the same life: the chunk may never get a
 * piece of that number, but a mark says that all has come. */
static void test_nobody_waits_for_what_a_mark_says_there_is_not(void **state)
{
    struct mirror_mark mark = {.site = 2, .number = 4, .clock = CLOCK - 1, .whole = true};
    struct selective s;
    struct mirror m;

    (void)state;
    for (int by_clock = 0; by_clock < 2; by_clock++) {
        open_world(&m, &s);
        mark.answer = m.sites[2].request;
        mark.number = 4;
        mark.clock = CLOCK - 1;
        raise_one(&s, &m, 1, 2, 5, 10, 0);
        mirror_marked(&m, 2, &mark);
        assert_false(selective_look(&s, &m, 1));
        mark.number += by_clock == 0;
        mark.clock += by_clock == 1;
        mirror_marked(&m, 2, &mark);
        assert_true(selective_look(&s, &m, 1));
        raise_one(&s, &m, 1, 2, 5, 10, 0);
        assert_int_equal(s.count, 0);
        close_world(&m, &s);
    }
}

/* Clocks of another life say nothing: a site that lost its memory may be at an earlier one. */
static void test_a_clock_of_the_life_before_ends_nothing(void **state)
{
    uint64_t base = UINT64_C(8) << MIRROR_LIFE_SHIFT;
    struct mirror_mark mark = {.site = 2, .number = 4, .clock = CLOCK + 1, .whole = true};
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    mark.answer = m.sites[2].request;
    mirror_marked(&m, 2, &mark);
    raise_one(&s, &m, 1, 2, base + 1, 10, 0);
    assert_false(selective_look(&s, &m, 1));
    mark.from = base;
    mark.number = base + 2;
    mark.clock = 1;
    mirror_marked(&m, 2, &mark);
    assert_true(selective_look(&s, &m, 1));
    close_world(&m, &s);
}

static void test_nobody_waits_for_a_site_that_is_done_and_here(void **state)
{
    struct mirror_mark mark = {.site = 2, .number = 3, .clock = 1, .whole = true};
    struct mirror_report report = {.number = 4, .done = true};
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    mirror_up(&m, 2, true, 0);
    mark.answer = m.sites[2].request;
    assert_int_equal(mirror_hear(&m, 2, &report, 0), OK);
    raise_one(&s, &m, 1, 2, 5, 10, 0);
    mirror_marked(&m, 2, &mark);
    assert_false(selective_look(&s, &m, 1));
    mark.number = 4;
    mirror_marked(&m, 2, &mark);
    assert_true(selective_look(&s, &m, 1));
    close_world(&m, &s);
}

/* Whoever would pass a barrier on asks first whether it is of any use. */
static void test_a_barrier_is_late_when_all_its_parts_are(void **state)
{
    struct mirror_range ranges[] = {{.site = 1, .number = 3}, {.site = 2, .number = 4}};
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    assert_false(selective_is_late(&m, 0, CLOCK, ranges, 2));
    mirror_adopt(&m, 0, 1, 3);
    assert_true(selective_is_late(&m, 0, CLOCK, ranges, 1));
    assert_false(selective_is_late(&m, 0, CLOCK, ranges, 2));
    mirror_late_site(&m, 2);
    assert_true(selective_is_late(&m, 0, CLOCK, ranges, 2));
    assert_false(selective_is_late(&m, 1, CLOCK, ranges, 2));
    ranges[0].site = MIRROR_SELF;
    assert_true(selective_is_late(&m, 1, CLOCK, ranges, 2));
    close_world(&m, &s);
}

static void test_growth_keeps_barriers(void **state)
{
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    raise_one(&s, &m, CHUNKS - 1, 2, 5, 10, 0);
    assert_int_equal(mirror_grow(&m, 3), OK);
    assert_int_equal(selective_grow(&s, 3), OK);
    assert_false(may_read(&s, CHUNKS - 1, 10, 1));
    for (uint32_t c = CHUNKS; c < CHUNKS + 3; c++) {
        assert_true(selective_is_free(&s, c));
    }
    raise_one(&s, &m, CHUNKS + 2, 2, 5, 10, 0);
    assert_int_equal(s.count, 2);
    close_world(&m, &s);
}

/* A barrier of more words needs memory too. What is announced of several sites may be raised in
 * part. */
static void test_without_memory_what_there_was_stays(void **state)
{
    struct mirror_range ranges[] = {{.site = 1, .number = 3}, {.site = 2, .number = 4}};
    uint64_t bitmap[WORDS] = {1, 0, 1};
    uint64_t k = 0;
    enum err rc;

    (void)state;
    do {
        struct selective s;
        struct mirror m;

        open_world(&m, &s);
        assert_int_equal(selective_raise(&s, &m, 0, CLOCK, ranges, 1, bitmap, 1, 0), OK);
        mem_fail_at(++k, 1);
        rc = selective_raise(&s, &m, 0, CLOCK, ranges, 2, bitmap, WORDS, 0);
        mem_fail_at(0, 0);
        assert_int_equal(rc, k <= 2 ? ERR_NOMEM : OK);
        assert_false(may_read(&s, 0, 0, 1));
        assert_int_equal(may_read(&s, 0, 128, 1), k == 1);
        assert_int_equal(s.count, k <= 2 ? 1 : 2);
        close_world(&m, &s);
    } while (rc != OK);
    assert_int_equal(k, 3);
}

static void test_growth_without_memory_changes_nothing(void **state)
{
    struct selective s;
    struct mirror m;

    (void)state;
    open_world(&m, &s);
    raise_one(&s, &m, 1, 2, 5, 10, 0);
    mem_fail_at(1, 1);
    assert_int_equal(selective_grow(&s, 3), ERR_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(s.chunks_count, CHUNKS);
    assert_false(may_read(&s, 1, 10, 1));
    close_world(&m, &s);
}

/* The model: of each chunk and site the set of elements, and what they wait for. */
struct model_cell {
    bool elements[ELEMENTS];
    bool any;
    uint64_t number;
    uint64_t clock;
    int64_t since_ns;
};

struct model {
    struct model_cell cells[CHUNKS][SITES];
    uint64_t raised, freed, waited;
};

static bool model_is_over(const struct mirror *m, uint32_t chunk, uint32_t site, uint64_t number,
                          uint64_t clock)
{
    return m->sites[site].left_out || mirror_contained(m, chunk, site) >= number ||
           m->sites[site].stable >= number || m->sites[site].clock >= clock;
}

static void model_raise(struct model *w, const struct mirror *m, uint32_t chunk, uint64_t clock,
                        const struct mirror_range *ranges, uint32_t count, const bool *elements,
                        int64_t now_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        struct model_cell *cell = &w->cells[chunk][ranges[i].site];

        if (ranges[i].site == MIRROR_SELF ||
            model_is_over(m, chunk, ranges[i].site, ranges[i].number, clock)) {
            continue;
        }
        w->raised++;
        cell->since_ns = cell->any ? cell->since_ns : now_ns;
        cell->any = true;
        cell->number = ranges[i].number > cell->number ? ranges[i].number : cell->number;
        cell->clock = clock > cell->clock ? clock : cell->clock;
        for (uint32_t e = 0; e < ELEMENTS; e++) {
            cell->elements[e] = cell->elements[e] || elements[e];
        }
    }
}

static bool model_look(struct model *w, const struct mirror *m, uint32_t chunk)
{
    bool freed = false;

    for (uint32_t i = 1; i < SITES; i++) {
        struct model_cell *cell = &w->cells[chunk][i];

        if (cell->any && model_is_over(m, chunk, i, cell->number, cell->clock)) {
            *cell = (struct model_cell){0};
            w->freed++;
            freed = true;
        }
    }
    return freed;
}

static void compare_read(struct model *w, const struct selective *s, uint32_t chunk, uint32_t first,
                         uint32_t count)
{
    bool waits[SITES] = {false}, any = false;
    uint32_t site = 0;
    int64_t since_ns = 0;

    for (uint32_t i = 1; i < SITES; i++) {
        for (uint32_t e = first; e < first + count; e++) {
            waits[i] = waits[i] || w->cells[chunk][i].elements[e];
        }
        any = any || waits[i];
    }
    assert_int_equal(selective_may_read(s, chunk, first, count, &site, &since_ns), !any);
    if (any) {
        w->waited++;
        assert_true(site < SITES && waits[site]);
        assert_int_equal(since_ns, w->cells[chunk][site].since_ns);
    }
}

static void compare_counts(const struct model *w, const struct selective *s)
{
    uint32_t count = 0;

    for (uint32_t c = 0; c < CHUNKS; c++) {
        uint32_t before = count;

        for (uint32_t i = 1; i < SITES; i++) {
            count += w->cells[c][i].any;
        }
        assert_int_equal(selective_is_free(s, c), count == before);
    }
    assert_int_equal(s->count, count);
}

static void random_raise(struct rng *rng, struct model *w, struct selective *s,
                         const struct mirror *m, uint32_t chunk, int64_t now_ns)
{
    struct mirror_range ranges[SITES];
    uint32_t count = 0, words = 1 + (uint32_t)rng_below(rng, WORDS);
    bool elements[ELEMENTS] = {false};
    uint64_t clock = m->sites[1].clock + 1 + rng_below(rng, 3);
    uint64_t bitmap[WORDS] = {0};

    for (uint32_t i = 0; i < SITES; i++) {
        if (rng_chance(rng, 400000)) {
            ranges[count++] = (struct mirror_range){
                .site = i, .number = mirror_contained(m, chunk, i) + rng_below(rng, 4)};
        }
    }
    for (uint64_t n = rng_below(rng, 6); n > 0; n--) {
        uint32_t e = (uint32_t)rng_below(rng, words * 64);

        elements[e] = true;
        bitmap[e / 64] |= UINT64_C(1) << e % 64;
    }
    assert_int_equal(selective_raise(s, m, chunk, clock, ranges, count, bitmap, words, now_ns), OK);
    model_raise(w, m, chunk, clock, ranges, count, elements, now_ns);
}

static void random_step(struct rng *rng, struct model *w, struct selective *s, struct mirror *m,
                        int64_t now_ns)
{
    uint32_t chunk = (uint32_t)rng_below(rng, CHUNKS);
    uint32_t site = 1 + (uint32_t)rng_below(rng, SITES - 1);
    uint32_t first = (uint32_t)rng_below(rng, ELEMENTS);
    bool freed = false;

    switch (rng_below(rng, 9)) {
    case 0:
    case 1:
        random_raise(rng, w, s, m, chunk, now_ns);
        break;
    case 2:
        mirror_adopt(m, chunk, site, mirror_contained(m, chunk, site) + 1);
        break;
    case 3:
        assert_int_equal(selective_look(s, m, chunk), model_look(w, m, chunk));
        break;
    case 4:
        for (uint32_t c = 0; c < CHUNKS; c++) {
            freed = model_look(w, m, c) || freed;
        }
        assert_int_equal(selective_look_all(s, m), freed);
        break;
    case 5:
        m->sites[site].left_out = rng_chance(rng, 200000);
        break;
    case 6:
        if (rng_chance(rng, 300000)) {
            m->sites[site].stable = mirror_contained(m, chunk, site) + rng_below(rng, 2);
            m->sites[site].clock += rng_below(rng, 2);
        }
        break;
    default:
        compare_read(w, s, chunk, first, (uint32_t)rng_below(rng, ELEMENTS - first + 1));
        break;
    }
    compare_counts(w, s);
}

static void test_random_barriers_agree_with_sets_of_elements(void **state)
{
    static struct model w;

    (void)state;
    w = (struct model){0};
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct selective s;
        struct mirror m;
        struct rng rng;

        rng_init(&rng, seed);
        open_world(&m, &s);
        memset(w.cells, 0, sizeof(w.cells));
        for (int64_t i = 0; i < STEPS; i++) {
            random_step(&rng, &w, &s, &m, i);
        }
        close_world(&m, &s);
    }
    assert_true(w.raised > 1000);
    assert_true(w.freed > 1000);
    assert_true(w.waited > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_readers_of_the_named_elements_wait),
        cmocka_unit_test(test_elements_beyond_the_bitmap_are_free),
        cmocka_unit_test(test_a_reader_is_told_for_whom_it_waits_and_since_when),
        cmocka_unit_test(test_a_barrier_goes_when_its_piece_has_come),
        cmocka_unit_test(test_a_barrier_that_comes_too_late_does_nothing),
        cmocka_unit_test(test_a_merged_barrier_waits_for_the_larger_number),
        cmocka_unit_test(test_a_merged_piece_is_waited_for_part_by_part),
        cmocka_unit_test(test_a_longer_bitmap_makes_a_barrier_longer),
        cmocka_unit_test(test_nobody_waits_for_a_site_that_is_left_out),
        cmocka_unit_test(test_nobody_waits_for_what_was_announced_in_a_life_before),
        cmocka_unit_test(test_nobody_waits_for_what_a_mark_says_there_is_not),
        cmocka_unit_test(test_a_clock_of_the_life_before_ends_nothing),
        cmocka_unit_test(test_nobody_waits_for_a_site_that_is_done_and_here),
        cmocka_unit_test(test_a_barrier_is_late_when_all_its_parts_are),
        cmocka_unit_test(test_growth_keeps_barriers),
        cmocka_unit_test(test_without_memory_what_there_was_stays),
        cmocka_unit_test(test_growth_without_memory_changes_nothing),
        cmocka_unit_test(test_random_barriers_agree_with_sets_of_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
