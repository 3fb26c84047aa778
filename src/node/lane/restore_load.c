/* What a lane with a store starts from.
 *
 *     manifests -> one history and, shard by shard, a checkpoint -> its objects -> tables, values
 *
 * Decides whether the shards belong together (I11). A shard starts from the checkpoint that its
 * manifest names, or the lane does not start: a shard that lost it would begin at zero, or at an
 * older clock, beside trained ones, and nobody would notice. Older objects are used only if the
 * operator says so (NODE_RESTORE_CLOCK), and a training is begun anew beside them only if the
 * operator discards them (NODE_RESTORE_NONE). Objects that no manifest names are of a checkpoint
 * that was never complete: nothing in them was acknowledged. Whether the lanes of a server belong
 * together is checked in node/lane/history.c. */

#include "node/lane/state.h"
#include "store/checkpoint.h"
#include "store/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct load {
    struct node_lane *lane;
    struct manifest_list manifests;
    struct err_text *text;
    uint32_t shard; /* Being read, */
    uint64_t number;
    uint32_t begun;   /* Shards that a manifest covers. */
    uint32_t objects; /* Objects of shards that none covers. */
    bool found;       /* A checkpoint was read. */
};

/* What its manifest says before there is a checkpoint. */
static void load_begin(struct node_lane *l)
{
    l->manifest = (struct manifest){
        .lane = l->config.number, .lanes = l->config.site.lanes, .shards = l->config.site.shards};
}

/* One object. */

static enum err load_tables(const struct load *load, const char *describe)
{
    struct node_lane *l = load->lane;
    json_t *about = json_loads(describe, 0, NULL);
    json_t *tables = json_object_get(about, "tables");
    enum err rc = json_is_array(tables) ? OK : ERR_CORRUPT;

    for (size_t i = 0; i < json_array_size(tables) && rc == OK; i++) {
        const json_t *table = json_array_get(tables, i);
        struct table_schema schema;
        uint64_t id;

        if (!node_json_u64(table, "id", TABLE_COUNT_MAX - 1, UINT64_MAX, &id) || id == UINT64_MAX ||
            node_schema_from_json(table, &schema, NULL) != OK) {
            rc = ERR_CORRUPT;
        } else if (table_store_schema(l->tables, (uint16_t)id) == NULL) {
            rc = node_lane_add_table(l, (uint16_t)id, &schema, load->text);
        } else if (!table_schema_equal(table_store_schema(l->tables, (uint16_t)id), &schema)) {
            rc = ERR_EXISTS;
        }
    }
    json_decref(about);
    return rc == OK ? node_restore_room(l) : rc;
}

static bool load_history_matches(const struct node_lane *l, const char *describe)
{
    char history[NODE_HISTORY_BYTES];
    json_t *about = json_loads(describe, 0, NULL);
    const char *theirs = json_string_value(json_object_get(about, "history"));
    bool matches;

    node_history_print(l->history, history);
    matches = theirs != NULL && strcmp(theirs, history) == 0;
    json_decref(about);
    return matches;
}

static enum err load_head(const struct checkpoint_head *head, void *user)
{
    struct load *load = user;
    struct node_lane *l = load->lane;

    if (head->shards != l->config.site.shards) {
        return ERR_INVALID;
    }
    if (strcmp(head->site, l->config.site.name) != 0 || head->shard != load->shard ||
        head->number != load->number) {
        return err_text_set(load->text, ERR_CORRUPT,
                            "it is checkpoint %" PRIu64 " of shard %" PRIu32 " of site %s",
                            head->number, head->shard, head->site);
    }
    if (!load_history_matches(l, head->describe)) {
        return err_text_set(load->text, ERR_CORRUPT, "it is of another training");
    }
    l->restored_clock = head->clock < l->restored_clock ? head->clock : l->restored_clock;
    return load_tables(load, head->describe);
}

