/* What a job keeps of its own (app/app.h), written down by its worker, so that the next life of the
 * worker goes on where this one ended.
 *
 *     step of clock c -> save the state after c -> send the update of c
 *
 * In this order, and with the state before the last one kept too, a crash is without consequence
 * nearly always. Before the save is whole nothing of clock c was sent, and the state before it is
 * the newest. After it, the site tells whether clock c may have been counted: it lets a worker in
 * at the first clock that nobody has begun, so if that is c or earlier, nothing of c was taken by
 * anybody, and the state before it is right; else the newest one is. That is wrong in one case
 * only: the worker died between the save and the arrival of its whole update, while another worker
 * had begun clock c. Then this clock of this worker is missing in the tables, or a part of it.
 * Whoever saves less often than each clock also loses what came since the last save.
 *
 * Two objects in a store take turns, "worker-R-a" and "worker-R-b" for rank R, little-endian:
 *
 *     offset  bytes
 *          0      8  "STRAITws"
 *          8      4  version, 1
 *         12      4  rank
 *         16      4  workers
 *         20      4  zero
 *         24      8  serial: the newer one's is larger
 *         32      8  clock: the last in it
 *         40      8  clock of the one before; zero: none
 *         48      8  what it belongs to (struct app_state_ops)
 *         56      8  n
 *         64     32  the job, filled up with zeros
 *         96     24  zeros
 *        120      8  check: XXH3 of all before
 *        128      n  the state
 *      128+n      8  check of the state: begins as that of the head; for each block of 256 KiB,
 *                    XXH3 of the check so far and of the block's XXH3 */

#ifndef RUN_TRAINER_WORKER_STATE_H
#define RUN_TRAINER_WORKER_STATE_H

#include "app/app.h"
#include "loop/loop.h"
#include "store/store.h"

enum {
    RUN_STATE_VERSION = 1,
    RUN_STATE_HEAD_BYTES = 128,
    RUN_STATE_END_BYTES = 8,
    RUN_STATE_BLOCK_BYTES = 256 * 1024,
};

struct run_state_head {
    char job[APP_NAME_BYTES];
    uint32_t rank;
    uint32_t workers;
    uint64_t serial;
    uint64_t clock;
    uint64_t before;
    uint64_t about;
    uint64_t size;
};

/* Pure. Decoding: ERR_CORRUPT or ERR_VERSION, with a static text. */
void run_state_head_encode(const struct run_state_head *head, uint8_t out[RUN_STATE_HEAD_BYTES]);
MUST_USE enum err run_state_head_decode(const uint8_t bytes[RUN_STATE_HEAD_BYTES],
                                        struct run_state_head *out, const char **why_out);

struct run_state;

struct run_state_config {
    struct loop *loop;
    struct store *store; /* Becomes the state's own when it is created. */
    const char *place;   /* Where that is, for messages. Borrowed, as the job. */
    struct app *app;     /* One that keeps something: .ops->state. */
    uint32_t rank;
    uint32_t workers;
};

/* Look at what is there. ERR_INVALID with @text if it is of another job, worker or other data;
 * ERR_CORRUPT, ERR_VERSION, ERR_IO, ERR_NOMEM likewise. Nothing there is no error. Blocks, as
 * reading does. */
MUST_USE enum err run_state_create(const struct run_state_config *config,
                                   struct run_state **state_out, struct err_text *text);

/* A save under way is given up, nobody is called. NULL is allowed. */
void run_state_destroy(struct run_state *s);

/* Once, before the first save: give the job the state that fits a worker whose first clock is
 * @entry, or leave it as it was made if there is none; *@clock_out: of which clock it is, zero for
 * none. On OK @text has something that people should know, or is empty. ERR_INVALID if the job
 * is exact and the site behind the state: another run's, or servers that lost what the state holds.
 */
MUST_USE enum err run_state_load(struct run_state *s, uint64_t entry, uint64_t *clock_out,
                                 struct err_text *text);

/* Write down the state after @clock; the job must not change until @saved follows, from the loop,
 * once. An error leaves what was there; ERR_NOMEM is worth another try. */
void run_state_save(struct run_state *s, uint64_t clock, void (*saved)(enum err rc, void *user),
                    void *user);

/* How often to save, in clocks: @wanted, or if that is zero, each clock if the job is exact, else
 * so that no more than 4 MiB are written per clock. */
uint32_t run_state_every(const struct app *app, uint32_t wanted);

#endif
