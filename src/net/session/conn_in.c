/* Receiving. Small frames are parsed where they arrived; a large one gets a buffer of its own as
 * soon as its header is known, and the rest of it is read straight into that buffer. Nothing is
 * allocated before the header has been judged. */

#include "base/limits.h"
#include "base/log.h"
#include "net/session/conn_state.h"
#include "wire/heartbeat.h"

#include <string.h>

void net_conn_in_deinit(struct net_conn *c)
{
    buf_unref(c->stage);
    buf_unref(c->large);
}

static void net_conn_refuse(struct net_conn *c, enum err rc, enum wire_reason reason)
{
    obs_counter_add(c->config.counters->refused[reason], 1);
    LOG_DBG("net", "frame refused: %s", wire_reason_name(reason));
    net_conn_close(c, rc, wire_reason_name(reason));
}

static enum err net_conn_take_beat(struct net_conn *c, const struct net_frame *frame)
{
    int64_t now_ns = loop_now_ns(c->config.loop);
    struct wire_heartbeat beat;
    enum err rc = wire_heartbeat_decode(frame->body, frame->header.body_bytes, &beat);
    bool first = c->beat_received_ns == 0;

    if (rc != OK) {
        obs_counter_add(c->config.counters->refused[WIRE_REASON_BODY], 1);
        return rc;
    }
    c->beat_sent_ns = beat.sent_ns;
    c->beat_received_ns = now_ns;
    /* Our own clock came back: what the peer says of its holding time is bounded by what passed. */
    if (beat.echo_sent_ns > 0 && beat.echo_sent_ns <= now_ns && beat.echo_held_ns >= 0 &&
        beat.echo_held_ns <= now_ns - beat.echo_sent_ns) {
        c->rtt_ns = now_ns - beat.echo_sent_ns - beat.echo_held_ns;
        if (c->rtt_least_ns == 0 || c->rtt_ns < c->rtt_least_ns) {
            c->rtt_least_ns = c->rtt_ns;
        }
        obs_histogram_record(c->config.counters->rtt, c->rtt_ns);
    }
    if (first && c->config.heartbeat_ns > 0) {
        net_conn_beat(c);
    }
    return OK;
}

/* A whole frame is there. */
static void net_conn_deliver(struct net_conn *c, const struct net_frame *frame)
{
    const struct wire_type_info *info = wire_type_info(frame->header.type);
    const struct net_stream *s = c->stream;
    enum err rc;

    if (!wire_body_valid(&frame->header, frame->body)) {
        net_conn_refuse(c, ERR_CORRUPT, WIRE_REASON_BODY_CHECK);
        return;
    }
    if (s->authenticated && (s->identity.role & info->roles) == 0) {
        net_conn_refuse(c, ERR_PEER, WIRE_REASON_ROLE);
        return;
    }
    obs_counter_add(c->config.counters->received_frames, 1);
    if (c->config.events->allowed != NULL &&
        !c->config.events->allowed(c, frame->header.type, c->config.user)) {
        return;
    }
    if (frame->header.type == WIRE_HEARTBEAT && c->trusted) {
        rc = net_conn_take_beat(c, frame);
    } else {
        rc = c->config.events->frame(c, frame, c->config.user);
    }
    if (rc != OK) {
        net_conn_close(c, rc, NULL);
    }
}

/* Begin a large frame: its body gets a buffer, and what is staged of it moves there. */
static enum err net_conn_begin_large(struct net_conn *c, const struct wire_header *header)
{
    uint32_t staged = buf_size(c->stage) - c->stage_start - WIRE_HEADER_BYTES;
    const uint8_t *from = buf_bytes(c->stage) + c->stage_start + WIRE_HEADER_BYTES;
    size_t room = (size_t)header->body_bytes + wire_body_room(header->type);
    enum err rc = buf_take(c->config.pool, WIRE_HEADER_BYTES, room, &c->large);

    if (rc != OK) {
        return rc;
    }
    if (staged > 0) {
        memcpy(buf_append(c->large, staged), from, staged);
    }
    c->large_header = *header;
    c->large_flow = true;
    c->stage_start = 0;
    buf_truncate(c->stage, 0);
    return OK;
}

