/* Runs whose members are impostors: scripts that say and do what no member of ours would. The
 * real ones are in tests/e2e/run_test.py. */

#include "run/live/live.h"

#include "base/mem.h"
#include "run/file/sites_file.h"
#include "run/testing.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char yaml[] = "run: test\n"
                           "topology:\n"
                           "  regions: [eu, us]\n"
                           "  links: [{between: [eu, us], rate: 8mbit, rtt: 10ms, price: 0.5}]\n"
                           "servers: [{region: eu, lanes: 2}]\n"
                           "workers: [{region: us, count: 2}]\n"
                           "job: {name: synthetic, options: {elements: 10}}\n"
                           "stop: {clocks: 3}\n";

/* A folder with the program in it, and what was seen of the run. */
struct stage {
    char dir[32];
    char program[64];
    struct run_file *file;
    struct run_live_result result;
    struct err_text text;
    uint32_t rows;
    double objective;
    uint64_t elements;
    struct node_sparsify_totals sparsified;
    struct node_sparsify_totals served;
    uint64_t large;
    uint64_t sent;
    uint64_t received;
    uint32_t killed;
    uint32_t ready;
    uint32_t ticks;
    uint32_t stop_at_tick;
    char notice[128];
    char left_out[128];
    const char *await; /* Stop when the workers are shown so, as "waiting computing". */
    bool met;
    size_t links;
    const char *link; /* What a link does: shell; NULL: nothing but be there. */
};

static void stage_row(const struct run_row *row, const struct run_traffic *traffic, void *user)
{
    struct stage *s = user;

    (void)row;
    (void)traffic;
    s->rows++;
}

static void stage_event(int64_t now_ns, const char *kind, const char *who, const char *text,
                        void *user)
{
    struct stage *s = user;

    (void)now_ns;
    (void)who;
    s->killed += strcmp(kind, "killed") == 0;
    s->ready += strcmp(kind, "ready") == 0;
    if (strcmp(kind, "left out") == 0) {
        (void)snprintf(s->left_out, sizeof(s->left_out), "%s", text);
    }
    if (strcmp(kind, "notice") == 0) {
        (void)snprintf(s->notice, sizeof(s->notice), "%s", text);
    }
}

static enum run_wish stage_tick(void *user)
{
    struct stage *s = user;

    s->ticks++;
    if (s->met) {
        return RUN_WISH_STOP;
    }
    return s->stop_at_tick != 0 && s->ticks >= s->stop_at_tick ? RUN_WISH_STOP : RUN_WISH_PICTURE;
}

static void stage_show(const struct run_picture *picture, void *user)
{
    struct stage *s = user;
    char states[64];

    assert_false(picture->simulated);
    (void)snprintf(states, sizeof(states), "%s %s", picture->states[0], picture->states[1]);
    s->met = s->met || (s->await != NULL && strcmp(states, s->await) == 0);
}

static void stage_over(const struct run_picture *picture, const struct run_result *result,
                       void *user)
{
    struct stage *s = user;

    (void)result;
    s->objective = run_tally_score(picture->tally)->objective;
    s->elements = run_tally_worker(picture->tally, 1)->elements;
    s->sparsified = run_tally_sparsified(picture->tally);
    s->served = picture->served;
    s->large = run_tally_worker(picture->tally, 1)->large[RUN_PART_ONE_PERCENT];
    s->sent = run_traffic_between(picture->traffic, 1, 0);
    s->received = run_traffic_between(picture->traffic, 0, 1);
    s->links = json_array_size(json_object_get(picture->network, "links"));
}

