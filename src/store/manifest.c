#include "store/manifest.h"

#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char manifest_title[] = "strait-manifest 1\n";
static const char manifest_suffix[] = ".manifest";

enum { MANIFEST_NAMES = 4096 }; /* Of one site, to be removed at once. */

/* The text. */

struct line_writer {
    char *out;
    size_t size;
};

static void line_add(struct line_writer *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void line_add(struct line_writer *w, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(w->out + w->size, MANIFEST_BYTES_MAX + 1 - w->size, fmt, args);
    va_end(args);
    CHECK(n > 0 && w->size + (size_t)n <= MANIFEST_BYTES_MAX);
    w->size += (size_t)n;
}

size_t manifest_encode(const struct manifest *m, char out[MANIFEST_BYTES_MAX + 1])
{
    struct line_writer w = {.out = out};

    CHECK(m->count <= MANIFEST_CHECKPOINTS_MAX);
    line_add(&w, "%s", manifest_title);
    line_add(&w, "history %016" PRIx64 "\n", m->history);
    line_add(&w, "lane %" PRIu32 " of %" PRIu32 "\n", m->lane, m->lanes);
    line_add(&w, "shards %" PRIu32 "\n", m->shards);
    for (uint32_t i = 0; i < m->count; i++) {
        line_add(&w, "checkpoint %" PRIu64 " clock %" PRIu64 "\n", m->checkpoints[i].number,
                 m->checkpoints[i].clock);
    }
    line_add(&w, "check %016" PRIx64 "\n", hash_bytes(out, w.size));
    return w.size;
}

static bool manifest_valid(const struct manifest *m)
{
    if (m->lanes == 0 || m->lane >= m->lanes || m->shards < m->lanes) {
        return false;
    }
    for (uint32_t i = 1; i < m->count; i++) {
        if (m->checkpoints[i].number >= m->checkpoints[i - 1].number) {
            return false;
        }
    }
    return true;
}

enum err manifest_decode(const char *text, size_t size, struct manifest *out)
{
    char again[MANIFEST_BYTES_MAX + 1], copy[MANIFEST_BYTES_MAX + 1];
    struct manifest m = {0};
    const char *at = copy;
    int used = 0;

    if (size > MANIFEST_BYTES_MAX) {
        return ERR_CORRUPT;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (size < sizeof(manifest_title) - 1 ||
        memcmp(copy, manifest_title, sizeof(manifest_title) - 1) != 0) {
        return strncmp(copy, "strait-manifest ", 16) == 0 ? ERR_VERSION : ERR_CORRUPT;
    }
    at += sizeof(manifest_title) - 1;
    if (sscanf(at,
               "history %16" SCNx64 "\nlane %9" SCNu32 " of %9" SCNu32 "\nshards %9" SCNu32 "\n%n",
               &m.history, &m.lane, &m.lanes, &m.shards, &used) != 4 ||
        used == 0) {
        return ERR_CORRUPT;
    }
    at += used;
    for (used = 0; m.count < MANIFEST_CHECKPOINTS_MAX; m.count++, at += used) {
        struct manifest_checkpoint *c = &m.checkpoints[m.count];

        used = 0;
        if (sscanf(at, "checkpoint %20" SCNu64 " clock %20" SCNu64 "\n%n", &c->number, &c->clock,
                   &used) != 2 ||
            used == 0) {
            break;
        }
    }
    /* One manifest has one spelling, check included: what it says is what it would be written as.
     */
    if (!manifest_valid(&m) || manifest_encode(&m, again) != size ||
        memcmp(again, text, size) != 0) {
        return ERR_CORRUPT;
    }
    *out = m;
    return OK;
}

void manifest_push(struct manifest *m, uint32_t keep, uint64_t number, uint64_t clock)
{
    uint32_t same = m->count > 0 && m->checkpoints[0].clock == clock;
    uint32_t older = m->count - same;

    CHECK(keep > 0 && keep <= MANIFEST_CHECKPOINTS_MAX);
    older = older < keep ? older : keep - 1;
    memmove(m->checkpoints + 1, m->checkpoints + same, older * sizeof(m->checkpoints[0]));
    m->checkpoints[0] = (struct manifest_checkpoint){.number = number, .clock = clock};
    m->count = older + 1;
}

const struct manifest_checkpoint *manifest_at(const struct manifest *m, uint64_t clock)
{
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->checkpoints[i].clock <= clock) {
            return &m->checkpoints[i];
        }
    }
    return NULL;
}

/* The objects. */

void manifest_name(const char *site, uint32_t lane, uint32_t lanes, char *out, size_t size)
{
    int n =
        snprintf(out, size, "%s/lane-%04" PRIu32 "-of-%04" PRIu32 ".manifest", site, lane, lanes);

    CHECK(n > 0 && (size_t)n < size);
}

