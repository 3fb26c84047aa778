/* A worker as a real process has it: a loop that another thread drives while the job computes, a
 * node on it, and the trainer. Blocks until the training is over or somebody interrupts it.
 *
 *     meet the site -> plan (what is to be done?) -> make the job -> find what a former life has
 *     saved -> train -> leave
 *
 * All events are told on the calling thread, while the loop goes on without it. */

#ifndef RUN_LIVE_PROCESS_H
#define RUN_LIVE_PROCESS_H

#include "net/stream/tls.h"
#include "run/trainer/trainer.h"
#include "run/trainer/work.h"

struct run_process;

/* Any may be NULL but plan. */
struct run_process_events {
    /* The site is known: complete the work, which has what the site says (or nothing). An error
     * ends it all, with @text. */
    enum err (*plan)(const struct node_site *site, uint32_t rank, struct run_work *work,
                     struct err_text *text, void *user);
    void (*joined)(uint64_t clock, void *user);
    void (*clock)(struct run_process *p, const struct run_clock *c, void *user);
    void (*evaluated)(const struct run_evaluation *e, void *user);
    /* Something that people may want to know: a lane is away, was found again. */
    void (*notice)(const char *text, void *user);
    void (*unrecorded)(const char *text, void *user); /* As in run/trainer/trainer.h. */
    /* It waits, for a while now: for whom or what. */
    void (*waiting)(const char *text, void *user);
};

struct run_process_config {
    struct net_address join;           /* Lane 0 of the site. */
    struct net_tls_config tls;         /* Without .cert_path: in the clear, ... */
    struct net_socket_options options; /* Then, of its connections. */
    struct pki_identity identity;      /* ... and who we say we are. */
    uint32_t rank;                     /* NODE_RANK_ANY: the site gives one. */
    bool has_part;                     /* .part of the data is its; else that of its rank. */
    uint32_t part;
    uint16_t streams;          /* Zero: 1. */
    uint64_t pool_bytes;       /* Zero: 1 GiB. */
    uint64_t pace_bytes_per_s; /* As in node/worker/worker.h. */
    const struct node_pace *paces;
    uint32_t paces_count;
    struct net_address relay; /* As in node/worker/worker.h, with the next. */
    bool relay_off;
    const char *agg;
    const char *edge;
    int64_t compute_ns;    /* A step takes so long; zero: as long as it takes. */
    int64_t patience_ns;   /* Give up if a lane is not reached for so long; zero: never. */
    const char *state_dir; /* Where the job's own state is saved; NULL: nowhere. */
    uint32_t state_every;  /* As in run/trainer/trainer.h. */
    const struct run_recording *recording; /* Likewise. */
    struct run_work *work;                 /* Room for what is to be done. */
    const struct run_process_events *events;
    /* Asked often, on the calling thread: true ends it cleanly. */
    bool (*interrupted)(void *user);
    void *user;
};

/* Bytes with one lane, over all sessions. */
struct run_process_lane {
    uint64_t sent;
    uint64_t received;
};

struct run_process_result {
    enum err rc; /* ERR_CANCELLED: it was interrupted, and left. */
    /* Where that was. */
    enum { RUN_PROCESS_START, RUN_PROCESS_JOB, RUN_PROCESS_STATE, RUN_PROCESS_TRAINING } stage;
    struct err_text text;
    uint64_t clock; /* The last that ended. */
    uint64_t rebases;
    uint64_t refused;   /* Updates, other than for being late. */
    uint64_t lost_from; /* Updates of the clocks from here on may be lost, which showed when it
                         * left; 0: none. */
    uint32_t lanes_count;
    struct run_process_lane lanes[NODE_LANES_MAX];
};

/* Do it. */
void run_process(const struct run_process_config *config, struct run_process_result *result_out);

/* Inside clock(): how much went where so far. Returns the number of lanes, at most @max. */
uint32_t run_process_traffic(struct run_process *p, struct run_process_lane *lanes_out,
                             uint32_t max);

#endif