static void stage_open(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    (void)snprintf(s->dir, sizeof(s->dir), "/tmp/strait-live-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    (void)snprintf(s->program, sizeof(s->program), "%s/strait", s->dir);
    assert_int_equal(run_file_parse("a.yaml", NULL, yaml, strlen(yaml), &s->file, &s->text), OK);
}

static void stage_close(struct stage *s)
{
    testing_alone();
    run_file_free(s->file);
    testing_remove(s->dir);
}

/* A link that is there until its orders end, and says what it carried. */
#define CARRY                                                                                      \
    "echo '{\"event\":\"ready\"}'\n"                                                               \
    "cat > $dir/orders\n"                                                                          \
    "echo "                                                                                        \
    "'{\"event\":\"status\",\"there\":{\"accepted_bytes\":700},\"back\":{\"accepted_bytes\":9}}'"

/* What members do: shell, with $6 "server" or "worker" (behind "tied PID -- PROGRAM"). */
static void stage_program(struct stage *s, const char *server, const char *worker)
{
    FILE *file = fopen(s->program, "w");

    assert_non_null(file);
    assert_true(fprintf(file,
                        "#!/bin/sh\n"
                        "shift 4\n"
                        "all=\"$*\"\n"
                        "dir=${0%%/*}\n"
                        "kind=$1\n"
                        "if [ $kind = proxy ]; then\n%s\nexit 0; fi\n"
                        "while [ \"$1\" != --name ]; do shift; done\n"
                        "name=$2\n"
                        "if [ $kind = server ]; then\n%s\nelse\n%s\nfi\n",
                        s->link == NULL ? CARRY : s->link, server, worker) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(s->program, 0755), 0);
}

static enum err stage_run(struct stage *s)
{
    struct run_watcher watcher = {.row = stage_row,
                                  .event = stage_event,
                                  .tick = stage_tick,
                                  .show = stage_show,
                                  .over = stage_over,
                                  .user = s};
    struct run_live_options options = {.on = "local", .program = s->program, .dir = s->dir};

    return run_live(s->file, &watcher, &options, &s->result, &s->text);
}

/* A server that is ready, until a signal. */
#define SERVE                                                                                      \
    "echo '{\"event\":\"ready\"}'\n"                                                               \
    "exec tail -f /dev/null"

static void test_members_that_say_sense_are_counted(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    stage_program(
        &s, SERVE,
        "echo '{\"event\":\"joined\",\"clock\":1}'\n"
        "for c in 1 2 3; do\n"
        "printf '{\"event\":\"clock\",\"clock\":%d,\"next\":%d,\"samples\":2,\"loss_sum\":1.5,' $c "
        "$((c+1))\n"
        "echo "
        "'\"read_ns\":5,\"compute_ns\":5,\"end_ns\":5,\"lanes\":[[100,10],[50,5]],\"elements\":10,"
        "\"large\":[9,8,4,0,0],\"sparsified\":{\"elements\":10,\"sent_elements\":3,\"bytes\":24,"
        "\"encode_ns\":7,\"decode_ns\":2}}'\n"
        "done\n"
        "echo '{\"event\":\"notice\",\"text\":\"hear \\u0007 hear\"}'\n"
        "echo '{\"event\":\"evaluated\",\"clock\":3,\"objective_sum\":4,\"count\":2,"
        "\"correct\":0,\"tested\":0}'\n"
        "echo '{\"event\":\"left\",\"lanes\":[[101,10],[50,7]]}'");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_CLOCKS);
    assert_int_equal(s.rows, 3);
    assert_true(s.objective == 2);
    assert_int_equal(s.sent, 9); /* The link knows best. */
    assert_int_equal(s.received, 700);
    assert_string_equal(s.notice, "hear \a hear");
    assert_int_equal(s.result.kills, 0);
    assert_int_equal(s.elements, 30); /* Of one worker. */
    assert_int_equal(s.large, 12);
    assert_int_equal(s.sparsified.elements, 60); /* Of both. */
    assert_int_equal(s.sparsified.sent_elements, 18);
    assert_int_equal(s.sparsified.bytes, 144);
    assert_int_equal(s.sparsified.encode_ns, 42);
    assert_int_equal(s.sparsified.decode_ns, 12);
    assert_int_equal(s.served.elements, 0);
    stage_close(&s);
}

