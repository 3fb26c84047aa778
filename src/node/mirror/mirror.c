/* The mirror itself, and what moves everything: ticks, waits, wakes. */

#include "node/mirror/mirror.h"

#include "base/mem.h"
#include "node/mirror/state.h"
#include "obs/metric.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Making. */

bool node_mirror_alive(const struct node_mirror *r)
{
    const struct node_lane_config *config = &r->lane->config;

    return config->wall_us == NULL || node_lane_life(r->lane) > r->m.config.life;
}

static void mirror_add_hubs(struct node_mirror *r)
{
    const struct node_between *b = r->between;

    for (uint32_t i = 0; i < b->hubs_count; i++) {
        struct mirror_hubs hubs = {.count = b->hubs[i].count};

        for (uint32_t k = 0; k < hubs.count; k++) {
            const struct node_remote_site *f = node_remote_named(&r->remotes, b->hubs[i].sites[k]);

            hubs.sites[k] = f == NULL ? MIRROR_SELF : f->index;
        }
        mirror_set_hubs(&r->m, b->hubs[i].from, b->hubs[i].to, &hubs);
    }
}

static const struct node_remote_events mirror_events;
static void mirror_tick_due(struct loop_timer *timer, void *user);
static void mirror_pump_due(struct loop_task *task, void *user);

static enum err mirror_build(struct node_mirror *r, struct err_text *text)
{
    const struct node_between *b = r->between;
    struct mirror_config config = {
        .staleness = b->staleness,
        .away_ns = b->away_ns,
        .majority = b->majority,
        .durable = r->lane->ack == NODE_ACK_STORED,
        .life = node_lane_life(r->lane),
        .groups = b->groups,
        .stall_ns = b->stall_ns,
        .gather_ns = b->gather_ns,
    };
    struct asp_config asp = {.goal = b->goal,
                             .barrier = b->barrier,
                             .staleness = b->staleness,
                             .budget_bytes = b->budget_bytes,
                             .clocks = b->clocks};
    enum err rc = mirror_init(&r->m, &config, b->group, text);

    asp_init(&r->asp, &asp);
    fresh_init(&r->fresh, b->fresh);
    for (uint32_t i = 0; i < b->others_count && rc == OK; i++) {
        uint32_t index;

        rc = mirror_add_site(&r->m, b->groups == 0 ? 0 : b->others[i].group, node_mirror_now(r),
                             &index);
    }
    if (rc == OK) {
        rc = node_remotes_fill(&r->remotes, text);
    }
    if (rc == OK) {
        mirror_add_hubs(r);
    }
    if (rc == OK) {
        rc = codec_sum_create(&r->sum);
    }
    return rc;
}

static void mirror_fresh_over(struct loop_timer *timer, void *user)
{
    (void)timer;
    node_mirror_wake(user);
}

enum err node_mirror_create(struct node_lane *l, struct node_mirror **out, struct err_text *text)
{
    const struct node_between *b = l->config.between;
    struct node_mirror *r;
    enum err rc;

    *out = NULL;
    if (b == NULL || b->others_count == 0 || b->central) {
        return OK;
    }
    rc = node_between_check(b, &l->config.site, text);
    if (rc != OK) {
        return rc;
    }
    r = mem_zalloc(sizeof(*r));
    if (r == NULL) {
        return ERR_NOMEM;
    }
    r->lane = l;
    r->between = b;
    r->copy_from = MIRROR_NOBODY;
    list_init(&r->early);
    selective_init(&r->selective);
    loop_task_init(&r->pump, l->config.loop, mirror_pump_due, r);
    r->drains = mem_calloc(MIRROR_SITES_MAX, sizeof(*r->drains));
    rc = r->drains == NULL ? ERR_NOMEM : node_remotes_init(&r->remotes, l, &mirror_events, r);
    if (rc == OK) {
        rc = loop_timer_init(&r->tick, l->config.loop, mirror_tick_due, r);
    }
    if (rc == OK) {
        rc = loop_timer_init(&r->fresh_over, l->config.loop, mirror_fresh_over, r);
    }
    if (rc == OK) {
        rc = mirror_build(r, text);
    }
    if (rc == OK) {
        rc = node_measure_open(r);
    }
    if (rc != OK) {
        node_mirror_destroy(r);
        return rc;
    }
    *out = r;
    return OK;
}

