/* From JSON values to a topology, for all who have such values: topology files, and run files that
 * hold a topology. Complaints name file, line, column and path: "a.json:7:12: links[3].rate: ...".
 */

#ifndef TOPO_READ_H
#define TOPO_READ_H

#include "topo/locate.h"
#include "topo/topo.h"

#include <jansson.h>

/* Where the values came from. */
struct topo_origin {
    const char *name;   /* Of the file. */
    const char *prefix; /* Before each path in complaints, "topology"; empty for a whole file. */
    bool versioned;     /* It must say "strait_topology": 1; else it may. */

    /* As topo_locate(); @path is without the prefix. */
    struct topo_place (*find)(const void *user, const char *path, const char *key);
    const void *user;
};

/* ERR_MALFORMED and ERR_TOO_BIG with @text; ERR_NOMEM. */
MUST_USE enum err topo_read(const json_t *root, const struct topo_origin *origin,
                            struct topo **topo_out, struct err_text *text);

#endif
