/* strait store: look into the folder in which servers keep their checkpoints. */

#include "cli/store/store.h"

#include "base/mem.h"
#include "cli/command/commands.h"
#include "node/control.h"

#include <string.h>

enum cli_exit cli_store_open(struct cli_context *ctx, struct store **store_out)
{
    struct err_text text = {""};

    if (store_dir_create(cli_text(ctx, "store"), NULL, store_out, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_STORE, NULL, "--store: %s", text.text);
    }
    return CLI_DONE;
}

/* Listing. */

struct store_gather {
    const char *site; /* NULL: all. */
    struct cli_store_entry *list;
    size_t count;
    size_t capacity;
    bool no_memory;
};

static struct cli_store_entry *store_gather_room(struct store_gather *g)
{
    if (g->count == g->capacity) {
        size_t capacity = g->capacity == 0 ? 64 : g->capacity * 2;
        struct cli_store_entry *list = mem_calloc(capacity, sizeof(*list));

        if (list == NULL) {
            g->no_memory = true;
            return NULL;
        }
        if (g->count > 0) {
            memcpy(list, g->list, g->count * sizeof(*list));
        }
        mem_free(g->list);
        g->list = list;
        g->capacity = capacity;
    }
    return &g->list[g->count];
}

static void store_gather_object(const char *name, uint64_t size, void *user)
{
    struct store_gather *g = user;
    size_t site_size = strcspn(name, "/");
    struct cli_store_entry *e;
    uint64_t number;
    uint32_t shard;

    if (g->no_memory || checkpoint_name_parse(name, &shard, &number) != OK ||
        (g->site != NULL &&
         (strlen(g->site) != site_size || strncmp(g->site, name, site_size) != 0))) {
        return;
    }
    e = store_gather_room(g);
    if (e != NULL) {
        *e = (struct cli_store_entry){.shard = shard, .number = number, .size = size};
        (void)snprintf(e->name, sizeof(e->name), "%s", name);
        (void)snprintf(e->site, sizeof(e->site), "%.*s", (int)site_size, name);
        g->count++;
    }
}

enum cli_exit cli_store_list(struct cli_context *ctx, struct store *store, const char *site,
                             struct cli_store_entry **list_out, size_t *count_out)
{
    struct store_gather g = {.site = site};
    enum err rc = store_list(store, "", store_gather_object, &g);

    rc = rc == OK && g.no_memory ? ERR_NOMEM : rc;
    if (rc != OK) {
        mem_free(g.list);
        return cli_error(ctx, rc == ERR_NOMEM ? CLI_ERROR_NO_MEMORY : CLI_ERROR_STORE, NULL,
                         "--store %s: cannot be listed: %s", cli_text(ctx, "store"),
                         err_string(rc));
    }
    *list_out = g.list;
    *count_out = g.count;
    return CLI_DONE;
}

static enum cli_exit store_no_checkpoint(struct cli_context *ctx, const char *site)
{
    return cli_error(ctx, CLI_ERROR_NO_CHECKPOINT, NULL, "--store %s: no checkpoint%s%s is there",
                     cli_text(ctx, "store"), site == NULL ? "" : " of site ",
                     site == NULL ? "" : site);
}

enum cli_exit cli_store_site(struct cli_context *ctx, struct store *store, char *out)
{
    const char *given = cli_text(ctx, "site");
    struct cli_store_entry *list = NULL;
    size_t count = 0;
    enum cli_exit status = cli_store_list(ctx, store, given, &list, &count);

    if (status != CLI_DONE) {
        return status;
    }
    if (count == 0) {
        status = store_no_checkpoint(ctx, given);
    } else if (strcmp(list[0].site, list[count - 1].site) != 0) {
        /* They are in the order of their names. */
        status = cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, NULL,
                           "--store %s: several sites are there, %s and %s among them; say which "
                           "with --site",
                           cli_text(ctx, "store"), list[0].site, list[count - 1].site);
    } else {
        (void)snprintf(out, LIMIT_NAME_BYTES + 1, "%s", list[0].site);
    }
    mem_free(list);
    return status;
}

/* Tables. */

enum err cli_store_schema(const char *describe, const char *name, uint16_t *id_out,
                          struct table_schema *out, struct err_text *text)
{
    json_t *about = json_loads(describe, JSON_REJECT_DUPLICATES, NULL);
    const json_t *tables = json_object_get(about, "tables");
    enum err rc = ERR_NOT_FOUND;

    if (!json_is_array(tables)) {
        json_decref(about);
        return err_text_set(text, ERR_MALFORMED, "its description of the tables cannot be read");
    }
    for (size_t i = 0; i < json_array_size(tables) && rc == ERR_NOT_FOUND; i++) {
        const json_t *table = json_array_get(tables, i);
        const char *called = json_string_value(json_object_get(table, "name"));
        uint64_t id;

        if (called == NULL || strcmp(called, name) != 0) {
            continue;
        }
        rc = node_schema_from_json(table, out, text);
        if (rc == OK && (!node_json_u64(table, "id", TABLE_COUNT_MAX - 1, UINT64_MAX, &id) ||
                         id == UINT64_MAX)) {
            rc = err_text_set(text, ERR_MALFORMED, "table %s has no number", name);
        }
        if (rc == OK) {
            *id_out = (uint16_t)id;
        }
        rc = rc == OK ? OK : ERR_MALFORMED;
    }
    json_decref(about);
    return rc;
}

const struct cli_command cli_command_store = {
    .path = "store",
    .summary = "look into checkpoints, and get tables out of them",
    .group = CLI_GROUP_RUN,
    .paragraphs =
        (const char *const[]){
            "Servers that have a --store write checkpoints: one file for each shard of the site, "
            "from time to time. These commands read them, also while servers write; the format is "
            "described in docs/CHECKPOINT.md and can be read without Strait.",
            NULL},
};
