/* strait plan diff: what is different between two plans. */

#include "cli/plan/diff.h"

#include "base/mem.h"
#include "cli/command/commands.h"
#include "cli/output/file.h"
#include "topo/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIFF_FILE_BYTES_MAX = 64 << 20 };

/* What is not told apart: answers have nine digits. */
#define DIFF_SAME 1e-7

json_t *plan_diff_server(const struct plan_diff_answer *a)
{
    return json_object_get(a->root, "server");
}

/* Reading. */

static bool diff_id(json_t *value, struct plan_diff_id *out)
{
    int size = json_is_integer(value) ? snprintf(out->chars, sizeof(out->chars),
                                                 "%" JSON_INTEGER_FORMAT, json_integer_value(value))
               : json_is_string(value)
                   ? snprintf(out->chars, sizeof(out->chars), "%s", json_string_value(value))
                   : 0;

    out->value = value;
    return size > 0 && (size_t)size < sizeof(out->chars);
}

/* Whole numbers by what they are worth, before others. */
static int diff_id_compare(const struct plan_diff_id *a, const struct plan_diff_id *b)
{
    size_t a_size = strlen(a->chars), b_size = strlen(b->chars);
    bool a_whole = strspn(a->chars, "0123456789") == a_size;
    bool b_whole = strspn(b->chars, "0123456789") == b_size;

    if (a_whole != b_whole) {
        return a_whole ? -1 : 1;
    }
    if (a_whole && a_size != b_size) {
        return a_size < b_size ? -1 : 1;
    }
    return strcmp(a->chars, b->chars);
}

/* A number that may be an answer's: finite, not below zero. */
static bool diff_number(const json_t *object, const char *key, double *out)
{
    const json_t *value = json_object_get(object, key);

    *out = json_number_value(value);
    return json_is_number(value) && isfinite(*out) && *out >= 0;
}

static int diff_flow_compare(const void *a, const void *b)
{
    return diff_id_compare(&((const struct plan_diff_flow *)a)->from,
                           &((const struct plan_diff_flow *)b)->from);
}

static int diff_link_compare(const void *a, const void *b)
{
    const struct plan_diff_link *m = a;
    const struct plan_diff_link *n = b;
    int first = diff_id_compare(&m->a, &n->a);

    return first != 0 ? first : diff_id_compare(&m->b, &n->b);
}

static bool diff_path(const json_t *path)
{
    struct plan_diff_id id;
    bool good = json_array_size(path) >= 2;

    for (size_t i = 0; i < json_array_size(path) && good; i++) {
        good = diff_id(json_array_get(path, i), &id);
    }
    return good;
}

static bool diff_read_flow(const json_t *value, struct plan_diff_flow *out)
{
    out->path = json_object_get(value, "path");
    return diff_id(json_object_get(value, "from"), &out->from) && diff_path(out->path) &&
           diff_number(value, "mbps", &out->mbps);
}

static bool diff_read_link(const json_t *value, struct plan_diff_link *out)
{
    if (!diff_id(json_object_get(value, "a"), &out->a) ||
        !diff_id(json_object_get(value, "b"), &out->b)) {
        return false;
    }
    if (diff_id_compare(&out->a, &out->b) > 0) {
        struct plan_diff_id swap = out->a;

        out->a = out->b;
        out->b = swap;
    }
    return diff_number(value, "used_mbps", &out->used_mbps);
}

static enum err diff_wrong(const struct plan_diff_answer *a, const char *what,
                           struct err_text *text)
{
    return err_text_set(text, ERR_MALFORMED,
                        "%.200s: %s: it is not an answer of \"strait plan "
                        "place --json\"",
                        a->file, what);
}

static enum err diff_read_flows(struct plan_diff_answer *a, struct err_text *text)
{
    const json_t *list = json_object_get(a->root, "flows");

    if (!json_is_array(list)) {
        return diff_wrong(a, "there is no list of \"flows\"", text);
    }
    a->flows = mem_calloc(json_array_size(list) + 1, sizeof(*a->flows));
    if (a->flows == NULL) {
        return ERR_NOMEM;
    }
    for (; a->flows_count < json_array_size(list); a->flows_count++) {
        if (!diff_read_flow(json_array_get(list, a->flows_count), &a->flows[a->flows_count])) {
            return diff_wrong(a, "a flow has no \"from\", \"path\" or \"mbps\" that can be", text);
        }
    }
    qsort(a->flows, a->flows_count, sizeof(*a->flows), diff_flow_compare);
    for (size_t i = 1; i < a->flows_count; i++) {
        if (diff_flow_compare(&a->flows[i - 1], &a->flows[i]) == 0) {
            return diff_wrong(a, "two flows come from one region", text);
        }
    }
    return OK;
}

static enum err diff_read_links(struct plan_diff_answer *a, struct err_text *text)
{
    const json_t *list = json_object_get(a->root, "links");

