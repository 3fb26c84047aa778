/* Operations as JSON in control frames. */

#include "node/control.h"

#include "base/buf.h"
#include "codec/filter.h"
#include "net/session/endpoint.h"
#include "wire/control.h"

#include <stdlib.h>
#include <string.h>

enum err node_control_send(struct net_peer *peer, struct buf_pool *pool, uint16_t operation,
                           uint32_t call, const json_t *fields)
{
    struct wire_control control = {.operation = operation, .field_count = 1, .call = call};
    struct wire_field field = {.tag = NODE_FIELD_TEXT | WIRE_FIELD_CRITICAL};
    struct buf *frame;
    char *text;
    size_t size;
    enum err rc;

    if (fields == NULL) {
        return ERR_NOMEM;
    }
    text = json_dumps(fields, JSON_COMPACT | JSON_SORT_KEYS);
    if (text == NULL) {
        return ERR_NOMEM;
    }
    size = strlen(text);
    if (size > NODE_JSON_BYTES_MAX) {
        free(text);
        return ERR_TOO_BIG;
    }
    field.size = (uint16_t)size;
    field.bytes = (const uint8_t *)text;
    rc = wire_control_encode(pool, &control, &field, &frame);
    free(text);
    if (rc == OK) {
        rc = net_peer_send_sealed(peer, NET_CONTROL, frame);
        if (rc != OK) {
            buf_unref(frame);
        }
    }
    return rc;
}

enum err node_control_refuse(struct net_peer *peer, struct buf_pool *pool, uint16_t operation,
                             uint32_t call, enum err rc, const char *text)
{
    json_t *fields = json_pack("{s:i, s:s}", "error", (int)rc, "text", text);
    enum err sent = node_control_send(peer, pool, operation | NODE_ANSWER, call, fields);

    json_decref(fields);
    return sent;
}

bool node_control_is(const struct net_frame *frame, uint16_t operation)
{
    struct wire_control control;

    return wire_control_decode(frame->body, frame->header.body_bytes, &control) == OK &&
           control.operation == operation;
}

enum err node_control_read(const struct net_frame *frame, uint16_t *operation_out,
                           uint32_t *call_out, json_t **fields_out)
{
    static const struct wire_field_rule rule = {
        .tag = NODE_FIELD_TEXT, .size_min = 2, .size_max = NODE_JSON_BYTES_MAX, .required = true};
    struct wire_control control;
    struct wire_field field;
    enum wire_reason reason;
    json_t *fields;
    enum err rc = wire_control_decode(frame->body, frame->header.body_bytes, &control);

    if (rc == OK) {
        rc = wire_control_fields(&control, &rule, 1, &field, &reason);
    }
    if (rc != OK) {
        return rc;
    }
    fields = json_loadb((const char *)field.bytes, field.size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(fields)) {
        json_decref(fields);
        return ERR_MALFORMED;
    }
    *operation_out = control.operation;
    *call_out = control.call;
    *fields_out = fields;
    return OK;
}

enum err node_control_error(const json_t *fields, struct err_text *text)
{
    const json_t *error = json_object_get(fields, "error");
    const char *why = json_string_value(json_object_get(fields, "text"));
    json_int_t code = json_integer_value(error);

    if (error == NULL) {
        return OK;
    }
    if (code >= 0 || code < ERR_DENIED) {
        code = ERR_REFUSED;
    }
    return err_text_set(text, (enum err)code, "%s", why == NULL ? "refused" : why);
}

bool node_json_u64(const json_t *fields, const char *key, uint64_t max, uint64_t fallback,
                   uint64_t *out)
{
    const json_t *value = json_object_get(fields, key);

    if (value == NULL) {
        *out = fallback;
        return true;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > max) {
        return false;
    }
    *out = (uint64_t)json_integer_value(value);
    return true;
}

json_t *node_sparsify_totals_to_json(const struct node_sparsify_totals *totals)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "chunks", (json_int_t)totals->chunks,
                     "elements", (json_int_t)totals->elements, "sent_elements",
                     (json_int_t)totals->sent_elements, "bytes", (json_int_t)totals->bytes,
                     "encode_ns", (json_int_t)totals->encode_ns, "decode_ns",
                     (json_int_t)totals->decode_ns);
}

