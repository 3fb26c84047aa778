/* Places of handles: taken, pinned, closed, used again; also by many threads at once. */

#include "base/err.h"
#include "client/handle.h"
#include "client/lineage.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* What a handle stands for is not looked at here. */
static struct client *some_client(uintptr_t number)
{
    return (struct client *)(number * 64);
}

static enum client_handle_state pin(struct client_handle h)
{
    struct client *c = NULL;

    return client_handle_pin(h, &c);
}

/* Close what one has, alone. */
static void close_alone(struct client_handle h)
{
    struct client *c;

    assert_int_equal(client_handle_pin(h, &c), CLIENT_HANDLE_OPEN);
    assert_true(client_handle_close(h.place));
    client_handle_release(h.place);
}

static void test_a_handle_is_packed_and_unpacked(void **state)
{
    const struct client_handle h = {.kind = CLIENT_HANDLE_KIND_OPERATION,
                                    .place = 200,
                                    .index = 4095,
                                    .generation = 0xdeadbeef};
    struct client_handle back = client_handle_unpack(client_handle_pack(h));

    (void)state;
    assert_int_equal(back.kind, h.kind);
    assert_int_equal(back.place, h.place);
    assert_int_equal(back.index, h.index);
    assert_int_equal(back.generation, h.generation);
    assert_int_equal(client_handle_unpack(&h).kind, 0); /* No address is taken for a handle. */
}

static void test_a_closed_handle_is_unknown_for_ever(void **state)
{
    struct client_handle first, second, wrong;
    struct client *c = NULL;

    (void)state;
    assert_true(client_handle_open(some_client(1), &first));
    assert_int_equal(client_handle_pin(first, &c), CLIENT_HANDLE_OPEN);
    assert_ptr_equal(c, some_client(1));
    assert_false(client_handle_unpin(first.place));
    wrong = first;
    wrong.generation++;
    assert_int_equal(pin(wrong), CLIENT_HANDLE_UNKNOWN);
    wrong = first;
    wrong.index = 1;
    assert_int_equal(pin(wrong), CLIENT_HANDLE_UNKNOWN);
    wrong = first;
    wrong.kind = 0;
    assert_int_equal(pin(wrong), CLIENT_HANDLE_UNKNOWN);
    close_alone(first);
    assert_int_equal(pin(first), CLIENT_HANDLE_UNKNOWN);
    assert_true(client_handle_open(some_client(2), &second));
    assert_int_equal(second.place, first.place);
    assert_int_equal(pin(first), CLIENT_HANDLE_UNKNOWN);
    close_alone(second);
}

static void test_who_closes_is_told_by_the_last_to_go(void **state)
{
    struct client_handle h;
    struct client *c;

    (void)state;
    assert_true(client_handle_open(some_client(1), &h));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(client_handle_pin(h, &c), CLIENT_HANDLE_OPEN);
    }
    assert_false(client_handle_close(h.place));
    assert_int_equal(pin(h), CLIENT_HANDLE_CLOSING);
    assert_false(client_handle_unpin(h.place));
    assert_true(client_handle_unpin(h.place));
    client_handle_release(h.place);
    assert_int_equal(pin(h), CLIENT_HANDLE_UNKNOWN);
}

static void test_there_are_so_many_places(void **state)
{
    static struct client_handle all[CLIENT_HANDLE_PLACES];
    struct client_handle more;

    (void)state;
    for (uintptr_t i = 0; i < CLIENT_HANDLE_PLACES; i++) {
        assert_true(client_handle_open(some_client(i), &all[i]));
    }
    assert_false(client_handle_open(some_client(1), &more));
    close_alone(all[77]);
    assert_true(client_handle_open(some_client(1), &more));
    assert_int_equal(more.place, all[77].place);
    all[77] = more;
    for (int i = 0; i < CLIENT_HANDLE_PLACES; i++) {
        close_alone(all[i]);
    }
}

