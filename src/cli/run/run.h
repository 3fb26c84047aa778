/* What the backends of `strait run` share on the command line: the view while it goes, the record,
 * Ctrl-C, the end. */

#ifndef CLI_RUN_RUN_H
#define CLI_RUN_RUN_H

#include "cli/command/context.h"
#include "cli/output/screen.h"
#include "cli/run/view.h"
#include "run/backend/hosts.h"
#include "run/record/record.h"

struct run_shown {
    struct cli_context *ctx;
    const char *backend;
    struct run_record *record; /* NULL: none is kept. */
    struct run_watcher watcher;
    bool ready;          /* It was said where the site is. */
    const char *opening; /* Said once it has begun; NULL: nothing. */
    bool utf8;
    int64_t next_ns;   /* When to show something next. */
    int64_t before_ns; /* The picture before: when, */
    uint64_t clock_before;
    uint64_t bytes_before;
    uint64_t *links_before; /* NULL: no picture before. */
    char news[160];         /* What people should see of the last event. */
    uint32_t unrecorded;    /* Workers whose updates were not recorded to the end; the first: */
    char unrecorded_why[640];
    bool record_waits; /* Its disk is full. */
    struct screen screen;
    json_t *json; /* The summary, once it is over. */
    enum cli_exit status;
};

/* Take over Ctrl-C: the first asks the run to stop, the second ends at once. The watcher tells the
 * view and the record. */
void run_shown_begin(struct run_shown *s, struct cli_context *ctx, const char *backend,
                     struct run_record *record);

/* Take what is on the screen away, so that something else can be printed there. */
void run_shown_clear(struct run_shown *s);

/* After the run: give Ctrl-C back, print the end (unless there was none), finish the record. The
 * exit status. */
enum cli_exit run_shown_end(struct run_shown *s);

/* The run itself did not begin, for @rc: something is wrong with the job, or with the machine. */
enum cli_exit run_not_begun(struct cli_context *ctx, const struct run_file *f, enum err rc,
                            const struct err_text *text);

/* Say what the run will be, by simulation; @without is the same without its budget, if it has one.
 * @record may be NULL. */
enum cli_exit run_estimate(struct cli_context *ctx, const struct run_file *f,
                           const struct run_file *without, struct run_record *record);

/* Where a record goes if nobody says where: a new folder, called after @name. Below the home it is
 * not made yet; else it is a private one. The error is printed. */
enum cli_exit run_default_dir(struct cli_context *ctx, const char *name, char *out, size_t size);

/* Other machines for a run: which, and how to get there. */
struct run_remote {
    struct run_hosts *hosts; /* NULL: it is on this one. */
    const char *command[RUN_HOSTS_COMMAND_MAX + 1];
    char *words;       /* Holds those. */
    uint32_t insecure; /* How often. */
};

/* Read the file of --hosts, see that the machines fit the run, and ask all of them whether they can
 * do it. The error is printed; run_remote_close() is due in any case. */
enum cli_exit run_remote_open(struct cli_context *ctx, const struct run_file *f,
                              const char *program, struct run_remote *remote);
void run_remote_close(struct run_remote *remote);

/* The nodes of the Slurm job that we are in, one for each site. The error is printed; the hosts are
 * the caller's in any case, if there are some. */
enum cli_exit run_nodes_open(struct cli_context *ctx, const struct run_file *f,
                             struct run_hosts **out);

/* Write the batch script of a run, submit it, and follow it to its end. */
enum cli_exit run_slurm_outside(struct cli_context *ctx, const struct run_file *f,
                                const char *program);

/* Our own program, whatever it was called by. The error is printed. */
enum cli_exit run_program(struct cli_context *ctx, char *out, size_t size);

/* A folder that is to be removed with run_temporary_remove(). The error is printed. */
enum cli_exit run_temporary(struct cli_context *ctx, char *out, size_t size);
void run_temporary_remove(const char *dir);

/* Add to the summary, before the end is printed; @object is released. */
void run_shown_add(struct run_shown *s, const char *key, json_t *object);

#endif
