#include "table/spec.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err table_spec_split(const char *in, struct table_spec *out)
{
    size_t size = strlen(in);
    char *rest = out->chars;
    char *word;

    out->count = 0;
    if (size >= sizeof(out->chars)) {
        return ERR_INVALID;
    }
    memcpy(out->chars, in, size + 1);
    while ((word = strsep(&rest, " ")) != NULL) {
        if (*word == '\0') {
            continue;
        }
        if (out->count == TABLE_SPEC_WORDS_MAX) {
            return ERR_INVALID;
        }
        out->words[out->count++] = word;
    }
    return out->count == 0 ? ERR_INVALID : OK;
}

uint32_t table_spec_find(const char *const *names, uint32_t count, const char *name)
{
    uint32_t i = 0;

    while (i < count && strcmp(names[i], name) != 0) {
        i++;
    }
    return i;
}

/* The locale "C" is built in: taking it neither allocates nor fails. Only the calling thread sees
 * the change. */
static locale_t spec_locale_enter(void)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);

    CHECK(plain != (locale_t)0);
    return uselocale(plain);
}

static void spec_locale_leave(locale_t before)
{
    freelocale(uselocale(before));
}

enum err table_spec_float(const char *chars, float *out)
{
    size_t digits = strspn(chars + (*chars == '-'), "0123456789.");
    locale_t before;
    float value;
    char *end;

    /* What strtof takes beyond that: spaces, "+", "inf", "nan" and hexadecimal. */
    if (digits == 0 || strspn(chars, "-+.eE0123456789") != strlen(chars)) {
        return ERR_INVALID;
    }
    before = spec_locale_enter();
    value = strtof(chars, &end);
    spec_locale_leave(before);
    if (end == chars || *end != '\0' || !(fabsf(value) <= FLT_MAX)) {
        return ERR_INVALID;
    }
    *out = value;
    return OK;
}

enum err table_spec_whole(const char *chars, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;

    if (*chars == '\0') {
        return ERR_INVALID;
    }
    for (; *chars != '\0'; chars++) {
        if (*chars < '0' || *chars > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*chars - '0'), &value)) {
            return ERR_INVALID;
        }
    }
    if (value > max) {
        return ERR_INVALID;
    }
    *out = value;
    return OK;
}

char *table_spec_print(float value, char *out)
{
    locale_t before = spec_locale_enter();
    int digits = 1;

    do {
        (void)snprintf(out, TABLE_SPEC_NUMBER_BYTES, "%.*g", digits, (double)value);
    } while (strtof(out, NULL) != value && ++digits <= FLT_DECIMAL_DIG);
    spec_locale_leave(before);
    return out;
}