    if (!json_is_array(list)) {
        return diff_wrong(a, "there is no list of \"links\"", text);
    }
    a->links = mem_calloc(json_array_size(list) + 1, sizeof(*a->links));
    if (a->links == NULL) {
        return ERR_NOMEM;
    }
    for (; a->links_count < json_array_size(list); a->links_count++) {
        if (!diff_read_link(json_array_get(list, a->links_count), &a->links[a->links_count])) {
            return diff_wrong(a, "a link has no \"a\", \"b\" or \"used_mbps\" that can be", text);
        }
    }
    qsort(a->links, a->links_count, sizeof(*a->links), diff_link_compare);
    return OK;
}

static enum err diff_read_head(struct plan_diff_answer *a, struct err_text *text)
{
    const json_t *schema = json_object_get(a->root, "schema");
    struct plan_diff_id server;

    if (json_is_integer(schema) && json_integer_value(schema) != CLI_JSON_SCHEMA) {
        return err_text_set(text, ERR_VERSION,
                            "%.200s: has schema %" JSON_INTEGER_FORMAT
                            ", but this program reads version %d only",
                            a->file, json_integer_value(schema), CLI_JSON_SCHEMA);
    }
    if (!json_is_integer(schema)) {
        return diff_wrong(a, "has no \"schema\"", text);
    }
    if (!diff_id(plan_diff_server(a), &server)) {
        return diff_wrong(a, "has no \"server\"", text);
    }
    if (!diff_number(a->root, "time_s", &a->time_s) || !(a->time_s > 0)) {
        return diff_wrong(a, "has no \"time_s\"", text);
    }
    return diff_number(a->root, "bytes", &a->bytes) ? OK : diff_wrong(a, "has no \"bytes\"", text);
}

static enum err diff_read(struct plan_diff_answer *a, const char *argument, struct err_text *text)
{
    struct text bytes = {0};
    enum err rc = cli_file_read(argument, DIFF_FILE_BYTES_MAX, &bytes, text);

    a->file = strcmp(argument, "-") == 0 ? "standard input" : argument;
    if (rc == OK) {
        rc = topo_json_parse(a->file, bytes.chars, bytes.size, &a->root, text);
        text_deinit(&bytes);
    }
    if (rc == OK) {
        rc = diff_read_head(a, text);
    }
    if (rc == OK) {
        rc = diff_read_flows(a, text);
    }
    return rc == OK ? diff_read_links(a, text) : rc;
}

/* Comparing. */

static bool diff_near(double a, double b)
{
    return fabs(a - b) <= DIFF_SAME * fmax(fabs(a), fabs(b));
}

static bool diff_same_path(const json_t *a, const json_t *b)
{
    struct plan_diff_id m, n;
    bool same = json_array_size(a) == json_array_size(b);

    for (size_t i = 0; i < json_array_size(a) && same; i++) {
        same = diff_id(json_array_get(a, i), &m) && diff_id(json_array_get(b, i), &n) &&
               strcmp(m.chars, n.chars) == 0;
    }
    return same;
}

static enum plan_diff_state diff_state(const struct plan_diff_flow *before,
                                       const struct plan_diff_flow *after)
{
    if (before == NULL || after == NULL) {
        return before == NULL ? PLAN_DIFF_ADDED : PLAN_DIFF_REMOVED;
    }
    if (!diff_same_path(before->path, after->path)) {
        return PLAN_DIFF_PATH;
    }
    return diff_near(before->mbps, after->mbps) ? PLAN_DIFF_SAME : PLAN_DIFF_RATE;
}

/* Both are sorted: which of the next two comes first, below zero: the one of before. */
static int diff_next(const void *before, bool more_before, const void *after, bool more_after,
                     int (*compare)(const void *, const void *))
{
    return !more_after ? -1 : !more_before ? 1 : compare(before, after);
}

static enum err diff_flows(struct plan_diff *d)
{
    const struct plan_diff_answer *b = &d->before;
    const struct plan_diff_answer *a = &d->after;
    size_t i = 0, k = 0;

    d->flows = mem_calloc(b->flows_count + a->flows_count + 1, sizeof(*d->flows));
    if (d->flows == NULL) {
        return ERR_NOMEM;
    }
    while (i < b->flows_count || k < a->flows_count) {
        struct plan_diff_pair *pair = &d->flows[d->flows_count++];
        int order = diff_next(&b->flows[i], i < b->flows_count, &a->flows[k], k < a->flows_count,
                              diff_flow_compare);

        pair->before = order <= 0 ? &b->flows[i++] : NULL;
        pair->after = order >= 0 ? &a->flows[k++] : NULL;
        pair->state = diff_state(pair->before, pair->after);
    }
    return OK;
}

static int diff_use_compare(const void *a, const void *b)
{
    const struct plan_diff_use *m = a;
    const struct plan_diff_use *n = b;
    double more = fabs(n->change_mbps) - fabs(m->change_mbps);

    if (more != 0) {
        return more > 0 ? 1 : -1;
    }
    return diff_link_compare(m->before != NULL ? m->before : m->after,
                             n->before != NULL ? n->before : n->after);
}