/* Who asked for what is not there yet waits, and who is ahead; nobody else. */
static void test_servers_say_which_workers_wait(void **state)
{
    static const char *const members[][2] = {
        {"{\"name\":\"w0\",\"clock\":1,\"held\":2},{\"name\":\"w1\",\"clock\":1}",
         "waiting computing"},
        {"{\"name\":\"w0\",\"clock\":1},{\"name\":\"w1\",\"clock\":2}", "computing waiting"},
        {"{\"name\":\"w0\",\"clock\":1},{\"name\":\"w1\",\"clock\":1}", "computing computing"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        char serve[512];
        struct stage s;

        stage_open(&s);
        s.await = members[i][1];
        (void)snprintf(serve, sizeof(serve),
                       "echo '{\"event\":\"ready\"}'\nwhile sleep 0.01; do\n"
                       "echo '{\"event\":\"status\",\"lane\":0,\"status\":{\"barrier\":\"bsp\","
                       "\"version\":1,\"members\":[%s]}}'\ndone",
                       members[i][0]);
        stage_program(&s, serve,
                      "echo '{\"event\":\"joined\",\"clock\":1}'\nexec tail -f /dev/null");
        assert_int_equal(stage_run(&s), OK);
        assert_int_equal(s.result.base.end, RUN_END_INTERRUPTED);
        stage_close(&s);
    }
}

static void test_members_that_say_nonsense_do_no_harm(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    stage_program(
        &s, SERVE,
        "echo 'no json'; echo '[]'; echo '{}'; echo '{\"event\":7}'; echo '{\"event\":\"what\"}'\n"
        "echo '{\"event\":\"clock\"}'\n"
        "echo '{\"event\":\"clock\",\"clock\":-1,\"next\":0,\"samples\":1,\"loss_sum\":null,"
        "\"read_ns\":0,\"compute_ns\":0,\"end_ns\":0}'\n"
        "echo '{\"event\":\"clock\",\"clock\":5,\"next\":5,\"samples\":1,\"loss_sum\":null,"
        "\"read_ns\":0,\"compute_ns\":0,\"end_ns\":0}'\n"
        "echo '{\"event\":\"clock\",\"clock\":1,\"next\":2,\"samples\":1,\"loss_sum\":1,"
        "\"read_ns\":0,\"compute_ns\":0,\"end_ns\":0,\"elements\":5,\"large\":[1,2,0,0,0],"
        "\"sparsified\":{\"elements\":1,\"sent_elements\":2}}'\n"
        "echo '{\"event\":\"evaluated\",\"clock\":\"x\"}'\n"
        "echo '{\"event\":\"joined\",\"clock\":0}'\n"
        "echo '{\"event\":\"left\",\"lanes\":[[-1,{}],7,8,9,10,11]}'\n"
        "head -c 200000 /dev/zero | tr '\\0' x; echo; printf 'no end of the line'");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_GOAL); /* They left before the last clock. */
    assert_int_equal(s.rows, 1); /* The first clock is right, but for what it says of sizes. */
    assert_int_equal(s.elements, 0);
    assert_int_equal(s.sparsified.elements, 0);
    stage_close(&s);
}

static void test_a_server_that_dies_at_once_is_the_end(void **state)
{
    char wanted[ERR_TEXT_BYTES];
    struct stage s;

    (void)state;
    stage_open(&s);
    stage_program(&s, "echo first >&2; echo second >&2; echo '  try: something' >&2; exit 3", ":");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_FAILED);
    (void)snprintf(wanted, sizeof(wanted),
                   "s0 ended with status 3: first | second (more in %.160s/s0.log)", s.dir);
    assert_string_equal(s.result.base.text.text, wanted);
    stage_close(&s);
}

static void test_an_error_of_a_member_is_told_in_its_words(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    stage_program(&s, SERVE,
                  "echo '{\"error\":{\"id\":\"STRAIT-0301\",\"message\":\"the disk is gone\"}}' "
                  ">&2; exit 1");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_FAILED);
    assert_non_null(
        strstr(s.result.base.text.text, " ended with status 1: STRAIT-0301: the disk is gone"));
    stage_close(&s);
}

/* Elsewhere, again and again; but not for ever. */
static void test_ports_that_are_taken_are_passed_by_for_a_while(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    stage_program(&s, "echo 'address already in use' >&2; exit 1", ":");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_FAILED);
    assert_non_null(strstr(s.result.base.text.text, "already in use"));
    stage_close(&s);
    stage_open(&s);
    stage_program(
        &s,
        "if [ ! -e \"$0.tried\" ]; then : > \"$0.tried\"; echo 'in use' >&2; exit 1; fi\n" SERVE,
        ":");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_GOAL);
    stage_close(&s);
}

