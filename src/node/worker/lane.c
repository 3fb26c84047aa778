/* One lane as a worker sees it: meet, join, be left out, meet again. */

#include "base/mem.h"
#include "node/worker/state.h"
#include "wire/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void lane_dial(struct worker_lane *k)
{
    struct node_worker *w = k->worker;

    if (net_endpoint_dial(w->endpoint, w->config.transport, &k->address, w->config.streams,
                          &k->peer) == OK) {
        net_peer_set_user(k->peer, k);
        if (k->number < w->config.paces_count &&
            net_peer_pace(k->peer, w->config.paces[k->number].to) != OK) {
            node_worker_notice(w, "lane %u: this kind of connection cannot be paced", k->number);
        }
    } else {
        k->peer = NULL;
        loop_timer_start_in(&k->redial, (int64_t)WORKER_REDIAL_MS * 1000000);
    }
}

static void lane_redial(struct loop_timer *timer, void *user)
{
    (void)timer;
    lane_dial(user);
}

enum err worker_lane_create(struct node_worker *w, uint32_t number,
                            const struct net_address *address, struct worker_lane **out)
{
    struct worker_lane *k = mem_zalloc(sizeof(*k));
    enum err rc;

    if (k == NULL) {
        return ERR_NOMEM;
    }
    k->kind = PEER_LANE;
    k->worker = w;
    k->number = number;
    k->address = *address;
    list_init(&k->calls);
    list_init(&k->requests);
    k->risk_first = UINT64_MAX;
    k->restored = UINT64_MAX;
    k->up_ns = loop_now_ns(w->config.loop);
    rc = loop_timer_init(&k->redial, w->config.loop, lane_redial, k);
    if (rc != OK) {
        mem_free(k);
        return rc;
    }
    lane_dial(k);
    *out = k;
    return OK;
}

static void lane_call_free(struct node_call *call)
{
    list_remove(&call->link);
    json_decref(call->fields);
    mem_free(call);
}

void worker_lane_destroy(struct worker_lane *k)
{
    struct list *link;

    if (k == NULL) {
        return;
    }
    while ((link = list_first(&k->calls)) != NULL) {
        lane_call_free(LIST_ENTRY(link, struct node_call, link));
    }
    while ((link = list_first(&k->requests)) != NULL) {
        list_remove(link);
        list_push_back(&k->worker->free_requests, link);
    }
    if (k->peer != NULL) {
        net_peer_set_user(k->peer, NULL);
    }
    node_copy_forget_asked(k);
    loop_timer_deinit(&k->redial);
    mem_free(k);
}

/* Calls. */

static void lane_call_send(struct node_call *call)
{
    struct worker_lane *k = call->on;

    if (k->peer == NULL || k->state == LINK_AWAY) {
        return; /* It is made when the lane is there. */
    }
    if (call->operation == NODE_OP_LEAVE && k->leave_later) {
        return;
    }
    if (node_control_send(k->peer, k->worker->config.pool, call->operation, call->number,
                          call->fields) == OK) {
        call->sent = true;
    } else {
        /* No room or no memory: again in a moment. */
        loop_timer_start_in(&k->worker->poll, (int64_t)WORKER_POLL_MS * 1000000);
    }
}

void worker_lane_call_due(struct worker_lane *k)
{
    LIST_FOREACH (link, &k->calls) {
        struct node_call *call = LIST_ENTRY(link, struct node_call, link);

        if (!call->sent) {
            lane_call_send(call);
        }
    }
}

enum err worker_lane_call(struct worker_lane *k, uint16_t operation, json_t *fields,
                          void (*answered)(struct node_call *call, enum err rc,
                                           const json_t *fields, const struct err_text *text),
                          void *user)
{
    struct node_call *call = mem_zalloc(sizeof(*call));

    if (call == NULL || fields == NULL) {
        mem_free(call);
        json_decref(fields);
        return ERR_NOMEM;
    }
    *call = (struct node_call){.number = ++k->worker->next_call,
                               .operation = operation,
                               .fields = fields,
                               .answered = answered,
                               .on = k,
                               .user = user};
    list_init(&call->link);
    list_push_back(&k->calls, &call->link);
    lane_call_send(call);
    return OK;
}

