#include "run/live/process.h"

#include "base/buf.h"
#include "loop/clock.h"
#include "loop/driver.h"
#include "net/entropy.h"
#include "net/stream/socket.h"
#include "obs/metric.h"

#include <stdio.h>
#include <string.h>

enum {
    PROCESS_SERIES = 256,
    PROCESS_NEWS_MAX = 64,
    PROCESS_TEXT_BYTES = ERR_TEXT_BYTES,
};

#define PROCESS_POOL_BYTES (UINT64_C(1) << 30)
#define PROCESS_WHY_NS INT64_C(5000000000) /* Waiting for so long is worth a word. */

enum process_kind {
    PROCESS_JOINED,
    PROCESS_CLOCK,
    PROCESS_EVALUATED,
    PROCESS_NOTICE,
    PROCESS_UNRECORDED
};

/* What happened on the loop and was not told yet. */
struct process_news {
    enum process_kind kind;
    union {
        uint64_t joined;
        struct run_clock clock;
        struct run_evaluation evaluated;
        char text[PROCESS_TEXT_BYTES];
    };
};

struct run_process {
    const struct run_process_config *config;
    struct run_process_result *result;
    struct loop_driver *driver;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct app *app;

    /* The loop's. */
    struct net_socket_transport plain;
    struct net_tls_transport *tls;
    struct node_worker *node;
    struct run_state *state;
    struct run_trainer *trainer;
    struct process_news news[PROCESS_NEWS_MAX];
    uint32_t news_count;
    bool leaving;
    bool never; /* Stays false: to wait for nothing but time. */
    bool late;  /* That a step took too long was said. */
};

/* Telling. News are put down on the loop, and told outside of it: whoever reads them may be slow.
 */

static struct process_news *process_put(struct run_process *p, enum process_kind kind)
{
    /* A flood of notices must not push the rest out. */
    uint32_t room = kind == PROCESS_NOTICE ? PROCESS_NEWS_MAX / 2 : PROCESS_NEWS_MAX;

    if (p->news_count >= room) {
        return NULL;
    }
    p->news[p->news_count].kind = kind;
    return &p->news[p->news_count++];
}

static void process_notice(const char *text, void *user)
{
    struct process_news *n = process_put(user, PROCESS_NOTICE);

    if (n != NULL) {
        (void)snprintf(n->text, sizeof(n->text), "%s", text);
    }
}

static void process_joined(struct run_trainer *t, uint64_t clock, void *user)
{
    struct process_news *n = process_put(user, PROCESS_JOINED);

    (void)t;
    if (n != NULL) {
        n->joined = clock;
    }
}

static void process_clock(struct run_trainer *t, const struct run_clock *c, void *user)
{
    struct run_process *p = user;
    struct process_news *n = process_put(p, PROCESS_CLOCK);

    (void)t;
    p->result->clock = c->clock;
    if (n != NULL) {
        n->clock = *c;
    }
}

static void process_evaluated(struct run_trainer *t, const struct run_evaluation *e, void *user)
{
    struct process_news *n = process_put(user, PROCESS_EVALUATED);

    (void)t;
    if (n != NULL) {
        n->evaluated = *e;
    }
}

static void process_trainer_notice(struct run_trainer *t, const char *text, void *user)
{
    (void)t;
    process_notice(text, user);
}

static void process_unrecorded(struct run_trainer *t, const char *text, void *user)
{
    struct process_news *n = process_put(user, PROCESS_UNRECORDED);

    (void)t;
    if (n != NULL) {
        (void)snprintf(n->text, sizeof(n->text), "%s", text);
    }
}

static const struct run_trainer_events process_trainer_events = {
    .joined = process_joined,
    .clock = process_clock,
    .evaluated = process_evaluated,
    .notice = process_trainer_notice,
    .unrecorded = process_unrecorded,
};

static void process_tell_one(struct run_process *p, const struct process_news *n)
{
    const struct run_process_events *e = p->config->events;

    if (n->kind == PROCESS_JOINED && e->joined != NULL) {
        e->joined(n->joined, p->config->user);
    } else if (n->kind == PROCESS_CLOCK && e->clock != NULL) {
        e->clock(p, &n->clock, p->config->user);
    } else if (n->kind == PROCESS_EVALUATED && e->evaluated != NULL) {
        e->evaluated(&n->evaluated, p->config->user);
    } else if (n->kind == PROCESS_NOTICE && e->notice != NULL) {
        e->notice(n->text, p->config->user);
    } else if (n->kind == PROCESS_UNRECORDED && e->unrecorded != NULL) {
        e->unrecorded(n->text, p->config->user);
    }
}