static void test_a_member_that_is_killed_all_the_time_is_the_end(void **state)
{
    char wanted[ERR_TEXT_BYTES];
    struct stage s;

    (void)state;
    stage_open(&s);
    stage_program(&s, SERVE,
                  "[ $name = w0 ] && echo I fall >&2 && kill -9 $$; exec tail -f /dev/null");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_FAILED);
    (void)snprintf(
        wanted, sizeof(wanted),
        "w0 was killed 5 times in a row, by signal 9 at last: I fall | I fall | I fall (more in "
        "%.160s/w0.log)",
        s.dir);
    assert_string_equal(s.result.base.text.text, wanted);
    assert_int_equal(s.result.kills, 5);
    assert_int_equal(s.killed, 5);
    stage_close(&s);
}

/* As a server does while the disk is full. */
static void test_a_member_that_finds_no_space_is_started_until_it_does(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    stage_program(
        &s,
        "echo x >> \"$0.tries\"\n"
        "if [ $(wc -l < \"$0.tries\") -le 6 ]; then echo no space >&2; exit 75; fi\n" SERVE,
        ":");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_GOAL);
    assert_true(s.result.kills >= 6);
    stage_close(&s);
}

static void test_a_program_that_is_not_there_is_told(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_FAILED);
    assert_non_null(strstr(s.result.base.text.text, "the link eu-us cannot be started"));
    stage_close(&s);
}

/* What a member was started with, as one line. */
static void stage_args(const struct stage *s, const char *name, char *out, size_t size)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s.args", s->dir, name);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(out, (int)size, file));
    assert_int_equal(fclose(file), 0);
}

/* The number behind @option; zero: it is not there. */
static unsigned stage_number(const char *args, const char *option)
{
    const char *at = strstr(args, option);

    at = at == NULL ? NULL : strpbrk(at + strlen(option), "0123456789");
    return at == NULL ? 0 : (unsigned)strtoul(at, NULL, 10);
}

#define KEEP_ARGS "echo $all > $dir/$name.args\n"

/* Links. */

#define TRAIN_SHORT                                                                                \
    "echo '{\"event\":\"joined\",\"clock\":1}'\n"                                                  \
    "exec tail -f /dev/null"

static void test_members_of_two_regions_meet_over_a_link_and_get_detours_to_it(void **state)
{
    char path[128], line[256], port[16];
    struct stage s;
    FILE *file;

    (void)state;
    stage_open(&s);
    s.link = "echo $all > $dir/link.args\n" CARRY;
    stage_program(&s, KEEP_ARGS SERVE, KEEP_ARGS);
    assert_int_equal(stage_run(&s), OK);
    stage_args(&s, "link", line, sizeof(line));
    assert_non_null(strstr(line, " --rate 8000000bit --delay 5000us --jitter 0us"));
    assert_non_null(strstr(line, " --back-rate 8000000bit --back-delay 5000us "));
    stage_args(&s, "s0", line, sizeof(line));
    (void)snprintf(port, sizeof(port), ":%u", stage_number(line, "--listen tcp://127.0.0.1:"));
    (void)snprintf(path, sizeof(path), "%s/detours-us.txt", s.dir);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_int_equal(strncmp(line, "tcp://127.0.0.1:", 16), 0);
    assert_non_null(strstr(line, " tcp://127.2.1.1:"));
    assert_non_null(strstr(strstr(line, " tcp://127.2.1.1:"), port));
    assert_int_equal(fclose(file), 0);
    stage_args(&s, "w0", line, sizeof(line));
    assert_non_null(strstr(line, "/detours-us.txt "));
    assert_int_equal(s.links, 1);
    stage_close(&s);
}

static void test_a_link_that_ends_is_the_end_of_the_run(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    s.link = "echo '{\"event\":\"ready\"}'; echo 'I am cut' >&2; exit 3";
    stage_program(&s, SERVE, TRAIN_SHORT);
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_FAILED);
    assert_string_equal(s.result.base.text.text, "the link eu-us ended with status 3: I am cut");
    stage_close(&s);
}

