/* kill -9 of a process that writes checkpoints to a real folder: at random moments from outside,
 * and in each of its system calls, writes being half done. What it had been told was committed is
 * there, and the newest one is whole. */

#include "store/checkpoint.h"

#include "store/checkpoint_testing.h"
#include "store/dir_testing.h"

#include <sys/wait.h>

enum { ROUNDS = 20, VALUES_MAX = 40000, SAMPLES = 4 };

struct ground {
    char path[64];
    uint64_t next; /* Number of the next checkpoint. */
    struct rng rng;
};

static int ground_setup(void **state)
{
    struct ground *g = mem_zalloc(sizeof(*g));

    assert_non_null(g);
    dir_testing_make_on_disk(g->path);
    g->next = 1;
    rng_init(&g->rng, 9);
    *state = g;
    return 0;
}

static int ground_teardown(void **state)
{
    struct ground *g = *state;

    dir_testing_remove(g->path);
    mem_free(g);
    return 0;
}

/* The content of a checkpoint follows from its number. */
static void content_of(struct sample *s, uint64_t number)
{
    sample_init(s, number, number % SAMPLES, VALUES_MAX);
}

/* The child: checkpoints without end, each reported when it is committed. They are made before, so
 * that it spends its life writing. */
static void write_for_ever(const struct ground *g, int report, uint64_t kill_in)
{
    static struct sample samples[SAMPLES];
    struct err_text text;
    struct loop *loop = NULL;
    struct store *s = NULL;

    for (uint64_t i = 0; i < SAMPLES; i++) {
        content_of(&samples[i], i);
    }
    CHECK(loop_create(&loop) == OK);
    CHECK(store_dir_create(g->path, loop, &s, &text) == OK);
    dir_calls.kill = kill_in;
    for (uint64_t number = g->next;; number++) {
        struct sample *sample = &samples[number % SAMPLES];

        sample->head.number = number;
        CHECK(sample_write(loop, s, sample) == OK);
        CHECK(write(report, &number, sizeof(number)) == sizeof(number));
    }
}

/* Read reports: at least @count, and all if the child is dead. Returns the last. */
static uint64_t read_reports(int report, uint64_t count, uint64_t last)
{
    uint64_t number;
    ssize_t n;

    while (count > 0 && (n = read(report, &number, sizeof(number))) == sizeof(number)) {
        last = number;
        count--;
    }
    return last;
}

static void assert_found(struct ground *g, uint64_t reported)
{
    char name[STORE_NAME_BYTES] = "";
    struct err_text text = {""};
    struct store *s = NULL;
    struct sample want;
    uint64_t number = 0;
    uint32_t skipped = 9;
    enum err rc;

    assert_int_equal(store_dir_create(g->path, NULL, &s, &text), OK);
    rc = checkpoint_newest(s, "eu", 3, name, sizeof(name), &number, &skipped, &text);
    assert_string_equal(text.text, "");
    if (rc == ERR_NOT_FOUND) {
        assert_int_equal(reported, 0);
    } else {
        assert_int_equal(rc, OK);
        assert_true(number == reported || number == reported + 1);
        content_of(&want, number);
        assert_sample(s, &want);
        sample_deinit(&want);
        g->next = number + 1;
    }
    assert_int_equal(skipped, 0);
    store_destroy(s);
}

/* One life of the child. It is killed after @commits reports and a while, or kills itself. */
static void live_and_die(struct ground *g, uint64_t commits, uint64_t kill_in)
{
    uint64_t spin = rng_below(&g->rng, 1000000);
    uint64_t reported = g->next - 1;
    int report[2];
    int status = 0;
    pid_t child;

    assert_int_equal(pipe(report), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(report[0]);
        write_for_ever(g, report[1], kill_in);
    }
    (void)close(report[1]);
    if (kill_in == 0) {
        reported = read_reports(report[0], commits, reported);
        for (volatile uint64_t i = 0; i < spin; i++) {
        }
        assert_int_equal(kill(child, SIGKILL), 0);
    }
    reported = read_reports(report[0], UINT64_MAX, reported);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    (void)close(report[0]);
    assert_found(g, reported);
}

/* The next writer removes what the dead one has left. */
static void assert_swept(struct ground *g)
{
    struct store_listing l = {0};
    struct err_text text = {""};
    struct loop *loop = NULL;
    struct store *s = NULL;
    uint32_t objects = 0;

    assert_int_equal(loop_create_manual(0, &loop), OK);
    assert_int_equal(store_dir_create(g->path, loop, &s, &text), OK);
    assert_int_equal(store_list(s, "", store_listing_add, &l), OK);
    for (size_t i = 0; i < l.size; i++) {
        objects += l.text[i] == ':';
    }
    assert_int_equal(dir_testing_files(g->path), objects);
    store_destroy(s);
    loop_destroy(loop);
}

static void test_a_killed_writer_leaves_the_newest_whole_one(void **state)
{
    struct ground *g = *state;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        live_and_die(g, 1 + rng_below(&g->rng, 4), 0);
        assert_swept(g);
    }
    assert_true(g->next > ROUNDS);
}

static void test_no_system_call_is_a_bad_moment_to_die(void **state)
{
    struct ground *g = *state;
    uint32_t leftovers = 0;

    for (uint64_t k = 1; k <= 3 * ROUNDS; k++) {
        uint32_t before = dir_testing_files(g->path);
        uint64_t next = g->next;

        live_and_die(g, 0, k);
        leftovers += dir_testing_files(g->path) > before + (uint32_t)(g->next - next);
        assert_swept(g);
    }
    assert_true(g->next > ROUNDS);
    assert_true(leftovers > ROUNDS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_killed_writer_leaves_the_newest_whole_one,
                                        ground_setup, ground_teardown),
        cmocka_unit_test_setup_teardown(test_no_system_call_is_a_bad_moment_to_die, ground_setup,
                                        ground_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
