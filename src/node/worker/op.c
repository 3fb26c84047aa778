/* Operations of a worker: begun, carried on, done. */

#include "base/mem.h"
#include "node/lane/report.h"
#include "node/worker/state.h"

#include <inttypes.h>
#include <string.h>

struct node_op_state *node_task_begin(struct node_worker *w, enum node_task_kind kind,
                                      struct node_op *op)
{
    struct list *link = list_first(&w->free_tasks);
    struct node_op_state *t;

    op->done = false;
    op->rc = OK;
    op->text.text[0] = '\0';
    op->value = 0;
    op->state = NULL;
    if (link != NULL) {
        list_remove(link);
        t = LIST_ENTRY(link, struct node_op_state, link);
    } else {
        t = mem_zalloc(sizeof(*t));
    }
    if (t == NULL) {
        op->rc = ERR_NOMEM;
        op->done = true;
        if (op->finished != NULL) {
            /* No memory even for this: the one case in which it is called from inside. */
            op->finished(op, op->user);
        }
        return NULL;
    }
    memset(t, 0, sizeof(*t));
    list_init(&t->link);
    t->kind = kind;
    t->op = op;
    op->state = t;
    list_push_back(&w->tasks, &t->link);
    return t;
}

/* Answers to what is over are for nobody: another operation may be at that address by then. */
static void task_disown_calls(struct node_worker *w, const struct node_op *op)
{
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        LIST_FOREACH (link, &w->lanes[i]->calls) {
            struct node_call *call = LIST_ENTRY(link, struct node_call, link);

            call->user = call->user == op ? NULL : call->user;
        }
    }
}

void node_task_end(struct node_worker *w, struct node_op_state *t, enum err rc, const char *text)
{
    struct node_op *op = t->op;

    task_disown_calls(w, op);
    node_read_forget(w, t);
    list_remove(&t->link);
    op->rc = rc;
    if (rc != OK) {
        (void)err_text_set(&op->text, rc, "%s", text == NULL ? err_string(rc) : text);
    }
    if (op->finished != NULL) {
        list_push_back(&w->finished, &t->link);
        loop_task_post(&w->wake);
    } else {
        list_push_back(&w->free_tasks, &t->link);
        op->state = NULL;
        op->done = true;
    }
}

void node_worker_cancel(struct node_worker *w, struct node_op *op)
{
    struct node_op_state *t = op->state;

    if (t == NULL) {
        return;
    }
    op->finished = NULL;
    if (t->kind != TASK_PUSH || !node_push_rest(w, t)) { /* Half an update is no good. */
        node_task_end(w, t, ERR_CANCELLED, "given up");
    }
}

/* Calls of a task that may have ended before they are answered: the task is found again by its
 * operation. */
static struct node_op_state *task_of(struct node_worker *w, const void *op)
{
    LIST_FOREACH (link, &w->tasks) {
        struct node_op_state *t = LIST_ENTRY(link, struct node_op_state, link);

        if (t->op == op) {
            return t;
        }
    }
    return NULL;
}

/* Join. */

void node_worker_meet(struct node_worker *w, struct node_op *op)
{
    if (node_task_begin(w, TASK_MEET, op) != NULL) {
        node_worker_progress(w);
    }
}

static void task_run_meet(struct node_worker *w, struct node_op_state *t)
{
    if (w->site_known) {
        t->op->value = w->rank;
        node_task_end(w, t, OK, NULL);
    }
}

void node_worker_join(struct node_worker *w, struct node_op *op)
{
    struct node_op_state *t = node_task_begin(w, TASK_JOIN, op);

    if (t == NULL) {
        return;
    }
    w->want_in = true;
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        if (w->lanes[i]->state == LINK_MET) {
            worker_lane_join(w->lanes[i], false);
        }
    }
    node_worker_progress(w);
}

/* The clock that may be computed next: not before any lane counts us. Lanes that count us from an
 * earlier one are told that we have nothing for the clocks between. */
static uint64_t task_next_clock(struct node_worker *w, uint64_t next)
{
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        next = w->lanes[i]->entry > next ? w->lanes[i]->entry : next;
    }
    return next;
}

