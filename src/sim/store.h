/* A store (store/store.h) on the disk of a simulated host: what was committed survives a crash, and
 * the disk's faults are met. */

#ifndef SIM_STORE_H
#define SIM_STORE_H

#include "store/store.h"

struct loop;
struct sim_disk;

/* Commits take @commit_ns of virtual time. The disk outlives the store. */
MUST_USE enum err sim_store_create(struct sim_disk *disk, struct loop *loop, int64_t commit_ns,
                                   struct store **store_out);

#endif
