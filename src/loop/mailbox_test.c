/* The mailbox: order from many threads, its limit, and that nobody waits for a message for ever. */

#include "base/mem.h"
#include "loop/clock.h"
#include "loop/mailbox.h"
#include "loop/testing.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PRODUCERS = 4, EACH = 50000, BOX_MESSAGES = 64 };

/* Messages are numbers in these tests. */
static void *message_of(uint64_t n)
{
    return (void *)(uintptr_t)n;
}

static uint64_t number_of(const void *message)
{
    return (uint64_t)(uintptr_t)message;
}

struct producer {
    pthread_t thread;
    struct mailbox *mailbox;
    uint64_t index;
    uint64_t refusals;
};

static void *produce(void *arg)
{
    struct producer *p = arg;

    for (uint64_t i = 1; i <= EACH; i++) {
        while (mailbox_post(p->mailbox, message_of(p->index << 32 | i)) == ERR_AGAIN) {
            p->refusals++;
            (void)sched_yield();
        }
    }
    return NULL;
}

struct tally {
    uint64_t last[PRODUCERS];
    uint64_t total;
};

static void tally_received(void *message, void *user)
{
    uint64_t n = number_of(message);
    struct tally *t = user;

    assert_int_equal(n & UINT32_MAX, ++t->last[n >> 32]);
    t->total++;
}

static void test_messages_of_a_thread_arrive_once_and_in_order(void **state)
{
    struct producer producers[PRODUCERS];
    struct mailbox *mailbox;
    struct tally tally = {0};
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(mailbox_create(loop, BOX_MESSAGES, tally_received, &tally, &mailbox), OK);
    for (uint64_t i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){.mailbox = mailbox, .index = i};
        assert_int_equal(pthread_create(&producers[i].thread, NULL, produce, &producers[i]), 0);
    }
    TESTING_TURN_UNTIL(loop, tally.total == (uint64_t)PRODUCERS * EACH);
    for (int i = 0; i < PRODUCERS; i++) {
        assert_int_equal(pthread_join(producers[i].thread, NULL), 0);
    }
    loop_turn(loop, 0);
    assert_int_equal(tally.total, PRODUCERS * EACH);
    mailbox_destroy(mailbox, NULL);
    loop_destroy(loop);
}

/* A list of what arrived, and what to post when the first arrives. */
struct inbox {
    struct mailbox *mailbox;
    uint64_t numbers[256];
    uint32_t count;
    uint64_t posts_left;
    uint64_t dropped;
};

static void inbox_received(void *message, void *user)
{
    struct inbox *in = user;

    assert_true(in->count < 256);
    in->numbers[in->count++] = number_of(message);
    if (in->posts_left > 0) {
        in->posts_left--;
        assert_int_equal(mailbox_post(in->mailbox, message_of(100 + in->posts_left)), OK);
    }
}

static void inbox_dropped(void *message, void *user)
{
    struct inbox *in = user;

    assert_int_equal(number_of(message), ++in->dropped);
}

static void inbox_open(struct inbox *in, struct loop *loop, uint32_t messages_max)
{
    memset(in, 0, sizeof(*in));
    assert_int_equal(mailbox_create(loop, messages_max, inbox_received, in, &in->mailbox), OK);
}

static void inbox_fill(struct inbox *in, uint64_t count)
{
    for (uint64_t n = 1; n <= count; n++) {
        assert_int_equal(mailbox_post(in->mailbox, message_of(n)), OK);
    }
}

static void test_a_full_mailbox_says_again_and_the_caller_keeps_it(void **state)
{
    struct loop *loop;
    struct inbox in;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    for (uint32_t limit = 1; limit <= 5; limit++) {
        inbox_open(&in, loop, limit);
        for (int round = 0; round < 3; round++) {
            in.count = 0;
            inbox_fill(&in, limit);
            assert_int_equal(mailbox_post(in.mailbox, message_of(99)), ERR_AGAIN);
            assert_int_equal(in.count, 0);
            TESTING_TURN_UNTIL(loop, in.count == limit);
            for (uint32_t i = 0; i < limit; i++) {
                assert_int_equal(in.numbers[i], i + 1);
            }
        }
        loop_turn(loop, 0);
        assert_int_equal(in.count, limit);
        mailbox_destroy(in.mailbox, NULL);
    }
    loop_destroy(loop);
}

static void test_what_was_not_received_is_dropped_in_order(void **state)
{
    struct loop *loop;
    struct inbox in;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    inbox_open(&in, loop, 16);
    inbox_fill(&in, 10);
    mailbox_destroy(in.mailbox, inbox_dropped);
    assert_int_equal(in.dropped, 10);
    inbox_open(&in, loop, 16);
    inbox_fill(&in, 10);
    mailbox_destroy(in.mailbox, NULL);
    loop_turn(loop, 0);
    assert_int_equal(in.count, 0);
    mailbox_destroy(NULL, NULL);
    loop_destroy(loop);
}