static void mirror_chunks_free(struct node_mirror_chunk *chunks, uint32_t from, uint32_t to);

void node_mirror_destroy(struct node_mirror *r)
{
    struct node_parcel *p;

    if (r == NULL) {
        return;
    }
    loop_task_cancel(&r->pump);
    loop_timer_deinit(&r->tick);
    loop_timer_deinit(&r->fresh_over);
    node_mirror_keep_end(r);
    node_mirror_early_drop(r);
    if (r->m.sites != NULL) {
        for (uint32_t i = 1; i < r->remotes.count; i++) {
            mirror_down(&r->m, i, 0);
        }
        for (uint32_t c = 0; c < r->m.chunks_count; c++) {
            for (uint32_t i = 0; (p = mirror_above(&r->m, c, 0, i)) != NULL; i++) {
                node_parcel_drop(p);
            }
        }
        node_mirror_release(r);
        mirror_deinit(&r->m);
    }
    mirror_chunks_free(r->chunks, 0, r->chunks_count + r->chunks_ready);
    node_measure_close(r);
    node_remotes_deinit(&r->remotes);
    selective_deinit(&r->selective);
    codec_sum_destroy(r->sum);
    mem_free(r->scratch);
    mem_free(r->chunks);
    mem_free(r->drains);
    mem_free(r);
}

/* Sessions. */

enum err node_mirror_start(struct node_mirror *r)
{
    r->started = true;
    r->started_ns = r->clock_ns = node_mirror_now(r);
    node_remotes_start(&r->remotes);
    loop_timer_start_in(&r->tick, (int64_t)NODE_MIRROR_TICK_MS * 1000000);
    return OK;
}

static void mirror_remote_up(struct node_remote_site *f, bool anew, void *user)
{
    struct node_mirror *r = user;

    mirror_up(&r->m, f->index, anew, node_mirror_now(r));
    node_mirror_pump(r);
}

static void mirror_remote_down(struct node_remote_site *f, void *user)
{
    struct node_mirror *r = user;

    mirror_down(&r->m, f->index, node_mirror_now(r));
    node_remote_copy_over(r, f);
    node_mirror_release(r);
    node_mirror_pump(r);
}

static void mirror_remote_lost(struct node_remote_site *f, bool out, void *user)
{
    struct node_drain *d = node_drain_of(f);

    (void)user;
    if (out) {
        d->mark_serial = d->mark_acked = d->mark_judged = 0;
        d->rtt_ns = 0;
        d->copy_next = 0;
    } else {
        memset(d->mark_seen, 0, sizeof(d->mark_seen));
    }
}

static void mirror_remote_known(struct node_remote_site *f, void *user)
{
    (void)f;
    node_mirror_early(user);
}

static enum err mirror_remote_frame(struct node_remote_site *f, const struct net_frame *frame,
                                    void *user)
{
    return node_mirror_take(user, f, frame);
}

static enum err mirror_remote_control(struct node_remote_site *f, uint16_t operation, uint32_t call,
                                      const json_t *fields, bool in, void *user)
{
    if (in && operation == NODE_OP_COPY && f->in_agreed) {
        return node_remote_copy_asked(user, f, call, json_is_true(json_object_get(fields, "go")));
    }
    if (!in && operation == (NODE_OP_COPY | NODE_ANSWER)) {
        node_remote_copy_answered(user, f, fields);
        return OK;
    }
    return ERR_PEER;
}

