/* Pieces of work by child processes: that all are done, and what happens to those that are not. */

#include "cli/plan/pool.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PIECES = 40 };

struct fixture {
    struct pool_work work;
    uint32_t squares[PIECES];
    uint32_t taken;
    uint32_t ticked;
    uint32_t bad; /* The piece that goes wrong. */
    int signum;   /* ... by a signal, if that is not zero. */
};

static enum err square(uint32_t piece, struct text *out, struct err_text *text, void *user)
{
    const struct fixture *f = user;
    uint32_t result = piece * piece;

    if (piece == f->bad && f->signum != 0) {
        (void)raise(f->signum);
    }
    if (piece == f->bad) {
        return err_text_set(text, ERR_NOT_FOUND, "no square of %u", piece);
    }
    text_add_bytes(out, (const char *)&result, sizeof(result));
    return OK;
}

static enum err take(uint32_t piece, const char *bytes, size_t size, void *user)
{
    struct fixture *f = user;

    if (size != sizeof(f->squares[piece])) {
        return ERR_MALFORMED;
    }
    memcpy(&f->squares[piece], bytes, size);
    f->taken++;
    return OK;
}

static const char *name(uint32_t piece, void *user)
{
    (void)user;
    return piece == 7 ? "seven" : "another";
}

static void tick(uint32_t done, void *user)
{
    ((struct fixture *)user)->ticked = done;
}

static void set_up(struct fixture *f, uint32_t jobs)
{
    *f = (struct fixture){.bad = UINT32_MAX,
                          .work = {.count = PIECES,
                                   .jobs = jobs,
                                   .work = square,
                                   .take = take,
                                   .name = name,
                                   .tick = tick}};
    f->work.user = f;
}

static void test_all_pieces_are_done_by_any_number_of_children(void **state)
{
    static const uint32_t jobs[] = {1, 2, 3, PIECES, POOL_JOBS_MAX};
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        set_up(&f, jobs[i]);
        assert_int_equal(pool_run(&f.work, NULL), OK);
        assert_int_equal(f.taken, PIECES);
        assert_int_equal(f.ticked, PIECES);
        for (uint32_t k = 0; k < PIECES; k++) {
            assert_int_equal(f.squares[k], k * k);
        }
    }
}

static void test_no_pieces_are_no_work(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f, 2);
    f.work.count = 0;
    assert_int_equal(pool_run(&f.work, NULL), OK);
}

static void test_a_piece_that_fails_ends_all_with_its_text(void **state)
{
    struct err_text text = {""};
    struct fixture f;

    (void)state;
    set_up(&f, 3);
    f.bad = 7;
    assert_int_equal(pool_run(&f.work, &text), ERR_NOT_FOUND);
    assert_string_equal(text.text, "no square of 7");
}

static void test_a_child_that_dies_is_said_with_what_ended_it(void **state)
{
    struct err_text text = {""};
    struct fixture f;

    (void)state;
    set_up(&f, 3);
    f.bad = 7;
    f.signum = SIGKILL;
    assert_int_equal(pool_run(&f.work, &text), ERR_CLOSED);
    assert_string_equal(text.text,
                        "the process that worked on seven was ended by signal 9 (Killed)");
}

static enum err too_short(uint32_t piece, struct text *out, struct err_text *text, void *user)
{
    (void)piece;
    (void)text;
    (void)user;
    text_add(out, "?");
    return OK;
}

static void test_an_answer_that_cannot_be_is_refused(void **state)
{
    struct err_text text = {""};
    struct fixture f;

    (void)state;
    set_up(&f, 1);
    f.work.work = too_short;
    assert_int_equal(pool_run(&f.work, &text), ERR_MALFORMED);
    assert_non_null(strstr(text.text, "what is said of another cannot be used"));
}

/* The children would wait for ever. */
static enum err stuck(uint32_t piece, struct text *out, struct err_text *text, void *user)
{
    (void)piece;
    (void)out;
    (void)text;
    (void)kill(getppid(), ((struct fixture *)user)->signum);
    while (getppid() > 1) {
        (void)pause();
    }
    return OK;
}

static void test_a_signal_ends_all_children(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM};
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        set_up(&f, 2);
        f.work.work = stuck;
        f.signum = signals[i];
        assert_int_equal(pool_run(&f.work, NULL), ERR_CANCELLED);
        assert_int_equal(pool_signal(), signals[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_pieces_are_done_by_any_number_of_children),
        cmocka_unit_test(test_no_pieces_are_no_work),
        cmocka_unit_test(test_a_piece_that_fails_ends_all_with_its_text),
        cmocka_unit_test(test_a_child_that_dies_is_said_with_what_ended_it),
        cmocka_unit_test(test_an_answer_that_cannot_be_is_refused),
        cmocka_unit_test(test_a_signal_ends_all_children),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
