/* Two reports in; a screen, a line, an object out. */

#include "cli/status/view.h"

#include "cli/output/testing_json.h"

#include <stdio.h>

enum { JSON_BYTES = 65536, SCREEN_BYTES = 65536 };

/* A site of two lanes and three workers at clock @clock. */
static json_t *site_at(int clock, int64_t updates, int64_t bytes)
{
    char text[JSON_BYTES];

    (void)snprintf(
        text, sizeof(text),
        "{'site': 'home', 'lanes': [{'lane': 0, 'address': 'tcp://h:7400', 'status': {'server': "
        "'s0', 'lane': 0, 'lanes': 2, 'barrier': 'bsp', 'staleness': 0, 'delivery': 'pull', "
        "'version': %d, 'begun': true, 'restoring': false, 'updates': %lld, 'received_bytes': "
        "%lld, 'sent_bytes': 1000, 'table_bytes': 1500000, 'refused': 2, 'progress': {'loss': "
        "0.125, 'objective': 0.5, 'accuracy': 0.9375, 'evaluated': 10, 'stop': 99}, 'checkpoint': "
        "{'number': 3, 'clock': 10, 'saving': true}, 'members': ["
        "{'name': 'w2', 'rank': 2, 'state': 'in', 'up': true, 'clock': %d, 'waited_for': true, "
        "'silent_ms': 700, 'rtt_us': 12340},"
        "{'name': 'w0', 'rank': 0, 'state': 'in', 'up': true, 'clock': %d, 'delivery': 1000000},"
        "{'name': 'w1', 'rank': 1, 'state': 'in', 'up': true, 'clock': %d}]}}, "
        "{'lane': 1, 'address': 'tcp://h:7401', 'error': 'connection refused'}]}",
        clock, (long long)updates, (long long)bytes, clock, clock + 1, clock + 1);
    return json_of(text);
}

static void screen_of(const struct status_view *v, char *out)
{
    struct text t;

    text_init_fixed(&t, out, SCREEN_BYTES);
    view_screen(v, &t);
    assert_false(t.failed);
}

static void test_the_screen_has_everything(void **state)
{
    static char screen[SCREEN_BYTES];
    json_t *before = site_at(10, 100, 1000000);
    json_t *now = site_at(14, 140, 9000000);
    struct status_view v = {.before = before,
                            .now = now,
                            .seconds = 2,
                            .time = "12:00:00Z",
                            .width = 100,
                            .height = 40};

    (void)state;
    screen_of(&v, screen);
    assert_string_equal(
        screen,
        "home  clock 14  2.00 clocks/s  3 workers  12:00:00Z\n"
        "updates 20/s  in 4.00 MB/s  out 0 B/s  model and state 1.50 MB  refused 2\n"
        "bsp, pull, checkpoint 3 of clock 10, saving\n"
        "loss 0.125  objective 0.5  accuracy 93.75 %  (at clock 10)  stops after clock 99\n"
        "lane 1 at tcp://h:7401 cannot be reached: connection refused; everybody waits for it: "
        "does its\n"
        "  server run?\n"
        "clock 15 on lane 0 waits for worker w2 (rank 2): last heard 0.7 s ago, computes or is "
        "slow; 2\n"
        "  others are done\n"
        "\n"
        "WORKER           RANK    CLOCK  STATE           HEARD       RTT       RATE\n"
        "w0                  0       15  waits           0.0 s         -  1.00 MB/s\n"
        "w1                  1       15  waits           0.0 s         -      0 B/s\n"
        "w2                  2       14  waited for      0.7 s   12.3 ms      0 B/s\n"
        "\n"
        "LANE SERVER          CLOCK    UPDATES          IN        OUT  ADDRESS\n"
        "   0 s0                 14       20/s   4.00 MB/s      0 B/s  tcp://h:7400\n"
        "   1 -                   -  tcp://h:7401: connection refused\n");
    json_decref(before);
    json_decref(now);
}

