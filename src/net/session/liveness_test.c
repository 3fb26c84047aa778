/* Liveness as transcripts: what happened in each interval above, what was decided below. */

#include "net/session/liveness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define INTERVAL_NS INT64_C(1000)

/* Events of one interval, a letter each:
 *     .  nothing        r  bytes received    a  bytes of ours acknowledged
 *     s  frame sent     R  received and sent
 *     l  the tick comes so late that we must have been stopped ourselves
 *     t  the tick comes late, but within two intervals
 * and its verdict: - alive, b alive and we should say something, X dead. */
static void expect(uint32_t missed_max, const char *events, const char *verdicts)
{
    const struct net_liveness_config config = {INTERVAL_NS, missed_max};
    uint64_t received = 0, acked = 0, sent = 0;
    int64_t now_ns = 5000;
    struct net_liveness l;
    char got[64] = {0};

    assert_true(strlen(events) < sizeof(got));
    net_liveness_init(&l, &config, now_ns);
    for (size_t i = 0; events[i] != '\0'; i++) {
        enum net_liveness_verdict v;

        assert_int_equal(net_liveness_next_ns(&l), now_ns + INTERVAL_NS);
        now_ns += INTERVAL_NS;
        now_ns += events[i] == 'l' ? INTERVAL_NS + 1 : events[i] == 't' ? INTERVAL_NS : 0;
        received += events[i] == 'r' || events[i] == 'R';
        acked += events[i] == 'a';
        sent += events[i] == 's' || events[i] == 'R';
        v = net_liveness_tick(&l, now_ns, received, acked, sent);
        got[i] = v == NET_DEAD ? 'X' : v == NET_ALIVE_BEAT ? 'b' : '-';
    }
    assert_string_equal(got, verdicts);
}

static void test_a_silent_peer_is_dead_after_three_ticks(void **state)
{
    (void)state;
    expect(3, "...", "bbX");
    expect(1, ".", "X");
    expect(5, ".....", "bbbbX");
}

static void test_our_own_talking_does_not_keep_it_alive(void **state)
{
    (void)state;
    expect(3, "sss", "--X");
}

static void test_the_dead_stay_dead_while_they_are_silent(void **state)
{
    (void)state;
    expect(3, "......", "bbXXXX");
}

static void test_bytes_in_either_direction_keep_it_alive(void **state)
{
    (void)state;
    expect(3, "rrrrrrrr", "bbbbbbbb");
    expect(3, "aaaaaaaa", "bbbbbbbb");
    expect(3, "..r..a..r..a...", "bbbbbbbbbbbbbbX");
}

static void test_one_byte_starts_the_count_again(void **state)
{
    (void)state;
    expect(3, "..r...", "bbbbbX");
    expect(3, "..a...", "bbbbbX");
}

static void test_a_tick_after_a_pause_of_our_own_forgives(void **state)
{
    (void)state;
    expect(3, "..l...", "bbbbbX");
    expect(3, "..l..l..l...", "bbbbbbbbbbbX");
}

static void test_a_tick_within_two_intervals_counts(void **state)
{
    (void)state;
    expect(3, "..t", "bbX");
    expect(3, "ttt", "bbX");
}

static void test_we_beat_only_when_we_were_silent(void **state)
{
    (void)state;
    expect(3, "RrRrsr", "-b-b-b");
    expect(3, "RRRR", "----");
}

static void test_totals_that_wrap_are_progress_too(void **state)
{
    const struct net_liveness_config config = {INTERVAL_NS, 1};
    struct net_liveness l;

    (void)state;
    net_liveness_init(&l, &config, 0);
    assert_int_equal(net_liveness_tick(&l, 1000, UINT64_MAX, 0, 1), NET_ALIVE);
    assert_int_equal(net_liveness_tick(&l, 2000, 5, 0, 2), NET_ALIVE);
    assert_int_equal(net_liveness_tick(&l, 3000, 5, 0, 3), NET_DEAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_silent_peer_is_dead_after_three_ticks),
        cmocka_unit_test(test_our_own_talking_does_not_keep_it_alive),
        cmocka_unit_test(test_the_dead_stay_dead_while_they_are_silent),
        cmocka_unit_test(test_bytes_in_either_direction_keep_it_alive),
        cmocka_unit_test(test_one_byte_starts_the_count_again),
        cmocka_unit_test(test_a_tick_after_a_pause_of_our_own_forgives),
        cmocka_unit_test(test_a_tick_within_two_intervals_counts),
        cmocka_unit_test(test_we_beat_only_when_we_were_silent),
        cmocka_unit_test(test_totals_that_wrap_are_progress_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
