/* The manifest of a lane: which training its shards are of, and which of its checkpoints are
 * complete in all of them. docs/CHECKPOINT.md has the text form.
 *
 * A checkpoint of a lane is one object per shard. Each object is whole by itself, but only the
 * manifest says that all of them are there: a lane acknowledges updates when the manifest that
 * names the checkpoint is durable, and restores what its manifest names and nothing else.
 * Considered instead: to take the newest whole object of each shard, which cannot tell a shard
 * whose newest object was lost from one that was not written yet. */

#ifndef STORE_MANIFEST_H
#define STORE_MANIFEST_H

#include "base/limits.h"
#include "store/store.h"

enum {
    MANIFEST_CHECKPOINTS_MAX = 128,
    MANIFEST_BYTES_MAX = 16 * 1024, /* Of the text. */
};

struct manifest_checkpoint {
    uint64_t number;
    uint64_t clock; /* Last round that all chunks had closed when it was begun. */
};

struct manifest {
    uint64_t history; /* Drawn when a training begins; shards of two histories never mix. */
    uint32_t lane;    /* It covers the shards s of .shards with s % .lanes == .lane. */
    uint32_t lanes;
    uint32_t shards;
    uint32_t count; /* 0: the training has begun, and no checkpoint is complete. */
    struct manifest_checkpoint checkpoints[MANIFEST_CHECKPOINTS_MAX]; /* Newest first. */
};

/* Put a newer checkpoint first, and forget all but the @keep newest. It takes the place of one of
 * the same clock, so that those that stay are of different clocks. */
void manifest_push(struct manifest *m, uint32_t keep, uint64_t number, uint64_t clock);

/* Its newest checkpoint of @clock or before; NULL: there is none. */
const struct manifest_checkpoint *manifest_at(const struct manifest *m, uint64_t clock);

/* Pure: the text of a manifest. Returns its size, at most MANIFEST_BYTES_MAX. */
size_t manifest_encode(const struct manifest *m, char out[MANIFEST_BYTES_MAX + 1]);
/* ERR_CORRUPT for any text that manifest_encode() does not write; ERR_VERSION for another form. */
MUST_USE enum err manifest_decode(const char *text, size_t size, struct manifest *out);

/* "SITE/lane-0001-of-0004.manifest". */
void manifest_name(const char *site, uint32_t lane, uint32_t lanes, char *out, size_t size);

/* Replace the manifest of that lane; @committed follows as after store_commit(). Errors as of
 * store_begin() and store_append(): nothing follows then. */
MUST_USE enum err manifest_write(struct store *s, const char *site, const struct manifest *m,
                                 void (*committed)(enum err rc, void *user), void *user);

/* All manifests of a site, also of times with another number of lanes. */
struct manifest_list {
    struct manifest *items;
    uint32_t count;
};

/* Read them; blocks. ERR_CORRUPT, ERR_VERSION, ERR_IO, ERR_NOMEM with a text that names the object.
 * The list is to be freed after OK. */
MUST_USE enum err manifest_list_read(struct store *s, const char *site, struct manifest_list *out,
                                     struct err_text *text);
void manifest_list_free(struct manifest_list *list);

/* Remove all manifests that cover the shard; blocks. */
MUST_USE enum err manifest_remove_covering(struct store *s, const char *site, uint32_t shard);

/* The one that covers the shard and knows its newest checkpoint; NULL: there is none. */
const struct manifest *manifest_list_find(const struct manifest_list *list, uint32_t shard);

#endif
