/* One direction of a link, in its own time. */

#include "emu/proxy/pipe.h"

#include "base/mem.h"
#include "base/rng.h"
#include "emu/testing.h"

#include <string.h>

/* 1.5 MB/s: a quantum of 1500 bytes takes a millisecond. */
static const struct emu_shape slow = {.bytes_per_s = 1500000, .delay_ns = 10 * TESTING_MS};

static void said(struct testing_rig *rig, const char *expected)
{
    assert_false(rig->said.failed);
    assert_string_equal(rig->said.chars, expected);
    text_clear(&rig->said);
}

static void test_a_piece_is_due_when_it_is_sent_and_has_travelled(void **state)
{
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &slow, 1);
    assert_true(emu_pipe_next_ns(rig.pipe) == EMU_NEVER);
    testing_give(&rig, 0, 750);
    testing_run(&rig, 100 * TESTING_MS);
    said(&rig, "0.000 a sends 750\n"
               "10.500 a takes 750\n");
    testing_close(&rig);
}

static void test_flows_take_turns_and_a_turn_is_taken_a_little_early(void **state)
{
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &slow, 2);
    testing_give(&rig, 0, 4500);
    testing_give(&rig, 1, 2000);
    testing_run(&rig, 100 * TESTING_MS);
    said(&rig, "0.000 a sends 1500\n"
               "0.000 b sends 1500\n"
               "2.000 a sends 1500\n"
               "2.000 b sends 500\n"
               "3.333 a sends 1500\n"
               "11.000 a takes 1500\n"
               "12.000 b takes 1500\n"
               "13.000 a takes 1500\n"
               "13.333 b takes 500\n"
               "14.333 a takes 1500\n");
    testing_close(&rig);
}

static void test_fractions_of_nanoseconds_are_not_lost(void **state)
{
    const struct emu_shape odd = {.bytes_per_s = 7000003};
    struct testing_rig rig;
    const uint64_t bytes = 70000030;

    (void)state;
    testing_open(&rig, &odd, 1);
    testing_give(&rig, 0, bytes);
    testing_run(&rig, 10 * TESTING_S - 1);
    assert_true(rig.flows[0].taken < bytes);
    testing_run(&rig, 10 * TESTING_S);
    assert_int_equal(rig.flows[0].taken, bytes);
    testing_close(&rig);
}

static void test_an_idle_link_saves_nothing_up(void **state)
{
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &slow, 1);
    testing_give(&rig, 0, 1500);
    testing_run(&rig, 500 * TESTING_MS);
    testing_give(&rig, 0, 3000);
    testing_run(&rig, TESTING_S);
    said(&rig, "0.000 a sends 1500\n"
               "11.000 a takes 1500\n"
               "500.000 a sends 1500\n"
               "500.000 a sends 1500\n"
               "511.000 a takes 1500\n"
               "512.000 a takes 1500\n");
    testing_close(&rig);
}

static void test_looking_late_does_not_change_the_rate(void **state)
{
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &slow, 2);
    testing_give(&rig, 0, 10000000);
    testing_give(&rig, 1, 10000000);
    testing_run_late(&rig, 4 * TESTING_S, 3 * TESTING_MS);
    assert_in_range(rig.flows[0].sent + rig.flows[1].sent, 5990000, 6010000);
    testing_close(&rig);
}

static void test_looking_very_late_is_not_made_good(void **state)
{
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &slow, 1);
    testing_give(&rig, 0, 1000000);
    testing_look(&rig);
    text_clear(&rig.said);
    rig.now_ns = 300 * TESTING_MS;
    rig.flows[0].sent = 0;
    testing_turns(&rig);
    /* Five milliseconds of the past, one of the future, and the piece that begins in that. */
    assert_int_equal(rig.flows[0].sent, 7 * 1500);
    testing_close(&rig);
}

static void test_a_short_gap_of_a_source_is_none(void **state)
{
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &slow, 1);
    testing_give(&rig, 0, 150);
    testing_run(&rig, TESTING_MS * 3 / 10);
    testing_give(&rig, 0, 150);
    testing_run(&rig, TESTING_MS);
    testing_give(&rig, 0, 150);
    testing_run(&rig, 100 * TESTING_MS);
    said(&rig, "0.000 a sends 150\n"
               "0.300 a sends 150\n"
               "1.000 a sends 150\n"
               "10.100 a takes 150\n"
               "10.200 a takes 150\n"
               "11.100 a takes 150\n");
    testing_close(&rig);
}

