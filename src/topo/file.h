/* Topology files: JSON, version 1. topologies/README.md describes them. */

#ifndef TOPO_FILE_H
#define TOPO_FILE_H

#include "topo/topo.h"

enum { TOPO_FILE_BYTES_MAX = 4 << 20 };

/* Read a file. ERR_NOT_FOUND, ERR_IO, ERR_TOO_BIG, ERR_MALFORMED, ERR_NOMEM; @text says where,
 * what is wrong and what is allowed. */
MUST_USE enum err topo_file_load(const char *path, struct topo **topo_out, struct err_text *text);

/* Read the @size bytes of a file called @name. Errors as above, but not of files. */
MUST_USE enum err topo_file_parse(const char *name, const char *bytes, size_t size,
                                  struct topo **topo_out, struct err_text *text);

/* Read a small file of settings whole, into @out, which the caller releases: a regular file of at
 * most @bytes_max bytes. ERR_NOT_FOUND, ERR_IO, ERR_TOO_BIG, ERR_NOMEM with @text. */
MUST_USE enum err topo_file_read(const char *path, size_t bytes_max, struct text *out,
                                 struct err_text *text);

#endif
