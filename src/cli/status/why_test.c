/* Reports in, sentences out. */

#include "cli/status/why.h"

#include "cli/output/testing_json.h"

#include <stdio.h>

enum { REPORT_BYTES = 16384 };

/* A lane that goes well, up to its members. */
#define LANE(number, more)                                                                         \
    "{'lane': " #number ", 'address': 'tcp://h:740" #number "', 'status': {'server': 's0', "       \
    "'lane': " #number ", 'lanes': 2, 'barrier': 'bsp', 'staleness': 0, 'delivery': 'pull', "      \
    "'version': 16, 'workers_min': 3, 'begun': true, 'restoring': false, " more "}}"
#define REPORT(lanes) "{'site': 'home', 'lanes': [" lanes "]}"

#define W0 "{'name': 'w0', 'rank': 0, 'state': 'in', 'up': true, 'clock': 17}"
#define W1 "{'name': 'w1', 'rank': 1, 'state': 'in', 'up': true, 'clock': 17}"
#define W2_COMPUTES "{'name': 'w2', 'rank': 2, 'state': 'in', 'up': true, 'clock': 16}"
#define W2_WAITED                                                                                  \
    "{'name': 'w2', 'rank': 2, 'state': 'in', 'up': true, 'clock': 16, 'waited_for': true, "       \
    "'silent_ms': 234}"

/* All kinds and texts, a line each. */
static void expect(const char *text, const char *expected)
{
    json_t *report = json_of(text);
    json_t *reasons = why_reasons(report);
    char lines[REPORT_BYTES];
    struct text out;

    text_init_fixed(&out, lines, sizeof(lines));
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        const json_t *reason = json_array_get(reasons, i);

        text_addf(&out, "%s%s: %s", i == 0 ? "" : "\n",
                  json_string_value(json_object_get(reason, "kind")),
                  json_string_value(json_object_get(reason, "text")));
    }
    assert_string_equal(lines, expected);
    json_decref(reasons);
    json_decref(report);
}

static void test_nobody_waits_while_all_compute(void **state)
{
    json_t *report = json_of(REPORT(LANE(0, "'members': [" W0 "," W2_COMPUTES "]")));
    char line[256];
    struct text out;

    (void)state;
    expect(REPORT(LANE(0, "'members': [" W0 "," W2_COMPUTES "]")), "");
    text_init_fixed(&out, line, sizeof(line));
    why_nobody(report, &out);
    assert_string_equal(line, "nobody waits: 2 workers compute clock 17 or later");
    text_clear(&out);
    why_headline(report, &out);
    assert_string_equal(line, "site home: clock 16, 2 workers, 2 lanes, bsp, pull");
    json_decref(report);
}

static void test_a_clock_waits_for_one_worker(void **state)
{
    (void)state;
    expect(REPORT(LANE(0, "'members': [" W2_WAITED "," W0 "," W1 "], 'deadline_in_s': 82.6, "
                          "'round_s': 37.4")),
           "clock: clock 17 waits for worker w2 (rank 2): last heard 0.2 s ago, computes or is "
           "slow; 2 others are done; begun 37 s ago, deadline in 83 s");
    expect(REPORT(LANE(0, "'members': [" W2_WAITED "," W0 "]")),
           "clock: clock 17 waits for worker w2 (rank 2): last heard 0.2 s ago, computes or is "
           "slow; 1 other is done");
}

static void test_a_store_that_fails_is_blamed_and_not_the_worker(void **state)
{
    (void)state;
    expect(
        REPORT(LANE(0, "'checkpoint': {'number': 3, 'clock': 10, 'saving': false, 'failures': 4, "
                       "'error': 'No space left on device', 'failing_s': 7.6}, 'members': ["
                       "{'name': 'w2', 'rank': 2, 'state': 'in', 'up': true, 'clock': 16, "
                       "'waited_for': true, 'silent_ms': 234, 'unsafe_frames': 4096, "
                       "'waits_for_store': true}," W0 "]")),
        "store_fails: lane 0 (s0) cannot write checkpoints: the store fails since 8 s (4 "
        "attempts): No space left on device; it goes on trying; updates of these workers wait "
        "for one: w2 (rank 2)\n"
        "clock: clock 17 waits for worker w2 (rank 2): last heard 0.2 s ago, 4096 of its updates "
        "wait for a checkpoint; 1 other is done");
}

