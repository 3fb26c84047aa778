/* strait store ls: every checkpoint, and whether it is whole. */

#include "base/mem.h"
#include "cli/command/commands.h"
#include "cli/store/store.h"
#include "store/manifest.h"

#include <inttypes.h>
#include <string.h>

/* What the head of a whole checkpoint says. */
struct ls_head {
    const char *name; /* Of the object. */
    bool seen;
    bool misnamed;
    uint64_t clock;
    uint32_t shards;
};

/* All of it was checked before this is called: the rest need not be read again. */
static enum err ls_head(const struct checkpoint_head *head, void *user)
{
    char name[STORE_NAME_BYTES];
    struct ls_head *out = user;

    checkpoint_name(head->site, head->shard, head->number, name, sizeof(name));
    out->seen = true;
    out->misnamed = strcmp(name, out->name) != 0;
    out->clock = head->clock;
    out->shards = head->shards;
    return ERR_CANCELLED;
}

/* Read all of it: OK, or what is wrong with @text. */
static enum err ls_check(struct store *store, const struct cli_store_entry *e,
                         struct ls_head *head_out, struct err_text *text)
{
    const struct checkpoint_reader_events events = {.head = ls_head};
    enum err rc;

    head_out->name = e->name;
    rc = checkpoint_read(store, e->name, &events, head_out, text);
    if (head_out->misnamed) {
        return err_text_set(text, ERR_CORRUPT,
                            "is damaged: it is not the checkpoint that its name says");
    }
    return head_out->seen ? OK : rc;
}

static void ls_row(struct cli_context *ctx, const struct cli_store_entry *e,
                   const struct ls_head *head, enum err rc, const char *text)
{
    size_t named = strlen(e->name);
    char clock[24] = "-";
    char size[24];

    if (head->seen) {
        (void)snprintf(clock, sizeof(clock), "%" PRIu64, head->clock);
    }
    if (strncmp(text, e->name, named) == 0 && text[named] == ' ') {
        text += named + 1; /* The line says which one it is. */
    }
    (void)snprintf(size, sizeof(size), "%.2f MB", (double)e->size / 1e6);
    cli_out(ctx, "%-16s %5" PRIu32 " %8" PRIu64 " %8s %12s  %s%s%s\n", e->site, e->shard, e->number,
            clock, size, cli_style(ctx->color_out, rc == OK ? CLI_GOOD : CLI_BAD),
            head->seen && rc == OK ? "whole"
            : rc == OK             ? "not checked"
                                   : text,
            cli_style(ctx->color_out, CLI_PLAIN));
}

static json_t *ls_json(const struct cli_store_entry *e, const struct ls_head *head, enum err rc,
                       const char *text)
{
    json_t *out = json_pack("{s:s, s:s, s:I, s:I, s:I}", "name", e->name, "site", e->site, "shard",
                            (json_int_t)e->shard, "number", (json_int_t)e->number, "bytes",
                            (json_int_t)e->size);

    if (head->seen) {
        (void)json_object_set_new(out, "clock", json_integer((json_int_t)head->clock));
        (void)json_object_set_new(out, "shards", json_integer((json_int_t)head->shards));
    }
    if (rc != OK || head->seen) {
        (void)json_object_set_new(out, "whole", json_boolean(rc == OK));
    }
    if (rc != OK) {
        (void)json_object_set_new(out, "why", json_string(text));
    }
    return out;
}

static void ls_lost(struct cli_context *ctx, json_t *lost, const char *text)
{
    (void)json_array_append_new(lost, json_string(text));
    if (!ctx->json) {
        cli_out(ctx, "%s%s%s\n", cli_style(ctx->color_out, CLI_BAD), text,
                cli_style(ctx->color_out, CLI_PLAIN));
    }
}

/* What a manifest names must be there. Returns how many files are not; they are told if @lost is
 * not NULL. */
static size_t ls_missing(struct cli_context *ctx, struct store *store, const char *site,
                         const struct manifest *m, json_t *lost)
{
    size_t missing = 0;

    for (uint32_t i = 0; i < m->count; i++) {
        for (uint32_t shard = m->lane; shard < m->shards; shard += m->lanes) {
            char name[STORE_NAME_BYTES], text[STORE_NAME_BYTES + 16];
            uint64_t size;

            checkpoint_name(site, shard, m->checkpoints[i].number, name, sizeof(name));
            if (store_size(store, name, &size) != ERR_NOT_FOUND) {
                continue;
            }
            missing++;
            if (lost != NULL) {
                (void)snprintf(text, sizeof(text), "%s is missing", name);
                ls_lost(ctx, lost, text);
            }
        }
    }
    return missing;
}