static const struct node_remote_events mirror_events = {
    .up = mirror_remote_up,
    .down = mirror_remote_down,
    .lost = mirror_remote_lost,
    .known = mirror_remote_known,
    .frame = mirror_remote_frame,
    .control = mirror_remote_control,
};

struct node_remote_sites *node_mirror_remotes(struct node_mirror *r)
{
    return &r->remotes;
}

/* Moving. */

void node_mirror_pump(struct node_mirror *r)
{
    loop_task_post(&r->pump);
}

void node_mirror_writable(struct node_mirror *r)
{
    node_mirror_pump(r);
}

void node_mirror_acked(struct node_mirror *r, struct net_peer *peer,
                       const struct wire_header *header)
{
    struct node_remote_site *f = node_remote_of_peer(&r->remotes, peer);
    struct node_drain *d;

    if (f == NULL || peer != f->out) {
        return;
    }
    node_mirror_pump(r);
    d = node_drain_of(f);
    if (header->type == WIRE_MARK && header->clock > d->mark_acked &&
        header->clock <= d->mark_serial && d->mark_serial - header->clock < NODE_MARKS_TIMED) {
        struct node_mark_sent *mark = &d->marks[header->clock & (NODE_MARKS_TIMED - 1)];

        if (++mark->acked == net_peer_streams(peer)) {
            d->mark_acked = header->clock;
            d->mark_took_ns = node_mirror_now(r) - mark->sent_ns;
        }
    }
}

void node_mirror_wake(struct node_mirror *r)
{
    struct node_lane *l = r->lane;

    fresh_look(&r->fresh, &r->m, node_mirror_now(r));
    if (l->held_frames > 0) {
        loop_task_post(&l->drain);
    }
    LIST_FOREACH (link, &l->sessions) {
        node_deliver_flush(LIST_ENTRY(link, struct node_session, link));
    }
}

static void mirror_report(struct node_mirror *r, struct node_remote_site *f)
{
    uint32_t away[WIRE_REPORT_AWAY_MAX];
    struct mirror_report report;
    struct wire_report out;
    struct buf *frame;

    if (!net_peer_has_room(f->out, 4096)) {
        return;
    }
    mirror_say(&r->m, f->index, &report);
    out = (struct wire_report){.clock = report.clock,
                               .number = report.number,
                               .floor = report.floor,
                               .stable = report.stable,
                               .before = report.before,
                               .request = report.request,
                               .fresh = report.fresh,
                               .knew = report.knew,
                               .done = report.done,
                               .away = away};
    for (uint32_t i = 1; i < r->remotes.count; i++) {
        if ((report.away >> i & 1) != 0) {
            uint32_t at = out.away_count++;

            for (; at > 0 && away[at - 1] > r->remotes.list[i].id; at--) {
                away[at] = away[at - 1];
            }
            away[at] = r->remotes.list[i].id;
        }
    }
    if (wire_report_encode(r->lane->pool, &out, &frame) == OK) {
        if (net_peer_send_sealed(f->out, NET_CONTROL, frame) == OK) {
            return;
        }
        buf_unref(frame);
    }
    r->m.sites[f->index].report_due = true; /* Once more, later. */
}

static void mirror_pump_due(struct loop_task *task, void *user)
{
    struct node_mirror *r = user;

    (void)task;
    node_mirror_due(r);
    node_mirror_keep_tables(r);
    node_mirror_journal(r);
    for (uint32_t i = 1; i < r->remotes.count; i++) {
        struct node_remote_site *f = &r->remotes.list[i];

        if (!f->up) {
            continue;
        }
        if (mirror_say_due(&r->m, i)) {
            mirror_report(r, f);
        }
        node_mirror_flow(r, f);
        node_remote_copy_flow(r, f);
    }
    node_mirror_release(r);
}

