/* Runs on hosts whose `strait hold` is an impostor: a script that says what it likes. The real ones
 * are in tests/e2e/hosts_test.py. */

#include "base/mem.h"
#include "run/backend/hosts_ask.h"
#include "run/live/live.h"
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
                           "servers: [{region: eu}]\n"
                           "workers: [{region: us}]\n"
                           "job: {name: synthetic, options: {elements: 10}}\n"
                           "stop: {clocks: 1}\n";

struct stage {
    char dir[32];
    char program[64];
    struct run_file *file;
    struct run_hosts *hosts;
    struct run_live_result result;
    struct err_text text;
    uint32_t insecure;
    char lost[160];
    char notice[256];
    bool encrypted;
};

static void stage_event(int64_t now_ns, const char *kind, const char *who, const char *text,
                        void *user)
{
    struct stage *s = user;

    (void)now_ns;
    (void)who;
    if (strcmp(kind, "lost") == 0) {
        (void)snprintf(s->lost, sizeof(s->lost), "%s", text);
    }
    if (strcmp(kind, "notice") == 0) {
        (void)snprintf(s->notice, sizeof(s->notice), "%s", text);
    }
}

/* The ends of a member, as hold tells them. */
#define ENDED(status, signum)                                                                      \
    "echo '{\"event\":\"held-end\",\"status\":" status ",\"signal\":" signum "}'\n"

/* Until it is told to end. */
#define SERVE                                                                                      \
    "echo '{\"event\":\"ready\"}'\n"                                                               \
    "while read -r order; do case \"$order\" in signal*)\n" ENDED("0",                             \
                                                                  "0") "exit 0;; esac; done\n"

#define TRAIN                                                                                      \
    "echo '{\"event\":\"joined\",\"clock\":1}'\n"                                                  \
    "echo '{\"event\":\"clock\",\"clock\":1,\"next\":2,\"samples\":2,\"loss_sum\":1,"              \
    "\"read_ns\":5,\"compute_ns\":5,\"end_ns\":5,\"lanes\":[]}'\n" ENDED("0", "0")

#define ASKED "echo '{\"event\":\"host\",\"version\":\"1\",\"wire\":{\"min\":1,\"max\":1}}'\n"

/* As "PROGRAM hold" it reads a line, and does what that is for; as "PROGRAM tied PID -- ..." it
 * becomes the rest, and as "PROGRAM ssh ..." too, behind its options. */
static void stage_program(struct stage *s, const char *server, const char *worker, const char *more)
{
    FILE *file = fopen(s->program, "w");

    assert_non_null(file);
    assert_true(fprintf(file,
                        "#!/bin/sh\n"
                        "if [ \"$1\" = tied ]; then shift 3; exec \"$@\"; fi\n"
                        "dir=${0%%/*}\n"
                        "read -r line\n"
                        "echo \"$line\" >> $dir/lines\n"
                        "case \"$line\" in\n"
                        "*'\"do\":\"ask\"'*)\n%s;;\n"
                        "*'\"do\":\"remove\"'*)\n%s;;\n"
                        "*'\"server\"'*)\n%s;;\n"
                        "*)\n%s;;\n"
                        "esac\n",
                        ASKED, more, server, worker) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(s->program, 0755), 0);
}

#define REMOVED "echo '{\"event\":\"removed\"}'\n"

static void stage_hosts(struct stage *s, const char *text)
{
    run_hosts_free(s->hosts);
    s->hosts = NULL;
    if (run_hosts_parse("h.yaml", text, strlen(text), &s->hosts, &s->text) != OK) {
        fail_msg("%s", s->text.text);
    }
}

static void stage_open(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    s->insecure = 1;
    (void)snprintf(s->dir, sizeof(s->dir), "/tmp/strait-hosts-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    (void)snprintf(s->program, sizeof(s->program), "%s/strait", s->dir);
    assert_int_equal(run_file_parse("a.yaml", NULL, yaml, strlen(yaml), &s->file, &s->text), OK);
    stage_hosts(s, "hosts: [{name: a, region: eu}, {name: b, region: us}]");
}

static void stage_close(struct stage *s)
{
    testing_alone();
    run_file_free(s->file);
    run_hosts_free(s->hosts);
    testing_remove(s->dir);
}

static void stage_over(const struct run_picture *picture, const struct run_result *result,
                       void *user)
{
    struct stage *s = user;

    (void)result;
    s->encrypted = json_is_true(json_object_get(picture->network, "encrypted"));
}

static enum err stage_run(struct stage *s)
{
    struct run_watcher watcher = {.event = stage_event, .over = stage_over, .user = s};
    const char *const command[] = {s->program, "ssh", NULL};
    struct run_live_options options = {.on = "hosts",
                                       .program = s->program,
                                       .dir = s->dir,
                                       .hosts = s->hosts,
                                       .command = command,
                                       .insecure = s->insecure};

    return run_live(s->file, &watcher, &options, &s->result, &s->text);
}

/* The @index-th first line that was sent. */
static json_t *stage_line(const struct stage *s, uint32_t index)
{
    char path[64];
    static char line[64 * 1024];
    json_t *object;
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/lines", s->dir);
    file = fopen(path, "r");
    assert_non_null(file);
    for (uint32_t i = 0; i <= index; i++) {
        assert_non_null(fgets(line, sizeof(line), file));
    }
    assert_int_equal(fclose(file), 0);
    object = json_loads(line, 0, NULL);
    assert_non_null(object);
    return object;
}

static void test_members_are_told_all_and_tell_how_they_ended(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    s.insecure = 0;
    stage_program(&s, SERVE, TRAIN, REMOVED);
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_CLOCKS);
    assert_int_equal(s.result.kills, 0);
    assert_string_equal(s.notice, "");
    assert_true(s.encrypted);
    stage_close(&s);
}

