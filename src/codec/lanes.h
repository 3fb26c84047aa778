/* Eight bits say which of eight lanes of a vector are meant; these tables say how they move. Each
 * entry is eight bytes, the first lane's lowest: the lane that each lane gets its float from. For
 * AVX2 only, which has no instruction for it. lanes_test.c has the rule that they follow. */

#ifndef CODEC_LANES_H
#define CODEC_LANES_H

#include <stdint.h>

/* Move the lanes that are meant together, to the front. Those behind get anything. */
extern const uint64_t codec_lanes_pack[256];

/* And back to where they were. The lanes that are not meant get anything. */
extern const uint64_t codec_lanes_spread[256];

#endif
