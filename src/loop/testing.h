/* What the tests of this module share: waiting for something, with a limit and without sleeping. */

#ifndef LOOP_TESTING_H
#define LOOP_TESTING_H

#include "loop/clock.h"
#include "loop/loop.h"

#define TESTING_MS INT64_C(1000000)
#define TESTING_LIMIT_NS (60000 * TESTING_MS)

/* Run turns of the real @loop until @condition holds. Fails the test if it never does. */
#define TESTING_TURN_UNTIL(loop, condition)                                                        \
    for (int64_t testing_end_ns = clock_mono_ns() + TESTING_LIMIT_NS; !(condition);) {             \
        assert_true(clock_mono_ns() < testing_end_ns);                                             \
        loop_turn((loop), 10 * TESTING_MS);                                                        \
    }

#endif
