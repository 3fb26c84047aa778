/* Benchmarks: what is measured, and the two sides that are measured in one go. Ours is the session
 * of net/session/endpoint.h between two processes; the floor is the same bytes over bare blocking
 * sockets between two processes. Machines are noisy: only the ratio of the two means something. */

#ifndef CLI_BENCH_BENCH_H
#define CLI_BENCH_BENCH_H

#include "base/err.h"
#include "net/address.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    BENCH_CONGESTION_BYTES = 16,
    BENCH_PATH_BYTES = 256,
    BENCH_WORKERS_MAX = 16, /* Of a site. */
    BENCH_SERVERS_MAX = 16,
    BENCH_TURNS_MAX = 99,
};

/* How the two processes are joined. */
struct bench_way {
    enum net_scheme scheme; /* tcp, tls or unix; the floor has no tls and uses tcp. */
    char congestion[BENCH_CONGESTION_BYTES]; /* Empty: the system's. */
    char dir[BENCH_PATH_BYTES];              /* A folder of our own: socket files, certificates. */
};

/* A stream of frames one way; the last one is answered. */
struct bench_stream {
    uint32_t frame_bytes; /* Whole frames: header and body. */
    uint64_t frames;
};

struct bench_stream_result {
    int64_t wall_ns;
    int64_t cpu_ns; /* Of both processes. */
};

/* Frames of 64 bytes there and back, one at a time. */
struct bench_trip_result {
    int64_t p50_ns;
    int64_t p99_ns;
};

MUST_USE enum err bench_floor_stream(const struct bench_way *way, const struct bench_stream *stream,
                                     struct bench_stream_result *out, struct err_text *text);
MUST_USE enum err bench_floor_trips(const struct bench_way *way, uint32_t count,
                                    struct bench_trip_result *out, struct err_text *text);

MUST_USE enum err bench_ours_stream(const struct bench_way *way, const struct bench_stream *stream,
                                    struct bench_stream_result *out, struct err_text *text);
MUST_USE enum err bench_ours_trips(const struct bench_way *way, uint32_t count,
                                   struct bench_trip_result *out, struct err_text *text);

/* The middle of @count values, and the value below which @ppm of them are. Sorts them. */
int64_t bench_quantile(int64_t *values, uint32_t count, uint32_t ppm);

#endif