static void test_a_server_that_is_ready_too_late_does_not_begin_anew(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    s.link = "echo '{\"event\":\"ready\"}'; until [ -e $dir/there ]; do :; done; exit 3";
    stage_program(&s,
                  "trap \"echo '{\\\"event\\\":\\\"ready\\\"}'; exit 0\" TERM\n"
                  ": > $dir/there\n"
                  "while :; do :; done",
                  TRAIN_SHORT);
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_FAILED);
    assert_string_equal(s.result.base.text.text, "the link eu-us ended with status 3");
    assert_int_equal(s.ready, 0);
    stage_close(&s);
}

static void test_a_link_whose_port_is_taken_moves_all(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    s.link = "if [ ! -e $0.tried ]; then : > $0.tried; echo 'in use' >&2; exit 1; fi\n" CARRY;
    stage_program(&s, SERVE, ":");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_GOAL);
    stage_close(&s);
    stage_open(&s);
    s.link = "echo 'in use' >&2; exit 1";
    stage_program(&s, SERVE, ":");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_FAILED);
    stage_close(&s);
}

static void test_faults_of_links_are_orders_to_them(void **state)
{
    static const char faults[] = "faults:\n"
                                 "  - at 0s cut eu us for 2s\n"
                                 "  - at 0s cut-one us eu for 3s\n"
                                 "  - at 0s slow eu us 50% for 1s\n"
                                 "  - at 0s reset\n"
                                 "  - at 0s loss eu us 1% for 1s\n";
    char text[2048], path[128];
    struct stage s;
    FILE *file;
    size_t n;

    (void)state;
    stage_open(&s);
    run_file_free(s.file);
    (void)snprintf(text, sizeof(text), "%s%s", yaml, faults);
    if (run_file_parse("a.yaml", NULL, text, strlen(text), &s.file, &s.text) != OK) {
        fail_msg("%s", s.text.text);
    }
    s.stop_at_tick = 20;
    stage_program(&s, SERVE, TRAIN_SHORT);
    assert_int_equal(stage_run(&s), OK);
    (void)snprintf(path, sizeof(path), "%s/orders", s.dir);
    file = fopen(path, "r");
    assert_non_null(file);
    n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    assert_int_equal(fclose(file), 0);
    assert_non_null(strstr(text, "cut for 2000000us\n"));
    assert_non_null(strstr(text, "cut back for 3000000us\n"));
    assert_non_null(strstr(text, "rate 4000000bit there for 1000000us\n"));
    assert_non_null(strstr(text, "reset\n"));
    assert_null(strstr(text, "loss"));
    assert_string_equal(s.left_out, "the fault 'loss' is not to be had here");
    stage_close(&s);
}

/* The first link dies at its first order; the next one is told what is left of it. */
static void test_a_link_that_is_killed_is_started_again_as_it_was(void **state)
{
    static const char faults[] = "faults:\n  - at 0s cut eu us for 3600s\n";
    char text[2048], path[128];
    unsigned long long left = 0;
    struct stage s;
    FILE *file;

    (void)state;
    stage_open(&s);
    run_file_free(s.file);
    (void)snprintf(text, sizeof(text), "%s%s", yaml, faults);
    assert_int_equal(run_file_parse("a.yaml", NULL, text, strlen(text), &s.file, &s.text), OK);
    s.link =
        "echo \"$all\" >> $dir/started\n"
        "echo '{\"event\":\"ready\"}'\n"
        "carried='{\"event\":\"status\",\"there\":{\"accepted_bytes\":700},\"back\":"
        "{\"accepted_bytes\":9}}'\n"
        "if [ ! -e $dir/died ]; then read order; echo \"$carried\"; : > $dir/died; kill -9 $$; "
        "fi\n"
        "cat > $dir/orders\n"
        "echo \"$carried\"";
    stage_program(
        &s, SERVE,
        "echo '{\"event\":\"joined\",\"clock\":1}'\n"
        "while [ ! -s $dir/orders ]; do sleep 0.02; done\n"
        "for c in 1 2 3; do\n"
        "printf '{\"event\":\"clock\",\"clock\":%d,\"next\":%d,\"samples\":2,' $c $((c+1))\n"
        "echo '\"loss_sum\":1.5,\"read_ns\":5,\"compute_ns\":5,\"end_ns\":5,\"lanes\":[]}'\n"
        "done\n"
        "echo '{\"event\":\"left\",\"lanes\":[]}'");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_CLOCKS);
    assert_int_equal(s.result.kills, 1);
    assert_int_equal(s.result.restarts, 1);
    assert_int_equal(s.sent, 18); /* By both. */
    assert_int_equal(s.received, 1400);
    (void)snprintf(path, sizeof(path), "%s/orders", s.dir);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "cut for %lluus\n", &left), 1);
    assert_true(left > 0 && left < UINT64_C(3600000000));
    assert_int_equal(fclose(file), 0);
    (void)snprintf(path, sizeof(path), "%s/started", s.dir);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, 1024, file));
    assert_non_null(fgets(text + 1024, 1024, file));
    assert_string_equal(text, text + 1024); /* The same routes, rates and delays. */
    assert_int_equal(fclose(file), 0);
    stage_close(&s);
}

