/* How many packets the kernel has dropped in a router, asked from the kernel directly. */

#ifndef EMU_LAB_QUEUE_H
#define EMU_LAB_QUEUE_H

#include "emu/lab/plan.h"

struct lab_queue_counts {
    uint64_t drops[LAB_REGIONS_MAX]; /* By the queue of the link to each region. */
    uint64_t missed;                 /* By wan0, because the relay did not read in time. */
};

/* A socket for such questions, in the namespace that we are in; -1 with errno. */
int lab_queue_open(void);

/* Ask. What is not there is zero. ERR_IO. */
MUST_USE enum err lab_queue_read(int socket, struct lab_queue_counts *counts_out);

/* Take the counts from a part of the kernel's answer. True when it was the last. Pure. */
bool lab_queue_parse(const void *bytes, size_t size, struct lab_queue_counts *counts);

#endif