bool node_sparsify_totals_from_json(const json_t *fields, struct node_sparsify_totals *out)
{
    uint64_t encode_ns, decode_ns;

    if (!json_is_object(fields) || !node_json_u64(fields, "chunks", INT64_MAX, 0, &out->chunks) ||
        !node_json_u64(fields, "elements", INT64_MAX, 0, &out->elements) ||
        !node_json_u64(fields, "sent_elements", out->elements, 0, &out->sent_elements) ||
        !node_json_u64(fields, "bytes", INT64_MAX, 0, &out->bytes) ||
        !node_json_u64(fields, "encode_ns", INT64_MAX / 2, 0, &encode_ns) ||
        !node_json_u64(fields, "decode_ns", INT64_MAX / 2, 0, &decode_ns)) {
        *out = (struct node_sparsify_totals){0};
        return false;
    }
    out->encode_ns = (int64_t)encode_ns;
    out->decode_ns = (int64_t)decode_ns;
    return true;
}

json_t *node_sparsify_state_to_json(const struct node_sparsify_state *state)
{
    json_t *out = node_sparsify_totals_to_json(&state->totals);

    (void)json_object_update_new(out, json_pack("{s:b, s:f, s:I}", "upper", (int)state->upper,
                                                "threshold", state->threshold, "link_bytes_per_s",
                                                (json_int_t)state->link_rate));
    return out;
}

bool node_sparsify_state_from_json(const json_t *fields, struct node_sparsify_state *out)
{
    struct node_sparsify_state in = {.upper = json_is_true(json_object_get(fields, "upper")),
                                     .threshold =
                                         json_number_value(json_object_get(fields, "threshold"))};

    *out = (struct node_sparsify_state){0};
    if (!node_sparsify_totals_from_json(fields, &in.totals) ||
        !node_json_u64(fields, "link_bytes_per_s", INT64_MAX, 0, &in.link_rate) ||
        !(in.threshold >= 0 && in.threshold <= (double)CODEC_THRESHOLD_MAX)) {
        return false;
    }
    *out = in;
    return true;
}

static void site_sparsify_to_json(const struct node_sparsify_config *config, const char *key,
                                  json_t *out)
{
    char chain[CODEC_CHAIN_TEXT_BYTES];

    if (config->on) {
        codec_chain_print(&config->chain, chain, sizeof(chain));
        (void)json_object_set_new(out, key, json_string(chain));
    }
}

static bool site_sparsify_from_json(const json_t *fields, const char *key,
                                    struct node_sparsify_config *out)
{
    const char *chain = json_string_value(json_object_get(fields, key));

    out->on = chain != NULL;
    return !out->on || codec_chain_parse(chain, &out->chain, NULL) == OK;
}

static bool site_flow_from_json(const json_t *fields, struct node_site *out)
{
    const char *tree = json_string_value(json_object_get(fields, "tree"));

    return site_sparsify_from_json(fields, "push", &out->push) &&
           site_sparsify_from_json(fields, "broadcast", &out->broadcast) &&
           node_json_u64(fields, "required", INT64_MAX, 0, &out->required) &&
           (tree == NULL || node_tree_parse(tree, &out->tree, NULL) == OK);
}

json_t *node_site_to_json(const struct node_site *site)
{
    json_t *out =
        json_pack("{s:s, s:i, s:i, s:s, s:s, s:I, s:b, s:I, s:i, s:i, s:i}", "site", site->name,
                  "shards", (int)site->shards, "lanes", (int)site->lanes, "delivery",
                  node_delivery_name(site->delivery), "barrier", site->sync.policy->name,
                  "staleness", (json_int_t)site->sync.staleness, "fixed_order",
                  (int)site->sync.fixed_order, "deadline_ns", (json_int_t)site->sync.deadline_ns,
                  "workers_min", (int)site->sync.members_min, "checkpoint_every",
                  (int)site->checkpoint_every, "checkpoint_keep", (int)site->checkpoint_keep);

    site_sparsify_to_json(&site->push, "push", out);
    site_sparsify_to_json(&site->broadcast, "broadcast", out);
    if (site->required > 0) {
        (void)json_object_set_new(out, "required", json_integer((json_int_t)site->required));
    }
    if (site->tree.degree > 0) {
        char tree[NODE_TREE_TEXT_BYTES];

        node_tree_print(&site->tree, tree, sizeof(tree));
        (void)json_object_set_new(out, "tree", json_string(tree));
    }
    return out;
}