static void test_a_link_that_is_killed_all_the_time_ends_the_run(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    s.link = "kill -9 $$";
    stage_program(&s, SERVE, TRAIN_SHORT);
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_FAILED);
    assert_non_null(strstr(s.result.base.text.text, "the link eu-us was killed 5 times in a row"));
    stage_close(&s);
}

/* Several sites. */

static const char sites[] =
    "run: test\n"
    "topology:\n"
    "  regions: [eu, us]\n"
    "  links: [{between: [eu, us], rate: 8mbit, rtt: 10ms, price: 0.5}]\n"
    "sites: [{region: eu, workers: 2, lanes: 2}, {region: us, servers: 2}]\n"
    "job: {name: synthetic, options: {elements: 10}}\n"
    "evaluate: {every: 1}\n"
    "stop: {clocks: 300, objective: 2}\n";

static void stage_open_sites(struct stage *s)
{
    stage_open(s);
    run_file_free(s->file);
    assert_int_equal(run_file_parse("b.yaml", NULL, sites, strlen(sites), &s->file, &s->text), OK);
}

/* Where the file for @site says that @other is. */
static unsigned stage_told(const struct stage *s, const char *site, const char *other)
{
    struct run_sites_reader reader = {.site = site, .lanes = 2};
    const struct node_between *between;
    struct err_text text = {""};
    struct run_sites *read;
    char path[128];
    unsigned port = 0;

    (void)snprintf(path, sizeof(path), "%s/between-%s.yaml", s->dir, site);
    if (run_sites_load(path, &reader, &read, &text) != OK) {
        fail_msg("%s", text.text);
    }
    between = run_sites_between(read);
    for (uint32_t i = 0; i < between->others_count; i++) {
        if (strcmp(between->others[i].name, other) == 0) {
            port = (unsigned)strtoul(between->others[i].first.port, NULL, 10);
        }
    }
    run_sites_free(read);
    return port;
}

static void test_servers_of_several_sites_are_told_of_each_other(void **state)
{
    char args[2048];
    unsigned eu, us;
    struct stage s;

    (void)state;
    stage_open_sites(&s);
    stage_program(&s, KEEP_ARGS SERVE, KEEP_ARGS);
    assert_int_equal(stage_run(&s), OK);
    stage_args(&s, "eu-s0", args, sizeof(args));
    assert_non_null(strstr(args, " --site eu --workers 2 "));
    assert_null(strstr(args, "--stop-objective"));
    eu = stage_number(args, "--listen tcp://127.0.0.1:");
    stage_args(&s, "us-s0", args, sizeof(args));
    assert_non_null(strstr(args, " --servers 2 --index 0 --lanes 1,1 "));
    us = stage_number(args, "--listen tcp://127.0.0.1:");
    stage_args(&s, "us-s1", args, sizeof(args));
    assert_non_null(strstr(args, " --index 1 "));
    assert_int_equal(stage_number(args, "--first tcp://127.0.0.1:"), us);
    assert_int_equal(stage_told(&s, "eu", "us"), us);
    assert_int_equal(stage_told(&s, "us", "eu"), eu);
    stage_args(&s, "w2", args, sizeof(args));
    assert_int_equal(stage_number(args, "--join tcp://127.0.0.1:"), us);
    assert_non_null(strstr(args, " --rank 0 --part 2 --workers 3 "));
    stage_close(&s);
}

