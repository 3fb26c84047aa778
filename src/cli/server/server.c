/* strait server: lanes that hold the shards of a site, until a signal. */

#include "cli/server/server.h"

#include "base/log.h"
#include "cli/command/commands.h"
#include "cli/member/advertise.h"
#include "cli/member/detour.h"
#include "cli/worker/job.h"
#include "loop/loop.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

enum {
    SERVER_LOOK_MS = 100,       /* So that who comes and goes is seen. */
    SERVER_LOOK_MANY_MS = 1000, /* With many workers a look costs more. */
    SERVER_MANY = 32,
};

struct server {
    struct cli_context *ctx;
    struct server_plan plan;
    struct loop *loop;
    struct loop_signal *signals[2];
    struct loop_timer look;
    struct node_server *node;
    json_t *statuses[SERVER_LANES_MAX]; /* The answers to one look. */
    uint32_t answers_due;
    int64_t status_due_ns;
    bool ready;
    bool said; /* That it is ready. */
    bool stopping;
    bool over;
    enum cli_exit status;
    struct server_news news;
};

static void server_end(struct server *s, enum cli_exit status)
{
    s->over = true;
    s->status = status;
    loop_stop(s->loop);
}

/* Looking at our own lanes. */

static json_t *server_report(struct server *s)
{
    json_t *lanes = json_array();
    json_t *report = json_pack("{s:s, s:o}", "site", s->plan.site.name, "lanes", lanes);

    for (uint32_t i = 0; i < node_server_lanes(s->node); i++) {
        char address[NET_ADDRESS_BYTES];
        json_t *lane =
            json_pack("{s:I, s:s}", "lane", (json_int_t)s->plan.first_number + i, "address",
                      net_address_format(node_server_told(s->node, i), address));

        if (s->statuses[i] != NULL) {
            (void)json_object_set_new(lane, "status", s->statuses[i]);
            s->statuses[i] = NULL;
        } else {
            (void)json_object_set_new(lane, "error", json_string("out of memory"));
        }
        (void)json_array_append_new(lanes, lane);
    }
    return report;
}

/* When to look again. */
static int64_t server_look_ns(const struct server *s)
{
    bool many = json_object_size(s->news.members) >= SERVER_MANY;
    int64_t ns = (many ? SERVER_LOOK_MANY_MS : SERVER_LOOK_MS) * INT64_C(1000000);

    return s->plan.status_every_ns > 0 && s->plan.status_every_ns < ns ? s->plan.status_every_ns
                                                                       : ns;
}

static void server_stop(struct server *s)
{
    node_server_stop(s->node, "the server was stopped");
}

/* Who wants to know how the lanes are hears it once more, and then they stop. */
static void server_looked_last(struct server *s)
{
    json_t *report = server_report(s);

    server_say_status(s->ctx, report);
    json_decref(report);
    server_stop(s);
}

static void server_looked(struct server *s)
{
    json_t *report;

    if (s->stopping) {
        if (s->plan.status_every_ns > 0) {
            server_looked_last(s);
        }
        return;
    }
    report = server_report(s);
    if (!s->said) {
        s->said = true;
        server_say_ready(s->ctx, &s->plan, s->node, report);
        if (s->ctx->out_errno != 0) {
            server_end(s, CLI_FAILED); /* Nobody can know how to join. */
        }
    }
    server_say_news(s->ctx, &s->news, report, loop_now_ns(s->loop));
    if (s->plan.status_every_ns > 0 && loop_now_ns(s->loop) >= s->status_due_ns) {
        s->status_due_ns = loop_now_ns(s->loop) + s->plan.status_every_ns;
        server_say_status(s->ctx, report);
    }
    json_decref(report);
    loop_timer_start_in(&s->look, server_look_ns(s));
}

static void server_answered(uint32_t index, struct json_t *status, void *user)
{
    struct server *s = user;

    json_decref(s->statuses[index]);
    s->statuses[index] = status;
    if (--s->answers_due == 0) {
        server_looked(s);
    }
}

static void server_look(struct loop_timer *timer, void *user)
{
    struct server *s = user;

    (void)timer;
    s->answers_due = node_server_lanes(s->node);
    for (uint32_t i = 0; i < node_server_lanes(s->node); i++) {
        CHECK(node_server_ask(s->node, i, server_answered, s));
    }
}

