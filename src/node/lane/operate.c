/* Control operations of a lane. Each may come twice (its answer was lost with a connection), so
 * each does the same the second time. */

#include "base/mem.h"
#include "node/lane/report.h"
#include "node/lane/state.h"
#include "node/permit.h"
#include "obs/metric.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum err node_operate_answer(struct node_session *s, uint16_t operation, uint32_t call,
                             json_t *fields)
{
    enum err rc = node_control_send(s->peer, s->lane->pool, operation | NODE_ANSWER, call, fields);

    json_decref(fields);
    return rc;
}

static enum err operate_refuse(struct node_session *s, uint16_t operation, uint32_t call,
                               enum err why, const char *text)
{
    return node_control_refuse(s->peer, s->lane->pool, operation, call, why, text);
}

/* What the site is, and where. */

json_t *node_operate_tables(struct node_lane *l)
{
    json_t *tables = json_array();

    for (uint16_t id = 0; id < l->next_table; id++) {
        const struct table_schema *schema = table_store_schema(l->tables, id);

        if (schema != NULL) {
            json_t *table = node_schema_to_json(schema);

            (void)json_object_set_new(table, "id", json_integer(id));
            (void)json_array_append_new(tables, table);
        }
    }
    return tables;
}

json_t *node_operate_site(struct node_lane *l)
{
    json_t *fields = node_site_to_json(&l->config.site);
    json_t *lanes = json_array();

    for (uint32_t i = 0; i < l->config.site.lanes; i++) {
        (void)json_array_append_new(lanes, json_string(l->lanes[i]));
    }
    (void)json_object_set_new(fields, "addresses", lanes);
    (void)json_object_set_new(fields, "begun", json_boolean(node_lane_begun(l)));
    (void)json_object_set_new(fields, "tables", node_operate_tables(l));
    if (l->config.site.job[0] != '\0') {
        (void)json_object_set_new(fields, "job", json_string(l->config.site.job));
    }
    return fields;
}

static enum err operate_site_answer(struct node_session *s)
{
    json_t *fields = node_operate_site(s->lane);

    if (s->rank != NODE_RANK_ANY) {
        (void)json_object_set_new(fields, "rank", json_integer(s->rank));
    }
    return node_operate_answer(s, NODE_OP_SITE, s->site_call, fields);
}

void node_operate_lane(struct node_lane *l, uint32_t number, const char *address)
{
    l->lanes_known += l->lanes[number][0] == '\0';
    (void)snprintf(l->lanes[number], sizeof(l->lanes[number]), "%s", address);
    if (l->lanes_known < l->config.site.lanes) {
        return;
    }
    node_restore_look(l);
    node_operate_newcomers(l);
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (s->site_call != 0) {
            if (operate_site_answer(s) != OK) {
                net_peer_close(s->peer, "no room for an answer");
            }
            s->site_call = 0;
        }
    }
}

/* Another server of the site is at work: what it has and what we have must belong together. */
static void operate_meet(struct node_lane *l, const json_t *fields)
{
    const json_t *first = json_array_get(json_object_get(fields, "places"), 0);
    struct node_history_claim other = {
        .history = node_history_parse(json_string_value(json_object_get(fields, "history"))),
        .lane = (uint32_t)json_integer_value(json_object_get(first, "lane")),
        .begun = json_is_true(json_object_get(fields, "begun"))};
    struct node_lane_history own;
    struct node_server_history server = {.site = l->config.site.name,
                                         .lanes = &own,
                                         .lanes_count = 1,
                                         .others = l->remotes != NULL,
                                         .copies = l->config.site.delivery == NODE_BROADCAST};
    struct err_text text;

    node_lane_history(l, &own);
    if ((l->fresh || l->restoring) && node_history_meet(&server, l->history, &other, &text) != OK) {
        node_lane_refuse(l, text.text);
    }
}

static enum err operate_lane(struct node_session *s, const json_t *fields)
{
    struct node_lane *l = s->lane;
    const json_t *places = json_object_get(fields, "places");
    const struct pki_identity *who = net_peer_identity(s->peer);

