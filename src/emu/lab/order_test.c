/* Tests of what a lab is told, and of the socket it is told by: a lab without namespaces, so that
 * only what needs no tool can succeed; where one is needed, it fails, and nothing has changed. */

#include "emu/lab/control.h"
#include "emu/lab/state.h"
#include "emu/lab/testing.h"
#include "emu/lab/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
    struct loop *loop;
    struct lab *lab;
    json_t *answers; /* Of all that was told. */
    bool over;
    int relay; /* Where it would listen. */
    char dir[64];
    char path[96];
};

static void fixture_over(const char *why, void *user)
{
    struct fixture *f = user;

    assert_null(why);
    f->over = true;
    loop_stop(f->loop);
}

static int set_up(void **state)
{
    static struct fixture f;
    int pipe_fds[2];

    f = (struct fixture){.answers = json_array(), .dir = "/tmp/strait-lab-test-XXXXXX"};
    assert_non_null(mkdtemp(f.dir));
    (void)snprintf(f.path, sizeof(f.path), "%s/control", f.dir);
    assert_int_equal(loop_create(&f.loop), OK);
    f.lab = mem_zalloc(sizeof(*f.lab));
    assert_non_null(f.lab);
    f.lab->config = (struct lab_config){.loop = f.loop, .over = fixture_over, .user = &f};
    f.lab->plan = lab_testing_plan();
    f.lab->net.plan = f.lab->plan;
    f.lab->shared = relay_shared_create();
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
    f.relay = pipe_fds[0];
    f.lab->tied = pipe_fds[1];
    for (uint32_t i = 0; i < LAB_REGIONS_MAX; i++) {
        f.lab->queues[i] = -1;
        f.lab->net.routers[i].ns = -1;
    }
    assert_int_equal(text_init(&f.lab->batch, LAB_TEXT_BYTES_MAX), OK);
    lab_orders_init(f.lab);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    lab_orders_deinit(f->lab);
    (void)close(f->lab->tied);
    (void)close(f->relay);
    relay_shared_destroy(f->lab->shared);
    text_deinit(&f->lab->batch);
    mem_free(f->lab->plan);
    mem_free(f->lab);
    loop_destroy(f->loop);
    json_decref(f->answers);
    (void)unlink(f->path);
    (void)rmdir(f->dir);
    return 0;
}

static void fixture_answered(json_t *answer, void *user)
{
    struct fixture *f = user;

    assert_non_null(answer);
    assert_int_equal(json_array_append_new(f->answers, answer), 0);
}

static void tell(struct fixture *f, const char *line)
{
    lab_tell(f->lab, line, strlen(line), fixture_answered, f);
}

/* Tell it, and wait for the answer. */
static const json_t *told(struct fixture *f, const char *line)
{
    size_t before = json_array_size(f->answers);

    tell(f, line);
    while (json_array_size(f->answers) == before) {
        loop_turn(f->loop, LOOP_NEVER);
    }
    return json_array_get(f->answers, before);
}

static const char *text_of(const json_t *answer, const char *key)
{
    const char *text = json_string_value(json_object_get(answer, key));

    return text == NULL ? "" : text;
}

static void test_what_is_only_the_relays_changes_at_once(void **state)
{
    struct fixture *f = *state;
    const json_t *answer = told(f, "set b c there jitter=3ms");

    assert_string_equal(text_of(answer, "event"), "done");
    assert_string_equal(text_of(answer, "command"), "set b c there jitter=3ms");
    assert_int_equal(lab_plan_link(f->lab->plan, 1, 2)->jitter_ns, 3000000);
    assert_int_equal(atomic_load(&relay_link(f->lab->shared, 1, 2)->jitter_ns), 3000000);
    assert_int_equal(atomic_load(&f->lab->shared->changes), 1);
}

static void check_refused(struct fixture *f, const char *line, const char *wanted)
{
    const json_t *answer = told(f, line);

    assert_string_equal(text_of(answer, "event"), "error");
    assert_string_equal(text_of(answer, "text"), wanted);
    assert_true(json_is_true(json_object_get(answer, "usage")));
}

static void test_mistakes_change_nothing(void **state)
{
    struct fixture *f = *state;

    check_refused(f, "set a x rate=1mbit", "no region 'x': there are a, b, c");
    check_refused(f, "set a c rate=1mbit", "the topology has no link from a to c");
    /* Back there is none: so nothing there either. */
    check_refused(f, "set b c rate=1mbit", "the topology has no link from c to b");
    check_refused(f, "set a b rate=1kbit", "rate 1kbit: a lab does 64kbit to 2.199023255552tbit");
    check_refused(f, "set a b delay=61s", "delay 61s: at most 60s");
    check_refused(f, "jump", "no command 'jump': there are set, cut, heal, show, reset, quit");
    assert_int_equal(lab_plan_link(f->lab->plan, 0, 1)->bytes_per_s, 12500000);
    assert_int_equal(lab_plan_link(f->lab->plan, 1, 2)->bytes_per_s, 125000000);
    assert_int_equal(atomic_load(&f->lab->shared->changes), 0);
}

