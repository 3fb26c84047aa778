/* strait store cat: what is in one checkpoint. */

#include "base/mem.h"
#include "base/text.h"
#include "cli/command/commands.h"
#include "cli/store/store.h"
#include "node/control.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* The chunks of one table in this shard. */
struct cat_table {
    uint32_t chunks;
    uint32_t states; /* Chunks with the state of an applier. */
    uint64_t elements;
    uint64_t oldest; /* Versions. */
    uint64_t newest;
};

/* A worker whose updates are in some chunk. */
struct cat_member {
    bool seen;
    uint64_t incarnation;
    uint64_t oldest; /* Its last clocks that are counted. */
    uint64_t newest;
};

struct cat {
    struct cli_context *ctx;
    const char *name;
    struct checkpoint_head head; /* Texts are not valid. */
    char site[LIMIT_NAME_BYTES + 1];
    json_t *about; /* What it describes. */
    struct cat_table tables[TABLE_COUNT_MAX];
    struct cat_member members[CHECKPOINT_MEMBERS_MAX];
};

static enum err cat_head(const struct checkpoint_head *head, void *user)
{
    struct cat *c = user;

    c->head = *head;
    (void)snprintf(c->site, sizeof(c->site), "%s", head->site);
    json_decref(c->about);
    c->about = json_loads(head->describe, JSON_REJECT_DUPLICATES, NULL);
    return OK;
}

static enum err cat_chunk(const struct checkpoint_chunk *chunk, void *user)
{
    struct cat *c = user;
    struct cat_table *t;

    if (chunk->table >= TABLE_COUNT_MAX) {
        return OK;
    }
    t = &c->tables[chunk->table];
    if (chunk->plane != 0) {
        t->states++;
        return OK;
    }
    t->oldest = t->chunks == 0 || chunk->version < t->oldest ? chunk->version : t->oldest;
    t->newest = chunk->version > t->newest ? chunk->version : t->newest;
    t->chunks++;
    t->elements += chunk->count;
    for (uint32_t i = 0; i < chunk->member_count; i++) {
        const struct checkpoint_member *in = &chunk->members[i];
        struct cat_member *m;

        if (in->rank >= CHECKPOINT_MEMBERS_MAX) {
            continue;
        }
        m = &c->members[in->rank];
        m->oldest = !m->seen || in->clock < m->oldest ? in->clock : m->oldest;
        m->newest = in->clock > m->newest ? in->clock : m->newest;
        m->incarnation = in->incarnation;
        m->seen = true;
    }
    return OK;
}

/* Which one: by its name as "store ls" shows it, or the newest whole one of a shard. */
static enum cli_exit cat_choose(struct cli_context *ctx, struct store *store, char *name,
                                size_t size)
{
    const char *given = cli_argument(ctx, 0);
    uint32_t shard = (uint32_t)cli_number(ctx, "shard");
    char site[LIMIT_NAME_BYTES + 1];
    struct err_text text = {""};
    uint64_t number;
    uint32_t skipped;
    enum cli_exit status;
    enum err rc;

    if (given != NULL) {
        if (checkpoint_name_parse(given, &shard, &number) != OK) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait store ls --store DIR --json",
                             "%s: not the name of a checkpoint: SITE/shard-0000/NUMBER.ckpt, with "
                             "20 digits",
                             given);
        }
        (void)snprintf(name, size, "%s", given);
        return CLI_DONE;
    }
    status = cli_store_site(ctx, store, site);
    if (status != CLI_DONE) {
        return status;
    }
    if (cli_given(ctx, "number")) {
        checkpoint_name(site, shard, (uint64_t)cli_number(ctx, "number"), name, size);
        return CLI_DONE;
    }
    rc = checkpoint_newest(store, site, shard, name, size, &number, &skipped, &text);
    if (skipped > 0) {
        cli_note(ctx, "%" PRIu32 " newer one%s damaged: %s", skipped,
                 skipped == 1 ? " is" : "s are", text.text);
    }
    if (rc == ERR_NOT_FOUND) {
        return cli_error(ctx, CLI_ERROR_NO_CHECKPOINT, "strait store ls --store DIR",
                         "site %s has no whole checkpoint of shard %" PRIu32, site, shard);
    }
    return rc == OK ? CLI_DONE : cli_error(ctx, CLI_ERROR_DAMAGED, NULL, "%s", text.text);
}

/* Telling. */