static void test_the_same_on_several_lanes_is_said_once(void **state)
{
    (void)state;
    expect(REPORT(LANE(0, "'members': [" W2_WAITED "," W0 "]") "," LANE(1, "'members': [" W2_WAITED
                                                                           "," W0 "]")),
           "clock: clock 17 waits for worker w2 (rank 2): last heard 0.2 s ago, computes or is "
           "slow; 1 other is done");
    expect(REPORT(LANE(0, "'members': [" W2_COMPUTES "," W0
                          "]") "," LANE(1, "'members': [" W2_WAITED "," W0 "]")),
           "clock: clock 17 on lane 1 waits for worker w2 (rank 2): last heard 0.2 s ago, computes "
           "or is slow; 1 other is done");
}

static void test_a_clock_waits_for_several_workers(void **state)
{
    (void)state;
    expect(
        REPORT(LANE(
            0, "'members': [" W2_WAITED
               ",{'name': 'w3', 'rank': 3, 'state': 'in', 'up': false, 'waited_for': true},"
               "{'name': 'w4', 'rank': 4, 'state': 'in', 'up': true, 'waited_for': true, "
               "'silent_ms': 4100},"
               "{'name': 'w5', 'rank': 5, 'state': 'in', 'up': true, 'waited_for': true, "
               "'behind_chunks': 37},"
               "{'name': 'w6', 'rank': 6, 'state': 'in', 'up': true, 'waited_for': true, "
               "'held': 2, 'held_for': 'push'},"
               "{'name': 'w7', 'rank': 7, 'state': 'in', 'up': true, 'waited_for': true}," W0 "]")),
        "clock: clock 17 waits for 6 workers: w2 (rank 2, last heard 0.2 s ago, computes or is "
        "slow); w3 (rank 3, its connection is down); w4 (rank 4, silent for 4.1 s); w5 (rank 5, "
        "last heard 0.0 s ago, has still to get 37 chunks); w6 (rank 6, last heard 0.0 s ago, what "
        "it sent waits for its turn); and 1 more; 1 other is done");
}

/* With staleness those who are done need not be held back yet. */
static void test_who_is_done_may_not_be_held_back(void **state)
{
    const char *const lane =
        "{'lane': 0, 'status': {'lane': 0, 'lanes': 1, 'barrier': 'ssp', "
        "'staleness': 2, 'delivery': 'pull', 'version': 16, 'begun': true, "
        "'members': [" W2_WAITED "," W0
        ",{'name': 'w1', 'rank': 1, 'state': 'in', 'up': true, 'clock': 19}]}}";
    char report[REPORT_BYTES];
    char line[256];
    struct text out;
    json_t *json;

    (void)state;
    (void)snprintf(report, sizeof(report), "{'site': 'home', 'lanes': [%s]}", lane);
    expect(report, "clock: clock 17 waits for worker w2 (rank 2): last heard 0.2 s ago, computes "
                   "or is slow; 2 others are done, 1 of them held back");
    json = json_of(report);
    text_init_fixed(&out, line, sizeof(line));
    why_headline(json, &out);
    assert_string_equal(line, "site home: clock 16, 3 workers, 1 lane, ssp (staleness 2), pull");
    json_decref(json);
}

#define START(members)                                                                             \
    "{'site': 'home', 'lanes': [{'lane': 0, 'status': {'lane': 0, 'lanes': 1, 'barrier': 'bsp', "  \
    "'workers_min': 4, 'begun': false, 'members': [" members "]}}]}"
#define JOINING(name, rank) "{'name': '" name "', 'rank': " rank ", 'state': 'joining', 'up': true}"

