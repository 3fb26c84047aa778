#include "client/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Of so many handles a thread remembers the last failure. */
enum { ERROR_HANDLES = 8 };

struct error_said {
    const void *handle;
    uint64_t order; /* Zero: unused. */
    char text[ERR_TEXT_BYTES];
};

static _Thread_local struct error_said error_said[ERROR_HANDLES];
static _Thread_local uint64_t error_order;

/* The entry of the handle, or the one that is longest out of use. */
static struct error_said *error_place(const void *handle)
{
    struct error_said *oldest = &error_said[0];

    for (int i = 0; i < ERROR_HANDLES; i++) {
        if (error_said[i].order != 0 && error_said[i].handle == handle) {
            return &error_said[i];
        }
        oldest = error_said[i].order < oldest->order ? &error_said[i] : oldest;
    }
    return oldest;
}

int client_error(const void *s, int code, const char *fmt, ...)
{
    struct error_said *said = error_place(s);
    char text[ERR_TEXT_BYTES]; /* What is printed may be what is in .text. */
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    said->handle = s;
    said->order = ++error_order;
    memcpy(said->text, text, sizeof(text));
    return code;
}

const char *strait_last_error(const strait *s)
{
    const struct error_said *last = NULL;

    for (int i = 0; i < ERROR_HANDLES; i++) {
        const struct error_said *said = &error_said[i];

        if (said->order != 0 && (s == NULL || said->handle == s) &&
            (last == NULL || said->order > last->order)) {
            last = said;
        }
    }
    return last == NULL ? "" : last->text;
}

int client_error_code(enum err rc)
{
    switch (rc) {
    case OK:
        return STRAIT_OK;
    case ERR_INVALID:
        return STRAIT_E_INVALID;
    case ERR_TOO_BIG:
        return STRAIT_E_TOO_BIG;
    case ERR_NOT_FOUND:
        return STRAIT_E_NOT_FOUND;
    case ERR_EXISTS:
        return STRAIT_E_EXISTS;
    case ERR_CANCELLED:
        return STRAIT_E_CANCELLED;
    case ERR_TIMEOUT:
        return STRAIT_E_TIMEOUT;
    case ERR_TLS:
        return STRAIT_E_CERT;
    case ERR_REFUSED:
        return STRAIT_E_REFUSED;
    case ERR_AGAIN:
    case ERR_NOMEM:
        return STRAIT_E_NO_MEMORY;
    case ERR_IO:
    case ERR_FULL:
    case ERR_DENIED:
        return STRAIT_E_SYSTEM;
    case ERR_MALFORMED:
    case ERR_CORRUPT:
    case ERR_PEER:
    case ERR_VERSION:
    case ERR_CLOSED:
    case ERR_UNREACHABLE:
        return STRAIT_E_PROTOCOL;
    }
    return STRAIT_E_PROTOCOL;
}

int client_error_pass(const void *s, enum err rc, const char *text)
{
    bool said = text != NULL && text[0] != '\0';

    if (rc == OK) {
        return STRAIT_OK;
    }
    return client_error(s, client_error_code(rc), "%s", said ? text : err_string(rc));
}

const char *strait_error_name(int code)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {
        {STRAIT_OK, "STRAIT_OK"},
        {STRAIT_E_INVALID, "STRAIT_E_INVALID"},
        {STRAIT_E_HANDLE, "STRAIT_E_HANDLE"},
        {STRAIT_E_FORKED, "STRAIT_E_FORKED"},
        {STRAIT_E_TIMEOUT, "STRAIT_E_TIMEOUT"},
        {STRAIT_E_CANCELLED, "STRAIT_E_CANCELLED"},
        {STRAIT_E_CLOSED, "STRAIT_E_CLOSED"},
        {STRAIT_E_NOT_JOINED, "STRAIT_E_NOT_JOINED"},
        {STRAIT_E_BUSY, "STRAIT_E_BUSY"},
        {STRAIT_E_NOT_FOUND, "STRAIT_E_NOT_FOUND"},
        {STRAIT_E_EXISTS, "STRAIT_E_EXISTS"},
        {STRAIT_E_TOO_BIG, "STRAIT_E_TOO_BIG"},
        {STRAIT_E_NO_MEMORY, "STRAIT_E_NO_MEMORY"},
        {STRAIT_E_REFUSED, "STRAIT_E_REFUSED"},
        {STRAIT_E_FILE, "STRAIT_E_FILE"},
        {STRAIT_E_CERT, "STRAIT_E_CERT"},
        {STRAIT_E_PROTOCOL, "STRAIT_E_PROTOCOL"},
        {STRAIT_E_SYSTEM, "STRAIT_E_SYSTEM"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].code == code) {
            return names[i].name;
        }
    }
    return "an unknown code";
}
