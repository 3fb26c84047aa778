/* strait store export: a table out of the newest complete checkpoints of all shards, as a .npy
 * file. */

#include "base/mem.h"
#include "cli/command/commands.h"
#include "cli/store/store.h"
#include "store/manifest.h"
#include "store/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXPORT_PATH_BYTES = 4096, EXPORT_COPY_BYTES = 64 * 1024, EXPORT_SHOWN = 8 };

struct export
{
    struct cli_context *ctx;
    struct store *store;
    const char *table;
    char site[LIMIT_NAME_BYTES + 1];
    bool known; /* The three below are. */
    uint32_t shards;
    uint16_t id;
    struct table_schema schema;
    uint8_t *seen;  /* By chunk. */
    uint64_t clock; /* At most. */
    uint64_t history;
    struct manifest_list manifests;
    FILE *out;
    int error;               /* Of the file. */
    uint64_t oldest, newest; /* Clocks. */
    json_t *from;
    uint32_t shard; /* Being read. */
    struct err_text why;
};

/* Reading. */

static enum err export_head(const struct checkpoint_head *head, void *user)
{
    struct export *x = user;
    struct table_schema schema;
    struct err_text text = {""};
    uint16_t id;
    enum err rc = cli_store_schema(head->describe, x->table, &id, &schema, &text);

    if (rc == ERR_NOT_FOUND) {
        return err_text_set(&x->why, rc,
                            "checkpoint %" PRIu64 " of shard %" PRIu32 " (clock %" PRIu64
                            ") has no table %s",
                            head->number, head->shard, head->clock, x->table);
    }
    if (rc != OK) {
        return err_text_set(&x->why, ERR_CORRUPT, "checkpoint %" PRIu64 " of shard %" PRIu32 ": %s",
                            head->number, head->shard, text.text);
    }
    if (x->known &&
        (head->shards != x->shards || id != x->id || !table_schema_equal(&schema, &x->schema))) {
        return err_text_set(&x->why, ERR_CORRUPT,
                            "checkpoint %" PRIu64 " of shard %" PRIu32
                            " is of another table or another number of shards than the others",
                            head->number, head->shard);
    }
    if (!x->known) {
        x->known = true;
        x->shards = head->shards;
        x->id = id;
        x->schema = schema;
        return ERR_CANCELLED; /* The first look was for this. */
    }
    x->oldest = head->clock < x->oldest ? head->clock : x->oldest;
    x->newest = head->clock > x->newest ? head->clock : x->newest;
    (void)json_array_append_new(
        x->from, json_pack("{s:I, s:I, s:I}", "shard", (json_int_t)head->shard, "number",
                           (json_int_t)head->number, "clock", (json_int_t)head->clock));
    return OK;
}

static enum err export_chunk(const struct checkpoint_chunk *chunk, void *user)
{
    struct export *x = user;
    uint64_t at;

    if (chunk->table != x->id || chunk->plane != 0) {
        return OK;
    }
    if (chunk->chunk >= table_chunk_count(&x->schema) || x->seen[chunk->chunk] != 0 ||
        chunk->count != table_chunk_size(&x->schema, chunk->chunk)) {
        return err_text_set(&x->why, ERR_CORRUPT,
                            "shard %" PRIu32 " holds a chunk that does not fit table %s", x->shard,
                            x->table);
    }
    x->seen[chunk->chunk] = 1;
    at = NPY_HEADER_BYTES + (uint64_t)chunk->chunk * table_chunk_elements(&x->schema) * 4;
    if (fseeko(x->out, (off_t)at, SEEK_SET) != 0 ||
        fwrite(chunk->values, sizeof(float), chunk->count, x->out) != chunk->count) {
        x->error = errno;
        return ERR_IO;
    }
    return OK;
}

static enum cli_exit export_fault(struct export *x, enum err rc, const struct err_text *text)
{
    if (x->error != 0) {
        return cli_error(x->ctx, CLI_ERROR_FILE, NULL, "--out %s: %s", cli_text(x->ctx, "out"),
                         strerror(x->error));
    }
    return cli_error(x->ctx, rc == ERR_NOT_FOUND ? CLI_ERROR_NO_TABLE : CLI_ERROR_DAMAGED,
                     "strait store cat --store DIR", "%s",
                     x->why.text[0] != '\0' ? x->why.text : text->text);
}