static bool task_all_in(const struct node_worker *w)
{
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        if (w->lanes[i]->state != LINK_IN) {
            return false;
        }
    }
    return w->site_known && w->lanes_count == w->site.lanes;
}

static void task_say_clock(struct node_worker *w, uint64_t clock)
{
    w->floor = clock + 1 > w->floor ? clock + 1 : w->floor;
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        if (w->lanes[i]->entry <= clock) {
            worker_lane_say_clock(w->lanes[i], clock);
        }
    }
}

/* Lanes of one site cannot be far apart, unless one has lost what it had. */
static void task_warn_of_loss(struct node_worker *w, uint64_t clock)
{
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        if (w->lanes[i]->entry + w->site.sync.staleness + 2 < clock &&
            w->site.sync.policy->rounds) {
            node_worker_notice(w,
                               "lane %u is at clock %" PRIu64 ", others at %" PRIu64
                               ": it has lost what came between",
                               i, w->lanes[i]->entry, clock);
        }
    }
}

static void task_run_join(struct node_worker *w, struct node_op_state *t)
{
    if (!task_all_in(w)) {
        return;
    }
    if (t->step == 0) {
        t->clock = task_next_clock(w, 1);
        task_warn_of_loss(w, t->clock);
        task_say_clock(w, t->clock - 1);
        t->step = 1;
    }
    if (task_next_clock(w, t->clock) > t->clock) {
        t->step = 0; /* Left out again meanwhile. */
        node_worker_progress(w);
        return;
    }
    if (node_worker_may_compute(w, t->clock)) {
        w->in = true;
        w->clock = t->clock;
        t->op->value = t->clock;
        node_task_end(w, t, OK, NULL);
    }
}

/* Tables. */

enum {
    TASK_TABLE_MAKE,
    TASK_TABLE_MAKING,
    TASK_TABLE_OPENING,
    TASK_TABLE_LOOK,
    TASK_TABLE_LOOKING
};

/* There was no memory, here or at a lane: that may pass, so it is tried some times before it is
 * final. */
static bool task_table_tries(struct node_op_state *t, enum err rc)
{
    return rc == ERR_NOMEM && ++t->failed < WORKER_MEMORY_TRIES;
}

static void task_table_back(struct node_call *call, enum err rc, const json_t *fields,
                            const struct err_text *text)
{
    (void)call;
    (void)rc;
    (void)fields;
    (void)text;
}

/* Lanes that have made a table take it back, unless others use it: else those who come later would
 * find a table that some lanes refuse. */
static void task_table_fail(struct node_worker *w, struct node_op_state *t, int32_t id, enum err rc,
                            const char *text)
{
    bool opened = id >= 0 && w->tables[id] != NULL && w->tables[id]->open;

    for (uint32_t i = 0; i < w->lanes_count && id >= 0 && !opened; i++) {
        if (worker_lane_call(w->lanes[i], NODE_OP_DROP, json_pack("{s:s}", "name", t->schema.name),
                             task_table_back, NULL) != OK) {
            node_worker_notice(w, "table %s: no memory to tell lane %u that it is not used",
                               t->schema.name, i);
        }
    }
    if (id >= 0 && !opened) {
        node_worker_forget(w, (uint16_t)id);
    }
    node_task_end(w, t, rc == ERR_NOMEM ? ERR_TOO_BIG : rc, text);
}

static void task_table_there(struct node_call *call, enum err rc, const json_t *fields,
                             const struct err_text *text)
{
    struct node_worker *w = call->on->worker;
    struct node_op_state *t = task_of(w, call->user);
    uint64_t changed = 0;

    if (t == NULL) {
        return;
    }
    if (w->tables[t->table] == NULL) { /* Another operation failed to open it meanwhile. */
        node_task_end(w, t, ERR_CANCELLED, "the table could not be opened at all lanes");
        return;
    }
    if (rc == OK && !node_json_u64(fields, "changed", UINT32_MAX, 0, &changed)) {
        rc = ERR_MALFORMED;
    }
    if (task_table_tries(t, rc)) {
        rc = worker_lane_table(call->on, t->table, task_table_there, t->op);
        if (rc == OK) {
            return;
        }
    }
    if (rc != OK) {
        task_table_fail(w, t, t->table, rc, text->text[0] != '\0' ? text->text : NULL);
        return;
    }
    /* A lane that has not let us in sends nothing yet: it is asked again when it has. */
    w->tables[t->table]->changed[call->on->number].due =
        w->want_in && !json_is_true(json_object_get(fields, "in")) ? UINT32_MAX : (uint32_t)changed;
    t->remaining--;
    node_worker_progress(w);
}

