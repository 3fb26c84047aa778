/* Processes inside network namespaces, whoever started them: found and ended. */

#ifndef EMU_LAB_INSIDE_H
#define EMU_LAB_INSIDE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Which ones: in a namespace of one of these numbers; or in another namespace than ours, with a
 * mark in the environment that they were started with. Numbers are sure only as long as somebody
 * has descriptors of the namespaces: then they are given to others. */
struct lab_inside {
    const uint64_t *numbers;
    uint32_t count;
    const char *mark; /* "STRAIT_LAB=name"; NULL: none. */
};

/* The number of the namespace behind a descriptor; zero if it is none. */
uint64_t lab_inside_number(int ns);

/* Up to @max such processes; returns how many. Our own is not among them. */
uint32_t lab_inside_find(const struct lab_inside *inside, pid_t *out, uint32_t max);

/* Ask them to end, and after @patience_ms make them. Returns how many there were; @left_out: how
 * many are still there. */
uint32_t lab_inside_end(const struct lab_inside *inside, int patience_ms, uint32_t *left_out);

/* True if an environment of @size bytes, as the kernel shows it, has the variable @mark. Pure. */
bool lab_inside_marked(const char *environment, size_t size, const char *mark);

#endif
