/* Hello and welcome: who is there, in which incarnation, and what each side still lacks. */

#include "base/buf.h"
#include "base/log.h"
#include "net/session/peer_state.h"
#include "wire/hello.h"

#include <stdio.h>
#include <string.h>

/* Describe ourselves for @p. */
static void net_greet_fill(const struct net_peer *p, uint16_t index, struct wire_hello *out)
{
    const struct net_endpoint_config *config = &p->endpoint->config;
    const struct pki_identity *me = &config->identity;

    *out = (struct wire_hello){
        .version_min = WIRE_VERSION_MIN,
        .version_max = WIRE_VERSION_MAX,
        .role = me->role,
        .stream_index = index,
        .stream_count = p->streams,
        .incarnation = config->incarnation,
        .peer_incarnation = p->incarnation,
        .send_base = net_outbox_base(&p->outbox),
        .session = p->session,
        .site = {me->site, (uint32_t)strlen(me->site)},
        .name = {me->name, (uint32_t)strlen(me->name)},
    };
    net_window_to_wire(&p->received, &out->received);
}

static enum err net_greet_send(struct net_slot *slot, enum wire_type type,
                               const struct wire_hello *hello)
{
    struct buf *frame;
    enum err rc = wire_hello_encode(slot->peer->endpoint->control_pool, type, hello, &frame);

    if (rc != OK) {
        return rc;
    }
    rc = net_conn_send_sealed(slot->conn, NET_CONTROL, frame);
    if (rc != OK) {
        buf_unref(frame);
    }
    return rc;
}

enum err net_greet_hello(struct net_slot *slot)
{
    struct wire_hello hello;

    net_greet_fill(slot->peer, slot->index, &hello);
    return net_greet_send(slot, WIRE_HELLO, &hello);
}

/* Who a hello claims to be. */
static void net_greet_identity(const struct wire_hello *hello, struct pki_identity *out)
{
    *out = (struct pki_identity){.role = hello->role};
    memcpy(out->site, hello->site.chars, hello->site.size);
    memcpy(out->name, hello->name.chars, hello->name.size);
}

/* The certificate must say the same as the hello; without one, the operator must have agreed. */
static bool net_greet_believable(const struct net_endpoint *e, const struct net_conn *conn,
                                 const struct pki_identity *claimed)
{
    const struct net_stream *s = net_conn_stream(conn);

    return s->authenticated ? pki_identity_equal(&s->identity, claimed) : e->config.insecure;
}

/* What the other end holds of ours: nothing, if it speaks of an earlier incarnation of us. */
static void net_greet_received(const struct net_endpoint *e, const struct wire_hello *theirs,
                               struct net_window *out)
{
    if (theirs->peer_incarnation == e->config.incarnation) {
        net_window_from_wire(out, &theirs->received);
    } else {
        net_window_init(out, 0);
    }
}

/* The other end is another process than before: its numbers start anew. */
static void net_greet_new_incarnation(struct net_slot *slot, uint64_t incarnation)
{
    struct net_peer *p = slot->peer;

    if (p->incarnation != 0) {
        net_peer_keep_only(slot, "its process was replaced by a new one");
        p->restarted = true;
    }
    p->incarnation = incarnation;
    net_window_init(&p->received, 0);
    net_window_init(&p->acked, 0);
    p->ack_due = false;
}

/* What the sender has been told is done need not be waited for. */
static void net_greet_skip_acked(struct net_peer *p, uint64_t send_base)
{
    net_window_advance(&p->received, send_base);
    net_window_advance(&p->acked, send_base);
}

/* Both sides are told, and their operators, so it speaks of neither as "you". A range, as hello has
 * it. */
static void net_greet_versions(const struct net_endpoint *e, const struct wire_hello *theirs,
                               char out[LIMIT_REASON_BYTES])
{
    const struct pki_identity *me = &e->config.identity;
    struct pki_identity who;

    net_greet_identity(theirs, &who);
    (void)snprintf(out, LIMIT_REASON_BYTES,
                   "versions %u to %u of the protocol at %.32s/%.32s, %u to %u at %.32s/%.32s: run "
                   "the same release of Strait at both",
                   theirs->version_min, theirs->version_max, who.site, who.name,
                   (unsigned)WIRE_VERSION_MIN, (unsigned)WIRE_VERSION_MAX, me->site, me->name);
}

static bool net_refusal_final(uint32_t code)
{
    return code != WIRE_REFUSAL_BUSY;
}

static enum err net_greet_refused(struct net_slot *slot, const struct net_frame *frame)
{
    struct wire_refuse refuse;
    char text[LIMIT_REASON_BYTES + 1];
    enum err rc = wire_refuse_decode(frame->body, frame->header.body_bytes, &refuse);

    if (rc != OK) {
        return rc;
    }
    memcpy(text, refuse.text, refuse.text_bytes);
    text[refuse.text_bytes] = '\0';
    if (net_refusal_final(refuse.code)) {
        net_peer_lose(slot->peer, refuse.code == WIRE_REFUSAL_VERSION ? ERR_VERSION : ERR_REFUSED,
                      text);
    } else {
        net_conn_close(slot->conn, ERR_REFUSED, text);
    }
    return OK;
}

