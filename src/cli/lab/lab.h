/* What the commands of `strait lab` share: where a lab in the background keeps what it has, and how
 * it is asked.
 *
 *     /run/strait/lab-NAME/lock         held by the keeper and its relay as long as one of them
 * lives control      the socket (emu/lab/control.h) state.json   what "ready" said, for scripts log
 * what the keeper logs */

#ifndef CLI_LAB_LAB_H
#define CLI_LAB_LAB_H

#include "cli/command/context.h"

enum {
    LAB_PATH_BYTES = 128,
    LAB_MARK_BYTES = 64,
    LAB_LOCK_FD = 3,   /* Where a keeper in the background finds the lock. */
    LAB_ANSWER_S = 60, /* For an answer. */
};

#define LAB_FOLDER "/run/strait"
#define LAB_MARK "STRAIT_LAB" /* In the environment of processes inside: the lab's name. */

#define LAB_OPTION_NAME                                                                            \
    {                                                                                              \
        .name = "name", .placeholder = "NAME", .fallback = "lab",                                  \
        .help = "which lab, if there are several"                                                  \
    }

struct lab_place {
    const char *name;
    char dir[LAB_PATH_BYTES];
    char lock[LAB_PATH_BYTES];
    char control[LAB_PATH_BYTES];
    char state[LAB_PATH_BYTES];
    char log[LAB_PATH_BYTES];
};

/* The place of a lab of this name, which is borrowed. False if it cannot be a name. */
MUST_USE bool lab_place_of(const char *name, struct lab_place *place_out);

/* The same for --name, with an error that is printed. */
MUST_USE enum cli_exit lab_place_given(struct cli_context *ctx, struct lab_place *place_out);

/* Take the lock. The descriptor; -1 with errno: EWOULDBLOCK if a lab runs, ENOENT if there is no
 * folder and none is wanted (@make). */
MUST_USE int lab_lock(const struct lab_place *place, bool make);

/* Wait for the lock; -1 if it is not free in time, or as above. */
MUST_USE int lab_lock_wait(const struct lab_place *place, int wait_ms);

/* The keeper that holds the lock, by what it wrote there. Zero: that process holds it no more, or
 * not yet; what it had started may for a moment. Leaves errno alone. */
pid_t lab_keeper(const struct lab_place *place);

/* End what a dead keeper has left inside its namespaces: how many processes. @left_out: how many
 * would not end. */
uint32_t lab_clear_processes(const struct lab_place *place, uint32_t *left_out);

/* Remove the files and the folder. */
void lab_clear_files(const struct lab_place *place);

/* Say a line to the lab and get its answer; the error is printed, also if the answer is one. */
MUST_USE enum cli_exit lab_ask(struct cli_context *ctx, const struct lab_place *place,
                               const char *line, json_t **answer_out);

/* Hosts, links and lateness as "show" answers them. lab/show.c */
void lab_print(struct cli_context *ctx, const char *name, const json_t *show);

#endif