static void test_workers_that_have_not_come(void **state)
{
    (void)state;
    expect(START(""), "workers_missing: the site waits for 4 more workers to start: 0 of 4 have "
                      "joined");
    expect(START(JOINING("w0", "0") "," JOINING("w1", "1") "," JOINING(
               "w2", "2") ",{'name': 'w9', 'state': 'connected', 'up': true}"),
           "workers_missing: the site waits for 1 more worker to start: 3 of 4 have joined, 1 is "
           "connected and did not ask to join yet");
}

static void test_workers_that_have_left(void **state)
{
    (void)state;
    expect(REPORT(LANE(0, "'members': []")), "no_workers: there are no workers: all have left "
                                             "after clock 16; the site waits for others to join");
    expect(REPORT(LANE(0, "'members': [{'name': 'w0', 'rank': 0, 'state': 'out', 'up': true}]")),
           "no_workers: there are no workers: all have left after clock 16; the site waits for "
           "others to join");
}

static void test_servers_that_are_not_there(void **state)
{
    (void)state;
    expect(REPORT(LANE(0, "'members': [" W0 "], 'lanes_known': 1, 'lanes_missing': [1]")),
           "servers_missing: the site waits for other servers: 1 of 2 lanes are known; missing: "
           "lane 1");
    expect(REPORT(LANE(0, "'members': [" W0 "], 'lanes_known': 1, 'lanes_missing': "
                          "[1,2,3,4,5,6,7,8,9,10,11]")),
           "servers_missing: the site waits for other servers: 1 of 2 lanes are known; missing: "
           "lanes 1, 2, 3, 4, 5, 6, 7, 8 and 3 more");
    expect(REPORT(LANE(0, "'members': [" W0 "]") ",{'lane': 1, 'address': 'tcp://h:7401', 'error': "
                                                 "'connection refused'}"),
           "unreachable: lane 1 at tcp://h:7401 cannot be reached: connection refused; everybody "
           "waits for it: does its server run?");
}

static void test_a_server_that_was_restarted(void **state)
{
    (void)state;
    expect(REPORT("{'lane': 3, 'status': {'server': 's1', 'lane': 3, 'lanes': 4, 'barrier': "
                  "'bsp', 'version': 20, 'restoring': true, 'begun': false, 'missing_ranks': [1, "
                  "2], 'checkpoint': {'number': 2, 'clock': 20, 'saving': false}, 'members': []}}"),
           "restoring: lane 3 (s1) was restarted from the checkpoint of clock 20 and waits for its "
           "workers to come back; missing ranks: 1, 2");
}

static void test_workers_in_trouble_that_nobody_waits_for(void **state)
{
    (void)state;
    expect(
        REPORT(LANE(0, "'members': [" W0 ",{'name': 'w1', 'rank': 1, 'state': 'in', 'up': false, "
                       "'clock': 17}]")),
        "worker_away: worker w1 (rank 1) is away: its connection to lane 0 is down; if it does "
        "not come back it is left out");
    expect(REPORT(LANE(1, "'members': [" W0 ",{'name': 'w1', 'rank': 1, 'state': 'in', 'up': true, "
                          "'clock': 17, 'behind_chunks': 37, 'unacked_bytes': 12500000}]")),
           "worker_behind: worker w1 (rank 1) is behind: lane 1 has 37 chunks to send to it, 12.5 "
           "MB are on the way");
}

#define SITES(waits, tokyo)                                                                        \
    REPORT(LANE(0, "'between': {" waits "'log_bytes': 5000, 'sites': [{'site': 'ireland', 'up': "  \
                   "true, 'clock': 16, 'announced': 17}, {'site': 'tokyo', " tokyo "}]}, "         \
                   "'members': [" W2_COMPUTES "]"))