/* A site without a connection for a while is away; one that refused is asked again. */
static void mirror_tick_remote(struct node_mirror *r, struct node_remote_site *f, int64_t now_ns)
{
    bool seen = node_remote_tick(f, now_ns, (int64_t)NODE_REMOTE_DOWN_MS * 1000000);

    if (f->up && !seen && r->m.sites[f->index].up) {
        mirror_down(&r->m, f->index, now_ns);
        node_mirror_release(r);
    } else if (f->up && f->silent_ns == 0 && !r->m.sites[f->index].up) {
        mirror_up(&r->m, f->index, false, now_ns);
    }
}

static void mirror_tick_due(struct loop_timer *timer, void *user)
{
    struct node_mirror *r = user;
    int64_t now_ns = node_mirror_now(r);

    (void)timer;
    for (uint32_t i = 1; i < r->remotes.count; i++) {
        mirror_tick_remote(r, &r->remotes.list[i], now_ns);
    }
    if (mirror_tick(&r->m, now_ns)) {
        (void)selective_look_all(&r->selective, &r->m);
        node_mirror_wake(r);
    }
    node_remote_copy_look(r);
    node_mirror_pump(r);
    if (now_ns - r->measured_ns >= (int64_t)NODE_MEASURE_MS * 1000000) {
        r->measured_ns = now_ns;
        node_measure_look(r);
    }
    loop_timer_start_in(&r->tick, (int64_t)NODE_MIRROR_TICK_MS * 1000000);
}

/* Readers. */

bool node_mirror_began(const struct node_mirror *r)
{
    return r == NULL || (!r->m.fresh && r->copy_from == MIRROR_NOBODY);
}

/* Count how long it waits for what. */
static bool mirror_gate(struct node_mirror *r, struct node_gate *gate, enum node_wait wait,
                        uint32_t whom)
{
    if (gate->wait != wait) {
        int64_t now_ns = node_mirror_now(r);

        if (gate->wait != NODE_WAIT_NONE) {
            r->waited_ns[gate->wait] += now_ns - gate->since_ns;
        }
        r->waits[wait]++;
        gate->wait = wait;
        gate->since_ns = now_ns;
    }
    gate->site = whom;
    return wait == NODE_WAIT_NONE;
}

bool node_mirror_has_barrier(const struct node_mirror *r, uint32_t chunk)
{
    return !selective_is_free(&r->selective, chunk);
}

bool node_mirror_may_read(struct node_mirror *r, struct node_gate *gate, uint64_t clock,
                          uint32_t chunk, uint32_t first, uint32_t count)
{
    uint32_t whom = MIRROR_NOBODY;
    int64_t since_ns, until_ns;

    if (r->due_count > 0 || r->copy_from != MIRROR_NOBODY) {
        return mirror_gate(r, gate, NODE_WAIT_ROOM, r->copy_from);
    }
    if (!mirror_may_read(&r->m, clock, &whom)) {
        return mirror_gate(r, gate, NODE_WAIT_CLOCK, whom);
    }
    for (uint32_t c = 0; chunk == NODE_MIRROR_ALL && c < r->chunks_count && r->selective.count > 0;
         c++) {
        if (!selective_may_read(&r->selective, c, 0, LIMIT_CHUNK_ELEMENTS, &whom, &since_ns)) {
            return mirror_gate(r, gate, NODE_WAIT_BARRIER, whom);
        }
    }
    if (chunk != NODE_MIRROR_ALL &&
        !selective_may_read(&r->selective, chunk, first, count, &whom, &since_ns)) {
        return mirror_gate(r, gate, NODE_WAIT_BARRIER, whom);
    }
    if (!fresh_may_read(&r->fresh, &r->m, clock, node_mirror_now(r), &whom, &until_ns)) {
        loop_timer_start(&r->fresh_over, until_ns);
        return mirror_gate(r, gate, NODE_WAIT_FRESH, whom);
    }
    return mirror_gate(r, gate, NODE_WAIT_NONE, MIRROR_NOBODY);
}

/* Chunks. */

