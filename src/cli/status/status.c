#include "cli/status/status.h"

#include "base/mem.h"
#include "cli/member/security.h"
#include "net/entropy.h"
#include "node/control.h"

#include <inttypes.h>
#include <string.h>

enum { STATUS_BYE_MS = 300 };

static struct cli_member *status_member(struct status_site *s)
{
    return s->beside != NULL ? &s->beside->member : &s->member;
}

/* The report. */

static json_t *status_lane_json(const struct status_lane *l)
{
    json_t *out = json_pack("{s:i}", "lane", (int)l->number);
    char address[NET_ADDRESS_BYTES];

    if (l->known) {
        (void)json_object_set_new(out, "address",
                                  json_string(net_address_format(&l->address, address)));
    }
    if (l->status != NULL) {
        (void)json_object_set(out, "status", l->status);
    } else {
        (void)json_object_set_new(
            out, "error",
            json_string(l->last_error.text[0] != '\0' ? l->last_error.text : "no answer in time"));
    }
    return out;
}

static void status_finish(struct status_site *s)
{
    json_t *lanes = json_array();
    json_t *report = json_pack("{s:O?, s:o}", "site", json_object_get(s->lanes[0]->status, "site"),
                               "lanes", lanes);

    for (uint32_t i = 0; i < s->lanes_count; i++) {
        if (s->lanes[i]->known) {
            (void)json_array_append_new(lanes, status_lane_json(s->lanes[i]));
        }
    }
    s->asking = false;
    loop_timer_stop(&s->limit);
    s->done(s, report, s->user);
}

/* All that can be known now is known? */
static void status_look(struct status_site *s)
{
    const struct status_lane *first = s->lanes[0];
    bool others = first->status != NULL && !s->only_first &&
                  json_object_get(first->status, "lanes_missing") == NULL;

    if (!s->asking || !first->settled || (others && s->asked_where)) {
        return;
    }
    for (uint32_t i = 1; i < s->lanes_count && others; i++) {
        if (!s->lanes[i]->settled) {
            return;
        }
    }
    status_finish(s);
}

static void status_settle(struct status_lane *l, enum err why, const char *text)
{
    if (!l->settled && l->site->asking) {
        l->settled = true;
        l->why = why;
        (void)err_text_set(&l->last_error, why, "%s", text);
        status_look(l->site);
    }
}

/* Questions. */

static void status_send(struct status_lane *l, uint16_t operation, uint32_t *call_out)
{
    struct status_site *s = l->site;
    json_t *fields = json_object();
    enum err rc = node_control_send(l->peer, status_member(s)->pool, operation, ++s->calls, fields);

    json_decref(fields);
    *call_out = s->calls;
    if (rc != OK) {
        status_settle(l, rc, err_string(rc));
    }
}

static void status_send_all(struct status_lane *l)
{
    struct status_site *s = l->site;
    uint32_t ignored;

    if (!s->asking || l->settled) {
        return;
    }
    if (l->number == 0 && s->asked_where) {
        status_send(l, NODE_OP_SITE, &ignored);
    }
    status_send(l, NODE_OP_STATUS, &l->call);
}

static void status_dial(struct status_lane *l)
{
    struct cli_member *m = status_member(l->site);
    enum err rc = net_endpoint_dial(m->endpoint, m->transport, &l->address, 1, &l->peer);

    if (rc != OK) {
        l->peer = NULL;
        status_settle(l, rc, err_string(rc));
        return;
    }
    net_peer_set_user(l->peer, l);
}

static void status_ask_lane(struct status_lane *l)
{
    l->settled = false;
    l->call = 0;
    l->last_error.text[0] = '\0';
    json_decref(l->status);
    l->status = NULL;
    if (l->peer == NULL) {
        status_dial(l);
    } else if (net_peer_is_up(l->peer)) {
        status_send_all(l);
    }
}

/* Answers. */

static enum err status_lane_make(struct status_site *s, uint32_t number)
{
    struct status_lane *l = mem_zalloc(sizeof(*l));

    if (l == NULL) {
        return ERR_NOMEM;
    }
    l->site = s;
    l->number = number;
    l->settled = true;
    s->lanes[number] = l;
    s->lanes_count = number + 1;
    return OK;
}

