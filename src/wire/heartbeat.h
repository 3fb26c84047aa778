/* heartbeat, probe, probe report: alive, and how fast is the link.
 *
 * A heartbeat carries the sender's monotonic time and echoes the last one it got, so that the
 * other end measures the round trip without trusting a clock of ours. Probes are padded frames of a
 * train; the report returns when each arrived. */

#ifndef WIRE_HEARTBEAT_H
#define WIRE_HEARTBEAT_H

#include "wire/frame.h"

struct buf;
struct buf_pool;

enum {
    WIRE_PROBE_TRAIN_MAX = 128,
    WIRE_PROBE_HEAD_BYTES = 24, /* Of a probe's body; the rest is padding. */
    WIRE_PROBE_FRAME_BYTES_MIN = WIRE_HEADER_BYTES + WIRE_PROBE_HEAD_BYTES,
    WIRE_PROBE_FRAME_BYTES_MAX = WIRE_HEADER_BYTES + LIMIT_CONTROL_BODY_BYTES,
    WIRE_LOAD_PPM_MAX = 1000000, /* More is cut to this by both ends. */
};

/* Times are from zero to this (73 years), delays from minus this: differences and sums of what a
 * peer sent then fit 64 bits. Encoding others is ERR_INVALID, decoding ERR_MALFORMED. */
#define WIRE_TIME_NS_MAX ((int64_t)1 << 61)

struct wire_heartbeat {
    int64_t sent_ns;      /* Sender's monotonic clock. */
    int64_t echo_sent_ns; /* Last .sent_ns received from the other end; zero: none. */
    int64_t echo_held_ns; /* How long the sender held it before this answer. */
    uint32_t load_ppm;    /* Load of the sender, millionths of its cores; bounded by the decoder. */
};

struct wire_probe {
    uint32_t train;
    uint16_t index; /* In the train. */
    uint16_t count; /* Probes in the train, at most WIRE_PROBE_TRAIN_MAX. */
    int64_t sent_ns;
};

/* Relative one-way delays: arrival on the receiver's clock minus .sent_ns. Only differences mean
 * anything. */
struct wire_probe_report {
    uint32_t train;
    uint16_t count;
    int64_t delay_ns[WIRE_PROBE_TRAIN_MAX];
};

MUST_USE enum err wire_heartbeat_encode(struct buf_pool *pool, const struct wire_heartbeat *beat,
                                        struct buf **frame_out);
MUST_USE enum err wire_heartbeat_decode(const uint8_t *body, size_t size,
                                        struct wire_heartbeat *out);

/* @frame_bytes is the size of the whole frame, header included: zeros fill it up. */
MUST_USE enum err wire_probe_encode(struct buf_pool *pool, const struct wire_probe *probe,
                                    uint32_t frame_bytes, struct buf **frame_out);
MUST_USE enum err wire_probe_decode(const uint8_t *body, size_t size, struct wire_probe *out);

MUST_USE enum err wire_probe_report_encode(struct buf_pool *pool,
                                           const struct wire_probe_report *report,
                                           struct buf **frame_out);
MUST_USE enum err wire_probe_report_decode(const uint8_t *body, size_t size,
                                           struct wire_probe_report *out);

#endif