static void test_a_capped_flow_leaves_the_rest_to_the_others(void **state)
{
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &slow, 2);
    emu_flow_remove(rig.pipe, &rig.flows[0].flow);
    assert_int_equal(emu_flow_add(rig.pipe, &rig.flows[0].flow, 300000, &rig.flows[0]), OK);
    testing_give(&rig, 0, 100000000);
    testing_give(&rig, 1, 100000000);
    testing_run(&rig, 10 * TESTING_S);
    assert_in_range(rig.flows[0].sent, 2995000, 3005000);
    assert_in_range(rig.flows[1].sent, 11990000, 12005000);
    testing_close(&rig);
}

static void test_a_cap_for_all_holds_for_each(void **state)
{
    struct emu_shape shape = slow;
    struct testing_rig rig;

    (void)state;
    shape.stream_bytes_per_s = 200000;
    testing_open(&rig, &shape, 3);
    for (uint32_t i = 0; i < 3; i++) {
        testing_give(&rig, i, 100000000);
    }
    testing_run(&rig, 10 * TESTING_S);
    for (uint32_t i = 0; i < 3; i++) {
        assert_in_range(rig.flows[i].sent, 1995000, 2005000);
    }
    testing_close(&rig);
}

static void test_a_sink_that_takes_nothing_stops_its_source_at_the_window(void **state)
{
    struct testing_rig rig;
    struct emu_pipe_stats stats;

    (void)state;
    testing_open(&rig, &slow, 2);
    assert_int_equal(emu_pipe_window(rig.pipe), EMU_WINDOW_BYTES_MIN);
    rig.flows[0].closed = true;
    testing_give(&rig, 0, 100000000);
    testing_give(&rig, 1, 100000000);
    testing_run(&rig, 2 * TESTING_S);
    assert_in_range(rig.flows[0].sent, EMU_WINDOW_BYTES_MIN - 1500, EMU_WINDOW_BYTES_MIN);
    assert_int_equal(rig.flows[0].taken, 0);
    assert_true(emu_flow_blocked(&rig.flows[0].flow));
    /* The other one has all the rest. */
    assert_in_range(rig.flows[0].sent + rig.flows[1].sent, 2998000, 3003000);
    emu_pipe_stats(rig.pipe, &stats);
    assert_true(stats.late_max_ns < TESTING_MS);
    rig.flows[0].closed = false;
    emu_flow_unblock(rig.pipe, &rig.flows[0].flow, rig.now_ns);
    testing_look(&rig);
    assert_in_range(rig.flows[0].taken, EMU_WINDOW_BYTES_MIN - 1500, EMU_WINDOW_BYTES_MIN);
    testing_run(&rig, 3 * TESTING_S);
    assert_in_range(rig.flows[0].sent + rig.flows[1].sent, 4498000, 4503000);
    emu_pipe_stats(rig.pipe, &stats);
    assert_true(stats.late_max_ns < TESTING_MS);
    testing_close(&rig);
}

static void test_a_long_fat_link_has_a_window_for_it(void **state)
{
    const struct emu_shape fat = {
        .bytes_per_s = 12500000, .delay_ns = 150 * TESTING_MS, .jitter_ns = 50 * TESTING_MS};
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &fat, 1);
    assert_int_equal(emu_pipe_window(rig.pipe), 5125000);
    testing_give(&rig, 0, 1000000000);
    testing_run(&rig, 10 * TESTING_S);
    assert_in_range(rig.flows[0].sent, 124980000, 125020000);
    testing_close(&rig);
}

static void test_what_is_cut_has_the_same_way_before_it_when_it_is_healed(void **state)
{
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &slow, 1);
    testing_give(&rig, 0, 1500);
    testing_run(&rig, 5 * TESTING_MS);
    emu_pipe_cut(rig.pipe, true, rig.now_ns);
    assert_true(emu_pipe_next_ns(rig.pipe) == EMU_NEVER);
    testing_give(&rig, 0, 1500);
    testing_run(&rig, 105 * TESTING_MS);
    said(&rig, "0.000 a sends 1500\n");
    emu_pipe_cut(rig.pipe, false, rig.now_ns);
    testing_run(&rig, 500 * TESTING_MS);
    said(&rig, "105.000 a sends 1500\n"
               "111.000 a takes 1500\n"
               "116.000 a takes 1500\n");
    testing_close(&rig);
}