/* Tell all lanes that we use it. */
static void task_table_tell(struct node_worker *w, struct node_op_state *t, uint16_t id)
{
    enum err rc = OK;

    t->table = id;
    t->remaining = w->lanes_count;
    t->step = TASK_TABLE_OPENING;
    for (uint32_t i = 0; i < w->lanes_count && rc == OK; i++) {
        rc = worker_lane_table(w->lanes[i], id, task_table_there, t->op);
    }
    if (rc != OK) {
        node_task_end(w, t, rc, NULL);
    }
}

static void task_table_named(struct node_call *call, enum err rc, const json_t *fields,
                             const struct err_text *text)
{
    struct node_worker *w = call->on->worker;
    struct node_op_state *t = task_of(w, call->user);
    struct err_text own = *text;
    uint64_t id = TABLE_COUNT_MAX;

    if (t == NULL) {
        return;
    }
    if (rc == OK && !node_json_u64(fields, "id", TABLE_COUNT_MAX - 1, 0, &id)) {
        rc = ERR_MALFORMED;
    }
    if (rc == OK) {
        rc = node_worker_open(w, (uint16_t)id, &t->schema, &own);
    }
    if (rc == OK) {
        task_table_tell(w, t, (uint16_t)id);
    } else if (task_table_tries(t, rc)) {
        t->step = TASK_TABLE_MAKE;
        node_worker_progress(w);
    } else {
        task_table_fail(w, t, id < TABLE_COUNT_MAX ? (int32_t)id : -1, rc,
                        own.text[0] != '\0' ? own.text : NULL);
    }
}

void node_worker_table(struct node_worker *w, const struct table_schema *schema, struct node_op *op)
{
    struct node_op_state *t = node_task_begin(w, TASK_TABLE, op);

    if (t != NULL) {
        t->schema = *schema;
        node_worker_progress(w);
    }
}

/* Look for a table of that name among those of the site; then it is opened as if it was made. */
static void task_table_listed(struct node_call *call, enum err rc, const json_t *fields,
                              const struct err_text *text)
{
    struct node_worker *w = call->on->worker;
    struct node_op_state *t = task_of(w, call->user);
    const json_t *tables = json_object_get(fields, "tables");

    if (t == NULL) {
        return;
    }
    for (size_t i = 0; rc == OK && i < json_array_size(tables); i++) {
        struct table_schema schema;

        rc = node_schema_from_json(json_array_get(tables, i), &schema, NULL);
        if (rc == OK && strcmp(schema.name, t->schema.name) == 0) {
            t->schema = schema;
            t->step = TASK_TABLE_MAKE;
            node_worker_progress(w);
            return;
        }
    }
    node_task_end(w, t, rc == OK ? ERR_NOT_FOUND : rc,
                  rc == OK                ? "the site has no table of that name"
                  : text->text[0] != '\0' ? text->text
                                          : NULL);
}

void node_worker_lookup(struct node_worker *w, const char *name, struct node_op *op)
{
    struct node_op_state *t = node_task_begin(w, TASK_TABLE, op);

    if (t == NULL) {
        return;
    }
    if (strlen(name) >= sizeof(t->schema.name)) {
        node_task_end(w, t, ERR_NOT_FOUND, "no table has so long a name");
        return;
    }
    memcpy(t->schema.name, name, strlen(name));
    t->step = TASK_TABLE_LOOK;
    node_worker_progress(w);
}

static void task_run_lookup(struct node_worker *w, struct node_op_state *t, int32_t known)
{
    enum err rc = OK;

    if (known >= 0) {
        t->schema = w->tables[known]->schema;
        t->step = TASK_TABLE_MAKE; /* It may not be open yet. */
        node_worker_progress(w);
        return;
    }
    t->step = TASK_TABLE_LOOKING;
    rc = worker_lane_call(w->lanes[0], NODE_OP_SITE, json_pack("{s:i}", "rank", (int)w->rank),
                          task_table_listed, t->op);
    if (rc != OK) {
        node_task_end(w, t, rc, NULL);
    }
}