    if (l->config.number != 0 || strcmp(who->site, l->config.site.name) != 0) {
        return ERR_PEER; /* Also without certificates: it would send workers to another site. */
    }
    operate_meet(l, fields);
    l->begun_elsewhere =
        l->begun_elsewhere || (l->fresh && json_is_true(json_object_get(fields, "begun")));
    for (size_t i = 0; i < json_array_size(places); i++) {
        const json_t *place = json_array_get(places, i);
        const char *address = json_string_value(json_object_get(place, "address"));
        struct net_address parsed;
        uint64_t number;

        if (!node_json_u64(place, "lane", l->config.site.lanes - 1, 0, &number) ||
            address == NULL || net_address_parse(address, &parsed, NULL) != OK) {
            return ERR_PEER;
        }
        node_operate_lane(l, (uint32_t)number, address);
    }
    return OK;
}

/* Nobody has it, or whoever had it is gone and is no member. */
static bool operate_rank_free(const struct node_lane *l, uint32_t rank)
{
    LIST_FOREACH (link, &l->sessions) {
        const struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (s->rank == rank && net_peer_is_up(s->peer)) {
            return false;
        }
    }
    return l->by_rank[rank] == NULL && !sync_is_member(&l->sync, rank);
}

/* A rank for a worker: the one it asks for, the one it had, or the first that is free. */
static uint32_t operate_rank(struct node_lane *l, const char *name, uint64_t wanted)
{
    uint32_t rank = NODE_RANK_ANY;

    for (uint32_t r = 0; r < NODE_NAMES_MAX; r++) {
        if (l->names[r].used && strcmp(l->names[r].name, name) == 0 &&
            (wanted == NODE_RANK_ANY || wanted == r)) {
            rank = r;
        }
    }
    if (rank == NODE_RANK_ANY && wanted < NODE_NAMES_MAX) {
        rank = (uint32_t)wanted;
    }
    for (uint32_t r = 0; r < NODE_NAMES_MAX && rank == NODE_RANK_ANY; r++) {
        rank = operate_rank_free(l, r) ? r : rank;
    }
    if (rank != NODE_RANK_ANY) {
        l->names[rank].used = true;
        (void)snprintf(l->names[rank].name, sizeof(l->names[rank].name), "%s", name);
    }
    return rank;
}

static enum err operate_site(struct node_session *s, uint32_t call, const json_t *fields)
{
    struct node_lane *l = s->lane;
    uint64_t wanted;
    enum err rc;

    if (l->config.number != 0) {
        return operate_refuse(s, NODE_OP_SITE, call, ERR_INVALID,
                              "this is not the first lane of the site: join by its address");
    }
    if (!node_json_u64(fields, "rank", SYNC_MEMBERS_MAX - 1, NODE_RANK_ANY, &wanted)) {
        return operate_refuse(s, NODE_OP_SITE, call, ERR_INVALID, "a rank is 0 to 255");
    }
    if (node_session_is_worker(s) && s->rank == NODE_RANK_ANY) {
        s->rank = operate_rank(l, net_peer_identity(s->peer)->name, wanted);
        if (s->rank == NODE_RANK_ANY) {
            return operate_refuse(s, NODE_OP_SITE, call, ERR_FULL, "all 256 ranks are taken");
        }
    }
    s->site_call = call;
    if (l->lanes_known < l->config.site.lanes) {
        LOG_INF("node", "%s waits: %u of %u lanes are known", net_peer_identity(s->peer)->name,
                l->lanes_known, l->config.site.lanes);
        return OK;
    }
    rc = operate_site_answer(s);
    s->site_call = 0;
    return rc;
}

/* Membership. */

/* For a worker that another process of this lane had admitted: the last clock of which that one's
 * acknowledgements still hold. */
static void operate_restored(const struct node_lane *l, json_t *answer)
{
    uint64_t clock = l->fresh ? l->restored_clock : l->resumed_clock;

    if (l->ack != NODE_ACK_TAKEN) {
        (void)json_object_set_new(answer, "restored", json_integer((json_int_t)clock));
    }
}

/* What a worker is told when it is admitted. With checkpoints it learns which of its clocks are in,
 * since it gives up what was not acknowledged unless it resumes. */
static enum err operate_joined(struct node_session *s, uint64_t clock, bool resumed)
{
    struct node_lane *l = s->lane;
    json_t *answer = json_pack("{s:I, s:b, s:I}", "clock", (json_int_t)clock, "resumed",
                               (int)resumed, "window", (json_int_t)s->window_bytes);

    if (l->ack == NODE_ACK_STORED) {
        (void)json_object_set_new(answer, "counted",
                                  json_integer((json_int_t)l->counted[s->rank].clock));
    }
    if (!resumed || l->resumed_less) {
        operate_restored(l, answer);
    }
    return node_operate_answer(s, NODE_OP_JOIN, s->join_call, answer);
}

