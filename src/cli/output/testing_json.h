/* JSON for tests, written with single quotes. */

#ifndef CLI_OUTPUT_TESTING_JSON_H
#define CLI_OUTPUT_TESTING_JSON_H

#include <jansson.h>
#include <string.h>

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline json_t *json_of(const char *text)
{
    static char json[65536];
    json_error_t error;
    json_t *out;
    size_t size = strlen(text);

    assert_true(size < sizeof(json));
    for (size_t i = 0; i <= size; i++) {
        json[i] = text[i] == '\'' ? '"' : text[i];
    }
    out = json_loads(json, 0, &error);
    if (out == NULL) {
        fail_msg("%s: %s", error.text, json);
    }
    return out;
}

#endif
