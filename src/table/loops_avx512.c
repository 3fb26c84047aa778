/* The loops with vectors of 16 floats: compiled with -mavx512f. */

#include "table/loops_body.h"

const struct table_loops table_loops_avx512 = LOOPS_TABLE("avx512");
