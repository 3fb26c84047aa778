/* The links between the sites of a running cluster: what its sites say of them in, a network for
 * planners out. Pure; one thread.
 *
 *     create -> add(the first site's report) -> add(the others') ... -> get, graph
 *
 * The first report says which sites there are. Nothing in a report is believed without a look: a
 * report that cannot be of such a site is refused, and a figure that cannot be is one that is not
 * known. */

#ifndef CLI_PLAN_CLUSTER_LINKS_H
#define CLI_PLAN_CLUSTER_LINKS_H

#include "base/limits.h"
#include "net/address.h"
#include "sync/mirror.h"
#include "topo/graph.h"

#include <jansson.h>

enum { CLUSTER_SITES_MAX = MIRROR_SITES_MAX };

#define CLUSTER_NOBODY UINT32_MAX

/* What one site says of a link. */
struct cluster_word {
    bool said;
    bool up;
    uint64_t bytes_per_s; /* Zero: not measured. */
    uint64_t rtt_us;      /* Zero: not known. Also if nothing else is said. */
};

struct cluster_site {
    char name[LIMIT_NAME_BYTES + 1];
    char address[NET_ADDRESS_BYTES]; /* Of its first lane, as others say; empty: nobody does. */
    bool answered;
    uint64_t table_bytes; /* On all of its lanes; zero: not known. */
    bool no_centre;       /* It may not be the centre, ... */
    bool no_relay;        /* ... or pass on what is for others, as somebody says. */
};

/* Fields may be read. */
struct cluster_links {
    uint32_t count;       /* Of sites; zero before the first report. */
    uint32_t first;       /* Whose report was the first. */
    bool central;         /* They are around a centre, and joined by some links only. */
    double reserve;       /* Part of each link that their plans leave to others. */
    bool shared;          /* Both directions of a link share its rate. */
    uint64_t round_bytes; /* Of a round of sites; zero: not known. */
    struct cluster_site sites[CLUSTER_SITES_MAX]; /* By name. */

    /* By who says it and the other end; and what others say, by both ends, and who does. */
    struct cluster_word own[CLUSTER_SITES_MAX][CLUSTER_SITES_MAX];
    struct cluster_word heard[CLUSTER_SITES_MAX][CLUSTER_SITES_MAX];
    uint32_t heard_from[CLUSTER_SITES_MAX][CLUSTER_SITES_MAX];
};

enum cluster_state {
    CLUSTER_UP,
    CLUSTER_DOWN,
    CLUSTER_UNSAID, /* Nobody who answered has an end of it, so nobody knows. */
};

/* A link, as all who answered see it together. */
struct cluster_link {
    uint32_t a;
    uint32_t b;
    enum cluster_state state;
    uint64_t bytes_per_s; /* Of the slower direction; zero: neither is measured. */
    uint64_t rtt_us;      /* The shortest; zero: not known. */
    bool by_a;            /* It is what a site says at one of its ends, or at both. */
    bool by_b;
    uint32_t by; /* Else who has heard it; CLUSTER_NOBODY: nobody has. */
};

/* NULL: no memory. destroy(NULL) is allowed. */
struct cluster_links *cluster_links_create(void);
void cluster_links_destroy(struct cluster_links *c);

/* Take what a site says: a report of cli/status/status.h that has a status of lane 0. @site is the
 * one that was asked; not counted for the first report. ERR_NOT_FOUND if the first one is alone;
 * ERR_INVALID if it is not a report of that site, or of such a cluster. Then nothing was taken, and
 * @text says why. */
MUST_USE enum err cluster_links_add(struct cluster_links *c, uint32_t site, const json_t *report,
                                    struct err_text *text);

/* The link between two sites. False: there is none. */
MUST_USE bool cluster_links_get(const struct cluster_links *c, uint32_t a, uint32_t b,
                                struct cluster_link *out);

/* What a site pushes and pulls: the bytes of a round, else of a site's tables. Zero: not known. */
uint64_t cluster_links_bytes(const struct cluster_links *c);

/* The network, called @name. Links that are down are not in it, nor are sites that have no others;
 * a link of unknown rate has @assume_mbps, and is not in it either if that is zero. What is left
 * out or assumed is in the graph's notes, at most six. ERR_NOT_FOUND with @text: that is no network
 * for a planner, which has links and hangs together; ERR_NOMEM. */
MUST_USE enum err cluster_links_graph(const struct cluster_links *c, const char *name,
                                      double assume_mbps, struct topo_graph **graph_out,
                                      struct err_text *text);

/* A graph as planner's JSON (topologies/README.md), which topo_graph_parse() reads as the same
 * graph; its notes are under "source", behind @source. NULL: no memory. */
json_t *cluster_links_json(const struct topo_graph *g, const char *source);

#endif
