/* Journals: order, group commit, failures, damage, pruning. */

#include "store/journal.h"

#include "base/mem.h"
#include "base/rng.h"
#include "loop/loop.h"
#include "store/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PREFIX "home/journal-0000"

enum { CAPACITY = 64 << 20 };

struct place {
    struct loop *loop;
    struct store *store;
    struct journal *journal;
    uint32_t commits;
};

static void committed(void *user)
{
    ((struct place *)user)->commits++;
}

static void open_journal(struct place *p, uint64_t number)
{
    struct journal_config config = {
        .store = p->store, .prefix = PREFIX, .number = number, .committed = committed, .user = p};

    assert_int_equal(journal_create(&config, &p->journal), OK);
}

static int setup(void **state)
{
    const struct store_memory_config config = {CAPACITY, 1000000};
    struct place *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    assert_int_equal(loop_create_manual(0, &p->loop), OK);
    assert_int_equal(store_memory_create(&config, p->loop, &p->store), OK);
    open_journal(p, 1);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;

    journal_destroy(p->journal);
    store_destroy(p->store);
    loop_destroy(p->loop);
    free(p);
    return 0;
}

static void turn(struct place *p)
{
    loop_manual_advance(p->loop, loop_manual_next_ns(p->loop));
}

static void add(struct place *p, uint32_t type, const void *bytes, size_t size)
{
    struct journal_part part = {bytes, size};

    assert_int_equal(journal_room(p->journal, size), OK);
    journal_add(p->journal, type, &part, 1);
}

/* What was read, one behind the other. */
struct seen {
    uint32_t count;
    uint32_t types[64];
    uint64_t numbers[64];
    size_t sizes[64];
    uint8_t bytes[64][32];
    enum err rc;
};

static enum err see(uint64_t number, uint32_t type, const uint8_t *bytes, size_t size, void *user)
{
    struct seen *s = user;

    assert_true(s->count < 64);
    s->numbers[s->count] = number;
    s->types[s->count] = type;
    s->sizes[s->count] = size;
    memcpy(s->bytes[s->count], bytes, size < 32 ? size : 32);
    s->count++;
    return s->rc;
}

static enum err read_all(struct place *p, struct seen *s, uint64_t *next, struct err_text *text)
{
    memset(s, 0, sizeof(*s));
    return journal_read(p->store, PREFIX, see, s, next, text);
}

static void test_records_come_back_in_their_order(void **state)
{
    struct place *p = *state;
    struct err_text text = {""};
    struct seen s;
    uint64_t next;

    assert_int_equal(read_all(p, &s, &next, &text), OK);
    assert_int_equal(next, 1);
    add(p, 7, "abc", 3);
    add(p, 9, "", 0);
    add(p, 7, "12345678", 8);
    journal_flush(p->journal);
    assert_false(journal_idle(p->journal));
    turn(p);
    assert_true(journal_idle(p->journal));
    assert_int_equal(p->commits, 1);
    assert_int_equal(read_all(p, &s, &next, &text), OK);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.types[0], 7);
    assert_int_equal(s.types[1], 9);
    assert_int_equal(s.sizes[1], 0);
    assert_memory_equal(s.bytes[0], "abc", 3);
    assert_memory_equal(s.bytes[2], "12345678", 8);
    assert_int_equal(next, 2);
}

static void test_what_comes_while_one_is_written_goes_together_into_the_next(void **state)
{
    struct place *p = *state;
    struct err_text text = {""};
    struct seen s;
    uint64_t next;

    add(p, 1, "a", 1);
    assert_int_equal(journal_number(p->journal), 1);
    journal_flush(p->journal);
    assert_int_equal(journal_number(p->journal), 2);
    add(p, 2, "b", 1);
    journal_flush(p->journal);
    add(p, 3, "c", 1);
    turn(p);
    turn(p);
    assert_int_equal(p->commits, 2);
    assert_int_equal(read_all(p, &s, &next, &text), OK);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.numbers[0], 1);
    assert_int_equal(s.numbers[1], 2);
    assert_int_equal(s.numbers[2], 2);
}

