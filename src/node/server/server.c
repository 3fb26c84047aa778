#include "node/server/server.h"

#include "base/mem.h"
#include "net/entropy.h"
#include "node/server/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVER_PORT_MAX = 65535 };

static void server_post(struct server_call *call)
{
    call->busy = true;
    call->rc = OK;
    call->text.text[0] = '\0';
    call->call = (struct lane_call){.run = server_lane_run, .user = call};
    /* At most three calls wait on a lane. */
    CHECK(lane_post_call(call->lane->lane, &call->call) == OK);
}

static void server_do_one(struct node_server *s)
{
    struct server_call *control = &s->lanes[s->lanes_count - s->due].control;

    control->step = s->step;
    server_post(control);
}

/* Have all lanes do a step: all at once, or those that make or end threads one by one. */
static void server_do(struct node_server *s, enum server_step step)
{
    s->step = step;
    s->due = s->lanes_count;
    s->rc = OK;
    s->text.text[0] = '\0';
    if (step == SERVER_OPEN || step == SERVER_END) {
        server_do_one(s);
        return;
    }
    for (uint32_t i = 0; i < s->lanes_count; i++) {
        s->lanes[i].control.step = step;
        server_post(&s->lanes[i].control);
    }
}

/* Events. */

static void server_fail(struct node_server *s)
{
    const struct node_server_config *c = &s->config;

    s->ended = true;
    c->events->failed(s, s->kept_rc,
                      s->kept_text.text[0] != '\0' ? s->kept_text.text : err_string(s->kept_rc),
                      c->user);
}

static void server_gone(struct node_server *s)
{
    const struct node_server_config *c = &s->config;

    s->ended = true;
    c->events->stopped(s, s->kept_rc, s->kept_text.text, c->user);
}

/* What went wrong is told when the lanes are gone. */
static void server_end_failing(struct node_server *s)
{
    s->failing = true;
    s->kept_rc = s->rc;
    s->kept_text = s->text;
    server_do(s, SERVER_END);
}

/* Which training it is: the lanes must belong together, and to the site's first server. */
static enum err server_choose_history(struct node_server *s)
{
    const struct node_server_config *c = &s->config;
    struct node_lane_history lanes[NODE_LANES_MAX];
    struct node_server_history all = {.site = c->site.name,
                                      .lanes = lanes,
                                      .lanes_count = s->lanes_count,
                                      .first_number = c->first_number,
                                      .history = c->history,
                                      .begun = c->begun,
                                      .others = c->between != NULL,
                                      .copies = c->site.delivery == NODE_BROADCAST,
                                      .restore = c->restore};
    enum err rc;

    for (uint32_t i = 0; i < s->lanes_count; i++) {
        lanes[i] = s->lanes[i].history;
    }
    rc = node_history_check(&all, &s->history, &s->text);
    if (rc == OK && s->history == 0) {
        rc = entropy_u64(&s->history);
        s->history |= 1; /* Not zero. */
    }
    return rc;
}

/* Every lane has answered. */
static void server_next(struct node_server *s)
{
    const struct node_server_config *c = &s->config;

    if (s->step <= SERVER_TELL && s->rc != OK) {
        server_end_failing(s);
        return;
    }
    switch (s->step) {
    case SERVER_OPEN:
        server_do(s, SERVER_BUILD);
        break;
    case SERVER_BUILD:
        s->rc = server_choose_history(s);
        if (s->rc == OK) {
            server_do(s, SERVER_BEGIN);
        } else {
            server_end_failing(s);
        }
        break;
    case SERVER_BEGIN:
        c->events->listening(s, c->user);
        break;
    case SERVER_TELL:
        c->events->ready(s, c->user);
        break;
    case SERVER_LOOK:
        server_do(s, s->worth ? SERVER_SAVE : SERVER_SHUT);
        break;
    case SERVER_SAVE:
        s->kept_rc = s->rc;
        s->kept_text = s->text;
        server_do(s, SERVER_SHUT);
        break;
    case SERVER_SHUT:
        server_do(s, SERVER_END);
        break;
    case SERVER_END:
        if (s->failing) {
            server_fail(s);
        } else {
            server_gone(s);
        }
        break;
    case SERVER_STATUS:
    case SERVER_REFUSE:
        break;
    }
}

/* One lane must not serve what it has: none of them may. They are in the middle of things. */
static void server_refused(struct node_server *s, const struct server_call *call)
{
    if (!s->failing && !s->stopping) {
        s->kept_rc = call->rc;
        s->kept_text = call->text;
        server_fail(s);
    }
}