static void status_where_lane(struct status_lane *l, const char *text)
{
    struct net_address address;
    char before[NET_ADDRESS_BYTES];

    if (net_address_parse(text, &address, NULL) != OK) {
        return;
    }
    if (l->known && strcmp(net_address_format(&l->address, before), text) == 0) {
        return;
    }
    if (l->peer != NULL) {
        /* It has moved. */
        net_peer_set_user(l->peer, NULL);
        net_peer_close(l->peer, "you are somewhere else now");
        l->peer = NULL;
    }
    l->known = true;
    l->address = address;
    status_ask_lane(l);
}

static void status_where(struct status_site *s, const json_t *fields)
{
    const json_t *addresses = json_object_get(fields, "addresses");
    size_t count = json_array_size(addresses);

    s->asked_where = false;
    for (uint32_t i = 1; i < count && i < NODE_LANES_MAX; i++) {
        const char *address = json_string_value(json_array_get(addresses, i));

        if (i >= s->lanes_count && status_lane_make(s, i) != OK) {
            break;
        }
        if (address != NULL) {
            status_where_lane(s->lanes[i], address);
        }
    }
}

static void status_answer(struct status_lane *l, uint16_t operation, uint32_t call, json_t *fields)
{
    struct err_text text = {""};
    enum err rc = node_control_error(fields, &text);

    if (operation == (NODE_OP_SITE | NODE_ANSWER) && l->number == 0) {
        if (rc == OK) {
            status_where(l->site, fields);
        } else {
            status_settle(l, rc, text.text);
        }
    } else if (operation == (NODE_OP_STATUS | NODE_ANSWER) && call == l->call && !l->settled) {
        if (rc == OK) {
            l->status = json_incref(fields);
        }
        status_settle(l, rc, text.text);
    } else if (l->site->answered != NULL) {
        l->site->answered(l, operation, call, fields, l->site->user);
    }
}

static enum err status_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    struct status_lane *l = net_peer_user(peer);
    uint16_t operation;
    uint32_t call;
    json_t *fields;
    enum err rc;

    (void)user;
    if (l == NULL || frame->header.type != WIRE_CONTROL) {
        return OK;
    }
    rc = node_control_read(frame, &operation, &call, &fields);
    if (rc != OK) {
        return ERR_PEER;
    }
    status_answer(l, operation, call, fields);
    json_decref(fields);
    status_look(l->site);
    return OK;
}

static void status_up(struct net_peer *peer, bool restarted, void *user)
{
    struct status_lane *l = net_peer_user(peer);

    (void)restarted;
    (void)user;
    if (l != NULL) {
        status_send_all(l);
    }
}

static void status_connect_failed(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct status_lane *l = net_peer_user(peer);

    (void)user;
    if (l != NULL) {
        status_settle(l, why, text);
    }
}

static void status_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct status_lane *l = net_peer_user(peer);

    (void)user;
    if (l != NULL) {
        l->peer = NULL;
        status_settle(l, why, text);
    }
}

static const struct net_endpoint_events status_events = {
    .up = status_up,
    .frame = status_frame,
    .down = status_connect_failed,
    .connect_failed = status_connect_failed,
    .lost = status_lost,
};

static void status_late(struct loop_timer *timer, void *user)
{
    struct status_site *s = user;

    (void)timer;
    s->lanes[0]->why = s->lanes[0]->settled ? s->lanes[0]->why : ERR_TIMEOUT;
    if (s->asking) {
        status_finish(s);
    }
}

void status_ask(struct status_site *s, int64_t timeout_ns)
{
    bool unsure = s->lanes_count == 1;

    CHECK(!s->asking);
    s->asking = true;
    for (uint32_t i = 1; i < s->lanes_count; i++) {
        unsure = unsure || s->lanes[i]->status == NULL;
    }
    s->asked_where = unsure && !s->only_first;
    loop_timer_start_in(&s->limit, timeout_ns);
    for (uint32_t i = s->lanes_count; i-- > 0;) {
        status_ask_lane(s->lanes[i]);
    }
}

/* Beginning and end. */

/* A member's session must not be taken over by somebody who shows its certificate. */
static enum cli_exit status_check_role(struct status_site *s, const struct status_config *config)
{
    char who[PKI_IDENTITY_TEXT_BYTES];

    if (s->member.identity.role == config->role) {
        return CLI_DONE;
    }
    return cli_error(s->ctx, CLI_ERROR_BAD_IDENTITY, "strait cert issue CA operator/SITE/NAME",
                     "--cert: the certificate is that of %s, which may be at work with it: that of "
                     "an %s is needed",
                     pki_identity_format(&s->member.identity, who), wire_role_name(config->role));
}