/* Events of the lanes. */

static void server_listening(struct node_server *node, void *user)
{
    struct server *s = user;
    struct net_address address;
    struct err_text text = {""};
    enum err rc = advertise_choose(node_server_bound(node, 0), cli_text(s->ctx, "advertise"),
                                   &address, &text);

    if (rc != OK) {
        server_end(s, cli_error(s->ctx, rc == ERR_INVALID ? CLI_ERROR_BAD_VALUE : CLI_ERROR_LISTEN,
                                NULL, "server: %s%s", rc == ERR_INVALID ? "--advertise: " : "",
                                text.text));
        return;
    }
    node_server_tell(node, address.host);
}

static void server_failed(struct node_server *node, enum err rc, const char *text, void *user)
{
    struct server *s = user;
    enum cli_error_id id =
        rc == ERR_NOMEM                  ? CLI_ERROR_NO_MEMORY
        : rc == ERR_TLS                  ? CLI_ERROR_BAD_CERT
        : rc == ERR_REFUSED              ? CLI_ERROR_CERT_REFUSED
        : node_server_store_failed(node) ? (rc == ERR_FULL ? CLI_ERROR_STORE_FULL : CLI_ERROR_STORE)
        : rc == ERR_CORRUPT || rc == ERR_VERSION || rc == ERR_EXISTS || rc == ERR_INVALID
            ? CLI_ERROR_RESTORE
            : CLI_ERROR_LISTEN;

    server_end(s, cli_error(s->ctx, id, NULL, "server: %s", text));
}

static void server_ready(struct node_server *node, void *user)
{
    struct server *s = user;

    (void)node;
    s->ready = true;
    if (!s->stopping) {
        loop_timer_start_in(&s->look, 0);
    }
}

static void server_stopped(struct node_server *node, enum err rc, const char *text, void *user)
{
    struct server *s = user;
    uint64_t clock = node_server_clock(node);

    if (rc != OK) {
        server_end(s, cli_error(s->ctx, CLI_ERROR_KEEP, NULL, "stopped at clock %" PRIu64 ": %s",
                                clock, text));
        return;
    }
    if (s->ctx->json) {
        server_say_json(s->ctx,
                        json_pack("{s:s, s:I}", "event", "stopped", "clock", (json_int_t)clock));
    }
    cli_note(s->ctx, "stopped at clock %" PRIu64, clock);
    server_end(s, CLI_DONE);
}

static const struct node_server_events server_events = {
    .listening = server_listening,
    .failed = server_failed,
    .ready = server_ready,
    .stopped = server_stopped,
};

static void server_trace(uint32_t lane, const char *line, void *user)
{
    (void)user;
    LOG_INF("node", "lane %" PRIu32 ": %s", lane, line);
}

/* The first signal stops it cleanly, the second at once. */
static void server_caught(int signum, void *user)
{
    struct server *s = user;

    if (s->stopping || !s->ready) {
        server_end(s, signum == SIGINT ? CLI_INTERRUPTED : CLI_TERMINATED);
        return;
    }
    s->stopping = true;
    loop_timer_stop(&s->look);
    cli_note(s->ctx, "stopping: %severybody is told; once more stops at once",
             s->plan.store == NULL ? "" : "a last checkpoint is made, ");
    if (s->plan.status_every_ns == 0) {
        server_stop(s);
    } else if (s->answers_due == 0) {
        server_look(&s->look, s);
    }
}

/* Beginning and end. */

static enum err server_open(struct server *s, struct err_text *text)
{
    const struct server_plan *p = &s->plan;
    struct node_server_config config = {
        .site = p->site,
        .between = p->sites == NULL ? NULL : run_sites_between(p->sites),
        .identity = p->identity,
        .lanes = p->lanes[p->index],
        .first_number = p->first_number,
        .listen = p->listen,
        .first = p->first,
        .store = p->store,
        .restore = p->restore,
        .restore_clock = p->restore_clock,
        .history = p->history,
        .begun = p->begun,
        .options = {.detours = s->ctx->detours},
        .pace_bytes_per_s = p->pace_bytes_per_s,
        .agg = p->agg,
        .edge = p->edge,
        .in_flight_bytes = p->in_flight_bytes,
        .table_bytes = p->table_bytes,
        .events = &server_events,
        .trace = log_enabled("node", LOG_INFO) ? server_trace : NULL,
        .user = s,
    };
    enum err rc = loop_create(&s->loop);