/* The calling thread owns the loop before and after, not in between. */
static void process_tell(struct run_process *p)
{
    struct process_news told[PROCESS_NEWS_MAX];
    uint32_t count = p->news_count;

    if (count == 0) {
        return;
    }
    memcpy(told, p->news, count * sizeof(told[0]));
    p->news_count = 0;
    loop_driver_leave(p->driver, true);
    for (uint32_t i = 0; i < count; i++) {
        process_tell_one(p, &told[i]);
    }
    loop_driver_enter(p->driver);
}

/* Waiting. */

static bool process_interrupted(void *user)
{
    struct run_process *p = user;

    return !p->leaving && p->config->interrupted != NULL && p->config->interrupted(p->config->user);
}

/* Say for whom we wait, if we do. */
static void process_why(struct run_process *p)
{
    char why[256] = "";

    if (p->config->events->waiting != NULL && node_worker_why(p->node, why, sizeof(why))) {
        loop_driver_leave(p->driver, true);
        p->config->events->waiting(why, p->config->user);
        loop_driver_enter(p->driver);
    }
}

/* Has a lane been away for too long? */
static bool process_gives_up(struct run_process *p, struct err_text *text)
{
    int64_t away_ns = node_worker_away_ns(p->node);
    char why[256] = "";

    if (p->config->patience_ns == 0 || away_ns < p->config->patience_ns) {
        return false;
    }
    (void)node_worker_why(p->node, why, sizeof(why));
    (void)err_text_set(text, ERR_TIMEOUT, "gave up after %.0f s: %s", (double)away_ns * 1e-9,
                       why[0] != '\0' ? why : "a lane cannot be reached");
    return true;
}

/* Until *@done; ERR_CANCELLED once, when it was interrupted; ERR_TIMEOUT with @text: a lane is away
 * for good. Owned. */
static enum err process_wait(struct run_process *p, const bool *done, struct err_text *text)
{
    int64_t patience_ns = p->config->patience_ns;
    int64_t tick_ns =
        patience_ns > 0 && patience_ns < PROCESS_WHY_NS ? patience_ns : PROCESS_WHY_NS;
    enum err rc = ERR_TIMEOUT;

    while (rc == ERR_TIMEOUT) {
        int64_t until_ns = loop_now_ns(loop_driver_loop(p->driver)) + tick_ns;

        rc = loop_driver_wait(p->driver, done, until_ns, process_interrupted, p);
        process_tell(p);
        if (rc == ERR_TIMEOUT) {
            process_why(p);
            if (process_gives_up(p, text)) {
                break;
            }
        }
    }
    return rc;
}

/* Building. */

/* Buffers belong to a thread: the one that has the loop. */
static void process_moved(void *user)
{
    node_worker_adopt(((struct run_process *)user)->node);
}

static enum err process_open_tls(struct run_process *p, struct node_worker_config *config,
                                 struct err_text *text)
{
    const struct net_tls_config *tls = &p->config->tls;
    enum err rc = net_tls_transport_create(config->loop, tls, &p->tls, text);

    if (rc != OK) {
        return rc;
    }
    config->transport = net_tls_transport_base(p->tls);
    config->identity = *net_tls_identity(p->tls);
    return config->identity.role == WIRE_ROLE_WORKER
               ? OK
               : err_text_set(text, ERR_TLS,
                              "%.300s: a worker's certificate is needed; strait cert issue CA "
                              "worker/SITE/NAME makes one",
                              tls->cert_path);
}

static enum err process_open_node(struct run_process *p, struct err_text *text)
{
    const struct run_process_config *c = p->config;
    struct node_worker_config config = {
        .loop = loop_driver_loop(p->driver),
        .pool = p->pool,
        .registry = p->registry,
        .identity = c->identity,
        .rank = c->rank,
        .streams = c->streams,
        .first = c->join,
        .pace_bytes_per_s = c->pace_bytes_per_s,
        .paces = c->paces,
        .paces_count = c->paces_count,
        .relay = c->relay,
        .relay_off = c->relay_off,
        .agg = c->agg,
        .edge = c->edge,
        .mono_ns = clock_mono_ns,
        .notice = process_notice,
        .user = p,
    };
    enum err rc = entropy_u64(&config.seed);

    if (rc == OK && c->tls.cert_path != NULL) {
        rc = process_open_tls(p, &config, text);
    } else {
        net_socket_transport_init(&p->plain, config.loop, &c->options);
        config.transport = &p->plain.base;
        config.insecure = true;
    }
    if (rc == OK) {
        config.incarnation = config.seed | 1;
        rc = node_worker_create(&config, &p->node);
    }
    return rc;
}

