/* How thresholds fall. */

#include "codec/loops.h"

#include <math.h>

float codec_decay(float v, uint64_t clock)
{
    return (float)((double)v / sqrt((double)(clock == 0 ? 1 : clock)));
}