/* Somebody's links are too slow: it is seen whose. */
static void test_what_is_held_back_is_shown(void **state)
{
    static char screen[SCREEN_BYTES];
    json_t *now = json_of(
        "{'site': 'home', 'lanes': [{'lane': 0, 'address': 'tcp://h:7400', 'status': {'server': "
        "'s0', 'lane': 0, 'lanes': 1, 'barrier': 'bsp', 'delivery': 'broadcast', 'version': 9, "
        "'sparsified': {'elements': 1000, 'sent_elements': 400, 'upper': false, 'threshold': "
        "0.001, "
        "'link_bytes_per_s': 0}, 'members': ["
        "{'name': 'w0', 'rank': 0, 'state': 'in', 'up': true, 'clock': 9, 'sparsified': "
        "{'elements': "
        "100, 'sent_elements': 10, 'upper': true, 'threshold': 0.0025, 'link_bytes_per_s': "
        "5000000}},"
        "{'name': 'w1', 'rank': 1, 'state': 'in', 'up': true, 'clock': 9, 'sparsified': "
        "{'elements': "
        "100, 'sent_elements': 40, 'upper': false, 'threshold': 0.001, 'link_bytes_per_s': "
        "90000000}},"
        "{'name': 'w2', 'rank': 2, 'state': 'in', 'up': true, 'clock': 9}]}}]}");
    struct status_view v = {.now = now, .time = "", .width = 120, .height = 40};
    json_t *json = view_json(&v);
    const json_t *members = json_object_get(json, "members");

    (void)state;
    screen_of(&v, screen);
    assert_non_null(strstr(screen, "\nworkers hold back: 1 of 2 up, delta 0.0025 now, 25.0 % of "
                                   "entries sent, slowest link 5.00 MB/s\n"));
    assert_non_null(strstr(screen, "\nlanes hold back: low, delta 0.001 now, 40.0 % of entries "
                                   "sent, slowest link -\n"));
    assert_non_null(strstr(screen, "HEARD       RTT       RATE     SENT\n"));
    assert_non_null(strstr(screen, "0 B/s   10.0 % up\n"));
    assert_non_null(strstr(screen, "0 B/s   40.0 % low\n"));
    assert_true(json_is_true(
        json_object_get(json_object_get(json_array_get(members, 0), "sparsified"), "upper")));
    assert_null(json_object_get(json_array_get(members, 2), "sparsified"));
    json_decref(json);
    json_decref(now);
}

/* What workers pass on to each other, and that one of them has no room for all of it. */
static void test_what_workers_pass_on_is_shown(void **state)
{
    static char screen[SCREEN_BYTES];
    json_t *now = json_of(
        "{'site': 'home', 'lanes': [{'lane': 0, 'address': 'tcp://h:7400', 'status': {'server': "
        "'s0', 'lane': 0, 'lanes': 1, 'barrier': 'bsp', 'delivery': 'broadcast', 'version': 9, "
        "'tree': {'direct': 1, 'fed': 2, 'trees': 3, 'detours': 4}, 'members': ["
        "{'name': 'w0', 'rank': 0, 'state': 'in', 'up': true, 'clock': 9, 'passed': {'frames': 60, "
        "'bytes': 12300000, 'dropped': 2}, 'sparsified': {'elements': 100, 'sent_elements': 10, "
        "'upper': true, "
        "'threshold': 0.0025, 'link_bytes_per_s': 5000000}},"
        "{'name': 'w1', 'rank': 1, 'state': 'in', 'up': true, 'clock': 9, 'passed': {'frames': 0, "
        "'bytes': 0, 'dropped': 0}},"
        "{'name': 'w2', 'rank': 2, 'state': 'in', 'up': true, 'clock': 9}]}}]}");
    struct status_view v = {.now = now, .time = "", .width = 120, .height = 40};
    json_t *json = view_json(&v);
    const json_t *members = json_object_get(json, "members");
    const json_t *passed = json_object_get(json_array_get(members, 0), "passed");

    (void)state;
    screen_of(&v, screen);
    assert_non_null(strstr(screen, "\nsums go by trees: 2 of 3 ways to workers are through other "
                                   "workers, 4 detours so far\n"
                                   "workers passed on 12.3 MB in 60 frames; 2 dropped for want of "
                                   "room\n"));
    assert_non_null(strstr(screen, "RATE     SENT         PASSED\n"));
    assert_non_null(strstr(screen, "0 B/s   10.0 % up     12.3 MB, 2 dropped\n"));
    assert_non_null(strstr(screen, "0 B/s                     0 B\n"));
    assert_non_null(strstr(screen, "0 B/s\n\nLANE"));
    assert_int_equal(json_integer_value(json_object_get(passed, "bytes")), 12300000);
    assert_int_equal(json_integer_value(json_object_get(passed, "frames")), 60);
    assert_int_equal(json_integer_value(json_object_get(passed, "dropped")), 2);
    assert_null(json_object_get(json_array_get(members, 2), "passed"));
    json_decref(json);
    json_decref(now);
}