static enum err process_open(struct run_process *p, struct err_text *text)
{
    uint64_t bytes = p->config->pool_bytes == 0 ? PROCESS_POOL_BYTES : p->config->pool_bytes;
    enum err rc = buf_pool_create(bytes, &p->pool);

    if (rc == OK) {
        rc = obs_registry_create(PROCESS_SERIES, &p->registry);
    }
    if (rc == OK) {
        rc = loop_driver_create("worker", &p->driver);
    }
    if (rc == OK) {
        loop_driver_enter(p->driver);
        rc = process_open_node(p, text);
        if (rc == OK) {
            loop_driver_on_move(p->driver, process_moved, p);
        }
        loop_driver_leave(p->driver, true);
    }
    return rc;
}

static void process_close(struct run_process *p)
{
    if (p->driver != NULL) {
        loop_driver_enter(p->driver);
        loop_driver_on_move(p->driver, NULL, NULL);
        run_trainer_destroy(p->trainer);
        run_state_destroy(p->state);
        node_worker_destroy(p->node);
        net_tls_transport_destroy(p->tls);
        loop_driver_leave(p->driver, false);
        loop_driver_destroy(p->driver);
    }
    app_destroy(p->app);
    obs_registry_destroy(p->registry);
    buf_pool_destroy(p->pool);
}

/* Learn what the site is, and what is to be done there. */
static enum err process_meet(struct run_process *p, struct err_text *text)
{
    struct node_op op = {.done = false};
    struct node_site site;
    enum err rc;

    loop_driver_enter(p->driver);
    node_worker_meet(p->node, &op);
    rc = process_wait(p, &op.done, text);
    if (rc == OK) {
        rc = op.rc;
        *text = op.text;
    } else {
        node_worker_cancel(p->node, &op);
    }
    if (rc == OK) {
        site = *node_worker_site(p->node);
    }
    loop_driver_leave(p->driver, true);
    if (rc != OK) {
        return rc;
    }
    p->result->stage = RUN_PROCESS_JOB;
    run_work_init(p->config->work);
    if (site.job[0] != '\0') {
        rc = run_work_parse(site.job, p->config->work, text);
    }
    return rc == OK ? p->config->events->plan(&site, (uint32_t)op.value, p->config->work, text,
                                              p->config->user)
                    : rc;
}

/* Which part of the data is its. */
static uint32_t process_part(const struct run_process *p)
{
    return p->config->has_part ? p->config->part : node_worker_rank(p->node);
}

/* Reading the data may take its time; the session goes on meanwhile. */
static enum err process_make_job(struct run_process *p, struct err_text *text)
{
    const struct run_work *w = p->config->work;
    struct app_config config;
    uint32_t part;

    loop_driver_enter(p->driver);
    part = process_part(p);
    loop_driver_leave(p->driver, false);
    config = run_work_app(w, part, w->workers);
    return app_create(&config, &p->app, text);
}

/* Find what a former life has saved, if the job keeps anything. */
static enum err process_open_state(struct run_process *p, struct err_text *text)
{
    struct run_state_config config = {
        .loop = loop_driver_loop(p->driver),
        .place = p->config->state_dir,
        .app = p->app,
        .workers = p->config->work->workers,
    };
    enum err rc;

    if (p->config->state_dir == NULL || p->app->ops->state == NULL) {
        return OK;
    }
    p->result->stage = RUN_PROCESS_STATE;
    loop_driver_enter(p->driver);
    config.rank = process_part(p);
    rc = store_dir_create(p->config->state_dir, config.loop, &config.store, text);
    if (rc == OK) {
        rc = run_state_create(&config, &p->state, text);
        if (rc != OK) {
            store_destroy(config.store);
        }
    }
    loop_driver_leave(p->driver, true);
    return rc;
}

/* A step took longer than it was given: told once, at the first that is a tenth too long. */
static void process_late(struct run_process *p, int64_t took_ns)
{
    int64_t given_ns = p->config->compute_ns;
    char text[160];

    if (p->late || took_ns <= given_ns + given_ns / 10 || p->config->events->notice == NULL) {
        return;
    }
    p->late = true;
    (void)snprintf(
        text, sizeof(text),
        "a step took %.3g ms, and was given %.3g ms: this machine is too slow for it, or "
        "too busy",
        (double)took_ns * 1e-6, (double)given_ns * 1e-6);
    p->config->events->notice(text, p->config->user);
}

