/* The options of strait_open() and strait_table_create(): an object in JSON, every key known. */

#ifndef CLIENT_OPTION_H
#define CLIENT_OPTION_H

#include "base/limits.h"
#include "net/address.h"
#include "table/schema.h"

enum {
    CLIENT_OPTION_BYTES_MAX = 64 * 1024, /* Of the text. */
    CLIENT_PATH_BYTES = 1024,
};

struct client_options {
    struct net_address join;
    char cert[CLIENT_PATH_BYTES];    /* Empty: without TLS. */
    char name[LIMIT_NAME_BYTES + 1]; /* Empty: none was given. */
    char site[LIMIT_NAME_BYTES + 1];
    uint32_t rank; /* NODE_RANK_ANY: none was given. */
    uint16_t streams;
    uint64_t pool_bytes;
    uint64_t cache_bytes;
    uint64_t pace_bytes_per_s; /* Zero: no limit. */
    struct net_address relay;  /* As in node/worker/worker.h, with the next. */
    bool relay_off;
    char agg[LIMIT_NAME_BYTES + 1];
    char edge[LIMIT_NAME_BYTES + 1];
};

/* ERR_INVALID with @text: which key, what is wrong, what is allowed; also if join and insecure do
 * not go together: TLS needs a folder of certificates; everything else needs insecure, and twice if
 * it is not on this machine. */
MUST_USE enum err client_option_parse(const char *json, struct client_options *out,
                                      struct err_text *text);

/* The schema of a table with these options (NULL: none). ERR_INVALID, ERR_TOO_BIG with @text. */
MUST_USE enum err client_option_schema(const char *name, uint64_t rows, uint32_t width,
                                       const char *json, struct table_schema *out,
                                       struct err_text *text);

#endif
