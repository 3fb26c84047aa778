/* The catalogue of errors that people meet: an id, what it means and what to do.
 *
 * An id is printed as STRAIT-NNNN, is never reused, and has a page: strait help STRAIT-NNNN.
 * Groups: 00xx usage, 01xx files and certificates, 02xx network, 03xx waiting at run time, 04xx
 * simulator, lab and scripts, 09xx machine and limits. tools/tidy checks that each id is in the
 * catalogue (error.c) and in use; one that is kept for later says "reserved" in its comment. */

#ifndef CLI_COMMAND_ERROR_H
#define CLI_COMMAND_ERROR_H

#include "base/err.h"
#include "cli/command/command.h"

enum cli_error_id {
    CLI_ERROR_NONE = 0,

    CLI_ERROR_UNKNOWN_COMMAND = 1,
    CLI_ERROR_UNKNOWN_OPTION = 2,
    CLI_ERROR_BAD_VALUE = 3,
    CLI_ERROR_MISSING_ARGUMENT = 4,
    CLI_ERROR_EXTRA_ARGUMENT = 5,
    CLI_ERROR_MISSING_COMMAND = 6,
    CLI_ERROR_UNKNOWN_TOPIC = 7,
    CLI_ERROR_BAD_LOG_FILTER = 8,
    CLI_ERROR_INSECURE = 9,
    CLI_ERROR_SETTINGS = 10,

    CLI_ERROR_FILE = 101,
    CLI_ERROR_EXISTS = 102,
    CLI_ERROR_STDOUT = 103,
    CLI_ERROR_NO_AUTHORITY = 110,
    CLI_ERROR_BAD_CERT = 111,
    CLI_ERROR_BAD_IDENTITY = 112,
    CLI_ERROR_NOT_ON_RECORD = 113,
    CLI_ERROR_CERT_REFUSED = 114,
    CLI_ERROR_BAD_TOKEN = 115,
    CLI_ERROR_NO_CHECKPOINT = 120,
    CLI_ERROR_DAMAGED = 121,
    CLI_ERROR_NO_TABLE = 122,
    CLI_ERROR_RESTORE = 123,
    CLI_ERROR_KEEP = 124,
    CLI_ERROR_STATE = 125,
    CLI_ERROR_UPDATES = 126,
    CLI_ERROR_STORE = 127,
    CLI_ERROR_STORE_FULL = 128,

    CLI_ERROR_UNREACHABLE = 201,
    CLI_ERROR_LISTEN = 202,
    CLI_ERROR_WRONG_AUTHORITY = 203,
    CLI_ERROR_JOIN_REFUSED = 204,
    CLI_ERROR_JOIN_LATER = 205,
    CLI_ERROR_PEER_REFUSED = 206,
    CLI_ERROR_SITE_DIFFERS = 207,
    CLI_ERROR_TABLE_TOO_BIG = 208,
    CLI_ERROR_TABLE_STAYS = 209,

    CLI_ERROR_RUN_FAILED = 301,
    CLI_ERROR_JOB = 302,

    CLI_ERROR_SCENARIO = 401,
    CLI_ERROR_SIM_BROKEN = 402,
    CLI_ERROR_RUN_FILE = 403,
    CLI_ERROR_HOSTS = 404,
    CLI_ERROR_PLAN_FILE = 405,
    CLI_ERROR_NO_TREE = 406,
    CLI_ERROR_NO_PLACE = 407,
    CLI_ERROR_PLAN_ANSWER = 408,
    CLI_ERROR_PLAN_BROKEN = 409,
    CLI_ERROR_TOPOLOGY = 410,
    CLI_ERROR_LAB_REFUSED = 411,
    CLI_ERROR_LAB_RUNS = 412,
    CLI_ERROR_NO_LAB = 413,
    CLI_ERROR_LAB = 414,
    CLI_ERROR_PLAN_PROCESS = 415,
    CLI_ERROR_NO_LINKS = 416,

    CLI_ERROR_NO_MEMORY = 901,
    CLI_ERROR_BENCH = 902,
};

/* Why a command could not start its loop and threads. */
static inline const char *cli_error_start(enum err rc)
{
    return rc == ERR_IO ? "the system gives it no descriptor or thread (see ulimit -n and -u)"
                        : err_string(rc);
}

struct cli_error {
    enum cli_error_id id;
    enum cli_exit exit;
    const char *title;   /* Lower case, no full stop. */
    const char *meaning; /* Sentences. */
    const char *remedy;  /* Sentences: what to do. */
};

/* In ascending order of ids; ends with CLI_ERROR_NONE. */
extern const struct cli_error cli_errors[];

/* Return the page of @id, or NULL. */
const struct cli_error *cli_error_find(enum cli_error_id id);

/* Write "STRAIT-0101" to @out, which has CLI_ERROR_NAME_BYTES. Returns @out. */
enum { CLI_ERROR_NAME_BYTES = sizeof("STRAIT-0000") };
char *cli_error_name(enum cli_error_id id, char *out);

/* Return the page of an id as people write it ("STRAIT-0101", in any case), or NULL. */
const struct cli_error *cli_error_parse(const char *text);

#endif
