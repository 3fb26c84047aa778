/* Life of a connection: opening, pulse, closing. */

#include "net/session/conn.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/session/conn_state.h"
#include "wire/heartbeat.h"

#include <string.h>

void net_conn_watch(struct net_conn *c)
{
    int events = 0;

    if (c->state != NET_CONN_OPEN) {
        return;
    }
    if ((!c->paused || c->soft_close) && !loop_timer_active(&c->pool_retry)) {
        events |= NET_STREAM_READABLE;
    }
    if (!net_conn_out_empty(c)) {
        events |= NET_STREAM_WRITABLE;
    }
    c->stream->ops->want(c->stream, events);
}

static void net_conn_free(struct net_conn *c)
{
    loop_task_cancel(&c->flush);
    loop_task_cancel(&c->finish);
    loop_task_cancel(&c->resume);
    loop_timer_deinit(&c->pulse);
    loop_timer_deinit(&c->patience);
    loop_timer_deinit(&c->pool_retry);
    net_conn_out_deinit(c);
    net_conn_in_deinit(c);
    mem_free(c);
}

static void net_conn_finish(struct loop_task *task, void *user)
{
    struct net_conn *c = user;

    (void)task;
    c->config.events->closed(c, c->why, c->why_text.text, c->config.user);
    net_conn_free(c);
}

void net_conn_close(struct net_conn *c, enum err why, const char *text)
{
    if (c->state == NET_CONN_CLOSING) {
        return;
    }
    c->state = NET_CONN_CLOSING;
    c->why = why;
    (void)err_text_set(&c->why_text, why, "%s", text == NULL ? err_string(why) : text);
    loop_task_cancel(&c->flush);
    loop_task_cancel(&c->resume);
    loop_timer_stop(&c->pulse);
    loop_timer_stop(&c->patience);
    loop_timer_stop(&c->pool_retry);
    c->stream->ops->destroy(c->stream, why != OK && why != ERR_CANCELLED);
    c->stream = NULL;
    loop_task_post(&c->finish);
}

void net_conn_close_soft(struct net_conn *c)
{
    if (c->state == NET_CONN_OPENING) {
        net_conn_close(c, OK, NULL);
    }
    if (c->state == NET_CONN_OPEN && !c->soft_close) {
        c->soft_close = true;
        loop_timer_stop(&c->pulse);
        loop_timer_start_in(&c->patience, (int64_t)LIMIT_SOFT_CLOSE_MS * 1000000);
        loop_task_post(&c->flush);
    }
}

void net_conn_abandon(struct net_conn *c)
{
    if (c != NULL) {
        if (c->stream != NULL) {
            c->stream->ops->destroy(c->stream, true);
        }
        net_conn_free(c);
    }
}

void net_conn_beat(struct net_conn *c)
{
    int64_t now_ns = loop_now_ns(c->config.loop);
    struct wire_heartbeat beat = {
        .sent_ns = now_ns,
        .echo_sent_ns = c->beat_sent_ns,
        .echo_held_ns = c->beat_sent_ns == 0 ? 0 : now_ns - c->beat_received_ns,
    };
    struct buf *frame;

    /* A heartbeat that finds no room is not missed: what fills the queue is a sign of life too. */
    if (wire_heartbeat_encode(c->config.control_pool, &beat, &frame) != OK) {
        return;
    }
    if (net_conn_send_sealed(c, NET_CONTROL, frame) != OK) {
        buf_unref(frame);
    }
}

/* The pulse starts when both ends know each other: before that a heartbeat would come in the place
 * of the greeting, and patience is short anyway. */
static void net_conn_start_pulse(struct net_conn *c)
{
    struct net_liveness_config config = {c->config.heartbeat_ns, LIMIT_HEARTBEATS_MISSED};

    if (c->config.heartbeat_ns > 0) {
        net_liveness_init(&c->liveness, &config, loop_now_ns(c->config.loop));
        loop_timer_start(&c->pulse, net_liveness_next_ns(&c->liveness));
    }
}

static void net_conn_opened(struct net_conn *c)
{
    c->state = NET_CONN_OPEN;
    obs_counter_add(c->config.counters->connections, 1);
    if (c->trusted) {
        net_conn_start_pulse(c);
    }
    net_conn_watch(c);
    c->config.events->opened(c, c->config.user);
}

void net_conn_hung_up(struct net_conn *c, enum err rc)
{
    if (c->finished) {
        net_conn_close(c, OK, NULL); /* As we wanted. */
    } else {
        net_conn_close(c, rc, c->stream->why.text[0] == '\0' ? NULL : c->stream->why.text);
    }
}

static void net_conn_event(struct net_stream *s, int events, void *user)
{
    struct net_conn *c = user;

    if (events & NET_STREAM_FAILED) {
        net_conn_hung_up(c, s->failure);
        return;
    }
    if (events & NET_STREAM_OPENED) {
        net_conn_opened(c);
        return;
    }
    if (events & NET_STREAM_WRITABLE) {
        loop_task_post(&c->flush);
    }
    if (events & NET_STREAM_READABLE) {
        net_conn_read(c);
    }
}