void node_operate_admitted(struct node_session *s, uint64_t clock, bool resumed)
{
    struct node_lane *l = s->lane;

    s->state = NODE_IN;
    s->left_in = false;
    node_copied_joined(s);
    node_tree_joined(s);
    s->since = resumed ? 0 : s->since;
    s->told = false;
    s->resuming = false;
    s->resumed = resumed;
    if (l->mirror != NULL) {
        node_mirror_working(l->mirror);
    }
    if (l->central != NULL) {
        node_central_working(l->central);
    }
    if (l->fresh) {
        l->fresh = false;
        l->anew = true;
        if (l->mirror != NULL) {
            node_restore_tell(l); /* Other sites may remember what this one has lost. */
        }
        node_keep_asked(l);
    }
    node_lane_trace(l, "worker %u is in from clock %" PRIu64 "%s", s->rank, clock,
                    resumed ? ", resumed" : "");
    if (operate_joined(s, clock, resumed) != OK) {
        net_peer_close(s->peer, "no room for an answer");
    }
    if (!resumed) {
        node_deliver_all_dirty(s, s->again);
    }
    node_deliver_advance(l); /* The others hear of it. */
    loop_task_post(&l->drain);
}

/* Let a newcomer in, when the barrier says so. */
static enum err operate_enter(struct node_session *s)
{
    struct sync_event event = {.type = SYNC_JOIN, .member = s->rank, .rank = s->rank};

    return node_exec(s->lane, &event, NULL, NULL);
}

void node_operate_newcomers(struct node_lane *l)
{
    struct sync_event go_on = {.type = SYNC_CONTINUE};

    if (!node_lane_admits(l) || l->restoring || !node_mirror_began(l->mirror)) {
        return;
    }
    if (!node_central_began(l->central)) {
        node_central_look_for_newcomers(l->central);
        return;
    }
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (s->state == NODE_ASKED && !s->resuming && !sync_is_waiting(&l->sync, s->rank) &&
            operate_enter(s) != OK) {
            net_peer_close(s->peer, "no memory for another member");
        }
    }
    CHECK(node_exec(l, &go_on, NULL, NULL) == OK); /* Some may have waited for others to come. */
}

/* Another process than the last one with this rank: the checkpoint may know it. */
static void operate_counted(struct node_session *s)
{
    struct node_lane *l = s->lane;
    uint64_t incarnation = net_peer_incarnation(s->peer);

    if (l->counted[s->rank].incarnation != incarnation) {
        l->counted[s->rank].incarnation = incarnation;
        l->counted[s->rank].clock =
            l->restored_incarnation[s->rank] == incarnation ? l->restored_clock : 0;
    }
}

static enum err operate_take_place(struct node_session *s, uint64_t rank, struct err_text *text)
{
    struct node_lane *l = s->lane;
    struct node_session *holder = l->by_rank[rank];

    if (holder != NULL &&
        !pki_identity_equal(net_peer_identity(holder->peer), net_peer_identity(s->peer))) {
        return err_text_set(text, ERR_EXISTS, "rank %" PRIu64 " belongs to worker %s", rank,
                            net_peer_identity(holder->peer)->name);
    }
    if (holder != NULL) {
        /* It begins anew; or this is another session of it, and the one before is ending. */
        holder->state = NODE_OUT;
        holder->resuming = false;
        node_exec_leave(l, (uint32_t)rank);
    }
    s->rank = (uint32_t)rank;
    l->by_rank[rank] = s;
    s->state = NODE_ASKED;
    operate_counted(s);
    node_restore_joined(l);
    return OK;
}

/* A worker at the end of a narrow way may ask not to be sent to faster than that. */
static void operate_pace(struct node_session *s, uint64_t wanted)
{
    uint64_t own = s->lane->config.pace_bytes_per_s;

    if (wanted > 0 && (own == 0 || wanted < own) && net_peer_pace(s->peer, wanted) != OK) {
        LOG_WRN("node", "%s cannot be paced: this kind of connection has no limit",
                net_peer_identity(s->peer)->name);
    }
}

/* Other lanes have had members: the site began long ago. If we know of nobody, we have restarted,
 * and those who know what we held must have the time to come back before anybody is let in. */
static enum err operate_begun(struct node_lane *l)
{
    if (l->fresh && l->ack != NODE_ACK_TAKEN) {
        return node_restore_begin(l);
    }
    sync_restart(&l->sync);
    return OK;
}

