/* A lab: regions and hosts as network namespaces, with links between them that have a rate, a
 * delay, jitter and loss, and that change while it runs. It lives in this process and one child
 * (the relay); when this process ends, for whatever reason, nothing is left of it.
 *
 * Runs on a real loop, one thread. Answers and events are JSON, and are the receiver's to release.
 */

#ifndef EMU_LAB_LAB_H
#define EMU_LAB_LAB_H

#include "emu/lab/plan.h"
#include "loop/loop.h"

#include <jansson.h>

enum { LAB_PATIENCE_MS = 2000 }; /* For processes inside, before they are made to end. */

struct lab;

struct lab_config {
    struct loop *loop;
    struct lab_plan *plan; /* Handed over on OK. */
    int64_t every_ns;      /* Between status events; zero: none. */
    void (*said)(json_t *event, void *user);
    /* The last call: it was told to quit (@why is NULL), or cannot go on. */
    void (*over)(const char *why, void *user);
    void *user;
};

/* Can this machine have one? It is tried, and nothing is left of it. ERR_REFUSED with @text if not,
 * as below; ERR_IO, ERR_NOMEM. Any thread, also while others run. */
MUST_USE enum err lab_able(struct err_text *text);

/* Set it up. ERR_REFUSED with @text: this machine cannot, and what to do; ERR_IO, ERR_NOMEM.
 * Nothing is left after an error. Not while other threads run: the process visits the namespaces.
 */
MUST_USE enum err lab_create(const struct lab_config *config, struct lab **lab_out,
                             struct err_text *text);

/* Ends every process inside. NULL is allowed. */
void lab_destroy(struct lab *lab);

/* {"event":"ready", ...}: who is where. NULL: no memory. */
json_t *lab_ready(const struct lab *lab);

/* {"event":"status", ...}. NULL: no memory. */
json_t *lab_status(struct lab *lab);

/* Do what a line says (emu/lab/command.h). @answered is called once, at once or later: {"event":
 * "done"}, "error" with a text, or what was asked for. Orders are done and answered one after the
 * other; only when too many wait is one refused before its turn. */
void lab_tell(struct lab *lab, const char *line, size_t size,
              void (*answered)(json_t *answer, void *user), void *user);

#endif
