/* The only place that reads a clock. Everything else gets its time as a value. */

#ifndef LOOP_CLOCK_H
#define LOOP_CLOCK_H

#include <stdint.h>

/* Monotonic nanoseconds: never goes back, means nothing across machines. */
int64_t clock_mono_ns(void);

/* UTC, microseconds since 1970: for people and certificates, never for protocols. */
int64_t clock_wall_us(void);

/* Processor time this process has used so far. */
int64_t clock_cpu_ns(void);

/* Of another process of ours; zero if there is none of that number. */
int64_t clock_cpu_of_ns(int pid);

#endif