/* What stands in a file stays on its line. */
static void cat_row(struct cat *c, const char *name, const char *value)
{
    char storage[4 * STORE_NAME_BYTES];
    struct text clean;

    text_init_fixed(&clean, storage, sizeof(storage));
    text_add_printable(&clean, value);
    cli_out(c->ctx, "%s%-12s%s %s\n", cli_style(c->ctx->color_out, CLI_FAINT), name,
            cli_style(c->ctx->color_out, CLI_PLAIN), clean.chars);
}

static void cat_row_number(struct cat *c, const char *name, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    cat_row(c, name, text);
}

static void cat_span(uint64_t oldest, uint64_t newest, char *out, size_t size)
{
    if (oldest == newest) {
        (void)snprintf(out, size, "%" PRIu64, oldest);
    } else {
        (void)snprintf(out, size, "%" PRIu64 " to %" PRIu64, oldest, newest);
    }
}

static void cat_date(int64_t wall_us, char *out, size_t size)
{
    time_t at = (time_t)(wall_us / 1000000);
    struct tm utc;

    if (gmtime_r(&at, &utc) == NULL || strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        out[0] = '\0';
    }
}

static const struct cat_table *cat_table_of(const struct cat *c, const json_t *table)
{
    uint64_t id;

    return node_json_u64(table, "id", TABLE_COUNT_MAX - 1, UINT64_MAX, &id) && id != UINT64_MAX
               ? &c->tables[id]
               : NULL;
}

static void cat_print_table(struct cat *c, const json_t *table)
{
    const struct cat_table *here = cat_table_of(c, table);
    struct table_schema schema;
    struct err_text text = {""};
    char versions[64];

    if (here == NULL || node_schema_from_json(table, &schema, &text) != OK) {
        cli_out(c->ctx, "  a table that this version of Strait cannot read: %s\n", text.text);
        return;
    }
    cat_span(here->oldest, here->newest, versions, sizeof(versions));
    cli_out(c->ctx,
            "  %s: %" PRIu64 " x %" PRIu32 ", init %s, apply %s, combine %s; here %" PRIu32
            " of %" PRIu32 " chunks, %" PRIu64 " elements",
            schema.name, schema.rows, schema.width,
            json_string_value(json_object_get(table, "init")),
            json_string_value(json_object_get(table, "apply")), table_combine_name(schema.combine),
            here->chunks, table_chunk_count(&schema), here->elements);
    if (here->chunks > 0) {
        cli_out(c->ctx, ", version %s", versions);
    }
    cli_out(c->ctx, "%s\n", here->states > 0 ? ", with the state of the applier" : "");
}

static bool cat_has_members(const struct cat *c)
{
    bool any = false;

    for (uint32_t r = 0; r < CHECKPOINT_MEMBERS_MAX; r++) {
        any = any || c->members[r].seen;
    }
    return any;
}

static void cat_print(struct cat *c)
{
    const json_t *tables = json_object_get(c->about, "tables");
    char text[64];

    cat_row(c, "checkpoint", c->name);
    cat_row(c, "site", c->site);
    (void)snprintf(text, sizeof(text), "%" PRIu32 ", of %" PRIu32, c->head.shard, c->head.shards);
    cat_row(c, "shard", text);
    cat_row_number(c, "number", c->head.number);
    cat_row_number(c, "clock", c->head.clock);
    if (c->head.wall_us > 0) {
        cat_date(c->head.wall_us, text, sizeof(text));
        cat_row(c, "written", text);
    }
    (void)snprintf(text, sizeof(text), "%zu", json_array_size(tables));
    cat_row(c, "tables", text);
    for (size_t i = 0; i < json_array_size(tables); i++) {
        cat_print_table(c, json_array_get(tables, i));
    }
    cat_row(c, "members", cat_has_members(c) ? "" : "none");
    for (uint32_t r = 0; r < CHECKPOINT_MEMBERS_MAX; r++) {
        const struct cat_member *m = &c->members[r];

        if (m->seen) {
            cat_span(m->oldest, m->newest, text, sizeof(text));
            cli_out(c->ctx,
                    "  rank %" PRIu32 ": counted up to clock %s, incarnation %016" PRIx64 "\n", r,
                    text, m->incarnation);
        }
    }
}