/* Has all come that lanes said they would send? */
static bool task_table_whole(const struct node_worker *w, uint16_t id)
{
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        if (w->tables[id]->changed[i].have < w->tables[id]->changed[i].due) {
            return false;
        }
    }
    return true;
}

/* The lane has let us in, perhaps after a restart: only now it knows what it has to send. */
void node_task_table_again(struct worker_lane *k)
{
    struct node_worker *w = k->worker;
    struct list *next;

    for (struct list *link = w->tasks.next; link != &w->tasks; link = next) {
        struct node_op_state *t = LIST_ENTRY(link, struct node_op_state, link);

        next = link->next;
        if (t->kind != TASK_TABLE || t->step != TASK_TABLE_OPENING || w->tables[t->table] == NULL) {
            continue;
        }
        t->remaining++;
        if (worker_lane_table(k, t->table, task_table_there, t->op) != OK) {
            node_task_end(w, t, ERR_NOMEM, NULL);
        }
    }
}

static void task_run_table(struct node_worker *w, struct node_op_state *t)
{
    int32_t known = node_worker_find(w, t->schema.name);
    enum err rc;

    if (!w->site_known) {
        return;
    }
    if (t->step == TASK_TABLE_LOOK) {
        task_run_lookup(w, t, known);
        return;
    }
    if (t->step == TASK_TABLE_MAKE && known >= 0) {
        t->op->value = (uint64_t)known;
        rc = table_schema_equal(&t->schema, &w->tables[known]->schema) ? OK : ERR_EXISTS;
        if (rc == OK && !w->tables[known]->open) {
            task_table_tell(w, t, (uint16_t)known); /* An attempt before this one failed. */
        } else {
            node_task_end(w, t, rc, "a table of that name exists with another shape or applier");
        }
        return;
    }
    if (t->step == TASK_TABLE_MAKE) {
        json_t *fields = node_schema_to_json(&t->schema);

        /* A lane that has restarted must know the others before it gives out an id. */
        (void)json_object_set_new(fields, "known", worker_lane_tables(w));
        t->step = TASK_TABLE_MAKING;
        rc = worker_lane_call(w->lanes[0], NODE_OP_TABLE, fields, task_table_named, t->op);
        if (rc != OK) {
            node_task_end(w, t, rc, NULL);
        }
        return;
    }
    if (t->step == TASK_TABLE_OPENING && t->remaining == 0 && w->tables[t->table] != NULL &&
        task_table_whole(w, t->table)) {
        w->tables[t->table]->open = true;
        t->op->value = t->table;
        node_task_end(w, t, OK, NULL);
    }
}

/* Clock. */

void node_worker_clock(struct node_worker *w, uint32_t weight, struct node_op *op)
{
    struct node_op_state *t = node_task_begin(w, TASK_CLOCK, op);

    if (t == NULL) {
        return;
    }
    if (!w->in || weight == 0) {
        node_task_end(w, t, ERR_INVALID,
                      weight == 0 ? "a clock needs a weight of at least one" : "not joined");
        return;
    }
    t->weight = weight;
    t->clock = w->clock;
    node_task_run(w, t);
}

/* Send, say so, wait for the barrier. Being left out meanwhile moves the next clock on. */
static void task_run_clock(struct node_worker *w, struct node_op_state *t)
{
    if (!w->want_in) {
        node_task_end(w, t, ERR_CANCELLED, "the worker leaves");
        return;
    }
    LIST_FOREACH (link, &w->tasks) {
        struct node_op_state *before = LIST_ENTRY(link, struct node_op_state, link);

        if (before == t) {
            break;
        }
        if (before->kind == TASK_PUSH) {
            return; /* Its updates belong to this clock: they go first. */
        }
    }
    if (t->step == 0) {
        if (node_push_flush(w, t->weight) != OK) {
            return;
        }
        task_say_clock(w, t->clock);
        t->clock++;
        t->step = 1;
    }
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        if (w->lanes[i]->clock_due != 0) {
            return;
        }
    }
    if (w->site.delivery == NODE_PULL && task_next_clock(w, t->clock) == t->clock) {
        /* Reading will wait. */
    } else if (!task_all_in(w)) {
        return;
    }
    if (task_next_clock(w, t->clock) > t->clock) {
        t->clock = task_next_clock(w, t->clock);
        task_say_clock(w, t->clock - 1);
        node_worker_progress(w);
        return;
    }
    if (w->site.delivery == NODE_PULL || node_worker_may_compute(w, t->clock)) {
        w->clock = t->clock;
        t->op->value = t->clock;
        node_task_end(w, t, OK, NULL);
    }
}