static void test_other_sites_that_are_waited_for(void **state)
{
    (void)state;
    expect(SITES("'waits': 'clock', 'waits_for': 'tokyo', 'waits_s': 2.5, ",
                 "'up': true, 'clock': 11, 'announced': 14"),
           "sites: readers wait, since 2.5 s, for site tokyo: it has ended clock 14, but what it "
           "shared has come only up to clock 11: its link is slow, or cut");
    expect(SITES("'waits': 'clock', 'waits_for': 'tokyo', 'waits_s': 0.1, ",
                 "'up': true, 'clock': 11, 'announced': 11"),
           "sites: readers wait, since 0.1 s, for site tokyo: it has not ended clock 12 yet");
    expect(SITES("'waits': 'barrier', 'waits_for': 'ireland', 'waits_s': 1, ",
                 "'up': true, 'clock': 16, 'announced': 16"),
           "sites: readers wait, since 1.0 s, for elements that site ireland has announced and not "
           "sent yet");
    expect(
        SITES("'waits': 'fresh', 'waits_for': 'tokyo', 'waits_s': 0.05, ",
              "'up': true, 'clock': 16, 'announced': 16"),
        "sites: readers wait, since 0.1 s, for what site tokyo made in the clock that is over: it "
        "is about to come");
    expect(SITES("'waits': 'room', 'waits_s': 1, ", "'up': true, 'clock': 16, 'announced': 16"),
           "sites: readers wait, since 1.0 s, because 5000 bytes are under way to other sites, and "
           "there is no room for more");
    expect(SITES("'waits': 'room', 'waits_s': 1, 'copies_from': 'ireland', ",
                 "'up': true, 'clock': 16, 'announced': 16"),
           "sites: readers wait, since 1.0 s, for the copy that this site takes of site ireland");
}

#define AROUND(waits, epoch)                                                                       \
    REPORT(LANE(0, "'between': {" waits "'sites': [], 'central': {'epoch': " epoch                 \
                   ", 'centre': 'tokyo'}}, 'members': [" W2_COMPUTES "]"))

static void test_rounds_around_a_centre_wait(void **state)
{
    (void)state;
    expect(AROUND("'waits': 'plan', 'waits_s': 3, ", "0"),
           "sites: nothing has come for 3.0 s: there is no plan yet; more than half of all sites "
           "must see each other");
    expect(AROUND("'waits': 'plan', 'waits_s': 0.1, ", "4"),
           "sites: this site has no part in the plan; another one follows when it is seen, by more "
           "than half of all sites");
    expect(AROUND("'waits': 'plan', 'waits_for': 'tokyo', 'waits_s': 1, ", "4"),
           "sites: nothing has come for 1.0 s: plan 4 waits for site tokyo, the centre, to begin "
           "it");
    expect(AROUND("'waits': 'plan', 'waits_for': 'oslo', 'waits_s': 0, ", "4"),
           "sites: plan 4 waits for site oslo to say how it stands");
    expect(AROUND("'waits': 'copy', 'waits_for': 'oslo', 'waits_s': 0, ", "4"),
           "sites: this site takes a copy of site oslo");
    expect(AROUND("'waits': 'sum', 'waits_for': 'oslo', 'waits_s': 2, ", "4"),
           "sites: nothing has come for 2.0 s: the round waits for what the workers of site oslo "
           "made");
    expect(AROUND("'waits': 'taken', 'waits_for': 'oslo', 'waits_s': 0, ", "4"),
           "sites: the round waits until site oslo has got the result of the last one");
    expect(AROUND("'waits': 'result', 'waits_for': 'tokyo', 'waits_s': 0, ", "4"),
           "sites: this site waits for the result of the round from site tokyo, the centre; there "
           "it is known who is missing");
}

static void test_other_sites_that_are_not_there(void **state)
{
    (void)state;
    expect(SITES("", "'up': false, 'clock': 11, 'announced': 14, 'left_out': true"),
           "site: site tokyo is not there, and is left out until it is back");
    expect(SITES("", "'up': false, 'clock': 0, 'announced': 0, 'last_error': 'it has 2 lanes'"),
           "site: site tokyo is not there: it has 2 lanes");
}

static void test_what_several_lanes_say_of_a_site_is_said_once(void **state)
{
#define FAR                                                                                        \
    "'between': {'waits': 'clock', 'waits_for': 'ireland', 'waits_s': 1, 'sites': [{'site': "      \
    "'ireland', 'up': true, 'clock': 16, 'announced': 16}, {'site': 'tokyo', 'up': false, "        \
    "'last_error': 'refused'}]}, 'members': []"
    json_t *report = json_of(REPORT(LANE(0, FAR) ", " LANE(1, FAR)));
    json_t *reasons = why_reasons(report);
    const char *kinds[] = {"sites", "site"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const json_t *reason = json_array_get(reasons, i);

        assert_string_equal(json_string_value(json_object_get(reason, "kind")), kinds[i]);
        assert_int_equal(json_array_size(json_object_get(reason, "lanes")), 2);
    }
    json_decref(reasons);
    json_decref(report);
}