    if (rc == OK) {
        rc = loop_timer_init(&s->look, s->loop, server_look, s);
    }
    if (rc == OK) {
        rc = loop_signal_create(s->loop, SIGINT, server_caught, s, &s->signals[0]);
    }
    if (rc == OK) {
        rc = loop_signal_create(s->loop, SIGTERM, server_caught, s, &s->signals[1]);
    }
    if (rc != OK) {
        return err_text_set(text, rc, "cannot start: %s", cli_error_start(rc));
    }
    config.loop = s->loop;
    if (p->tls) {
        config.tls = (struct net_tls_config){
            .cert_path = p->files.cert,
            .key_path = p->files.key,
            .ca_path = p->files.ca,
            .crl_path = p->files.crl,
            .roles_accepted = WIRE_ROLE_WORKER | WIRE_ROLE_SERVER | WIRE_ROLE_OPERATOR,
            .roles_dialled = WIRE_ROLE_SERVER,
            .options = {.detours = s->ctx->detours},
        };
    }
    return node_server_create(&config, &s->node, text);
}

static void server_close(struct server *s)
{
    node_server_destroy(s->node);
    loop_timer_deinit(&s->look);
    for (int i = 0; i < 2; i++) {
        if (s->signals[i] != NULL) {
            loop_signal_destroy(s->signals[i]);
        }
    }
    for (int i = 0; i < SERVER_LANES_MAX; i++) {
        json_decref(s->statuses[i]);
    }
    server_news_deinit(&s->news);
    loop_destroy(s->loop);
}

static enum cli_exit server_work(struct server *s)
{
    struct err_text text = {""};
    enum err rc = server_open(s, &text);

    if (rc != OK) {
        return cli_error(s->ctx, rc == ERR_INVALID ? CLI_ERROR_SETTINGS : CLI_ERROR_NO_MEMORY, NULL,
                         "server: %s", text.text);
    }
    while (!s->over) {
        loop_run(s->loop);
    }
    return s->status;
}

/* On each line of the log: the site, once that is known, and "server-1". */
static void server_origin(const struct server_plan *p)
{
    char member[24];

    (void)snprintf(member, sizeof(member), "server-%" PRIu32, p->index);
    log_set_origin(p->site.name, member);
}

static enum cli_exit server_run(struct cli_context *ctx)
{
    static struct server s; /* Too large for the stack. */
    enum cli_exit status;

    s = (struct server){.ctx = ctx};
    status = server_plan_read(ctx, &s.plan);
    if (status == CLI_DONE) {
        status = cli_detours_read(ctx);
    }
    server_origin(&s.plan);
    if (status == CLI_DONE && s.plan.index > 0) {
        status = server_first_ask(ctx, &s.plan);
    } else if (status == CLI_DONE) {
        if (s.plan.tls && cli_text(ctx, "site") == NULL) {
            status = server_plan_identity(ctx, &s.plan); /* The certificate knows the site. */
        }
        status = status == CLI_DONE ? server_plan_site(ctx, true, &s.plan) : status;
        status = status == CLI_DONE ? server_plan_check(ctx, &s.plan) : status;
    }
    if (status == CLI_DONE) {
        status = server_plan_identity(ctx, &s.plan);
    }
    if (status == CLI_DONE) {
        status = server_plan_between(ctx, &s.plan);
    }
    if (status == CLI_DONE) {
        server_origin(&s.plan);
        status = server_work(&s);
        server_close(&s);
    }
    run_sites_free(s.plan.sites);
    return status;
}