/* The others were told of it: all begin elsewhere. */
static void test_a_port_that_is_taken_moves_all_sites(void **state)
{
    char args[2048];
    struct stage s;

    (void)state;
    stage_open_sites(&s);
    stage_program(&s,
                  KEEP_ARGS "if [ $name = us-s0 ] && [ ! -e \"$0.tried\" ]; then\n"
                            ": > \"$0.tried\"; echo 'in use' >&2; exit 1; fi\n" SERVE,
                  ":");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_GOAL);
    assert_int_equal(s.result.kills, 0);
    stage_args(&s, "us-s0", args, sizeof(args));
    assert_int_equal(stage_told(&s, "eu", "us"), stage_number(args, "--listen tcp://127.0.0.1:"));
    stage_close(&s);
    stage_open_sites(&s);
    stage_program(&s, "echo 'address already in use' >&2; exit 1", ":");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_FAILED);
    assert_non_null(strstr(s.result.base.text.text, "already in use"));
    stage_close(&s);
}

/* No server sees all evaluations: the run judges. */
static void test_the_goal_of_several_sites_is_judged_over_all(void **state)
{
    struct stage s;

    (void)state;
    stage_open_sites(&s);
    stage_program(&s, SERVE,
                  "echo '{\"event\":\"joined\",\"clock\":1}'\n"
                  "echo '{\"event\":\"clock\",\"clock\":1,\"next\":2,\"samples\":2,\"loss_sum\":1,"
                  "\"read_ns\":5,\"compute_ns\":5,\"end_ns\":5,\"lanes\":[]}'\n"
                  "echo '{\"event\":\"evaluated\",\"clock\":1,\"objective_sum\":4,"
                  "\"count\":2,\"correct\":0,\"tested\":0}'\n"
                  "exec tail -f /dev/null");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_GOAL);
    assert_true(s.objective == 2);
    stage_close(&s);
}

static void test_somebody_may_stop_it_at_any_time(void **state)
{
    (void)state;
    for (uint32_t tick = 1; tick <= 4; tick++) {
        struct stage s;

        stage_open(&s);
        s.stop_at_tick = tick;
        stage_program(&s, SERVE, "exec tail -f /dev/null");
        assert_int_equal(stage_run(&s), OK);
        assert_int_equal(s.result.base.end, RUN_END_INTERRUPTED);
        stage_close(&s);
    }
}

static void test_no_memory_is_told(void **state)
{
    enum err rc = ERR_NOMEM;
    bool failed = true;
    uint64_t k;

    (void)state;
    for (k = 1; rc == ERR_NOMEM || failed; k++) {
        struct stage s;

        stage_open(&s);
        stage_program(&s, SERVE, ":");
        mem_fail_at(k, 1);
        rc = stage_run(&s);
        mem_fail_at(0, 0);
        if (rc == OK) {
            /* A member that could not be started ends the run. */
            failed = s.result.base.end == RUN_END_FAILED;
        } else {
            assert_int_equal(rc, ERR_NOMEM);
            assert_string_equal(s.text.text, "no memory for the run");
        }
        stage_close(&s);
        assert_true(k < 2000);
    }
    assert_true(k > 20);
}

