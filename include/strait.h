/* Strait: train one model on data that cannot leave the data centres it was born in.
 *
 * A worker joins a site, makes tables of float32, and works in clocks:
 *
 *     open -> join -> table ... -> { read -> (compute) -> update -> clock } -> leave -> close
 *
 * In clock c it reads parameters as the site's barrier allows, computes, and sends one update,
 * which strait_clock() ends. A worker that was left out for a while (a missed deadline, a lost
 * connection) is let in again by itself; the next clock is then more than one further, and what it
 * had for the clocks between does not count.
 *
 * Every function that can fail returns STRAIT_OK or a negative STRAIT_E_ code, and
 * strait_last_error() has the sentence. Results are written on success only, but for sizes where
 * it says so. A pointer for a result that is not wanted may be NULL.
 *
 * Timeouts are in seconds: negative waits for ever, zero does not wait. A wait that ends early,
 * by time or by strait_interrupt(), takes nothing back that was sent.
 *
 * Threads: every function may be called from any thread at any time. A thread that waits does the
 * work of the connection itself; while none does, one of the library's own threads does it.
 *
 * Processes: a handle belongs to the process that opened it. In the child of a fork it can only be
 * closed, everything else is STRAIT_E_FORKED; the child may open handles of its own.
 *
 * The library prints nothing, ends nothing and handles no signals. Handles are not addresses: one
 * that was closed, or is of another kind, is recognised (STRAIT_E_HANDLE). */

#ifndef STRAIT_H
#define STRAIT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define STRAIT_API __attribute__((visibility("default")))
#else
#define STRAIT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strait strait;       /* A worker of a site. */
typedef struct strait_op strait_op; /* Something under way. */

/* Numbers do not change and are not used again. */
enum strait_error {
    STRAIT_OK = 0,
    STRAIT_E_INVALID = -1,    /* An argument is wrong. */
    STRAIT_E_HANDLE = -2,     /* Not a handle of that kind, or closed. */
    STRAIT_E_FORKED = -3,     /* The handle is the parent process's. */
    STRAIT_E_TIMEOUT = -4,    /* Not in time. strait_last_error() says who is missing. */
    STRAIT_E_CANCELLED = -5,  /* Interrupted; or the operation was given up. */
    STRAIT_E_CLOSED = -6,     /* The handle was closed meanwhile, by another thread. */
    STRAIT_E_NOT_JOINED = -7, /* Only for members: strait_join() first. */
    STRAIT_E_BUSY = -8,       /* A clock is being ended; or too many operations are under way. */
    STRAIT_E_NOT_FOUND = -9,  /* No such table or file. */
    STRAIT_E_EXISTS = -10,    /* There already, and different; or sent already in this clock. */
    STRAIT_E_TOO_BIG = -11,   /* Beyond a limit, or does not fit. */
    STRAIT_E_NO_MEMORY = -12, /* Or the pool is full: see the option pool_mb. */
    STRAIT_E_REFUSED = -13,   /* The site does not want it. */
    STRAIT_E_FILE = -14,     /* A file could not be read or written, or is not what it should be. */
    STRAIT_E_CERT = -15,     /* A certificate or key is missing, wrong or not valid. */
    STRAIT_E_PROTOCOL = -16, /* The other side says what this version does not understand. */
    STRAIT_E_SYSTEM = -17    /* The system has no more threads, descriptors or randomness. */
};

/* The version of the library: 10000 * major + 100 * minor + patch, and as "0.1.0". */
STRAIT_API int strait_version(void);
STRAIT_API const char *strait_version_text(void);

/* "STRAIT_E_TIMEOUT"; never NULL. */
STRAIT_API const char *strait_error_name(int code);

/* Why the last call on @s that failed in this thread did: what, where, what to do. Empty if none
 * has. @s NULL: the last call that failed in this thread, whatever it was about; so after
 * strait_open(). Valid until the thread's next call that fails. Works with closed handles. */
STRAIT_API const char *strait_last_error(const strait *s);

/* Opening and closing. */

