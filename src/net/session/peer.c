/* A session at work: frames to connections and back, acknowledgements, loss and return of
 * connections. */

#include "base/buf.h"
#include "base/log.h"
#include "net/session/peer_state.h"
#include "wire/ack.h"
#include "wire/hello.h"

#include <stdio.h>
#include <string.h>

enum {
    NET_ACK_FRAMES = 32,        /* So many frames, */
    NET_ACK_BYTES = 128 * 1024, /* so many bytes, */
    NET_ACK_DELAY_NS = 200000,  /* or so long: then an acknowledgement is sent. */
    NET_BEYOND = 4,             /* So many times what the kernel says is beyond what it sees. */
    NET_ACK_RETRY_NS = 1000000,
};

static uint32_t net_peer_live(const struct net_peer *p)
{
    uint32_t count = 0;

    for (uint16_t i = 0; i < p->streams; i++) {
        count += p->slots[i].live;
    }
    return count;
}

/* Give the connection what the outbox holds for it, as far as its queue takes it. If the peer is
 * another process than before, the owner is told first: it may end the session rather than send
 * what was meant for that one. */
static void net_slot_pump(struct net_slot *slot)
{
    struct net_outbox *o = &slot->peer->outbox;

    if (slot->peer->restarted) {
        return;
    }
    for (int p = 0; p < NET_PRIORITIES; p++) {
        struct net_outbox_entry *e;

        while ((e = net_outbox_peek(o, (uint8_t)slot->index, (enum net_priority)p)) != NULL) {
            struct buf *body = e->body == NULL ? NULL : buf_ref(e->body);
            enum err rc = net_conn_send(slot->conn, (enum net_priority)p, &e->header, body);

            if (rc != OK) {
                buf_unref(body);
                break;
            }
            net_outbox_sent(o, e);
            net_flood_sent(&slot->peer->flood);
        }
    }
}

static uint8_t net_peer_slot_for(const struct net_peer *p, enum net_priority priority,
                                 const struct wire_header *header)
{
    return priority == NET_CONTROL ? 0 : (uint8_t)wire_stream(header, p->streams);
}

enum err net_peer_send(struct net_peer *p, enum net_priority priority, struct wire_header *header,
                       struct buf *body)
{
    uint8_t slot = net_peer_slot_for(p, priority, header);
    enum err rc;

    if (p->closing) {
        return ERR_CLOSED;
    }
    rc = net_outbox_add(&p->outbox, slot, priority, header, body);
    if (rc == ERR_AGAIN) {
        p->blocked = true;
        obs_counter_add(p->endpoint->counters.queue_full, 1);
    }
    if (rc == OK && p->slots[slot].live) {
        net_slot_pump(&p->slots[slot]);
    }
    return rc;
}

void net_peer_limit(struct net_peer *p, uint64_t bytes)
{
    net_outbox_limit(&p->outbox, bytes);
}

bool net_peer_has_room(struct net_peer *p, uint32_t body_bytes)
{
    bool room = net_outbox_has_room(&p->outbox, body_bytes);

    p->blocked = p->blocked || !room;
    return room;
}

enum err net_peer_send_sealed(struct net_peer *p, enum net_priority priority, struct buf *frame)
{
    struct wire_header header;
    enum wire_reason reason;
    enum err rc;

    CHECK(buf_unique(frame));
    CHECK(wire_header_decode(buf_bytes(frame), &header, &reason) == OK);
    buf_trim_front(frame, WIRE_HEADER_BYTES);
    rc = net_peer_send(p, priority, &header, frame);
    if (rc != OK) {
        (void)buf_prepend(frame, WIRE_HEADER_BYTES); /* The bytes are still there. */
    }
    return rc;
}

struct net_slot *net_peer_first_live(struct net_peer *p)
{
    for (uint16_t i = 0; i < p->streams; i++) {
        if (p->slots[i].live) {
            return &p->slots[i];
        }
    }
    return NULL;
}

enum err net_peer_send_once(struct net_peer *p, struct buf *frame)
{
    struct net_slot *slot = net_peer_first_live(p);

    return slot == NULL ? ERR_CLOSED : net_conn_send_sealed(slot->conn, NET_CONTROL, frame);
}