enum err node_site_from_json(const json_t *fields, struct node_site *out)
{
    const char *name = json_string_value(json_object_get(fields, "site"));
    const char *delivery = json_string_value(json_object_get(fields, "delivery"));
    const char *barrier = json_string_value(json_object_get(fields, "barrier"));
    const char *job = json_string_value(json_object_get(fields, "job"));
    uint64_t shards, lanes, staleness, deadline, members, every, keep;

    *out = (struct node_site){0};
    if (name == NULL || strlen(name) > LIMIT_NAME_BYTES || delivery == NULL || barrier == NULL ||
        (job != NULL && strlen(job) >= sizeof(out->job)) ||
        node_delivery_parse(delivery, &out->delivery) != OK ||
        !node_json_u64(fields, "shards", NODE_SHARDS_MAX, 0, &shards) ||
        !node_json_u64(fields, "lanes", NODE_LANES_MAX, 0, &lanes) ||
        !node_json_u64(fields, "staleness", SYNC_STALENESS_MAX, 0, &staleness) ||
        !node_json_u64(fields, "deadline_ns", INT64_MAX, 0, &deadline) ||
        !node_json_u64(fields, "workers_min", SYNC_MEMBERS_MAX, 0, &members) ||
        !node_json_u64(fields, "checkpoint_every", UINT32_MAX, 0, &every) ||
        !node_json_u64(fields, "checkpoint_keep", UINT32_MAX, 0, &keep) ||
        !site_flow_from_json(fields, out)) {
        return ERR_MALFORMED;
    }
    memcpy(out->name, name, strlen(name) + 1);
    if (job != NULL) {
        memcpy(out->job, job, strlen(job) + 1);
    }
    out->shards = (uint32_t)shards;
    out->lanes = (uint32_t)lanes;
    out->sync = (struct sync_config){
        .policy = sync_policy_find(barrier),
        .staleness = staleness,
        .fixed_order = json_is_true(json_object_get(fields, "fixed_order")),
        .deadline_ns = (int64_t)deadline,
        .members_min = (uint32_t)members,
    };
    out->checkpoint_every = (uint32_t)every;
    out->checkpoint_keep = (uint32_t)keep;
    return node_site_check(out, NULL) == OK ? OK : ERR_MALFORMED;
}

json_t *node_schema_to_json(const struct table_schema *schema)
{
    char init[TABLE_INIT_TEXT_BYTES];
    char apply[TABLE_APPLY_TEXT_BYTES];
    json_t *out;

    table_init_print(&schema->init, init, sizeof(init));
    table_apply_print(&schema->apply, apply, sizeof(apply));
    out = json_pack("{s:s, s:I, s:I, s:s, s:s, s:s}", "name", schema->name, "rows",
                    (json_int_t)schema->rows, "width", (json_int_t)schema->width, "init", init,
                    "apply", apply, "combine", table_combine_name(schema->combine));
    if (out != NULL && schema->chunk != 0 &&
        json_object_set_new(out, "chunk", json_integer(schema->chunk)) != 0) {
        json_decref(out);
        out = NULL;
    }
    return out;
}

enum err node_schema_from_json(const json_t *fields, struct table_schema *out,
                               struct err_text *text)
{
    struct table_schema_text in = {
        .name = json_string_value(json_object_get(fields, "name")),
        .init = json_string_value(json_object_get(fields, "init")),
        .apply = json_string_value(json_object_get(fields, "apply")),
        .combine = json_string_value(json_object_get(fields, "combine")),
    };
    uint64_t width, chunk = 0;

    if (in.name == NULL || !node_json_u64(fields, "rows", INT64_MAX, 0, &in.rows) ||
        !node_json_u64(fields, "width", UINT32_MAX, 0, &width) ||
        (json_object_get(fields, "chunk") != NULL &&
         !node_json_u64(fields, "chunk", UINT32_MAX, 0, &chunk))) {
        return err_text_set(text, ERR_INVALID, "a table needs a name, rows and width");
    }
    in.width = (uint32_t)width;
    in.chunk = (uint32_t)chunk;
    return table_schema_parse(&in, out, text);
}
