/* Error codes shared by every module, and the check for programmer errors. */

#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))

/* Codes are ordered by the largest thing the error breaks, so that a caller can decide what to
 * throw away without knowing which function failed: see err_scope(). */
enum err {
    OK = 0,
    ERR_AGAIN = -1, /* Not a failure: a bounded queue is full. Retry after progress. */

    /* The call. */
    ERR_INVALID = -10,   /* The caller passed something we refuse. */
    ERR_MALFORMED = -11, /* Bytes do not decode. */
    ERR_TOO_BIG = -12,   /* A limit from base/limits.h would be exceeded. */
    ERR_NOT_FOUND = -13, /* No such thing. */
    ERR_EXISTS = -14,    /* It is there already. */
    ERR_CANCELLED = -15, /* Our side gave it up. */

    /* The connection. */
    ERR_CLOSED = -20,      /* The connection is gone. */
    ERR_TIMEOUT = -21,     /* No progress in time. */
    ERR_TLS = -22,         /* Handshake or certificate failure. */
    ERR_UNREACHABLE = -23, /* Nobody answers at that address. */
    ERR_CORRUPT = -24,     /* A frame did not match its check. */

    /* The peer. */
    ERR_PEER = -30,    /* It broke the protocol: drop every connection to it. */
    ERR_REFUSED = -31, /* It does not want us, or we do not want it; a reason was given. */
    ERR_VERSION = -32, /* No protocol version or critical field in common. */

    /* The node. */
    ERR_NOMEM = -40,  /* Out of memory at start-up or on the control path. */
    ERR_IO = -41,     /* Local disk or kernel refused us. */
    ERR_FULL = -42,   /* Local disk is full. */
    ERR_DENIED = -43, /* The file system's permissions forbid it. */
};

enum err_scope { ERR_SCOPE_NONE, ERR_SCOPE_CALL, ERR_SCOPE_CONN, ERR_SCOPE_PEER, ERR_SCOPE_NODE };

/* Return what has to be discarded because of @rc. */
enum err_scope err_scope(enum err rc);

/* Return a static, lower-case description without a trailing full stop. */
const char *err_string(enum err rc);

/* Text for people: what is wrong, where, and what to do. Control path only. */
enum { ERR_TEXT_BYTES = 512 };

struct err_text {
    char text[ERR_TEXT_BYTES];
};

/* Write the text and return @rc, so that a failing function can end in one line. @text may be
 * NULL. Too long a text is cut. */
enum err err_text_set(struct err_text *text, enum err rc, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Programmer errors stop the process in every build type; operating errors never reach here. */
#define CHECK(expr) ((expr) ? (void)0 : check_failed(#expr, __FILE__, __LINE__, __func__))

_Noreturn void check_failed(const char *expr, const char *file, int line, const char *func);

#endif
