/* --record-updates and what belongs to it, of strait run and strait worker. */

#ifndef CLI_CODEC_RECORDING_H
#define CLI_CODEC_RECORDING_H

#include "cli/command/context.h"
#include "run/updates/recording.h"
#include "run/updates/updates.h"

#define RECORDING_OPTIONS(whose_)                                                                  \
    {.name = "record-updates",                                                                     \
     .placeholder = "DIR",                                                                         \
     .kind = CLI_DIR,                                                                              \
     .help = "write what " whose_ " makes, before anything is held back, to files of this folder " \
             "for strait codec try"},                                                              \
        {.name = "record-every",                                                                   \
         .placeholder = "CLOCKS",                                                                  \
         .fallback = "1",                                                                          \
         .kind = CLI_NUMBER,                                                                       \
         .min = 1,                                                                                 \
         .max = RUN_UPDATES_EVERY_MAX,                                                             \
         .help = "record the first clock and then each of so many"},                               \
        {.name = "record-format",                                                                  \
         .placeholder = "FORMAT",                                                                  \
         .fallback = "npy",                                                                        \
         .kind = CLI_WORDS,                                                                        \
         .words = "npy jsonl",                                                                     \
         .help = "arrays of NumPy, or a line of JSON for each clock"},                             \
    {                                                                                              \
        .name = "record-large", .help = "record more than 2 GiB"                                   \
    }

/* What the options say; without --record-updates .dir is NULL. The error is printed. */
enum cli_exit recording_read(struct cli_context *ctx, struct run_recording *out);

/* For strait run: which worker, and on which ground. Make the folder, whose full path goes to @dir,
 * and say how large it will be. The error is printed. */
enum cli_exit recording_begin(struct cli_context *ctx, const struct run_file *f,
                              struct run_recording *out, char *dir, size_t size);

/* After the run; what is wrong is told. */
void recording_end(struct cli_context *ctx, const struct run_recording *how);

#endif