/* Prepare a worker and begin to connect, without waiting. @options is an object in JSON:
 *
 *     {"join": "tls://eu.example.org:7000", "cert": "certs"}
 *
 *     join       where the site's first server is: tls://HOST:PORT, tcp://HOST:PORT, unix:PATH
 *     cert       folder with the certificate, key and authority ("strait cert issue" writes it);
 *                the key is kept out of core dumps, on OpenSSL's secure heap: an application that
 *                wants one of its own size makes it first (CRYPTO_secure_malloc_init)
 *     name       whose certificate, if the folder has several; without TLS: what to be called
 *     site       without TLS: the site to name in greetings
 *     rank       number among the site's workers, 0 to 255; the site gives one if there is none
 *     streams    connections to each server, 1 to 16; for long links (1)
 *     insecure   true: no TLS, on this machine only; "twice": no TLS, wherever it is
 *     pool_mb    most memory for what is collected, sent and received, in MiB (1024)
 *     cache_mb   most memory for rows that were read, in MiB (256)
 *     pace       most to send to each server, as "100mbit" or "20MB/s"
 *     relay      where to listen for other workers if sums go by trees, as "tls://HOST:PORT", or
 *                "off"; default: any port, where the servers are reached from
 *     agg, edge  names of the switches that this machine is behind, for trees
 */
STRAIT_API int strait_open(const char *options, strait **out);

/* Become a member; waits until all servers have let it in. *@clock_out: the first clock to compute.
 * After STRAIT_E_TIMEOUT or STRAIT_E_CANCELLED joining goes on: call it again to wait on. */
STRAIT_API int strait_join(strait *s, double timeout_s, uint64_t *clock_out);

/* Stop being a member, so that nobody waits for this one; waits until all that was sent has
 * arrived. Operations under way end with STRAIT_E_CANCELLED. May be called again, as join. */
STRAIT_API int strait_leave(strait *s, double timeout_s);

/* Release everything, at once; waits of other threads end with STRAIT_E_CLOSED. To the site it
 * looks like a crash unless strait_leave() went before. NULL is allowed. In the child of a fork
 * only the handle ends: the memory is shared with the parent until one of them writes to it. */
STRAIT_API int strait_close(strait *s);

/* End all waits on @s that are under way, in all threads, with STRAIT_E_CANCELLED, within a tenth
 * of a second. NULL: on all handles. May be called in a signal handler. */
STRAIT_API void strait_interrupt(strait *s);

/* Tables: rows x width float32, known by name to the whole site. */

/* Make a table, or find it if it is there and the same. *@table_out: its number. @options is NULL
 * or an object in JSON:
 *
 *     {"apply": "sgd lr=0.1", "init": "normal 0.02", "combine": "mean"}
 *
 *     apply      how a round's update U enters the parameters W: "add" (W += U, the default),
 *                "sgd lr=0.1" (W -= lr U), "momentum lr=0.1 mu=0.9", "adagrad lr=0.1 eps=1e-8";
 *                behind lr also decay=step every=10 factor=0.5, decay=sqrt, decay=exp factor=0.99,
 *                warmup=5
 *     init       "zeros" (the default), "constant 0.5", "uniform 0.1", "normal 0.02"; seed=7
 *     combine    of the workers' updates: "sum" (the default), "mean", "samples" (weighted)
 *     chunk      elements of a chunk at most, 1 to 65536 (the default); fewer spread a small table
 *                over more lanes
 *
 * STRAIT_E_EXISTS: it is there and not the same. */
STRAIT_API int strait_table_create(strait *s, const char *name, uint64_t rows, uint32_t width,
                                   const char *options, double timeout_s, int *table_out);

/* Find a table that somebody made. STRAIT_E_NOT_FOUND. */
STRAIT_API int strait_table_find(strait *s, const char *name, double timeout_s, int *table_out);

struct strait_table {
    size_t size; /* Set it to sizeof(struct strait_table) before the call. */
    uint64_t rows;
    uint32_t width;
    uint32_t chunk; /* Elements of a chunk: strait_push_begin() wants whole ones. */
    char name[32];
    char apply[160];
    char init[96];
    char combine[16];
};

