/* What all who read JSON for topologies need: a value from bytes, or a complaint with its place;
 * what kind a value is, in words; keys that do not belong. */

#ifndef TOPO_JSON_H
#define TOPO_JSON_H

#include "base/err.h"
#include "base/nearest.h"

#include <jansson.h>

/* Parse the @size bytes of a file called @name. The caller releases the value. ERR_MALFORMED with
 * line and column, ERR_NOMEM. */
MUST_USE enum err topo_json_parse(const char *name, const char *bytes, size_t size,
                                  json_t **root_out, struct err_text *text);

/* "an object", "a list", ... */
const char *topo_json_kind(const json_t *value);

/* The first key of @object that is not among @allowed, which ends with NULL, or NULL; @near has
 * then been offered those that are. */
const char *topo_json_stranger(const json_t *object, const char *const *allowed,
                               struct nearest *near);

#endif
