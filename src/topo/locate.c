#include "topo/locate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A position that cannot leave the text. */
struct locate {
    const char *at;
    const char *end;
};

static char locate_peek(const struct locate *l)
{
    return l->at < l->end ? *l->at : '\0';
}

static bool locate_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool locate_is_end(char c)
{
    return c == ',' || c == ']' || c == '}' || locate_is_space(c);
}

static void locate_space(struct locate *l)
{
    while (l->at < l->end && locate_is_space(*l->at)) {
        l->at++;
    }
}

/* Skip a string with its quotes; return its inside. */
static struct locate locate_string(struct locate *l)
{
    struct locate inside = {l->at + 1, l->at + 1};

    for (l->at++; l->at < l->end && *l->at != '"'; l->at++) {
        if (*l->at == '\\' && l->at + 1 < l->end) {
            l->at++;
        }
    }
    inside.end = l->at;
    if (l->at < l->end) {
        l->at++;
    }
    return inside;
}

/* Skip a value of any kind, as deep as it may be. */
static void locate_skip(struct locate *l)
{
    size_t depth = 0;

    do {
        char c = locate_peek(l);

        if (c == '"') {
            (void)locate_string(l);
        } else if (c == '{' || c == '[') {
            depth++;
            l->at++;
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
            l->at++;
        } else if (depth > 0) {
            l->at++;
        } else {
            while (l->at < l->end && !locate_is_end(*l->at)) {
                l->at++;
            }
        }
    } while (depth > 0 && l->at < l->end);
}

/* Go to the next member or element of the container that the position is in. False at its end. */
static bool locate_next(struct locate *l)
{
    locate_space(l);
    if (locate_peek(l) != ',') {
        return false;
    }
    l->at++;
    locate_space(l);
    return l->at < l->end;
}

/* From an object to its member @key: to the value, or to the key itself. */
static bool locate_member(struct locate *l, const char *key, size_t size, bool to_key)
{
    struct locate try = *l;

    if (locate_peek(&try) != '{') {
        return false;
    }
    try.at++;
    locate_space(&try);
    do {
        const char *start = try.at;
        struct locate name;

        if (locate_peek(&try) != '"') {
            return false;
        }
        name = locate_string(&try);
        locate_space(&try);
        try.at += try.at < try.end; /* The colon. */
        locate_space(&try);
        if ((size_t)(name.end - name.at) == size && memcmp(name.at, key, size) == 0) {
            l->at = to_key ? start : try.at;
            return true;
        }
        locate_skip(&try);
    } while (locate_next(&try));
    return false;
}

/* From an array to its element. */
static bool locate_element(struct locate *l, unsigned long index)
{
    struct locate try = *l;

    if (locate_peek(&try) != '[') {
        return false;
    }
    try.at++;
    locate_space(&try);
    for (unsigned long i = 0; i < index; i++) {
        locate_skip(&try);
        if (!locate_next(&try)) {
            return false;
        }
    }
    l->at = try.at;
    return true;
}

static struct topo_place locate_count(const char *json, const struct locate *l)
{
    struct topo_place place = {1, 1};

    for (const char *c = json; c < l->at && c < l->end; c++) {
        if (*c == '\n') {
            place.line++;
            place.column = 1;
        } else if (((unsigned char)*c & 0xc0) != 0x80) { /* Not the rest of a character. */
            place.column++;
        }
    }
    return place;
}

struct topo_place topo_locate(const char *json, size_t size, const char *path, const char *key)
{
    struct locate l = {json, json + size};
    bool found = true;

    locate_space(&l);
    while (*path != '\0' && found) {
        if (*path == '[') {
            char *rest;

            found = locate_element(&l, strtoul(path + 1, &rest, 10));
            path = *rest == ']' ? rest + 1 : rest;
        } else {
            size_t length;

            path += *path == '.';
            length = strcspn(path, ".[");
            found = locate_member(&l, path, length, false);
            path += length;
        }
    }
    if (found && key != NULL) {
        (void)locate_member(&l, key, strlen(key), true);
    }
    return locate_count(json, &l);
}