/* What a table is that was made or found with this handle. */
STRAIT_API int strait_table_info(strait *s, int table, struct strait_table *out);

/* Reading and updating. Elements count from 0 in the order of rows. Rows may come in any order and
 * more than once: their updates are added up. A count of zero is nothing to do. */

/* Read the current clock's values. With broadcast delivery they are here already. */
STRAIT_API int strait_read(strait *s, int table, uint64_t first, uint64_t count, float *out,
                           double timeout_s);
STRAIT_API int strait_read_rows(strait *s, int table, const int64_t *rows, uint64_t count,
                                float *out, double timeout_s);

/* Add to what strait_clock() will send. NaN and infinity are refused. On any error nothing was
 * added. */
STRAIT_API int strait_update(strait *s, int table, uint64_t first, uint64_t count,
                             const float *update);
STRAIT_API int strait_update_rows(strait *s, int table, const int64_t *rows, uint64_t count,
                                  const float *update);

/* End the clock: send what was collected, and wait until the next clock may be computed (broadcast
 * delivery; with pull delivery reading waits instead). @weight: samples behind the update, at least
 * 1; counts with "combine": "samples". *@next_out: the next clock. After STRAIT_E_TIMEOUT or
 * STRAIT_E_CANCELLED the clock is still being ended, and updates are STRAIT_E_BUSY: call it again
 * to wait on (@weight is then not looked at). */
STRAIT_API int strait_clock(strait *s, uint32_t weight, double timeout_s, uint64_t *next_out);

/* The same in the background. An operation goes on whether or not somebody waits for it. Arrays of
 * floats belong to it until it is done or freed; arrays of rows are copied. */

/* Send the clock's update of whole chunks now, without collecting it. Done when all of it has been
 * taken over for sending. Each chunk once per clock, pushed or updated. NaN and infinity are not
 * looked for; the servers refuse them (see strait_state.refused). */
STRAIT_API int strait_push_begin(strait *s, int table, uint64_t first, uint64_t count,
                                 const float *update, uint32_t weight, strait_op **op_out);

/* As strait_read() and strait_read_rows(). */
STRAIT_API int strait_pull_begin(strait *s, int table, uint64_t first, uint64_t count, float *out,
                                 strait_op **op_out);
STRAIT_API int strait_pull_rows_begin(strait *s, int table, const int64_t *rows, uint64_t count,
                                      float *out, strait_op **op_out);

/* As strait_clock(). If it is freed before it is done, the clock is ended all the same. */
STRAIT_API int strait_clock_begin(strait *s, uint32_t weight, strait_op **op_out);

/* Push the whole table, end the clock, read the whole table back. @update and @out may be the same
 * array. */
STRAIT_API int strait_exchange_begin(strait *s, int table, const float *update, uint32_t weight,
                                     float *out, strait_op **op_out);

/* Wait until the operation is done, and return how it ended. STRAIT_E_TIMEOUT, and
 * STRAIT_E_CANCELLED after strait_interrupt(): it goes on. May be called again, and by several
 * threads. */
STRAIT_API int strait_wait(strait_op *op, double timeout_s);

/* 1: it is done; 0: not yet; or negative. Does not wait, and does no work. */
STRAIT_API int strait_test(strait_op *op);

/* Of an operation that is done: the next clock (clock, exchange), else 0. STRAIT_E_BUSY: it is not
 * done. */
STRAIT_API int strait_op_value(strait_op *op, uint64_t *value_out);

/* Let go of it; one that is not done is given up, and its arrays are the caller's again. Of a push
 * the rest is sent if there is room for all of it at once: wait for it if all of it must count. To
 * be called once for each. NULL is allowed. */
STRAIT_API int strait_op_free(strait_op *op);

/* Keeping. */

/* Have all servers write a checkpoint; waits until it is on disk. *@number_out: its number. */
STRAIT_API int strait_save(strait *s, double timeout_s, uint64_t *number_out);

/* Write a table, as this worker reads it now, to a .npy file of NumPy: float32, (rows, width). An
 * old file is replaced when the new one is whole. */
STRAIT_API int strait_table_save(strait *s, int table, const char *path, double timeout_s);

