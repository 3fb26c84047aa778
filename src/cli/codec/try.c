/* strait codec try: what chains would do to updates that were recorded. */

#include "cli/codec/try.h"

#include "base/mem.h"
#include "cli/command/commands.h"
#include "loop/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRY_MAX = 32, /* Chains, each threshold counted. */
    TRY_BITS = 8, /* Of a byte. */
};

struct try_all {
    struct cli_context *ctx;
    const char *paths[CLI_ARGUMENTS_MAX];
    uint32_t paths_count;
    uint64_t first, last; /* Clocks. */
    uint32_t torn;
    uint32_t count;
    struct codec_try tries[TRY_MAX];
};

/* What is asked for. */

static enum cli_exit try_add(struct try_all *a, const struct codec_chain *chain, const char *which)
{
    struct codec_try *t = &a->tries[a->count];
    char text[CODEC_CHAIN_TEXT_BYTES];

    if (a->count == TRY_MAX) {
        return cli_error(a->ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "at most %d chains are tried at once, and one with two thresholds is two",
                         TRY_MAX);
    }
    codec_chain_print(chain, text, sizeof(text));
    *t = (struct codec_try){
        .config = {.chain = *chain,
                   .up = which != NULL && strcmp(which, "up") == 0,
                   .chunk = (uint32_t)cli_number(a->ctx, "chunk"),
                   .link_rate = (uint64_t)cli_number(a->ctx, "link") / TRY_BITS,
                   .measured = cli_flag(a->ctx, "measure"),
                   .mono_ns = clock_mono_ns},
        .which = which,
    };
    (void)snprintf(t->name, sizeof(t->name), "%s%s%s", text, which == NULL ? "" : " at ",
                   which == NULL ? "" : which);
    a->count++;
    return CLI_DONE;
}

/* One with two thresholds is tried at both, unless one was asked for. */
static enum cli_exit try_add_chain(struct try_all *a, const char *chars)
{
    const char *which = cli_text(a->ctx, "threshold");
    struct err_text text = {""};
    struct codec_chain chain;
    enum cli_exit status = CLI_DONE;

    if (codec_chain_parse(chars, &chain, &text) != OK) {
        return cli_error(a->ctx, CLI_ERROR_BAD_VALUE, "strait codec ls", "%s", text.text);
    }
    if (chain.low == chain.up) {
        return try_add(a, &chain, NULL);
    }
    if (strcmp(which, "up") != 0) {
        status = try_add(a, &chain, "low");
    }
    if (status == CLI_DONE && strcmp(which, "low") != 0) {
        status = try_add(a, &chain, "up");
    }
    return status;
}

/* "7", "7-12". */
static enum cli_exit try_clocks(struct try_all *a)
{
    const char *text = cli_text(a->ctx, "clocks");
    char *end = NULL;

    a->first = 1;
    a->last = UINT64_MAX;
    if (text == NULL) {
        return CLI_DONE;
    }
    a->first = strtoull(text, &end, 10);
    a->last = a->first;
    if (*end == '-') {
        a->last = strtoull(end + 1, &end, 10);
    }
    if (strspn(text, "0123456789-") != strlen(text) || text[0] == '-' || *end != '\0' ||
        end[-1] == '-' || a->first == 0 || a->last < a->first) {
        return cli_error(a->ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--clocks %s: write one clock, or the first and the last, as in 1-100",
                         text);
    }
    return CLI_DONE;
}

static enum cli_exit try_read_line(struct try_all *a)
{
    enum cli_exit status = try_clocks(a);
    const char *text = cli_argument(a->ctx, 0);

    while (cli_argument(a->ctx, a->paths_count + 1) != NULL) {
        a->paths[a->paths_count] = cli_argument(a->ctx, a->paths_count + 1);
        a->paths_count++;
    }
    for (size_t i = 0; text != NULL && status == CLI_DONE; i++) {
        status = try_add_chain(a, text);
        text = cli_text_at(a->ctx, "and", i);
    }
    return status;
}

/* Trying. */

static enum cli_exit try_failed(struct try_all *a, enum err rc, const struct err_text *text)
{
    return cli_error(a->ctx,
                     rc == ERR_NOMEM                       ? CLI_ERROR_NO_MEMORY
                     : rc == ERR_NOT_FOUND || rc == ERR_IO ? CLI_ERROR_FILE
                     : rc == ERR_CORRUPT                   ? CLI_ERROR_BENCH
                                                           : CLI_ERROR_UPDATES,
                     NULL, "%s", text->text);
}

static bool try_shows_clocks(const struct try_all *a)
{
    return !cli_flag(a->ctx, "total") && cli_text_at(a->ctx, "and", 0) == NULL;
}

static void try_note_clock(struct try_all *a, struct codec_try *t, const struct run_replay_clock *c)
{
    t->clocks++;
    run_replay_add(&t->total, c);
    if (a->ctx->json) {
        json_array_append_new(t->list, codec_try_clock_json(c));
    } else if (try_shows_clocks(a)) {
        if (t->clocks == 1) {
            codec_try_head(a->ctx, t);
        }
        codec_try_line(a->ctx, c);
    }
}

static enum err try_replay(struct try_all *a, struct codec_try *t, struct run_updates *updates,
                           struct err_text *text)
{
    struct run_replay *replay = NULL;
    uint64_t clock = 0;
    enum err rc = run_replay_create(&t->config, updates, &replay, text);