static enum err lane_answer(struct worker_lane *k, const struct net_frame *frame)
{
    struct err_text text = {{0}};
    struct list *next;
    json_t *fields;
    uint16_t operation;
    uint32_t number;
    enum err rc = node_control_read(frame, &operation, &number, &fields);

    if (rc != OK) {
        return ERR_PEER;
    }
    for (struct list *link = k->calls.next; link != &k->calls; link = next) {
        struct node_call *call = LIST_ENTRY(link, struct node_call, link);

        next = link->next;
        if (call->number == number && (call->operation | NODE_ANSWER) == operation) {
            list_remove(&call->link);
            call->answered(call, node_control_error(fields, &text), fields, &text);
            lane_call_free(call);
            break;
        }
    }
    json_decref(fields);
    return OK;
}

static void lane_forget_join(struct worker_lane *k)
{
    struct list *next;

    for (struct list *link = k->calls.next; link != &k->calls; link = next) {
        struct node_call *call = LIST_ENTRY(link, struct node_call, link);

        next = link->next;
        if (call->operation == NODE_OP_JOIN) {
            lane_call_free(call);
        }
    }
}

/* Calls that were under way when the server lost its memory. Joining is made anew. The session
 * resends them too; to leave is asked again under another number if that must be later. */
static void lane_calls_again(struct worker_lane *k)
{
    lane_forget_join(k);
    LIST_FOREACH (link, &k->calls) {
        struct node_call *call = LIST_ENTRY(link, struct node_call, link);

        call->sent = false;
        if (call->operation == NODE_OP_LEAVE && k->leave_later) {
            call->number = ++k->worker->next_call;
        }
        lane_call_send(call);
    }
}

/* The site. */

/* Sessions with the other lanes; those that are there already stay. */
static enum err lane_site_lanes(struct node_worker *w, const json_t *fields)
{
    const json_t *addresses = json_object_get(fields, "addresses");
    enum err rc = json_array_size(addresses) == w->site.lanes ? OK : ERR_MALFORMED;

    for (uint32_t i = w->lanes_count; i < w->site.lanes && rc == OK; i++) {
        const char *text = json_string_value(json_array_get(addresses, i));
        struct net_address address;

        rc = text == NULL ? ERR_MALFORMED : net_address_parse(text, &address, NULL);
        if (rc == OK) {
            rc = worker_lane_create(w, i, &address, &w->lanes[i]);
        }
        w->lanes_count += rc == OK;
    }
    return rc;
}

static void lane_site_known(struct node_call *call, enum err rc, const json_t *fields,
                            const struct err_text *text)
{
    struct node_worker *w = call->on->worker;
    uint64_t rank;

    w->site_asked = false;
    if (rc == OK && !w->site_known) {
        rc = node_site_from_json(fields, &w->site);
        if (rc == OK && !node_json_u64(fields, "rank", SYNC_MEMBERS_MAX - 1, w->rank, &rank)) {
            rc = ERR_MALFORMED;
        }
        if (rc == OK && w->site.delivery == NODE_BROADCAST && w->copy == NULL) {
            rc = table_store_create(w->site.shards, NULL, 0, &w->copy);
        }
        if (rc == OK) {
            rc = node_relay_listen(w);
        }
        if (rc == OK) {
            rc = node_worker_sparsify_start(w);
        }
        if (rc == OK) {
            w->begun = json_is_true(json_object_get(fields, "begun"));
            w->rank = (uint32_t)rank;
            rc = lane_site_lanes(w, fields);
        }
        w->site_known = rc == OK;
        text = NULL;
    }
    if (rc == ERR_NOMEM) {
        loop_timer_start_in(&w->poll, (int64_t)WORKER_POLL_MS * 1000000); /* Asked again then. */
        return;
    }
    if (rc != OK) {
        const char *why = text == NULL ? "it says what this build does not understand" : text->text;
        struct list *next;

        node_worker_notice(w, "the site does not want us: %s", why);
        for (struct list *link = w->tasks.next; link != &w->tasks; link = next) {
            next = link->next;
            node_task_end(w, LIST_ENTRY(link, struct node_op_state, link), ERR_REFUSED, why);
        }
    }
    if (w->site_known && w->want_in) {
        worker_lane_join(w->lanes[0], false);
    }
    node_worker_progress(w);
}

