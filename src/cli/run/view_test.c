/* How a run looks: screens, lines and tables of pictures that are made up. */

#include "cli/run/view.h"

#include "run/predict.h"

#include <inttypes.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char yaml[] = "run: test\n"
                           "topology:\n"
                           "  regions: [eu, us]\n"
                           "  links: [{between: [eu, us], rate: 1gbit, rtt: 10ms, price: 0.5}]\n"
                           "servers: [{region: eu}]\n"
                           "workers: [{region: eu, count: 2}, {region: us}]\n"
                           "job: {name: logreg}\n"
                           "stop: {clocks: 40}\n";

struct scene {
    struct run_file *file;
    struct run_tally *tally;
    struct run_traffic traffic;
    const char *states[3];
    struct run_picture picture;
    struct run_view view;
    struct text out;
};

static void scene_open_with(struct scene *s, const char *run)
{
    struct err_text text = {""};

    memset(s, 0, sizeof(*s));
    assert_int_equal(run_file_parse("a.yaml", NULL, run, strlen(run), &s->file, &text), OK);
    assert_int_equal(run_tally_create(3, NULL, NULL, &s->tally), OK);
    assert_int_equal(run_traffic_init(&s->traffic, 2), OK);
    assert_int_equal(text_init(&s->out, 1 << 16), OK);
    s->picture = (struct run_picture){.file = s->file,
                                      .job = app_find("logreg"),
                                      .now_ns = INT64_C(12500000000),
                                      .tally = s->tally,
                                      .traffic = &s->traffic,
                                      .states = s->states};
    s->view = (struct run_view){.width = 100, .picture = &s->picture};
}

static void scene_open(struct scene *s)
{
    scene_open_with(s, yaml);
}

static void scene_close(struct scene *s)
{
    run_file_free(s->file);
    run_tally_destroy(s->tally);
    run_traffic_deinit(&s->traffic);
    text_deinit(&s->out);
}

/* Ten clocks of everybody, judged twice; worker 2 is one ahead. */
static void scene_train(struct scene *s)
{
    for (uint32_t w = 0; w < 3; w++) {
        run_tally_joined(s->tally, w, 1);
    }
    for (uint64_t c = 1; c <= 11; c++) {
        for (uint32_t w = c == 11 ? 2 : 0; w < 3; w++) {
            struct run_clock clock = {.clock = c,
                                      .next = c + 1,
                                      .samples = 4,
                                      .loss_sum = 8,
                                      .read_ns = 3000000,
                                      .compute_ns = 1000000,
                                      .rebased = c == 3 && w == 1};
            struct run_evaluation e = {
                .clock = c,
                .score = {.objective_sum = c == 5 ? 4 : 1, .count = 2, .correct = 1, .tested = 2}};

            run_tally_clock(s->tally, w, &clock, (int64_t)c * 1000000000);
            if (c % 5 == 0) {
                run_tally_evaluated(s->tally, w, &e, (int64_t)c * 1000000000);
            }
        }
    }
    s->states[0] = "computing";
    s->states[1] = "waiting";
    s->states[2] = NULL;
    s->traffic.bytes[1] = 1234567;
    s->traffic.bytes[2] = 99;
    (void)snprintf(s->picture.waits, sizeof(s->picture.waits), "clock 11 waits for w0");
}

static void test_a_screen_shows_clocks_quality_regions_links_and_who_waits(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    scene_train(&s);
    s.view.seconds = 2;
    s.view.clock_before = 6;
    s.view.bytes_before = 234666;
    run_view_screen(&s.view, &s.out);
    assert_string_equal(s.out.chars,
                        "test clock 10/40 ######..................  12.5 s, 2 clocks/s\n"
                        "  log loss 0.5  #_  accuracy 0.5  loss 2\n"
                        "  eu             1 computing, 1 waiting (clock 10)\n"
                        "  us             1 away (clock 11)\n"
                        "  WAN 1.23 MB (500 kB/s), $0.000617\n"
                        "  eu > us                1.23 MB\n"
                        "  us > eu                99 B\n"
                        "  waiting 75 % of the time; now clock 11 waits for w0\n");
    /* Two clocks in two seconds may have been three. */
    s.view.clock_before = 8;
    s.out.size = 0;
    run_view_screen(&s.view, &s.out);
    assert_non_null(strstr(s.out.chars, "  12.5 s, 0.8 clocks/s\n"));
    scene_close(&s);
}

static void test_a_screen_shows_how_busy_links_are(void **state)
{
    uint64_t before[4] = {0, 0, 0, 0};
    struct scene s;

    (void)state;
    scene_open(&s);
    scene_train(&s);
    before[1] = s.picture.traffic->bytes[1] - 125000;
    before[2] = s.picture.traffic->bytes[2];
    s.view.seconds = 0.01;
    s.view.links_before = before;
    run_view_screen(&s.view, &s.out);
    assert_non_null(strstr(s.out.chars, "  eu > us                #.........  10 % of 1000 Mbit/s, "
                                        "1.23 MB\n"));
    assert_non_null(strstr(s.out.chars, "  us > eu                ..........   0 % of 1000 Mbit/s, "
                                        "99 B\n"));
    topo_duplex_set(s.file->topo, TOPO_DUPLEX_SHARED);
    s.traffic.bytes[2] += 62500;
    s.out.size = 0;
    run_view_screen(&s.view, &s.out);
    assert_non_null(strstr(s.out.chars, "  15 % of 1000 Mbit/s both ways, 1.23 MB\n"));
    assert_non_null(strstr(s.out.chars, "  15 % of 1000 Mbit/s both ways, 62.6 kB\n"));
    scene_close(&s);
}

