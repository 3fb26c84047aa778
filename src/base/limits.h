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

    /* Clocks of a worker beyond what its barrier takes now. Each clock takes a frame, so no correct
     * one can have more of them under way than frames. */
    LIMIT_CLOCKS_AHEAD = LIMIT_WINDOW_FRAMES,
    LIMIT_TAP_CLOCKS = 64 * 1024, /* Where nobody waits: ahead of the slowest worker. */

    /* What members may send beside data, each in a session, a second and at once beside that. */
    LIMIT_HEARTBEAT_RATE_PER_S = 200,
    LIMIT_HEARTBEAT_BURST = 400,
    LIMIT_PROBE_RATE_PER_S = 1000,
    LIMIT_PROBE_BURST = 13000,  /* Two measurements of 56 trains of 100, and pings. */
    LIMIT_ACK_RATE_PER_S = 500, /* Beyond one for each frame that they may be about. */
    LIMIT_ACK_BURST = 1000,
    LIMIT_OPERATION_RATE_PER_S = 500, /* Beyond one for each frame of data. */
    LIMIT_OPERATION_BURST = 1000,
    LIMIT_SITE_RATE_PER_S = 5000, /* Of servers. */
    LIMIT_SITE_BURST = 20000,

    /* Members whose session was ended because they broke the rules. */
    LIMIT_COOLDOWN_MS = 1000, /* Before they may come back; twice as long each time, */
    LIMIT_COOLDOWN_MAX_MS = 60 * 1000,
    LIMIT_COOLDOWN_FORGET_MS = 600 * 1000, /* until they have behaved for so long. */

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
