/* Sending: two bounded queues, one flush per turn. */

#include "base/limits.h"
#include "base/mem.h"
#include "net/session/conn_state.h"

#include <string.h>

_Static_assert((LIMIT_SEND_QUEUE_FRAMES & (LIMIT_SEND_QUEUE_FRAMES - 1)) == 0, "a power of two");

void net_conn_out_init(struct net_conn *c)
{
    c->out[NET_CONTROL].bytes_max = LIMIT_CONTROL_QUEUE_BYTES;
    c->out[NET_DATA].bytes_max = LIMIT_SEND_QUEUE_BYTES;
}

void net_conn_out_deinit(struct net_conn *c)
{
    for (int i = 0; i < NET_PRIORITIES; i++) {
        net_conn_discard(c, (enum net_priority)i);
        mem_free(c->out[i].slots);
    }
    if (c->current_active) {
        buf_unref(c->current.buf);
    }
}

static struct net_out *net_out_at(struct net_out_queue *q, uint32_t index)
{
    return &q->slots[(q->head + index) & (LIMIT_SEND_QUEUE_FRAMES - 1)];
}

static uint32_t net_out_bytes(const struct net_out *o)
{
    return o->header_bytes + (o->buf == NULL ? 0 : buf_size(o->buf));
}

bool net_conn_out_empty(const struct net_conn *c)
{
    return !c->current_active && c->out[NET_CONTROL].count == 0 && c->out[NET_DATA].count == 0;
}

uint64_t net_conn_queued_bytes(const struct net_conn *c)
{
    return c->out[NET_CONTROL].bytes + c->out[NET_DATA].bytes +
           (c->current_active ? net_out_bytes(&c->current) - c->current_done : 0);
}

void net_conn_traffic(const struct net_conn *c, uint64_t *sent, uint64_t *received)
{
    *sent += c->sent_bytes;
    *received += c->received_bytes;
}

/* Small frames behind others are copied together: one piece to write instead of many. */
static bool net_out_coalesce(struct net_conn *c, struct net_out_queue *q,
                             const uint8_t header[WIRE_HEADER_BYTES], struct buf *body,
                             uint32_t body_bytes)
{
    uint32_t bytes = WIRE_HEADER_BYTES + body_bytes;
    struct net_out *o;

    if (bytes > NET_COALESCE_FRAME_MAX || q->count == 0) {
        return false;
    }
    if (q->coalesce == NULL || buf_tailroom(q->coalesce) < bytes) {
        struct buf *fresh;

        if (q->count == LIMIT_SEND_QUEUE_FRAMES ||
            buf_take(c->config.pool, 0, NET_COALESCE_BYTES, &fresh) != OK) {
            return false;
        }
        *net_out_at(q, q->count) = (struct net_out){.buf = fresh};
        q->count++;
        q->coalesce = fresh;
    }
    memcpy(buf_append(q->coalesce, WIRE_HEADER_BYTES), header, WIRE_HEADER_BYTES);
    if (body_bytes > 0) {
        memcpy(buf_append(q->coalesce, body_bytes), buf_bytes(body), body_bytes);
    }
    o = net_out_at(q, q->count - 1);
    o->frames++;
    q->bytes += bytes;
    buf_unref(body);
    return true;
}

static enum err net_out_room(struct net_conn *c, struct net_out_queue *q, uint64_t bytes)
{
    if (c->state == NET_CONN_CLOSING || c->soft_close) {
        return ERR_CLOSED;
    }
    if (q->slots == NULL) { /* Its first frame: who never sends, as a stranger, costs nothing. */
        q->slots = mem_calloc(LIMIT_SEND_QUEUE_FRAMES, sizeof(*q->slots));
        if (q->slots == NULL) {
            q->blocked = true; /* The next heartbeat's flush tells the sender to try again. */
            return ERR_NOMEM;
        }
    }
    if (q->bytes + bytes > q->bytes_max || q->count == LIMIT_SEND_QUEUE_FRAMES) {
        q->blocked = true;
        obs_counter_add(c->config.counters->queue_full, 1);
        return ERR_AGAIN;
    }
    return OK;
}

static void net_out_sent(struct net_conn *c, enum net_priority priority, uint64_t bytes)
{
    c->sent_frames++;
    c->sent_bytes += bytes;
    obs_counter_add(c->config.counters->sent_frames[priority], 1);
    obs_counter_add(c->config.counters->sent_bytes[priority], bytes);
    if (c->state == NET_CONN_OPEN) {
        loop_task_post(&c->flush);
    }
}

enum err net_conn_send(struct net_conn *c, enum net_priority priority,
                       const struct wire_header *header, struct buf *body)
{
    struct net_out_queue *q = &c->out[priority];
    uint32_t body_bytes = body == NULL ? 0 : buf_size(body);
    uint32_t bytes = WIRE_HEADER_BYTES + body_bytes;
    struct net_out *o;
    enum err rc = net_out_room(c, q, bytes);

    if (rc != OK) {
        return rc;
    }
    CHECK(header->body_bytes == body_bytes);
    if (q->count > 0 && bytes <= NET_COALESCE_FRAME_MAX) {
        uint8_t encoded[WIRE_HEADER_BYTES];

        wire_header_encode(header, encoded);
        if (net_out_coalesce(c, q, encoded, body, body_bytes)) {
            net_out_sent(c, priority, bytes);
            return OK;
        }
    }
    o = net_out_at(q, q->count);
    o->buf = body;
    o->header_bytes = WIRE_HEADER_BYTES;
    o->frames = 1;
    wire_header_encode(header, o->header);
    q->count++;
    q->bytes += bytes;
    q->coalesce = NULL;
    net_out_sent(c, priority, bytes);
    return OK;
}