/* Whatever a server says: no crash, and something that can be printed. */
static void test_who_broke_the_rules_is_named(void **state)
{
    (void)state;
    expect(REPORT(LANE(0, "'members': [" W0 "," W2_COMPUTES
                          "], 'broke_rules': [{'role': 'worker', 'site': 'eu', 'name': 'w9', "
                          "'text': 'it sent heartbeats', 'times': 2, 'ago_s': 7.2}]")),
           "broke_rules: worker w9 of site eu broke the rules, 7 s ago, and lane 0 ended its "
           "session: it sent heartbeats");
}

static void test_reports_that_make_no_sense(void **state)
{
    static const char *const reports[] = {
        "{}",
        "{'lanes': 7}",
        "{'lanes': [7, null, {}, {'status': 7}, {'status': {}}]}",
        "{'site': 7, 'lanes': [{'status': {'members': 7, 'version': 'x'}}]}",
        "{'lanes': [{'status': {'version': 9223372036854775807, 'begun': true, 'members': []}}]}",
        ("{'lanes': [{'status': {'begun': true, 'members': [7, {}, {'state': 7}, {'waited_for': "
         "true}], 'lanes_missing': ['x'], 'restoring': true, 'missing_ranks': ['y']}}]}"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
        json_t *report = json_of(reports[i]);
        json_t *reasons = why_reasons(report);
        char line[512];
        struct text out;

        assert_non_null(reasons);
        for (size_t r = 0; r < json_array_size(reasons); r++) {
            assert_non_null(json_string_value(json_object_get(json_array_get(reasons, r), "text")));
        }
        text_init_fixed(&out, line, sizeof(line));
        why_headline(report, &out);
        why_nobody(report, &out);
        assert_true(out.size > 0);
        json_decref(reasons);
        json_decref(report);
    }
}

static void test_elements_that_overflowed_are_mentioned(void **state)
{
    json_t *none = json_of(REPORT(LANE(0, "'members': [" W0 "]")));
    json_t *some = json_of(REPORT(LANE(0, "'kept_elements': 2, 'members': [" W0
                                          "]") "," LANE(1, "'kept_elements': 3, 'members': []")));
    char line[512];
    struct text out;

    (void)state;
    text_init_fixed(&out, line, sizeof(line));
    assert_false(why_overflowed(none, &out));
    assert_true(why_overflowed(some, &out));
    assert_non_null(strstr(line, "5 times an element kept its value"));
    json_decref(none);
    json_decref(some);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_waits_while_all_compute),
        cmocka_unit_test(test_a_clock_waits_for_one_worker),
        cmocka_unit_test(test_a_store_that_fails_is_blamed_and_not_the_worker),
        cmocka_unit_test(test_the_same_on_several_lanes_is_said_once),
        cmocka_unit_test(test_a_clock_waits_for_several_workers),
        cmocka_unit_test(test_who_is_done_may_not_be_held_back),
        cmocka_unit_test(test_workers_that_have_not_come),
        cmocka_unit_test(test_workers_that_have_left),
        cmocka_unit_test(test_servers_that_are_not_there),
        cmocka_unit_test(test_a_server_that_was_restarted),
        cmocka_unit_test(test_workers_in_trouble_that_nobody_waits_for),
        cmocka_unit_test(test_other_sites_that_are_waited_for),
        cmocka_unit_test(test_rounds_around_a_centre_wait),
        cmocka_unit_test(test_other_sites_that_are_not_there),
        cmocka_unit_test(test_what_several_lanes_say_of_a_site_is_said_once),
        cmocka_unit_test(test_who_broke_the_rules_is_named),
        cmocka_unit_test(test_reports_that_make_no_sense),
        cmocka_unit_test(test_elements_that_overflowed_are_mentioned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