static void net_conn_resume(struct loop_task *task, void *user)
{
    (void)task;
    net_conn_read(user);
}

static void net_conn_pool_retry(struct loop_timer *timer, void *user)
{
    struct net_conn *c = user;

    (void)timer;
    net_conn_watch(c);
    net_conn_read(c);
}

static void net_conn_too_slow(struct loop_timer *timer, void *user)
{
    struct net_conn *c = user;

    (void)timer;
    if (c->soft_close) {
        net_conn_hung_up(c, ERR_TIMEOUT);
        return;
    }
    if (!c->config.dialled) {
        obs_counter_add(c->config.counters->strangers_refused, 1);
    }
    net_conn_close(c, ERR_TIMEOUT, "no greeting in time");
}

/* The other kernel acknowledges our heartbeats even if its process stands still. So what it takes
 * counts only while more is waiting to be taken, or while it is us who do not listen. */
static void net_conn_note_acked(struct net_conn *c)
{
    struct net_stream_info info;

    c->stream->ops->info(c->stream, &info);
    if (info.unsent_bytes > 0 || !net_conn_out_empty(c) || c->paused ||
        loop_timer_active(&c->pool_retry)) {
        c->acked_bytes = info.acked_bytes;
    }
}

static void net_conn_pulse(struct loop_timer *timer, void *user)
{
    struct net_conn *c = user;

    net_conn_note_acked(c);
    switch (net_liveness_tick(&c->liveness, loop_now_ns(c->config.loop), c->received_bytes,
                              c->acked_bytes, c->sent_frames)) {
    case NET_DEAD:
        obs_counter_add(c->config.counters->silent, 1);
        net_conn_close(c, ERR_TIMEOUT, "silent for three heartbeats");
        return;
    case NET_ALIVE_BEAT:
        net_conn_beat(c);
        break;
    case NET_ALIVE:
        break;
    }
    loop_timer_start(timer, net_liveness_next_ns(&c->liveness));
}

static enum err net_conn_init(struct net_conn *c)
{
    struct loop *loop = c->config.loop;
    enum err rc;

    net_conn_out_init(c);
    loop_task_init_late(&c->flush, loop, net_conn_flush, c);
    loop_task_init(&c->finish, loop, net_conn_finish, c);
    loop_task_init(&c->resume, loop, net_conn_resume, c);
    rc = loop_timer_init(&c->pulse, loop, net_conn_pulse, c);
    if (rc == OK) {
        rc = loop_timer_init(&c->patience, loop, net_conn_too_slow, c);
    }
    if (rc == OK) {
        rc = loop_timer_init(&c->pool_retry, loop, net_conn_pool_retry, c);
    }
    return rc;
}

enum err net_conn_create(const struct net_conn_config *config, struct net_stream *stream,
                         struct net_conn **conn_out)
{
    struct net_conn *c = mem_zalloc(sizeof(*c));
    enum err rc;

    if (c == NULL) {
        return ERR_NOMEM;
    }
    c->config = *config;
    if (config->control_pool == NULL) {
        c->config.control_pool = config->pool;
    }
    c->trusted = config->stranger_ns == 0;
    rc = net_conn_init(c);
    if (rc != OK) {
        net_conn_free(c);
        return rc;
    }
    c->stream = stream;
    stream->event = net_conn_event;
    stream->user = c;
    if (!c->trusted) {
        loop_timer_start_in(&c->patience, config->stranger_ns);
    }
    *conn_out = c;
    return OK;
}

void net_conn_trust(struct net_conn *c)
{
    if (!c->trusted && !c->soft_close) {
        loop_timer_stop(&c->patience);
        if (c->state == NET_CONN_OPEN) {
            net_conn_start_pulse(c);
            if (c->config.dialled && c->config.heartbeat_ns > 0) {
                net_conn_beat(c); /* The first is answered at once: so both know how far it is. */
            }
        }
    }
    c->trusted = true;
}

void net_conn_pause(struct net_conn *c, bool paused)
{
    c->paused = paused;
    net_conn_watch(c);
    if (!paused && c->state == NET_CONN_OPEN) {
        loop_task_post(&c->resume); /* The stage may hold frames already. */
    }
}

void net_conn_hand_over(struct net_conn *c, const struct net_conn_events *events, void *user)
{
    c->config.events = events;
    c->config.user = user;
}

const struct net_stream *net_conn_stream(const struct net_conn *c)
{
    return c->stream;
}

void net_conn_info(struct net_conn *c, struct net_stream_info *out)
{
    *out = (struct net_stream_info){0};
    if (c->stream != NULL) {
        c->stream->ops->info(c->stream, out);
    }
}

enum err net_conn_pace(struct net_conn *c, uint64_t bytes_per_s)
{
    return c->stream == NULL ? ERR_CLOSED : c->stream->ops->pace(c->stream, bytes_per_s);
}

int64_t net_conn_rtt_ns(const struct net_conn *c)
{
    return c->rtt_ns;
}

int64_t net_conn_rtt_least_ns(const struct net_conn *c)
{
    return c->rtt_least_ns;
}
