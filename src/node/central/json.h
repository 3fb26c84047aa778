/* What sites see of their links, and plans, as the JSON that is flooded (docs/PROTOCOL.md): one to
 * the other, and nothing else. Sites are counted in the order of their names. */

#ifndef NODE_CENTRAL_JSON_H
#define NODE_CENTRAL_JSON_H

#include "node/site/between.h"

#include <jansson.h>

/* A word as an object; NULL: no memory. And back: false if no site of @sites can have said it. */
json_t *node_word_to_json(const struct links_word *word);
MUST_USE bool node_word_from_json(const json_t *fields, uint32_t sites, struct links_word *out);

/* A plan, likewise. False: it cannot be followed. Then *out is of no use. */
json_t *node_plan_to_json(const struct node_plan *plan, uint32_t sites);
MUST_USE bool node_plan_from_json(const json_t *fields, uint32_t sites, struct node_plan *out);

#endif
