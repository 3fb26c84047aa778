/* Control operations of a lane that concern its tables. Each may come twice, so each does the same
 * the second time. */

#include "node/lane/state.h"

#include <string.h>

enum {
    OPERATE_TABLE_BYTES = 24,   /* That a worker says of a table beside its schema. */
    OPERATE_SPARE_BYTES = 4096, /* For what else is in such a message. */
};

static int32_t operate_find_table(const struct node_lane *l, const char *name)
{
    for (uint16_t id = 0; id < l->next_table; id++) {
        const struct table_schema *schema = table_store_schema(l->tables, id);

        if (schema != NULL && strcmp(schema->name, name) == 0) {
            return id;
        }
    }
    return -1;
}

/* All tables are named in one message when a worker joins: is there room for another one? */
static bool operate_table_fits(struct node_lane *l, const struct table_schema *schema)
{
    json_t *site = node_operate_site(l);
    json_t *table = node_schema_to_json(schema);
    size_t tables = json_array_size(json_object_get(site, "tables")) + 1;
    size_t bytes =
        json_dumpb(site, NULL, 0, JSON_COMPACT) + json_dumpb(table, NULL, 0, JSON_COMPACT);

    json_decref(site);
    json_decref(table);
    return bytes + tables * OPERATE_TABLE_BYTES + OPERATE_SPARE_BYTES <= NODE_JSON_BYTES_MAX;
}

/* The lowest that is free: a table that was refused and taken back gets the same number again,
 * which other lanes may still have it by. */
static uint64_t operate_new_id(const struct node_lane *l)
{
    uint64_t id = 0;

    while (id < TABLE_COUNT_MAX && table_store_schema(l->tables, (uint16_t)id) != NULL) {
        id++;
    }
    return id;
}

static bool operate_uses(const struct node_session *s, uint16_t id)
{
    return (s->uses[id / 64] >> (id % 64) & 1) != 0;
}

/* A worker that uses the table; NULL: there is none. */
static const struct node_session *operate_user(const struct node_lane *l, uint16_t id)
{
    LIST_FOREACH (link, &l->sessions) {
        const struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (operate_uses(s, id)) {
            return s;
        }
    }
    return NULL;
}

/* No update has entered it, or waits to. */
static bool operate_untouched(const struct node_lane *l, uint16_t id)
{
    for (uint32_t c = 0; c < l->chunks_count; c++) {
        if (table_store_table(l->tables, c) == id &&
            (l->chunks[c]->changed || l->chunks[c]->accum.sum != NULL)) {
            return false;
        }
    }
    return true;
}

/* May the table go now? If not, @text says why. */
static enum err operate_droppable(const struct node_lane *l, uint16_t id, struct err_text *text)
{
    const char *name = table_store_schema(l->tables, id)->name;
    const struct node_session *user = operate_user(l, id);

    if (l->remotes != NULL || l->config.closed) {
        return err_text_set(text, ERR_INVALID, "table %s stays: %s", name,
                            l->remotes != NULL ? "other sites have it too and would bring it back"
                                               : "it is in the operator's schema");
    }
    if (user != NULL) {
        return err_text_set(
            text, ERR_REFUSED,
            "table %s is used by worker %s: stop the workers that use it, then drop "
            "it",
            name, net_peer_identity(user->peer)->name);
    }
    if (l->saving || l->restoring) {
        return err_text_set(text, ERR_AGAIN, "lane %u %s: try again in a moment", l->config.number,
                            l->saving ? "writes a checkpoint" : "waits for its workers");
    }
    return OK;
}

/* Nobody uses it and no update has entered it: somebody made it, another lane refused it or dropped
 * it, and nobody was left to take it back here. */
static bool operate_leftover(const struct node_lane *l, uint16_t id)
{
    struct err_text text;

    return operate_untouched(l, id) && operate_droppable(l, id, &text) == OK;
}