/* Leave. */

static void task_left(struct node_call *call, enum err rc, const json_t *fields,
                      const struct err_text *text)
{
    struct node_worker *w = call->on->worker;
    struct node_op_state *t = task_of(w, call->user);

    (void)text;
    if (rc == OK && call->operation == NODE_OP_LEAVE) {
        worker_lane_left(call->on, fields);
        if (json_is_false(json_object_get(fields, "in"))) {
            w->rebases++; /* Left out without having heard of it: its last updates do not count. */
        }
    }
    if (t != NULL && t->remaining > 0) {
        t->remaining--;
        node_worker_progress(w);
    }
}

/* Is there something that was given to us to send and has not gone out? */
static bool task_unsent(const struct node_worker *w)
{
    LIST_FOREACH (link, &w->tasks) {
        const struct node_op_state *t = LIST_ENTRY(link, struct node_op_state, link);

        if (t->kind == TASK_PUSH || (t->kind == TASK_CLOCK && t->step == 0)) {
            return true;
        }
    }
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        if (w->lanes[i]->clock_due != 0) {
            return true;
        }
    }
    return false;
}

/* Pulls do not count: they are acknowledged when they are answered, and may wait for others. */
static bool task_unacked(const struct node_worker *w)
{
    if (!task_all_in(w) || task_unsent(w)) {
        return true; /* A lane is away: what it has not acknowledged waits for it. */
    }
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        struct net_peer_stats stats;

        if (w->lanes[i]->peer != NULL) {
            net_peer_stats(w->lanes[i]->peer, &stats);
            if (stats.unacked_frames > w->lanes[i]->pulls_unacked) {
                return true;
            }
        }
    }
    return false;
}

void node_worker_leave(struct node_worker *w, struct node_op *op)
{
    struct node_op_state *t = node_task_begin(w, TASK_LEAVE, op);

    if (t != NULL) {
        node_worker_progress(w);
    }
}

/* What is held back goes as one more clock. False: not yet. */
static bool task_rest(struct node_worker *w, struct node_op_state *t)
{
    if (!w->in || t->clock != 0 || (t->cursor == 0 && !node_worker_has_residuals(w))) {
        return true;
    }
    t->cursor = 1;
    if (node_worker_flush_residuals(w) != OK) {
        return false;
    }
    t->clock = w->clock;
    task_say_clock(w, w->clock);
    return true;
}

static void task_run_leave(struct node_worker *w, struct node_op_state *t)
{
    enum err rc = OK;

    if (t->step == 0 && !task_rest(w, t)) {
        return;
    }
    if (t->step == 0 && w->in && (task_unacked(w) || node_relay_busy(w))) {
        if (node_site_durable(&w->site) && t->remaining == 0 &&
            loop_now_ns(w->config.loop) >= t->next_ns) {
            /* Nothing is acknowledged before it is stored. */
            t->next_ns = loop_now_ns(w->config.loop) + (int64_t)WORKER_SAVE_MS * 1000000;
            for (uint32_t i = 0; i < w->lanes_count && rc == OK; i++) {
                rc = worker_lane_call(w->lanes[i], NODE_OP_SAVE, json_object(), task_left, t->op);
                t->remaining += rc == OK;
            }
        }
        loop_timer_start_in(&w->poll, (int64_t)WORKER_POLL_MS * 1000000);
        return;
    }
    if (t->step == 0) {
        t->step = 1;
        t->remaining = 0;
        w->want_in = false;
        w->in = false;
        node_read_cancel(w);
        for (uint32_t i = 0; i < w->lanes_count && rc == OK; i++) {
            /* Also where we have only asked: nobody shall wait for us there. */
            if (w->lanes[i]->peer != NULL && w->lanes[i]->state >= LINK_JOINING) {
                rc = worker_lane_call(w->lanes[i], NODE_OP_LEAVE, json_object(), task_left, t->op);
                t->remaining += rc == OK;
                w->lanes[i]->state = rc == OK ? LINK_MET : w->lanes[i]->state;
            }
        }
    }
    if (rc != OK || t->remaining == 0) {
        node_task_end(w, t, rc, NULL);
    }
}