void net_peer_ack(struct net_peer *p, uint64_t sequence)
{
    if (sequence != 0) {
        (void)net_window_add(&p->acked, sequence);
        p->ack_due = true;
        p->ack_frames++;
        if (p->ack_frames >= NET_ACK_FRAMES || p->ack_bytes >= NET_ACK_BYTES) {
            loop_task_post(&p->ack);
        } else if (!loop_timer_active(&p->ack_timer)) {
            loop_timer_start_in(&p->ack_timer, NET_ACK_DELAY_NS);
        }
    }
}

/* One acknowledgement for many frames: small ones wait for each other, for a moment. */
static void net_peer_send_ack(struct loop_task *task, void *user)
{
    struct net_peer *p = user;
    struct wire_window acked;
    struct buf *frame;

    (void)task;
    if (!p->ack_due || net_peer_first_live(p) == NULL) {
        return;
    }
    net_window_to_wire(&p->acked, &acked);
    if (wire_ack_encode(p->endpoint->control_pool, &acked, &frame) != OK) {
        loop_timer_start_in(&p->ack_timer, NET_ACK_RETRY_NS);
        return;
    }
    if (net_peer_send_once(p, frame) != OK) {
        buf_unref(frame);
        return;
    }
    p->ack_due = false;
    p->ack_frames = 0;
    p->ack_bytes = 0;
    loop_timer_stop(&p->ack_timer);
}

static void net_peer_retry_ack(struct loop_timer *timer, void *user)
{
    (void)timer;
    net_peer_send_ack(NULL, user);
}

/* The owner may send more, or end the session, in each of these calls. */
static void net_peer_tell_acked(struct net_peer *p)
{
    const struct net_endpoint_config *config = &p->endpoint->config;
    struct wire_header header;

    while (net_outbox_report(&p->outbox, &header)) {
        config->events->acked(p, &header, config->user);
    }
}

static enum err net_peer_take_ack(struct net_peer *p, const struct net_frame *frame)
{
    struct wire_window acked;
    uint64_t bytes = net_outbox_bytes(&p->outbox);
    enum err rc = wire_ack_decode(frame->body, frame->header.body_bytes, &acked);

    if (rc == OK) {
        rc = net_outbox_ack(&p->outbox, &acked);
    }
    if (rc != OK) {
        obs_counter_add(p->endpoint->counters.refused[WIRE_REASON_BODY], 1);
        return rc;
    }
    net_link_acked(p, bytes - net_outbox_bytes(&p->outbox));
    net_peer_tell_acked(p);
    if (p->blocked && !p->closing && net_outbox_roomy(&p->outbox)) {
        p->blocked = false;
        if (p->endpoint->config.events->writable != NULL) {
            p->endpoint->config.events->writable(p, p->endpoint->config.user);
        }
    }
    return OK;
}

/* Our predecessor may have acknowledged numbers out of order that nobody remembers, and they will
 * not come again. No correct sender has more than a window unacknowledged: what lies further back
 * than that is not missing. */
static bool net_peer_close_holes(struct net_peer *p, uint64_t sequence)
{
    if (!p->holes || sequence > p->received.last + LIMIT_WINDOW_FRAMES) {
        return false;
    }
    net_window_advance(&p->received, sequence - LIMIT_WINDOW_FRAMES);
    net_window_advance(&p->acked, sequence - LIMIT_WINDOW_FRAMES);
    return true;
}

/* A frame that must be counted once. */
static enum err net_peer_take_numbered(struct net_peer *p, const struct net_frame *frame)
{
    const struct net_endpoint_config *config = &p->endpoint->config;
    uint64_t sequence = frame->header.sequence;
    enum err rc;

    switch (net_window_judge(&p->received, sequence)) {
    case NET_WINDOW_DUPLICATE:
        obs_counter_add(p->endpoint->counters.duplicates, 1);
        if (net_window_judge(&p->acked, sequence) == NET_WINDOW_DUPLICATE) {
            p->ack_due = true; /* The same acknowledgement again. */
            loop_task_post(&p->ack);
        }
        return OK;
    case NET_WINDOW_BEYOND:
        if (!net_peer_close_holes(p, sequence)) {
            obs_counter_add(p->endpoint->counters.refused[WIRE_REASON_BODY], 1);
            return ERR_PEER;
        }
        break;
    case NET_WINDOW_NEW:
        break;
    }
    p->ack_bytes += frame->header.body_bytes;
    rc = config->events->frame(p, frame, config->user);
    if (rc == OK) {
        (void)net_window_add(&p->received, sequence);
        if (!config->manual_ack) {
            net_peer_ack(p, sequence);
        }
    }
    return rc;
}