static void server_answered(void *message, void *user)
{
    struct server_call *call = message;
    struct node_server *s = user;

    call->busy = false;
    if (call->step == SERVER_STATUS) {
        json_t *status = call->status;

        call->status = NULL;
        call->done(call->lane->index, status, call->user);
        return;
    }
    if (call->step == SERVER_REFUSE) {
        server_refused(s, call);
        return;
    }
    if (s->ended) {
        return; /* It was refused in the middle of a step. */
    }
    if (call->rc != OK && s->rc == OK) {
        s->rc = call->rc;
        s->text = call->text;
        s->store_failed = call->store_failed;
    }
    s->worth = s->worth || call->worth;
    s->clock = call->step == SERVER_LOOK && call->clock < s->clock ? call->clock : s->clock;
    if (--s->due == 0) {
        server_next(s);
    } else if (s->step == SERVER_OPEN || s->step == SERVER_END) {
        server_do_one(s);
    }
}

static void server_dropped(void *message, void *user)
{
    struct server_call *call = message;

    (void)user;
    json_decref(call->status);
    call->status = NULL;
}

/* Making and ending. */

/* Sites speak TLS with each other, or none of them does. */
static enum err server_check_between(const struct node_server_config *c, struct err_text *text)
{
    const struct node_between *b = c->between;
    enum err rc = b == NULL ? OK : node_between_check(b, &c->site, text);

    for (uint32_t i = 0; b != NULL && i < b->others_count && rc == OK; i++) {
        const struct node_other_site *o = &b->others[i];
        char address[NET_ADDRESS_BYTES];

        if (o->first.scheme != c->listen.scheme) {
            rc = err_text_set(text, ERR_INVALID,
                              "site %s is at %s, and this server speaks %s: all sites have "
                              "certificates, or none has",
                              o->name, net_address_format(&o->first, address),
                              c->listen.scheme == NET_SCHEME_TLS ? "tls://" : "tcp://");
        }
    }
    return rc;
}

static enum err server_check(const struct node_server_config *c, struct err_text *text)
{
    unsigned long port = strtoul(c->listen.port, NULL, 10);
    enum err rc = node_site_check(&c->site, text);

    if (rc != OK) {
        return rc;
    }
    if (c->lanes == 0 || c->lanes > c->site.lanes || c->first_number > c->site.lanes - c->lanes) {
        return err_text_set(text, ERR_INVALID,
                            "lanes %" PRIu32 " to %" PRIu32 ": the site has %" PRIu32,
                            c->first_number, c->first_number + c->lanes - 1, c->site.lanes);
    }
    if (c->listen.scheme != (c->tls.cert_path == NULL ? NET_SCHEME_TCP : NET_SCHEME_TLS)) {
        return err_text_set(text, ERR_INVALID,
                            "a server listens on tls://, or in the clear on "
                            "tcp://");
    }
    if (port != 0 && port + c->lanes - 1 > SERVER_PORT_MAX) {
        return err_text_set(text, ERR_INVALID,
                            "port %lu: %" PRIu32 " lanes need as many ports, and %d is the last",
                            port, c->lanes, SERVER_PORT_MAX);
    }
    return server_check_between(c, text);
}

/* Lanes look at it as long as they live; whoever asked for the server may not. */
static enum err server_copy_between(struct node_server *s)
{
    const struct node_between *from = s->config.between;
    struct node_between *b = &s->between;

    if (from == NULL) {
        return OK;
    }
    *b = *from;
    b->others = mem_calloc((size_t)from->others_count + 1, sizeof(*b->others));
    b->hubs = mem_calloc((size_t)from->hubs_count + 1, sizeof(*b->hubs));
    s->links = mem_calloc((size_t)from->links_count + 1, sizeof(*s->links));
    b->links = s->links;
    if (b->others == NULL || b->hubs == NULL || s->links == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < from->links_count; i++) {
        s->links[i] = from->links[i];
    }
    for (uint32_t i = 0; i < from->others_count; i++) {
        b->others[i] = from->others[i];
    }
    for (uint32_t i = 0; i < from->hubs_count; i++) {
        b->hubs[i] = from->hubs[i];
    }
    s->config.between = b;
    return OK;
}

static enum err server_start_lane(struct node_server *s, uint32_t index)
{
    struct server_lane *l = &s->lanes[index];
    char name[16];
    enum err rc = entropy_u64(&l->incarnation);