static void test_a_failed_write_is_tried_again_and_nothing_is_lost(void **state)
{
    struct place *p = *state;
    struct err_text text = {""};
    struct seen s;
    uint64_t next;

    for (int fault = 0; fault < STORE_FAULTS; fault++) {
        store_memory_fault_at(p->store, (enum store_fault)fault, 1);
        add(p, (uint32_t)fault, "x", 1);
        journal_flush(p->journal);
        turn(p);
        assert_false(journal_idle(p->journal));
        journal_flush(p->journal);
        turn(p);
        assert_true(journal_idle(p->journal));
    }
    assert_int_equal(journal_failures(p->journal), STORE_FAULTS);
    assert_int_equal(read_all(p, &s, &next, &text), OK);
    assert_int_equal(s.count, STORE_FAULTS);
}

static void test_large_records_go_in_parts(void **state)
{
    struct place *p = *state;
    size_t size = 3 * STORE_APPEND_BYTES_MAX + 5;
    uint8_t *bytes = calloc(1, size);
    struct err_text text = {""};
    struct seen s;
    uint64_t next;

    bytes[0] = 42;
    add(p, 1, bytes, size);
    journal_flush(p->journal);
    turn(p);
    assert_int_equal(p->commits, 1);
    assert_int_equal(read_all(p, &s, &next, &text), OK);
    assert_int_equal(s.sizes[0], size);
    assert_int_equal(s.bytes[0][0], 42);
    assert_int_equal(journal_room(p->journal, JOURNAL_RECORD_BYTES_MAX + 1), ERR_TOO_BIG);
    free(bytes);
}

static void test_memory_goes_back_when_all_is_written(void **state)
{
    enum { SIZE = 4 << 20, COUNT = 4 };
    struct place *p = *state;
    uint8_t *bytes = calloc(1, SIZE);
    int64_t before = mem_bytes_held();

    assert_non_null(bytes);
    for (uint32_t i = 0; i < 2 * COUNT; i++) { /* Half of it while the other is being written. */
        add(p, 1, bytes, SIZE);
        if (i == COUNT - 1) {
            journal_flush(p->journal);
        }
    }
    assert_true(mem_bytes_held() - before > 2 * COUNT * SIZE);
    journal_flush(p->journal);
    while (!journal_idle(p->journal)) {
        turn(p);
    }
    assert_int_equal(p->commits, 2);
    journal_prune(p->journal, journal_number(p->journal)); /* The store is memory too. */
    assert_true(mem_bytes_held() - before < 1 << 20);
    add(p, 1, bytes, SIZE);
    journal_flush(p->journal);
    while (!journal_idle(p->journal)) {
        turn(p);
    }
    assert_int_equal(p->commits, 3);
    free(bytes);
}

static void test_old_objects_are_pruned_and_numbers_go_on(void **state)
{
    struct place *p = *state;
    struct err_text text = {""};
    struct seen s;
    uint64_t next;

    for (uint32_t i = 0; i < 5; i++) {
        add(p, i, "r", 1);
        journal_flush(p->journal);
        turn(p);
    }
    journal_prune(p->journal, 4);
    assert_int_equal(read_all(p, &s, &next, &text), OK);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.types[0], 3);
    assert_int_equal(next, 6);
    journal_destroy(p->journal);
    open_journal(p, next);
    add(p, 99, "n", 1);
    journal_flush(p->journal);
    turn(p);
    assert_int_equal(read_all(p, &s, &next, &text), OK);
    assert_int_equal(s.types[2], 99);
    assert_int_equal(s.numbers[2], 6);
}

static void test_an_error_of_the_reader_ends_reading(void **state)
{
    struct place *p = *state;
    struct err_text text = {""};
    struct seen s = {.rc = ERR_INVALID};
    uint64_t next;

    add(p, 1, "a", 1);
    add(p, 2, "b", 1);
    journal_flush(p->journal);
    turn(p);
    assert_int_equal(journal_read(p->store, PREFIX, see, &s, &next, &text), ERR_INVALID);
    assert_int_equal(s.count, 1);
}