static void test_a_stall_stops_the_sources_only(void **state)
{
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &slow, 2);
    testing_give(&rig, 0, 100);
    testing_look(&rig);
    emu_pipe_stall(rig.pipe, true);
    testing_give(&rig, 0, 100);
    testing_run(&rig, 50 * TESTING_MS);
    said(&rig, "0.000 a sends 100\n"
               "10.067 a takes 100\n");
    emu_pipe_stall(rig.pipe, false);
    emu_flow_stall(rig.pipe, &rig.flows[0].flow, true);
    testing_give(&rig, 1, 100);
    testing_run(&rig, 55 * TESTING_MS);
    said(&rig, "50.000 b sends 100\n");
    emu_flow_stall(rig.pipe, &rig.flows[0].flow, false);
    testing_run(&rig, 56 * TESTING_MS);
    said(&rig, "55.000 a sends 100\n");
    testing_close(&rig);
}

static void test_a_slow_drain_lets_little_through_and_then_all(void **state)
{
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &slow, 1);
    emu_pipe_drain(rig.pipe, 10000, rig.now_ns);
    testing_give(&rig, 0, 10000000);
    testing_run(&rig, 2 * TESTING_S);
    assert_in_range(rig.flows[0].taken, 19700, 20000);
    assert_in_range(rig.flows[0].sent, EMU_WINDOW_BYTES_MIN, EMU_WINDOW_BYTES_MIN + 20000);
    emu_pipe_drain(rig.pipe, 0, rig.now_ns);
    testing_look(&rig);
    assert_true(rig.flows[0].taken > EMU_WINDOW_BYTES_MIN - 20000);
    testing_close(&rig);
}

static void test_a_new_rate_holds_for_the_rest_of_a_piece(void **state)
{
    const struct emu_shape crawl = {.bytes_per_s = 150, .delay_ns = TESTING_MS};
    const struct emu_shape fast = {.bytes_per_s = 1500000, .delay_ns = TESTING_MS};
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &crawl, 1);
    testing_give(&rig, 0, 3000);
    testing_run(&rig, 5 * TESTING_S);
    emu_pipe_reshape(rig.pipe, &fast, rig.now_ns);
    testing_run(&rig, 20 * TESTING_S);
    /* Half of it was sent: the other half takes half a millisecond. */
    said(&rig, "0.000 a sends 1500\n"
               "5000.000 a sends 1500\n"
               "5001.500 a takes 1500\n"
               "5002.500 a takes 1500\n");
    emu_pipe_reshape(rig.pipe, &crawl, rig.now_ns);
    testing_give(&rig, 0, 150);
    testing_run(&rig, 30 * TESTING_S);
    said(&rig, "20000.000 a sends 150\n"
               "21001.000 a takes 150\n");
    testing_close(&rig);
}

static void test_a_new_cap_holds_for_those_who_wait_for_theirs(void **state)
{
    struct emu_shape shape = slow;
    struct testing_rig rig;

    (void)state;
    shape.stream_bytes_per_s = 150;
    testing_open(&rig, &shape, 1);
    testing_give(&rig, 0, 100000);
    testing_run(&rig, TESTING_S);
    assert_int_equal(rig.flows[0].sent, 1500);
    emu_pipe_reshape(rig.pipe, &slow, rig.now_ns);
    testing_run(&rig, 2 * TESTING_S);
    assert_int_equal(rig.flows[0].sent, 100000);
    testing_close(&rig);
}

static void test_less_delay_does_not_let_a_flow_overtake_itself(void **state)
{
    struct emu_shape near = slow;
    struct testing_rig rig;

    (void)state;
    near.delay_ns = 0;
    testing_open(&rig, &slow, 2);
    testing_give(&rig, 0, 1500);
    testing_run(&rig, 2 * TESTING_MS);
    emu_pipe_reshape(rig.pipe, &near, rig.now_ns);
    testing_give(&rig, 0, 750);
    testing_give(&rig, 1, 750);
    testing_run(&rig, 50 * TESTING_MS);
    said(&rig, "0.000 a sends 1500\n"
               "2.000 a sends 750\n"
               "2.000 b sends 750\n"
               "3.000 b takes 750\n"
               "11.000 a takes 2250\n");
    testing_close(&rig);
}