static void test_on_a_manual_loop_messages_come_at_the_end_of_the_turn(void **state)
{
    struct loop *loop;
    struct inbox in;

    (void)state;
    assert_int_equal(loop_create_manual(5, &loop), OK);
    inbox_open(&in, loop, 16);
    assert_true(loop_manual_next_ns(loop) == LOOP_NEVER);
    inbox_fill(&in, 16);
    assert_int_equal(mailbox_post(in.mailbox, message_of(99)), ERR_AGAIN);
    assert_int_equal(in.count, 0);
    assert_int_equal(loop_manual_next_ns(loop), 5);
    loop_manual_advance(loop, 5);
    assert_int_equal(in.count, 16);
    for (uint32_t i = 0; i < 16; i++) {
        assert_int_equal(in.numbers[i], i + 1);
    }
    inbox_fill(&in, 3);
    mailbox_destroy(in.mailbox, inbox_dropped);
    assert_int_equal(in.dropped, 3);
    loop_manual_advance(loop, 6);
    assert_int_equal(in.count, 16);
    loop_destroy(loop);
}

static void test_a_message_posted_while_others_are_received_arrives(void **state)
{
    struct loop *loop;
    struct inbox in;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    for (uint64_t first = 1; first < 5; first++) {
        for (uint64_t posts = 1; posts < 8; posts++) {
            inbox_open(&in, loop, 16);
            in.posts_left = posts;
            inbox_fill(&in, first);
            TESTING_TURN_UNTIL(loop, in.count == first + posts);
            assert_int_equal(in.numbers[first], 100 + posts - 1);
            mailbox_destroy(in.mailbox, NULL);
        }
    }
    loop_destroy(loop);
}

static void test_so_does_one_on_a_manual_loop(void **state)
{
    struct loop *loop;
    struct inbox in;

    (void)state;
    assert_int_equal(loop_create_manual(5, &loop), OK);
    inbox_open(&in, loop, 16);
    in.posts_left = 6;
    inbox_fill(&in, 3);
    while (loop_manual_next_ns(loop) != LOOP_NEVER) {
        loop_manual_advance(loop, 5);
    }
    assert_int_equal(in.count, 9);
    mailbox_destroy(in.mailbox, NULL);
    loop_destroy(loop);
}

struct echo {
    struct mailbox *mailbox;
    bool fired;
};

static void echo_received(void *message, void *user)
{
    struct echo *e = user;

    assert_int_equal(mailbox_post(e->mailbox, message), OK);
}

static void echo_fired(struct loop_timer *timer, void *user)
{
    struct echo *e = user;

    (void)timer;
    e->fired = true;
}

static void test_a_message_that_posts_itself_leaves_turns_to_others(void **state)
{
    struct echo e = {0};
    struct loop_timer timer;
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_create(&loop), OK);
    assert_int_equal(mailbox_create(loop, 1, echo_received, &e, &e.mailbox), OK);
    assert_int_equal(loop_timer_init(&timer, loop, echo_fired, &e), OK);
    assert_int_equal(mailbox_post(e.mailbox, &e), OK);
    loop_timer_start_in(&timer, TESTING_MS);
    TESTING_TURN_UNTIL(loop, e.fired);
    loop_timer_deinit(&timer);
    mailbox_destroy(e.mailbox, NULL);
    loop_destroy(loop);
}

static void test_no_memory_is_reported(void **state)
{
    struct mailbox *mailbox = NULL;
    struct loop *loops[2];

    (void)state;
    assert_int_equal(loop_create(&loops[0]), OK);
    assert_int_equal(loop_create_manual(0, &loops[1]), OK);
    for (int i = 0; i < 2; i++) {
        enum err rc = ERR_NOMEM;

        for (uint64_t k = 1; rc != OK; k++) {
            assert_true(k < 10);
            mem_fail_at(k, 1);
            rc = mailbox_create(loops[i], 8, inbox_received, NULL, &mailbox);
            mem_fail_at(0, 0);
            assert_true(rc == OK || rc == ERR_NOMEM);
        }
        mailbox_destroy(mailbox, NULL);
        loop_destroy(loops[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_of_a_thread_arrive_once_and_in_order),
        cmocka_unit_test(test_a_full_mailbox_says_again_and_the_caller_keeps_it),
        cmocka_unit_test(test_what_was_not_received_is_dropped_in_order),
        cmocka_unit_test(test_on_a_manual_loop_messages_come_at_the_end_of_the_turn),
        cmocka_unit_test(test_a_message_posted_while_others_are_received_arrives),
        cmocka_unit_test(test_so_does_one_on_a_manual_loop),
        cmocka_unit_test(test_a_message_that_posts_itself_leaves_turns_to_others),
        cmocka_unit_test(test_no_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
