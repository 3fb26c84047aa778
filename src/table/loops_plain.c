/* The loops for every processor. */

#include "table/loops_body.h"

const struct table_loops table_loops_plain = LOOPS_TABLE("plain");
