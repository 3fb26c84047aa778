/* The checkpoint of a shard: chunks with all that is needed to go on from them. docs/CHECKPOINT.md
 * has the byte table, store/checkpoint_format.h the code for it.
 *
 *     head | record ... | end
 *
 * Each record has a check of its own, and the end has a SHA-256 over everything before it: a torn,
 * flipped, cut or extended file is never taken for a whole one. A chunk's record says which round
 * it is of and which workers' updates are in it (the last clock of each), so chunks may be of
 * different rounds: nobody has to stop for a checkpoint. */

#ifndef STORE_CHECKPOINT_H
#define STORE_CHECKPOINT_H

#include "base/limits.h"
#include "store/store.h"

enum {
    CHECKPOINT_MEMBERS_MAX = 1024,
    CHECKPOINT_TEXT_BYTES_MAX = 64 * 1024,
};

/* A worker and the last clock of its that is counted. */
struct checkpoint_member {
    uint32_t rank;
    uint64_t incarnation;
    uint64_t clock;
};

struct checkpoint_head {
    uint64_t number; /* Of the checkpoint: larger is newer. */
    uint32_t shard;
    uint32_t shards;
    uint64_t clock;       /* Last round that all chunks had closed when it was begun. */
    int64_t wall_us;      /* For people. */
    const char *site;     /* UTF-8, at most LIMIT_NAME_BYTES; borrowed. */
    const char *describe; /* JSON: schemas of all tables, settings; UTF-8; borrowed. */
};

struct checkpoint_chunk {
    uint16_t table;
    uint16_t plane; /* 0: values; 1: state of the applier; 2: what other sites do not have yet. */
    uint32_t chunk;
    uint64_t version; /* Last round that is in it. */
    uint32_t member_count;
    const struct checkpoint_member *members; /* Ascending by rank. Of plane 0 only. */
    uint32_t count;                          /* Elements, 1 to LIMIT_CHUNK_ELEMENTS. */
    const float *values;
};

/* Writing: makes the bytes and gives them to a store_writer. */
struct checkpoint_writer;

/* ERR_INVALID for a bad name or head, ERR_TOO_BIG for too long a text; else as store_begin(). */
MUST_USE enum err checkpoint_begin(struct store *s, const char *name,
                                   const struct checkpoint_head *head,
                                   struct checkpoint_writer **writer_out);
/* Add a chunk, which is copied; each at most once per plane, in any order. ERR_AGAIN: nothing was
 * added, try again later. ERR_INVALID: the chunk cannot be written, nothing was added. After any
 * other error this checkpoint cannot be finished: abort it, or commit and be told. */
MUST_USE enum err checkpoint_add(struct checkpoint_writer *w, const struct checkpoint_chunk *chunk);
/* OK: the next three chunks will not meet ERR_AGAIN. For planes of one chunk, which must be of one
 * moment. ERR_AGAIN: try again later. Other errors as above. */
MUST_USE enum err checkpoint_ready(struct checkpoint_writer *w);
/* Write the end and commit. ERR_AGAIN: try again later. OK: the writer is gone and @committed
 * follows, with the error if there was one. There is no other result. */
MUST_USE enum err checkpoint_commit(struct checkpoint_writer *w,
                                    void (*committed)(enum err rc, void *user), void *user);
/* NULL is allowed. */
void checkpoint_abort(struct checkpoint_writer *w);

/* Reading: blocking. Views are valid for the call. */
struct checkpoint_reader_events {
    enum err (*head)(const struct checkpoint_head *head, void *user);
    enum err (*chunk)(const struct checkpoint_chunk *chunk, void *user);
};

/* Check the whole object first, then call. ERR_CORRUPT with a text that says what and where, and
 * nothing is called; what a callback returns, if not OK, ends it. @events may be NULL: only check.
 * ERR_VERSION: written by another version of Strait. ERR_NOT_FOUND, ERR_IO, ERR_NOMEM,
 * all with a text. An object that is replaced in mid-read is ERR_CORRUPT after the calls. */
MUST_USE enum err checkpoint_read(struct store *s, const char *name,
                                  const struct checkpoint_reader_events *events, void *user,
                                  struct err_text *text);

/* Check only, and also that the object is the one that its name says: site, shard, number. */
MUST_USE enum err checkpoint_check(struct store *s, const char *name, struct err_text *text);

/* "SITE/shard-0003/00000000000000000042.ckpt"; and back, ERR_INVALID for any other form. A site of
 * at most LIMIT_NAME_BYTES fits STORE_NAME_BYTES; one that cannot be part of a name of the store
 * is refused when the name is used. */
void checkpoint_name(const char *site, uint32_t shard, uint64_t number, char *out, size_t size);
MUST_USE enum err checkpoint_name_parse(const char *name, uint32_t *shard_out,
                                        uint64_t *number_out);

/* The newest whole checkpoint of a shard: checks from the newest on. ERR_NOT_FOUND if there is
 * none. Damaged ones are skipped; @skipped_out says how many, @text about the newest of them (empty
 * if none). Everything else that keeps a newer one from being read ends it with that error and
 * @text: nobody should lose work because of a missing permission or an older program. */
MUST_USE enum err checkpoint_newest(struct store *s, const char *site, uint32_t shard, char *name,
                                    size_t size, uint64_t *number_out, uint32_t *skipped_out,
                                    struct err_text *text);

/* The highest number of any checkpoint of the shard, whole or not; 0: there is none. On failure
 * @text says what failed. */
MUST_USE enum err checkpoint_last(struct store *s, const char *site, uint32_t shard,
                                  uint64_t *number_out, struct err_text *text);

/* Remove all checkpoints of the shard whose numbers are below the largest of @keep and not one of
 * them; blocks. */
MUST_USE enum err checkpoint_prune(struct store *s, const char *site, uint32_t shard,
                                   const uint64_t *keep, uint32_t count);

#endif
