/* One suite for all stores: what store/store.h promises, asked of each backend. A test program
 * gives its struct store_backend to STORE_SUITE(). */

#ifndef STORE_STORE_TESTING_H
#define STORE_STORE_TESTING_H

#include "base/rng.h"
#include "store/testing.h"

static int store_suite_setup(void **state)
{
    struct store_fixture *f = mem_zalloc(sizeof(*f));

    assert_non_null(f);
    f->backend = *state;
    f->backend->open(f);
    *state = f;
    return 0;
}

static int store_suite_teardown(void **state)
{
    struct store_fixture *f = *state;

    f->backend->close(f);
    mem_free(f);
    return 0;
}

static void test_names_that_could_leave_the_store_are_refused(void **state)
{
    static const char *const bad[] = {
        "",     "/",   "/a",  "a/",  "a//b", ".",     "..",   "../a", "a/../b", "a/.b",
        ".tmp", "a b", "a\n", "a:b", "a\\b", "a\xc3", "a/..", "./a",  "~a",     "a*",
    };
    static const char *const good[] = {"a", "a/b", "A-b_c.d/0..1", "x/y/z/1.ckpt", "-", "_"};
    struct store_fixture *f = *state;
    struct store_listing listing = {0};
    struct store_writer *w = NULL;
    char longest[STORE_NAME_BYTES + 1];
    uint64_t size;
    size_t done;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(store_name_valid(bad[i]));
        assert_int_equal(store_begin(f->store, bad[i], &w), ERR_INVALID);
        assert_int_equal(store_size(f->store, bad[i], &size), ERR_INVALID);
        assert_int_equal(store_read(f->store, bad[i], 0, &size, 1, &done), ERR_INVALID);
        assert_int_equal(store_remove(f->store, bad[i]), ERR_INVALID);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(store_name_valid(good[i]));
        assert_no_object(f->store, good[i]);
    }
    memset(longest, 'n', sizeof(longest));
    longest[STORE_NAME_BYTES] = '\0';
    assert_int_equal(store_begin(f->store, longest, &w), ERR_INVALID);
    longest[STORE_NAME_BYTES - 1] = '\0';
    assert_int_equal(store_put_text(f->loop, f->store, longest, "long"), OK);
    assert_object_text(f->store, longest, "long");
    assert_int_equal(store_list(f->store, "../", store_listing_add, &listing), ERR_INVALID);
    assert_int_equal(store_list(f->store, ".", store_listing_add, &listing), ERR_INVALID);
    assert_int_equal(store_list(f->store, "/", store_listing_add, &listing), ERR_INVALID);
    assert_int_equal(listing.size, 0);
}

static void test_an_object_appears_whole_when_committed(void **state)
{
    struct store_fixture *f = *state;
    struct store_writer *w = NULL;

    assert_int_equal(store_begin(f->store, "eu/a", &w), OK);
    assert_int_equal(store_append(w, "hello ", 6), OK);
    assert_int_equal(store_append(w, NULL, 0), OK);
    assert_int_equal(store_append(w, "world", 5), OK);
    assert_no_object(f->store, "eu/a");
    assert_listing(f->store, "", "");
    assert_int_equal(store_commit_wait(f->loop, w), OK);
    assert_object_text(f->store, "eu/a", "hello world");
    assert_listing(f->store, "", "eu/a:11");
    f->backend->restart(f);
    assert_object_text(f->store, "eu/a", "hello world");
}

static void test_an_object_may_be_empty(void **state)
{
    struct store_fixture *f = *state;

    assert_int_equal(store_put(f->loop, f->store, "empty", NULL, 0), OK);
    assert_object(f->store, "empty", NULL, 0);
    assert_listing(f->store, "", "empty:0");
}

static void test_the_old_object_stays_until_the_new_one_is_committed(void **state)
{
    struct store_fixture *f = *state;
    struct store_writer *w = NULL;

    assert_int_equal(store_put_text(f->loop, f->store, "a", "old"), OK);
    assert_int_equal(store_begin(f->store, "a", &w), OK);
    assert_int_equal(store_append(w, "newer", 5), OK);
    assert_object_text(f->store, "a", "old");
    store_abort(w);
    assert_object_text(f->store, "a", "old");
    assert_int_equal(store_put_text(f->loop, f->store, "a", "new"), OK);
    assert_object_text(f->store, "a", "new");
    assert_listing(f->store, "", "a:3");
    store_abort(NULL);
}

