/* What the store commands share: opening the folder, finding checkpoints, saying what is wrong. */

#ifndef CLI_STORE_STORE_H
#define CLI_STORE_STORE_H

#include "cli/command/context.h"
#include "store/checkpoint.h"
#include "table/schema.h"

#include <jansson.h>

/* Options of all store commands. */
#define STORE_OPTION_STORE                                                                         \
    {                                                                                              \
        .name = "store", .placeholder = "DIR", .kind = CLI_DIR, .required = true,                  \
        .help = "the folder that the servers were given"                                           \
    }
#define STORE_OPTION_SITE                                                                          \
    {                                                                                              \
        .name = "site", .placeholder = "NAME",                                                     \
        .help = "of which site; needed if the folder holds several"                                \
    }

/* Open the folder of --store for reading. The error is printed. */
enum cli_exit cli_store_open(struct cli_context *ctx, struct store **store_out);

/* One object of the store that is a checkpoint. */
struct cli_store_entry {
    char name[STORE_NAME_BYTES];
    char site[LIMIT_NAME_BYTES + 1];
    uint32_t shard;
    uint64_t number;
    uint64_t size;
};

/* All checkpoints, in the order of their names; the caller frees the list with mem_free(). With
 * @site only those of that site. The error is printed. */
enum cli_exit cli_store_list(struct cli_context *ctx, struct store *store, const char *site,
                             struct cli_store_entry **list_out, size_t *count_out);

/* The site to work on: of --site, or the only one there. @out has LIMIT_NAME_BYTES + 1. The error
 * is printed. */
enum cli_exit cli_store_site(struct cli_context *ctx, struct store *store, char *out);

/* A table as a checkpoint describes it. ERR_NOT_FOUND if there is none of that name, ERR_MALFORMED
 * if the description cannot be read. */
MUST_USE enum err cli_store_schema(const char *describe, const char *name, uint16_t *id_out,
                                   struct table_schema *out, struct err_text *text);

#endif