void worker_lane_ask_site(struct worker_lane *k)
{
    struct node_worker *w = k->worker;
    json_t *fields = json_object();

    if (w->config.rank != NODE_RANK_ANY) {
        (void)json_object_set_new(fields, "rank", json_integer(w->config.rank));
    }
    w->site_asked = true;
    if (worker_lane_call(k, NODE_OP_SITE, fields, lane_site_known, NULL) != OK) {
        w->site_asked = false;
        node_worker_notice(w, "no memory to ask for the site");
        loop_timer_start_in(&w->poll, (int64_t)WORKER_POLL_MS * 1000000); /* Again then. */
    }
}

/* After lane 0 restarted it must learn ranks again; its answer changes nothing. */
static void lane_site_again(struct node_call *call, enum err rc, const json_t *fields,
                            const struct err_text *text)
{
    (void)call;
    (void)rc;
    (void)fields;
    (void)text;
}

/* Joining. */

/* Nothing can go on without that lane. */
static void lane_refused(struct worker_lane *k, enum err rc, const char *text)
{
    struct node_worker *w = k->worker;
    struct list *next;

    k->state = LINK_MET;
    node_worker_notice(w, "lane %u does not let us in: %s", k->number, text);
    for (struct list *link = w->tasks.next; link != &w->tasks; link = next) {
        next = link->next;
        node_task_end(w, LIST_ENTRY(link, struct node_op_state, link), rc, text);
    }
}

bool worker_lane_is_update(const struct wire_header *header)
{
    return header->type == WIRE_PUSH || header->type == WIRE_ROWS_PUSH;
}

/* Updates and ends of clocks: what a worker loses if it gives them up. */
static bool lane_is_update(const struct wire_header *header)
{
    return worker_lane_is_update(header) || header->type == WIRE_CLOCK;
}

/* The worker will join anew: what was not acknowledged until now may be lost, and what it sends
 * before it is admitted. */
static void lane_give_up(struct worker_lane *k)
{
    const struct node_worker *w = k->worker;
    uint64_t first = net_peer_unacked_clock_min(k->peer, k->asked_after, lane_is_update);

    if (w->in) {
        first = w->clock < first ? w->clock : first;
        k->risk_first = first < k->risk_first ? first : k->risk_first;
    }
}

static void lane_lost_from(struct worker_lane *k, uint64_t clock)
{
    struct node_worker *w = k->worker;

    if (clock > w->clock) {
        return; /* Nothing was sent for it. */
    }
    if (w->lost_from == 0 || clock < w->lost_from) {
        w->lost_from = clock;
    }
    /* Several lanes may say so of the same event, one after the other. */
    if (w->lost_range[1] != w->clock || clock < w->lost_range[0]) {
        w->lost_range[0] = clock;
        w->lost_range[1] = w->clock;
    }
}

/* An answer to join. A lane that is another process than the one that admitted this worker last
 * may have less than that one had acknowledged. */
static void lane_restored(struct worker_lane *k, uint64_t restored)
{
    if (k->incarnation != 0 && k->incarnation != net_peer_incarnation(k->peer) &&
        restored < k->restored) {
        k->restored = restored;
    }
}

/* Is in: what had been acknowledged and is gone is lost. */
static void lane_lost_acked(struct worker_lane *k)
{
    if (k->restored < k->acked_update) {
        lane_lost_from(k, k->restored < k->entry_first ? k->entry_first : k->restored + 1);
        k->acked_update = k->restored;
    }
    k->restored = UINT64_MAX;
}

void worker_lane_left(struct worker_lane *k, const json_t *answer)
{
    uint64_t restored;

    if (node_json_u64(answer, "restored", INT64_MAX, UINT64_MAX, &restored)) {
        lane_restored(k, restored);
        lane_lost_acked(k);
    }
}