static void test_what_a_ground_has_not_is_refused(void **state)
{
    static const struct {
        const char *on, *said, *why;
    } cases[] = {
        {"local", "", NULL},
        {"local", "links: {card: 1gbit}\n",
         "links.card is not there with --on local: leave it out, or use --on sim or --on lab"},
        {"hosts", "links: {card: 1gbit}\n",
         "links.card is not there with --on hosts: leave it out, or use --on sim or --on lab"},
        {"slurm", "background: [{flows: 1, on: 1s}]\n",
         "background is not there with --on slurm: leave it out, or use --on sim or --on lab"},
        {"local", "links: {duplex: shared}\n",
         "both directions of a link share its rate (duplex: shared), but with --on local each has "
         "its own: say links: {duplex: full}, or use --on sim"},
        {"lab", "links: {duplex: shared}\n",
         "both directions of a link share its rate (duplex: shared), but with --on lab each has "
         "its own: say links: {duplex: full}, or use --on sim"},
        {"hosts", "links: {duplex: shared}\n", NULL},
        {"local", "sync: {delivery: broadcast, tree: {degree: 2, depth: 2}}\n", NULL},
        {"lab", "links: {card: 1gbit}\nbackground: [{flows: 1, on: 1s}]\n", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err_text text = {""};
        struct run_file *f;
        char file[512];

        (void)snprintf(file, sizeof(file),
                       "run: r\ntopology: {regions: [eu]}\nservers: [{region: eu}]\n"
                       "workers: [{region: eu}]\njob: {name: mf}\nstop: {clocks: 1}\n%s",
                       cases[i].said);
        f = testing_parse(file);
        assert_int_equal(run_live_check(f, cases[i].on, &text),
                         cases[i].why == NULL ? OK : ERR_INVALID);
        assert_string_equal(text.text, cases[i].why == NULL ? "" : cases[i].why);
        run_file_free(f);
    }
}

static void test_trees_over_regions_need_links_between_workers(void **state)
{
    struct run_file *f = testing_parse(
        "run: r\ntopology: {regions: [eu, us], links: [{between: [eu, us], rate: 1mbit, delay: "
        "1ms}]}\nservers: [{region: eu}]\nworkers: [{region: eu}, {region: us}]\n"
        "job: {name: mf}\nstop: {clocks: 1}\n"
        "sync: {delivery: broadcast, tree: {degree: 2, depth: 2}}\n");
    struct err_text text = {""};

    (void)state;
    assert_int_equal(run_live_check(f, "lab", &text), OK);
    assert_int_equal(run_live_check(f, "local", &text), ERR_INVALID);
    assert_string_equal(text.text, "sync.tree: with --on local there are no links between workers "
                                   "of different regions: use --on sim or --on lab");
    run_file_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_ground_has_not_is_refused),
        cmocka_unit_test(test_trees_over_regions_need_links_between_workers),
        cmocka_unit_test(test_members_that_say_sense_are_counted),
        cmocka_unit_test(test_servers_say_which_workers_wait),
        cmocka_unit_test(test_members_that_say_nonsense_do_no_harm),
        cmocka_unit_test(test_a_server_that_dies_at_once_is_the_end),
        cmocka_unit_test(test_an_error_of_a_member_is_told_in_its_words),
        cmocka_unit_test(test_ports_that_are_taken_are_passed_by_for_a_while),
        cmocka_unit_test(test_a_member_that_is_killed_all_the_time_is_the_end),
        cmocka_unit_test(test_a_member_that_finds_no_space_is_started_until_it_does),
        cmocka_unit_test(test_a_program_that_is_not_there_is_told),
        cmocka_unit_test(test_members_of_two_regions_meet_over_a_link_and_get_detours_to_it),
        cmocka_unit_test(test_a_link_that_ends_is_the_end_of_the_run),
        cmocka_unit_test(test_a_server_that_is_ready_too_late_does_not_begin_anew),
        cmocka_unit_test(test_a_link_whose_port_is_taken_moves_all),
        cmocka_unit_test(test_faults_of_links_are_orders_to_them),
        cmocka_unit_test(test_a_link_that_is_killed_is_started_again_as_it_was),
        cmocka_unit_test(test_a_link_that_is_killed_all_the_time_ends_the_run),
        cmocka_unit_test(test_servers_of_several_sites_are_told_of_each_other),
        cmocka_unit_test(test_a_port_that_is_taken_moves_all_sites),
        cmocka_unit_test(test_the_goal_of_several_sites_is_judged_over_all),
        cmocka_unit_test(test_somebody_may_stop_it_at_any_time),
        cmocka_unit_test(test_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
