/* Files that tell servers of the sites: `strait server --between FILE`. YAML; docs/OPERATING.md has
 * every key. Those that run files have too mean the same here.
 *
 *     sites:
 *       - {name: virginia, address: "tls://10.1.0.5:7410"}
 *       - {name: tokyo, address: "tls://10.2.0.5:7410", pace: 50mbit}
 *     between: {threshold: 1%}
 *
 * One file does for all sites: each server finds itself in it. */

#ifndef RUN_FILE_SITES_FILE_H
#define RUN_FILE_SITES_FILE_H

#include "run/wan/between.h"

struct run_sites;

/* Whose view of the file is wanted. */
struct run_sites_reader {
    const char *site;
    uint32_t lanes; /* Of that site, which share its budget. */
    bool tls;       /* It has a certificate: then all sites have. */
};

/* Read a file, or the @size bytes of one called @name. ERR_NOT_FOUND, ERR_IO, ERR_TOO_BIG,
 * ERR_MALFORMED, ERR_NOMEM; @text then says "FILE:LINE:COLUMN: KEY: " what is wrong and what is
 * allowed. The caller releases the result. */
MUST_USE enum err run_sites_load(const char *path, const struct run_sites_reader *reader,
                                 struct run_sites **out, struct err_text *text);
MUST_USE enum err run_sites_parse(const char *name, const char *bytes, size_t size,
                                  const struct run_sites_reader *reader, struct run_sites **out,
                                  struct err_text *text);

/* NULL is allowed. */
void run_sites_free(struct run_sites *s);

/* What that site is told; lives as long as @s. */
const struct node_between *run_sites_between(const struct run_sites *s);

/* Add the file for the servers of a site of a run file to @out. Whether it fit is for the caller to
 * see: out->failed. */
void run_sites_print(const struct run_file *f, uint32_t site, run_between_place *place, void *user,
                     struct text *out);

#endif