/* Whom one who is back knows as members. */
static void operate_expect(struct node_lane *l, const json_t *members)
{
    for (size_t i = 0; i < json_array_size(members); i++) {
        json_int_t rank = json_integer_value(json_array_get(members, i));

        if (rank >= 0 && rank < SYNC_MEMBERS_MAX) {
            l->expected[rank / 64] |= UINT64_C(1) << (rank % 64);
        }
    }
}

static void operate_text(const json_t *fields, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(fields, key));
    bool fits = text != NULL && strlen(text) < size;

    (void)snprintf(out, size, "%s", fits ? text : "");
}

static bool operate_is_any(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

/* Where other workers reach it, and where it is. An address that is none is nobody's harm but of
 * those who would dial it. */
static void operate_relay(struct node_session *s, const json_t *fields)
{
    struct net_address parsed;

    operate_text(fields, "relay", s->relay, sizeof(s->relay));
    operate_text(fields, "agg", s->agg, sizeof(s->agg));
    operate_text(fields, "edge", s->edge, sizeof(s->edge));
    if (s->relay[0] == '\0') {
        return;
    }
    if (net_address_parse(s->relay, &parsed, NULL) != OK) {
        s->relay[0] = '\0';
    } else if (operate_is_any(parsed.host) && net_peer_source(s->peer)[0] != '\0') {
        /* It listens everywhere: others reach it where it comes from. */
        (void)snprintf(parsed.host, sizeof(parsed.host), "%s", net_peer_source(s->peer));
        (void)net_address_format(&parsed, s->relay);
    }
}

/* A worker is told that its clocks up to @acked are in a checkpoint, and forgets them. We have
 * restarted from one that lacks some of them: files were lost, or put back from an older copy. Who
 * has discarded them, or takes a copy of another site, goes on without; else parameters of two
 * clocks would be mixed, or the worker would be waited for for ever. */
static bool operate_resumes(struct node_session *s, uint64_t acked)
{
    struct node_lane *l = s->lane;
    struct err_text text;

    if (!l->restoring && !l->fresh) {
        return false;
    }
    if (l->ack != NODE_ACK_STORED || acked <= l->restored_clock) {
        return true;
    }
    if (!l->gave_up && l->remotes == NULL) {
        (void)err_text_set(&text, ERR_CORRUPT,
                           "lane %" PRIu32 " of site %s goes on from clock %" PRIu64
                           ", and worker %s was told that clock %" PRIu64 " is in a checkpoint: %s",
                           l->config.number, l->config.site.name, l->restored_clock,
                           net_peer_identity(s->peer)->name, acked, node_history_remedy);
        node_lane_refuse(l, text.text);
    }
    return false;
}

/* It asks to go on where it was and does so already: the process before us had the first question,
 * but did not acknowledge it, so it came here too. */
static enum err operate_resumed_again(struct node_session *s, uint32_t call)
{
    s->join_call = call;
    return operate_joined(s, sync_member_clock(&s->lane->sync, s->rank) + 1, true);
}

/* Has another lane shown that the site had begun? */
static bool operate_heard(const struct node_lane *l)
{
    return l->begun_elsewhere || (l->config.begun != NULL && atomic_load(l->config.begun));
}

/* A new member, when it may be let in. @begun: it says that the site has begun. */
static enum err operate_begin(struct node_session *s, bool begun)
{
    struct node_lane *l = s->lane;
    enum err rc = OK;

    if ((begun || (l->fresh && operate_heard(l))) && !l->restoring) {
        rc = operate_begun(l);
    }
    if (rc == OK && l->restoring) {
        node_restore_look(l); /* It may be the one that was waited for. */
        return OK;
    }
    if (rc == OK && !node_lane_admits(l)) {
        return OK; /* Until it is known what the other servers have. */
    }
    if (rc == OK && !node_mirror_began(l->mirror)) {
        return OK; /* Until it is known what the other sites have. */
    }
    if (rc == OK && !node_central_began(l->central)) {
        node_central_wanted(l->central);
        return OK;
    }
    return rc == OK ? operate_enter(s) : rc;
}

static enum err operate_join(struct node_session *s, uint32_t call, uint64_t sequence,
                             const json_t *fields)
{
    struct node_lane *l = s->lane;
    bool resume = json_is_true(json_object_get(fields, "resume"));
    bool resuming;
    struct err_text text;
    uint64_t rank, clock, acked, entry, offers, pace;
    enum err rc;

    if (!node_json_u64(fields, "rank", SYNC_MEMBERS_MAX - 1, UINT64_MAX, &rank) ||
        rank == UINT64_MAX || !node_json_u64(fields, "clock", INT64_MAX, 0, &clock) ||
        !node_json_u64(fields, "acked", INT64_MAX, 0, &acked) ||
        !node_json_u64(fields, "offers", UINT32_MAX, 0, &offers) ||
        !node_json_u64(fields, "entry", INT64_MAX, 0, &entry) ||
        !node_json_u64(fields, "pace", INT64_MAX, 0, &pace)) {
        return operate_refuse(s, NODE_OP_JOIN, call, ERR_INVALID,
                              "a worker joins with a rank of 0 to 255");
    }
    operate_pace(s, pace);
    operate_relay(s, fields);
    if (resume && l->ack == NODE_ACK_TAKEN && l->remotes != NULL) {
        resume = false; /* Another site's copy is what there is to go on from. */
    }
    if (resume && l->ack == NODE_ACK_TAKEN) {
        return operate_refuse(s, NODE_OP_JOIN, call, ERR_NOT_FOUND,
                              "this server restarted and keeps no checkpoints: the parameters are "
                              "gone; give it a store, or deliver by broadcast");
    }
    if (resume && s->state == NODE_IN && s->rank == rank && s->resumed) {
        return operate_resumed_again(s, call);
    }
    resuming = resume && operate_resumes(s, acked);
    if (l->refused) {
        return ERR_AGAIN; /* Nothing is acknowledged: it is for the process that follows. */
    }
    rc = node_operate_tables_of(s, json_object_get(fields, "tables"), &text);
    if (rc == OK) {
        rc = operate_take_place(s, rank, &text);
    }
    if (rc != OK) {
        return operate_refuse(s, NODE_OP_JOIN, call, rc, text.text);
    }
    s->join_call = call;
    s->since = resume ? UINT64_MAX : sequence; /* Nothing counts before it is resumed. */
    s->again = json_is_true(json_object_get(fields, "again"));
    s->resuming = resuming;
    node_restore_holder(l, (uint32_t)rank, resuming);
    if (s->resuming) {
        s->resume_clock = clock;
        s->resume_entry = entry;
        s->offers_due = (uint32_t)offers;
        rc = l->restoring ? OK : node_restore_begin(l);
        operate_expect(l, json_object_get(fields, "members"));
        node_restore_look(l);
        return rc;
    }
    return operate_begin(s, json_is_true(json_object_get(fields, "begun")));
}

static enum err operate_leave(struct node_session *s, uint32_t call)
{
    struct node_lane *l = s->lane;
    json_t *answer;

    s->left_in = s->left_in || s->state == NODE_IN; /* It may ask twice. */
    if (s->rank != NODE_RANK_ANY && l->by_rank[s->rank] == s) {
        node_exec_leave(l, s->rank);
    }
    s->state = NODE_OUT;
    s->told = true;
    answer = json_pack("{s:b}", "in", (int)s->left_in);
    operate_restored(l, answer);
    return node_operate_answer(s, NODE_OP_LEAVE, call, answer);
}

/* Checkpoints on demand. */

/* Answer those who asked before this one began. */
static void operate_saved(struct node_session *s, enum err rc)
{
    uint64_t number = s->lane->save_number;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < s->saves_count; i++) {
        uint32_t call = s->saves[i].call;
        uint16_t operation = s->saves[i].operation;
        enum err sent;

        if (s->saves[i].number > number) {
            s->saves[kept++] = s->saves[i];
            continue;
        }
        sent = rc != OK ? operate_refuse(s, operation, call, rc,
                                         operation == NODE_OP_DROP
                                             ? "the table is gone, but the checkpoint without it "
                                               "could not be written: after a restart it is back"
                                             : "the checkpoint could not be written")
               : operation == NODE_OP_DROP
                   ? node_operate_answer(s, operation, call, json_pack("{s:b}", "dropped", 1))
                   : node_operate_answer(s, operation, call,
                                         json_pack("{s:I}", "number", (json_int_t)number));
        if (sent != OK) {
            net_peer_close(s->peer, "no room for an answer");
        }
    }
    s->saves_count = kept;
}

