/* What the tests of stores share: a store on a loop, whichever they are, and waiting for it. */

#ifndef STORE_TESTING_H
#define STORE_TESTING_H

#include "base/mem.h"
#include "loop/clock.h"
#include "loop/loop.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define STORE_TESTING_LIMIT_NS INT64_C(60000000000)

struct store_fixture;

/* A kind of store, for the suite of store/store_testing.h. */
struct store_backend {
    void (*open)(struct store_fixture *f);    /* Make loop and store. */
    void (*restart)(struct store_fixture *f); /* As if the process had ended and begun anew. */
    void (*close)(struct store_fixture *f);   /* Nothing may be left. */
};

struct store_fixture {
    const struct store_backend *backend;
    struct loop *loop;
    struct store *store;
    char path[64]; /* For the backend. */
};

/* What committed() was told. */
struct store_result {
    uint32_t calls;
    enum err rc;
};

static inline void store_result_set(enum err rc, void *user)
{
    struct store_result *result = user;

    result->calls++;
    result->rc = rc;
}

/* Let time pass: one turn, or the next thing that a manual loop waits for. */
static inline void store_turn(struct loop *loop)
{
    if (!loop_is_manual(loop)) {
        loop_turn(loop, 10000000);
        return;
    }
    assert_true(loop_manual_next_ns(loop) != LOOP_NEVER);
    loop_manual_advance(loop, loop_manual_next_ns(loop));
}

/* Run the loop until @condition holds. Fails the test if it never does. */
#define STORE_TURN_UNTIL(loop, condition)                                                          \
    for (int64_t store_end_ns = clock_mono_ns() + STORE_TESTING_LIMIT_NS; !(condition);) {         \
        assert_true(clock_mono_ns() < store_end_ns);                                               \
        store_turn(loop);                                                                          \
    }

/* Append all, in pieces of @piece bytes, waiting when it is too much. */
static inline enum err store_append_all(struct loop *loop, struct store_writer *w,
                                        const void *bytes, size_t size, size_t piece)
{
    const uint8_t *at = bytes;
    enum err rc = OK;

    while (rc == OK && size > 0) {
        size_t n = size < piece ? size : piece;

        rc = store_append(w, at, n);
        if (rc == ERR_AGAIN) {
            rc = OK;
            store_turn(loop);
            continue;
        }
        at += n;
        size -= n;
    }
    return rc;
}

/* Commit and wait for the answer. */
static inline enum err store_commit_wait(struct loop *loop, struct store_writer *w)
{
    struct store_result result = {0};

    store_commit(w, store_result_set, &result);
    assert_int_equal(result.calls, 0);
    STORE_TURN_UNTIL(loop, result.calls > 0);
    assert_int_equal(result.calls, 1);
    return result.rc;
}

/* Write an object; the first error counts. */
static inline enum err store_put(struct loop *loop, struct store *s, const char *name,
                                 const void *bytes, size_t size)
{
    struct store_writer *w = NULL;
    enum err rc = store_begin(s, name, &w);
    enum err committed;

    if (rc != OK) {
        return rc;
    }
    rc = store_append_all(loop, w, bytes, size, STORE_APPEND_BYTES_MAX);
    committed = store_commit_wait(loop, w);
    assert_true(rc == OK || committed == rc);
    return committed;
}

static inline enum err store_put_text(struct loop *loop, struct store *s, const char *name,
                                      const char *text)
{
    return store_put(loop, s, name, text, strlen(text));
}

/* The object is exactly that. */
static inline void assert_object(struct store *s, const char *name, const void *bytes, size_t size)
{
    uint8_t *got = mem_zalloc(size + 1);
    uint64_t whole = 0;
    size_t done = 0;

    assert_non_null(got);
    assert_int_equal(store_size(s, name, &whole), OK);
    assert_int_equal(whole, size);
    assert_int_equal(store_read(s, name, 0, got, size + 1, &done), OK);
    assert_int_equal(done, size);
    if (size > 0) {
        assert_memory_equal(got, bytes, size);
    }
    mem_free(got);
}

static inline void assert_object_text(struct store *s, const char *name, const char *text)
{
    assert_object(s, name, text, strlen(text));
}

static inline void assert_no_object(struct store *s, const char *name)
{
    uint64_t size = 7;
    size_t done = 7;
    uint8_t byte;

    assert_int_equal(store_size(s, name, &size), ERR_NOT_FOUND);
    assert_int_equal(store_read(s, name, 0, &byte, 1, &done), ERR_NOT_FOUND);
    assert_int_equal(size, 7);
    assert_int_equal(done, 7);
}

/* Names and sizes as "name:size name:size". */
struct store_listing {
    char text[8192];
    size_t size;
};

static inline void store_listing_add(const char *name, uint64_t size, void *user)
{
    struct store_listing *l = user;
    int n = snprintf(l->text + l->size, sizeof(l->text) - l->size, "%s%s:%llu",
                     l->size == 0 ? "" : " ", name, (unsigned long long)size);

    assert_true(n > 0 && (size_t)n < sizeof(l->text) - l->size);
    l->size += (size_t)n;
}

static inline void assert_listing(struct store *s, const char *prefix, const char *want)
{
    struct store_listing l = {0};

    assert_int_equal(store_list(s, prefix, store_listing_add, &l), OK);
    assert_string_equal(l.text, want);
}

#endif
