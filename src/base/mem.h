/* Memory for the control path and for start-up. The update path allocates nothing: it uses pools
 * (base/buf.h). Tests and the simulator can make the k-th allocation of the calling thread fail. */

#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/err.h"

#include <stdint.h>

/* Return @size zeroed bytes, or NULL. */
MUST_USE void *mem_zalloc(size_t size);

/* Return @count * @size zeroed bytes, or NULL; an overflow is NULL too. */
MUST_USE void *mem_calloc(size_t count, size_t size);

/* Return a copy of @text, or NULL. */
MUST_USE char *mem_strdup(const char *text);

/* NULL is allowed. */
void mem_free(void *p);

/* Make the @k-th allocation from now on this thread fail (1: the next one), and @count - 1 more
 * after it. Zero @k: none. */
void mem_fail_at(uint64_t k, uint64_t count);

/* Make every allocation of this thread fail that takes more than @bytes; zero: none. */
void mem_fail_above(size_t bytes);

/* Set a planned failure aside for a while and put it back: for code that only simulates the
 * machine and must not fail in its place. */
struct mem_plan {
    uint64_t countdown;
    uint64_t fail_count;
    size_t above;
};
struct mem_plan mem_fail_suspend(void);
void mem_fail_resume(struct mem_plan plan);

/* Return how many allocations of this thread failed because of the functions above. */
uint64_t mem_failures(void);

/* Return how many allocations this thread made, failed ones included. */
uint64_t mem_allocations(void);

/* Return how many bytes this thread has taken and not given back, as the system rounds them.
 * Negative: it has given back what others took. */
int64_t mem_bytes_held(void);

#endif
