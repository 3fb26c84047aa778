#include "base/text.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_CAPACITY_FIRST = 256 };

enum err text_init(struct text *t, size_t limit)
{
    *t = (struct text){.limit = limit, .capacity = TEXT_CAPACITY_FIRST};
    t->chars = mem_zalloc(t->capacity);
    return t->chars == NULL ? ERR_NOMEM : OK;
}

void text_init_fixed(struct text *t, char *storage, size_t size)
{
    CHECK(size > 0);
    *t = (struct text){.chars = storage, .capacity = size, .limit = size - 1};
    storage[0] = '\0';
}

void text_deinit(struct text *t)
{
    mem_free(t->chars);
    *t = (struct text){0};
}

void text_clear(struct text *t)
{
    t->size = 0;
    t->chars[0] = '\0';
    t->failed = false;
}

void text_drop(struct text *t, size_t size)
{
    CHECK(size <= t->size);
    memmove(t->chars, t->chars + size, t->size - size + 1);
    t->size -= size;
}

/* Make room for @size more characters and the terminator. */
static bool text_room(struct text *t, size_t size)
{
    size_t capacity = t->capacity;
    char *chars;

    if (t->failed || size > t->limit - t->size) {
        t->failed = true;
        return false;
    }
    while (capacity < t->size + size + 1) {
        capacity *= 2;
    }
    if (capacity == t->capacity) {
        return true;
    }
    chars = mem_zalloc(capacity);
    if (chars == NULL) {
        t->failed = true;
        return false;
    }
    memcpy(chars, t->chars, t->size + 1);
    mem_free(t->chars);
    t->chars = chars;
    t->capacity = capacity;
    return true;
}

void text_add_bytes(struct text *t, const char *chars, size_t size)
{
    if (text_room(t, size)) {
        memcpy(t->chars + t->size, chars, size);
        t->size += size;
        t->chars[t->size] = '\0';
    }
}

void text_add(struct text *t, const char *chars)
{
    text_add_bytes(t, chars, strlen(chars));
}

void text_addf(struct text *t, const char *fmt, ...)
{
    va_list args, again;
    int n;

    va_start(args, fmt);
    va_copy(again, args);
    n = vsnprintf(t->chars + t->size, t->capacity - t->size, fmt, args);
    va_end(args);
    CHECK(n >= 0);
    if ((size_t)n >= t->capacity - t->size && text_room(t, (size_t)n)) {
        (void)vsnprintf(t->chars + t->size, t->capacity - t->size, fmt, again);
    } else if (t->failed || (size_t)n > t->limit - t->size) {
        t->failed = true;
    }
    va_end(again);
    if (t->failed) {
        t->chars[t->size] = '\0';
    } else {
        t->size += (size_t)n;
    }
}

/* Return the length of the UTF-8 sequence at @s, or zero if it is none. */
static size_t text_utf8(const uint8_t *s)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    uint32_t code;

    if (s[0] < 0xc2 || s[0] > 0xf4) {
        return 0;
    }
    code = s[0] & (0xffu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = (code << 6) | (s[i] & 0x3fu);
    }
    return code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : size;
}

void text_add_json(struct text *t, const char *chars)
{
    const uint8_t *s = (const uint8_t *)chars;

    text_add_bytes(t, "\"", 1);
    while (*s != '\0') {
        size_t size = *s < 0x80 ? 1 : text_utf8(s);

        if (size == 0) {
            text_add(t, "\\ufffd");
            size = 1;
        } else if (*s == '"' || *s == '\\') {
            text_addf(t, "\\%c", *s);
        } else if (*s < 0x20 || *s == 0x7f) {
            text_addf(t, "\\u%04x", *s);
        } else {
            text_add_bytes(t, (const char *)s, size);
        }
        s += size;
    }
    text_add_bytes(t, "\"", 1);
}

/* U+0080 to U+009F are control characters too: U+009B starts an escape sequence. */
static bool text_is_control(const uint8_t *s)
{
    return *s < 0x20 || *s == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

void text_add_printable(struct text *t, const char *chars)
{
    const uint8_t *s = (const uint8_t *)chars;

    while (*s != '\0') {
        size_t size = *s < 0x80 ? 1 : text_utf8(s);

        if (*s == '\n' || *s == '\t') {
            text_add(t, *s == '\n' ? "\\n" : "\\t");
        } else if (size == 0 || text_is_control(s)) {
            text_addf(t, "\\x%02x", *s);
            size = 1;
        } else {
            text_add_bytes(t, (const char *)s, size);
        }
        s += size;
    }
}

bool text_is_utf8(const char *chars)
{
    const uint8_t *s = (const uint8_t *)chars;

    while (*s != '\0') {
        size_t size = *s < 0x80 ? 1 : text_utf8(s);

        if (size == 0) {
            return false;
        }
        s += size;
    }
    return true;
}
