/* Sessions with the other sites, and what moves everything: ticks, waits, wakes. */

#include "node/mirror.h"

#include "base/mem.h"
#include "node/mirror_state.h"
#include "obs/metric.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Making. */

enum { MIRROR_LIFE_US = 250000 };

/* Quarters of a second since late 2023, so that every process has a later one, until 2040; a
 * simulation counts its processes. The next quarter, and nothing is begun before it has come: two
 * processes may start in the same one. */
static uint64_t mirror_life_of(const struct node_lane_config *config)
{
    uint64_t mask = (UINT64_C(1) << (63 - MIRROR_LIFE_SHIFT)) - 1;
    uint64_t life = config->wall_us != NULL
                        ? (uint64_t)(config->wall_us() / MIRROR_LIFE_US) - UINT64_C(6799999999)
                        : config->incarnation;

    return (life & mask) == 0 ? 1 : life & mask;
}

bool node_mirror_alive(const struct node_mirror *r)
{
    const struct node_lane_config *config = &r->lane->config;

    return config->wall_us == NULL || mirror_life_of(config) > r->m.config.life;
}

static enum err mirror_add_far(struct node_mirror *r, const struct node_other_site *site)
{
    struct node_far *f;
    uint32_t index;
    enum err rc = mirror_add_site(&r->m, r->between->groups == 0 ? 0 : site->group,
                                  node_mirror_now(r), &index);

    if (rc != OK) {
        return rc;
    }
    f = &r->fars[index];
    f->mirror = r;
    f->index = index;
    f->site = *site;
    f->id = wire_site_id(site->name);
    f->anew = true;
    memset(f->tables, 0xff, sizeof(f->tables));
    r->fars_count = index + 1;
    /* Room for what is on its way from there. */
    buf_pool_raise(r->lane->pool, NODE_FAR_WINDOW_BYTES + NODE_FAR_WINDOW_BYTES / 4);
    r->lane->coming_bytes += NODE_FAR_WINDOW_BYTES + NODE_FAR_WINDOW_BYTES / 4;
    return OK;
}

static uint32_t mirror_index_of(const struct node_mirror *r, const char *name)
{
    for (uint32_t i = 1; i < r->fars_count; i++) {
        if (strcmp(r->fars[i].site.name, name) == 0) {
            return i;
        }
    }
    return MIRROR_SELF;
}

static void mirror_add_hubs(struct node_mirror *r)
{
    const struct node_between *b = r->between;

    for (uint32_t i = 0; i < b->hubs_count; i++) {
        struct mirror_hubs hubs = {.count = b->hubs[i].count};

        for (uint32_t k = 0; k < hubs.count; k++) {
            hubs.sites[k] = mirror_index_of(r, b->hubs[i].sites[k]);
        }
        mirror_set_hubs(&r->m, b->hubs[i].from, b->hubs[i].to, &hubs);
    }
}

