/* What the tests of the library share: calls that must succeed or fail in a certain way. */

#ifndef CLIENT_TESTING_CALLS_H
#define CLIENT_TESTING_CALLS_H

#include "client/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* The call succeeds, or the test says why not. */
#define OKAY(call)                                                                                 \
    do {                                                                                           \
        int okay_code = (call);                                                                    \
        if (okay_code < 0) {                                                                       \
            fail_msg("%s: %s: %s", #call, strait_error_name(okay_code), strait_last_error(NULL));  \
        }                                                                                          \
    } while (0)

/* The call fails with that code, and its sentence has these words. */
#define FAILS(call, code, words)                                                                   \
    do {                                                                                           \
        assert_string_equal(strait_error_name(call), #code);                                       \
        if (strstr(strait_last_error(NULL), (words)) == NULL) {                                    \
            fail_msg("%s: \"%s\" is not in \"%s\"", #call, (words), strait_last_error(NULL));      \
        }                                                                                          \
    } while (0)

/* The same for a call that waits a moment and fails, perhaps in other words at first: again and
 * again until it does so. */
#define FAILS_SOON(call, code, words)                                                              \
    do {                                                                                           \
        int64_t soon_ns = clock_mono_ns() + (int64_t)(T * 1e9);                                    \
        do {                                                                                       \
            assert_string_equal(strait_error_name(call), #code);                                   \
        } while (strstr(strait_last_error(NULL), (words)) == NULL && clock_mono_ns() < soon_ns);   \
        FAILS(call, code, words);                                                                  \
    } while (0)

/* How long everything may take. */
#define T TESTING_LIMIT_S

static inline strait *open_worker(const struct client_testing_site *t, const char *more)
{
    char options[TESTING_OPTIONS_BYTES];
    strait *s = NULL;

    OKAY(strait_open(testing_options(t, more, options), &s));
    assert_non_null(s);
    return s;
}

static inline strait *join_worker(const struct client_testing_site *t, const char *more)
{
    strait *s = open_worker(t, more);

    OKAY(strait_join(s, T, NULL));
    return s;
}

/* The two workers of a site that waits for both, ranks 0 and 1: the first has only asked to join
 * when the second one does. */
static inline void join_two(const struct client_testing_site *t, strait **a_out, strait **b_out)
{
    strait *a = open_worker(t, ", \"rank\": 0"), *b = open_worker(t, ", \"rank\": 1");

    FAILS(strait_join(a, 0, NULL), STRAIT_E_TIMEOUT, "");
    OKAY(strait_join(b, T, NULL));
    OKAY(strait_join(a, T, NULL));
    *a_out = a;
    *b_out = b;
}

static inline int make_table(strait *s, const char *name, uint64_t rows, uint32_t width)
{
    int table = -1;

    OKAY(strait_table_create(s, name, rows, width, NULL, T, &table));
    assert_true(table >= 0);
    return table;
}

static inline void leave_worker(strait *s)
{
    OKAY(strait_leave(s, T));
    OKAY(strait_close(s));
}

/* An array of one value. */
static inline float *floats_of(float value, uint64_t count)
{
    float *floats = calloc(count, sizeof(float));

    assert_non_null(floats);
    for (uint64_t i = 0; i < count; i++) {
        floats[i] = value;
    }
    return floats;
}

static inline void assert_floats(const float *floats, uint64_t count, float value)
{
    for (uint64_t i = 0; i < count; i++) {
        if (floats[i] != value) {
            fail_msg("element %llu is %g and not %g", (unsigned long long)i, (double)floats[i],
                     (double)value);
        }
    }
}

#endif
