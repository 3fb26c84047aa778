/* The readers behind topo_graph_parse(), one for each form of file. */

#ifndef TOPO_GRAPH_READ_H
#define TOPO_GRAPH_READ_H

#include "topo/graph.h"

/* Planner's JSON, or a topology file. Errors as topo_graph_parse(). */
MUST_USE enum err topo_graph_json_parse(const char *name, const char *bytes, size_t size,
                                        struct topo_graph **graph_out, struct err_text *text);

/* GraphML. */
MUST_USE enum err topo_graph_xml_parse(const char *name, const char *bytes, size_t size,
                                       struct topo_graph **graph_out, struct err_text *text);

#endif
