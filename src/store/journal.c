#include "store/journal.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char journal_magic[16] = {'s', 't', 'r', 'a', 'i', 't', '-', 'j',
                                       'o', 'u', 'r', 'n', 'a', 'l', '-', '1'};

enum {
    JOURNAL_RECORD_HEAD_BYTES = 8,
    JOURNAL_MIN_BYTES = 4096,
    JOURNAL_KEPT_BYTES = 1 << 20, /* What is kept for the next object. */
};

/* Bytes that grow. */
struct journal_bytes {
    uint8_t *at;
    size_t size;
    size_t capacity;
};

struct journal {
    struct journal_config config;
    char prefix[STORE_NAME_BYTES];
    struct journal_bytes next;    /* Added, and in no object yet. */
    struct journal_bytes current; /* Being written, or to be written once more. */
    struct store_writer *writer;  /* Takes it, part by part; NULL: not begun, or committed. */
    size_t written;               /* Bytes that it has. */
    bool committing;
    uint64_t number; /* Of the current object; of the next one it is one more. */
    uint64_t first;  /* The oldest that may be there. */
    uint64_t failures;
};

static size_t journal_padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

enum err journal_create(const struct journal_config *config, struct journal **out)
{
    struct journal *j = mem_zalloc(sizeof(*j));

    if (j == NULL) {
        return ERR_NOMEM;
    }
    j->config = *config;
    (void)snprintf(j->prefix, sizeof(j->prefix), "%s", config->prefix);
    j->number = config->number;
    *out = j;
    return OK;
}

void journal_destroy(struct journal *j)
{
    if (j == NULL) {
        return;
    }
    store_abort(j->writer);
    mem_free(j->next.at);
    mem_free(j->current.at);
    mem_free(j);
}

enum err journal_room(struct journal *j, size_t size)
{
    struct journal_bytes *b = &j->next;
    size_t needed = b->size + (b->size == 0 ? JOURNAL_HEAD_BYTES : 0) + JOURNAL_RECORD_HEAD_BYTES +
                    journal_padded(size);
    size_t capacity = b->capacity == 0 ? JOURNAL_MIN_BYTES : b->capacity;
    uint8_t *at;

    if (size > JOURNAL_RECORD_BYTES_MAX || needed > JOURNAL_OBJECT_BYTES_MAX) {
        return ERR_TOO_BIG;
    }
    if (needed <= b->capacity) {
        return OK;
    }
    while (capacity < needed) {
        capacity *= 2;
    }
    at = mem_calloc(capacity, 1);
    if (at == NULL) {
        return ERR_NOMEM;
    }
    if (b->at != NULL) {
        memcpy(at, b->at, b->size);
    }
    mem_free(b->at);
    b->at = at;
    b->capacity = capacity;
    return OK;
}

void journal_add(struct journal *j, uint32_t type, const struct journal_part *parts, uint32_t count)
{
    struct journal_bytes *b = &j->next;
    size_t size = 0, padded;
    uint8_t *to;

    for (uint32_t i = 0; i < count; i++) {
        size += parts[i].size;
    }
    padded = journal_padded(size);
    b->size = b->size == 0 ? JOURNAL_HEAD_BYTES : b->size;
    CHECK(b->size + JOURNAL_RECORD_HEAD_BYTES + padded <= b->capacity);
    to = b->at + b->size;
    bytes_store32(to, type);
    bytes_store32(to + 4, (uint32_t)size);
    to += JOURNAL_RECORD_HEAD_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].size > 0) {
            memcpy(to, parts[i].bytes, parts[i].size);
            to += parts[i].size;
        }
    }
    memset(to, 0, padded - size);
    b->size += JOURNAL_RECORD_HEAD_BYTES + padded;
}

static void journal_name(const char *prefix, uint64_t number, char *out, size_t size)
{
    (void)snprintf(out, size, "%.80s/%020" PRIu64 ".journal", prefix, number);
}

/* What is added from now on goes into the next object. */
static void journal_turn(struct journal *j)
{
    struct journal_bytes empty = j->current;

    j->current = j->next;
    empty.size = 0;
    j->next = empty;
    memcpy(j->current.at, journal_magic, sizeof(journal_magic));
    bytes_store64(j->current.at + 16, j->number);
    bytes_store64(j->current.at + 24, j->current.size - JOURNAL_HEAD_BYTES);
    bytes_store64(j->current.at + 32, hash_bytes(j->current.at + JOURNAL_HEAD_BYTES,
                                                 j->current.size - JOURNAL_HEAD_BYTES));
}