/* Admitted anew by a lane that has all of this worker up to clock @counted. */
static void lane_rejoined(struct worker_lane *k, uint64_t counted)
{
    uint64_t first = k->risk_first;

    if (first != UINT64_MAX) {
        first = counted >= first ? counted + 1 : first;
    }
    if (first != UINT64_MAX) {
        lane_lost_from(k, first);
    }
    k->risk_last = counted;
    if (counted < k->risk_first) {
        k->risk_first = UINT64_MAX;
    }
}

/* The lane restarted and goes on from a checkpoint that has all of this worker up to @counted. What
 * the worker has not given up before it sends again. */
static void lane_resumed(struct worker_lane *k, uint64_t counted)
{
    if (k->risk_first != UINT64_MAX && counted < k->risk_last) {
        lane_lost_from(k, counted < k->risk_first ? k->risk_first : counted + 1);
    }
    k->risk_first = UINT64_MAX;
}

bool worker_lane_is_left(const struct worker_lane *k)
{
    LIST_FOREACH (link, &k->calls) {
        if (LIST_ENTRY(link, struct node_call, link)->operation == NODE_OP_LEAVE) {
            return true;
        }
    }
    return false;
}

/* The lane restarted, and has what it needed of this worker's copy or goes on without: leave. If
 * it did not answer to join, its answer to leave says what is lost. */
static void lane_leave_now(struct worker_lane *k, bool joined)
{
    k->leave_later = false;
    k->state = LINK_MET;
    if (joined) {
        k->incarnation = net_peer_incarnation(k->peer);
        lane_lost_acked(k);
    }
    worker_lane_call_due(k);
}

static void lane_joined(struct node_call *call, enum err rc, const json_t *fields,
                        const struct err_text *text)
{
    struct worker_lane *k = call->on;
    struct node_worker *w = k->worker;
    bool resumed = json_is_true(json_object_get(fields, "resumed"));
    struct net_peer_stats stats;
    uint64_t entry, window, counted, restored;

    if (!w->want_in && !k->leave_later) {
        return; /* We have left meanwhile, and said so. */
    }
    if (rc == OK && (!node_json_u64(fields, "clock", INT64_MAX, 1, &entry) ||
                     !node_json_u64(fields, "counted", INT64_MAX, 0, &counted) ||
                     !node_json_u64(fields, "restored", INT64_MAX, UINT64_MAX, &restored) ||
                     !node_json_u64(fields, "window", INT64_MAX, LIMIT_WINDOW_BYTES, &window))) {
        rc = ERR_MALFORMED;
    }
    if (rc == ERR_NOMEM && ++k->joins_failed < WORKER_MEMORY_TRIES) {
        worker_lane_join(k, k->resuming);
        return;
    }
    if (rc != OK && k->leave_later) {
        lane_leave_now(k, false);
        return;
    }
    if (rc != OK) {
        lane_refused(k, rc == ERR_NOMEM ? ERR_TOO_BIG : rc, text->text);
        return;
    }
    k->joins_failed = 0;
    lane_restored(k, restored);
    if (k->leave_later) {
        lane_leave_now(k, true);
        return;
    }
    if (k->resuming && !resumed) {
        /* What was sent meanwhile, in the hope to go on, must not count: ask again as who we are.
         */
        worker_lane_join(k, false);
        return;
    }
    net_peer_limit(k->peer, window < LIMIT_WINDOW_BYTES ? window : LIMIT_WINDOW_BYTES);
    k->state = LINK_IN;
    k->incarnation = net_peer_incarnation(k->peer);
    k->in_ns = loop_now_ns(w->config.loop);
    k->begun = false;
    k->resumable = true;
    lane_lost_acked(k);
    if (w->in && !resumed) {
        w->rebases++;
        lane_rejoined(k, counted);
        node_worker_notice(w, "lane %u: in again from clock %" PRIu64, k->number, entry);
    } else if (resumed) {
        lane_resumed(k, counted);
        node_copy_forget_rows(k);
    }
    if (!resumed) {
        net_peer_stats(k->peer, &stats);
        k->in_after = stats.sent_sequence;
        k->entry = entry;
        k->entry_first = k->entry_first == 0 ? entry : k->entry_first;
    }
    if (resumed && k->clock_said > 0) {
        worker_lane_say_clock(k, k->clock_said); /* It may have been lost with the server. */
    } else if (!resumed && k->entry < w->floor) {
        worker_lane_say_clock(k, w->floor - 1); /* There is nothing to come before. */
    }
    node_task_table_again(k);
    node_read_again(k);
    node_worker_progress(w);
}

