/* Workers as processes have them, here on threads: the loop goes on while the job computes. */

#include "run/live/process.h"

#include "node/testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { PROCESSES = 3 };

/* A site on a thread of its own. */
struct home {
    pthread_t thread;
    struct node_site site;
    struct net_address first;
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool open;
    atomic_bool over;
};

static void *home_main(void *user)
{
    struct home *h = user;
    struct node_testing_site t;

    testing_site_init(&t, &h->site);
    for (uint32_t i = 0; i < h->site.lanes; i++) {
        testing_lane_start(&t, i);
    }
    (void)pthread_mutex_lock(&h->lock);
    h->first = *node_lane_address(t.lanes[0]);
    h->open = true;
    (void)pthread_cond_signal(&h->opened);
    (void)pthread_mutex_unlock(&h->lock);
    while (!atomic_load(&h->over)) {
        loop_turn(t.loop, 5000000);
    }
    testing_site_close(&t);
    return NULL;
}

static void home_open(struct home *h, const char *barrier, enum node_delivery delivery,
                      uint32_t workers, const char *job)
{
    memset(h, 0, sizeof(*h));
    h->site = testing_site_of(barrier, 0, delivery, 2, workers);
    (void)snprintf(h->site.job, sizeof(h->site.job), "%s", job);
    assert_int_equal(pthread_mutex_init(&h->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&h->opened, NULL), 0);
    assert_int_equal(pthread_create(&h->thread, NULL, home_main, h), 0);
    (void)pthread_mutex_lock(&h->lock);
    while (!h->open) {
        (void)pthread_cond_wait(&h->opened, &h->lock);
    }
    (void)pthread_mutex_unlock(&h->lock);
}

static void home_close(struct home *h)
{
    atomic_store(&h->over, true);
    assert_int_equal(pthread_join(h->thread, NULL), 0);
    (void)pthread_mutex_destroy(&h->lock);
    (void)pthread_cond_destroy(&h->opened);
}

/* A worker on a thread. */
struct hand {
    pthread_t thread;
    struct home *home;
    const char *name;
    uint32_t rank;
    uint64_t leave_after; /* Clocks; zero: when all is done. */
    bool refuse;          /* plan() says no. */
    const char *state_dir;
    char notice[200]; /* The last. */
    struct run_work work;
    struct run_process_result result;
    uint64_t joined;
    uint64_t clocks;
    uint64_t evaluated;
    double objective_sum;
    uint64_t sent;
};

static enum err hand_plan(const struct node_site *site, uint32_t rank, struct run_work *work,
                          struct err_text *text, void *user)
{
    struct hand *h = user;

    assert_string_equal(site->name, "home");
    assert_true(rank < PROCESSES);
    work->workers = site->sync.members_min;
    return h->refuse ? err_text_set(text, ERR_INVALID, "nothing is to be done") : OK;
}

static void hand_joined(uint64_t clock, void *user)
{
    ((struct hand *)user)->joined = clock;
}

static void hand_clock(struct run_process *p, const struct run_clock *c, void *user)
{
    struct run_process_lane lanes[NODE_LANES_MAX];
    struct hand *h = user;

    h->clocks++;
    assert_int_equal(c->clock, h->clocks);
    assert_int_equal(run_process_traffic(p, lanes, NODE_LANES_MAX), 2);
    assert_true(lanes[0].sent + lanes[1].sent >= h->sent);
    h->sent = lanes[0].sent + lanes[1].sent;
}

static void hand_evaluated(const struct run_evaluation *e, void *user)
{
    struct hand *h = user;

    h->evaluated++;
    h->objective_sum = e->score.objective_sum;
}

static void hand_notice(const char *text, void *user)
{
    struct hand *h = user;

    (void)snprintf(h->notice, sizeof(h->notice), "%s", text);
}

static bool hand_interrupted(void *user)
{
    const struct hand *h = user;

    return h->leave_after != 0 && h->clocks >= h->leave_after;
}

static const struct run_process_events hand_events = {
    .plan = hand_plan,
    .joined = hand_joined,
    .clock = hand_clock,
    .evaluated = hand_evaluated,
    .notice = hand_notice,
};