static void test_without_a_report_before_there_are_no_rates(void **state)
{
    static char screen[SCREEN_BYTES];
    json_t *now = site_at(14, 140, 9000000);
    struct status_view v = {.now = now, .time = "", .width = 120, .height = 40};

    (void)state;
    screen_of(&v, screen);
    assert_non_null(strstr(screen, "home  clock 14  - clocks/s"));
    assert_non_null(strstr(screen, "updates -/s"));
    json_decref(now);
}

/* A server that was restarted counts from zero: that is no rate below zero. */
static void test_counters_that_go_back_have_no_rate(void **state)
{
    static char screen[SCREEN_BYTES];
    json_t *before = site_at(14, 140, 9000000);
    json_t *now = site_at(10, 4, 100);
    struct status_view v = {
        .before = before, .now = now, .seconds = 1, .time = "", .width = 120, .height = 40};

    (void)state;
    screen_of(&v, screen);
    assert_non_null(strstr(screen, "clock 10  - clocks/s"));
    json_decref(before);
    json_decref(now);
}

static uint32_t lines_of(const char *screen, size_t *longest_out)
{
    uint32_t lines = 0;

    *longest_out = 0;
    while (*screen != '\0') {
        size_t size = strcspn(screen, "\n");

        *longest_out = size > *longest_out ? size : *longest_out;
        screen += size + 1;
        lines++;
    }
    return lines;
}

static void test_it_fits_every_terminal(void **state)
{
    static char screen[SCREEN_BYTES];
    json_t *now = site_at(14, 140, 9000000);
    json_t *members = json_object_get(
        json_object_get(json_array_get(json_object_get(now, "lanes"), 0), "status"), "members");

    (void)state;
    for (int i = 0; i < 250; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "x%d", i);
        (void)json_array_append_new(members,
                                    json_pack("{s:s, s:i, s:s, s:b, s:i}", "name", name, "rank",
                                              i + 3, "state", "in", "up", i != 200, "clock", 15));
    }
    for (int height = 1; height < 60; height++) {
        struct status_view v = {.now = now, .time = "", .width = 20 + height, .height = height};
        size_t longest;

        screen_of(&v, screen);
        assert_true(lines_of(screen, &longest) <= (uint32_t)height);
        assert_true(longest <= (size_t)v.width);
        if (height > 32) {
            /* Those in trouble are shown, whoever else is not. */
            assert_non_null(strstr(screen, "\nw2 "));
            assert_non_null(strstr(screen, "\nx200 "));
            assert_non_null(strstr(screen, " more\n"));
        }
    }
    json_decref(now);
}

static void test_colours_are_used_only_if_wanted(void **state)
{
    static char screen[SCREEN_BYTES];
    json_t *now = site_at(14, 140, 9000000);
    struct status_view v = {.now = now, .time = "", .width = 100, .height = 40};

    (void)state;
    screen_of(&v, screen);
    assert_null(strchr(screen, '\033'));
    v.color = true;
    screen_of(&v, screen);
    assert_non_null(strstr(screen, "\033[1mhome"));
    assert_non_null(strstr(screen, "\033[33mw2 "));
    json_decref(now);
}

static void test_what_a_server_says_cannot_move_the_cursor(void **state)
{
    static char screen[SCREEN_BYTES];
    json_t *now = json_of("{'site': 'a\\u001b[2Jb', 'lanes': [{'lane': 0, 'address': '\\n', "
                          "'status': {'server': '\\u001b]0;x\\u0007', 'members': [{'name': "
                          "'\\u001b[1A', 'state': 'in', 'up': true}]}}]}");
    struct status_view v = {.now = now, .time = "", .width = 200, .height = 40};
    struct text t;

    (void)state;
    screen_of(&v, screen);
    assert_null(strchr(screen, '\033'));
    assert_null(strchr(screen, '\a'));
    text_init_fixed(&t, screen, sizeof(screen));
    view_line(&v, &t);
    assert_null(strchr(screen, '\033'));
    json_decref(now);
}