static void test_interrupts_are_counted_by_place(void **state)
{
    struct client_handle a, b;

    (void)state;
    assert_true(client_handle_open(some_client(1), &a));
    assert_true(client_handle_open(some_client(2), &b));
    client_handle_interrupt(a);
    assert_int_equal(client_handle_interrupts(a.place), 1);
    assert_int_equal(client_handle_interrupts(b.place), 0);
    client_handle_interrupt((struct client_handle){0});
    assert_int_equal(client_handle_interrupts(a.place), 2);
    assert_int_equal(client_handle_interrupts(b.place), 1);
    close_alone(a);
    client_handle_interrupt(a);
    close_alone(b);
    assert_true(client_handle_open(some_client(1), &a));
    assert_int_equal(client_handle_interrupts(a.place), 0);
    close_alone(a);
}

/* In the child: is the parent's handle recognised, given up once, and its place free again? */
static int child_of(struct client_handle h)
{
    struct client_handle own;

    if (pin(h) != CLIENT_HANDLE_FORKED || client_lineage_now() == client_lineage_begin()) {
        return 1;
    }
    if (pin(h) != CLIENT_HANDLE_FORKED || client_handle_disown(h) != some_client(9) ||
        client_handle_disown(h) != NULL || pin(h) != CLIENT_HANDLE_UNKNOWN) {
        return 2;
    }
    if (!client_handle_open(some_client(3), &own) || own.place != h.place ||
        pin(own) != CLIENT_HANDLE_OPEN || pin(h) != CLIENT_HANDLE_UNKNOWN) {
        return 3;
    }
    return 0;
}

static void test_a_child_has_no_part_in_its_parents_handles(void **state)
{
    struct client_handle h;
    struct client *c;
    int status;
    pid_t pid;

    (void)state;
    assert_true(client_handle_open(some_client(9), &h));
    assert_null(client_handle_disown(h));                           /* It is ours. */
    assert_int_equal(client_handle_pin(h, &c), CLIENT_HANDLE_OPEN); /* By a thread that is not. */
    pid = fork();
    if (pid == 0) {
        _exit(child_of(h));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_false(client_handle_unpin(h.place));
    close_alone(h);
}

enum { THREADS = 4, ROUNDS = 500 };

static _Atomic(void *) shared; /* The handle of the round. */
static _Atomic uint32_t live;  /* Set while what it stands for may be used. */
static _Atomic int running;
static _Atomic uint64_t pins; /* By all threads. */

static void *pin_often(void *arg)
{
    (void)arg;
    while (running > 0) {
        struct client_handle h = client_handle_unpack(shared);
        struct client *c;

        if (client_handle_pin(h, &c) == CLIENT_HANDLE_OPEN) {
            CHECK(live == h.generation && c == some_client(h.generation));
            pins++;
            if (client_handle_unpin(h.place)) {
                live = 0; /* Tells the one who closes. */
            }
        }
        (void)sched_yield();
    }
    return NULL;
}

static void test_what_is_pinned_stays(void **state)
{
    pthread_t threads[THREADS];
    struct client_handle h;
    struct client *c;

    (void)state;
    running = 1;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, pin_often, NULL), 0);
    }
    assert_true(client_handle_open(NULL, &h));
    pins = 0;
    for (int i = 0; i < ROUNDS || pins == 0; i++) { /* Threads may be late on a busy machine. */
        uint32_t generation = h.generation + 1;

        close_alone(h);
        live = generation;
        assert_true(client_handle_open(some_client(generation), &h));
        assert_int_equal(h.generation, generation);
        shared = client_handle_pack(h);
        (void)sched_yield();
        assert_int_equal(client_handle_pin(h, &c), CLIENT_HANDLE_OPEN);
        if (!client_handle_close(h.place)) {
            while (live != 0) {
                (void)sched_yield();
            }
        }
        live = 0;
        client_handle_release(h.place);
        assert_true(client_handle_open(NULL, &h));
    }
    running = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    close_alone(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_handle_is_packed_and_unpacked),
        cmocka_unit_test(test_a_closed_handle_is_unknown_for_ever),
        cmocka_unit_test(test_who_closes_is_told_by_the_last_to_go),
        cmocka_unit_test(test_there_are_so_many_places),
        cmocka_unit_test(test_interrupts_are_counted_by_place),
        cmocka_unit_test(test_a_child_has_no_part_in_its_parents_handles),
        cmocka_unit_test(test_what_is_pinned_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
