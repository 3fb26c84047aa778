/* The store in memory: the suite on a manual and on a real loop, then its faults. */

#include "store/memory.h"

#include "store/store_testing.h"

enum { CAPACITY = 64 * 1024 * 1024 };

static void memory_open(struct store_fixture *f)
{
    struct store_memory_config config = {CAPACITY, 0};

    assert_int_equal(store_memory_create(&config, f->loop, &f->store), OK);
}

static void memory_open_manual(struct store_fixture *f)
{
    assert_int_equal(loop_create_manual(0, &f->loop), OK);
    memory_open(f);
}

static void memory_open_real(struct store_fixture *f)
{
    assert_int_equal(loop_create(&f->loop), OK);
    memory_open(f);
}

static void memory_restart(struct store_fixture *f)
{
    store_memory_crash(f->store);
}

static void memory_close(struct store_fixture *f)
{
    store_destroy(f->store);
    loop_destroy(f->loop);
}

static struct store_backend manual = {memory_open_manual, memory_restart, memory_close};
static struct store_backend real = {memory_open_real, memory_restart, memory_close};

static void test_committed_comes_after_the_delay(void **state)
{
    struct store_memory_config config = {CAPACITY, 5000};
    struct store_result result = {0};
    struct store_writer *w = NULL;
    struct store *s = NULL;
    struct loop *loop = NULL;

    (void)state;
    assert_int_equal(loop_create_manual(100, &loop), OK);
    assert_int_equal(store_memory_create(&config, loop, &s), OK);
    assert_int_equal(store_begin(s, "a", &w), OK);
    assert_int_equal(store_append(w, "abc", 3), OK);
    store_commit(w, store_result_set, &result);
    assert_int_equal(loop_manual_next_ns(loop), 5100);
    loop_manual_advance(loop, 5099);
    assert_int_equal(result.calls, 0);
    assert_no_object(s, "a");
    loop_manual_advance(loop, 5100);
    assert_int_equal(result.calls, 1);
    assert_int_equal(result.rc, OK);
    assert_object_text(s, "a", "abc");
    store_destroy(s);
    loop_destroy(loop);
}

static void test_each_fault_leaves_the_old_object(void **state)
{
    struct store_fixture *f = *state;

    assert_int_equal(store_put_text(f->loop, f->store, "a", "old"), OK);
    for (uint32_t fault = 0; fault < STORE_FAULTS; fault++) {
        enum err want = fault == STORE_FAULT_FULL ? ERR_FULL : ERR_IO;

        /* The second operation meets it, the first and the third do not. */
        store_memory_fault_at(f->store, fault, 2);
        assert_int_equal(store_put_text(f->loop, f->store, "b", "new"), OK);
        assert_int_equal(store_memory_fault_count(f->store, fault), 0);
        assert_int_equal(store_put_text(f->loop, f->store, "a", "new"), want);
        assert_int_equal(store_memory_fault_count(f->store, fault), 1);
        assert_object_text(f->store, "a", "old");
        assert_int_equal(store_memory_used_bytes(f->store), 6);
        assert_int_equal(store_put_text(f->loop, f->store, "b", "newer"), OK);
        assert_int_equal(store_remove(f->store, "b"), OK);
        assert_int_equal(store_memory_fault_count(f->store, fault), 1);
    }
}

static void test_a_full_store_takes_no_more(void **state)
{
    struct store_memory_config config = {10, 0};
    struct store_writer *w = NULL;
    struct store *s = NULL;
    struct store_fixture *f = *state;

    assert_int_equal(store_memory_create(&config, f->loop, &s), OK);
    assert_int_equal(store_put_text(f->loop, s, "a", "123456"), OK);
    assert_int_equal(store_put_text(f->loop, s, "a", "12345"), ERR_FULL);
    assert_int_equal(store_put_text(f->loop, s, "b", "1234"), OK);
    assert_int_equal(store_put_text(f->loop, s, "c", "1"), ERR_FULL);
    assert_int_equal(store_memory_used_bytes(s), 10);
    assert_int_equal(store_remove(s, "a"), OK);
    assert_int_equal(store_begin(s, "c", &w), OK);
    assert_int_equal(store_append(w, "123456", 6), OK);
    assert_int_equal(store_memory_used_bytes(s), 10);
    store_abort(w);
    assert_int_equal(store_memory_used_bytes(s), 4);
    store_destroy(s);
}

static void test_a_crash_forgets_what_was_not_committed(void **state)
{
    struct store_fixture *f = *state;
    struct store_result result = {0};
    struct store_writer *open = NULL;
    struct store_writer *w = NULL;

    assert_int_equal(store_put_text(f->loop, f->store, "a", "old"), OK);
    assert_int_equal(store_begin(f->store, "open", &open), OK);
    assert_int_equal(store_append(open, "lost", 4), OK);
    assert_int_equal(store_begin(f->store, "a", &w), OK);
    assert_int_equal(store_append(w, "lost", 4), OK);
    store_commit(w, store_result_set, &result);
    store_memory_fault_at(f->store, STORE_FAULT_FULL, 1);
    store_memory_crash(f->store);
    assert_true(loop_manual_next_ns(f->loop) == LOOP_NEVER);
    assert_int_equal(result.calls, 0);
    assert_listing(f->store, "", "a:3");
    assert_object_text(f->store, "a", "old");
    assert_int_equal(store_memory_used_bytes(f->store), 3);
    assert_int_equal(store_append(open, "x", 1), ERR_CANCELLED);
    store_abort(open);
    assert_int_equal(store_put_text(f->loop, f->store, "a", "after"), OK);
}

static void test_no_memory_for_a_store_is_reported(void **state)
{
    struct store_memory_config config = {CAPACITY, 0};
    struct store_fixture *f = *state;
    struct store *s = NULL;

    mem_fail_at(1, 1);
    assert_int_equal(store_memory_create(&config, f->loop, &s), ERR_NOMEM);
    assert_null(s);
    mem_fail_at(0, 0);
    store_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest on_manual[] = {
        STORE_SUITE(&manual),
        cmocka_unit_test(test_committed_comes_after_the_delay),
        STORE_CASE(test_each_fault_leaves_the_old_object, &manual),
        STORE_CASE(test_a_full_store_takes_no_more, &manual),
        STORE_CASE(test_a_crash_forgets_what_was_not_committed, &manual),
        STORE_CASE(test_no_memory_for_a_store_is_reported, &manual),
    };
    const struct CMUnitTest on_real[] = {STORE_SUITE(&real)};

    return cmocka_run_group_tests(on_manual, NULL, NULL) +
           cmocka_run_group_tests(on_real, NULL, NULL);
}