static void test_one_line_says_the_most_important(void **state)
{
    char line[2048];
    json_t *before = site_at(10, 100, 1000000);
    json_t *now = site_at(14, 140, 9000000);
    struct status_view v = {.before = before, .now = now, .seconds = 2, .time = "12:00:00Z"};
    struct text t;

    (void)state;
    text_init_fixed(&t, line, sizeof(line));
    view_line(&v, &t);
    assert_string_equal(
        line,
        "12:00:00Z  clock 14  2.00 clocks/s  20 updates/s  in 4.00 MB/s  out 0 B/s  3 workers  "
        "loss 0.125  objective 0.5  accuracy 93.75 %  (at clock 10)  stops after clock 99  lane 1 "
        "at tcp://h:7401 cannot be reached: connection refused; everybody waits for it: does its "
        "server run?\n");
    json_decref(before);
    json_decref(now);
}

static void test_the_object_has_numbers(void **state)
{
    json_t *before = site_at(10, 100, 1000000);
    json_t *now = site_at(14, 140, 9000000);
    struct status_view v = {.before = before, .now = now, .seconds = 2, .time = ""};
    json_t *out = view_json(&v);
    const json_t *member = json_array_get(json_object_get(out, "members"), 2);

    (void)state;
    assert_int_equal(json_integer_value(json_object_get(out, "clock")), 14);
    assert_true(json_real_value(json_object_get(out, "clocks_per_s")) == 2.0);
    assert_true(json_real_value(json_object_get(out, "received_bytes_per_s")) == 4e6);
    assert_int_equal(json_array_size(json_object_get(out, "reasons")), 2);
    assert_string_equal(json_string_value(json_object_get(member, "state")), "waited for");
    json_decref(out);
    v.before = NULL;
    out = view_json(&v);
    assert_true(json_is_null(json_object_get(out, "clocks_per_s")));
    json_decref(out);
    json_decref(before);
    json_decref(now);
}

/* Two lanes that share with two sites; @sent is what each of them has sent to tokyo. */
static json_t *shares_at(int64_t sent)
{
#define SHARES(number, clock, up)                                                                  \
    "{'lane': " #number ", 'address': 'tcp://h:1', 'status': {'server': 's0', 'lane': " #number    \
    ", 'lanes': 2, 'barrier': 'bsp', 'delivery': 'pull', 'version': 20, 'begun': true, "           \
    "'members': [], 'between': {'pieces_made': 7, 'pieces_taken': 5, 'barriers_raised': 2, "       \
    "'barriers_met': 1, 'barriers_passed': 3, 'waited_clock_s': 1.5, 'waited_barrier_s': 0.25, "   \
    "'waited_room_s': 0, "                                                                         \
    "'soft': 0.5, 'sites': [{'site': 'tokyo', 'up': true, 'clock': " #clock ", "                   \
    "'waiting_bytes': 1000, 'unacked_bytes': 500, 'sent_bytes': %lld, 'delivery': 2000000, "       \
    "'rtt_us': 150000, 'announcing': true}, {'site': 'ireland', 'up': " #up ", 'clock': 20}]}}}"
    char text[JSON_BYTES];

    (void)snprintf(text, sizeof(text),
                   "{'site': 'home', 'lanes': [" SHARES(0, 17, true) ", " SHARES(1, 18, false) "]}",
                   (long long)sent, (long long)sent);
    return json_of(text);
}

static void test_other_sites_have_their_lines(void **state)
{
    json_t *before = shares_at(1000000), *now = shares_at(2000000);
    struct status_view v = {
        .before = before, .now = now, .seconds = 2, .time = "12:01:22", .width = 200, .height = 40};
    static char screen[SCREEN_BYTES];
    json_t *object, *tokyo;

    (void)state;
    screen_of(&v, screen);
    assert_non_null(strstr(screen, "SITE                CLOCK  BEHIND  STATE"));
    assert_non_null(strstr(screen, "tokyo                  17       3  announces"));
    assert_non_null(strstr(screen, "3.00 kB"));   /* Both lanes' queues, */
    assert_non_null(strstr(screen, "1.00 MB/s")); /* what they send, */
    assert_non_null(strstr(screen, "4.00 MB/s")); /* and what the link carries. */
    assert_non_null(strstr(screen, "150.0 ms"));
    assert_non_null(strstr(screen, "ireland                20       0  away"));
    assert_non_null(strstr(
        screen, "pieces 14 made, 10 taken  barriers 4 raised, 2 met, 6 passed on  soft 0.50\n"));
    assert_non_null(strstr(screen, "readers waited 3.0 s for clocks, 0.5 s for barriers, "
                                   "0.0 s for what was about to come, 0.0 s for room\n"));
    object = view_json(&v);
    tokyo = json_array_get(json_object_get(object, "sites"), 0);
    assert_string_equal(json_string_value(json_object_get(tokyo, "name")), "tokyo");
    assert_int_equal(json_integer_value(json_object_get(tokyo, "behind")), 3);
    assert_int_equal(json_integer_value(json_object_get(tokyo, "queued_bytes")), 3000);
    assert_true(json_number_value(json_object_get(tokyo, "sent_bytes_per_s")) == 1e6);
    json_decref(object);
    json_decref(before);
    json_decref(now);
}