/* The manifests of a site. A server that is at work removes old checkpoints after it has written
 * the manifest: what is missing is told if it still is at a second look. */
static void ls_site(struct cli_context *ctx, struct store *store, const char *site, json_t *lost)
{
    size_t missing = 1;

    for (int look = 0; look < 2 && missing > 0; look++) {
        struct manifest_list manifests = {.count = 0};
        struct err_text text = {""};

        missing = 0;
        if (manifest_list_read(store, site, &manifests, &text) != OK) {
            ls_lost(ctx, lost, text.text);
            return;
        }
        for (uint32_t k = 0; k < manifests.count; k++) {
            missing += ls_missing(ctx, store, site, &manifests.items[k], look == 0 ? NULL : lost);
        }
        manifest_list_free(&manifests);
    }
}

/* What servers would miss: manifests that are damaged, and files that these name. */
static size_t ls_manifests(struct cli_context *ctx, struct store *store,
                           const struct cli_store_entry *list, size_t count, json_t *lost)
{
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(list[i].site, list[i - 1].site) != 0) {
            ls_site(ctx, store, list[i].site, lost);
        }
    }
    return json_array_size(lost);
}

static enum cli_exit ls_all(struct cli_context *ctx, struct store *store,
                            const struct cli_store_entry *list, size_t count)
{
    bool quick = cli_flag(ctx, "quick");
    json_t *all = json_array(), *lost = json_array();
    size_t damaged = 0, gone;
    enum cli_exit status = CLI_DONE;

    if (!ctx->json && count > 0) {
        cli_out(ctx, "%sSITE             SHARD   NUMBER    CLOCK         SIZE  STATE%s\n",
                cli_style(ctx->color_out, CLI_FAINT), cli_style(ctx->color_out, CLI_PLAIN));
    }
    for (size_t i = 0; i < count; i++) {
        struct ls_head head = {.seen = false};
        struct err_text text = {""};
        enum err rc = quick ? OK : ls_check(store, &list[i], &head, &text);

        damaged += rc != OK;
        if (ctx->json) {
            (void)json_array_append_new(all, ls_json(&list[i], &head, rc, text.text));
        } else {
            ls_row(ctx, &list[i], &head, rc, text.text);
            cli_flush(ctx);
        }
    }
    gone = quick ? 0 : ls_manifests(ctx, store, list, count, lost);
    if (ctx->json) {
        status = cli_json(ctx, json_pack("{s:O, s:I, s:O}", "checkpoints", all, "damaged",
                                         (json_int_t)damaged, "lost", lost));
    }
    json_decref(all);
    json_decref(lost);
    if (status == CLI_DONE && damaged + gone > 0) {
        return cli_error(ctx, CLI_ERROR_DAMAGED, NULL,
                         "--store %s: of %zu checkpoint%s %zu cannot be used, and %zu file%s lost",
                         cli_text(ctx, "store"), count, count == 1 ? "" : "s", damaged, gone,
                         gone == 1 ? " is" : "s are");
    }
    cli_note(ctx, "%zu checkpoint%s%s", count, count == 1 ? "" : "s",
             quick ? ", not checked" : ", all whole");
    return status;
}

static enum cli_exit ls_run(struct cli_context *ctx)
{
    struct cli_store_entry *list = NULL;
    struct store *store = NULL;
    size_t count = 0;
    enum cli_exit status = cli_store_open(ctx, &store);

    if (status == CLI_DONE) {
        status = cli_store_list(ctx, store, cli_text(ctx, "site"), &list, &count);
    }
    if (status == CLI_DONE) {
        status = ls_all(ctx, store, list, count);
    }
    mem_free(list);
    store_destroy(store);
    return status;
}

const struct cli_command cli_command_store_ls = {
    .path = "store ls",
    .summary = "list checkpoints, and check each of them",
    .paragraphs =
        (const char *const[]){
            "Reads every checkpoint from beginning to end: one that is torn, cut or flipped is "
            "called damaged, with the reason; files that a manifest names and that are not there, "
            "and manifests that are damaged, are listed too. The exit status is 1 then. A server "
            "starts from the newest one that was complete in all shards, and not at all if one of "
            "them is damaged: see --restore of strait server.",
            NULL},
    .options =
        (const struct cli_option[]){
            STORE_OPTION_STORE,
            {.name = "site", .placeholder = "NAME", .help = "only those of this site"},
            {.name = "quick", .help = "names and sizes only: read nothing, check nothing"},
            {0}},
    .examples =
        (const struct cli_example[]){{"strait store ls --store checkpoints", "list and check them"},
                                     {0}},
    .run = ls_run,
};