/* Which checkpoint of the shard: of one training, and complete in all of them. NULL: there is none.
 */
static const struct manifest_checkpoint *export_choose(struct export *x, uint32_t shard,
                                                       enum err *rc_out)
{
    const struct manifest *m = manifest_list_find(&x->manifests, shard);

    *rc_out = OK;
    if (m == NULL) {
        return NULL;
    }
    if (x->history != 0 && m->history != x->history) {
        *rc_out = err_text_set(&x->why, ERR_CORRUPT,
                               "shard %" PRIu32
                               " is of another training than the others: copy the folders of one "
                               "training here",
                               shard);
        return NULL;
    }
    x->history = m->history;
    return manifest_at(m, x->clock);
}

/* Read the newest complete checkpoint of a shard, up to --clock. */
static enum cli_exit export_shard(struct export *x, uint32_t shard, bool *absent_out)
{
    const struct checkpoint_reader_events events = {.head = export_head, .chunk = export_chunk};
    char name[STORE_NAME_BYTES];
    struct err_text text = {""};
    enum err rc;
    const struct manifest_checkpoint *c = export_choose(x, shard, &rc);

    *absent_out = rc == OK && c == NULL;
    if (*absent_out) {
        return CLI_DONE;
    }
    if (rc == OK) {
        checkpoint_name(x->site, shard, c->number, name, sizeof(name));
        x->shard = shard;
        rc = checkpoint_check(x->store, name, &text);
    }
    if (rc == ERR_NOT_FOUND || rc == ERR_CORRUPT) {
        return cli_error(x->ctx, CLI_ERROR_DAMAGED, "strait store ls --store DIR", "%s",
                         x->why.text[0] != '\0' ? x->why.text : text.text);
    }
    if (rc == OK) {
        rc = checkpoint_read(x->store, name, &events, x, &text);
    }
    return rc == OK || rc == ERR_CANCELLED ? CLI_DONE : export_fault(x, rc, &text);
}

/* The shards that hold a part of the table. */
static bool export_wants(const struct export *x, uint32_t shard)
{
    uint32_t chunks = table_chunk_count(&x->schema);

    /* They go round: if there are as many chunks as shards, all do. */
    for (uint32_t c = 0; c < chunks && c < x->shards; c++) {
        if (table_chunk_shard(x->id, c, x->shards) == shard) {
            return true;
        }
    }
    return false;
}

/* Any checkpoint tells the shape. */
static enum cli_exit export_learn(struct export *x)
{
    struct cli_store_entry *list;
    size_t count;
    enum cli_exit status = cli_store_list(x->ctx, x->store, x->site, &list, &count);
    bool absent = true;

    if (status != CLI_DONE) {
        return status;
    }
    for (size_t i = 0; i < count && absent && status == CLI_DONE; i++) {
        status = export_shard(x, list[i].shard, &absent);
    }
    mem_free(list);
    if (status == CLI_DONE && !x->known) {
        return cli_error(x->ctx, CLI_ERROR_NO_CHECKPOINT, "strait store ls --store DIR",
                         "site %s has no complete checkpoint", x->site);
    }
    return status;
}

static enum cli_exit export_missing(struct export *x, const uint32_t *missing, uint32_t count)
{
    char list[128];
    size_t used = 0;

    list[0] = '\0';
    for (uint32_t i = 0; i < count && i < EXPORT_SHOWN; i++) {
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%" PRIu32, i == 0 ? "" : ", ",
                                 missing[i]);
    }
    return cli_error(x->ctx, CLI_ERROR_NO_CHECKPOINT, "strait store ls --store DIR",
                     "table %s needs shards that have no complete checkpoint in this folder: %s%s; "
                     "if servers of the site have folders of their own, copy their content here",
                     x->table, list, count > EXPORT_SHOWN ? ", ..." : "");
}