static void net_peer_take_bye(struct net_peer *p, const struct net_frame *frame)
{
    struct wire_refuse bye;
    char text[LIMIT_REASON_BYTES + 1] = "good-bye";
    enum err why = OK;

    if (wire_refuse_decode(frame->body, frame->header.body_bytes, &bye) == OK) {
        memcpy(text, bye.text, bye.text_bytes);
        text[bye.text_bytes] = '\0';
        why = bye.code == 0 ? OK : ERR_REFUSED;
    }
    net_peer_lose(p, why, text);
}

static void net_slot_opened(struct net_conn *conn, void *user)
{
    struct net_slot *slot = user;
    enum err rc = net_greet_hello(slot);

    if (rc != OK) {
        net_conn_close(conn, rc, NULL);
    }
}

static enum err net_peer_take(struct net_peer *p, const struct net_frame *frame)
{
    /* Who has no certificate has the role that its hello names. */
    if ((p->identity.role & wire_type_info(frame->header.type)->roles) == 0) {
        obs_counter_add(p->endpoint->counters.refused[WIRE_REASON_ROLE], 1);
        return ERR_PEER;
    }
    switch (frame->header.type) {
    case WIRE_HELLO:
    case WIRE_WELCOME:
    case WIRE_REFUSE:
    case WIRE_ENROLL:
    case WIRE_ENROLLED:
        obs_counter_add(p->endpoint->counters.refused[WIRE_REASON_TYPE], 1);
        return ERR_MALFORMED; /* Of a handshake that is over: that ends the connection only. */
    case WIRE_ACK:
        return net_peer_take_ack(p, frame);
    case WIRE_BYE:
        net_peer_take_bye(p, frame);
        return OK;
    case WIRE_PROBE:
    case WIRE_PROBE_REPORT:
        return net_probe_take(p, frame);
    default:
        break;
    }
    if (frame->header.sequence == 0) {
        return p->endpoint->config.events->frame(p, frame, p->endpoint->config.user);
    }
    return net_peer_take_numbered(p, frame);
}

/* Frames that cost more than they carry must not come too often. */
static bool net_slot_allowed(struct net_conn *conn, uint8_t type, void *user)
{
    struct net_slot *slot = user;
    struct net_peer *p = slot->peer;
    int64_t now_ns = loop_now_ns(p->endpoint->config.loop);
    enum net_flood_kind kind = net_flood_kind(type, p->identity.role);
    char text[LIMIT_REASON_BYTES];

    (void)conn;
    if (!slot->live || p->closing || p->endpoint->config.unlimited ||
        net_flood_take(&p->flood, kind, now_ns)) {
        return true;
    }
    (void)snprintf(text, sizeof(text), "it sent too many %s: more than %u a second, %u at once",
                   net_flood_name(kind), net_flood_rate(kind), net_flood_burst(kind));
    net_peer_expel(p, (enum net_expel)(NET_EXPEL_FLOODS + (int)kind), text);
    return false;
}

static enum err net_slot_frame(struct net_conn *conn, const struct net_frame *frame, void *user)
{
    struct net_slot *slot = user;
    char text[LIMIT_REASON_BYTES];
    enum err rc;

    (void)conn;
    if (!slot->live) {
        return net_greet_answer(slot, frame);
    }
    rc = net_peer_take(slot->peer, frame);
    if (rc == ERR_PEER) {
        (void)snprintf(text, sizeof(text), "it sent a frame %s that no correct %s sends",
                       wire_type_info(frame->header.type)->name,
                       wire_role_name(slot->peer->identity.role));
        net_peer_expel(slot->peer, NET_EXPEL_PROTOCOL, text);
        rc = OK;
    }
    return rc;
}

static void net_slot_writable(struct net_conn *conn, enum net_priority priority, void *user)
{
    struct net_slot *slot = user;

    (void)conn;
    (void)priority;
    if (slot->live) {
        net_slot_pump(slot);
        if (slot->peer->ack_due) {
            loop_task_post(&slot->peer->ack);
        }
    }
}

