/* Every limit of Strait that is not a matter of configuration, with its unit. A length that came
 * from outside is compared with one of these before it is used. */

#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

enum {
    /* Data. */
    LIMIT_CHUNK_ELEMENTS = 64 * 1024,             /* One chunk: the unit of everything. */
    LIMIT_CHUNK_BYTES = LIMIT_CHUNK_ELEMENTS * 4, /* 256 KiB of float32. */

    /* Frames. */
    LIMIT_FRAME_HEADER_BYTES = 64,
    LIMIT_CONTROL_BODY_BYTES = 64 * 1024,    /* Control frames. */
    LIMIT_DATA_BODY_BYTES = 4 * 1024 * 1024, /* Data frames. */
    LIMIT_NAME_BYTES = 64,                   /* Role, site and member names. */
    LIMIT_REASON_BYTES = 256,                /* Text in a refusal or a bye. */

    /* Connections. */
    LIMIT_SEND_QUEUE_FRAMES = 256,            /* Per connection and priority. */
    LIMIT_SEND_QUEUE_BYTES = 9 * 1024 * 1024, /* Data bytes queued on one connection. */
    LIMIT_CONTROL_QUEUE_BYTES = 1024 * 1024,  /* Control bytes queued on one connection. */
    LIMIT_READ_TURN_BYTES = 1024 * 1024,      /* Read from one connection in one turn. */
    LIMIT_SOFT_CLOSE_MS = 2000,               /* For the other end to hang up. */
    LIMIT_STREAMS_PER_PEER = 16,
    LIMIT_PEERS = 1024,                    /* Peers of one endpoint. */
    LIMIT_WINDOW_FRAMES = 4096,            /* Unacknowledged frames per peer. */
    LIMIT_WINDOW_BYTES = 64 * 1024 * 1024, /* Unacknowledged bytes per peer. */

    /* Strangers. */
    LIMIT_STRANGER_BYTES = 64 * 1024, /* Read before authentication. */
    LIMIT_STRANGER_MS = 2000,         /* Time to authenticate. */
    LIMIT_STRANGERS = 256,            /* Unauthenticated connections at once. */
    LIMIT_SOURCE_RATE_PER_S = 20,     /* New connections per source. */
    LIMIT_SOURCE_BURST = 40,
    LIMIT_SOURCES = 1024, /* Sources remembered. */

    /* Liveness. */
    LIMIT_HEARTBEAT_MS = 1000,
    LIMIT_HEARTBEATS_MISSED = 3,

    /* Threads. */
    LIMIT_MAILBOX_MESSAGES = 1024,
};

_Static_assert(LIMIT_CHUNK_BYTES <= LIMIT_DATA_BODY_BYTES, "a chunk fits a data frame");
_Static_assert(LIMIT_CONTROL_BODY_BYTES <= LIMIT_STRANGER_BYTES, "a stranger may say one thing");
_Static_assert(LIMIT_WINDOW_BYTES >= LIMIT_DATA_BODY_BYTES * 2, "the window holds two frames");
_Static_assert(LIMIT_SEND_QUEUE_BYTES >= LIMIT_DATA_BODY_BYTES * 2, "so does a queue");
_Static_assert((LIMIT_WINDOW_FRAMES & (LIMIT_WINDOW_FRAMES - 1)) == 0, "a power of two");

#endif