    if (rc == OK) {
        rc = entropy_u64(&l->seed);
    }
    l->incarnation |= 1; /* Not zero. */
    l->server = s;
    l->index = index;
    l->control.lane = l;
    l->ask.lane = l;
    l->refusal.lane = l;
    (void)snprintf(name, sizeof(name), "lane-%" PRIu32, s->config.first_number + index);
    return rc == OK ? lane_start(name, &l->lane) : rc;
}

enum err node_server_create(const struct node_server_config *config,
                            struct node_server **server_out, struct err_text *text)
{
    struct node_server *s;
    enum err rc = server_check(config, text);

    if (rc != OK && rc != ERR_NOMEM) {
        return rc;
    }
    s = rc == OK ? mem_zalloc(sizeof(*s)) : NULL;
    if (s == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a server");
    }
    s->config = *config;
    s->lanes = mem_calloc(config->lanes, sizeof(*s->lanes));
    rc = s->lanes == NULL ? ERR_NOMEM : server_copy_between(s);
    if (rc == OK) {
        /* Each lane may have both of its calls answered, and say once that it must not serve. */
        rc = mailbox_create(config->loop, 3 * config->lanes, server_answered, s, &s->answers);
    }
    for (; s->lanes_count < config->lanes && rc == OK; s->lanes_count++) {
        rc = server_start_lane(s, s->lanes_count);
        if (rc != OK) {
            break;
        }
    }
    if (rc != OK) {
        (void)err_text_set(text, rc, "cannot start a thread for each of %" PRIu32 " lanes: %s",
                           config->lanes, err_string(rc));
        node_server_destroy(s);
        return rc;
    }
    server_do(s, SERVER_OPEN);
    *server_out = s;
    return OK;
}

void node_server_destroy(struct node_server *s)
{
    if (s == NULL) {
        return;
    }
    for (uint32_t i = 0; i < s->lanes_count; i++) {
        lane_wait(s->lanes[i].lane); /* Nobody builds while others take apart. */
    }
    for (uint32_t i = 0; i < s->lanes_count; i++) {
        struct server_lane *l = &s->lanes[i];

        l->end = (struct lane_call){.run = server_lane_end, .user = l};
        CHECK(lane_post_call(l->lane, &l->end) == OK);
        lane_wait(l->lane);
    }
    for (uint32_t i = 0; i < s->lanes_count; i++) {
        lane_stop(s->lanes[i].lane);
    }
    mailbox_destroy(s->answers, server_dropped);
    mem_free(s->between.others);
    mem_free(s->between.hubs);
    mem_free(s->links);
    mem_free(s->lanes);
    mem_free(s);
}

uint32_t node_server_lanes(const struct node_server *s)
{
    return s->lanes_count;
}

const struct net_address *node_server_bound(const struct node_server *s, uint32_t index)
{
    return &s->lanes[index].bound;
}

const struct net_address *node_server_told(const struct node_server *s, uint32_t index)
{
    return &s->lanes[index].told;
}

bool node_server_store_failed(const struct node_server *s)
{
    return s->store_failed;
}

uint64_t node_server_clock(const struct node_server *s)
{
    return s->clock;
}

void node_server_tell(struct node_server *s, const char *host)
{
    CHECK(s->step == SERVER_BEGIN && s->due == 0 && !s->told);
    s->told = true;
    for (uint32_t i = 0; i < s->lanes_count; i++) {
        struct server_lane *l = &s->lanes[i];

        l->told = l->bound;
        if (host != NULL) {
            (void)snprintf(l->told.host, sizeof(l->told.host), "%s", host);
        }
    }
    server_do(s, SERVER_TELL);
}

bool node_server_ask(struct node_server *s, uint32_t index,
                     void (*done)(uint32_t index, struct json_t *status, void *user), void *user)
{
    struct server_call *ask = &s->lanes[index].ask;

    CHECK(index < s->lanes_count);
    if (ask->busy) {
        return false;
    }
    ask->step = SERVER_STATUS;
    ask->done = done;
    ask->user = user;
    server_post(ask);
    return true;
}

void node_server_stop(struct node_server *s, const char *text)
{
    CHECK(s->step == SERVER_TELL && s->due == 0 && s->told && !s->stopping);
    s->stopping = true;
    s->clock = UINT64_MAX;
    (void)snprintf(s->bye, sizeof(s->bye), "%s", text);
    server_do(s, SERVER_LOOK);
}