static void test_what_is_aborted_leaves_no_trace(void **state)
{
    struct store_fixture *f = *state;
    struct store_writer *w = NULL;

    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(store_begin(f->store, "a", &w), OK);
        assert_int_equal(store_append_all(f->loop, w, "abc", i % 4, 1), OK);
        store_abort(w);
    }
    assert_int_equal(store_put_text(f->loop, f->store, "b", "x"), OK);
    assert_listing(f->store, "", "b:1");
    f->backend->restart(f);
    assert_listing(f->store, "", "b:1");
}

static void test_reading_takes_any_part(void **state)
{
    struct store_fixture *f = *state;
    char bytes[8] = "-------";
    size_t done = 9;

    assert_int_equal(store_put_text(f->loop, f->store, "a", "0123456789"), OK);
    assert_int_equal(store_read(f->store, "a", 3, bytes, 4, &done), OK);
    assert_int_equal(done, 4);
    assert_string_equal(bytes, "3456---");
    assert_int_equal(store_read(f->store, "a", 8, bytes, 7, &done), OK);
    assert_int_equal(done, 2);
    assert_string_equal(bytes, "8956---");
    assert_int_equal(store_read(f->store, "a", 10, bytes, 7, &done), OK);
    assert_int_equal(done, 0);
    assert_int_equal(store_read(f->store, "a", UINT64_MAX, bytes, 7, &done), OK);
    assert_int_equal(done, 0);
    assert_int_equal(store_read(f->store, "a", 0, bytes, 0, &done), OK);
    assert_int_equal(done, 0);
}

static void test_a_large_object_goes_in_as_fast_as_it_is_taken(void **state)
{
    struct store_fixture *f = *state;
    size_t size = 2 * (size_t)STORE_WRITER_BYTES_MAX + 12345;
    uint8_t *bytes = mem_zalloc(size);
    struct store_writer *w = NULL;
    struct rng rng;

    assert_non_null(bytes);
    rng_init(&rng, 5);
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word = rng_next(&rng);

        memcpy(bytes + i, &word, 8);
    }
    assert_int_equal(store_begin(f->store, "large", &w), OK);
    assert_int_equal(store_append_all(f->loop, w, bytes, size, STORE_APPEND_BYTES_MAX), OK);
    assert_int_equal(store_commit_wait(f->loop, w), OK);
    assert_object(f->store, "large", bytes, size);
    /* Small pieces, more of them than any queue holds. */
    assert_int_equal(store_begin(f->store, "small", &w), OK);
    assert_int_equal(store_append_all(f->loop, w, bytes, 5000, 1), OK);
    assert_int_equal(store_commit_wait(f->loop, w), OK);
    assert_object(f->store, "small", bytes, 5000);
    mem_free(bytes);
}