    while (rc == OK) {
        struct run_replay_clock c;

        rc = run_updates_next(updates, &clock, text);
        if (rc != OK || clock == 0 || clock > a->last) {
            break;
        }
        if (clock >= a->first) {
            rc = run_replay_step(replay, updates, clock, &c, text);
            if (rc == OK) {
                try_note_clock(a, t, &c);
            }
        }
    }
    run_replay_destroy(replay);
    a->torn = run_updates_torn(updates);
    return rc;
}

static enum cli_exit try_one(struct try_all *a, struct codec_try *t)
{
    struct run_updates *updates = NULL;
    struct err_text text = {""};
    enum err rc = run_updates_open(a->paths, a->paths_count, &updates, &text);

    t->list = json_array();
    if (rc == OK) {
        rc = try_replay(a, t, updates, &text);
    }
    run_updates_close(updates);
    if (rc != OK) {
        return try_failed(a, rc, &text);
    }
    if (t->clocks == 0) {
        return cli_error(a->ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--clocks %s: none of these clocks is there", cli_text(a->ctx, "clocks"));
    }
    if (!a->ctx->json && cli_text_at(a->ctx, "and", 0) == NULL) {
        if (t->which != NULL && !try_shows_clocks(a)) {
            cli_out(a->ctx, "%s\n", t->name); /* Else it is above the clocks. */
        }
        codec_try_total(a->ctx, t);
    }
    return CLI_DONE;
}

static enum cli_exit try_end(struct try_all *a)
{
    json_t *list;

    if (a->torn > 0) {
        cli_note(a->ctx, "%" PRIu32 " file%s in the middle of a clock, which was left out", a->torn,
                 a->torn == 1 ? " ends" : "s end");
    }
    if (!a->ctx->json) {
        if (a->count > 1) {
            codec_try_compare(a->ctx, a->tries, a->count);
        }
        return CLI_DONE;
    }
    if (a->count == 1) {
        return cli_json(a->ctx, codec_try_json(&a->tries[0]));
    }
    list = json_array();
    for (uint32_t i = 0; i < a->count; i++) {
        json_array_append_new(list, codec_try_json(&a->tries[i]));
    }
    return cli_json(a->ctx, json_pack("{s:o}", "tries", list));
}

static enum cli_exit try_run(struct cli_context *ctx)
{
    struct try_all *a = mem_zalloc(sizeof(*a));
    enum cli_exit status;

    if (a == NULL) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot try chains");
    }
    a->ctx = ctx;
    status = try_read_line(a);
    for (uint32_t i = 0; i < a->count && status == CLI_DONE; i++) {
        status = try_one(a, &a->tries[i]);
    }
    if (status == CLI_DONE) {
        status = try_end(a);
    }
    for (uint32_t i = 0; i < a->count; i++) {
        json_decref(a->tries[i].list);
    }
    mem_free(a);
    return status;
}

const struct cli_command cli_command_codec_try = {
    .path = "codec try",
    .summary = "replay recorded updates through a chain, and see what it sends",
    .paragraphs =
        (const char *const[]){
            "Reads updates clock by clock, adds each to what is held back, takes out what the "
            "chain lets go at the threshold of that clock (delta / sqrt(clock)), writes it chunk "
            "by chunk, and reads it again: what was read and what is held must be what was held "
            "before, to the bit. Bytes are those of payloads, without the headers of frames.",
            "Shows for each clock how many entries go, in how many bytes (of all are four for an "
            "entry), the norms of the error (what went, less what was made at this clock) and of "
            "what is held (which is the error of all that went so far), the bound of that "
            "(threshold * sqrt(elements)), megabytes of floats a second written and read, and "
            "how chunks were written. A chain with low and up is tried at both.",
            "A FILE is a .npy array of float32 (one axis: one clock; two: a clock per row), or "
            "has a line {\"clock\": 1, \"values\": [0.5, -0.1]} for each clock. Files that "
            "follow each other are clocks that follow each other. A folder is the files in it; "
            "that of strait run --record-updates is all tables of an update side by side.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "CHAIN",
             .help = "as in \"dvf:delta=0.01 | auto\"; see strait codec ls"},
            {.placeholder = "FILE",
             .help = "recorded updates: files, or a folder of such",
             .kind = CLI_FILE,
             .repeats = true},
            {0}},
    .options =
        (const struct cli_option[]){
            {.name = "and",
             .placeholder = "CHAIN",
             .repeats = true,
             .help = "try this one too: one line for each, beside the first"},
            {.name = "clocks", .placeholder = "A-B", .help = "only clocks from A to B"},
            {.name = "threshold",
             .placeholder = "WHICH",
             .fallback = "both",
             .kind = CLI_WORDS,
             .words = "both low up",
             .help = "of a chain with low and up"},
            {.name = "link",
             .placeholder = "RATE",
             .fallback = "1Gbit",
             .kind = CLI_RATE,
             .min = 1000,
             .max = INT64_C(10000000000000),
             .help = "what the link carries: auto chooses by it, and times are said for it"},
            CLI_OPTION_NUMBER("chunk", "NUMBER", "65536", "elements of a chunk", 1,
                              LIMIT_CHUNK_ELEMENTS),
            {.name = "measure",
             .help = "let auto choose by what this machine takes, as members do; else by a table, "
                     "so that the same command writes the same bytes"},
            {.name = "total", .help = "do not show each clock"},
            {0}},
    .examples =
        (const struct cli_example[]){
            {"strait codec try \"dvf:delta=0.01 | sparse | snappy\" updates/", "a recorded run"},
            {"strait codec try \"dvf:delta=0.01\" --and \"norm:delta=0.01\" updates/w0-weights.npy",
             "two chains, compared"},
            {0}},
    .run = try_run,
};