static void test_jitter_is_within_its_bounds_and_keeps_the_order(void **state)
{
    struct emu_shape shaky = {.delay_ns = 10 * TESTING_MS, .jitter_ns = 4 * TESTING_MS};
    struct testing_rig rig;
    int64_t least_ns = INT64_MAX, most_ns = 0, before_ns = 0;

    (void)state;
    testing_open(&rig, &shaky, 1);
    for (int i = 0; i < 2000; i++) {
        int64_t way_ns, sent_ns = rig.now_ns;

        testing_give(&rig, 0, 1);
        testing_look(&rig);
        assert_true(rig.flows[0].flow.last_due_ns >= before_ns);
        before_ns = rig.flows[0].flow.last_due_ns;
        way_ns = before_ns - sent_ns;
        least_ns = way_ns < least_ns ? way_ns : least_ns;
        most_ns = way_ns > most_ns ? way_ns : most_ns;
        testing_run(&rig, sent_ns + 5 * TESTING_MS);
    }
    assert_in_range(least_ns, 10 * TESTING_MS, 10 * TESTING_MS + 50000);
    assert_in_range(most_ns, 14 * TESTING_MS - 50000, 14 * TESTING_MS);
    testing_close(&rig);
}

static void test_marks_travel_among_the_bytes(void **state)
{
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &slow, 1);
    emu_flow_mark(rig.pipe, &rig.flows[0].flow, EMU_OPEN, rig.now_ns);
    testing_give(&rig, 0, 1500);
    testing_look(&rig);
    emu_flow_mark(rig.pipe, &rig.flows[0].flow, EMU_FIN, rig.now_ns);
    emu_flow_mark(rig.pipe, &rig.flows[0].flow, EMU_RESET, rig.now_ns);
    testing_run(&rig, 50 * TESTING_MS);
    said(&rig, "0.000 a sends 1500\n"
               "10.000 a opens 0\n"
               "11.000 a takes 1500\n"
               "11.000 a ends 0\n"
               "11.000 a breaks 0\n");
    testing_close(&rig);
}

static void test_a_link_without_a_rate_is_bounded_by_its_windows(void **state)
{
    const struct emu_shape any = {.delay_ns = 10 * TESTING_MS};
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &any, 1);
    testing_give(&rig, 0, 100000000);
    testing_turns(&rig);
    assert_in_range(rig.flows[0].sent, emu_pipe_window(rig.pipe) - EMU_QUANTUM_BYTES_MAX,
                    emu_pipe_window(rig.pipe));
    assert_int_equal(emu_pipe_next_ns(rig.pipe), 10 * TESTING_MS);
    testing_run(&rig, TESTING_S);
    assert_int_equal(rig.flows[0].taken, 100000000);
    testing_close(&rig);
}

static void test_small_pieces_are_bounded_in_number(void **state)
{
    struct emu_shape far = {.delay_ns = 1000 * TESTING_MS};
    struct testing_rig rig;

    (void)state;
    testing_open(&rig, &far, 1);
    for (int i = 0; i < 2 * EMU_PIECES_MAX; i++) {
        testing_give(&rig, 0, 1);
        testing_look(&rig);
        rig.now_ns += 1000;
    }
    assert_in_range(rig.flows[0].sent, EMU_PIECES_MAX - 8, EMU_PIECES_MAX);
    testing_run(&rig, 3 * TESTING_S);
    assert_int_equal(rig.flows[0].taken, 2 * EMU_PIECES_MAX);
    testing_close(&rig);
}

static void test_what_a_removed_flow_had_is_forgotten(void **state)
{
    struct testing_rig rig;
    struct emu_pipe_stats stats;

    (void)state;
    testing_open(&rig, &slow, 2);
    testing_give(&rig, 0, 5000);
    testing_give(&rig, 1, 1500);
    testing_look(&rig);
    emu_flow_remove(rig.pipe, &rig.flows[0].flow);
    text_clear(&rig.said);
    testing_run(&rig, 50 * TESTING_MS);
    said(&rig, "12.000 b takes 1500\n");
    emu_pipe_stats(rig.pipe, &stats);
    assert_int_equal(stats.queued_bytes, 0);
    assert_true(emu_pipe_next_ns(rig.pipe) == EMU_NEVER);
    testing_close(&rig);
}