static enum cli_exit export_read(struct export *x)
{
    uint32_t missing[EXPORT_SHOWN];
    uint32_t missing_count = 0;
    enum cli_exit status = CLI_DONE;

    for (uint32_t s = 0; s < x->shards && status == CLI_DONE; s++) {
        bool absent = false;

        if (!export_wants(x, s)) {
            continue;
        }
        status = export_shard(x, s, &absent);
        if (absent) {
            if (missing_count < EXPORT_SHOWN) {
                missing[missing_count] = s;
            }
            missing_count++;
        }
    }
    if (status == CLI_DONE && missing_count > 0) {
        return export_missing(x, missing, missing_count);
    }
    for (uint32_t c = 0; c < table_chunk_count(&x->schema) && status == CLI_DONE; c++) {
        if (x->seen[c] == 0) {
            status =
                cli_error(x->ctx, CLI_ERROR_DAMAGED, NULL,
                          "chunk %" PRIu32 " of table %s is in no checkpoint of shard %" PRIu32, c,
                          x->table, table_chunk_shard(x->id, c, x->shards));
        }
    }
    return status;
}

/* Writing. */

static enum cli_exit export_file_error(struct export *x, int error)
{
    return cli_error(x->ctx, CLI_ERROR_FILE, NULL, "--out %s: %s", cli_text(x->ctx, "out"),
                     strerror(error));
}

static enum cli_exit export_fill(struct export *x)
{
    uint8_t header[NPY_HEADER_BYTES];
    enum cli_exit status;

    x->seen = mem_calloc(table_chunk_count(&x->schema), 1);
    if (x->seen == NULL) {
        return cli_error(x->ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot export: out of memory");
    }
    npy_header(x->schema.rows, x->schema.width, header);
    if (fwrite(header, 1, sizeof(header), x->out) != sizeof(header)) {
        return export_file_error(x, errno);
    }
    status = export_read(x);
    if (status == CLI_DONE && fflush(x->out) != 0) {
        status = export_file_error(x, errno);
    }
    return status;
}

/* Beside the file, so that it appears whole or not at all. */
static enum cli_exit export_to_file(struct export *x, const char *path)
{
    char beside[EXPORT_PATH_BYTES];
    mode_t mask = umask(0);
    enum cli_exit status;
    int fd;

    (void)umask(mask);
    if ((size_t)snprintf(beside, sizeof(beside), "%s.XXXXXX", path) >= sizeof(beside)) {
        return export_file_error(x, ENAMETOOLONG);
    }
    fd = mkstemp(beside);
    x->out = fd < 0 ? NULL : fdopen(fd, "w");
    if (x->out == NULL) {
        return export_file_error(x, errno);
    }
    status = export_fill(x);
    if (status == CLI_DONE &&
        (fchmod(fd, 0666 & ~mask) != 0 || fsync(fd) != 0 || rename(beside, path) != 0)) {
        status = export_file_error(x, errno);
    }
    (void)fclose(x->out);
    if (status != CLI_DONE) {
        (void)unlink(beside);
    }
    return status;
}

/* Chunks come in any order, and a pipe does not go back. */
static enum cli_exit export_to_stdout(struct export *x)
{
    char bytes[EXPORT_COPY_BYTES];
    enum cli_exit status;
    size_t n;

    if (isatty(STDOUT_FILENO) == 1) {
        return cli_error(x->ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--out -: standard output is a terminal; send it to a file or a pipe");
    }
    x->out = tmpfile();
    if (x->out == NULL) {
        return cli_error(x->ctx, CLI_ERROR_FILE, NULL, "cannot make a temporary file: %s",
                         strerror(errno));
    }
    status = export_fill(x);
    rewind(x->out);
    while (status == CLI_DONE && (n = fread(bytes, 1, sizeof(bytes), x->out)) > 0) {
        (void)fwrite(bytes, 1, n, x->ctx->out); /* Failures are seen at the end. */
    }
    if (status == CLI_DONE && ferror(x->out) != 0) {
        status = cli_error(x->ctx, CLI_ERROR_FILE, NULL, "cannot read the temporary file back");
    }
    (void)fclose(x->out);
    return status;
}

static enum cli_exit export_report(struct export *x, const char *path, bool standard)
{
    char clocks[64];