enum err net_conn_send_sealed(struct net_conn *c, enum net_priority priority, struct buf *frame)
{
    struct net_out_queue *q = &c->out[priority];
    uint32_t bytes = buf_size(frame);
    enum err rc = net_out_room(c, q, bytes);

    if (rc != OK) {
        return rc;
    }
    CHECK(bytes >= WIRE_HEADER_BYTES);
    *net_out_at(q, q->count) = (struct net_out){.buf = frame, .frames = 1};
    q->count++;
    q->bytes += bytes;
    q->coalesce = NULL;
    net_out_sent(c, priority, bytes);
    return OK;
}

void net_conn_discard(struct net_conn *c, enum net_priority priority)
{
    struct net_out_queue *q = &c->out[priority];

    for (; q->count > 0; q->count--) {
        buf_unref(q->slots[q->head].buf);
        q->head = (q->head + 1) & (LIMIT_SEND_QUEUE_FRAMES - 1);
    }
    q->bytes = 0;
    q->coalesce = NULL;
}

struct net_iov {
    struct iovec iov[NET_STREAM_IOV_MAX];
    int count;
};

static void net_iov_add(struct net_iov *v, uint8_t *bytes, size_t size)
{
    if (size > 0) {
        v->iov[v->count++] = (struct iovec){bytes, size};
    }
}

/* Add what of @o comes after its first @done bytes. */
static void net_iov_add_out(struct net_iov *v, struct net_out *o, uint32_t done)
{
    uint32_t header_left = done < o->header_bytes ? o->header_bytes - done : 0;
    uint32_t buf_done = done > o->header_bytes ? done - o->header_bytes : 0;

    net_iov_add(v, o->header + (o->header_bytes - header_left), header_left);
    if (o->buf != NULL) {
        net_iov_add(v, buf_bytes(o->buf) + buf_done, buf_size(o->buf) - buf_done);
    }
}

/* Gather in the order of sending: what is begun, then control, then data. */
static void net_conn_gather(struct net_conn *c, struct net_iov *v)
{
    v->count = 0;
    if (c->current_active) {
        net_iov_add_out(v, &c->current, c->current_done);
    }
    for (int p = 0; p < NET_PRIORITIES; p++) {
        struct net_out_queue *q = &c->out[p];

        for (uint32_t i = 0; i < q->count && v->count + 2 <= NET_STREAM_IOV_MAX; i++) {
            net_iov_add_out(v, net_out_at(q, i), 0);
        }
    }
}

/* Make the next thing to write the current one. */
static bool net_conn_next_out(struct net_conn *c)
{
    for (int p = 0; p < NET_PRIORITIES && !c->current_active; p++) {
        struct net_out_queue *q = &c->out[p];

        if (q->count > 0) {
            c->current = *net_out_at(q, 0);
            c->current_priority = (enum net_priority)p;
            c->current_done = 0;
            c->current_active = true;
            if (q->coalesce == c->current.buf) {
                q->coalesce = NULL;
            }
            q->head = (q->head + 1) & (LIMIT_SEND_QUEUE_FRAMES - 1);
            q->count--;
            q->bytes -= net_out_bytes(&c->current);
        }
    }
    return c->current_active;
}

/* Strike off @done bytes that the stream took. */
static void net_conn_consume(struct net_conn *c, size_t done)
{
    while (done > 0 && net_conn_next_out(c)) {
        uint32_t left = net_out_bytes(&c->current) - c->current_done;

        if (done < left) {
            c->current_done += (uint32_t)done;
            return;
        }
        done -= left;
        buf_unref(c->current.buf);
        c->current_active = false;
    }
}

/* Tell senders that were held back, once half of the queue is free. */
static void net_conn_tell_writable(struct net_conn *c)
{
    for (int p = 0; p < NET_PRIORITIES && c->state == NET_CONN_OPEN; p++) {
        struct net_out_queue *q = &c->out[p];

        if (q->blocked && q->bytes <= q->bytes_max / 2 && q->count <= LIMIT_SEND_QUEUE_FRAMES / 2) {
            q->blocked = false;
            if (c->config.events->writable != NULL) {
                c->config.events->writable(c, (enum net_priority)p, c->config.user);
            }
        }
    }
}

void net_conn_flush(struct loop_task *task, void *user)
{
    struct net_conn *c = user;
    struct net_iov v;

    (void)task;
    if (c->state != NET_CONN_OPEN) {
        return;
    }
    while (!net_conn_out_empty(c)) {
        size_t offered = 0;
        size_t done = 0;
        enum err rc;

        net_conn_gather(c, &v);
        for (int i = 0; i < v.count; i++) {
            offered += v.iov[i].iov_len;
        }
        rc = c->stream->ops->write(c->stream, v.iov, v.count, &done);
        if (rc == ERR_AGAIN) {
            break;
        }
        if (rc != OK) {
            net_conn_read(c); /* Perhaps it said why, before it left. */
            net_conn_close(c, rc, NULL);
            return;
        }
        net_conn_consume(c, done);
        if (done < offered) {
            break;
        }
    }
    net_conn_watch(c);
    net_conn_tell_writable(c);
    if (c->soft_close && !c->finished && c->state == NET_CONN_OPEN && net_conn_out_empty(c)) {
        c->finished = true;
        c->stream->ops->finish(c->stream);
    }
}