static void test_first_lines_have_what_a_member_needs(void **state)
{
    struct stage s;
    json_t *line;
    const json_t *argv;

    (void)state;
    stage_open(&s);
    stage_program(&s, SERVE, TRAIN, REMOVED);
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_CLOCKS);
    line = stage_line(&s, 0);
    argv = json_object_get(line, "argv");
    assert_string_equal(json_string_value(json_object_get(line, "member")), "s0");
    assert_string_equal(json_string_value(json_array_get(argv, 0)), "strait");
    assert_string_equal(json_string_value(json_array_get(argv, 1)), "server");
    assert_int_equal(json_object_size(json_object_get(line, "files")), 0);
    json_decref(line);
    line = stage_line(&s, 2);
    assert_string_equal(json_string_value(json_object_get(line, "do")), "remove");
    json_decref(line);
    stage_close(&s);
}

static void test_a_member_that_was_killed_there_is_started_again(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    stage_program(
        &s, SERVE,
        "if [ ! -e $dir/died ]; then : > $dir/died\n" ENDED("0", "9") "exit 137; fi\n" TRAIN,
        REMOVED);
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_CLOCKS);
    assert_int_equal(s.result.kills, 1);
    assert_string_equal(s.lost, "");
    stage_close(&s);
}

static void test_a_connection_that_is_lost_is_as_a_kill(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    stage_hosts(&s, "hosts: [{name: a, region: eu}, {name: b, region: us, ssh: there}]");
    stage_program(&s, SERVE,
                  "if [ ! -e $dir/died ]; then : > $dir/died\n"
                  "echo 'Connection closed' >&2; exit 255; fi\n" TRAIN,
                  REMOVED);
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_CLOCKS);
    assert_int_equal(s.result.kills, 1);
    assert_string_equal(s.lost, "the connection to b was lost: Connection closed");
    stage_close(&s);
}

static void test_a_hold_that_fails_is_the_end(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    stage_program(&s, "echo 'no room' >&2; exit 1\n", TRAIN, REMOVED);
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_FAILED);
    assert_non_null(strstr(s.result.base.text.text, "s0 ended with status 1: no room"));
    stage_close(&s);
}

static void test_what_cannot_be_removed_is_told(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    stage_program(&s, SERVE, TRAIN, "echo 'not mine' >&2; exit 1\n");
    assert_int_equal(stage_run(&s), OK);
    assert_int_equal(s.result.base.end, RUN_END_CLOCKS);
    assert_non_null(strstr(s.notice, "stays on host "));
    assert_non_null(strstr(s.notice, "not mine"));
    stage_close(&s);
}

static void test_hosts_that_do_not_fit_are_an_error(void **state)
{
    struct stage s;

    (void)state;
    stage_open(&s);
    stage_hosts(&s, "hosts: [{name: a, region: eu}]");
    stage_program(&s, SERVE, TRAIN, REMOVED);
    assert_int_equal(stage_run(&s), ERR_INVALID);
    assert_non_null(strstr(s.text.text, "no host is in region us"));
    stage_close(&s);
}

static void test_all_hosts_are_asked(void **state)
{
    struct run_asked answers[2];
    struct stage s;
    struct run_hosts_ask ask = {.program = s.program, .dir = s.dir};

    (void)state;
    stage_open(&s);
    stage_hosts(&s, "hosts: [{name: a, region: eu}, {name: b, region: us, strait: /no/such}]");
    stage_program(&s, SERVE, TRAIN, REMOVED);
    ask.hosts = s.hosts;
    assert_int_equal(run_hosts_ask(&ask, answers), OK);
    assert_int_equal(answers[0].as, RUN_ASKED_GOOD);
    assert_string_equal(answers[0].version, "1");
    assert_int_equal(answers[1].as, RUN_ASKED_SILENT);
    assert_non_null(strstr(answers[1].why, "cannot be started"));
    stage_close(&s);
}

static void test_no_memory_is_told(void **state)
{
    bool whole = false;
    uint64_t k;

    (void)state;
    for (k = 1; !whole; k++) {
        uint64_t before = mem_failures();
        struct stage s;
        enum err rc;

        stage_open(&s);
        stage_program(&s, SERVE, TRAIN, REMOVED);
        mem_fail_at(k, 1);
        rc = stage_run(&s);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        whole = mem_failures() == before;
        assert_true(!whole || (rc == OK && s.result.base.end == RUN_END_CLOCKS));
        stage_close(&s);
        assert_true(k < 2000);
    }
    assert_true(k > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_are_told_all_and_tell_how_they_ended),
        cmocka_unit_test(test_first_lines_have_what_a_member_needs),
        cmocka_unit_test(test_a_member_that_was_killed_there_is_started_again),
        cmocka_unit_test(test_a_connection_that_is_lost_is_as_a_kill),
        cmocka_unit_test(test_a_hold_that_fails_is_the_end),
        cmocka_unit_test(test_what_cannot_be_removed_is_told),
        cmocka_unit_test(test_hosts_that_do_not_fit_are_an_error),
        cmocka_unit_test(test_all_hosts_are_asked),
        cmocka_unit_test(test_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
