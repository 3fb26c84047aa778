/* Files that describe the problem of plan/tree.h: JSON, described in docs/PLAN.md. */

#ifndef PLAN_TREE_FILE_H
#define PLAN_TREE_FILE_H

#include "base/text.h"
#include "plan/tree.h"

#include <jansson.h>

enum {
    PLAN_TREE_FILE_BYTES_MAX = 64 << 20,
    PLAN_TREE_ID_BYTES_MAX = 128,
};

/* Owns what .problem borrows. Fields but .problem are private to src/plan. */
struct plan_tree_file {
    struct plan_tree_problem problem;
    struct plan_tree_place *places;
    double *costs;
    const json_t **nodes; /* Workers, then servers, as they are in the file. */
    json_t *root;
};

/* Read the @size bytes of a file called @name. ERR_MALFORMED, ERR_TOO_BIG, ERR_NOMEM; @text says
 * where, what is wrong and what is allowed. */
MUST_USE enum err plan_tree_file_parse(const char *name, const char *bytes, size_t size,
                                       struct plan_tree_file **file_out, struct err_text *text);
void plan_tree_file_free(struct plan_tree_file *f); /* NULL is allowed. */

/* The id of a worker, or from .problem.workers on of a server. */
const char *plan_tree_file_id(const struct plan_tree_file *f, uint32_t node);

/* Add "aggregation/edge" of a node; nothing if costs were measured. */
void plan_tree_file_place(const struct plan_tree_file *f, uint32_t node, struct text *out);

/* Plan for this server only. ERR_NOT_FOUND with @text. */
MUST_USE enum err plan_tree_file_choose(struct plan_tree_file *f, const char *server,
                                        struct err_text *text);

#endif