static enum err net_greet_welcomed(struct net_slot *slot, const struct net_frame *frame)
{
    struct net_peer *p = slot->peer;
    struct wire_hello welcome;
    struct net_window received;
    struct pki_identity who;
    enum wire_reason reason;
    enum err rc = wire_hello_decode(frame->body, frame->header.body_bytes, &welcome, &reason);

    if (rc != OK) {
        obs_counter_add(p->endpoint->counters.refused[reason], 1);
        return rc;
    }
    net_greet_identity(&welcome, &who);
    if (wire_version_choose(&welcome) == 0) {
        char text[LIMIT_REASON_BYTES];

        net_greet_versions(p->endpoint, &welcome, text);
        net_conn_close(slot->conn, ERR_VERSION, text);
        return OK;
    }
    if (!net_greet_believable(p->endpoint, slot->conn, &who)) {
        net_conn_close(slot->conn, ERR_REFUSED, "its certificate names somebody else");
        return OK;
    }
    if (p->met && !pki_identity_equal(&p->identity, &who)) {
        net_conn_close(slot->conn, ERR_REFUSED, "somebody else answers at that address now");
        return OK;
    }
    p->identity = who;
    p->version = wire_version_choose(&welcome);
    if (welcome.incarnation != p->incarnation) {
        net_greet_new_incarnation(slot, welcome.incarnation);
    }
    net_greet_skip_acked(p, welcome.send_base);
    net_greet_received(p->endpoint, &welcome, &received);
    net_slot_live(slot, &received);
    return OK;
}

enum err net_greet_answer(struct net_slot *slot, const struct net_frame *frame)
{
    switch (frame->header.type) {
    case WIRE_WELCOME:
        return net_greet_welcomed(slot, frame);
    case WIRE_REFUSE:
        return net_greet_refused(slot, frame);
    default:
        obs_counter_add(slot->peer->endpoint->counters.refused[WIRE_REASON_TYPE], 1);
        return ERR_PEER;
    }
}

/* Turn a hello away, with the reason. */
static enum err net_greet_refuse(struct net_stranger *s, uint32_t code, const char *text)
{
    struct net_endpoint *e = s->endpoint;
    struct buf *frame;

    s->refused = true;
    obs_counter_add(e->counters.hellos_refused, 1);
    LOG_INF("net", "hello from %s refused: %s", s->source.text, text);
    if (wire_refuse_encode(e->control_pool, WIRE_REFUSE, code, text, &frame) != OK) {
        return ERR_REFUSED;
    }
    if (net_conn_send_sealed(s->conn, NET_CONTROL, frame) != OK) {
        buf_unref(frame);
        return ERR_REFUSED;
    }
    net_conn_close_soft(s->conn);
    return OK;
}

static struct net_peer *net_greet_find(struct net_endpoint *e, const struct pki_identity *who,
                                       uint64_t session)
{
    LIST_FOREACH (link, &e->peers) {
        struct net_peer *p = LIST_ENTRY(link, struct net_peer, link);

        if (!p->dialled && !p->closing && net_part(p->session) == net_part(session) &&
            pki_identity_equal(&p->identity, who)) {
            return p;
        }
    }
    return NULL;
}

static bool net_greet_retired(const struct net_peer *p, uint64_t incarnation)
{
    for (uint32_t i = 0; i < NET_RETIRED_MAX; i++) {
        if (p->retired[i] == incarnation) {
            return true;
        }
    }
    return false;
}

/* A newcomer: make its session, on top of what the owner remembers of that incarnation. */
static enum err net_greet_newcomer(struct net_endpoint *e, const struct pki_identity *who,
                                   const struct wire_hello *hello, const struct net_peer *before,
                                   struct net_peer **peer_out)
{
    struct net_peer *p;
    enum err rc = net_peer_create(e, hello->stream_count, &p);

    if (rc != OK) {
        return rc;
    }
    p->identity = *who;
    p->incarnation = hello->incarnation;
    p->session = hello->session;
    p->holes = hello->peer_incarnation != 0 && hello->peer_incarnation != e->config.incarnation;
    loop_timer_start_in(&p->grace, e->config.grace_ns); /* Until all of its streams are here. */
    if (before != NULL && before->incarnation != hello->incarnation) {
        memcpy(p->retired + 1, before->retired, sizeof(p->retired) - sizeof(p->retired[0]));
        p->retired[0] = before->incarnation;
        p->restarted = true;
    } else if (before != NULL) {
        memcpy(p->retired, before->retired, sizeof(p->retired));
    }
    if (e->config.events->resume != NULL) {
        e->config.events->resume(who, hello->incarnation, hello->session, &p->received,
                                 e->config.user);
        p->acked = p->received;
    }
    *peer_out = p;
    return OK;
}