/* What is left over makes room for @schema with the number @wanted; UINT64_MAX: any. */
static void operate_clear(struct node_lane *l, const struct table_schema *schema, uint64_t wanted)
{
    int32_t id = operate_find_table(l, schema->name);
    bool other =
        id >= 0 && ((wanted != UINT64_MAX && wanted != (uint64_t)id) ||
                    !table_schema_equal(schema, table_store_schema(l->tables, (uint16_t)id)));

    if (other && operate_leftover(l, (uint16_t)id)) {
        node_lane_drop_table(l, (uint16_t)id);
        id = -1;
    }
    if (id < 0 && wanted != UINT64_MAX && table_store_schema(l->tables, (uint16_t)wanted) != NULL &&
        operate_leftover(l, (uint16_t)wanted)) {
        node_lane_drop_table(l, (uint16_t)wanted);
    }
}

/* The id of the table, which is made if need be. */
static enum err operate_table_id(struct node_lane *l, const json_t *fields, uint16_t *id_out,
                                 struct err_text *text)
{
    struct table_schema schema;
    uint64_t wanted;
    int32_t id;
    enum err rc = node_schema_from_json(fields, &schema, text);

    if (rc != OK) {
        return rc;
    }
    if (!node_json_u64(fields, "id", TABLE_COUNT_MAX - 1, UINT64_MAX, &wanted)) {
        return err_text_set(text, ERR_INVALID, "a table's id is 0 to %d", TABLE_COUNT_MAX - 1);
    }
    operate_clear(l, &schema, wanted);
    id = operate_find_table(l, schema.name);
    if (id >= 0) {
        if (!table_schema_equal(&schema, table_store_schema(l->tables, (uint16_t)id))) {
            return err_text_set(text, ERR_EXISTS,
                                "table %s exists with another shape or applier: use that, another "
                                "name, or have an operator drop it (strait table drop)",
                                schema.name);
        }
        if (wanted != UINT64_MAX && wanted != (uint64_t)id) {
            return err_text_set(text, ERR_EXISTS,
                                "table %s has another number on lane %u: it was dropped on some "
                                "lanes only; repeat strait table drop",
                                schema.name, l->config.number);
        }
        *id_out = (uint16_t)id;
        return OK;
    }
    if (l->config.closed) {
        return err_text_set(text, ERR_REFUSED, "table %s is not in the operator's schema",
                            schema.name);
    }
    if (wanted == UINT64_MAX && l->config.number != 0) {
        return err_text_set(text, ERR_INVALID, "only the first lane gives out table ids");
    }
    wanted = wanted == UINT64_MAX ? operate_new_id(l) : wanted;
    if (wanted >= TABLE_COUNT_MAX || table_store_schema(l->tables, (uint16_t)wanted) != NULL) {
        return err_text_set(text, ERR_TOO_BIG, "no room for table %s", schema.name);
    }
    if (l->config.number == 0 && !operate_table_fits(l, &schema)) {
        return err_text_set(text, ERR_TOO_BIG,
                            "table %s is one too many for a message that names them all: use fewer "
                            "tables or shorter names",
                            schema.name);
    }
    *id_out = (uint16_t)wanted;
    return node_lane_add_table(l, (uint16_t)wanted, &schema, text);
}

/* From now on it keeps a copy: send what has changed. Returns how many chunks that are. */
static uint32_t operate_subscribe(struct node_session *s, uint16_t id)
{
    struct node_lane *l = s->lane;
    uint32_t changed = 0;

    s->wants[id / 64] |= UINT64_C(1) << (id % 64);
    for (uint32_t c = 0; c < l->chunks_count && s->state == NODE_IN; c++) {
        if (table_store_table(l->tables, c) == id && l->chunks[c]->changed) {
            node_deliver_mark(s, c, true);
            changed++;
        }
    }
    if (changed > 0) {
        node_deliver_flush(s);
    }
    return changed;
}