static void done(enum err rc, void *user)
{
    (void)user;
    assert_int_equal(rc, OK);
}

/* Put other bytes in the place of the first object. */
static void replace(struct place *p, const uint8_t *bytes, size_t size)
{
    struct store_writer *w;

    assert_int_equal(store_begin(p->store, PREFIX "/00000000000000000001.journal", &w), OK);
    if (size > 0) {
        assert_int_equal(store_append(w, bytes, size), OK);
    }
    store_commit(w, done, NULL);
    turn(p);
}

static void test_every_flipped_bit_and_every_cut_is_found(void **state)
{
    struct place *p = *state;
    uint8_t bytes[256];
    struct err_text text = {""};
    struct seen s;
    uint64_t next;
    size_t size;

    add(p, 5, "hello", 5);
    journal_flush(p->journal);
    turn(p);
    assert_int_equal(store_read(p->store, PREFIX "/00000000000000000001.journal", 0, bytes,
                                sizeof(bytes), &size),
                     OK);
    for (size_t bit = 0; bit < size * 8; bit++) {
        if (bit / 8 >= 16 && bit / 8 < 24) {
            continue; /* The number is known from the name. */
        }
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        replace(p, bytes, size);
        assert_int_equal(read_all(p, &s, &next, &text), ERR_CORRUPT);
        assert_non_null(strstr(text.text, "00000000000000000001.journal"));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t cut = 1; cut < size; cut++) {
        replace(p, bytes, cut);
        assert_int_equal(read_all(p, &s, &next, &text), ERR_CORRUPT);
    }
    replace(p, bytes, size);
    assert_int_equal(read_all(p, &s, &next, &text), OK);
}

static void test_without_memory_nothing_changes(void **state)
{
    struct place *p = *state;
    struct journal_config config = {
        .store = p->store, .prefix = PREFIX, .committed = committed, .user = p};
    struct journal *j = NULL;
    struct err_text text = {""};
    struct seen s;
    uint64_t next;

    mem_fail_at(1, 1);
    assert_int_equal(journal_create(&config, &j), ERR_NOMEM);
    mem_fail_at(1, 1);
    assert_int_equal(journal_room(p->journal, 10), ERR_NOMEM);
    assert_true(journal_idle(p->journal));
    add(p, 1, "a", 1);
    journal_flush(p->journal);
    turn(p);
    for (uint64_t k = 1; k < 3; k++) {
        mem_fail_at(k, 1);
        assert_int_equal(read_all(p, &s, &next, &text), ERR_NOMEM);
    }
    mem_fail_at(0, 0);
    assert_int_equal(read_all(p, &s, &next, &text), OK);
}

static void test_a_crash_keeps_what_was_committed_and_nothing_else(void **state)
{
    struct place *p = *state;
    struct err_text text = {""};
    struct seen s;
    uint64_t next;

    add(p, 1, "a", 1);
    journal_flush(p->journal);
    turn(p);
    add(p, 2, "b", 1);
    journal_flush(p->journal);
    store_memory_crash(p->store);
    assert_int_equal(read_all(p, &s, &next, &text), OK);
    assert_int_equal(s.count, 1);
    assert_int_equal(next, 2);
}

#define PLACE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE(test_records_come_back_in_their_order),
        PLACE(test_what_comes_while_one_is_written_goes_together_into_the_next),
        PLACE(test_a_failed_write_is_tried_again_and_nothing_is_lost),
        PLACE(test_large_records_go_in_parts),
        PLACE(test_memory_goes_back_when_all_is_written),
        PLACE(test_old_objects_are_pruned_and_numbers_go_on),
        PLACE(test_an_error_of_the_reader_ends_reading),
        PLACE(test_every_flipped_bit_and_every_cut_is_found),
        PLACE(test_without_memory_nothing_changes),
        PLACE(test_a_crash_keeps_what_was_committed_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