/* How many elements the chunks of a table have that are ours, in their order. */
static uint32_t mirror_chunk_size(const struct node_lane *l, uint16_t id,
                                  const struct table_schema *schema, uint32_t *at)
{
    for (uint32_t c = *at; c < table_chunk_count(schema); c++) {
        if (table_chunk_shard(id, c, l->config.site.shards) % l->config.site.lanes ==
            l->config.number) {
            *at = c + 1;
            return table_chunk_size(schema, c);
        }
    }
    return 0;
}

static void mirror_chunks_free(struct node_mirror_chunk *chunks, uint32_t from, uint32_t to)
{
    for (uint32_t c = from; c < to; c++) {
        mem_free(chunks[c].held);
        chunks[c].held = NULL;
    }
}

enum err node_mirror_room(struct node_mirror *r, uint16_t id, const struct table_schema *schema,
                          uint32_t count)
{
    uint32_t total = r->chunks_count + count, at = 0;
    struct node_mirror_chunk *chunks = mem_calloc((size_t)total + 1, sizeof(*chunks));
    enum err rc = chunks == NULL ? ERR_NOMEM : OK;

    mirror_chunks_free(r->chunks, r->chunks_count, r->chunks_count + r->chunks_ready);
    r->chunks_ready = 0;
    if (rc == OK && r->scratch == NULL) {
        r->scratch = mem_calloc(LIMIT_CHUNK_ELEMENTS, sizeof(float));
        rc = r->scratch == NULL ? ERR_NOMEM : OK;
    }
    for (uint32_t c = r->chunks_count; c < total && rc == OK; c++) {
        chunks[c].held = mem_calloc(mirror_chunk_size(r->lane, id, schema, &at), sizeof(float));
        rc = chunks[c].held == NULL ? ERR_NOMEM : OK;
    }
    if (rc == OK && r->m.chunks_count < total) {
        rc = mirror_grow(&r->m, total - r->m.chunks_count);
    }
    if (rc == OK && r->selective.chunks_count < total) {
        rc = selective_grow(&r->selective, total - r->selective.chunks_count);
    }
    if (rc != OK) {
        if (chunks != NULL) {
            mirror_chunks_free(chunks, r->chunks_count, total);
        }
        mem_free(chunks);
        return rc;
    }
    if (r->chunks != NULL) {
        memcpy(chunks, r->chunks, r->chunks_count * sizeof(*chunks));
    }
    mem_free(r->chunks);
    r->chunks = chunks;
    r->chunks_ready = count;
    return OK;
}

void node_mirror_grown(struct node_mirror *r)
{
    r->chunks_count += r->chunks_ready;
    buf_pool_raise(r->lane->pool, (uint64_t)r->chunks_ready * NODE_SUM_BYTES);
    r->chunks_ready = 0;
    node_mirror_pump(r);
    if (r->started) {
        node_handshake_resend(&r->remotes);
    }
}

const struct mirror *node_mirror_machine(const struct node_mirror *r)
{
    return &r->m;
}

uint32_t node_mirror_due_count(const struct node_mirror *r)
{
    return r->due_count;
}

void node_mirror_stats(struct node_mirror *r, struct node_mirror_stats *out)
{
    *out = r->stats;
    out->log_bytes = r->m.log_bytes;
    out->soft = asp_soft(&r->asp);
    out->waited_clock_ns = r->waited_ns[NODE_WAIT_CLOCK];
    out->waited_barrier_ns = r->waited_ns[NODE_WAIT_BARRIER];
    out->waited_fresh_ns = r->waited_ns[NODE_WAIT_FRESH];
    out->waited_room_ns = r->waited_ns[NODE_WAIT_ROOM];
}

const char *node_mirror_broken(struct node_mirror *r)
{
    if (r == NULL) {
        return NULL;
    }
    if (!mirror_invariant(&r->m)) {
        return "the mirror's invariant does not hold";
    }
    return r->early_count > NODE_EARLY_MAX ? "too many pieces are held (I10)" : NULL;
}
