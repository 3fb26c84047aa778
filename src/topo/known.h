/* Networks that come with the program, so that it has them wherever it is installed: the same bytes
 * as files of topologies/, which the build puts in. */

#ifndef TOPO_KNOWN_H
#define TOPO_KNOWN_H

#include "topo/graph.h"

struct topo_known {
    const char *name; /* Of the file, without the folder: "b4.json". */
    const unsigned char *bytes;
    size_t size;
};

/* Ends with a name that is NULL. */
extern const struct topo_known topo_knowns[];

/* The graph of one of them; @name must be there. ERR_NOMEM with @text. */
MUST_USE enum err topo_known_graph(const char *name, struct topo_graph **graph_out,
                                   struct err_text *text);

#endif