/* A disk that was slow once must not cost memory for good. */
static void journal_empty(struct journal_bytes *b)
{
    b->size = 0;
    if (b->capacity > JOURNAL_KEPT_BYTES) {
        mem_free(b->at);
        *b = (struct journal_bytes){0};
    }
}

static void journal_written(enum err rc, void *user)
{
    struct journal *j = user;

    j->committing = false;
    if (rc != OK) {
        j->failures++;
        return; /* Whoever flushes next tries again. */
    }
    journal_empty(&j->current);
    j->number++;
    j->config.committed(j->config.user);
    journal_flush(j);
}

/* As much as the store takes now. */
static enum err journal_write(struct journal *j)
{
    enum err rc = OK;

    while (j->written < j->current.size && rc == OK) {
        size_t part = j->current.size - j->written;

        part = part < STORE_APPEND_BYTES_MAX ? part : STORE_APPEND_BYTES_MAX;
        rc = store_append(j->writer, j->current.at + j->written, part);
        j->written += rc == OK ? part : 0;
    }
    return rc;
}

static enum err journal_begin(struct journal *j)
{
    char name[STORE_NAME_BYTES];

    if (j->writer != NULL) {
        return OK;
    }
    if (j->current.size == 0) {
        journal_turn(j);
    }
    j->written = 0;
    journal_name(j->prefix, j->number, name, sizeof(name));
    return store_begin(j->config.store, name, &j->writer);
}

void journal_flush(struct journal *j)
{
    enum err rc;

    if (j->committing || journal_idle(j)) {
        return;
    }
    rc = journal_begin(j);
    if (rc != OK) {
        j->writer = NULL;
        j->failures += rc != ERR_AGAIN;
        return;
    }
    rc = journal_write(j);
    if (rc == OK) {
        struct store_writer *w = j->writer;

        j->writer = NULL;
        j->committing = true;
        store_commit(w, journal_written, j);
    } else if (rc != ERR_AGAIN) {
        store_abort(j->writer);
        j->writer = NULL;
        j->failures++;
    }
}

bool journal_idle(const struct journal *j)
{
    return j->current.size == 0 && j->next.size == 0;
}

uint64_t journal_number(const struct journal *j)
{
    return j->number + (j->current.size > 0);
}

uint64_t journal_failures(const struct journal *j)
{
    return j->failures;
}

/* Names of the prefix below a number. */
struct journal_names {
    const char *prefix;
    uint64_t before;
    char (*names)[STORE_NAME_BYTES];
    uint32_t count;
    uint32_t capacity;
};

static void journal_found(const char *name, uint64_t size, void *user)
{
    struct journal_names *n = user;
    size_t length = strlen(n->prefix);
    uint64_t number;
    char end[16];

    (void)size;
    if (strncmp(name, n->prefix, length) != 0 || name[length] != '/' ||
        sscanf(name + length + 1, "%20" SCNu64 ".%7s", &number, end) != 2 ||
        strcmp(end, "journal") != 0 || number >= n->before) {
        return;
    }
    if (n->names != NULL && n->count < n->capacity) {
        (void)snprintf(n->names[n->count], STORE_NAME_BYTES, "%s", name);
    }
    n->count++;
}

/* List once to count, once to keep. */
static enum err journal_list(struct store *s, struct journal_names *n)
{
    enum err rc = store_list(s, n->prefix, journal_found, n);

    if (rc != OK || n->count == 0) {
        return rc;
    }
    n->capacity = n->count;
    n->count = 0;
    n->names = mem_calloc(n->capacity, STORE_NAME_BYTES);
    rc = n->names == NULL ? ERR_NOMEM : store_list(s, n->prefix, journal_found, n);
    n->count = n->count < n->capacity ? n->count : n->capacity;
    return rc;
}

void journal_prune(struct journal *j, uint64_t before)
{
    struct journal_names n = {.prefix = j->prefix, .before = before};

    if (before <= j->first) {
        return;
    }
    if (journal_list(j->config.store, &n) == OK) {
        bool all = true;

        for (uint32_t i = 0; i < n.count; i++) {
            all = store_remove(j->config.store, n.names[i]) == OK && all;
        }
        j->first = all ? before : j->first;
    }
    mem_free(n.names);
}

