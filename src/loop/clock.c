#include "loop/clock.h"

#include "base/err.h"

#include <time.h>

static int64_t clock_read_ns(clockid_t id)
{
    struct timespec t;

    CHECK(clock_gettime(id, &t) == 0);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_mono_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

int64_t clock_wall_us(void)
{
    return clock_read_ns(CLOCK_REALTIME) / 1000;
}

int64_t clock_cpu_ns(void)
{
    return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_cpu_of_ns(int pid)
{
    struct timespec t;
    clockid_t id;

    if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &t) != 0) {
        return 0;
    }
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
