/* The loops with vectors of 8 floats: compiled with -mavx2. */

#include "codec/loops_body.h"

const struct codec_loops codec_loops_avx2 = LOOPS_TABLE("avx2");