static json_t *lane_table_fields(const struct node_worker *w, uint16_t id)
{
    json_t *fields = node_schema_to_json(&w->tables[id]->schema);

    (void)json_object_set_new(fields, "id", json_integer(id));
    (void)json_object_set_new(fields, "want", json_boolean(w->site.delivery == NODE_BROADCAST));
    return fields;
}

/* The tables that this worker has: the lane may have forgotten them. */
json_t *worker_lane_tables(const struct node_worker *w)
{
    json_t *tables = json_array();

    for (uint32_t id = 0; id < TABLE_COUNT_MAX; id++) {
        if (w->tables[id] != NULL) {
            (void)json_array_append_new(tables, lane_table_fields(w, (uint16_t)id));
        }
    }
    return tables;
}

/* The ranks that the lane had as members. */
static json_t *lane_members(const struct worker_lane *k)
{
    json_t *ranks = json_array();

    for (int rank = 0; rank < 64 * WIRE_MEMBERS_WORDS; rank++) {
        if ((k->members[rank / 64] >> (rank % 64) & 1) != 0) {
            (void)json_array_append_new(ranks, json_integer(rank));
        }
    }
    return ranks;
}

/* Where other workers reach us, and where we are. */
static void lane_relay(const struct node_worker *w, json_t *fields)
{
    const struct {
        const char *key;
        const char *text;
    } rows[] = {{"relay", w->relay}, {"agg", w->config.agg}, {"edge", w->config.edge}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && node_feed_tree(w); i++) {
        if (rows[i].text != NULL && rows[i].text[0] != '\0') {
            (void)json_object_set_new(fields, rows[i].key, json_string(rows[i].text));
        }
    }
}

void worker_lane_join(struct worker_lane *k, bool resume)
{
    struct node_worker *w = k->worker;
    json_t *fields;

    if (!w->site_known || k->peer == NULL || k->state == LINK_AWAY) {
        return;
    }
    fields = json_pack("{s:o, s:i, s:b, s:b, s:b, s:I, s:I, s:I, s:i, s:o}", "tables",
                       worker_lane_tables(w), "rank", (int)w->rank, "resume", (int)resume, "again",
                       (int)k->was_in, "begun", (int)(k->begun || w->begun || k->entry > 0),
                       "clock", (json_int_t)k->advanced, "entry", (json_int_t)k->entry, "acked",
                       (json_int_t)(resume ? k->acked : 0), "offers",
                       (int)(resume ? node_copy_offers(k) : 0), "members",
                       resume && k->members_known ? lane_members(k) : json_array());
    if (k->number < w->config.paces_count && w->config.paces[k->number].from > 0) {
        (void)json_object_set_new(fields, "pace",
                                  json_integer((json_int_t)w->config.paces[k->number].from));
    }
    lane_relay(w, fields);
    k->was_in = true;
    k->asked_ns = loop_now_ns(w->config.loop);
    k->resuming = resume;
    k->join_due = false;
    k->state = LINK_JOINING;
    k->advanced_any = k->advanced_any && resume;
    memset(k->advanced_seen, 0, sizeof(k->advanced_seen));
    node_copy_forget_asked(k);
    node_feed_reset(k);
    if (!resume) {
        struct net_peer_stats stats;

        lane_give_up(k);
        node_copy_reset(k, k->incarnation == net_peer_incarnation(k->peer));
        net_peer_stats(k->peer, &stats);
        k->members_known = false;
        k->advanced = 0;
        k->acked = 0;
        k->asked_after = stats.sent_sequence;
        k->in_after = UINT64_MAX; /* What is acknowledged until then was dropped. */
        k->resumable = false;
    }
    if (worker_lane_call(k, NODE_OP_JOIN, fields, lane_joined, NULL) != OK) {
        /* Ending the session instead would lose what it holds for a lane that restarted. */
        k->join_due = true;
        loop_timer_start_in(&w->poll, (int64_t)WORKER_POLL_MS * 1000000);
    } else if (resume) {
        node_copy_offer(k);
    }
}