static void test_lateness_is_that_of_who_looks(void **state)
{
    struct testing_rig rig;
    struct emu_pipe_stats stats;

    (void)state;
    testing_open(&rig, &slow, 1);
    testing_give(&rig, 0, 1500);
    testing_look(&rig);
    rig.now_ns = 11 * TESTING_MS + 70000;
    testing_look(&rig);
    emu_pipe_stats(rig.pipe, &stats);
    assert_int_equal(stats.late_count, 1);
    assert_int_equal(stats.late_sum_ns, 70000);
    assert_int_equal(stats.late_max_ns, 70000);
    assert_int_equal(stats.busy_ns, TESTING_MS);
    assert_int_equal(stats.pieces, 1);
    testing_close(&rig);
}

static void test_figures_beyond_the_limits_are_refused(void **state)
{
    struct emu_shape shapes[] = {
        {.bytes_per_s = EMU_RATE_MAX + 1},
        {.stream_bytes_per_s = EMU_RATE_MAX + 1},
        {.delay_ns = -1},
        {.delay_ns = EMU_DELAY_MAX_NS + 1},
        {.jitter_ns = -1},
        {.jitter_ns = EMU_DELAY_MAX_NS + 1},
    };
    struct err_text text = {""};
    struct emu_pipe *pipe;

    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        assert_int_equal(emu_shape_check(&shapes[i], &text), ERR_INVALID);
        assert_true(text.text[0] != '\0');
    }
    assert_int_equal(emu_shape_check(&slow, NULL), OK);
    assert_int_equal(emu_pipe_create(&slow, 0, 1, &pipe), ERR_TOO_BIG);
    assert_int_equal(emu_pipe_create(&slow, EMU_FLOWS_LIMIT + 1, 1, &pipe), ERR_TOO_BIG);
}

static void test_there_are_no_more_flows_than_was_said(void **state)
{
    struct emu_flow a = {0}, b = {0};
    struct emu_pipe *pipe;

    (void)state;
    assert_int_equal(emu_pipe_create(&slow, 1, 1, &pipe), OK);
    assert_int_equal(emu_flow_add(pipe, &a, 0, NULL), OK);
    assert_int_equal(emu_flow_add(pipe, &b, 0, NULL), ERR_TOO_BIG);
    emu_flow_remove(pipe, &a);
    assert_int_equal(emu_flow_add(pipe, &b, 0, NULL), OK);
    emu_flow_remove(pipe, &b);
    emu_flow_remove(pipe, &b);
    emu_pipe_destroy(pipe);
    emu_pipe_destroy(NULL);
}

static void test_without_memory_a_flow_waits(void **state)
{
    struct testing_rig rig;

    (void)state;
    for (uint64_t k = 1; k <= 8; k++) {
        testing_open(&rig, &slow, 1);
        mem_fail_at(k, 1);
        testing_give(&rig, 0, 150000);
        testing_run(&rig, TESTING_S);
        mem_fail_at(0, 0);
        assert_int_equal(rig.flows[0].taken, 150000);
        testing_close(&rig);
    }
    for (uint64_t k = 1; k <= 4; k++) {
        struct emu_flow flow = {0};
        struct emu_pipe *pipe = NULL;
        enum err rc;

        mem_fail_at(k, 1);
        rc = emu_pipe_create(&slow, 1, 1, &pipe);
        if (rc == OK) {
            rc = emu_flow_add(pipe, &flow, 0, NULL);
        }
        mem_fail_at(0, 0);
        assert_int_equal(rc, ERR_NOMEM);
        emu_pipe_destroy(pipe);
    }
}

/* Random runs: what must hold whatever happens. */

struct storm {
    struct testing_rig rig;
    struct emu_shape shape;
    struct rng rng;
    bool greedy[TESTING_FLOWS];      /* Always has something, and its sink takes all. */
    int64_t given_ns[TESTING_FLOWS]; /* Since when the others have something. */
    uint64_t sum;                    /* Of bytes sent so far. */
    int64_t first_end_ns;            /* When the first piece was sent. */
    int64_t last_end_ns;
    uint64_t first_sum;
};

/* No two pieces are sent at the same time: in every interval from the end of a piece on, what was
 * sent is not more than the rate allows. It holds for all if it holds from the tightest on. */