/* The last stream is gone: wait for the peer, or for the end of grace. */
static void net_peer_went_down(struct net_peer *p, enum err why, const char *text)
{
    const struct net_endpoint_config *config = &p->endpoint->config;

    p->up = false;
    net_probe_down(p);
    LOG_INF("net", "%s/%s is down: %s", p->identity.site, p->identity.name, text);
    if (!p->dialled) {
        loop_timer_start_in(&p->grace, config->grace_ns);
    }
    if (config->events->down != NULL) {
        config->events->down(p, why, text, config->user);
    }
}

/* End all connections but one: the others still lead to a process that is no more, and what comes
 * from it would be taken for the numbers of its successor. */
void net_peer_keep_only(struct net_slot *keep, const char *text)
{
    struct net_peer *p = keep->peer;

    for (uint16_t i = 0; i < p->streams; i++) {
        struct net_slot *slot = &p->slots[i];

        if (slot != keep && slot->conn != NULL) {
            slot->live = false;
            net_outbox_detach(&p->outbox, (uint8_t)i);
            net_conn_close(slot->conn, ERR_CLOSED, text);
        }
    }
    if (p->up) {
        net_peer_went_down(p, ERR_CLOSED, text);
    }
}

static void net_slot_closed(struct net_conn *conn, enum err why, const char *text, void *user)
{
    struct net_slot *slot = user;
    struct net_peer *p = slot->peer;
    const struct net_endpoint_config *config = &p->endpoint->config;
    bool was_live = slot->live;

    if (slot->conn != conn) {
        return; /* Another connection has taken its place. */
    }
    net_conn_traffic(conn, &p->sent_bytes, &p->received_bytes);
    slot->conn = NULL;
    slot->live = false;
    net_outbox_detach(&p->outbox, (uint8_t)slot->index);
    if (p->closing) {
        loop_task_post(&p->end);
        return;
    }
    if (was_live && err_scope(why) == ERR_SCOPE_PEER) {
        if (why == ERR_PEER) {
            net_peer_blame(p, NET_EXPEL_PROTOCOL, text);
        }
        net_peer_lose(p, why, text); /* It would do the same again. */
        return;
    }
    if (p->dialled) {
        loop_timer_start_in(&slot->redial, net_backoff_next(&slot->backoff));
    }
    if (was_live && p->up && net_peer_live(p) == 0) {
        net_peer_went_down(p, why, text);
    } else if (!was_live && config->events->connect_failed != NULL) {
        config->events->connect_failed(p, why, text, config->user);
    }
}

const struct net_conn_events net_slot_events = {
    .opened = net_slot_opened,
    .frame = net_slot_frame,
    .allowed = net_slot_allowed,
    .writable = net_slot_writable,
    .closed = net_slot_closed,
};

void net_slot_dial(struct net_slot *slot)
{
    struct net_peer *p = slot->peer;
    const struct net_endpoint_config *config = &p->endpoint->config;
    struct net_conn_config conn_config = {
        .loop = config->loop,
        .pool = config->pool,
        .control_pool = p->endpoint->control_pool,
        .dialled = true,
        .counters = &p->endpoint->counters,
        .heartbeat_ns = config->heartbeat_ns,
        .stranger_ns = (int64_t)LIMIT_STRANGER_MS * 2 * 1000000,
        .events = &net_slot_events,
        .user = slot,
    };
    struct net_stream *stream;
    enum err rc = p->transport->ops->dial(p->transport, &p->address, &stream);

    if (rc == OK) {
        rc = net_conn_create(&conn_config, stream, &slot->conn);
        if (rc != OK) {
            slot->conn = NULL;
            stream->ops->destroy(stream, true);
        }
    }
    if (rc != OK) {
        loop_timer_start_in(&slot->redial, net_backoff_next(&slot->backoff));
        if (config->events->connect_failed != NULL) {
            config->events->connect_failed(p, rc, err_string(rc), config->user);
        }
    }
}

static void net_peer_pump(struct net_peer *p)
{
    for (uint16_t i = 0; i < p->streams; i++) {
        if (p->slots[i].live) {
            net_slot_pump(&p->slots[i]);
        }
    }
}

