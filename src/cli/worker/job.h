/* The options by which a job is given: to a worker, or to a server that tells its workers. */

#ifndef CLI_WORKER_JOB_H
#define CLI_WORKER_JOB_H

#include "cli/command/context.h"
#include "run/trainer/work.h"

/* For the table of a command. */
#define WORKER_JOB_OPTIONS(whose)                                                                  \
    {.name = "job",                                                                                \
     .placeholder = "NAME",                                                                        \
     .help = "what to train; strait worker --jobs lists what there is" whose},                     \
        {.name = "data",                                                                           \
         .placeholder = "PATH",                                                                    \
         .kind = CLI_FILE,                                                                         \
         .help = "the data, where the worker is; default: generated"},                             \
        {.name = "option",                                                                         \
         .placeholder = "KEY=VALUE",                                                               \
         .repeats = true,                                                                          \
         .help = "an option of the job, as lr=0.1"},                                               \
        {.name = "seed",                                                                           \
         .placeholder = "NUMBER",                                                                  \
         .help = "seed of the job's randomness, the same for all workers; default: 1"},            \
        {.name = "clocks",                                                                         \
         .placeholder = "NUMBER",                                                                  \
         .kind = CLI_NUMBER,                                                                       \
         .max = 1000000000,                                                                        \
         .help = "stop after so many clocks; 0, the default: when the site has reached its goal"}, \
    {                                                                                              \
        .name = "evaluate-every", .placeholder = "CLOCKS", .kind = CLI_NUMBER, .max = 1000000000,  \
        .help = "judge the model so often; 0: never; default: 10"                                  \
    }

/* Put what was given on top of @w. The error is printed. */
enum cli_exit worker_job_read(struct cli_context *ctx, struct run_work *w);

/* The same as the text for a site; empty if no job was given. The error is printed. */
enum cli_exit worker_job_text(struct cli_context *ctx, char out[NODE_JOB_BYTES]);

/* All jobs with their options. */
enum cli_exit worker_job_list(struct cli_context *ctx);

#endif
