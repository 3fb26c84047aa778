/* `strait server`, in parts: what was asked for (server/plan.c), what the first server of the site
 * says (server/first.c), what is told to people (server/say.c, server/sites.c), and the process
 * (server.c). */

#ifndef CLI_SERVER_SERVER_H
#define CLI_SERVER_SERVER_H

#include "cli/member/security.h"
#include "node/server/server.h"
#include "run/file/sites_file.h"

#include <jansson.h>

enum {
    SERVER_SERVERS_MAX = 64,
    SERVER_LANES_MAX = 16, /* Of one server. */
    SERVER_PORT = 7400,
    SERVER_COMMAND_BYTES = 1024,
};

/* What the options say. */
struct server_plan {
    struct node_site site;
    uint32_t servers;
    uint32_t index;
    uint32_t lanes[SERVER_SERVERS_MAX]; /* Of each server. */
    uint32_t first_number;              /* Of our first lane. */
    bool tls;
    struct pki_member_files files; /* With TLS. */
    struct pki_identity identity;
    struct net_address listen;
    struct net_address first; /* Of a further server: where the first one is. */
    const char *store;        /* NULL: none. */
    enum node_restore_mode restore;
    uint64_t restore_clock;
    uint64_t history; /* Of a further server: what the first one says; else 0. */
    bool begun;       /* The same. */
    uint64_t pace_bytes_per_s;
    const char *agg, *edge;   /* NULL: not said. */
    uint64_t in_flight_bytes; /* Zero: by the number of workers. */
    uint64_t table_bytes;     /* Most that tables may need. */
    struct run_sites *sites;  /* Other sites; NULL: there are none. */
    int64_t status_every_ns;  /* Zero: not said. */
};

/* Read the options but those of the site. The error is printed. */
enum cli_exit server_plan_read(struct cli_context *ctx, struct server_plan *out);

/* Put the options of the site that were given (all of them if @all, with their defaults) on top of
 * plan->site. The error is printed. */
enum cli_exit server_plan_site(struct cli_context *ctx, bool all, struct server_plan *plan);

/* Do they go together? The error is printed. */
enum cli_exit server_plan_check(struct cli_context *ctx, const struct server_plan *plan);

/* What --between says of other sites, once ours is known. The error is printed. */
enum cli_exit server_plan_between(struct cli_context *ctx, struct server_plan *plan);

/* Who we are: by certificate, or by word. Needs the name of the site. The error is printed. */
enum cli_exit server_plan_identity(struct cli_context *ctx, struct server_plan *plan);

/* A further server: ask the first one what the site is, as long as it takes, and check that the
 * options which were given say the same. The error is printed. */
enum cli_exit server_first_ask(struct cli_context *ctx, struct server_plan *plan);

/* The command by which workers join; and the one that starts the server @index. @first is where
 * lane 0 is. */
void server_say_join(struct cli_context *ctx, const struct net_address *first, char *out,
                     size_t size);
void server_say_further(struct cli_context *ctx, const struct server_plan *plan,
                        const struct net_address *first, uint32_t index, char *out, size_t size);

/* What has been said so far, so that only news is. */
struct server_news {
    json_t *members; /* By name: its status. */
    uint64_t clock;
    int64_t clock_ns; /* When that was said. */
    int64_t moved_ns; /* When the clock last moved. */
    uint64_t moved_to;
    int64_t waited_ns; /* When a reason to wait was last said. */
    uint64_t checkpoint;
    bool checkpoint_known;
    bool store_fails; /* As last said. */
    json_t *sites;    /* By name: what was said of it. */
};

/* Other sites (server/sites.c): their names; a row for each; and which have come, gone or refuse.
 */
json_t *server_sites_named(const struct server_plan *plan);
void server_sites_list(struct cli_context *ctx, const struct server_plan *plan);
void server_sites_news(struct cli_context *ctx, struct server_news *news, const json_t *report,
                       int64_t now_ns);

/* Say what is new in the @report about our lanes (as in cli/status/status.h). */
void server_say_news(struct cli_context *ctx, struct server_news *news, const json_t *report,
                     int64_t now_ns);
void server_news_deinit(struct server_news *news);

/* All that can be said once it is ready; as one line of JSON, or for people. */
void server_say_ready(struct cli_context *ctx, const struct server_plan *plan,
                      const struct node_server *server, const json_t *report);

/* Say how each of our lanes is: one line of JSON for each. */
void server_say_status(struct cli_context *ctx, const json_t *report);

/* Print an event as one line of JSON. @object gets a "schema" and is released. */
void server_say_json(struct cli_context *ctx, json_t *object);

#endif