void node_operate_saved(struct node_lane *l, enum err rc)
{
    LIST_FOREACH (link, &l->sessions) {
        operate_saved(LIST_ENTRY(link, struct node_session, link), rc);
    }
}

void node_operate_save(struct node_session *s, uint16_t operation, uint32_t call)
{
    /* One that is under way may have passed its chunks. */
    s->saves[s->saves_count++] = (struct node_save_call){
        .call = call, .operation = operation, .number = s->lane->save_number + 1};
    /* A person who asks may have mended the store; workers wait for the next attempt. */
    if (net_peer_identity(s->peer)->role == WIRE_ROLE_OPERATOR ||
        !loop_timer_active(&s->lane->save_pause)) {
        node_keep_start(s->lane);
    }
}

static enum err operate_save(struct node_session *s, uint32_t call)
{
    if (s->lane->config.store == NULL) {
        return operate_refuse(s, NODE_OP_SAVE, call, ERR_INVALID,
                              "this server keeps no checkpoints: start it with a store");
    }
    if (s->saves_count == NODE_SAVES_MAX) {
        return operate_refuse(s, NODE_OP_SAVE, call, ERR_AGAIN,
                              "several checkpoints are asked for already: wait for one of them");
    }
    node_operate_save(s, NODE_OP_SAVE, call);
    return OK;
}

