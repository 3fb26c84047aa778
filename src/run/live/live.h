/* Runs of real processes, one for every server and worker, on some ground (run/backend/ground.h):
 * this machine with emulated links between regions, namespaces, other machines. A member that was
 * killed is started again; one that ends with an error ends the run. */

#ifndef RUN_LIVE_LIVE_H
#define RUN_LIVE_LIVE_H

#include "run/backend.h"
#include "run/updates/recorder.h"

struct run_hosts;

/* Where runs can be: the names, NULL-terminated; and for people what links are there. */
extern const char *const run_live_grounds[];
const char *run_live_about(const char *on);

/* Does a worker wait, by what a lane says (node/status.c) of itself and of that member? It asked
 * for what is not there yet, or is ahead of the others. */
bool run_live_waits(const struct json_t *status, const struct json_t *member);

struct run_live_options {
    const char *on;      /* As in run_live_grounds. */
    const char *program; /* The path of `strait`. */
    const char *dir; /* For the members' own words (NAME.log), checkpoints and workers' state. */
    bool temporary;  /* The folder goes with the run. */
    const struct run_recording *recording; /* Of what workers make, on this machine; may be NULL. */
    bool predict;                          /* Say at the end what the simulator makes of it. */

    /* On other machines. */
    const struct run_hosts *hosts;
    const char *const *command; /* Words in place of ssh, NULL-terminated; NULL: none. */
    uint32_t insecure;          /* How often somebody said so; zero: with certificates. */
    bool tidy;                  /* Leave nothing there, not even checkpoints. */
};

struct run_live_result {
    struct run_result base;
    uint32_t kills;    /* Members that were killed, by faults of the file or by somebody. */
    uint32_t restarts; /* Members that were started again. */
};

/* Has that ground all that the file wants? ERR_INVALID with @text: the key, and what to do. */
MUST_USE enum err run_live_check(const struct run_file *f, const char *on, struct err_text *text);

/* Run it. ERR_NOMEM, ERR_IO, what run_live_check() has, or what is wrong with the job, with @text;
 * a run that did not get to its end is no error but a result. No process is left behind, in any
 * case. */
MUST_USE enum err run_live(const struct run_file *f, const struct run_watcher *watcher,
                           const struct run_live_options *options,
                           struct run_live_result *result_out, struct err_text *text);

#endif