static void *hand_main(void *user)
{
    struct hand *h = user;
    struct run_process_config config = {
        .join = h->home->first,
        .rank = h->rank,
        .state_dir = h->state_dir,
        .work = &h->work,
        .events = &hand_events,
        .interrupted = hand_interrupted,
        .user = h,
    };

    assert_int_equal(pki_identity_make(WIRE_ROLE_WORKER, "home", h->name, &config.identity, NULL),
                     OK);
    run_process(&config, &h->result);
    return NULL;
}

static void hands_work(struct home *home, struct hand *hands, uint32_t count)
{
    static const char *const names[] = {"w0", "w1", "w2"};

    for (uint32_t i = 0; i < count; i++) {
        hands[i].home = home;
        hands[i].name = hands[i].name == NULL ? names[i] : hands[i].name;
        assert_int_equal(pthread_create(&hands[i].thread, NULL, hand_main, &hands[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pthread_join(hands[i].thread, NULL), 0);
    }
}

#define MF_JOB                                                                                     \
    "{\"job\":\"mf\",\"clocks\":%u,\"evaluate\":10,\"options\":{\"users\":\"60\","                 \
    "\"items\":\"30\",\"ratings\":\"600\",\"batch\":\"40\",\"rank\":\"4\"}}"

static const char *mf_job(uint32_t clocks)
{
    static char job[NODE_JOB_BYTES];

    (void)snprintf(job, sizeof(job), MF_JOB, clocks);
    return job;
}

static void test_processes_train_what_the_site_says(void **state)
{
    (void)state;
    for (int delivery = NODE_PULL; delivery <= NODE_BROADCAST; delivery++) {
        static struct hand hands[PROCESSES];
        struct home home;
        double sum = 0;

        memset(hands, 0, sizeof(hands));
        for (uint32_t i = 0; i < PROCESSES; i++) {
            hands[i].rank = i;
        }
        home_open(&home, "bsp", (enum node_delivery)delivery, PROCESSES, mf_job(60));
        hands_work(&home, hands, PROCESSES);
        home_close(&home);
        for (uint32_t i = 0; i < PROCESSES; i++) {
            if (hands[i].result.rc != OK) {
                fail_msg("%s", hands[i].result.text.text);
            }
            assert_int_equal(hands[i].joined, 1);
            assert_int_equal(hands[i].clocks, 60);
            assert_int_equal(hands[i].evaluated, 6);
            assert_int_equal(hands[i].result.clock, 60);
            assert_int_equal(hands[i].result.lanes_count, 2);
            assert_true(hands[i].sent > 0);
            sum += hands[i].objective_sum;
        }
        assert_true(sum / 600 < 0.8);
    }
}

/* The site gives ranks to those who have none. */
static void test_ranks_may_come_from_the_site(void **state)
{
    static struct hand hands[2];
    struct home home;

    (void)state;
    memset(hands, 0, sizeof(hands));
    hands[0].rank = hands[1].rank = NODE_RANK_ANY;
    home_open(&home, "bsp", NODE_PULL, 2, mf_job(5));
    hands_work(&home, hands, 2);
    home_close(&home);
    assert_int_equal(hands[0].result.rc, OK);
    assert_int_equal(hands[1].result.rc, OK);
}

static void test_one_that_is_interrupted_leaves_and_the_other_goes_on(void **state)
{
    static struct hand hands[2];
    struct home home;

    (void)state;
    memset(hands, 0, sizeof(hands));
    hands[1].rank = 1;
    hands[1].leave_after = 7;
    home_open(&home, "bsp", NODE_BROADCAST, 2, mf_job(80));
    hands_work(&home, hands, 2);
    home_close(&home);
    assert_int_equal(hands[0].result.rc, OK);
    assert_int_equal(hands[0].clocks, 80);
    assert_int_equal(hands[1].result.rc, ERR_CANCELLED);
    assert_in_range(hands[1].clocks, 7, 9);
}

/* What mf keeps of its own: found by the next life, and refused by a job of another size. */
static void test_a_process_goes_on_from_what_another_has_saved(void **state)
{
    static struct hand first, second, other;
    char dir[] = "/tmp/strait-process-XXXXXX", path[64], wanted[80];
    struct home home;

    (void)state;
    assert_non_null(mkdtemp(dir));
    first = (struct hand){.state_dir = dir, .leave_after = 5};
    home_open(&home, "bsp", NODE_PULL, 1, mf_job(40));
    hands_work(&home, &first, 1);
    assert_int_equal(first.result.rc, ERR_CANCELLED);
    assert_string_equal(first.notice, "");
    second = (struct hand){.state_dir = dir, .clocks = first.result.clock};
    hands_work(&home, &second, 1);
    home_close(&home);
    assert_int_equal(second.result.rc, OK);
    assert_int_equal(second.clocks, 40);
    assert_int_equal(second.joined, first.result.clock + 1);
    (void)snprintf(wanted, sizeof(wanted), "goes on from the state that was saved after clock %u",
                   (unsigned)first.result.clock);
    assert_string_equal(second.notice, wanted);
    other = (struct hand){.state_dir = dir};
    home_open(&home, "bsp", NODE_PULL, 1,
              "{\"job\":\"mf\",\"clocks\":3,\"options\":{\"rank\":\"2\"}}");
    hands_work(&home, &other, 1);
    home_close(&home);
    assert_int_equal(other.result.rc, ERR_INVALID);
    assert_int_equal(other.result.stage, RUN_PROCESS_STATE);
    assert_non_null(strstr(other.result.text.text, "was made with other data"));
    for (char slot = 'a'; slot <= 'b'; slot++) {
        (void)snprintf(path, sizeof(path), "%s/worker-0-%c", dir, slot);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(dir), 0);
}

static void test_time_that_a_job_asks_for_is_waited(void **state)
{
    static struct hand hand;
    struct home home;

    (void)state;
    memset(&hand, 0, sizeof(hand));
    home_open(&home, "tap", NODE_PULL, 1,
              "{\"job\":\"synthetic\",\"clocks\":8,\"options\":{\"elements\":\"100\","
              "\"compute_ms\":\"5\"}}");
    hands_work(&home, &hand, 1);
    home_close(&home);
    assert_int_equal(hand.result.rc, OK);
    assert_int_equal(hand.clocks, 8);
}

static void expect_refused(const char *job, bool refuse, enum err rc, const char *complaint)
{
    static struct hand hand;
    struct home home;

    memset(&hand, 0, sizeof(hand));
    hand.refuse = refuse;
    home_open(&home, "bsp", NODE_PULL, 1, job);
    hands_work(&home, &hand, 1);
    home_close(&home);
    assert_int_equal(hand.result.rc, rc);
    assert_int_equal(hand.result.stage, RUN_PROCESS_JOB);
    if (strstr(hand.result.text.text, complaint) == NULL) {
        fail_msg("%s", hand.result.text.text);
    }
}

static void test_a_job_that_cannot_be_is_told(void **state)
{
    (void)state;
    expect_refused("{\"jab\":1}", false, ERR_MALFORMED, "'jab'");
    expect_refused("{\"job\":\"fm\"}", false, ERR_NOT_FOUND, "there is no job 'fm'");
    expect_refused("{\"job\":\"mf\",\"options\":{\"rnak\":\"1\"}}", false, ERR_INVALID, "rnak");
    expect_refused("", true, ERR_INVALID, "nothing is to be done");
}

/* A rank that somebody has is not given twice. */
static void test_two_of_one_rank_cannot_be(void **state)
{
    static struct hand hands[2];
    struct home home;

    (void)state;
    memset(hands, 0, sizeof(hands));
    hands[0].leave_after = 1; /* Two lanes may let in one each: then both are refused. */
    hands[1].leave_after = 1;
    home_open(&home, "bsp", NODE_PULL, 1,
              "{\"job\":\"synthetic\",\"clocks\":100000,\"options\":{\"elements\":\"100\"}}");
    hands[0].name = "one";
    hands[1].name = "two";
    hands_work(&home, hands, 2);
    home_close(&home);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(hands[i].result.rc == ERR_CANCELLED || hands[i].result.rc == ERR_EXISTS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes_train_what_the_site_says),
        cmocka_unit_test(test_ranks_may_come_from_the_site),
        cmocka_unit_test(test_one_that_is_interrupted_leaves_and_the_other_goes_on),
        cmocka_unit_test(test_a_process_goes_on_from_what_another_has_saved),
        cmocka_unit_test(test_time_that_a_job_asks_for_is_waited),
        cmocka_unit_test(test_a_job_that_cannot_be_is_told),
        cmocka_unit_test(test_two_of_one_rank_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
