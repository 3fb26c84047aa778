/* A store in memory, on any loop, also a manual one: for tests and for runs that keep nothing. It
 * can fail like a disk, and it survives a simulated crash of its owner as a disk would. */

#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "store/store.h"

struct store_memory_config {
    uint64_t capacity_bytes; /* Of objects and of what is being written; beyond: ERR_FULL. */
    int64_t commit_ns;       /* From commit to committed(), by the loop's clock. */
};

enum store_fault {
    STORE_FAULT_FULL,   /* An append returns ERR_FULL. */
    STORE_FAULT_SHORT,  /* An append keeps a part of its bytes and returns ERR_IO. */
    STORE_FAULT_SYNC,   /* A commit reports ERR_IO; the old object stays. */
    STORE_FAULT_RENAME, /* Likewise, one step later. */
    STORE_FAULTS,
};

MUST_USE enum err store_memory_create(const struct store_memory_config *config, struct loop *loop,
                                      struct store **store_out);

/* The owner crashed: objects stay, commits under way are forgotten and not reported. Writers that
 * are still open can only be aborted: everything else is ERR_CANCELLED. Faults are switched off. */
void store_memory_crash(struct store *s);

/* The @k-th operation from now on that this fault can hit meets it, once (1: the next); zero: none.
 */
void store_memory_fault_at(struct store *s, enum store_fault fault, uint64_t k);

/* How often the fault was met. */
uint64_t store_memory_fault_count(const struct store *s, enum store_fault fault);

/* Bytes of objects and of what is being written. */
uint64_t store_memory_used_bytes(const struct store *s);

#endif
