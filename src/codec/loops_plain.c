/* The loops for every processor. */

#include "codec/loops_body.h"

const struct codec_loops codec_loops_plain = LOOPS_TABLE("plain");