/* Give the connection to the session's slot; an older connection there is of no use any more. */
static enum err net_greet_attach(struct net_stranger *s, struct net_peer *p,
                                 const struct wire_hello *hello)
{
    struct net_slot *slot = &p->slots[hello->stream_index];
    struct net_conn *conn = s->conn;
    struct net_window received;
    struct wire_hello welcome;
    enum err rc;

    if (slot->conn != NULL) {
        struct net_conn *old = slot->conn;

        net_conn_traffic(old, &p->sent_bytes, &p->received_bytes);
        slot->conn = NULL;
        slot->live = false;
        net_outbox_detach(&p->outbox, (uint8_t)slot->index);
        net_conn_abandon(old);
    }
    (void)snprintf(p->source, sizeof(p->source), "%s", s->source.text);
    list_remove(&s->link);
    s->conn = NULL;
    slot->conn = conn;
    net_conn_hand_over(conn, &net_slot_events, slot);
    net_greet_skip_acked(p, hello->send_base);
    net_greet_received(s->endpoint, hello, &received);
    net_greet_fill(p, slot->index, &welcome);
    p->version = wire_version_choose(hello);
    welcome.version_min = welcome.version_max = p->version;
    rc = net_greet_send(slot, WIRE_WELCOME, &welcome);
    if (rc == OK) {
        net_slot_live(slot, &received);
    }
    return rc;
}

static enum err net_greet_admit(struct net_stranger *s, const struct pki_identity *who,
                                const struct wire_hello *hello)
{
    struct net_endpoint *e = s->endpoint;
    struct net_peer *p = net_greet_find(e, who, hello->session);
    struct net_peer *before = p;
    char wait[LIMIT_REASON_BYTES];
    enum err rc;

    if (net_peer_must_wait(e, who, wait)) {
        return net_greet_refuse(s, WIRE_REFUSAL_BUSY, wait);
    }
    if (p != NULL && hello->incarnation != p->incarnation) {
        if (net_greet_retired(p, hello->incarnation)) {
            return net_greet_refuse(s, WIRE_REFUSAL_SUPERSEDED, "a newer process of yours is here");
        }
        p = NULL;
    } else if (p != NULL && hello->session != p->session) {
        if (hello->session < p->session) {
            return net_greet_refuse(s, WIRE_REFUSAL_SUPERSEDED, "a newer session of yours is here");
        }
        p = NULL;
    }
    if (p != NULL && (hello->stream_count != p->streams)) {
        return net_greet_refuse(s, WIRE_REFUSAL_FIELD, "the number of streams changed");
    }
    if (p == NULL && hello->peer_incarnation == e->config.incarnation) {
        return net_greet_refuse(s, WIRE_REFUSAL_LOST, "your session has ended here; join anew");
    }
    if (p == NULL) {
        rc = net_greet_newcomer(e, who, hello, before, &p);
        if (rc != OK) {
            return net_greet_refuse(s, WIRE_REFUSAL_BUSY, "no room for more peers");
        }
        if (before != NULL) {
            net_peer_lose(before, ERR_REFUSED,
                          before->incarnation == p->incarnation ? "superseded by a newer session"
                                                                : "superseded by a newer process");
        }
    }
    return net_greet_attach(s, p, hello);
}

enum err net_greet_stranger(struct net_stranger *s, const struct net_frame *frame)
{
    struct net_endpoint *e = s->endpoint;
    struct wire_hello hello;
    struct pki_identity who;
    enum wire_reason reason = WIRE_REASON_NONE;
    enum err rc;

    if (s->refused || frame->header.type != WIRE_HELLO) {
        obs_counter_add(e->counters.refused[WIRE_REASON_TYPE], 1);
        return ERR_PEER;
    }
    rc = wire_hello_decode(frame->body, frame->header.body_bytes, &hello, &reason);
    if (rc == ERR_VERSION) {
        obs_counter_add(e->counters.refused[reason], 1);
        return net_greet_refuse(s, WIRE_REFUSAL_FIELD,
                                "your hello has a critical field that this "
                                "version does not know; upgrade this side");
    }
    if (rc != OK) {
        obs_counter_add(e->counters.refused[reason], 1);
        return rc;
    }
    if (wire_version_choose(&hello) == 0) {
        char text[LIMIT_REASON_BYTES];

        net_greet_versions(e, &hello, text);
        return net_greet_refuse(s, WIRE_REFUSAL_VERSION, text);
    }
    net_greet_identity(&hello, &who);
    if (!net_greet_believable(e, s->conn, &who)) {
        return net_greet_refuse(s, WIRE_REFUSAL_IDENTITY,
                                net_conn_stream(s->conn)->authenticated
                                    ? "your certificate names somebody else"
                                    : "without a certificate nobody is believed here");
    }
    if (hello.incarnation == e->config.incarnation &&
        pki_identity_equal(&who, &e->config.identity)) {
        return net_greet_refuse(s, WIRE_REFUSAL_SELF, "you have dialled yourself");
    }
    return net_greet_admit(s, &who, &hello);
}
