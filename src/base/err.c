#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum err_scope err_scope(enum err rc)
{
    if (rc == OK || rc == ERR_AGAIN) {
        return ERR_SCOPE_NONE;
    }
    if (rc > ERR_CLOSED) {
        return ERR_SCOPE_CALL;
    }
    if (rc > ERR_PEER) {
        return ERR_SCOPE_CONN;
    }
    return rc > ERR_NOMEM ? ERR_SCOPE_PEER : ERR_SCOPE_NODE;
}

const char *err_string(enum err rc)
{
    switch (rc) {
    case OK:
        return "ok";
    case ERR_AGAIN:
        return "queue full";
    case ERR_INVALID:
        return "invalid argument";
    case ERR_MALFORMED:
        return "malformed message";
    case ERR_TOO_BIG:
        return "limit exceeded";
    case ERR_NOT_FOUND:
        return "not found";
    case ERR_EXISTS:
        return "exists already";
    case ERR_CANCELLED:
        return "cancelled";
    case ERR_CLOSED:
        return "connection closed";
    case ERR_TIMEOUT:
        return "timed out";
    case ERR_TLS:
        return "tls failure";
    case ERR_UNREACHABLE:
        return "unreachable";
    case ERR_CORRUPT:
        return "frame check failed";
    case ERR_PEER:
        return "peer broke the protocol";
    case ERR_REFUSED:
        return "refused";
    case ERR_VERSION:
        return "no protocol version in common";
    case ERR_NOMEM:
        return "out of memory";
    case ERR_IO:
        return "input/output error";
    case ERR_FULL:
        return "disk full";
    case ERR_DENIED:
        return "permission denied";
    }
    return "unknown error";
}

enum err err_text_set(struct err_text *text, enum err rc, const char *fmt, ...)
{
    va_list args;

    if (text != NULL) {
        va_start(args, fmt);
        (void)vsnprintf(text->text, sizeof(text->text), fmt, args);
        va_end(args);
    }
    return rc;
}

_Noreturn void check_failed(const char *expr, const char *file, int line, const char *func)
{
    fprintf(stderr, "%s:%d: %s: check failed: %s\n", file, line, func, expr);
    abort();
}