enum err manifest_write(struct store *s, const char *site, const struct manifest *m,
                        void (*committed)(enum err rc, void *user), void *user)
{
    char text[MANIFEST_BYTES_MAX + 1];
    char name[STORE_NAME_BYTES];
    struct store_writer *w;
    enum err rc;

    manifest_name(site, m->lane, m->lanes, name, sizeof(name));
    rc = store_begin(s, name, &w);
    if (rc != OK) {
        return rc;
    }
    rc = store_append(w, text, manifest_encode(m, text));
    if (rc != OK) {
        store_abort(w);
        return rc;
    }
    store_commit(w, committed, user);
    return OK;
}

static enum err manifest_read(struct store *s, const char *name, struct manifest *out,
                              struct err_text *text)
{
    char bytes[MANIFEST_BYTES_MAX + 1];
    size_t size = 0;
    enum err rc = store_read(s, name, 0, bytes, sizeof(bytes), &size);

    if (rc != OK) {
        return err_text_set(text, rc, "cannot read the manifest %s: %s", name, err_string(rc));
    }
    rc = manifest_decode(bytes, size, out);
    if (rc == ERR_VERSION) {
        return err_text_set(text, rc, "the manifest %s was written by another version of Strait",
                            name);
    }
    if (rc != OK) {
        return err_text_set(text, rc, "the manifest %s is damaged: put it back from a copy", name);
    }
    return OK;
}

struct names {
    char (*list)[STORE_NAME_BYTES]; /* NULL: count only. */
    uint32_t room;
    uint32_t count;
};

static void names_object(const char *name, uint64_t size, void *user)
{
    struct names *n = user;
    size_t length = strlen(name), suffix = sizeof(manifest_suffix) - 1;

    (void)size;
    if (length < suffix || length >= STORE_NAME_BYTES ||
        strcmp(name + length - suffix, manifest_suffix) != 0) {
        return;
    }
    if (n->list != NULL && n->count == n->room) {
        return; /* Written since they were counted: by another server, which reads its own. */
    }
    if (n->list != NULL) {
        memcpy(n->list[n->count], name, length + 1);
    }
    n->count++;
}

enum err manifest_list_read(struct store *s, const char *site, struct manifest_list *out,
                            struct err_text *text)
{
    struct manifest_list list = {0};
    struct names names = {0};
    char prefix[STORE_NAME_BYTES];
    enum err rc;

    (void)snprintf(prefix, sizeof(prefix), "%s/lane-", site);
    rc = store_list(s, prefix, names_object, &names);
    if (rc == OK) {
        names.room = names.count;
        names.count = 0;
        list.items = mem_calloc((size_t)names.room + 1, sizeof(*list.items));
        names.list = mem_calloc((size_t)names.room + 1, sizeof(*names.list));
        rc = list.items == NULL || names.list == NULL ? ERR_NOMEM
                                                      : store_list(s, prefix, names_object, &names);
    }
    if (rc != OK) {
        (void)err_text_set(text, rc, "cannot list the manifests of site %s: %s", site,
                           err_string(rc));
    }
    for (uint32_t i = 0; i < names.count && rc == OK; i++) {
        rc = manifest_read(s, names.list[i], &list.items[i], text);
        list.count += rc == OK;
    }
    mem_free(names.list);
    if (rc != OK) {
        manifest_list_free(&list);
        return rc;
    }
    *out = list;
    return OK;
}

void manifest_list_free(struct manifest_list *list)
{
    mem_free(list->items);
    *list = (struct manifest_list){0};
}

/* By their names: what is damaged must go too. */
enum err manifest_remove_covering(struct store *s, const char *site, uint32_t shard)
{
    struct names names = {.room = MANIFEST_NAMES};
    char prefix[STORE_NAME_BYTES];
    enum err rc;

    (void)snprintf(prefix, sizeof(prefix), "%s/lane-", site);
    names.list = mem_calloc(names.room, sizeof(*names.list));
    rc = names.list == NULL ? ERR_NOMEM : store_list(s, prefix, names_object, &names);
    for (uint32_t i = 0; i < names.count && rc == OK; i++) {
        uint32_t lane, lanes;

        if (sscanf(names.list[i] + strlen(prefix), "%9" SCNu32 "-of-%9" SCNu32, &lane, &lanes) ==
                2 &&
            lanes > 0 && shard % lanes == lane) {
            rc = store_remove(s, names.list[i]);
            rc = rc == ERR_NOT_FOUND ? OK : rc;
        }
    }
    mem_free(names.list);
    return rc;
}

const struct manifest *manifest_list_find(const struct manifest_list *list, uint32_t shard)
{
    const struct manifest *best = NULL;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct manifest *m = &list->items[i];
        bool covers = shard < m->shards && shard % m->lanes == m->lane;

        if (covers && (best == NULL ||
                       (m->count > 0 && (best->count == 0 || m->checkpoints[0].number >
                                                                 best->checkpoints[0].number)))) {
            best = m;
        }
    }
    return best;
}