/* Site b of four around c. */
#define CENTRAL(sent)                                                                              \
    "{'site': 'b', 'lanes': [{'lane': 0, 'address': 'tcp://h:7400', 'status': {'server': 's0', "   \
    "'lane': 0, 'lanes': 1, 'barrier': 'bsp', 'delivery': 'pull', 'version': 9, 'begun': true, "   \
    "'members': [], 'between': {'waits': 'result', 'waits_for': 'c', 'waits_s': 2.25, 'sites': ["  \
    "{'site': 'a', 'up': true, 'linked': true, 'rtt_us': 20000, 'sent_bytes': " #sent "}, "        \
    "{'site': 'c', 'up': true, 'linked': true, 'rtt_us': 1500, 'sent_bytes': 0}, "                 \
    "{'site': 'd', 'up': false, 'linked': false, 'left_out': true}], "                             \
    "'central': {'epoch': 6, 'centre': 'c', 'begun': true, 'why': 'broken', 'about': ['c', 'd'], " \
    "'names': ['a', 'b', 'c', 'd'], 'paths': [{'site': 0, 'sites': [0, 1, 2], 'bytes_per_s': "     \
    "2500000}, {'site': 1, 'sites': [1, 2], 'bytes_per_s': 0}, {'site': 2, 'sites': []}], "        \
    "'links': [[0, 1, 1, 10000000], [1, 2, 1, 0], [7, -1, 'x'], 3], 'round_bytes': 1600000.0, "    \
    "'round_s': 0.64, 'stats': {'sums_sent': 40, 'results_taken': 39, 'passed_bytes': 2000000, "   \
    "'carried': 1}}}}}]}"

static void test_sites_around_a_centre_have_their_ways(void **state)
{
    static char screen[SCREEN_BYTES];
    json_t *before = json_of(CENTRAL(0));
    json_t *now = json_of(CENTRAL(3000000));
    struct status_view v = {
        .before = before, .now = now, .seconds = 2, .time = "", .width = 140, .height = 40};

    (void)state;
    screen_of(&v, screen);
    assert_non_null(strstr(screen, "nothing has come for 2.2 s: this site waits for the result of "
                                   "the round from site c, the centre"));
    assert_non_null(strstr(screen,
                           "plan 6: centre c, because the link c - d is down; a round of 1.60 MB "
                           "takes 0.64 s by it\n"
                           "from here: b > c, as fast as it goes\n"));
    assert_non_null(
        strstr(screen, "\na                there       a > b > c                         2.50 MB/s "
                       " 10.0 MB/s  1.50 MB/s    20.0 ms\n"
                       "c                centre      -                                         -  "
                       "        -      0 B/s     1.5 ms\n"
                       "d                left out    -                                         -  "
                       "        -          -          -\n"
                       "sums 40 sent, 0 taken  results 0 sent, 39 taken  whole chunks 0  passed on "
                       "2.00 MB  of older plans 0  carried 1\n"));
    json_decref(before);
    json_decref(now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_screen_has_everything),
        cmocka_unit_test(test_what_is_held_back_is_shown),
        cmocka_unit_test(test_what_workers_pass_on_is_shown),
        cmocka_unit_test(test_without_a_report_before_there_are_no_rates),
        cmocka_unit_test(test_counters_that_go_back_have_no_rate),
        cmocka_unit_test(test_it_fits_every_terminal),
        cmocka_unit_test(test_colours_are_used_only_if_wanted),
        cmocka_unit_test(test_what_a_server_says_cannot_move_the_cursor),
        cmocka_unit_test(test_one_line_says_the_most_important),
        cmocka_unit_test(test_the_object_has_numbers),
        cmocka_unit_test(test_other_sites_have_their_lines),
        cmocka_unit_test(test_sites_around_a_centre_have_their_ways),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
