/* The handshake between two sites: each sends its configuration and tables, and refuses the other
 * if they differ. It decides nothing else: which data follows is the owner's affair. */

#include "node/lane/state.h"
#include "node/site/remote.h"

#include <stdio.h>
#include <string.h>

/* Sessions that others dialled: whose is it? */
struct node_remote_site *node_handshake_identify(struct node_remote_sites *set,
                                                 struct net_peer *peer)
{
    const char *site = net_peer_identity(peer)->site;
    struct err_text text;

    for (uint32_t i = 1; i < set->count; i++) {
        struct node_remote_site *f = &set->list[i];

        if (strcmp(f->site.name, site) == 0) {
            if (f->in != NULL && f->in != peer) {
                net_peer_close(f->in, "another process of your site is here");
            }
            f->in = NULL;
            f->in_agreed = false;
            f->anew = true;
            set->events->lost(f, false, set->user);
            node_remote_recheck(f); /* What was on its way is lost. */
            f->in = peer;
            return f;
        }
    }
    (void)err_text_set(&text, OK,
                       "site %s is not in the list of site %s: all sites must have the same list; "
                       "start the servers of site %s again with site %s in it",
                       site, set->lane->config.site.name, set->lane->config.site.name, site);
    if (strcmp(set->stranger, site) != 0) { /* It comes again every second. */
        (void)snprintf(set->stranger, sizeof(set->stranger), "%s", site);
        LOG_WRN("node", "%s", text.text);
    }
    if (node_control_refuse(peer, set->lane->pool, NODE_OP_HANDSHAKE, 1, ERR_REFUSED, text.text) !=
        OK) {
        net_peer_close(peer, text.text);
    }
    return NULL;
}

bool node_handshake_accepts(struct node_remote_site *f, struct net_peer *peer)
{
    const struct pki_identity *who = net_peer_identity(peer);
    char address[NET_ADDRESS_BYTES];
    struct err_text text;

    if (who->role == WIRE_ROLE_SERVER && strcmp(who->site, f->site.name) == 0) {
        return true;
    }
    (void)err_text_set(
        &text, OK,
        "at %.100s is a %s of site %s, not site %s: give it the address of its own first "
        "server",
        net_address_format(&f->site.first, address), wire_role_name(who->role), who->site,
        f->site.name);
    node_remote_set_error(f, text.text);
    net_peer_close(peer, f->last_error);
    return false;
}

void node_handshake_send(struct node_remote_site *f)
{
    struct node_lane *l = f->set->lane;
    json_t *fields = json_pack("{s:s, s:i, s:o, s:o}", "site", l->config.site.name, "lane",
                               (int)l->config.number, "shared_config",
                               node_between_to_json(f->set->between, &l->config.site), "tables",
                               node_operate_tables(l));

    if (node_control_send(f->out, l->pool, NODE_OP_HANDSHAKE, 1, fields) != OK) {
        net_peer_close(f->out, "no room for a greeting");
    }
    json_decref(fields);
}

/* Both sites say it in the same words. */
static enum err handshake_differs(const struct table_schema *a, const char *site_a,
                                  const struct table_schema *b, const char *site_b,
                                  struct err_text *text)
{
    if (strcmp(site_a, site_b) > 0) {
        return handshake_differs(b, site_b, a, site_a, text);
    }
    return err_text_set(
        text, ERR_INVALID,
        "table %s is %llu x %u at site %s and %llu x %u at site %s, or starts or is "
        "updated in another way: all sites must make it alike",
        a->name, (unsigned long long)a->rows, a->width, site_a, (unsigned long long)b->rows,
        b->width, site_b);
}

/* Which of our tables is each of theirs? */
static enum err handshake_tables(struct node_remote_site *f, const json_t *tables,
                                 struct err_text *text)
{
    struct node_lane *l = f->set->lane;

    for (size_t i = 0; i < json_array_size(tables); i++) {
        const json_t *table = json_array_get(tables, i);
        struct table_schema schema;
        uint64_t theirs;
        enum err rc = node_schema_from_json(table, &schema, text);

        if (rc != OK ||
            !node_json_u64(table, "id", TABLE_COUNT_MAX - 1, TABLE_COUNT_MAX, &theirs) ||
            theirs == TABLE_COUNT_MAX) {
            return rc != OK ? rc : err_text_set(text, ERR_INVALID, "a table without a number");
        }
        for (uint16_t id = 0; id < l->next_table; id++) {
            const struct table_schema *ours = table_store_schema(l->tables, id);

            if (ours == NULL || strcmp(ours->name, schema.name) != 0) {
                continue;
            }
            if (!table_schema_equal(ours, &schema)) {
                return handshake_differs(&schema, f->site.name, ours, l->config.site.name, text);
            }
            f->tables[theirs] = (int16_t)id;
        }
    }
    return OK;
}

/* It is told why, and so is whoever looks at this server's status. */
static enum err handshake_refuse(struct node_remote_site *f, uint16_t operation, uint32_t call,
                                 enum err rc, const struct err_text *text)
{
    node_remote_set_error(f, text->text);
    return node_control_refuse(f->in, f->set->lane->pool, operation, call, rc, text->text);
}