/* Save and report. */

static void task_saved(struct node_call *call, enum err rc, const json_t *fields,
                       const struct err_text *text)
{
    struct node_worker *w = call->on->worker;
    struct node_op_state *t = task_of(w, call->user);
    uint64_t number;

    if (t == NULL) {
        return;
    }
    if (rc == OK && !node_json_u64(fields, "number", INT64_MAX, 0, &number)) {
        rc = ERR_MALFORMED;
    }
    if (rc != OK) {
        node_task_end(w, t, rc, text->text);
        return;
    }
    t->lowest = number < t->lowest ? number : t->lowest;
    if (--t->remaining == 0) {
        t->op->value = t->lowest;
        node_task_end(w, t, OK, NULL);
    }
}

void node_worker_save(struct node_worker *w, struct node_op *op)
{
    struct node_op_state *t = node_task_begin(w, TASK_SAVE, op);
    enum err rc = OK;

    if (t == NULL) {
        return;
    }
    t->remaining = w->lanes_count;
    t->lowest = UINT64_MAX;
    for (uint32_t i = 0; i < w->lanes_count && rc == OK; i++) {
        rc = worker_lane_call(w->lanes[i], NODE_OP_SAVE, json_object(), task_saved, op);
    }
    if (rc != OK) {
        node_task_end(w, t, rc, NULL);
    }
}

static void task_reported(struct node_call *call, enum err rc, const json_t *fields,
                          const struct err_text *text)
{
    struct node_worker *w = call->on->worker;
    struct node_op_state *t = task_of(w, call->user);
    uint64_t stop = 0;

    if (t == NULL) {
        return;
    }
    if (rc == OK && !node_json_u64(fields, "stop", INT64_MAX, 0, &stop)) {
        rc = ERR_MALFORMED;
    }
    t->op->value = stop;
    node_task_end(w, t, rc, text->text);
}

void node_worker_report(struct node_worker *w, const struct node_report *report, struct node_op *op)
{
    struct node_op_state *t = node_task_begin(w, TASK_REPORT, op);
    json_t *fields;
    enum err rc;

    if (t == NULL) {
        return;
    }
    fields = node_report_to_json(report);
    if (node_sparsify_is_on(&w->sparsifier)) {
        struct node_sparsify_state sparsified = node_sparsify_state(&w->sparsifier);

        (void)json_object_set_new(fields, "sparsified", node_sparsify_state_to_json(&sparsified));
    }
    if (w->relay_counters.frames != NULL) {
        (void)json_object_set_new(fields, "passed", node_passed_to_json(&w->passed));
    }
    rc = worker_lane_call(w->lanes[0], NODE_OP_REPORT, fields, task_reported, op);
    if (rc != OK) {
        node_task_end(w, t, rc, NULL);
    }
}

void node_task_run(struct node_worker *w, struct node_op_state *t)
{
    switch (t->kind) {
    case TASK_MEET:
        task_run_meet(w, t);
        break;
    case TASK_JOIN:
        task_run_join(w, t);
        break;
    case TASK_TABLE:
        task_run_table(w, t);
        break;
    case TASK_READ:
    case TASK_ROWS:
        node_read_run(w, t);
        break;
    case TASK_PUSH:
        node_push_run(w, t);
        break;
    case TASK_CLOCK:
        task_run_clock(w, t);
        break;
    case TASK_LEAVE:
        task_run_leave(w, t);
        break;
    case TASK_SAVE:
    case TASK_REPORT:
        break;
    }
}
