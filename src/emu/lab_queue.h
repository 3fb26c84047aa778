/* How many packets the kernel's queues have dropped, asked from the kernel directly. */

#ifndef EMU_LAB_QUEUE_H
#define EMU_LAB_QUEUE_H

#include "emu/lab_plan.h"

/* A socket for such questions, in the namespace that we are in; -1 with errno. */
int lab_queue_open(void);

/* The drops of the link to each region, as far as there is one. ERR_IO. */
MUST_USE enum err lab_queue_read(int socket, uint64_t drops_out[LAB_REGIONS_MAX]);

/* Take the drops from a part of the kernel's answer. True when it was the last. Pure. */
bool lab_queue_parse(const void *bytes, size_t size, uint64_t drops_out[LAB_REGIONS_MAX]);

#endif
