/* How the processor rounds. A library that was built with -ffast-math, somewhere in an
 * application's process, makes its threads take tiny numbers for zero; results would then differ
 * from the server's. So whoever calls the loops sets the mode of IEEE 754 first and puts the
 * caller's back. Usually it is set already, and then this costs a few nanoseconds.
 *
 * The arithmetic in between must be in another file: the compiler does not know of the mode, and
 * may move operations across a change of it, but not across a call that it cannot look into. */

#ifndef BASE_ROUNDING_H
#define BASE_ROUNDING_H

#if defined(__x86_64__)
#include <xmmintrin.h>

enum {
    ROUNDING_IEEE = 0x1f80,      /* To nearest, tiny numbers kept, no exception traps. */
    ROUNDING_MODE_BITS = 0xffc0, /* The others say what happened before. */
};

static inline unsigned rounding_enter(void)
{
    unsigned before = _mm_getcsr();

    if ((before & ROUNDING_MODE_BITS) != ROUNDING_IEEE) {
        _mm_setcsr(ROUNDING_IEEE);
    }
    return before;
}

static inline void rounding_leave(unsigned before)
{
    if ((before & ROUNDING_MODE_BITS) != ROUNDING_IEEE) {
        _mm_setcsr(before);
    }
}

#else

/* Elsewhere threads start with the mode of IEEE 754, and we know of nobody who changes it. */
static inline unsigned rounding_enter(void)
{
    return 0;
}

static inline void rounding_leave(unsigned before)
{
    (void)before;
}

#endif

#endif
