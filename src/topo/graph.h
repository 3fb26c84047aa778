/* A network as planners see it: nodes and the links between them, as many as a carrier has. A link
 * joins two nodes; both directions share its rate, or each has it (.duplex). topo.h is the same for
 * those who run on a network: up to TOPO_REGIONS_MAX regions and every figure of each direction.
 *
 * Plain values; one thread. */

#ifndef TOPO_GRAPH_H
#define TOPO_GRAPH_H

#include "base/err.h"
#include "topo/topo.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TOPO_GRAPH_NODES_MAX = 4096,
    TOPO_GRAPH_LINKS_MAX = 65536,
    TOPO_GRAPH_ID_BYTES = 128 + 1,
    TOPO_GRAPH_NAME_BYTES = 128 + 1,
    TOPO_GRAPH_NOTES_MAX = 8,
    TOPO_GRAPH_NOTE_BYTES = 240,
    TOPO_GRAPH_FILE_BYTES_MAX = 16 << 20,
};

#define TOPO_GRAPH_MBPS_MIN 1e-6 /* One bit per second: its reciprocal is still a number. */
#define TOPO_GRAPH_MBPS_MAX 1e9
#define TOPO_GRAPH_RTT_MS_MAX 120000.0 /* As TOPO_TIME_MAX_NS, there and back. */
#define TOPO_GRAPH_USD_PER_HOUR_MAX 1e6
#define TOPO_GRAPH_USD_PER_GB_MAX 1000.0

/* Speeds by distance (APSP, section V): from the longest link to the shortest. */
#define TOPO_GRAPH_FAR_MBPS 500.0
#define TOPO_GRAPH_NEAR_MBPS 5000.0

struct topo_node {
    char id[TOPO_GRAPH_ID_BYTES];     /* As the file has it; nobody else's. */
    char name[TOPO_GRAPH_NAME_BYTES]; /* For people; the id if the file has none. */
    bool numbered; /* The id is a whole number in the file, so print it as one. */
    bool placed;   /* It has a place on the map: */
    double latitude;
    double longitude;
    double usd_per_hour; /* Of a machine; below zero: not known. */
    uint32_t first;      /* Of its links in .ends; see below. */
    uint32_t degree;     /* How many. */
};

struct topo_edge {
    uint32_t a; /* Nodes; never the same. No two edges join the same pair. */
    uint32_t b;
    double mbps;       /* TOPO_GRAPH_MBPS_MIN to TOPO_GRAPH_MBPS_MAX. */
    double rtt_ms;     /* Below zero: not known. */
    double usd_per_gb; /* Per 10^9 bytes that go over it; below zero: not known. */
    double km;         /* Along the surface; below zero: an end has no place. */
};

/* One end of a link, in the list of a node's links. */
struct topo_end {
    uint32_t node; /* At the other end. */
    uint32_t edge;
};

/* The fields may be read; topo_graph_*() fill them. */
struct topo_graph {
    char name[TOPO_GRAPH_NAME_BYTES];
    enum topo_duplex duplex;
    struct topo_node *nodes;
    uint32_t nodes_count;
    struct topo_edge *edges; /* In the order of the file. */
    uint32_t edges_count;
    struct topo_end
        *ends; /* Of node i: .first to .first + .degree - 1, by the other end's index. */

    /* What was assumed because the file does not say, or was made of what it says; for people. */
    char notes[TOPO_GRAPH_NOTES_MAX][TOPO_GRAPH_NOTE_BYTES];
    uint32_t notes_count;
};

/* Read the @size bytes of a file called @name: planner's JSON ({"regions": ..., "links": ...}), a
 * topology file (topo/file.h), or GraphML; which one, the content says. ERR_MALFORMED, ERR_TOO_BIG,
 * ERR_NOMEM; @text says where (line and column), what is wrong and what is allowed. A graph that is
 * not connected is refused, and so is one without links. GraphML is TOPO_DUPLEX_SHARED. */
MUST_USE enum err topo_graph_parse(const char *name, const char *bytes, size_t size,
                                   struct topo_graph **graph_out, struct err_text *text);

/* Build a graph of values: @g has .name, .duplex, .nodes and .edges without .first, .degree and
 * .km, and perhaps notes. Makes .ends and .km, checks all that topo_graph_parse() checks, and
 * copies; a node without a name has its id for one. ERR_INVALID, ERR_TOO_BIG, ERR_NOMEM with
 * @text. */
MUST_USE enum err topo_graph_create(const struct topo_graph *g, struct topo_graph **graph_out,
                                    struct err_text *text);

/* The graph of a topology: a link for each pair of regions that has one of its own, or for all
 * pairs if there is a default link; with the slower direction's rate and the mean of both prices.
 * What goes one way only is left out, with a note. Machines cost what those of @class do. Its
 * directions are TOPO_DUPLEX_FULL unless the topology says otherwise. Errors as
 * topo_graph_create(). */
MUST_USE enum err topo_graph_from(const struct topo *t, const char *class,
                                  struct topo_graph **graph_out, struct err_text *text);

/* The other way round, for those who run on it: ERR_TOO_BIG with more than TOPO_REGIONS_MAX nodes;
 * a link without a round-trip time has that of light in fibre along its way, and one without places
 * 1 ms. Names of regions are ids where these may be names, else "r" and the index. */
MUST_USE enum err topo_graph_topology(const struct topo_graph *g, struct topo **topo_out,
                                      struct err_text *text);

/* NULL is allowed. */
void topo_graph_free(struct topo_graph *g);

/* False if there is no such id; names are looked up next, if only one node has it. */
MUST_USE bool topo_graph_find(const struct topo_graph *g, const char *id, uint32_t *node_out);

/* The link that joins two nodes, or false. */
MUST_USE bool topo_graph_edge(const struct topo_graph *g, uint32_t a, uint32_t b,
                              uint32_t *edge_out);

/* Great-circle distance, on a sphere of 6371 km. */
double topo_graph_km(double latitude_a, double longitude_a, double latitude_b, double longitude_b);

/* Set the rates of all links by distance: @near_mbps for the shortest, @far_mbps for the longest,
 * linear between them; those of unknown length as if they had the mean one. All the same if no
 * lengths are known or all are equal: the mean of both rates. */
void topo_graph_by_distance(struct topo_graph *g, double near_mbps, double far_mbps);

#endif