void net_slot_live(struct net_slot *slot, const struct net_window *received)
{
    struct net_peer *p = slot->peer;
    const struct net_endpoint_config *config = &p->endpoint->config;
    uint32_t again = net_outbox_attach(&p->outbox, (uint8_t)slot->index, received);
    bool restarted = p->restarted;

    slot->live = true;
    net_conn_trust(slot->conn);
    net_conn_pause(slot->conn, p->paused);
    net_slot_pace(slot);
    net_backoff_reset(&slot->backoff);
    obs_counter_add(p->endpoint->counters.resent, again);
    net_slot_pump(slot);
    p->ack_due = true; /* What was acknowledged on a connection that died may not have arrived. */
    loop_task_post(&p->ack);
    if (!p->up && net_peer_live(p) == p->streams) {
        p->up = true;
        p->met = true;
        p->restarted = false;
        loop_timer_stop(&p->grace);
        LOG_INF("net", "%s/%s is up, %u frames again", p->identity.site, p->identity.name, again);
        config->events->up(p, restarted, config->user);
        net_peer_pump(p);
    }
}

/* After the last connection: tell the owner and forget the peer. */
static void net_peer_ended(struct loop_task *task, void *user)
{
    struct net_peer *p = user;
    const struct net_endpoint_config *config = &p->endpoint->config;

    (void)task;
    for (uint16_t i = 0; i < p->streams; i++) {
        if (p->slots[i].conn != NULL) {
            return;
        }
    }
    net_probe_settle(p);
    config->events->lost(p, p->why, p->why_text.text, config->user);
    net_peer_free(p);
}

void net_peer_lose(struct net_peer *p, enum err why, const char *text)
{
    if (p->closing) {
        return;
    }
    p->closing = true;
    p->up = false;
    p->why = why;
    (void)err_text_set(&p->why_text, why, "%s", text);
    loop_timer_stop(&p->grace);
    for (uint16_t i = 0; i < p->streams; i++) {
        loop_timer_stop(&p->slots[i].redial);
        if (p->slots[i].conn != NULL) {
            net_conn_close(p->slots[i].conn, why, text);
        }
    }
    loop_task_post(&p->end);
}

void net_peer_part(struct net_peer *p, enum err why, const char *text)
{
    struct net_slot *slot = net_peer_first_live(p);
    uint32_t code = why == OK ? 0 : WIRE_REFUSAL_BUSY;
    struct buf *frame;
    enum err rc;

    if (p->closing) {
        return;
    }
    if (slot == NULL ||
        wire_refuse_encode(p->endpoint->control_pool, WIRE_BYE, code, text, &frame) != OK) {
        net_peer_lose(p, why, text);
        return;
    }
    rc = net_conn_send_sealed(slot->conn, NET_CONTROL, frame);
    if (rc == ERR_AGAIN && why != OK) {
        /* What is queued is worth nothing to a peer that is ended; the reason is. */
        net_conn_discard(slot->conn, NET_CONTROL);
        rc = net_conn_send_sealed(slot->conn, NET_CONTROL, frame);
    }
    if (rc != OK) {
        buf_unref(frame);
    }
    p->closing = true;
    p->up = false;
    p->why = why;
    (void)err_text_set(&p->why_text, why, "%s", text);
    for (uint16_t i = 0; i < p->streams; i++) {
        loop_timer_stop(&p->slots[i].redial);
        if (p->slots[i].conn != NULL) {
            net_conn_close_soft(p->slots[i].conn);
        }
    }
}

void net_peer_close(struct net_peer *p, const char *text)
{
    net_peer_part(p, OK, text);
}

static void net_slot_redial(struct loop_timer *timer, void *user)
{
    (void)timer;
    net_slot_dial(user);
}

static void net_peer_grace_over(struct loop_timer *timer, void *user)
{
    (void)timer;
    net_peer_lose(user, ERR_TIMEOUT, "did not come back in time");
}

static enum err net_peer_init_slots(struct net_peer *p)
{
    const struct net_endpoint_config *config = &p->endpoint->config;
    struct net_backoff_config backoff = {config->redial_ns, config->redial_max_ns};
    enum err rc = OK;

    for (uint16_t i = 0; i < p->streams && rc == OK; i++) {
        struct net_slot *slot = &p->slots[i];

        slot->peer = p;
        slot->index = i;
        net_backoff_init(&slot->backoff, &backoff, rng_next(&p->endpoint->rng));
        rc = loop_timer_init(&slot->redial, config->loop, net_slot_redial, slot);
    }
    return rc;
}

enum err net_peer_init(struct net_peer *p, struct net_endpoint *e, uint16_t streams)
{
    enum err rc;