static void test_an_object_that_lost_a_piece_is_never_committed(void **state)
{
    static uint8_t bytes[STORE_APPEND_BYTES_MAX + 1];
    struct store_fixture *f = *state;
    struct store_writer *w = NULL;

    assert_int_equal(store_put_text(f->loop, f->store, "a", "old"), OK);
    assert_int_equal(store_begin(f->store, "a", &w), OK);
    assert_int_equal(store_append(w, bytes, sizeof(bytes)), ERR_TOO_BIG);
    assert_int_equal(store_append(w, bytes, 1), ERR_TOO_BIG);
    assert_int_equal(store_commit_wait(f->loop, w), ERR_TOO_BIG);
    assert_int_equal(store_begin(f->store, "a", &w), OK);
    assert_int_equal(store_append(w, "x", 1), OK);
    mem_fail_at(1, 1);
    assert_int_equal(store_append(w, bytes, 4096), ERR_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(store_append(w, "y", 1), ERR_NOMEM);
    assert_int_equal(store_commit_wait(f->loop, w), ERR_NOMEM);
    assert_object_text(f->store, "a", "old");
    assert_listing(f->store, "", "a:3");
}

static void test_several_objects_may_be_under_way(void **state)
{
    struct store_fixture *f = *state;
    struct store_writer *w[STORE_WRITERS_MAX] = {0};
    struct store_writer *more = NULL;
    struct store_result results = {0};
    char name[32];

    for (uint32_t i = 0; i < STORE_WRITERS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "many/%02u", i);
        assert_int_equal(store_begin(f->store, name, &w[i]), OK);
    }
    assert_int_equal(store_begin(f->store, "many/more", &more), ERR_AGAIN);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < STORE_WRITERS_MAX; i++) {
            (void)snprintf(name, sizeof(name), "%02u", i);
            assert_int_equal(store_append_all(f->loop, w[i], name, 2, 2), OK);
        }
    }
    for (uint32_t i = 0; i < STORE_WRITERS_MAX; i++) {
        store_commit(w[i], store_result_set, &results);
    }
    STORE_TURN_UNTIL(f->loop, results.calls == STORE_WRITERS_MAX);
    assert_int_equal(results.rc, OK);
    for (uint32_t i = 0; i < STORE_WRITERS_MAX; i++) {
        char text[32];

        (void)snprintf(name, sizeof(name), "many/%02u", i);
        (void)snprintf(text, sizeof(text), "%02u%02u%02u", i, i, i);
        assert_object_text(f->store, name, text);
    }
    assert_int_equal(store_begin(f->store, "many/more", &more), OK);
    store_abort(more);
}

struct store_order {
    uint32_t next;
    struct store_order_call {
        struct store_order *order;
        uint32_t index;
    } calls[8];
};

static void store_order_check(enum err rc, void *user)
{
    struct store_order_call *call = user;

    assert_int_equal(rc, OK);
    assert_int_equal(call->index, call->order->next);
    call->order->next++;
}

static void test_the_last_of_several_commits_of_a_name_stays(void **state)
{
    struct store_fixture *f = *state;
    struct store_order order = {0};

    for (uint32_t i = 0; i < 8; i++) {
        struct store_writer *w = NULL;
        char text[4] = {'v', (char)('0' + i)};

        order.calls[i] = (struct store_order_call){&order, i};
        assert_int_equal(store_begin(f->store, "same", &w), OK);
        assert_int_equal(store_append(w, text, 2), OK);
        store_commit(w, store_order_check, &order.calls[i]);
    }
    STORE_TURN_UNTIL(f->loop, order.next == 8);
    assert_object_text(f->store, "same", "v7");
}

static void test_objects_are_listed_by_name_and_prefix(void **state)
{
    static const char *const names[] = {"b/2", "a", "b/10", "b-c/1", "b/x/y", "bb", "b.c", "c/1"};
    struct store_fixture *f = *state;

    assert_listing(f->store, "", "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(store_put(f->loop, f->store, names[i], "12345678", i), OK);
    }
    assert_listing(f->store, "", "a:1 b-c/1:3 b.c:6 b/10:2 b/2:0 b/x/y:4 bb:5 c/1:7");
    assert_listing(f->store, "b", "b-c/1:3 b.c:6 b/10:2 b/2:0 b/x/y:4 bb:5");
    assert_listing(f->store, "b/", "b/10:2 b/2:0 b/x/y:4");
    assert_listing(f->store, "b/1", "b/10:2");
    assert_listing(f->store, "b/x/", "b/x/y:4");
    assert_listing(f->store, "b/x/y", "b/x/y:4");
    assert_listing(f->store, "b/x/y/z", "");
    assert_listing(f->store, "d", "");
}

static void test_a_removed_object_stays_away(void **state)
{
    struct store_fixture *f = *state;

    assert_int_equal(store_put_text(f->loop, f->store, "x/a", "1"), OK);
    assert_int_equal(store_put_text(f->loop, f->store, "x/b", "2"), OK);
    assert_int_equal(store_remove(f->store, "x/a"), OK);
    assert_int_equal(store_remove(f->store, "x/a"), ERR_NOT_FOUND);
    assert_int_equal(store_remove(f->store, "x"), ERR_NOT_FOUND);
    assert_int_equal(store_remove(f->store, "none/at/all"), ERR_NOT_FOUND);
    assert_no_object(f->store, "x/a");
    f->backend->restart(f);
    assert_no_object(f->store, "x/a");
    assert_listing(f->store, "", "x/b:1");
}

