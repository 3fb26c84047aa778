/* The loops with vectors of 8 floats: compiled with -mavx2. */

#include "table/loops_body.h"

const struct table_loops table_loops_avx2 = LOOPS_TABLE("avx2");