static void test_the_table_has_the_simulators_word_and_says_if_a_lab_was_late(void **state)
{
    struct run_result result = {.end = RUN_END_CLOCKS, .took_ns = INT64_C(11) * 1000000000};
    struct run_prediction predicted = {.known = true, .time_s = 10, .compute_s = 0.2};
    json_t *network = json_pack("{s:b}", "valid", 0);
    struct scene s;

    (void)state;
    scene_open(&s);
    scene_train(&s);
    s.picture.prediction = &predicted;
    s.picture.network = network;
    run_view_table(&s.view, &result, &s.out);
    assert_non_null(strstr(s.out.chars,
                           "  simulated  10.0 s with steps of 200 ms, as measured: the "
                           "run took 10.0 % more\n  NOT VALID  the lab was late"));
    predicted.known = false;
    (void)json_object_set_new(network, "valid", json_true());
    text_clear(&s.out);
    run_view_table(&s.view, &result, &s.out);
    assert_null(strstr(s.out.chars, "simulated"));
    assert_null(strstr(s.out.chars, "NOT VALID"));
    json_decref(network);
    scene_close(&s);
}

static void test_the_table_has_other_peoples_traffic(void **state)
{
    struct run_result result = {.end = RUN_END_CLOCKS, .took_ns = 1};
    char whole[1024];
    struct scene s;

    (void)state;
    (void)snprintf(whole, sizeof(whole), "%s%s", yaml,
                   "background: [{name: shuffle, flows: 40, on: 10s, off: 20s}, {flows: 1, on: 1s, "
                   "among: workers}]\n");
    scene_open_with(&s, whole);
    scene_train(&s);
    s.picture.background_bytes = 1234567;
    run_view_table(&s.view, &result, &s.out);
    assert_non_null(strstr(s.out.chars,
                           "  background 1.23 MB\n"
                           "             shuffle: 40 flows among all, 10.0 s on, 20.0 s off\n"
                           "             b1: 1 flows among workers, 1.0 s on, 0.0 s off\n"));
    scene_close(&s);
}

static void test_a_screen_has_blocks_and_colours_where_there_are_some(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    scene_train(&s);
    s.view.utf8 = true;
    s.view.color = true;
    s.picture.simulated = true;
    run_view_screen(&s.view, &s.out);
    assert_non_null(strstr(s.out.chars, "\033[1mtest\033[0m clock 10/40 \033[1;36m██████░"));
    assert_non_null(strstr(s.out.chars, "12.5 s of virtual time\n"));
    assert_non_null(strstr(s.out.chars, "█▁"));
    scene_close(&s);
}

static void test_lines_are_cut_to_the_width(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    scene_train(&s);
    s.view.width = 24;
    s.view.utf8 = true;
    run_view_screen(&s.view, &s.out);
    for (const char *at = s.out.chars; *at != '\0';) {
        size_t size = strcspn(at, "\n"), columns = 0;

        for (size_t i = 0; i < size; i++) {
            columns += ((unsigned char)at[i] & 0xc0) != 0x80;
        }
        assert_true(columns <= 24);
        at += size + 1;
    }
    scene_close(&s);
}

static void test_before_anything_has_happened_nothing_is_made_up(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    run_view_screen(&s.view, &s.out);
    assert_non_null(strstr(s.out.chars, "test clock 0/40 "));
    assert_non_null(strstr(s.out.chars, "  log loss -  \n"));
    text_clear(&s.out);
    run_view_line(&s.view, &s.out);
    assert_string_equal(s.out.chars, "12.5 s  clock 0/40  WAN 0 B  waiting 0 %");
    scene_close(&s);
}

static void test_a_line_has_it_all(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    scene_train(&s);
    s.picture.now_ns = INT64_C(3723) * 1000000000;
    run_view_line(&s.view, &s.out);
    assert_string_equal(s.out.chars, "62 min 03 s  clock 10/40  loss 2  objective 0.5  accuracy "
                                     "0.5  WAN 1.23 MB  waiting 75 %  (clock 11 waits for w0)");
    scene_close(&s);
}