static void test_a_tool_that_fails_leaves_everything_as_it_was(void **state)
{
    struct fixture *f = *state;
    const json_t *answer = told(f, "cut a b");

    assert_string_equal(text_of(answer, "event"), "error");
    assert_string_equal(text_of(answer, "text"), "nft cannot enter its namespace");
    assert_false(json_is_true(json_object_get(answer, "usage")));
    assert_false(lab_plan_link(f->lab->plan, 0, 1)->cut);
    answer = told(f, "set a b there rate=1mbit jitter=1ms");
    assert_string_equal(text_of(answer, "text"), "tc cannot enter its namespace");
    assert_int_equal(lab_plan_link(f->lab->plan, 0, 1)->bytes_per_s, 12500000);
    assert_int_equal(lab_plan_link(f->lab->plan, 0, 1)->jitter_ns, 0);
    assert_int_equal(lab_plan_link(f->lab->plan, 1, 0)->bytes_per_s, 2500000);
}

static void test_orders_are_done_one_after_the_other(void **state)
{
    struct fixture *f = *state;

    tell(f, "cut a b");
    tell(f, "set a b jitter=1ms");
    tell(f, "set a b jitter=2ms");
    tell(f, "show");
    while (json_array_size(f->answers) < 4) {
        loop_turn(f->loop, LOOP_NEVER);
    }
    assert_string_equal(text_of(json_array_get(f->answers, 0), "event"), "error");
    assert_string_equal(text_of(json_array_get(f->answers, 1), "event"), "done");
    assert_string_equal(text_of(json_array_get(f->answers, 3), "event"), "show");
    assert_int_equal(lab_plan_link(f->lab->plan, 1, 0)->jitter_ns, 2000000);
}

static void test_too_many_orders_are_refused(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 65; i++) {
        tell(f, "show");
    }
    assert_int_equal(json_array_size(f->answers), 1);
    assert_string_equal(text_of(json_array_get(f->answers, 0), "text"),
                        "too much to do: try again");
}

static void test_orders_that_wait_are_answered_when_the_lab_ends(void **state)
{
    struct fixture *f = *state;

    tell(f, "cut a b");
    tell(f, "show");
    loop_turn(f->loop, 0);
    lab_orders_deinit(f->lab);
    assert_int_equal(json_array_size(f->answers), 2);
    assert_string_equal(text_of(json_array_get(f->answers, 1), "text"), "the lab is going down");
}

static void test_show_tells_everything(void **state)
{
    struct fixture *f = *state;
    const json_t *show, *link;

    obs_histogram_record(&f->lab->shared->late, 2000000);
    atomic_store(&relay_link(f->lab->shared, 1, 0)->bytes, 123);
    show = told(f, "show");
    assert_int_equal(json_array_size(json_object_get(show, "links")), 3);
    link = json_array_get(json_object_get(show, "links"), 1);
    assert_string_equal(text_of(link, "from"), "b");
    assert_string_equal(text_of(link, "to"), "a");
    assert_int_equal(json_integer_value(json_object_get(link, "rate_bps")), 20000000);
    assert_int_equal(json_integer_value(json_object_get(link, "bytes")), 123);
    assert_true(json_real_value(json_object_get(link, "delay_us")) == 40000);
    assert_true(json_real_value(json_object_get(link, "loss")) == 0.001);
    assert_true(json_is_false(json_object_get(link, "cut")));
    assert_true(json_is_false(json_object_get(show, "valid")));
    assert_int_equal(json_array_size(json_object_get(show, "routers")), 3);
}

static void test_a_lab_that_loses_packets_by_itself_is_not_valid(void **state)
{
    struct fixture *f = *state;
    const json_t *show;

    atomic_store(&relay_link(f->lab->shared, 0, 1)->packets, 5000);
    atomic_store(&relay_link(f->lab->shared, 0, 1)->dropped, 5);
    show = told(f, "show");
    assert_true(json_is_true(json_object_get(show, "valid")));
    assert_int_equal(json_integer_value(json_object_get(show, "missed")), 5);
    atomic_store(&relay_link(f->lab->shared, 1, 0)->dropped, 1);
    assert_true(json_is_false(json_object_get(told(f, "show"), "valid")));
}

static void test_a_reset_forgets_lateness_at_once(void **state)
{
    struct fixture *f = *state;
    json_t *status;

    obs_histogram_record(&f->lab->shared->late, 5000000);
    assert_string_equal(text_of(told(f, "reset"), "event"), "done");
    assert_int_equal(atomic_load(&f->lab->shared->resets), 1);
    status = lab_status(f->lab);
    assert_true(json_is_true(json_object_get(status, "valid")));
    json_decref(status);
}

static void test_quit_is_answered_and_then_over(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(text_of(told(f, "quit"), "event"), "done");
    assert_true(f->over);
}