static void storm_check_rate(struct storm *s, const struct testing_flow *f, uint32_t bytes)
{
    int64_t end_ns = f->flow.last_due_ns - s->shape.delay_ns;
    double need_ns;

    s->sum += bytes;
    if (s->last_end_ns != 0) {
        assert_true(end_ns >= s->last_end_ns);
    }
    assert_true(end_ns >= s->given_ns[f->name] - EMU_GRAIN_NS);
    need_ns = (double)(s->sum - s->first_sum) * 1e9 / (double)s->shape.bytes_per_s;
    if (s->last_end_ns == 0 || (double)(end_ns - s->first_end_ns) > need_ns + 2) {
        /* There was a gap: from here on is tighter. */
        s->first_end_ns = end_ns;
        s->first_sum = s->sum;
    } else {
        assert_true((double)(end_ns - s->first_end_ns) >= need_ns - 2);
    }
    s->last_end_ns = end_ns;
}

static void storm_turns(struct storm *s)
{
    struct emu_flow *flow;
    uint32_t bytes;

    while ((flow = emu_pipe_turn(s->rig.pipe, s->rig.now_ns, &bytes)) != NULL) {
        struct testing_flow *f = flow->user;
        bool more = s->greedy[f->name] || f->waiting > bytes;

        assert_true(bytes > 0 && bytes <= emu_pipe_quantum(s->rig.pipe));
        if (!s->greedy[f->name]) {
            bytes = f->waiting < bytes ? (uint32_t)f->waiting : bytes;
            f->waiting -= bytes;
        }
        f->sent += bytes;
        emu_flow_sent(s->rig.pipe, flow, bytes, more, s->rig.now_ns);
        if (bytes > 0) {
            storm_check_rate(s, f, bytes);
        }
        assert_true(f->sent - f->taken <= emu_pipe_window(s->rig.pipe));
    }
}

static void storm_arrivals(struct storm *s)
{
    struct emu_arrival arrival;
    struct emu_flow *flow;

    while ((flow = emu_pipe_arrival(s->rig.pipe, s->rig.now_ns, &arrival)) != NULL) {
        struct testing_flow *f = flow->user;
        uint64_t part = s->greedy[f->name] || !rng_chance(&s->rng, 300000)
                            ? arrival.bytes
                            : rng_below(&s->rng, arrival.bytes + 1);

        assert_int_equal(arrival.kind, EMU_DATA);
        assert_true(arrival.bytes > 0 && f->taken + arrival.bytes <= f->sent);
        f->taken += part;
        emu_flow_taken(s->rig.pipe, flow, part, part < arrival.bytes, s->rig.now_ns);
    }
}

/* Greedy flows without caps have had the same, up to a quantum. */
static void storm_check_fair(struct storm *s)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (uint32_t i = 0; i < TESTING_FLOWS; i++) {
        if (s->greedy[i]) {
            least = s->rig.flows[i].sent < least ? s->rig.flows[i].sent : least;
            most = s->rig.flows[i].sent > most ? s->rig.flows[i].sent : most;
        }
    }
    assert_true(least == UINT64_MAX || most - least <= emu_pipe_quantum(s->rig.pipe));
}

static void storm_step(struct storm *s)
{
    int64_t next_ns = emu_pipe_next_ns(s->rig.pipe);
    uint32_t i = (uint32_t)rng_below(&s->rng, TESTING_FLOWS);
    struct testing_flow *f = &s->rig.flows[i];

    if (next_ns == EMU_NEVER || next_ns < s->rig.now_ns) {
        next_ns = s->rig.now_ns;
    }
    next_ns += (int64_t)rng_below(&s->rng, 3 * TESTING_MS);
    s->rig.now_ns = next_ns;
    if (!s->greedy[i] && rng_chance(&s->rng, 500000)) {
        if (f->waiting == 0) {
            s->given_ns[i] = next_ns;
        }
        f->waiting += 1 + rng_below(&s->rng, 1 << rng_below(&s->rng, 18));
        emu_flow_want(s->rig.pipe, &f->flow, next_ns);
    }
    if (rng_chance(&s->rng, 300000)) {
        emu_flow_unblock(s->rig.pipe, &f->flow, next_ns);
    }
    storm_arrivals(s);
    storm_turns(s);
    storm_check_fair(s);
}

