/* Reading a checkpoint: twice, through a window. The first pass checks everything, the second one
 * delivers; so nobody acts on the first half of a file whose second half is damaged, and a shard
 * need not fit into memory twice. */

#include "base/mem.h"
#include "store/checkpoint_format.h"

#include <openssl/evp.h>
#include <string.h>

enum { READER_WINDOW_BYTES = 512 * 1024 };

struct reader {
    struct store *store;
    const char *name;
    struct err_text *text;
    EVP_MD_CTX *hash; /* First pass only. */
    uint64_t size;    /* Of the object. */
    uint64_t at;      /* The next record. */
    uint32_t index;   /* Its number. */
    uint64_t base;    /* Offset of the window. */
    size_t have;      /* Bytes in it. */
    uint64_t chunks;
    uint64_t elements;
    struct format_end end;
    struct checkpoint_head head; /* Its texts are the two below. */
    char site[LIMIT_NAME_BYTES + 1];
    char describe[CHECKPOINT_TEXT_BYTES_MAX + 1];
    uint8_t end_bytes[FORMAT_END_BYTES];
    struct checkpoint_member members[CHECKPOINT_MEMBERS_MAX];
    _Alignas(16) uint8_t window[READER_WINDOW_BYTES];
};

_Static_assert((int)FORMAT_RECORD_BYTES_MAX <= (int)READER_WINDOW_BYTES,
               "a record fits the window");
_Static_assert(sizeof(struct reader) <= 1u << 20, "reading is cheap");

static enum err reader_bad(struct reader *r, enum err rc, const char *why)
{
    const char *what = rc == ERR_VERSION ? "cannot be used" : "is damaged";
    const char *hint = rc == ERR_VERSION ? "use the version of Strait that wrote it"
                                         : "go on from an older checkpoint";

    (void)err_text_set(r->text, rc, "%s %s: record %u, at byte %llu of %llu: %s; %s", r->name, what,
                       r->index, (unsigned long long)r->at, (unsigned long long)r->size, why, hint);
    return rc;
}

/* The store could not give us the object. */
static enum err reader_fault(struct reader *r, enum err rc)
{
    if (rc == ERR_CORRUPT) {
        return reader_bad(r, rc, "the disk has lost it");
    }
    if (rc == ERR_NOT_FOUND) {
        (void)err_text_set(r->text, rc, "there is no checkpoint %s", r->name);
    } else {
        (void)err_text_set(r->text, rc, "cannot read the checkpoint %s: %s", r->name,
                           err_string(rc));
    }
    return rc;
}

/* Read exactly @size bytes from @offset. */
static enum err reader_fetch(struct reader *r, uint64_t offset, void *bytes, size_t size)
{
    size_t done = 0;
    enum err rc = store_read(r->store, r->name, offset, bytes, size, &done);

    if (rc != OK) {
        return reader_fault(r, rc);
    }
    return done == size ? OK : reader_bad(r, ERR_CORRUPT, "it became shorter while it was read");
}

/* A view of the next @size bytes, which lie before the end record. */
static enum err reader_view(struct reader *r, size_t size, const uint8_t **bytes_out)
{
    uint64_t limit = r->size - FORMAT_END_BYTES;
    size_t skip = (size_t)(r->at - r->base);
    size_t room;
    enum err rc;

    if (size > limit - r->at) {
        return reader_bad(r, ERR_CORRUPT, "it is longer than what is left of the file");
    }
    if (skip + size > r->have) {
        /* Records start at multiples of 64, so the values in the window are aligned. */
        r->have -= skip;
        memmove(r->window, r->window + skip, r->have);
        r->base = r->at;
        skip = 0;
        room = READER_WINDOW_BYTES - r->have;
        if (room > limit - r->base - r->have) {
            room = (size_t)(limit - r->base - r->have);
        }
        rc = reader_fetch(r, r->base + r->have, r->window + r->have, room);
        if (rc != OK) {
            return rc;
        }
        r->have += room;
    }
    *bytes_out = r->window + skip;
    return OK;
}