/* Give a table the values of a .npy file: float32, of the same (rows, width), or flat. One worker
 * pushes the difference as its update of this clock, and all see it in the next one: exactly the
 * file's values where they were zero before, else within a rounding. So only for tables with apply
 * "add" and combine "sum" (else STRAIT_E_INVALID), that nobody else updates in this clock. */
STRAIT_API int strait_table_load(strait *s, int table, const char *path, double timeout_s);

/* Looking. */

struct strait_state {
    size_t size;        /* Set it to sizeof(struct strait_state) before the call. */
    uint64_t clock;     /* Being computed; 0: not a member. */
    uint64_t rebases;   /* How often it was left out and let in again, by any server. */
    uint64_t refused;   /* Updates that servers refused, for instance because of NaN. */
    uint64_t staleness; /* How many clocks behind a read may be; ssp only. */
    uint32_t rank;      /* UINT32_MAX: not known yet, as are all below. */
    uint32_t lanes;     /* The servers' threads; each worker talks to all of them. */
    int32_t broadcast;  /* 1: servers send what changes; 0: workers pull it. */
    char barrier[12];   /* "bsp", "ssp" or "tap". */
    char site[68];
    uint64_t lost_from; /* When a server left this worker out, or restarted without all that it */
    uint64_t lost_to;   /* had acknowledged: the clocks whose updates may be lost, the last time
                         * that this happened. 0: it never did. */
};

STRAIT_API int strait_info(strait *s, struct strait_state *out);

/* Who or what is @s waiting for? 1 and a sentence, cut to @size; 0 and an empty text if it does not
 * wait. From another thread than the one that waits. */
STRAIT_API int strait_why(strait *s, char *out, size_t size);

/* Counters, gauges and histograms as one line of JSON. *@size is the room at @out; on return what
 * is needed, with the end. STRAIT_E_TOO_BIG: it did not fit; ask again with more room. @out may be
 * NULL if *@size is 0. */
STRAIT_API int strait_metrics_json(strait *s, char *out, size_t *size);

/* Between sites: what is significant, by a measure of your own. Servers load it from a shared
 * library, which a run file or the file of `strait server --between` names:
 *
 *     between: {significance: custom mine, library: ./libmine.so, threshold: 0.02}
 *
 *     #include <strait.h>
 *
 *     STRAIT_SIGNIFICANCE_LIBRARY
 *
 *     STRAIT_SIGNIFICANCE(mine)
 *     {
 *         for (uint32_t i = 0; i < count; i++) {
 *             significance[i] = fabsf(held[i]) / (fabsf(values[i]) + 0.01F);
 *         }
 *     }
 *
 *     cc -shared -fPIC -o libmine.so mine.c
 *
 * It gets a chunk of a table: @count elements in rows of @width, their @values now, and for each
 * what was added to it since it was last sent (@held). What it writes is compared with the
 * threshold; what is above goes to the other sites, all else adds up until it is. NaN counts as
 * insignificant. It is called on the threads of the server, for several chunks at once, and must
 * not keep the pointers. All sites must use the same one. */
#define STRAIT_SIGNIFICANCE_VERSION 1

typedef void strait_significance_fn(const float *values, const float *held, uint32_t count,
                                    uint32_t width, float *significance);

#ifdef __cplusplus
#define STRAIT_SIGNIFICANCE_EXTERN extern "C" STRAIT_API
#else
#define STRAIT_SIGNIFICANCE_EXTERN extern STRAIT_API
#endif

#define STRAIT_SIGNIFICANCE_LIBRARY                                                                \
    STRAIT_SIGNIFICANCE_EXTERN const int strait_significance_version;                              \
    const int strait_significance_version = STRAIT_SIGNIFICANCE_VERSION;

#define STRAIT_SIGNIFICANCE(name)                                                                  \
    STRAIT_SIGNIFICANCE_EXTERN strait_significance_fn strait_significance_##name;                  \
    void strait_significance_##name(const float *values, const float *held, uint32_t count,        \
                                    uint32_t width, float *significance)

#ifdef __cplusplus
}
#endif

#endif
