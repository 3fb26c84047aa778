/* The loops with vectors of 16 floats: compiled with -mavx512f. */

#include "codec/loops_body.h"

const struct codec_loops codec_loops_avx512 = LOOPS_TABLE("avx512");