static enum err handshake_asked(struct node_remote_site *f, uint32_t call, const json_t *fields)
{
    struct node_lane *l = f->set->lane;
    json_t *ours = node_between_to_json(f->set->between, &l->config.site);
    struct err_text text = {""};
    uint64_t lane;
    json_t *answer;
    enum err rc = node_between_compare(
        ours, l->config.site.name, json_object_get(fields, "shared_config"), f->site.name, &text);

    json_decref(ours);
    if (rc == OK && (!node_json_u64(fields, "lane", NODE_LANES_MAX, NODE_LANES_MAX, &lane) ||
                     lane != l->config.number)) {
        rc = err_text_set(&text, ERR_INVALID, "this is lane %u", l->config.number);
    }
    if (rc == OK) {
        json_decref(f->said);
        f->said = json_incref(json_object_get(fields, "tables"));
        rc = handshake_tables(f, f->said, &text);
    }
    if (rc != OK) {
        return handshake_refuse(f, NODE_OP_HANDSHAKE, call, rc, &text);
    }
    f->in_agreed = true;
    f->set->events->known(f, f->set->user);
    answer = json_object();
    rc = node_control_send(f->in, l->pool, NODE_OP_HANDSHAKE | NODE_ANSWER, call, answer);
    json_decref(answer);
    return rc;
}

void node_handshake_resend(struct node_remote_sites *set)
{
    for (uint32_t i = 1; i < set->count; i++) {
        struct node_remote_site *f = &set->list[i];
        struct err_text text = {""};

        if (handshake_tables(f, f->said, &text) != OK) {
            node_remote_set_error(f, text.text);
            f->in_agreed = false;
            node_remote_recheck(f);
        }
        /* A session that has agreed is not greeted again when its connection is back. */
        if (f->out != NULL && (f->out_agreed || net_peer_is_up(f->out))) {
            node_handshake_send(f);
        }
        set->events->known(f, set->user);
    }
}

/* A chunk of a table that is not here would have no place, and its copy comes once: the table is
 * made as the other has it, under the same number, before workers do. */
bool node_handshake_make_tables(struct node_remote_site *f)
{
    struct node_lane *l = f->set->lane;

    for (size_t i = 0; i < json_array_size(f->said); i++) {
        const json_t *table = json_array_get(f->said, i);
        struct table_schema schema;
        struct err_text text;
        uint64_t id;

        if (!node_json_u64(table, "id", TABLE_COUNT_MAX - 1, 0, &id)) {
            return false;
        }
        if (f->tables[id] >= 0 || l->config.closed) { /* There are no others here. */
            continue;
        }
        if (table_store_schema(l->tables, (uint16_t)id) != NULL ||
            node_schema_from_json(table, &schema, &text) != OK) {
            return false;
        }
        if (node_lane_add_table(l, (uint16_t)id, &schema, &text) != OK) {
            node_remote_set_error(f, text.text);
            return false;
        }
        node_lane_trace(l, "makes table %s as site %s has it", schema.name, f->site.name);
    }
    return true;
}

/* The first lane of a site has told where the others are. */
static enum err handshake_found(struct node_remote_site *f, const json_t *fields)
{
    struct node_lane *l = f->set->lane;
    const char *address =
        json_string_value(json_array_get(json_object_get(fields, "addresses"), l->config.number));
    struct net_address to;

    if (address == NULL || net_address_parse(address, &to, NULL) != OK) {
        node_remote_set_error(f, "it has fewer lanes than this site: give all sites as many");
        f->retry_ns = loop_now_ns(l->config.loop) + (int64_t)NODE_REMOTE_RETRY_MS * 1000000;
    } else if (f->out == NULL && net_endpoint_dial(l->endpoint, l->config.transport, &to,
                                                   f->set->between->streams, &f->out) == OK) {
        node_remote_on_dialled(f);
    }
    net_peer_close(f->locator, f->out == NULL ? f->last_error : "thank you");
    return OK;
}

static void handshake_answered(struct node_remote_site *f, const json_t *fields)
{
    struct err_text text = {""};

    if (node_control_error(fields, &text) == OK) {
        f->out_agreed = true;
        return;
    }
    node_remote_set_error(f, text.text);
    net_peer_close(f->out, f->last_error);
}

enum err node_handshake_control(struct node_remote_site *f, const struct net_frame *frame, bool in)
{
    json_t *fields;
    uint16_t operation;
    uint32_t call;
    bool permitted = true;
    struct err_text text;
    enum err rc = node_control_read(frame, &operation, &call, &fields);

    if (rc != OK) {
        return ERR_PEER;
    }
    if (in) {
        rc = node_operate_permitted(f->set->lane, f->in, operation, call, &permitted);
    }
    if (!permitted) {
        /* It was told. */
    } else if (in && node_control_check(operation, fields, &text) != OK) {
        rc = handshake_refuse(f, operation, call, ERR_INVALID, &text);
    } else if (in && operation == NODE_OP_HANDSHAKE) {
        rc = handshake_asked(f, call, fields);
    } else if (!in && operation == (NODE_OP_SITE | NODE_ANSWER)) {
        rc = handshake_found(f, fields);
    } else if (!in && operation == (NODE_OP_HANDSHAKE | NODE_ANSWER)) {
        handshake_answered(f, fields);
    } else {
        rc = f->set->events->control(f, operation, call, fields, in, f->set->user);
    }
    json_decref(fields);
    return rc;
}