    p->endpoint = e;
    p->streams = streams;
    list_init(&p->link);
    p->pace_bytes_per_s = e->config.pace_bytes_per_s;
    p->paced = p->pace_bytes_per_s != 0;
    net_outbox_init(&p->outbox, e->config.window_frames, e->config.window_bytes);
    if (e->config.events->acked != NULL) {
        net_outbox_want_reports(&p->outbox);
    }
    net_window_init(&p->received, 0);
    net_window_init(&p->acked, 0);
    loop_task_init(&p->ack, e->config.loop, net_peer_send_ack, p);
    loop_task_init(&p->end, e->config.loop, net_peer_ended, p);
    rc = net_peer_init_slots(p);
    if (rc == OK) {
        rc = loop_timer_init(&p->grace, e->config.loop, net_peer_grace_over, p);
    }
    if (rc == OK) {
        rc = loop_timer_init(&p->ack_timer, e->config.loop, net_peer_retry_ack, p);
    }
    if (rc == OK) {
        rc = net_probe_init(p);
    }
    return rc;
}

void net_peer_pause(struct net_peer *p, bool paused)
{
    p->paused = paused;
    for (uint16_t i = 0; i < p->streams; i++) {
        if (p->slots[i].live) {
            net_conn_pause(p->slots[i].conn, paused);
        }
    }
}

const struct pki_identity *net_peer_identity(const struct net_peer *p)
{
    return &p->identity;
}

bool net_peer_knew_us(const struct net_peer *p)
{
    return p->holes;
}

uint64_t net_peer_incarnation(const struct net_peer *p)
{
    return p->incarnation;
}

bool net_peer_is_up(const struct net_peer *p)
{
    return p->up;
}

bool net_peer_dialled(const struct net_peer *p)
{
    return p->dialled;
}

const char *net_peer_source(const struct net_peer *p)
{
    return p->source;
}

uint16_t net_peer_streams(const struct net_peer *p)
{
    return p->streams;
}

/* A heartbeat may have waited behind other frames, and then says more than is true; only what is
 * many times as long shows that there is somebody in between. */
static void net_peer_round_trip(const struct net_conn *conn, const struct net_stream_info *info,
                                struct net_peer_stats *out)
{
    int64_t heard_ns = net_conn_rtt_least_ns(conn);
    bool beyond = heard_ns > NET_BEYOND * info->rtt_least_ns;

    out->rtt_ns = beyond ? net_conn_rtt_ns(conn) : info->rtt_ns;
    out->rtt_least_ns = beyond ? heard_ns : info->rtt_least_ns;
}

void net_peer_stats(struct net_peer *p, struct net_peer_stats *out)
{
    struct net_slot *slot = net_peer_first_live(p);

    *out = (struct net_peer_stats){
        .unacked_frames = net_outbox_frames(&p->outbox),
        .unacked_bytes = net_outbox_bytes(&p->outbox),
        .sent_sequence = p->outbox.next - 1,
        .acked_sequence = net_outbox_base(&p->outbox),
        .received_sequence = net_window_base(&p->received),
        .streams_live = net_peer_live(p),
        .sent_bytes = p->sent_bytes,
        .received_bytes = p->received_bytes,
    };
    for (uint16_t i = 0; i < p->streams; i++) {
        struct net_stream_info info = {0};

        if (p->slots[i].conn != NULL) {
            net_conn_traffic(p->slots[i].conn, &out->sent_bytes, &out->received_bytes);
        }

        if (p->slots[i].live) {
            net_conn_info(p->slots[i].conn, &info);
            out->delivery_bytes_per_s += info.delivery_bytes_per_s;
            out->silent_ns = slot == &p->slots[i] || info.silent_ns < out->silent_ns
                                 ? info.silent_ns
                                 : out->silent_ns;
        }
        if (slot == &p->slots[i]) {
            net_peer_round_trip(slot->conn, &info, out);
        }
    }
}

uint64_t net_peer_unacked_clock_min(const struct net_peer *p, uint64_t sequence,
                                    bool (*wanted)(const struct wire_header *header))
{
    return net_outbox_clock_min(&p->outbox, sequence, wanted);
}

void *net_peer_user(const struct net_peer *p)
{
    return p->user;
}

void net_peer_set_user(struct net_peer *p, void *user)
{
    p->user = user;
}
