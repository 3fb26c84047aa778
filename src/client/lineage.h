/* Is this still the process that made something, or the child of a fork? Costs a load. Any thread.
 */

#ifndef CLIENT_LINEAGE_H
#define CLIENT_LINEAGE_H

#include <stdint.h>

/* A number for this process: another one in each child. Never zero once client_lineage_begin() was
 * called in this process. */
uint32_t client_lineage_now(void);

/* Give this process its number, if it has none, and return it. */
uint32_t client_lineage_begin(void);

#endif