static void test_who_is_destroyed_calls_nobody(void **state)
{
    struct store_fixture *f = *state;
    struct store_result result = {0};
    struct store_writer *open = NULL;
    struct store_writer *w = NULL;

    assert_int_equal(store_put_text(f->loop, f->store, "a", "old"), OK);
    assert_int_equal(store_begin(f->store, "open", &open), OK);
    assert_int_equal(store_append(open, "x", 1), OK);
    assert_int_equal(store_begin(f->store, "aborted", &w), OK);
    assert_int_equal(store_append(w, "x", 1), OK);
    store_abort(w);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(store_begin(f->store, "a", &w), OK);
        assert_int_equal(store_append(w, "new", 3), OK);
        store_commit(w, store_result_set, &result);
    }
    f->backend->restart(f);
    assert_int_equal(result.calls, 0);
    /* The commits may have been in time or not; the others cannot. */
    assert_listing(f->store, "", "a:3");
    assert_int_equal(store_put_text(f->loop, f->store, "a", "last"), OK);
    assert_object_text(f->store, "a", "last");
    assert_int_equal(result.calls, 0);
}

/* Of an object that is there already, or of a new one. */
static void store_suite_starve(struct store_fixture *f, bool fresh)
{
    uint64_t before, k = 0;

    do {
        const char *name = fresh ? "dir/new" : "dir/a";
        enum err rc;

        assert_int_equal(store_put_text(f->loop, f->store, "dir/a", "old"), OK);
        before = mem_failures();
        mem_fail_at(++k, 1);
        rc = store_put_text(f->loop, f->store, name, "new one");
        mem_fail_at(0, 0);
        assert_true(rc == OK || (rc == ERR_NOMEM && mem_failures() > before));
        if (rc == OK) {
            assert_object_text(f->store, name, "new one");
            assert_int_equal(store_remove(f->store, name), OK);
        } else {
            assert_listing(f->store, "", "dir/a:3");
            assert_object_text(f->store, "dir/a", "old");
        }
    } while (mem_failures() > before);
    assert_true(k > 2);
}

static void test_every_failed_allocation_leaves_the_old_or_the_new(void **state)
{
    store_suite_starve(*state, false);
    store_suite_starve(*state, true);
}

/* A naive store: names are indices. */
enum { STORE_MODEL_NAMES = 6, STORE_MODEL_WRITERS = 4, STORE_MODEL_BYTES = 4096 };

static const char *const store_model_names[STORE_MODEL_NAMES] = {"a",     "b",     "c/a",
                                                                 "c/b/a", "c/b/b", "d-1.x"};

struct store_model_content {
    uint8_t bytes[STORE_MODEL_BYTES];
    size_t size;
};

struct store_model {
    struct store_model_content objects[STORE_MODEL_NAMES];
    bool there[STORE_MODEL_NAMES];
    struct store_model_content written[STORE_MODEL_WRITERS];
    uint32_t name[STORE_MODEL_WRITERS];
    struct store_writer *writers[STORE_MODEL_WRITERS];
};

static void store_model_compare(struct store_fixture *f, const struct store_model *m)
{
    struct store_listing want = {0};

    for (uint32_t i = 0; i < STORE_MODEL_NAMES; i++) {
        if (m->there[i]) {
            assert_object(f->store, store_model_names[i], m->objects[i].bytes, m->objects[i].size);
            store_listing_add(store_model_names[i], m->objects[i].size, &want);
        } else {
            assert_no_object(f->store, store_model_names[i]);
        }
    }
    assert_listing(f->store, "", want.text);
}