/* Without a buffer to receive into we read no more: the sender feels it. */
static void net_conn_starve(struct net_conn *c)
{
    loop_timer_start_in(&c->pool_retry, NET_POOL_RETRY_NS);
    net_conn_watch(c);
}

/* True while frames are wanted; each one that is delivered may change that. */
static bool net_conn_listens(const struct net_conn *c)
{
    return c->state == NET_CONN_OPEN && !c->paused && !c->soft_close;
}

/* Larger bodies get a buffer of their own; up to this one they fit the stage in any case. */
static uint32_t net_conn_stage_frame_max(const struct net_conn *c)
{
    uint32_t half = (buf_size(c->stage) + buf_tailroom(c->stage)) / 2;

    return half < NET_STAGE_FRAME_MAX ? half : NET_STAGE_FRAME_MAX;
}

/* Parse what is staged. Returns false when reading must not go on. */
static bool net_conn_parse(struct net_conn *c)
{
    while (net_conn_listens(c) && c->large == NULL) {
        uint32_t left = buf_size(c->stage) - c->stage_start;
        struct net_frame frame = {.buf = NULL};
        enum wire_reason reason = WIRE_REASON_NONE;
        enum err rc;

        if (left < WIRE_HEADER_BYTES) {
            break;
        }
        rc = wire_header_decode(buf_bytes(c->stage) + c->stage_start, &frame.header, &reason);
        if (rc != OK) {
            net_conn_refuse(c, rc, reason);
            return false;
        }
        if (!c->trusted && frame.header.body_bytes > LIMIT_STRANGER_BYTES) {
            net_conn_refuse(c, ERR_TOO_BIG, WIRE_REASON_LENGTH);
            return false;
        }
        if (left < WIRE_HEADER_BYTES + frame.header.body_bytes) {
            if (frame.header.body_bytes <= net_conn_stage_frame_max(c)) {
                break;
            }
            if (net_conn_begin_large(c, &frame.header) != OK) {
                net_conn_starve(c);
                return false;
            }
            break;
        }
        frame.body = buf_bytes(c->stage) + c->stage_start + WIRE_HEADER_BYTES;
        c->stage_start += WIRE_HEADER_BYTES + frame.header.body_bytes;
        c->large_flow = frame.header.body_bytes > NET_STAGE_FRAME_MAX;
        net_conn_deliver(c, &frame);
    }
    return net_conn_listens(c);
}

/* The large frame is complete. */
static void net_conn_end_large(struct net_conn *c)
{
    struct net_frame frame = {.header = c->large_header, .buf = c->large};

    frame.body = buf_bytes(c->large);
    c->large = NULL;
    net_conn_deliver(c, &frame);
    buf_unref(frame.buf);
}

/* Move an incomplete small frame to the front. */
static void net_conn_compact(struct net_conn *c)
{
    uint32_t left = buf_size(c->stage) - c->stage_start;

    if (c->stage_start == 0) {
        return;
    }
    if (left > 0) {
        memmove(buf_bytes(c->stage), buf_bytes(c->stage) + c->stage_start, left);
    }
    buf_truncate(c->stage, left);
    c->stage_start = 0;
}

/* Where the next bytes go: the rest of a large frame first, then the stage. */
static int net_conn_targets(struct net_conn *c, struct iovec iov[2])
{
    uint32_t room = buf_tailroom(c->stage);
    int count = 0;

    if (c->large != NULL) {
        iov[count++] = (struct iovec){buf_bytes(c->large) + buf_size(c->large),
                                      c->large_header.body_bytes - buf_size(c->large)};
    }
    if (c->large_flow && room > NET_STAGE_PEEK_BYTES) {
        room = NET_STAGE_PEEK_BYTES;
    }
    iov[count++] = (struct iovec){buf_bytes(c->stage) + buf_size(c->stage), room};
    return count;
}

static void net_conn_received(struct net_conn *c, size_t n)
{
    c->received_bytes += n;
    obs_counter_add(c->config.counters->received_bytes, n);
    if (c->large != NULL) {
        size_t left = c->large_header.body_bytes - buf_size(c->large);
        size_t part = n < left ? n : left;

        (void)buf_append(c->large, part);
        n -= part;
    }
    (void)buf_append(c->stage, n);
}