static enum err load_chunk(const struct checkpoint_chunk *in, void *user)
{
    const struct load *load = user;
    struct node_lane *l = load->lane;
    uint32_t index = table_store_find(l->tables, in->table, in->chunk);
    float *to;

    if (index == TABLE_STORE_NONE || in->count != table_store_elements(l->tables, index)) {
        return ERR_CORRUPT;
    }
    to = in->plane == 0   ? table_store_values(l->tables, index)
         : in->plane == 1 ? table_store_state(l->tables, index)
                          : node_mirror_held(l->mirror, index);
    if (to == NULL) {
        return in->plane == 2 ? OK : ERR_CORRUPT; /* There are no other sites any more. */
    }
    memcpy(to, in->values, in->count * sizeof(float));
    l->chunks[index]->changed = true;
    if (in->plane != 0) {
        return OK;
    }
    l->restored[index].version = in->version;
    for (uint32_t i = 0; i < in->member_count; i++) {
        const struct checkpoint_member *m = &in->members[i];

        if (m->rank >= NODE_RANK_SITES && l->mirror != NULL) {
            node_mirror_restore_member(l->mirror, index, m);
        }
        if (m->rank < SYNC_MEMBERS_MAX) {
            l->contained[(size_t)index * SYNC_MEMBERS_MAX + m->rank] = m->clock;
            l->roster = true;
            if (m->incarnation != 0) {
                l->restored_incarnation[m->rank] = m->incarnation;
            }
        }
    }
    return OK;
}

static const struct checkpoint_reader_events load_events = {.head = load_head, .chunk = load_chunk};

/* Which checkpoints there are. */

/* An older checkpoint that is whole in all shards of this lane, or NULL. Reads them all, once, when
 * the lane cannot start anyway. */
static const struct manifest_checkpoint *load_older(const struct load *load,
                                                    const struct manifest *m, uint64_t clock)
{
    const struct node_site *site = &load->lane->config.site;

    for (uint32_t i = 0; i < m->count; i++) {
        bool whole = m->checkpoints[i].clock < clock;

        for (uint32_t s = load->lane->config.number; s < site->shards && whole; s += site->lanes) {
            char name[STORE_NAME_BYTES];

            checkpoint_name(site->name, s, m->checkpoints[i].number, name, sizeof(name));
            whole = checkpoint_check(load->lane->config.store, name, NULL) == OK;
        }
        if (whole) {
            return &m->checkpoints[i];
        }
    }
    return NULL;
}

/* What the operator can do about a shard without its checkpoint. */
static enum err load_lost(const struct load *load, const struct manifest *m,
                          const struct manifest_checkpoint *c, const char *name, const char *why)
{
    const struct manifest_checkpoint *older = load_older(load, m, c->clock);
    char remedy[160] = "";

    if (older != NULL) {
        (void)snprintf(remedy, sizeof(remedy),
                       "go on from clock %" PRIu64 " with --restore %" PRIu64
                       ", which loses clocks %" PRIu64 " to %" PRIu64 ", ",
                       older->clock, older->clock, older->clock + 1, c->clock);
    }
    return err_text_set(load->text, ERR_CORRUPT,
                        "shard %" PRIu32 " of site %s has lost its checkpoint of clock %" PRIu64
                        ": %s: %s. Put it back from a copy, %sor discard all checkpoints "
                        "and begin anew with --restore none",
                        load->shard, load->lane->config.site.name, c->clock, name, why, remedy);
}

/* The checkpoint is whole, but not ours: say so where the reader of its bytes could not. */
static enum err load_unfit(const struct load *load, enum err rc, const char *name)
{
    if (rc == ERR_INVALID) {
        return err_text_set(load->text, rc, "%s is of a site with another number of shards than %u",
                            name, load->lane->config.site.shards);
    }
    if (rc == ERR_EXISTS) {
        return err_text_set(load->text, rc,
                            "%s has a table of another shape or applier than this server", name);
    }
    if (rc == ERR_NOMEM || rc == ERR_TOO_BIG) {
        return err_text_set(load->text, rc,
                            "%s has tables that take more memory than this server has: see "
                            "--table-memory, ulimit -v and the control group",
                            name);
    }
    return load->text != NULL && load->text->text[0] != '\0'
               ? rc
               : err_text_set(load->text, rc, "%s does not fit its own tables", name);
}