/* The socket. Who asks blocks, so it is another process, which ends with zero if all is well. */

static pid_t ask_in_child(const struct fixture *f, const char *line, const char *event)
{
    pid_t pid = fork();

    if (pid == 0) {
        json_t *answer = NULL;
        enum err rc = lab_control_ask(f->path, line, 60, &answer, NULL);
        bool good = rc == OK && strcmp(text_of(answer, "event"), event) == 0;

        json_decref(answer);
        _exit(good ? 0 : 1);
    }
    return pid;
}

static void run_until_exit(struct fixture *f, pid_t pid)
{
    int status = -1;
    pid_t done = 0;

    while (done == 0) {
        loop_turn(f->loop, 10 * 1000 * 1000);
        done = waitpid(pid, &status, WNOHANG);
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_callers_get_an_answer_to_one_line(void **state)
{
    struct fixture *f = *state;
    struct lab_control *control = NULL;
    struct err_text text = {""};

    assert_int_equal(lab_control_create(f->loop, f->lab, f->path, &control, &text), OK);
    run_until_exit(f, ask_in_child(f, "show", "show"));
    run_until_exit(f, ask_in_child(f, "set a b jitter=4ms", "done"));
    run_until_exit(f, ask_in_child(f, "nonsense", "error"));
    assert_int_equal(lab_plan_link(f->lab->plan, 0, 1)->jitter_ns, 4000000);
    lab_control_stop(control);
    lab_control_destroy(control);
}

static void test_callers_who_say_nothing_or_too_much_harm_nobody(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct fixture *f = *state;
    struct lab_control *control = NULL;
    char much[4096];
    int silent, loud;

    memset(much, 'x', sizeof(much));
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", f->path);
    assert_int_equal(lab_control_create(f->loop, f->lab, f->path, &control, NULL), OK);
    silent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    loud = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(silent, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(connect(loud, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(write(loud, much, sizeof(much)), sizeof(much));
    run_until_exit(f, ask_in_child(f, "show", "show"));
    assert_true(read(loud, much, sizeof(much)) > 0);
    assert_non_null(strstr(much, "at most 1024 characters"));
    (void)close(loud);
    lab_control_stop(control); /* Forgets the silent one. */
    assert_int_equal(read(silent, much, 1), 0);
    (void)close(silent);
    lab_control_destroy(control);
}

static void test_where_nobody_is_nobody_is_reached(void **state)
{
    struct fixture *f = *state;
    struct lab_control *control = NULL;
    struct err_text text = {""};
    json_t *answer = NULL;
    char path[200];

    assert_int_equal(lab_control_ask(f->path, "show", 1, &answer, &text), ERR_UNREACHABLE);
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(lab_control_ask(path, "show", 1, &answer, &text), ERR_IO);
    assert_int_equal(lab_control_create(f->loop, f->lab, path, &control, &text), ERR_IO);
    assert_int_equal(lab_control_create(f->loop, f->lab, "/nowhere/at/all", &control, &text),
                     ERR_IO);
    assert_null(control);
}

static void test_without_memory_orders_and_sockets_are_refused(void **state)
{
    struct fixture *f = *state;
    struct lab_control *control = NULL;
    struct err_text text = {""};
    enum err rc = ERR_NOMEM;
    uint64_t k;

    mem_fail_at(1, 1);
    tell(f, "show");
    mem_fail_at(0, 0);
    assert_string_equal(text_of(json_array_get(f->answers, 0), "event"), "error");
    for (k = 1; rc != OK; k++) {
        (void)unlink(f->path);
        mem_fail_at(k, 1);
        rc = lab_control_create(f->loop, f->lab, f->path, &control, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || (rc == ERR_NOMEM && control == NULL && text.text[0] != '\0'));
    }
    assert_true(k > 2);
    lab_control_stop(control);
    lab_control_destroy(control);
}

#define WITH_LAB(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LAB(test_what_is_only_the_relays_changes_at_once),
        WITH_LAB(test_mistakes_change_nothing),
        WITH_LAB(test_a_tool_that_fails_leaves_everything_as_it_was),
        WITH_LAB(test_orders_are_done_one_after_the_other),
        WITH_LAB(test_too_many_orders_are_refused),
        WITH_LAB(test_orders_that_wait_are_answered_when_the_lab_ends),
        WITH_LAB(test_show_tells_everything),
        WITH_LAB(test_a_lab_that_loses_packets_by_itself_is_not_valid),
        WITH_LAB(test_a_reset_forgets_lateness_at_once),
        WITH_LAB(test_quit_is_answered_and_then_over),
        WITH_LAB(test_callers_get_an_answer_to_one_line),
        WITH_LAB(test_callers_who_say_nothing_or_too_much_harm_nobody),
        WITH_LAB(test_where_nobody_is_nobody_is_reached),
        WITH_LAB(test_without_memory_orders_and_sockets_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