/* The tables that a worker has: made here if they are not known. */
enum err node_operate_tables_of(struct node_session *s, const json_t *tables, struct err_text *text)
{
    enum err rc = OK;

    for (size_t i = 0; i < json_array_size(tables) && rc == OK; i++) {
        const json_t *table = json_array_get(tables, i);
        uint16_t id = 0;

        rc = operate_table_id(s->lane, table, &id, text);
        if (rc == OK) {
            s->uses[id / 64] |= UINT64_C(1) << (id % 64);
        }
        if (rc == OK && json_is_true(json_object_get(table, "want"))) {
            (void)operate_subscribe(s, id);
        }
    }
    return rc;
}

enum err node_operate_table(struct node_session *s, uint32_t call, const json_t *fields)
{
    struct err_text text;
    uint32_t changed = 0;
    uint16_t id = 0;
    enum err rc = node_operate_tables_of(s, json_object_get(fields, "known"), &text);

    if (rc == OK) {
        rc = operate_table_id(s->lane, fields, &id, &text);
    }
    if (rc != OK) {
        return node_control_refuse(s->peer, s->lane->pool, NODE_OP_TABLE, call, rc, text.text);
    }
    s->uses[id / 64] |= UINT64_C(1) << (id % 64);
    if (json_is_true(json_object_get(fields, "want"))) {
        changed = operate_subscribe(s, id);
    }
    return node_operate_answer(s, NODE_OP_TABLE, call,
                               json_pack("{s:i, s:i, s:b}", "id", (int)id, "changed", (int)changed,
                                         "in", (int)(s->state == NODE_IN)));
}

/* Dropping. */

/* A worker takes back a table that another lane refused: if nobody else uses it and no update has
 * entered it, it was never there. */
static enum err operate_take_back(struct node_session *s, uint32_t call, uint16_t id)
{
    struct node_lane *l = s->lane;
    bool drop;

    s->wants[id / 64] &= ~(UINT64_C(1) << (id % 64));
    s->uses[id / 64] &= ~(UINT64_C(1) << (id % 64));
    drop = operate_leftover(l, id);
    if (drop) {
        node_lane_drop_table(l, id);
    }
    return node_operate_answer(s, NODE_OP_DROP, call, json_pack("{s:b}", "dropped", (int)drop));
}

enum err node_operate_drop(struct node_session *s, uint32_t call, const json_t *fields)
{
    struct node_lane *l = s->lane;
    const char *name = json_string_value(json_object_get(fields, "name"));
    int32_t id = name == NULL ? -1 : operate_find_table(l, name);
    bool check = json_is_true(json_object_get(fields, "check"));
    struct err_text text;
    enum err rc;

    if (name == NULL) {
        return node_control_refuse(s->peer, l->pool, NODE_OP_DROP, call, ERR_INVALID,
                                   "a table to drop has a name");
    }
    if (id >= 0 && node_session_is_worker(s)) {
        return operate_take_back(s, call, (uint16_t)id);
    }
    if (id < 0 || node_session_is_worker(s)) {
        return node_operate_answer(s, NODE_OP_DROP, call, json_pack("{s:b}", "dropped", 0));
    }
    rc = operate_droppable(l, (uint16_t)id, &text);
    if (rc == OK && !check && s->saves_count == NODE_SAVES_MAX) {
        rc = err_text_set(&text, ERR_AGAIN, "several checkpoints are asked for already");
    }
    if (rc != OK) {
        return node_control_refuse(s->peer, l->pool, NODE_OP_DROP, call, rc, text.text);
    }
    if (!check) {
        node_lane_trace(l, "drops table %s", name);
        node_lane_drop_table(l, (uint16_t)id);
    }
    if (!check && l->config.store != NULL && !l->fresh) {
        /* Else it would be back after a restart. */
        node_operate_save(s, NODE_OP_DROP, call);
        return OK;
    }
    return node_operate_answer(s, NODE_OP_DROP, call, json_pack("{s:b}", "dropped", 1));
}
