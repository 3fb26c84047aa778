/* What the files of `strait plan tree` share. */

#ifndef CLI_PLAN_TREE_H
#define CLI_PLAN_TREE_H

#include "cli/command/context.h"
#include "plan/tree_file.h"

/* The tree as a picture, and a line with its figures. plan/tree_view.c */
void plan_tree_view(struct cli_context *ctx, const struct plan_tree_file *f, const uint32_t *parent,
                    const struct plan_tree_answer *answer, double seconds);

/* By how much the tree may be dearer than the best: a part of what it costs. */
double plan_tree_gap(const struct plan_tree_answer *answer);

#endif
