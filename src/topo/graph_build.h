/* For those who make graphs of something else: the last steps, which are the same for all. A draft
 * is a struct topo_graph of the caller's with .nodes and .edges, whose edges may lack a rate. */

#ifndef TOPO_GRAPH_BUILD_H
#define TOPO_GRAPH_BUILD_H

#include "base/map.h"
#include "topo/graph.h"

enum { TOPO_GRAPH_SAY_BYTES = 2 * 4 * 48 + 8 };

#define TOPO_GRAPH_NOBODY UINT32_MAX

/* Nodes by id. */
struct topo_graph_index {
    struct map map;
};

MUST_USE enum err topo_graph_index_init(struct topo_graph_index *x, uint32_t limit);
void topo_graph_index_deinit(struct topo_graph_index *x);

/* Add a node, which stays where it is. ERR_EXISTS, ERR_TOO_BIG at the limit. */
MUST_USE enum err topo_graph_index_add(struct topo_graph_index *x, struct topo_node *node);

/* NULL: there is none. */
struct topo_node *topo_graph_index_find(const struct topo_graph_index *x, const char *id);

/* The same number for both directions of a pair of nodes, and another one for each pair. */
uint64_t topo_graph_pair(uint32_t a, uint32_t b);

/* True for what may be an id or a name: 1 to 128 bytes of topo_text_valid(). */
bool topo_graph_text_valid(const char *chars);

/* True for a whole number as programs write it: without a plus or leading zeros. */
bool topo_graph_whole(const char *id);

/* A node for people: "'4' (Chicago)", or "'ams'" if it has no name of its own. */
struct topo_graph_say {
    char chars[TOPO_GRAPH_SAY_BYTES];
};
const char *topo_graph_say(const struct topo_node *node, struct topo_graph_say *out);

/* Set .km of all links. */
void topo_graph_measure(struct topo_graph *g);

/* Rates by length. */
struct topo_graph_rule {
    double near_mbps;
    double far_mbps;
    double shortest_km;
    double longest_km;
    double mean_km;
    uint32_t known; /* Links with a length. */
};

void topo_graph_rule_init(struct topo_graph_rule *r, const struct topo_graph *measured,
                          double near_mbps, double far_mbps);
double topo_graph_rule_mbps(const struct topo_graph_rule *r, double km);

/* Add a note to a draft. What does not fit is cut. */
void topo_graph_note(struct topo_graph *g, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Note that @lacking of the links had no speed and got it by @r, and that @unplaced of these have
 * no length. */
void topo_graph_note_speeds(struct topo_graph *g, const struct topo_graph_rule *r, uint32_t lacking,
                            uint32_t unplaced);

/* topo_graph_create(), and which node a complaint is about; TOPO_GRAPH_NOBODY: about none. */
MUST_USE enum err topo_graph_build(const struct topo_graph *draft, struct topo_graph **graph_out,
                                   uint32_t *node_out, struct err_text *text);

/* topo_graph_from(), likewise. */
MUST_USE enum err topo_graph_from_build(const struct topo *t, const char *class,
                                        struct topo_graph **graph_out, uint32_t *node_out,
                                        struct err_text *text);

#endif
