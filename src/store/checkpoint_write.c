/* Writing a checkpoint. Records are made in a stage; what the store cannot take yet stays there, so
 * that a chunk is either wholly added or not at all, and all planes of a chunk can be added
 * together. */

#include "base/mem.h"
#include "store/checkpoint_format.h"

#include <openssl/evp.h>

enum { WRITER_STAGE_BYTES = 3 * FORMAT_RECORD_BYTES_MAX };

struct checkpoint_writer {
    struct store_writer *out;
    EVP_MD_CTX *hash; /* Over everything before the end. */
    struct format_end end;
    bool ended; /* The end is staged or given to the store. */
    size_t staged;
    uint8_t stage[WRITER_STAGE_BYTES];
};

_Static_assert((int)WRITER_STAGE_BYTES <= (int)STORE_APPEND_BYTES_MAX, "a stage is one append");

static void writer_free(struct checkpoint_writer *w)
{
    EVP_MD_CTX_free(w->hash);
    mem_free(w);
}

/* Give the store what is staged. */
static enum err writer_flush(struct checkpoint_writer *w)
{
    enum err rc = store_append(w->out, w->stage, w->staged);

    if (rc == OK) {
        w->staged = 0;
    }
    return rc;
}

/* Count and hash a record that was just made behind what is staged. */
static enum err writer_staged(struct checkpoint_writer *w, size_t size)
{
    if (EVP_DigestUpdate(w->hash, w->stage + w->staged, size) != 1) {
        return ERR_NOMEM;
    }
    w->staged += size;
    w->end.bytes += size;
    w->end.index++;
    return OK;
}

enum err checkpoint_begin(struct store *s, const char *name, const struct checkpoint_head *head,
                          struct checkpoint_writer **writer_out)
{
    struct checkpoint_writer *w = mem_zalloc(sizeof(*w));
    size_t size;
    enum err rc;

    if (w == NULL) {
        return ERR_NOMEM;
    }
    w->end.number = head->number;
    rc = format_head_encode(head, w->stage, &size);
    if (rc != OK) {
        goto err_free;
    }
    w->hash = EVP_MD_CTX_new();
    if (w->hash == NULL || EVP_DigestInit_ex(w->hash, EVP_sha256(), NULL) != 1) {
        rc = ERR_NOMEM;
        goto err_free;
    }
    rc = writer_staged(w, size);
    if (rc != OK) {
        goto err_free;
    }
    rc = store_begin(s, name, &w->out);
    if (rc != OK) {
        goto err_free;
    }
    *writer_out = w;
    return OK;

err_free:
    writer_free(w);
    return rc;
}

enum err checkpoint_add(struct checkpoint_writer *w, const struct checkpoint_chunk *chunk)
{
    enum err rc = writer_flush(w);
    size_t size;

    if (rc == ERR_AGAIN && w->staged <= WRITER_STAGE_BYTES - FORMAT_RECORD_BYTES_MAX) {
        rc = OK;
    }
    if (rc != OK) {
        return rc;
    }
    if (w->end.index == UINT32_MAX) {
        return ERR_INVALID;
    }
    rc = format_chunk_encode(chunk, w->end.index, w->end.number, w->stage + w->staged, &size);
    if (rc != OK) {
        return rc;
    }
    rc = writer_staged(w, size);
    if (rc != OK) {
        w->out->rc = rc;
        return rc;
    }
    w->end.chunks++;
    w->end.elements += chunk->count;
    rc = writer_flush(w);
    return rc == ERR_AGAIN ? OK : rc; /* It is ours now, and goes with the next. */
}

enum err checkpoint_ready(struct checkpoint_writer *w)
{
    return writer_flush(w);
}

static enum err writer_end(struct checkpoint_writer *w)
{
    w->ended = true;
    if (EVP_DigestFinal_ex(w->hash, w->end.hash, NULL) != 1) {
        return ERR_NOMEM;
    }
    w->end.bytes += FORMAT_END_BYTES;
    format_end_encode(&w->end, w->stage);
    w->staged = FORMAT_END_BYTES;
    return OK;
}

enum err checkpoint_commit(struct checkpoint_writer *w, void (*committed)(enum err rc, void *user),
                           void *user)
{
    enum err rc = writer_flush(w);

    if (rc == OK && !w->ended) {
        rc = writer_end(w);
        w->out->rc = rc;
        if (rc == OK) {
            rc = writer_flush(w);
        }
    }
    if (rc == ERR_AGAIN) {
        return rc;
    }
    /* The store knows of errors, and reports them. */
    store_commit(w->out, committed, user);
    writer_free(w);
    return OK;
}

void checkpoint_abort(struct checkpoint_writer *w)
{
    if (w != NULL) {
        store_abort(w->out);
        writer_free(w);
    }
}