/* clang-format off */
static const struct cli_option server_options[] = {
    {.name = "site", .placeholder = "NAME",
     .help = "the name of the site; default: that in the certificate"},
    {.name = "listen", .placeholder = "ADDRESS",
     .help = "where to listen: tls://HOST:PORT, or tcp://HOST:PORT with --insecure; lane i has "
             "port + i, and with port 0 the system chooses; default: port 7400 on all addresses, "
             "with one --insecure on 127.0.0.1"},
    {.name = "advertise", .placeholder = "HOST",
     .help = "the name or address that others reach this machine by"},
    DETOUR_OPTION,
    {.name = "cert", .placeholder = "DIR", .kind = CLI_DIR,
     .help = "the folder with the server's certificate"},
    {.name = "name", .placeholder = "NAME",
     .help = "whose certificate in that folder, if there are several; with --insecure the "
             "server's name, default: s0, s1, ... by --index"},
    SECURITY_OPTION_INSECURE,
    {.name = "workers", .placeholder = "NUMBER", .fallback = "1", .kind = CLI_NUMBER, .min = 1,
     .max = SYNC_MEMBERS_MAX, .help = "training starts when so many workers have joined"},
    {.name = "barrier", .placeholder = "NAME", .fallback = "bsp", .kind = CLI_WORDS,
     .words = "bsp ssp tap",
     .help = "who waits for whom; bsp: all for all; ssp: the fastest may be --staleness clocks "
             "ahead; tap: nobody for anybody"},
    {.name = "staleness", .placeholder = "CLOCKS", .fallback = "2", .kind = CLI_NUMBER, .min = 0,
     .max = SYNC_STALENESS_MAX, .help = "with ssp only"},
    {.name = "delivery", .placeholder = "HOW", .fallback = "pull", .kind = CLI_WORDS,
     .words = "pull broadcast",
     .help = "pull: workers read; broadcast: every sum is sent to all as soon as it is complete"},
    {.name = "deadline", .placeholder = "TIME", .fallback = "120s", .kind = CLI_DURATION,
     .min = 0, .max = INT64_C(86400) * 1000000,
     .help = "a worker that is so much later than the first one in a clock is no longer waited "
             "for; 0: wait for ever"},
    {.name = "order", .placeholder = "HOW", .fallback = "arrival", .kind = CLI_WORDS,
     .words = "arrival fixed",
     .help = "fixed: add updates by rank, so that sums have the same bits every time; with bsp "
             "only"},
    {.name = "push", .placeholder = "CHAIN",
     .help = "what workers hold back of their updates until it is large enough, and how the rest "
             "is written: \"dvf:delta=0.001 | auto\"; default: all is sent as it is"},
    {.name = "broadcast", .placeholder = "CHAIN",
     .help = "the same for sums, with --delivery broadcast"},
    {.name = "required", .placeholder = "RATE", .kind = CLI_RATE, .min = 8, .max = INT64_MAX,
     .help = "for chains with two thresholds, low=NUMBER,up=NUMBER: the lower one counts only "
             "while each link carries more than this"},
    {.name = "tree", .placeholder = "TREE",
     .help = "with --delivery broadcast: lanes send sums to a few workers, who pass them on; "
             "degree=5,depth=3 is the most that anybody sends to and the most hops, leaf=COST (0 "
             "to 1000) what each worker costs that passes nothing on"},
    {.name = "lanes", .placeholder = "NUMBER", .fallback = "1",
     .help = "threads of this server, each with its own port, connections and shards; one is "
             "enough for a start, more than one per core is of no use; unequal servers: a list, "
             "2,1,1"},
    {.name = "shards", .placeholder = "NUMBER", .kind = CLI_NUMBER, .min = 1,
     .max = NODE_SHARDS_MAX,
     .help = "parts of the model, which lanes share out; fixed as long as checkpoints are to be "
             "used; default: one per lane"},
    {.name = "servers", .placeholder = "NUMBER", .fallback = "1", .kind = CLI_NUMBER, .min = 1,
     .max = SERVER_SERVERS_MAX, .help = "how many servers the site has"},
    {.name = "index", .placeholder = "NUMBER", .fallback = "0", .kind = CLI_NUMBER, .min = 0,
     .max = SERVER_SERVERS_MAX - 1, .help = "which of them this is, from 0 on"},
    {.name = "first", .placeholder = "ADDRESS",
     .help = "for all but server 0: where server 0 is; the settings come from there"},
    {.name = "between", .placeholder = "FILE", .kind = CLI_FILE,
     .help = "the other sites that share the model, where they are, and how they share; the same "
             "on all servers of all sites"},
    {.name = "store", .placeholder = "DIR", .kind = CLI_DIR,
     .help = "keep checkpoints in this folder, and go on from the newest one"},
    {.name = "restore", .placeholder = "WHAT", .fallback = "newest",
     .help = "with --store, what to start from. newest: the newest checkpoint, or not at all if a "
             "shard has lost it; CLOCK, a number: the newest checkpoint of that clock or before, "
             "and later ones are given up; none: discard all checkpoints and begin anew. The same "
             "on all servers of the site"},
    {.name = "checkpoint-every", .placeholder = "CLOCKS", .fallback = "10", .kind = CLI_NUMBER,
     .min = 0, .max = 1000000000,
     .help = "with --store: how often; 0: only when asked, and at the end"},
    {.name = "keep", .placeholder = "NUMBER", .fallback = "2", .kind = CLI_NUMBER, .min = 1,
     .max = 100, .help = "checkpoints to keep of each shard"},
    {.name = "pace", .placeholder = "RATE", .kind = CLI_RATE,
     .help = "send at most so fast to each worker"},
    {.name = "agg", .placeholder = "NAME",
     .help = "the aggregation switch that this server is behind, for trees"},
    {.name = "edge", .placeholder = "NAME", .help = "and the switch of its rack"},
    {.name = "table-memory", .placeholder = "SIZE", .kind = CLI_SIZE, .min = 1 << 20,
     .max = INT64_C(1) << 46,
     .help = "most memory that tables may need on this server, with their sums and the state of "
             "the optimizer, shared out evenly over its lanes; a table beyond it is refused; "
             "default: three quarters of what the machine, its control group and ulimit allow"},
    {.name = "in-flight", .placeholder = "SIZE", .kind = CLI_SIZE, .min = 8 << 20,
     .max = INT64_C(1) << 40,
     .help = "most memory for what comes, waits and goes, beside twice the tables; default: 64 MiB "
             "and 128 MiB per worker, taken as it is needed; at least 4 MiB per worker"},
    {.name = "status-every", .placeholder = "TIME", .kind = CLI_DURATION, .min = 10000,
     .max = INT64_C(3600) * 1000000,
     .help = "with --json: print how each lane is so often, as strait status --json has it"},
    WORKER_JOB_OPTIONS(", and tells the workers that have none of their own"),
    {.name = "stop-objective", .placeholder = "NUMBER", .kind = CLI_DECIMAL,
     .help = "workers stop when the objective is as good as this"},
    {.name = "rising", .help = "a larger objective is better"},
    {.name = "stop-accuracy", .placeholder = "PART", .kind = CLI_DECIMAL,
     .help = "workers stop when so large a part of the test set is right, as 0.9"},
    {0}};