void worker_lane_join_due(struct worker_lane *k)
{
    if (k->join_due && (k->worker->want_in || k->leave_later) && k->state == LINK_JOINING) {
        worker_lane_join(k, k->resuming);
    }
}

enum err worker_lane_table(struct worker_lane *k, uint16_t id,
                           void (*answered)(struct node_call *call, enum err rc,
                                            const json_t *fields, const struct err_text *text),
                           void *user)
{
    json_t *fields = lane_table_fields(k->worker, id);

    (void)json_object_set_new(fields, "known", worker_lane_tables(k->worker));
    return worker_lane_call(k, NODE_OP_TABLE, fields, answered, user);
}

void worker_lane_up(struct worker_lane *k, bool restarted)
{
    struct node_worker *w = k->worker;
    bool resume = restarted && k->resumable;

    k->last_error[0] = '\0';
    if (k->state != LINK_AWAY && !restarted) {
        return; /* The same session goes on. */
    }
    if (k->state == LINK_AWAY) {
        k->resumable = false;
        resume = false;
    }
    k->state = LINK_MET;
    if (k->number == 0 && !w->site_known && !w->site_asked) {
        worker_lane_ask_site(k);
    } else if (k->number == 0 && w->site_known) {
        json_t *fields = json_pack("{s:i}", "rank", (int)w->rank);

        if (worker_lane_call(k, NODE_OP_SITE, fields, lane_site_again, NULL) != OK) {
            node_worker_notice(w, "lane 0: no room to tell it our rank");
        }
    }
    k->leave_later = resume && w->copy != NULL && !w->want_in && worker_lane_is_left(k);
    lane_calls_again(k);
    if ((w->want_in || k->leave_later) && w->site_known) {
        worker_lane_join(k, resume);
    }
    node_worker_progress(w);
}

/* A lane that has restarted and knows nothing waits for all workers of the site; but if others have
 * let us in a while ago, the site has begun long ago. */
void worker_lane_hurry(struct worker_lane *k)
{
    struct node_worker *w = k->worker;
    int64_t first = INT64_MAX; /* When another lane let us in. */

    for (uint32_t i = 0; i < w->lanes_count; i++) {
        if (w->lanes[i]->state == LINK_IN && w->lanes[i]->in_ns < first) {
            first = w->lanes[i]->in_ns;
        }
    }
    if (k->state != LINK_JOINING || k->resuming || k->begun || first == INT64_MAX) {
        return;
    }
    first = k->asked_ns > first ? k->asked_ns : first;
    if (loop_now_ns(w->config.loop) - first < (int64_t)WORKER_HURRY_MS * 1000000) {
        loop_timer_start_in(&w->poll, (int64_t)WORKER_HURRY_MS * 1000000);
        return;
    }
    k->begun = true;
    lane_forget_join(k);
    worker_lane_join(k, false);
}

void worker_lane_lost(struct worker_lane *k, const char *text)
{
    node_worker_notice(k->worker, "lane %u is lost: %s", k->number, text);
    (void)snprintf(k->last_error, sizeof(k->last_error), "%s", text);
    node_worker_traffic(k->worker, k->number, &k->sent_bytes, &k->received_bytes);
    lane_give_up(k);
    k->up_ns = net_peer_is_up(k->peer) ? loop_now_ns(k->worker->config.loop) : k->up_ns;
    k->peer = NULL;
    k->state = LINK_AWAY;
    k->resumable = false;
    k->join_due = false;
    k->clock_due = 0;
    k->clock_said = 0;
    k->pulls_unacked = 0;
    k->asked_after = 0;
    k->in_after = 0;
    lane_forget_join(k);
    loop_timer_start_in(&k->redial, (int64_t)WORKER_REDIAL_MS * 1000000);
    node_worker_progress(k->worker);
}

void worker_lane_out(struct worker_lane *k)
{
    if (k->state == LINK_IN) {
        node_worker_notice(k->worker, "lane %u has left us out", k->number);
        worker_lane_join(k, false);
    }
}