/* A record was judged: hash it in the first pass, and go on behind it. */
static enum err reader_advance(struct reader *r, const uint8_t *record, size_t size)
{
    if (r->hash != NULL && EVP_DigestUpdate(r->hash, record, size) != 1) {
        return reader_fault(r, ERR_NOMEM);
    }
    r->at += size;
    r->index++;
    return OK;
}

static enum err reader_head(struct reader *r)
{
    struct format_head head;
    const uint8_t *bytes;
    const char *why;
    enum err rc = reader_view(r, FORMAT_HEADER_BYTES, &bytes);

    if (rc != OK) {
        return rc;
    }
    rc = format_head_decode(bytes, &head, &why);
    if (rc != OK) {
        return reader_bad(r, rc, why);
    }
    rc = reader_view(r, FORMAT_HEADER_BYTES + head.body_bytes, &bytes);
    if (rc != OK) {
        return rc;
    }
    rc = format_head_body(&head, bytes + FORMAT_HEADER_BYTES, r->site, r->describe, &why);
    if (rc != OK) {
        return reader_bad(r, rc, why);
    }
    if (head.head.number != r->end.number) {
        return reader_bad(r, ERR_CORRUPT, "its head and its end are of different checkpoints");
    }
    r->head = head.head;
    r->head.site = r->site;
    r->head.describe = r->describe;
    return reader_advance(r, bytes, FORMAT_HEADER_BYTES + head.body_bytes);
}

/* Judge the next chunk. Its views are valid until the next call; the reader stands behind it. */
static enum err reader_chunk(struct reader *r, struct checkpoint_chunk *chunk_out)
{
    struct format_chunk chunk;
    const uint8_t *bytes;
    const char *why;
    enum err rc = reader_view(r, FORMAT_HEADER_BYTES, &bytes);

    if (rc != OK) {
        return rc;
    }
    rc = format_chunk_decode(bytes, &chunk, &why);
    if (rc != OK) {
        return reader_bad(r, rc, why);
    }
    if (chunk.index != r->index || chunk.number != r->head.number) {
        return reader_bad(r, ERR_CORRUPT, "it belongs elsewhere");
    }
    rc = reader_view(r, FORMAT_HEADER_BYTES + chunk.body_bytes, &bytes);
    if (rc != OK) {
        return rc;
    }
    rc = format_chunk_body(&chunk, bytes + FORMAT_HEADER_BYTES, r->members, &why);
    if (rc != OK) {
        return reader_bad(r, rc, why);
    }
    r->chunks++;
    r->elements += chunk.chunk.count;
    *chunk_out = chunk.chunk;
    chunk_out->members = r->members;
    chunk_out->values = (const void *)(bytes + FORMAT_HEADER_BYTES + chunk.members_bytes);
    return reader_advance(r, bytes, FORMAT_HEADER_BYTES + chunk.body_bytes);
}

/* The end comes first: it is quick to see that a file was cut, extended or never finished. */
static enum err reader_end(struct reader *r)
{
    const char *why;
    enum err rc = store_size(r->store, r->name, &r->size);

    if (rc != OK) {
        return reader_fault(r, rc);
    }
    if (r->size < FORMAT_HEADER_BYTES + FORMAT_END_BYTES || r->size % FORMAT_ALIGN != 0) {
        return reader_bad(r, ERR_CORRUPT, "no checkpoint has this size");
    }
    r->at = r->size - FORMAT_END_BYTES;
    rc = reader_fetch(r, r->at, r->end_bytes, FORMAT_END_BYTES);
    if (rc != OK) {
        return rc;
    }
    rc = format_end_decode(r->end_bytes, &r->end, &why);
    if (rc != OK) {
        return reader_bad(r, rc, why);
    }
    r->index = r->end.index;
    if (r->end.bytes != r->size) {
        return reader_bad(r, ERR_CORRUPT, "its end is of a file of another size");
    }
    return OK;
}

static void reader_rewind(struct reader *r)
{
    r->at = 0;
    r->index = 0;
    r->base = 0;
    r->have = 0;
    r->chunks = 0;
    r->elements = 0;
}