/* clang-format on */

const struct cli_command cli_command_server = {
    .path = "server",
    .summary = "hold the parameters of a site, and serve its workers",
    .group = CLI_GROUP_RUN,
    .paragraphs =
        (const char *const[]){
            "Starts a server and prints the exact command with which workers join. It waits for "
            "--workers of them, says who comes and goes, for whom it waits if nothing moves, and "
            "ends at Ctrl-C or SIGTERM: it makes a last checkpoint if it has a --store, says "
            "good-bye to everybody, and is done. A second one ends it at once.",
            "With a --store it goes on from the newest checkpoint that is there, after a crash "
            "too. "
            "It does not start if a shard has lost its part of it: --restore says what to do then. "
            "With pull and checkpoints an update counts for good only when it is in a "
            "checkpoint, and workers send again what was not; with broadcast the workers' copies "
            "bring back what a checkpoint lacks.",
            "A site may have several servers: the first one prints the commands for the others, "
            "which get all settings from it. Workers only ever need the address of the first.",
            "Several sites may share one model: each has its own servers and workers and a whole "
            "copy, and tells the others what is significant. --between names them all, by the "
            "address of each one's first server; this server finds its own site in the list.",
            "With --json it prints one line when it is ready, with all addresses, one when it has "
            "stopped, and with --status-every some in between.",
            NULL},
    .options = server_options,
    .examples =
        (const struct cli_example[]){
            {"strait server --site home --workers 2 --insecure", "on this machine, to try it"},
            {"strait server --cert certs --workers 8 --store checkpoints --checkpoint-every 20",
             "with certificates and checkpoints"},
            {"strait server --cert certs --workers 8 --servers 2 --lanes 2",
             "the first of two servers"},
            {"strait server --cert certs --workers 8 --store kept --between sites.yaml",
             "a site that shares its model with others"},
            {0}},
    .run = server_run,
};