/* On every stream, behind all updates that went before; if there is no room now, later. */
bool worker_lane_clock_said(struct worker_lane *k)
{
    struct node_worker *w = k->worker;

    for (uint16_t i = 0; k->clock_due != 0 && i < w->config.streams; i++) {
        struct wire_clock say = {.stream = i, .origin = w->rank, .clock = k->clock_due};
        struct buf *frame;

        if (k->peer == NULL || !net_peer_has_room(k->peer, 64) ||
            wire_clock_encode(w->config.pool, WIRE_CLOCK, &say, &frame) != OK) {
            return false;
        }
        if (net_peer_send_sealed(k->peer, NET_DATA, frame) != OK) {
            buf_unref(frame);
            return false;
        }
    }
    k->clock_due = 0;
    return true;
}

void worker_lane_say_clock(struct worker_lane *k, uint64_t clock)
{
    k->clock_due = clock;
    k->clock_said = clock;
    if (!worker_lane_clock_said(k)) {
        loop_timer_start_in(&k->worker->poll, (int64_t)WORKER_POLL_MS * 1000000);
    }
}

/* Frames. */

static enum err lane_advanced(struct worker_lane *k, const struct net_frame *frame)
{
    struct node_worker *w = k->worker;
    uint64_t least = UINT64_MAX;
    struct wire_clock where;

    if (wire_clock_decode(&frame->header, frame->body, frame->header.body_bytes, &where) != OK ||
        where.stream >= w->config.streams) {
        return ERR_PEER;
    }
    if (!k->members_known || (int32_t)(where.view - k->view) >= 0) {
        k->view = where.view;
        k->members_known = true;
        memcpy(k->members, where.members, sizeof(k->members));
    }
    /* One more than the clock: zero is "none yet". */
    if (where.clock + 1 > k->advanced_seen[where.stream]) {
        k->advanced_seen[where.stream] = where.clock + 1;
    }
    for (uint16_t i = 0; i < w->config.streams; i++) {
        least = k->advanced_seen[i] < least ? k->advanced_seen[i] : least;
    }
    if (least > 0 && node_feed_tree(w)) {
        node_feed_told(k, least - 1);
    } else if (least > 0 && (least - 1 > k->advanced || !k->advanced_any)) {
        k->advanced = least - 1 > k->advanced ? least - 1 : k->advanced;
        k->advanced_any = true;
        node_worker_progress(w);
    }
    return OK;
}

static enum err lane_late(struct worker_lane *k, const struct net_frame *frame)
{
    struct node_worker *w = k->worker;
    struct wire_late_notice late;

    if (wire_late_decode(&frame->header, frame->body, frame->header.body_bytes, &late) != OK) {
        return ERR_PEER;
    }
    if (late.reason == WIRE_LATE_LATE && late.clock < k->entry) {
        return OK; /* It was sent before we were let in again. */
    }
    if (late.reason == WIRE_LATE_NOT_MEMBER || late.reason == WIRE_LATE_LATE) {
        k->risk_first = late.clock < k->risk_first ? late.clock : k->risk_first;
        worker_lane_out(k);
        return OK;
    }
    w->refused++;
    node_worker_notice(w, "lane %u refused an update of clock %" PRIu64 ": %s", k->number,
                       late.clock, wire_late_name(late.reason));
    return OK;
}

enum err worker_lane_frame(struct worker_lane *k, const struct net_frame *frame)
{
    switch (frame->header.type) {
    case WIRE_CONTROL:
        return lane_answer(k, frame);
    case WIRE_ADVANCED:
        return lane_advanced(k, frame);
    case WIRE_LATE:
        return lane_late(k, frame);
    case WIRE_BROADCAST:
        return node_copy_broadcast(k, frame);
    case WIRE_SNAPSHOT_CHUNK:
        return node_copy_snapshot(k, frame);
    case WIRE_FEED:
        return node_feed_parent(k, frame);
    case WIRE_DUE:
        return node_feed_due(k, frame);
    case WIRE_PULL:
        return node_copy_asked(k, frame);
    case WIRE_VALUES:
        return node_read_values(k, frame);
    case WIRE_ROWS_VALUES:
        return node_read_rows(k, frame);
    default:
        return ERR_PEER;
    }
}
