/* Pieces of work that do not need each other, done by a few child processes: what keeps the
 * processor busy for long and has no loop. Each child is a copy of this process that is given the
 * numbers of pieces, one after the other, and answers with bytes. */

#ifndef CLI_PLAN_POOL_H
#define CLI_PLAN_POOL_H

#include "base/text.h"

#include <stdint.h>

enum { POOL_JOBS_MAX = 256, POOL_ANSWER_BYTES_MAX = 1 << 20, POOL_TICK_MS = 200 };

struct pool_work {
    uint32_t count;
    uint32_t jobs; /* Children at once, 1 to POOL_JOBS_MAX. */

    /* In a child: do this piece, and add to @out what is to be known of it. */
    enum err (*work)(uint32_t piece, struct text *out, struct err_text *text, void *user);

    /* Here: what a child has to say of this piece. Bytes that cannot be are ERR_MALFORMED. */
    enum err (*take)(uint32_t piece, const char *bytes, size_t size, void *user);

    /* What a piece is, for messages: "the server in Oregon". */
    const char *(*name)(uint32_t piece, void *user);

    /* Here: so many are done. After each and every POOL_TICK_MS; may be NULL. */
    void (*tick)(uint32_t done, void *user);
    void *user;
};

/* Do all pieces. The first that fails ends all of them, and its code and text are returned. Also
 * ERR_CLOSED (a child died), ERR_IO (there can be no children), ERR_CANCELLED (a signal, see
 * pool_signal()). When it returns no child is left. */
MUST_USE enum err pool_run(const struct pool_work *w, struct err_text *text);

/* SIGINT or SIGTERM, whichever ended the last pool_run(). */
int pool_signal(void);

/* Processors there are, within what pool_run() takes. */
uint32_t pool_jobs_default(void);

#endif