static json_t *cat_tables_json(const struct cat *c)
{
    json_t *out = json_array();
    const json_t *tables = json_object_get(c->about, "tables");

    for (size_t i = 0; i < json_array_size(tables); i++) {
        json_t *table = json_deep_copy(json_array_get(tables, i));
        const struct cat_table *here = cat_table_of(c, table);

        if (here != NULL) {
            (void)json_object_set_new(
                table, "here",
                json_pack("{s:I, s:I, s:I, s:I, s:I}", "chunks", (json_int_t)here->chunks,
                          "elements", (json_int_t)here->elements, "version_min",
                          (json_int_t)here->oldest, "version_max", (json_int_t)here->newest,
                          "states", (json_int_t)here->states));
        }
        (void)json_array_append_new(out, table);
    }
    return out;
}

static enum cli_exit cat_json(struct cat *c)
{
    json_t *members = json_array();
    json_t *tables = cat_tables_json(c);
    char incarnation[20];

    for (uint32_t r = 0; r < CHECKPOINT_MEMBERS_MAX; r++) {
        const struct cat_member *m = &c->members[r];

        if (m->seen) {
            (void)snprintf(incarnation, sizeof(incarnation), "%016" PRIx64, m->incarnation);
            (void)json_array_append_new(
                members,
                json_pack("{s:I, s:s, s:I, s:I}", "rank", (json_int_t)r, "incarnation", incarnation,
                          "clock_min", (json_int_t)m->oldest, "clock_max", (json_int_t)m->newest));
        }
    }
    (void)json_object_del(c->about, "tables"); /* They are there already. */
    return cli_json(
        c->ctx, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:O?}", "name", c->name,
                          "site", c->site, "shard", (json_int_t)c->head.shard, "shards",
                          (json_int_t)c->head.shards, "number", (json_int_t)c->head.number, "clock",
                          (json_int_t)c->head.clock, "wall_us", (json_int_t)c->head.wall_us,
                          "tables", tables, "members", members, "settings", c->about));
}

static enum cli_exit cat_one(struct cli_context *ctx, struct store *store, const char *name)
{
    const struct checkpoint_reader_events events = {.head = cat_head, .chunk = cat_chunk};
    struct cat *c = mem_zalloc(sizeof(*c));
    struct err_text text = {""};
    enum cli_exit status;
    enum err rc;

    if (c == NULL) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot read %s: out of memory", name);
    }
    c->ctx = ctx;
    c->name = name;
    rc = checkpoint_read(store, name, &events, c, &text);
    if (rc == ERR_NOT_FOUND) {
        status =
            cli_error(ctx, CLI_ERROR_NO_CHECKPOINT, "strait store ls --store DIR", "%s", text.text);
    } else if (rc != OK) {
        status = cli_error(ctx, CLI_ERROR_DAMAGED, NULL, "%s", text.text);
    } else if (ctx->json) {
        status = cat_json(c);
    } else {
        cat_print(c);
        status = CLI_DONE;
    }
    json_decref(c->about);
    mem_free(c);
    return status;
}

static enum cli_exit cat_run(struct cli_context *ctx)
{
    char name[STORE_NAME_BYTES];
    struct store *store = NULL;
    enum cli_exit status = cli_store_open(ctx, &store);

    if (status == CLI_DONE) {
        status = cat_choose(ctx, store, name, sizeof(name));
    }
    if (status == CLI_DONE) {
        status = cat_one(ctx, store, name);
    }
    store_destroy(store);
    return status;
}

const struct cli_command cli_command_store_cat = {
    .path = "store cat",
    .summary = "describe one checkpoint",
    .paragraphs =
        (const char *const[]){
            "Says which tables it holds, of what shape and how updates enter them, how many of "
            "their chunks are in this shard and of which version, and which workers' updates are "
            "counted up to which clock. Without NAME it is the newest whole one of --shard.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "NAME", .help = "as store ls --json has it", .optional = true}, {0}},
    .options = (const struct cli_option[]){STORE_OPTION_STORE,
                                           STORE_OPTION_SITE,
                                           {.name = "shard",
                                            .placeholder = "NUMBER",
                                            .fallback = "0",
                                            .kind = CLI_NUMBER,
                                            .max = TABLE_SHARDS_MAX - 1,
                                            .help = "of which shard"},
                                           {.name = "number",
                                            .placeholder = "NUMBER",
                                            .kind = CLI_NUMBER,
                                            .max = INT64_MAX,
                                            .help = "the number of the checkpoint; default: the "
                                                    "newest whole one"},
                                           {0}},
    .examples =
        (const struct cli_example[]){
            {"strait store cat --store checkpoints", "the newest of shard 0"},
            {"strait store cat --store checkpoints --shard 3 --json", "as data"},
            {0}},
    .run = cat_run,
};