/* Reading. */

static enum err journal_damaged(const char *name, const char *what, struct err_text *text)
{
    return err_text_set(text, ERR_CORRUPT, "%s: %s", name, what);
}

static enum err journal_records(const char *name, uint64_t number, const uint8_t *bytes,
                                size_t size,
                                enum err (*record)(uint64_t number, uint32_t type,
                                                   const uint8_t *bytes, size_t size, void *user),
                                void *user, struct err_text *text)
{
    size_t at = 0;
    enum err rc = OK;

    while (at < size && rc == OK) {
        uint32_t type, length;

        if (size - at < JOURNAL_RECORD_HEAD_BYTES) {
            return journal_damaged(name, "a record is cut", text);
        }
        type = bytes_load32(bytes + at);
        length = bytes_load32(bytes + at + 4);
        at += JOURNAL_RECORD_HEAD_BYTES;
        if (length > JOURNAL_RECORD_BYTES_MAX || journal_padded(length) > size - at) {
            return journal_damaged(name, "a record is cut", text);
        }
        rc = record(number, type, bytes + at, length, user);
        at += journal_padded(length);
    }
    return rc;
}

/* The whole object; its bytes are the caller's. */
static enum err journal_load(struct store *s, const char *name, uint8_t **bytes_out,
                             size_t *size_out, struct err_text *text)
{
    uint64_t size;
    size_t done = 0;
    uint8_t *bytes;
    enum err rc = store_size(s, name, &size);

    if (rc != OK) {
        return err_text_set(text, rc, "%s cannot be read", name);
    }
    if (size < JOURNAL_HEAD_BYTES || size > JOURNAL_OBJECT_BYTES_MAX) {
        return journal_damaged(name, "it has no head", text);
    }
    bytes = mem_calloc((size_t)size, 1);
    if (bytes == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory to read %s", name);
    }
    rc = store_read(s, name, 0, bytes, (size_t)size, &done);
    if (rc == OK && done != size) {
        rc = ERR_CORRUPT;
    }
    if (rc != OK) {
        mem_free(bytes);
        return err_text_set(text, rc, "%s cannot be read", name);
    }
    *bytes_out = bytes;
    *size_out = (size_t)size;
    return OK;
}

static enum err journal_read_one(struct store *s, const char *name, uint64_t *number_out,
                                 enum err (*record)(uint64_t number, uint32_t type,
                                                    const uint8_t *bytes, size_t size, void *user),
                                 void *user, struct err_text *text)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    enum err rc = journal_load(s, name, &bytes, &size, text);

    if (rc != OK) {
        return rc;
    }
    CHECK(bytes != NULL && size >= JOURNAL_HEAD_BYTES);
    if (memcmp(bytes, journal_magic, sizeof(journal_magic)) != 0 ||
        bytes_load64(bytes + 24) != size - JOURNAL_HEAD_BYTES ||
        bytes_load64(bytes + 32) !=
            hash_bytes(bytes + JOURNAL_HEAD_BYTES, size - JOURNAL_HEAD_BYTES)) {
        rc = journal_damaged(name, "head or check do not fit what follows", text);
    } else {
        *number_out = bytes_load64(bytes + 16);
        rc = journal_records(name, *number_out, bytes + JOURNAL_HEAD_BYTES,
                             size - JOURNAL_HEAD_BYTES, record, user, text);
    }
    mem_free(bytes);
    return rc;
}

enum err journal_read(struct store *s, const char *prefix,
                      enum err (*record)(uint64_t number, uint32_t type, const uint8_t *bytes,
                                         size_t size, void *user),
                      void *user, uint64_t *next_out, struct err_text *text)
{
    struct journal_names n = {.prefix = prefix, .before = UINT64_MAX};
    enum err rc = journal_list(s, &n);

    *next_out = 1;
    if (rc != OK) {
        mem_free(n.names);
        return err_text_set(text, rc, "the journal %s cannot be listed", prefix);
    }
    for (uint32_t i = 0; i < n.count && rc == OK; i++) {
        uint64_t number = 0;

        rc = journal_read_one(s, n.names[i], &number, record, user, text);
        *next_out = number + 1;
    }
    mem_free(n.names);
    return rc;
}