static enum err status_start(struct status_site *s, const struct net_address *to)
{
    enum err rc = loop_timer_init(&s->limit, status_member(s)->loop, status_late, s);

    if (rc == OK) {
        rc = status_lane_make(s, 0);
    }
    if (rc == OK) {
        s->lanes[0]->known = true;
        s->lanes[0]->address = *to;
    }
    return rc;
}

enum cli_exit status_open(struct cli_context *ctx, struct status_site *s,
                          const struct status_config *config)
{
    struct net_address to;
    uint32_t number = 0;
    char name[32];
    struct cli_member_config member = {
        .address = &to, .role = config->role, .name = name, .events = &status_events, .user = s};
    enum cli_exit status;

    *s = (struct status_site){.ctx = ctx,
                              .only_first = config->only_first,
                              .done = config->done,
                              .answered = config->answered,
                              .user = config->user};
    status = security_address(ctx, config->option, config->to, &to);
    if (status != CLI_DONE) {
        return status;
    }
    (void)!entropy_bytes(&number, sizeof(number)); /* Zero will do too. */
    (void)snprintf(name, sizeof(name), "%.20s-%08" PRIx32, config->name, number);
    status = cli_member_open(ctx, &s->member, &member);
    if (status == CLI_DONE) {
        status = status_check_role(s, config);
    }
    if (status != CLI_DONE) {
        return status;
    }
    return status_start(s, &to) == OK
               ? CLI_DONE
               : cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot start: out of memory");
}

enum err status_open_beside(struct status_site *s, struct status_site *host,
                            const struct net_address *to,
                            void (*done)(struct status_site *s, json_t *report, void *user),
                            void *user)
{
    *s = (struct status_site){.ctx = host->ctx, .beside = host, .done = done, .user = user};
    return status_start(s, to);
}

static bool status_leaving(struct status_site *s)
{
    return net_endpoint_peer(s->member.endpoint, 0) != NULL;
}

static void status_leave(struct net_peer *peer)
{
    net_peer_set_user(peer, NULL);
    net_peer_close(peer, "thank you");
}

static void status_leave_all(struct status_site *s)
{
    int64_t until = loop_now_ns(s->member.loop) + STATUS_BYE_MS * INT64_C(1000000);
    struct net_peer *peer;

    for (uint32_t i = 0; (peer = net_endpoint_peer(s->member.endpoint, i)) != NULL; i++) {
        status_leave(peer);
    }
    while (status_leaving(s) && loop_now_ns(s->member.loop) < until) {
        loop_turn(s->member.loop, 10000000);
    }
}

void status_close(struct status_site *s)
{
    if (s->member.endpoint != NULL) {
        status_leave_all(s);
    }
    loop_timer_deinit(&s->limit);
    for (uint32_t i = 0; i < s->lanes_count; i++) {
        if (s->beside != NULL && s->lanes[i]->peer != NULL) {
            status_leave(s->lanes[i]->peer);
        }
        json_decref(s->lanes[i]->status);
        mem_free(s->lanes[i]);
    }
    cli_member_close(&s->member);
}

enum cli_exit status_unreached(struct status_site *s)
{
    const struct status_lane *l = s->lanes[0];
    const char *text = l->last_error.text[0] != '\0' ? l->last_error.text : "no answer in time";
    char address[NET_ADDRESS_BYTES];

    net_address_format(&l->address, address);
    switch (l->why) {
    case ERR_TLS:
    case ERR_REFUSED:
    case ERR_VERSION:
    case ERR_PEER:
        return cli_error(s->ctx, CLI_ERROR_PEER_REFUSED, NULL, "%s: %s", address, text);
    case ERR_CLOSED:
        return cli_error(s->ctx, CLI_ERROR_UNREACHABLE, NULL,
                         "%s: %s; is it tls:// or tcp:// there? Does the site's first server run?",
                         address, text);
    default:
        return cli_error(s->ctx, CLI_ERROR_UNREACHABLE, NULL,
                         "%s: %s; does the site's first server run there?", address, text);
    }
}

const json_t *status_first(const json_t *report)
{
    return json_object_get(json_array_get(json_object_get(report, "lanes"), 0), "status");
}