/* The step, outside of the loop. */
static void process_compute(struct run_process *p)
{
    struct loop *loop = loop_driver_loop(p->driver);
    int64_t begin_ns = loop_now_ns(loop), given_ns = p->config->compute_ns, until_ns = 0;
    bool steps = run_trainer_steps(p->trainer);
    double flops, seconds;

    loop_driver_leave(p->driver, true);
    run_trainer_compute(p->trainer, &flops, &seconds);
    loop_driver_enter(p->driver);
    if (steps && given_ns > 0) {
        until_ns = begin_ns + given_ns;
        process_late(p, loop_now_ns(loop) - begin_ns);
    } else if (seconds > 0) {
        until_ns = loop_now_ns(loop) + (int64_t)(seconds * 1e9);
    }
    if (until_ns > loop_now_ns(loop)) {
        /* Asked for: time passes, or somebody has had enough. */
        enum err rc = loop_driver_wait(p->driver, &p->never, until_ns, process_interrupted, p);

        CHECK(rc != OK);
    }
    run_trainer_computed(p->trainer);
}

static enum err process_train(struct run_process *p, struct err_text *text)
{
    struct run_trainer_config config = {
        .loop = loop_driver_loop(p->driver),
        .node = p->node,
        .app = p->app,
        .state = p->state,
        .state_every = p->config->state_every,
        .recording = p->config->recording,
        .clocks = p->config->work->clocks,
        .evaluate_every = p->config->work->evaluate_every,
        .events = &process_trainer_events,
        .user = p,
    };
    enum err rc;

    p->result->stage = RUN_PROCESS_TRAINING;
    loop_driver_enter(p->driver);
    config.number = process_part(p);
    rc = run_trainer_create(&config, &p->trainer, text);
    while (rc == OK && !run_trainer_result(p->trainer, &rc, text)) {
        enum err waited = process_interrupted(p) ? ERR_CANCELLED : OK;

        if (waited == OK) {
            waited = process_wait(p, run_trainer_attention(p->trainer), text);
        }
        if (waited == ERR_TIMEOUT) {
            rc = waited;
            break;
        }
        if (waited == ERR_CANCELLED) {
            p->leaving = true;
            run_trainer_leave(p->trainer);
        }
        if (run_trainer_is_due(p->trainer)) {
            process_compute(p);
        }
        process_tell(p);
    }
    if (p->trainer != NULL && run_trainer_is_unfit(p->trainer)) {
        p->result->stage = RUN_PROCESS_STATE;
    }
    loop_driver_leave(p->driver, false);
    return rc == OK && p->leaving ? ERR_CANCELLED : rc;
}

/* What is left to tell, and the sums. */
static void process_settle(struct run_process *p)
{
    loop_driver_enter(p->driver);
    process_tell(p);
    p->result->rebases = node_worker_rebases(p->node);
    p->result->refused = node_worker_refused(p->node);
    p->result->lost_from = node_worker_lost_from(p->node);
    if (p->result->lost_from > p->result->clock) {
        p->result->lost_from = 0;
    }
    loop_driver_leave(p->driver, false);
    p->result->lanes_count = run_process_traffic(p, p->result->lanes, NODE_LANES_MAX);
}

void run_process(const struct run_process_config *config, struct run_process_result *result_out)
{
    struct run_process p = {.config = config, .result = result_out};
    struct err_text *text = &result_out->text;
    enum err rc;

    *result_out = (struct run_process_result){.stage = RUN_PROCESS_START};
    rc = process_open(&p, text);
    if (rc == OK) {
        rc = process_meet(&p, text);
    }
    if (rc == OK) {
        rc = process_make_job(&p, text);
    }
    if (rc == OK) {
        rc = process_open_state(&p, text);
    }
    if (rc == OK) {
        rc = process_train(&p, text);
    }
    if (p.node != NULL) {
        process_settle(&p);
    }
    result_out->rc = rc;
    if (rc != OK && text->text[0] == '\0') {
        (void)err_text_set(text, rc, "%s", err_string(rc));
    }
    process_close(&p);
}

uint32_t run_process_traffic(struct run_process *p, struct run_process_lane *lanes_out,
                             uint32_t max)
{
    const struct node_site *site;
    uint32_t count;

    loop_driver_enter(p->driver);
    site = node_worker_site(p->node);
    count = site == NULL ? 0 : site->lanes < max ? site->lanes : max;
    for (uint32_t i = 0; i < count; i++) {
        node_worker_traffic(p->node, i, &lanes_out[i].sent, &lanes_out[i].received);
    }
    loop_driver_leave(p->driver, false);
    return count;
}
