/* What all backends of a run have in common: where it is shown (run/view.h) and kept
 * (run/record/record.h), it is told what happens; whoever asked for the run gets a result. */

#ifndef RUN_BACKEND_H
#define RUN_BACKEND_H

#include "run/file/file.h"
#include "run/trainer/judge.h"
#include "run/trainer/tally.h"
#include "run/wan/share.h"

/* Bytes that went from one region to another, at full size; run/cost/cost.h says what they cost. */
struct run_traffic {
    uint32_t regions;
    uint64_t *bytes; /* [from * regions + to]; inside a region too, where that is known. */
};

MUST_USE enum err run_traffic_init(struct run_traffic *t, uint32_t regions);
void run_traffic_deinit(struct run_traffic *t);
uint64_t run_traffic_between(const struct run_traffic *t, uint32_t from, uint32_t to);

/* What was counted in a model becomes what it is at full size, with what was moved before. */
void run_traffic_complete(struct run_traffic *t, const struct run_file *f);

/* The same for one number. */
uint64_t run_bytes_full(uint64_t bytes, const struct run_file *f);

/* Over all pairs of different regions; and with what went inside of them. */
uint64_t run_traffic_total(const struct run_traffic *t);
uint64_t run_traffic_all(const struct run_traffic *t);

struct json_t;
struct run_prediction;

/* The group and the region of a worker, by its index in the file. */
const struct run_group *run_worker_group(const struct run_file *f, uint32_t rank);

/* Members are all servers, in the order of the file, then all workers. */
uint32_t run_members(const struct run_file *f);
uint32_t run_member_region(const struct run_file *f, uint32_t member);

/* How it goes. */
struct run_picture {
    const struct run_file *file;
    const struct app_ops *job;
    bool simulated; /* Time is virtual. */
    int64_t now_ns; /* Since the start. */
    const struct run_tally *tally;
    const struct run_traffic *traffic;
    uint64_t background_bytes; /* Of other people's traffic, at full size; not in the above. */
    /* By rank: what the worker is doing, as "computing"; NULL: it is away. */
    const char *const *states;
    char waits[256]; /* Who waits for whom; empty: nobody, or not known. */
    /* By site, at the end: what it shared with the others; NULL: it is not known. */
    const struct run_share *shares;
    /* At the end: what lanes sparsified; of those whose server is off nothing is known. */
    struct node_sparsify_totals served;
    /* Of processes, at the end: what there is to know of the ground, as an object, and what the
     * simulator says; NULL: nothing. */
    const struct json_t *network;
    const struct run_prediction *prediction;
};

enum run_end {
    RUN_END_CLOCKS,      /* All clocks of the file. */
    RUN_END_GOAL,        /* The objective or the accuracy. */
    RUN_END_CONVERGED,   /* The objective does not change any more. */
    RUN_END_DIVERGED,    /* The objective is beyond all bounds; .text says so. */
    RUN_END_TIME,        /* The time of the file. */
    RUN_END_INTERRUPTED, /* Somebody wanted it. */
    RUN_END_FAILED,      /* .text says why. */
};

/* "clocks", "goal", ... */
const char *run_end_name(enum run_end end);

struct run_result {
    enum run_end end;
    struct err_text text;
    bool refused;    /* Failed, because this machine cannot or may not. */
    int64_t took_ns; /* Virtual or real. */
};

enum run_wish {
    RUN_WISH_NOTHING,
    RUN_WISH_PICTURE,
    RUN_WISH_STOP, /* Cleanly. */
};

/* What is told meanwhile. Any may be NULL. */
struct run_watcher {
    /* A clock is complete; what went over the links until now. */
    void (*row)(const struct run_row *row, const struct run_traffic *traffic, void *user);
    /* Something happened: @kind is a word, @who a member or empty. */
    void (*event)(int64_t now_ns, const char *kind, const char *who, const char *text, void *user);
    /* Often: what is wanted now? */
    enum run_wish (*tick)(void *user);
    /* The picture that was wished for. */
    void (*show)(const struct run_picture *picture, void *user);
    /* The last one, and how it ended: the last call, unless there was no run at all. */
    void (*over)(const struct run_picture *picture, const struct run_result *result, void *user);
    void *user;
};

/* From what a lane says of itself (node_lane_status()): "clock 17 waits for w3, w4". False: it
 * waits for nobody. */
bool run_waits(const struct json_t *status, char *out, size_t size);

/* The settings of a site that a run file describes. If it is not the only one, it has no goal: its
 * servers see only their own workers, and whoever runs all sites judges. */
void run_site(const struct run_file *f, uint32_t site, struct node_site *site_out);

/* Is anything sparsified inside of its sites? */
bool run_sparsifies(const struct run_file *f);

/* Is that as good as the goal of the file, if it has one? */
bool run_goal_reached(const struct run_file *f, const struct run_tally_score *score);

/* What the file wants to be judged. Whoever sees all workers asks after each evaluation whether the
 * newest one has ended the run by converging or diverging; then how is in @result. */
void run_judge_open(const struct run_file *f, struct run_judge *j);
bool run_judge_look(struct run_judge *j, const struct run_tally *t, struct run_result *result_out);

/* The job of a run file for one worker, by its index in the file; @options borrows from the file.
 */
struct app_config run_app_config(const struct run_file *f, uint32_t rank);

/* Make a worker of the job and throw it away: what is wrong with options or data is found before
 * anything is started. As app_create(). */
MUST_USE enum err run_job_try(const struct run_file *f, struct err_text *text);

#endif