/* The first pass. */
static enum err reader_check(struct reader *r)
{
    uint8_t hash[FORMAT_HASH_BYTES];
    struct checkpoint_chunk chunk;
    enum err rc = reader_end(r);

    if (rc != OK) {
        return rc;
    }
    if (EVP_DigestInit_ex(r->hash, EVP_sha256(), NULL) != 1) {
        return reader_fault(r, ERR_NOMEM);
    }
    reader_rewind(r);
    rc = reader_head(r);
    while (rc == OK && r->at < r->size - FORMAT_END_BYTES) {
        rc = reader_chunk(r, &chunk);
    }
    if (rc != OK) {
        return rc;
    }
    if (EVP_DigestFinal_ex(r->hash, hash, NULL) != 1) {
        return reader_fault(r, ERR_NOMEM);
    }
    if (r->index != r->end.index || r->chunks != r->end.chunks || r->elements != r->end.elements) {
        return reader_bad(r, ERR_CORRUPT, "its end counts other records than there are");
    }
    if (memcmp(hash, r->end.hash, FORMAT_HASH_BYTES) != 0) {
        return reader_bad(r, ERR_CORRUPT, "the file does not match its SHA-256");
    }
    return OK;
}

/* The second pass. What was whole may have been replaced since. */
static enum err reader_deliver(struct reader *r, const struct checkpoint_reader_events *events,
                               void *user)
{
    uint8_t end_bytes[FORMAT_END_BYTES];
    struct checkpoint_chunk chunk;
    enum err rc;

    EVP_MD_CTX_free(r->hash);
    r->hash = NULL;
    reader_rewind(r);
    rc = reader_head(r);
    if (rc == OK) {
        rc = events->head(&r->head, user);
    }
    while (rc == OK && r->at < r->size - FORMAT_END_BYTES) {
        rc = reader_chunk(r, &chunk);
        if (rc == OK) {
            rc = events->chunk(&chunk, user);
        }
    }
    if (rc == OK) {
        rc = reader_fetch(r, r->at, end_bytes, FORMAT_END_BYTES);
    }
    if (rc == OK && memcmp(end_bytes, r->end_bytes, FORMAT_END_BYTES) != 0) {
        rc = reader_bad(r, ERR_CORRUPT, "it was replaced while it was read");
    }
    return rc;
}

static enum err reader_create(struct store *s, const char *name, struct err_text *text,
                              struct reader **reader_out)
{
    struct reader *r = mem_zalloc(sizeof(*r));

    if (r != NULL) {
        r->hash = EVP_MD_CTX_new();
    }
    if (r == NULL || r->hash == NULL) {
        mem_free(r);
        (void)err_text_set(text, ERR_NOMEM, "cannot read the checkpoint %s: out of memory", name);
        return ERR_NOMEM;
    }
    r->store = s;
    r->name = name;
    r->text = text;
    *reader_out = r;
    return OK;
}

static void reader_destroy(struct reader *r)
{
    EVP_MD_CTX_free(r->hash);
    mem_free(r);
}

enum err checkpoint_read(struct store *s, const char *name,
                         const struct checkpoint_reader_events *events, void *user,
                         struct err_text *text)
{
    struct reader *r;
    enum err rc = reader_create(s, name, text, &r);

    if (rc != OK) {
        return rc;
    }
    rc = reader_check(r);
    if (rc == OK && events != NULL) {
        rc = reader_deliver(r, events, user);
    }
    reader_destroy(r);
    return rc;
}

enum err checkpoint_check(struct store *s, const char *name, struct err_text *text)
{
    char want[STORE_NAME_BYTES];
    struct reader *r;
    enum err rc = reader_create(s, name, text, &r);

    if (rc != OK) {
        return rc;
    }
    rc = reader_check(r);
    if (rc == OK) {
        checkpoint_name(r->head.site, r->head.shard, r->head.number, want, sizeof(want));
        if (strcmp(want, name) != 0) {
            rc = err_text_set(text, ERR_CORRUPT, "%s is not what its name says: it is %s", name,
                              want);
        }
    }
    reader_destroy(r);
    return rc;
}