static enum err load_object(struct load *load, const struct manifest *m,
                            const struct manifest_checkpoint *c)
{
    struct node_lane *l = load->lane;
    struct err_text why = {""};
    char name[STORE_NAME_BYTES];
    enum err rc;

    checkpoint_name(l->config.site.name, load->shard, c->number, name, sizeof(name));
    load->number = c->number;
    if (load->text != NULL) {
        load->text->text[0] = '\0';
    }
    rc = checkpoint_read(l->config.store, name, &load_events, load, load->text);
    if (rc == ERR_NOT_FOUND) {
        return load_lost(load, m, c, name, "it is not there");
    }
    if (rc == ERR_CORRUPT && load->text != NULL) {
        why = *load->text;
        return load_lost(load, m, c, name, why.text[0] != '\0' ? why.text : "it is damaged");
    }
    if (rc != OK) {
        return load_unfit(load, rc, name);
    }
    load->found = true;
    l->restored_number = c->number < l->restored_number ? c->number : l->restored_number;
    return OK;
}

/* The lane goes on with this manifest, but for what is given up. */
static void load_adopt(struct node_lane *l, const struct manifest *m,
                       const struct manifest_checkpoint *from)
{
    uint32_t skipped = from == NULL ? 0 : (uint32_t)(from - m->checkpoints);

    l->manifest = *m;
    l->manifest.count = m->count - skipped;
    memmove(l->manifest.checkpoints, m->checkpoints + skipped,
            l->manifest.count * sizeof(m->checkpoints[0]));
    l->manifest_there = skipped == 0;
    l->gave_up = l->gave_up || skipped > 0;
}

static enum err load_shard(struct load *load)
{
    struct node_lane *l = load->lane;
    const struct manifest *m = manifest_list_find(&load->manifests, load->shard);
    const struct manifest_checkpoint *c;

    if (m == NULL) {
        return OK;
    }
    if (m->shards != l->config.site.shards) {
        return err_text_set(load->text, ERR_INVALID,
                            "the checkpoints of site %s have %" PRIu32
                            " shards, this server %" PRIu32 ": start it with --shards %" PRIu32,
                            l->config.site.name, m->shards, l->config.site.shards, m->shards);
    }
    if (load->begun > 0 && m->history != l->history) {
        return err_text_set(load->text, ERR_CORRUPT,
                            "shards %" PRIu32 " and %" PRIu32
                            " of site %s are of two trainings: put the files of one of them back, "
                            "or discard all with --restore none",
                            l->config.number, load->shard, l->config.site.name);
    }
    l->history = m->history;
    load->begun++;
    c = manifest_at(m,
                    l->config.restore == NODE_RESTORE_CLOCK ? l->config.restore_clock : UINT64_MAX);
    if (m->count > 0 && c == NULL) {
        return err_text_set(load->text, ERR_NOT_FOUND,
                            "shard %" PRIu32 " of site %s has no checkpoint of clock %" PRIu64
                            " or before: the oldest is of clock %" PRIu64,
                            load->shard, l->config.site.name, l->config.restore_clock,
                            m->checkpoints[m->count - 1].clock);
    }
    if (load->begun == 1 && m->lane == l->config.number && m->lanes == l->config.site.lanes) {
        load_adopt(l, m, c);
    }
    return c == NULL ? OK : load_object(load, m, c);
}

/* Numbers only grow, so that a name is never used for two checkpoints. */
static enum err load_number(struct load *load)
{
    struct node_lane *l = load->lane;
    uint64_t newest = 0;
    enum err rc =
        checkpoint_last(l->config.store, l->config.site.name, load->shard, &newest, load->text);

