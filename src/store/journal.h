/* A journal: records that must outlive the process, in the order in which they were added. Those
 * that come while an object is being written go together into the next one, so a disk that is slow
 * makes objects larger, not the wait longer.
 *
 *     room -> add -> ... -> flush -> committed() later: all that was added before the flush is safe
 *
 * What the records mean is the owner's business. An object is
 *
 *     "strait-journal-1" | u64 number | u64 bytes of records | u64 XXH3 of records | records
 *     record: u32 type | u32 bytes | bytes, filled up with zeros to a multiple of 8 */

#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include "store/store.h"

enum {
    JOURNAL_HEAD_BYTES = 40,
    JOURNAL_RECORD_BYTES_MAX = 8 * 1024 * 1024,
    JOURNAL_OBJECT_BYTES_MAX = 1 << 30,
};

struct journal;

struct journal_config {
    struct store *store; /* Outlives the journal. */
    const char *prefix;  /* "SITE/journal-0003": names of objects begin with it. */
    uint64_t number;     /* Of the first object to write. */
    void (*committed)(void *user);
    void *user;
};

MUST_USE enum err journal_create(const struct journal_config *config, struct journal **out);
void journal_destroy(struct journal *j); /* NULL is allowed. */

/* Adding a record of @size bytes will find memory. ERR_NOMEM, ERR_TOO_BIG. */
MUST_USE enum err journal_room(struct journal *j, size_t size);

/* Add a record of @count parts, one behind the other; there is room for it. */
struct journal_part {
    const void *bytes;
    size_t size;
};
void journal_add(struct journal *j, uint32_t type, const struct journal_part *parts,
                 uint32_t count);

/* Write what was added, unless something is being written: then it follows. If the store failed
 * before, it is tried again now. */
void journal_flush(struct journal *j);

/* Is there anything that is not safe yet? */
bool journal_idle(const struct journal *j);

/* The number of the object that what is added now will be in. */
uint64_t journal_number(const struct journal *j);

/* How often writing failed. */
uint64_t journal_failures(const struct journal *j);

/* Remove objects with numbers below @before that are still there; blocks. */
void journal_prune(struct journal *j, uint64_t before);

/* Read all objects of the prefix in the order of their numbers; blocks. *next_out is the number
 * after the last one. ERR_CORRUPT with a text that says where; what the callback returns, if not
 * OK, ends it. */
MUST_USE enum err journal_read(struct store *s, const char *prefix,
                               enum err (*record)(uint64_t number, uint32_t type,
                                                  const uint8_t *bytes, size_t size, void *user),
                               void *user, uint64_t *next_out, struct err_text *text);

#endif