static enum err diff_links(struct plan_diff *d)
{
    const struct plan_diff_answer *b = &d->before;
    const struct plan_diff_answer *a = &d->after;
    size_t i = 0, k = 0;

    d->links = mem_calloc(b->links_count + a->links_count + 1, sizeof(*d->links));
    if (d->links == NULL) {
        return ERR_NOMEM;
    }
    while (i < b->links_count || k < a->links_count) {
        struct plan_diff_use *use = &d->links[d->links_count];
        int order = diff_next(&b->links[i], i < b->links_count, &a->links[k], k < a->links_count,
                              diff_link_compare);
        double was, is;

        use->before = order <= 0 ? &b->links[i++] : NULL;
        use->after = order >= 0 ? &a->links[k++] : NULL;
        was = use->before == NULL ? 0 : use->before->used_mbps;
        is = use->after == NULL ? 0 : use->after->used_mbps;
        use->change_mbps = is - was;
        d->links_count += !diff_near(was, is);
    }
    qsort(d->links, d->links_count, sizeof(*d->links), diff_use_compare);
    return OK;
}

/* What was asked is another thing, so that answers differ for that alone. */
static void diff_note(struct plan_diff *d)
{
    static const char *const keys[] = {"bytes", "model", "duplex", "topology"};

    for (size_t i = 0; i < PLAN_DIFF_NOTES_MAX; i++) {
        json_t *before = json_object_get(d->before.root, keys[i]);
        json_t *after = json_object_get(d->after.root, keys[i]);
        char *was = json_dumps(before, JSON_ENCODE_ANY);
        char *is = json_dumps(after, JSON_ENCODE_ANY);

        if (json_equal(before, after) == 0 && (before != NULL || after != NULL)) {
            (void)snprintf(
                d->notes[d->notes_count++], PLAN_DIFF_NOTE_BYTES,
                "these are not plans for the same thing: \"%s\" was %.160s and is %.160s", keys[i],
                was == NULL ? "not said" : was, is == NULL ? "not said" : is);
        }
        free(was);
        free(is);
    }
}

static enum err diff_compare(struct plan_diff *d)
{
    enum err rc = diff_flows(d);

    diff_note(d);
    return rc == OK ? diff_links(d) : rc;
}

static void diff_answer_deinit(struct plan_diff_answer *a)
{
    mem_free(a->flows);
    mem_free(a->links);
    json_decref(a->root);
}

static enum cli_exit diff_failed(struct cli_context *ctx, enum err rc, const char *text)
{
    return cli_error(ctx,
                     rc == ERR_NOT_FOUND || rc == ERR_IO ? CLI_ERROR_FILE
                     : rc == ERR_NOMEM                   ? CLI_ERROR_NO_MEMORY
                                                         : CLI_ERROR_PLAN_ANSWER,
                     NULL, "%s", rc == ERR_NOMEM ? "out of memory" : text);
}

static enum cli_exit diff_run(struct cli_context *ctx)
{
    const char *before = cli_argument(ctx, 0);
    const char *after = cli_argument(ctx, 1);
    struct plan_diff d = {0};
    struct err_text text = {""};
    enum cli_exit status = CLI_DONE;
    enum err rc;

    if (strcmp(before, "-") == 0 && strcmp(after, "-") == 0) {
        return cli_error(ctx, CLI_ERROR_SETTINGS, NULL,
                         "only one of both plans can come from standard input");
    }
    rc = diff_read(&d.before, before, &text);
    if (rc == OK) {
        rc = diff_read(&d.after, after, &text);
    }
    if (rc == OK) {
        rc = diff_compare(&d);
    }
    if (rc != OK) {
        status = diff_failed(ctx, rc, text.text);
    } else if (ctx->json) {
        status = cli_json(ctx, plan_diff_json(&d));
    } else {
        plan_diff_view(ctx, &d);
    }
    mem_free(d.flows);
    mem_free(d.links);
    diff_answer_deinit(&d.before);
    diff_answer_deinit(&d.after);
    return status;
}

const struct cli_command cli_command_plan_diff = {
    .path = "plan diff",
    .summary = "say what is different between two plans",
    .paragraphs =
        (const char *const[]){
            "A and B are answers of \"strait plan place --json\". Whether the server moves, what "
            "that does to the time, which regions take other paths or have other rates, and which "
            "links are used more or less. It is no failure if they differ, nor if they do not.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "A", .help = "the plan before; - for standard input", .kind = CLI_FILE},
            {.placeholder = "B", .help = "the plan after; - for standard input", .kind = CLI_FILE},
            {0}},
    .examples =
        (const struct cli_example[]){
            {"strait plan diff monday.json tuesday.json", "what has changed"},
            {"strait plan place net.json --bytes 92MB --avoid a:b --json | strait plan diff "
             "plan.json -",
             "what a link is good for"},
            {0}},
    .run = diff_run,
};