    l->save_number = newest > l->save_number ? newest : l->save_number;
    load->objects += newest > 0 && manifest_list_find(&load->manifests, load->shard) == NULL;
    return rc;
}

/* All of the lane's shards, or none. */
static enum err load_check_begun(const struct load *load, uint32_t shards)
{
    const struct node_site *site = &load->lane->config.site;

    if (load->begun == shards || (load->begun == 0 && load->objects == 0)) {
        return OK;
    }
    return err_text_set(load->text, ERR_CORRUPT,
                        "the manifests of site %s cover %" PRIu32 " of %" PRIu32
                        " shards of lane %" PRIu32
                        ", so it cannot be told which checkpoints belong together: put %s/lane-*"
                        ".manifest back from a copy, or discard all checkpoints and begin anew "
                        "with --restore none",
                        site->name, load->begun, shards, load->lane->config.number, site->name);
}

static enum err load_shards(struct load *load)
{
    struct node_lane *l = load->lane;
    const struct node_site *site = &l->config.site;
    uint32_t shards = 0;
    enum err rc = manifest_list_read(l->config.store, site->name, &load->manifests, load->text);

    for (uint32_t s = l->config.number; s < site->shards && rc == OK; s += site->lanes) {
        load->shard = s;
        shards++;
        rc = load_number(load);
        if (rc == OK) {
            rc = load_shard(load);
        }
    }
    if (rc == OK) {
        rc = load_check_begun(load, shards);
    }
    manifest_list_free(&load->manifests);
    return rc;
}

/* The operator does not want what is there. */
static enum err load_discard(struct node_lane *l, struct err_text *text)
{
    const struct node_site *site = &l->config.site;
    char prefix[STORE_NAME_BYTES];
    enum err rc;

    (void)snprintf(prefix, sizeof(prefix), "%s/journal-%04" PRIu32, site->name, l->config.number);
    rc = store_remove_all(l->config.store, prefix);
    for (uint32_t s = l->config.number; s < site->shards && rc == OK; s += site->lanes) {
        rc = manifest_remove_covering(l->config.store, site->name, s);
        if (rc == OK) {
            (void)snprintf(prefix, sizeof(prefix), "%s/shard-%04" PRIu32 "/", site->name, s);
            rc = store_remove_all(l->config.store, prefix);
        }
    }
    return rc == OK ? OK
                    : err_text_set(text, rc, "cannot discard the checkpoints of site %s: %s",
                                   site->name, err_string(rc));
}

enum err node_restore_skip(struct node_lane *l, struct err_text *text)
{
    struct load load = {.lane = l, .text = text};
    enum err rc = OK;

    load_begin(l);
    for (load.shard = l->config.number; load.shard < l->config.site.shards && rc == OK;
         load.shard += l->config.site.lanes) {
        rc = load_number(&load);
    }
    return rc;
}

enum err node_restore_load(struct node_lane *l, struct err_text *text)
{
    struct load load = {.lane = l, .text = text};
    enum err rc = node_restore_room(l);

    load_begin(l);
    if (rc == OK && l->config.restore == NODE_RESTORE_NONE) {
        l->gave_up = true;
        rc = load_discard(l, text);
    }
    l->restored_clock = UINT64_MAX;
    l->restored_number = UINT64_MAX;
    if (rc == OK) {
        rc = load_shards(&load);
    }
    l->history_found = load.begun > 0;
    l->restored_clock = load.found ? l->restored_clock : 0;
    l->restored_number = load.found ? l->restored_number : 0;
    l->saved_clock = l->restored_clock;
    if (rc == OK && load.found) {
        LOG_INF("node", "lane %u goes on from checkpoint %" PRIu64 " of clock %" PRIu64,
                l->config.number, l->restored_number, l->restored_clock);
        rc = node_restore_begin(l);
    }
    return rc;
}