    if (x->oldest == x->newest) {
        (void)snprintf(clocks, sizeof(clocks), "clock %" PRIu64, x->newest);
    } else {
        (void)snprintf(clocks, sizeof(clocks), "clocks %" PRIu64 " to %" PRIu64 ", by shard",
                       x->oldest, x->newest);
    }
    if (x->ctx->json && !standard) {
        return cli_json(x->ctx,
                        json_pack("{s:s, s:s, s:I, s:I, s:s, s:O}", "site", x->site, "table",
                                  x->table, "rows", (json_int_t)x->schema.rows, "width",
                                  (json_int_t)x->schema.width, "file", path, "shards", x->from));
    }
    cli_note(x->ctx, "%s: %" PRIu64 " x %" PRIu32 ", %s%s%s", x->table, x->schema.rows,
             x->schema.width, clocks, standard ? "" : ", written to ", standard ? "" : path);
    return CLI_DONE;
}

static enum cli_exit export_run(struct cli_context *ctx)
{
    const char *path = cli_text(ctx, "out");
    bool standard = strcmp(path, "-") == 0;
    struct export x = {.ctx = ctx,
                       .table = cli_argument(ctx, 0),
                       .oldest = UINT64_MAX,
                       .from = json_array(),
                       .clock = cli_given(ctx, "clock") ? (uint64_t)cli_number(ctx, "clock")
                                                        : UINT64_MAX};
    enum cli_exit status = cli_store_open(ctx, &x.store);

    if (status == CLI_DONE) {
        status = cli_store_site(ctx, x.store, x.site);
    }
    if (status == CLI_DONE && manifest_list_read(x.store, x.site, &x.manifests, &x.why) != OK) {
        status = cli_error(ctx, CLI_ERROR_DAMAGED, NULL, "%s", x.why.text);
    }
    if (status == CLI_DONE) {
        status = export_learn(&x);
    }
    if (status == CLI_DONE) {
        status = standard ? export_to_stdout(&x) : export_to_file(&x, path);
    }
    if (status == CLI_DONE) {
        status = export_report(&x, path, standard);
    }
    json_decref(x.from);
    mem_free(x.seen);
    manifest_list_free(&x.manifests);
    store_destroy(x.store);
    return status;
}

const struct cli_command cli_command_store_export = {
    .path = "store export",
    .summary = "write a table as a .npy file",
    .paragraphs =
        (const char *const[]){
            "Puts the table together from the newest complete checkpoint of every shard that holds "
            "a "
            "part of it, and writes it in NumPy's format: numpy.load() reads it. If one of them is "
            "damaged nothing is written: --clock takes older ones. While training goes on the "
            "parts may be of different clocks; stop the servers, which makes a checkpoint, if that "
            "matters.",
            NULL},
    .arguments =
        (const struct cli_argument[]){{.placeholder = "TABLE", .help = "the name of the table"},
                                      {0}},
    .options = (const struct cli_option[]){STORE_OPTION_STORE,
                                           STORE_OPTION_SITE,
                                           {.name = "clock",
                                            .placeholder = "CLOCK",
                                            .kind = CLI_NUMBER,
                                            .min = 0,
                                            .max = INT64_MAX,
                                            .help = "from the newest checkpoints of that clock or "
                                                    "before; default: the newest"},
                                           {.name = "out",
                                            .letter = 'o',
                                            .placeholder = "FILE",
                                            .kind = CLI_FILE,
                                            .required = true,
                                            .help = "the file to write, replaced if it is there; "
                                                    "- is standard output"},
                                           {0}},
    .examples =
        (const struct cli_example[]){
            {"strait store export model --store checkpoints -o model.npy", "to a file"},
            {"strait store export model --store checkpoints -o - | gzip > model.npy.gz",
             "to a pipe"},
            {0}},
    .run = export_run,
};
