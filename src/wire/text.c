/* Strict UTF-8, character by character: none of this is on the path of an update. */

#include "wire/text.h"

#include "base/limits.h"

#include <string.h>

bool wire_name_valid(const char *chars, size_t size)
{
    if (size == 0 || size > LIMIT_NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        char c = chars[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '.' || c == '_' || c == '-')) {
            return false;
        }
    }
    return true;
}

/* How many bytes a character has by its first one; zero: no character starts so. */
static size_t text_char_bytes(uint8_t first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return 2;
    }
    if (first >= 0xe0 && first <= 0xef) {
        return 3;
    }
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* Return the size of the valid character at @at, or zero. */
static size_t text_char(const uint8_t *at, size_t left)
{
    size_t size = text_char_bytes(at[0]);
    uint32_t code;

    if (size == 0 || size > left) {
        return 0;
    }
    if (size == 1) {
        return at[0] >= 0x20 && at[0] != 0x7f ? 1 : 0;
    }
    code = at[0] & (0x7fU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = (code << 6) | (at[i] & 0x3f);
    }
    /* Control characters (C1), overlong forms, surrogates, beyond Unicode. */
    if (code < 0xa0 || (size == 3 && code < 0x800) || (code >= 0xd800 && code <= 0xdfff) ||
        (size == 4 && (code < 0x10000 || code > 0x10ffff))) {
        return 0;
    }
    return size;
}

bool wire_text_valid(const uint8_t *bytes, size_t size)
{
    size_t at = 0;

    while (at < size) {
        size_t step = text_char(bytes + at, size - at);

        if (step == 0) {
            return false;
        }
        at += step;
    }
    return true;
}

size_t wire_text_clean(uint8_t *out, size_t size, const char *text)
{
    const uint8_t *from = (const uint8_t *)text;
    size_t left = strlen(text);
    size_t done = 0;

    while (left > 0) {
        size_t step = text_char(from, left);
        size_t taken = step == 0 ? 1 : step;

        if (done + taken > size) {
            break;
        }
        if (step == 0) {
            out[done] = '?';
        } else {
            memcpy(out + done, from, step);
        }
        done += taken;
        from += taken;
        left -= taken;
    }
    return done;
}