static void test_the_table_says_how_it_ended(void **state)
{
    static const struct {
        enum run_end end;
        const char *words;
    } ends[] = {
        {RUN_END_CLOCKS, "test  all 10 clocks, after 2 h 05 min\n"},
        {RUN_END_GOAL, "test  the goal was reached by clock 10, after 2 h 05 min\n"},
        {RUN_END_TIME, "test  the time was up at clock 10, after 2 h 05 min\n"},
        {RUN_END_INTERRUPTED, "test  interrupted at clock 10, after 2 h 05 min\n"},
        {RUN_END_FAILED, "test  failed at clock 10, after 2 h 05 min\n"},
    };
    struct scene s;

    (void)state;
    scene_open(&s);
    scene_train(&s);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct run_result result = {.end = ends[i].end, .took_ns = INT64_C(7535) * 1000000000};

        text_clear(&s.out);
        run_view_table(&s.view, &result, &s.out);
        assert_memory_equal(s.out.chars, ends[i].words, strlen(ends[i].words));
        assert_string_equal(s.out.chars + strlen(ends[i].words),
                            "  objective  0.5 log loss, at clock 10\n"
                            "  accuracy   0.5000\n"
                            "  loss       2 per sample, in clock 9\n"
                            "  waiting    75.0 % of the workers' time\n"
                            "  rebased    1 clocks of workers that were left out for a while\n"
                            "  WAN        1.23 MB, $0.000617\n"
                            "  links      eu             to us                  1.235 MB  "
                            "$0.000617\n"
                            "             us             to eu                  0.000 MB  "
                            "$0.000000\n"
                            "  cost       not known: test: region eu has no price for machines of "
                            "class 'cpu': add \"cpu\" (dollars per hour) to the \"usd_per_hour\" "
                            "of that region\n");
    }
    scene_close(&s);
}

static const char sites[] =
    "run: test\n"
    "topology:\n"
    "  regions: [{name: eu, usd_per_hour: 36000}, {name: us, usd_per_hour: 3600}]\n"
    "  links: [{between: [eu, us], rate: 1gbit, rtt: 10ms, price: 500}]\n"
    "sites: [{region: eu, workers: 2}, {name: west, region: us}]\n"
    "budget: {max_usd: 5, max_gb: 2}\n"
    "job: {name: logreg}\n"
    "stop: {clocks: 40}\n";

static void test_the_table_says_what_sites_shared_and_what_it_cost(void **state)
{
    struct run_share shares[2] = {{.sums = {.elements_judged = 1000,
                                            .elements_sent = 125,
                                            .pieces_made = 70,
                                            .barriers_raised = 3,
                                            .soft = 0.25}},
                                  {.sums = {.soft = 1}}};
    struct run_result result = {.end = RUN_END_CLOCKS, .took_ns = 1};
    const char *at;
    struct scene s;

    (void)state;
    scene_open_with(&s, sites);
    scene_train(&s);
    s.picture.shares = shares;
    run_view_table(&s.view, &result, &s.out);
    at = strstr(s.out.chars, "  cost  ");
    assert_non_null(at);
    assert_string_equal(
        at, "  cost       $1.4613: computing $0.2110, waiting $0.6330, transfer $0.6173 (a machine "
            "of class cpu per worker)\n"
            "  sites      eu             computing $0.2000, waiting $0.6000, transfer $0.6173; "
            "87.5 % kept back, 70 pieces, 3 barriers, soft 0.25\n"
            "             west           computing $0.0110, waiting $0.0330, transfer $0.0000; "
            "0.0 % kept back, 0 pieces, 0 barriers, soft 1\n"
            "  budget     $0.617333 of $5, 1.23 MB of 2 GB; it held nothing back\n");
    scene_close(&s);
}

static void test_what_has_no_price_is_said(void **state)
{
    static const char unpriced[] = "run: test\n"
                                   "topology:\n"
                                   "  regions: [eu, us]\n"
                                   "  links: [{between: [eu, us], rate: 1gbit, rtt: 10ms}]\n"
                                   "servers: [{region: eu}]\n"
                                   "workers: [{region: eu, count: 2}, {region: us}]\n"
                                   "job: {name: logreg}\n"
                                   "stop: {clocks: 40}\n";
    struct run_result result = {.end = RUN_END_CLOCKS, .took_ns = 1};
    struct scene s;

    (void)state;
    scene_open_with(&s, unpriced);
    scene_train(&s);
    run_view_table(&s.view, &result, &s.out);
    assert_non_null(strstr(s.out.chars, "  WAN        1.23 MB, not all priced\n"));
    assert_non_null(strstr(s.out.chars, "1.235 MB  no price\n"));
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_screen_shows_clocks_quality_regions_links_and_who_waits),
        cmocka_unit_test(test_a_screen_shows_how_busy_links_are),
        cmocka_unit_test(test_the_table_has_the_simulators_word_and_says_if_a_lab_was_late),
        cmocka_unit_test(test_the_table_has_other_peoples_traffic),
        cmocka_unit_test(test_a_screen_has_blocks_and_colours_where_there_are_some),
        cmocka_unit_test(test_lines_are_cut_to_the_width),
        cmocka_unit_test(test_before_anything_has_happened_nothing_is_made_up),
        cmocka_unit_test(test_a_line_has_it_all),
        cmocka_unit_test(test_the_table_says_how_it_ended),
        cmocka_unit_test(test_the_table_says_what_sites_shared_and_what_it_cost),
        cmocka_unit_test(test_what_has_no_price_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