/* A stranger may say one thing, and not a long one. */
static bool net_conn_patient(struct net_conn *c)
{
    if (!c->trusted && c->received_bytes > LIMIT_STRANGER_BYTES + WIRE_HEADER_BYTES) {
        obs_counter_add(c->config.counters->strangers_refused, 1);
        net_conn_close(c, ERR_TOO_BIG, "too much before authentication");
        return false;
    }
    return true;
}

static bool net_conn_have_stage(struct net_conn *c)
{
    size_t bytes = c->trusted ? NET_STAGE_BYTES : NET_STRANGER_STAGE_BYTES;
    struct buf *larger;

    if (c->stage == NULL && buf_take(c->config.pool, 0, bytes, &c->stage) != OK) {
        c->stage = NULL;
        net_conn_starve(c);
        return false;
    }
    /* A stranger's stage is small: once it is trusted it gets a proper one, when nothing is in it.
     */
    if (c->trusted && buf_size(c->stage) == 0 && buf_tailroom(c->stage) < NET_STAGE_BYTES &&
        buf_take(c->config.pool, 0, NET_STAGE_BYTES, &larger) == OK) {
        buf_unref(c->stage);
        c->stage = larger;
    }
    return true;
}

/* Deal with what is there. Returns false when reading must not go on. */
static bool net_conn_digest(struct net_conn *c)
{
    if (c->large != NULL && buf_size(c->large) == c->large_header.body_bytes) {
        net_conn_end_large(c);
    }
    if (!net_conn_parse(c)) {
        return false;
    }
    net_conn_compact(c);
    return true;
}

/* After a soft close what comes is of no interest, but it must be taken: a socket that is closed
 * over unread bytes is reset, and what we wrote last would be lost with it. */
static void net_conn_drain(struct net_conn *c)
{
    size_t budget = LIMIT_READ_TURN_BYTES;

    c->stage_start = 0;
    buf_truncate(c->stage, 0);
    while (budget > 0) {
        struct iovec iov = {buf_bytes(c->stage), buf_tailroom(c->stage)};
        size_t n = 0;
        enum err rc = c->stream->ops->read(c->stream, &iov, 1, &n);

        if (rc == ERR_AGAIN) {
            return;
        }
        if (rc != OK) {
            net_conn_hung_up(c, rc);
            return;
        }
        if (n < iov.iov_len) {
            return;
        }
        budget = n < budget ? budget - n : 0;
    }
    loop_task_post(&c->resume);
}

void net_conn_read(struct net_conn *c)
{
    size_t budget = LIMIT_READ_TURN_BYTES;

    if (c->state != NET_CONN_OPEN || (c->paused && !c->soft_close) || !net_conn_have_stage(c)) {
        return;
    }
    if (c->soft_close) {
        net_conn_drain(c);
        return;
    }
    if (!net_conn_digest(c)) {
        return;
    }
    while (budget > 0) {
        struct iovec iov[2];
        int count = net_conn_targets(c, iov);
        size_t wanted = iov[0].iov_len + (count == 2 ? iov[1].iov_len : 0);
        size_t n = 0;
        enum err rc = c->stream->ops->read(c->stream, iov, count, &n);

        if (rc == ERR_AGAIN) {
            return;
        }
        if (rc != OK) {
            net_conn_hung_up(c, rc);
            return;
        }
        net_conn_received(c, n);
        if (!net_conn_patient(c) || !net_conn_digest(c)) {
            return;
        }
        if (n < wanted) {
            return;
        }
        budget = n < budget ? budget - n : 0;
    }
    loop_task_post(&c->resume);
}

enum err net_frame_keep(const struct net_frame *frame, struct buf_pool *pool, struct buf **body_out)
{
    size_t room = (size_t)frame->header.body_bytes + wire_body_room(frame->header.type);
    enum err rc;

    if (frame->buf != NULL) {
        *body_out = buf_ref(frame->buf);
        return OK;
    }
    rc = buf_take(pool, WIRE_HEADER_BYTES, room, body_out);
    if (rc == OK && frame->header.body_bytes > 0) {
        memcpy(buf_append(*body_out, frame->header.body_bytes), frame->body,
               frame->header.body_bytes);
    }
    return rc;
}