/* Two names with one number would be taken for each other. */
static enum err mirror_check_ids(const struct node_mirror *r, struct err_text *text)
{
    for (uint32_t i = 1; i < r->fars_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            uint32_t other = k == 0 ? r->id : r->fars[k].id;

            if (r->fars[i].id == other) {
                return err_text_set(text, ERR_INVALID,
                                    "the names of sites %s and %s have the same hash: rename one",
                                    r->fars[i].site.name,
                                    k == 0 ? r->lane->config.site.name : r->fars[k].site.name);
            }
        }
    }
    return OK;
}

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
        .life = mirror_life_of(&r->lane->config),
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
        rc = mirror_add_far(r, &b->others[i]);
    }
    if (rc == OK) {
        mirror_add_hubs(r);
        rc = mirror_check_ids(r, text);
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
    if (b == NULL || b->others_count == 0) {
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
    r->id = wire_site_id(l->config.site.name);
    r->copy_from = MIRROR_NOBODY;
    r->fars_count = 1;
    list_init(&r->early);
    selective_init(&r->selective);
    loop_task_init(&r->pump, l->config.loop, mirror_pump_due, r);
    r->fars = mem_calloc(MIRROR_SITES_MAX, sizeof(*r->fars));
    rc =
        r->fars == NULL ? ERR_NOMEM : loop_timer_init(&r->tick, l->config.loop, mirror_tick_due, r);
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
        for (uint32_t i = 1; i < r->fars_count; i++) {
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
    for (uint32_t i = 1; i < r->fars_count && r->fars != NULL; i++) {
        json_decref(r->fars[i].said);
    }
    node_measure_close(r);
    selective_deinit(&r->selective);
    codec_sum_destroy(r->sum);
    mem_free(r->scratch);
    mem_free(r->chunks);
    mem_free(r->fars);
    mem_free(r);
}

/* Sessions. */

struct node_far *node_far_of(struct node_mirror *r, uint32_t id)
{
    for (uint32_t i = 1; i < r->fars_count; i++) {
        if (r->fars[i].id == id) {
            return &r->fars[i];
        }
    }
    return NULL;
}

void node_far_dialled(struct node_far *f)
{
    const struct node_lane_config *c = &f->mirror->lane->config;
    uint64_t pace = f->site.pace_bytes_per_s / c->site.lanes;

    net_peer_limit(f->out, NODE_FAR_WINDOW_BYTES);
    if (f->site.pace_bytes_per_s > 0 && net_peer_pace(f->out, pace == 0 ? 1 : pace) != OK) {
        LOG_WRN("node", "site %s cannot be paced: this kind of connection has no limit",
                f->site.name);
    }
}

static void far_dial(struct node_far *f)
{
    struct node_lane *l = f->mirror->lane;
    bool first = l->config.number == 0;
    struct net_peer **peer = first ? &f->out : &f->scout;
    uint16_t streams = first ? f->mirror->between->streams : 1;

    if (net_endpoint_dial(l->endpoint, l->config.transport, &f->site.first, streams, peer) != OK) {
        *peer = NULL;
        f->retry_ns = node_mirror_now(f->mirror) + (int64_t)NODE_FAR_RETRY_MS * 1000000;
    } else if (first) {
        node_far_dialled(f);
    }
}

enum err node_mirror_start(struct node_mirror *r)
{
    r->started = true;
    r->started_ns = r->clock_ns = node_mirror_now(r);
    for (uint32_t i = 1; i < r->fars_count; i++) {
        far_dial(&r->fars[i]);
    }
    loop_timer_start_in(&r->tick, (int64_t)NODE_MIRROR_TICK_MS * 1000000);
    return OK;
}

static struct node_far *far_of_peer(struct node_mirror *r, const struct net_peer *peer)
{
    for (uint32_t i = 1; i < r->fars_count; i++) {
        struct node_far *f = &r->fars[i];

        if (f->out == peer || f->in == peer || f->scout == peer) {
            return f;
        }
    }
    return NULL;
}

bool node_mirror_owns(struct node_mirror *r, struct net_peer *peer)
{
    return r != NULL && far_of_peer(r, peer) != NULL;
}

/* Lanes of other sites also ask the first one where the others are, as workers do. */
bool node_mirror_is_greeting(struct node_mirror *r, struct net_peer *peer,
                             const struct net_frame *frame)
{
    const struct pki_identity *who = net_peer_identity(peer);

    return r != NULL && !net_peer_dialled(peer) && net_peer_user(peer) == NULL &&
           who->role == WIRE_ROLE_SERVER && strcmp(who->site, r->lane->config.site.name) != 0 &&
           frame->header.type == WIRE_CONTROL && node_control_is(frame, NODE_OP_MEET);
}

/* Both sides can speak and have agreed: the machine may go on. */
void node_far_look(struct node_far *f)
{
    struct node_mirror *r = f->mirror;
    bool up = f->out != NULL && f->in != NULL && f->out_agreed && f->in_agreed;

    if (up && !f->up) {
        f->up = true;
        f->trouble[0] = '\0';
        mirror_up(&r->m, f->index, f->anew, node_mirror_now(r));
        f->anew = false;
        node_lane_trace(r->lane, "site %s is up", f->site.name);
        node_mirror_pump(r);
    } else if (!up && f->up) {
        f->up = false;
        mirror_down(&r->m, f->index, node_mirror_now(r));
        node_far_copy_over(r, f);
        node_mirror_release(r);
        node_lane_trace(r->lane, "site %s is down", f->site.name);
        node_mirror_pump(r);
    }
}

void node_mirror_up(struct node_mirror *r, struct net_peer *peer, bool restarted)
{
    struct node_far *f = far_of_peer(r, peer);

    if (peer != f->in && !node_meet_is_it(f, peer)) {
        return;
    }
    if (peer == f->scout) {
        json_t *fields = json_object();

        if (node_control_send(peer, r->lane->pool, NODE_OP_SITE, 1, fields) != OK) {
            net_peer_close(peer, "no room for a question");
        }
        json_decref(fields);
        return;
    }
    if (restarted && peer == f->out) {
        /* What is on its way is for somebody who is no more. */
        net_peer_close(peer, "you have restarted: a new session follows");
        return;
    }
    if (peer == f->out && !f->out_agreed) {
        node_meet_say(r, f);
    }
    node_far_look(f);
}

void node_far_troubled(struct node_far *f, const char *text)
{
    size_t size = sizeof(f->trouble) - 1;

    if (strncmp(f->trouble, text, size) != 0) {
        (void)snprintf(f->trouble, sizeof(f->trouble), "%.*s", (int)size, text);
        LOG_INF("node", "site %s: %s", f->site.name, text);
    }
}

void node_mirror_lost(struct node_mirror *r, struct net_peer *peer, const char *text)
{
    struct node_far *f = far_of_peer(r, peer);
    struct net_peer_stats stats;

    if (f == NULL) {
        return;
    }
    if (peer == f->scout) {
        f->scout = NULL;
        if (f->out == NULL) {
            f->retry_ns = node_mirror_now(r) + (int64_t)NODE_FAR_RETRY_MS * 1000000;
            node_far_troubled(f, text);
        }
        return;
    }
    net_peer_stats(peer, &stats);
    f->sent_before += stats.sent_bytes;
    f->anew = true;
    if (peer == f->in) {
        f->in = NULL;
        f->in_agreed = false;
        memset(f->mark_seen, 0, sizeof(f->mark_seen));
    } else {
        f->out = NULL;
        f->out_agreed = false;
        f->mark_serial = f->mark_acked = f->mark_judged = 0;
        f->rtt_ns = 0;
        f->copy_next = 0;
        f->retry_ns = node_mirror_now(r) + (int64_t)NODE_FAR_RETRY_MS * 1000000;
        node_far_troubled(f, text);
    }
    node_far_look(f);
}

/* It cannot be reached. A session belongs to one member: if another answers, it needs a new one. */
void node_mirror_trouble(struct node_mirror *r, struct net_peer *peer, enum err why,
                         const char *text)
{
    struct node_far *f = far_of_peer(r, peer);

    if (f != NULL && peer != f->in) {
        node_far_troubled(f, text);
        if (why == ERR_REFUSED) {
            net_peer_close(peer, text);
        }
    }
}

enum err node_mirror_frame(struct node_mirror *r, struct net_peer *peer,
                           const struct net_frame *frame)
{
    struct node_far *f = far_of_peer(r, peer);
    enum err rc;

    if (f == NULL) {
        f = node_meet_stranger(r, peer);
        if (f == NULL) {
            net_peer_ack(peer, frame->header.sequence);
            return OK; /* It was told that it is not known here. */
        }
    }
    rc = frame->header.type == WIRE_CONTROL ? node_meet_control(r, f, frame, peer == f->in)
         : peer == f->in && f->in_agreed    ? node_mirror_take(r, f, frame)
                                            : ERR_PEER;
    if (rc == OK) {
        net_peer_ack(peer, frame->header.sequence);
        node_far_look(f);
    }
    return rc;
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
    struct node_far *f = far_of_peer(r, peer);

    if (f != NULL && peer == f->out) {
        node_mirror_pump(r);
    }
    if (f != NULL && peer == f->out && header->type == WIRE_MARK && header->clock > f->mark_acked &&
        header->clock <= f->mark_serial && f->mark_serial - header->clock < NODE_MARKS_TIMED) {
        struct node_mark_sent *mark = &f->marks[header->clock & (NODE_MARKS_TIMED - 1)];

        if (++mark->acked == net_peer_streams(peer)) {
            f->mark_acked = header->clock;
            f->mark_took_ns = node_mirror_now(r) - mark->sent_ns;
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

static void mirror_report(struct node_mirror *r, struct node_far *f)
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
                               .done = report.done,
                               .away = away};
    for (uint32_t i = 1; i < r->fars_count; i++) {
        if ((report.away >> i & 1) != 0) {
            uint32_t at = out.away_count++;

            for (; at > 0 && away[at - 1] > r->fars[i].id; at--) {
                away[at] = away[at - 1];
            }
            away[at] = r->fars[i].id;
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
    for (uint32_t i = 1; i < r->fars_count; i++) {
        struct node_far *f = &r->fars[i];

        if (!f->up) {
            continue;
        }
        if (mirror_say_due(&r->m, i)) {
            mirror_report(r, f);
        }
        node_mirror_flow(r, f);
        node_far_copy_flow(r, f);
    }
    node_mirror_release(r);
}

/* A site without a connection for a while is away; one that refused is asked again. */
static void mirror_tick_far(struct node_mirror *r, struct node_far *f, int64_t now_ns)
{
    int64_t limit_ns = (int64_t)NODE_FAR_DOWN_MS * 1000000;
    bool silent = f->up && !(net_peer_is_up(f->out) && net_peer_is_up(f->in));

    f->silent_ns = !silent ? 0 : f->silent_ns == 0 ? now_ns : f->silent_ns;
    if (f->up && f->silent_ns != 0 && now_ns - f->silent_ns > limit_ns && r->m.sites[f->index].up) {
        mirror_down(&r->m, f->index, now_ns);
        node_mirror_release(r);
    } else if (f->up && f->silent_ns == 0 && !r->m.sites[f->index].up) {
        mirror_up(&r->m, f->index, false, now_ns);
    }
    if (f->retry_ns != 0 && now_ns >= f->retry_ns && !r->lane->shut) {
        f->retry_ns = 0;
        if (f->out == NULL && f->scout == NULL) {
            far_dial(f);
        }
    }
}

static void mirror_tick_due(struct loop_timer *timer, void *user)
{
    struct node_mirror *r = user;
    int64_t now_ns = node_mirror_now(r);

    (void)timer;
    for (uint32_t i = 1; i < r->fars_count; i++) {
        mirror_tick_far(r, &r->fars[i], now_ns);
    }
    if (mirror_tick(&r->m, now_ns)) {
        (void)selective_look_all(&r->selective, &r->m);
        node_mirror_wake(r);
    }
    node_far_copy_look(r);
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
        node_meet_again(r);
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