static void store_model_write(struct store_fixture *f, struct store_model *m, struct rng *rng,
                              uint32_t i)
{
    struct store_model_content *c = &m->written[i];
    size_t size = (size_t)rng_below(rng, 700);

    if (m->writers[i] == NULL) {
        m->name[i] = (uint32_t)rng_below(rng, STORE_MODEL_NAMES);
        c->size = 0;
        assert_int_equal(store_begin(f->store, store_model_names[m->name[i]], &m->writers[i]), OK);
    }
    if (c->size + size > STORE_MODEL_BYTES) {
        return;
    }
    for (size_t k = 0; k < size; k++) {
        c->bytes[c->size + k] = (uint8_t)rng_next(rng);
    }
    assert_int_equal(
        store_append_all(f->loop, m->writers[i], c->bytes + c->size, size, 1 + rng_below(rng, 300)),
        OK);
    c->size += size;
}

static void store_model_step(struct store_fixture *f, struct store_model *m, struct rng *rng)
{
    uint32_t i = (uint32_t)rng_below(rng, STORE_MODEL_WRITERS);
    uint32_t name = (uint32_t)rng_below(rng, STORE_MODEL_NAMES);
    uint64_t kind = rng_below(rng, 40);

    if (kind == 0) {
        for (uint32_t k = 0; k < STORE_MODEL_WRITERS; k++) {
            store_abort(m->writers[k]);
            m->writers[k] = NULL;
        }
        f->backend->restart(f);
    } else if (kind < 5) {
        assert_int_equal(store_remove(f->store, store_model_names[name]),
                         m->there[name] ? OK : ERR_NOT_FOUND);
        m->there[name] = false;
    } else if (kind < 10) {
        store_abort(m->writers[i]);
        m->writers[i] = NULL;
    } else if (kind < 20 && m->writers[i] != NULL) {
        assert_int_equal(store_commit_wait(f->loop, m->writers[i]), OK);
        m->writers[i] = NULL;
        m->objects[m->name[i]] = m->written[i];
        m->there[m->name[i]] = true;
    } else {
        store_model_write(f, m, rng, i);
    }
}

static void test_random_operations_match_the_naive_store(void **state)
{
    struct store_fixture *f = *state;
    struct store_model *m = mem_zalloc(sizeof(*m));
    struct rng rng;

    assert_non_null(m);
    rng_init(&rng, 42);
    for (uint32_t step = 0; step < 600; step++) {
        store_model_step(f, m, &rng);
        store_model_compare(f, m);
    }
    for (uint32_t i = 0; i < STORE_MODEL_WRITERS; i++) {
        store_abort(m->writers[i]);
    }
    mem_free(m);
}

#define STORE_CASE(test, backend)                                                                  \
    cmocka_unit_test_prestate_setup_teardown((test), store_suite_setup, store_suite_teardown,      \
                                             (backend))

#define STORE_SUITE(backend)                                                                       \
    STORE_CASE(test_names_that_could_leave_the_store_are_refused, (backend)),                      \
        STORE_CASE(test_an_object_appears_whole_when_committed, (backend)),                        \
        STORE_CASE(test_an_object_may_be_empty, (backend)),                                        \
        STORE_CASE(test_the_old_object_stays_until_the_new_one_is_committed, (backend)),           \
        STORE_CASE(test_what_is_aborted_leaves_no_trace, (backend)),                               \
        STORE_CASE(test_reading_takes_any_part, (backend)),                                        \
        STORE_CASE(test_a_large_object_goes_in_as_fast_as_it_is_taken, (backend)),                 \
        STORE_CASE(test_an_object_that_lost_a_piece_is_never_committed, (backend)),                \
        STORE_CASE(test_several_objects_may_be_under_way, (backend)),                              \
        STORE_CASE(test_the_last_of_several_commits_of_a_name_stays, (backend)),                   \
        STORE_CASE(test_objects_are_listed_by_name_and_prefix, (backend)),                         \
        STORE_CASE(test_a_removed_object_stays_away, (backend)),                                   \
        STORE_CASE(test_who_is_destroyed_calls_nobody, (backend)),                                 \
        STORE_CASE(test_every_failed_allocation_leaves_the_old_or_the_new, (backend)),             \
        STORE_CASE(test_random_operations_match_the_naive_store, (backend))

#endif