static enum err operate_report(struct node_session *s, uint32_t call, const json_t *fields)
{
    uint64_t stop;

    if (s->rank == NODE_RANK_ANY || s->lane->config.number != 0 ||
        !node_report_take(s->lane, s->rank, fields, &stop)) {
        return operate_refuse(s, NODE_OP_REPORT, call, ERR_INVALID, "that is no report");
    }
    return node_operate_answer(s, NODE_OP_REPORT, call,
                               json_pack("{s:I}", "stop", (json_int_t)stop));
}

static enum err operate_status(struct node_session *s, uint32_t call)
{
    json_t *status = (json_t *)node_lane_status(s->lane);

    return node_operate_answer(s, NODE_OP_STATUS, call, status);
}

enum err node_operate_permitted(struct node_lane *l, struct net_peer *peer, uint16_t operation,
                                uint32_t call, bool *permitted_out)
{
    struct err_text text;
    enum node_permit permit = node_permit(operation, net_peer_identity(peer), l->config.site.name,
                                          !l->config.insecure, &text);
    enum err rc = permit == NODE_PERMIT_UNKNOWN ? ERR_VERSION : ERR_REFUSED;

    *permitted_out = permit == NODE_PERMIT_OK;
    if (*permitted_out) {
        return OK;
    }
    obs_counter_add(l->counters.operations_refused[permit], 1);
    node_lane_trace(l, "refuses %s: %s", net_peer_identity(peer)->name, text.text);
    if ((operation & NODE_ANSWER) != 0) {
        return OK; /* To what nobody asked. */
    }
    /* Who wants no answer learns it from the end of the session. */
    return call == 0 ? ERR_PEER
                     : node_control_refuse(peer, l->pool, operation, call, rc, text.text);
}

static enum err operate_run(struct node_session *s, uint16_t operation, uint32_t call,
                            uint64_t sequence, const json_t *fields)
{
    switch (operation) {
    case NODE_OP_SITE:
        return operate_site(s, call, fields);
    case NODE_OP_LANE:
        return operate_lane(s, fields);
    case NODE_OP_TABLE:
        return node_operate_table(s, call, fields);
    case NODE_OP_JOIN:
        return operate_join(s, call, sequence, fields);
    case NODE_OP_LEAVE:
        return operate_leave(s, call);
    case NODE_OP_REPORT:
        return operate_report(s, call, fields);
    case NODE_OP_STATUS:
        return operate_status(s, call);
    case NODE_OP_SAVE:
        return operate_save(s, call);
    case NODE_OP_DROP:
        return node_operate_drop(s, call, fields);
    default: /* Between sites: in sessions of their own, which begin with a handshake. */
        return operate_refuse(s, operation, call, ERR_VERSION,
                              s->lane->remotes == NULL
                                  ? "this server shares its model with no other site"
                                  : "a site must send its handshake before any other operation");
    }
}

enum err node_operate(struct node_session *s, const struct net_frame *frame)
{
    struct err_text text;
    json_t *fields;
    uint16_t operation;
    uint32_t call;
    bool permitted;
    enum err rc = node_control_read(frame, &operation, &call, &fields);

    if (rc != OK) {
        return ERR_PEER;
    }
    rc = node_operate_permitted(s->lane, s->peer, operation, call, &permitted);
    if (permitted && node_control_check(operation, fields, &text) != OK) {
        rc = operate_refuse(s, operation, call, ERR_INVALID, text.text);
    } else if (permitted) {
        rc = operate_run(s, operation, call, frame->header.sequence, fields);
    }
    json_decref(fields);
    return rc;
}