static void storm_finish(struct storm *s)
{
    uint64_t sent = 0;
    struct emu_pipe_stats stats;

    for (uint32_t i = 0; i < TESTING_FLOWS; i++) {
        s->greedy[i] = false;
    }
    while (emu_pipe_next_ns(s->rig.pipe) != EMU_NEVER) {
        int64_t next_ns = emu_pipe_next_ns(s->rig.pipe);

        s->rig.now_ns = next_ns > s->rig.now_ns ? next_ns : s->rig.now_ns;
        for (uint32_t i = 0; i < TESTING_FLOWS; i++) {
            emu_flow_unblock(s->rig.pipe, &s->rig.flows[i].flow, s->rig.now_ns);
        }
        storm_arrivals(s);
        storm_turns(s);
    }
    for (uint32_t i = 0; i < TESTING_FLOWS; i++) {
        sent += s->rig.flows[i].sent;
    }
    emu_pipe_stats(s->rig.pipe, &stats);
    assert_int_equal(stats.sent_bytes, sent);
    assert_true(stats.taken_bytes + stats.queued_bytes == sent);
}

static void storm_run(uint64_t seed)
{
    struct storm s = {0};
    int64_t start_ns;

    rng_init(&s.rng, seed);
    s.shape = (struct emu_shape){
        .bytes_per_s = 10000 + rng_below(&s.rng, UINT64_C(1) << rng_between(&s.rng, 16, 28)),
        .delay_ns = (int64_t)rng_below(&s.rng, 200 * TESTING_MS)};
    testing_open(&s.rig, &s.shape, TESTING_FLOWS);
    s.rig.now_ns = start_ns = TESTING_S;
    for (uint32_t i = 0; i < TESTING_FLOWS; i++) {
        s.greedy[i] = i == 0 || rng_chance(&s.rng, 300000);
        if (s.greedy[i]) {
            emu_flow_want(s.rig.pipe, &s.rig.flows[i].flow, s.rig.now_ns);
        }
    }
    storm_turns(&s);
    for (int i = 0; i < 3000; i++) {
        storm_step(&s);
    }
    /* There was always something to send, and no look was later than can be made good. */
    assert_true((double)s.sum >=
                (double)(s.rig.now_ns - start_ns) * 1e-9 * (double)s.shape.bytes_per_s * 0.999 -
                    2.0 * emu_pipe_quantum(s.rig.pipe));
    storm_finish(&s);
    testing_close(&s.rig);
}

static void test_random_runs_keep_to_the_rate_and_share_it(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        storm_run(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_piece_is_due_when_it_is_sent_and_has_travelled),
        cmocka_unit_test(test_flows_take_turns_and_a_turn_is_taken_a_little_early),
        cmocka_unit_test(test_fractions_of_nanoseconds_are_not_lost),
        cmocka_unit_test(test_an_idle_link_saves_nothing_up),
        cmocka_unit_test(test_looking_late_does_not_change_the_rate),
        cmocka_unit_test(test_looking_very_late_is_not_made_good),
        cmocka_unit_test(test_a_short_gap_of_a_source_is_none),
        cmocka_unit_test(test_a_capped_flow_leaves_the_rest_to_the_others),
        cmocka_unit_test(test_a_cap_for_all_holds_for_each),
        cmocka_unit_test(test_a_sink_that_takes_nothing_stops_its_source_at_the_window),
        cmocka_unit_test(test_a_long_fat_link_has_a_window_for_it),
        cmocka_unit_test(test_what_is_cut_has_the_same_way_before_it_when_it_is_healed),
        cmocka_unit_test(test_a_stall_stops_the_sources_only),
        cmocka_unit_test(test_a_slow_drain_lets_little_through_and_then_all),
        cmocka_unit_test(test_a_new_rate_holds_for_the_rest_of_a_piece),
        cmocka_unit_test(test_a_new_cap_holds_for_those_who_wait_for_theirs),
        cmocka_unit_test(test_less_delay_does_not_let_a_flow_overtake_itself),
        cmocka_unit_test(test_jitter_is_within_its_bounds_and_keeps_the_order),
        cmocka_unit_test(test_marks_travel_among_the_bytes),
        cmocka_unit_test(test_a_link_without_a_rate_is_bounded_by_its_windows),
        cmocka_unit_test(test_small_pieces_are_bounded_in_number),
        cmocka_unit_test(test_what_a_removed_flow_had_is_forgotten),
        cmocka_unit_test(test_lateness_is_that_of_who_looks),
        cmocka_unit_test(test_figures_beyond_the_limits_are_refused),
        cmocka_unit_test(test_there_are_no_more_flows_than_was_said),
        cmocka_unit_test(test_without_memory_a_flow_waits),
        cmocka_unit_test(test_random_runs_keep_to_the_rate_and_share_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
