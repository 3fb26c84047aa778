/* Asking the lanes of a running site how they are: what `strait why` and `strait top` look at, and
 * what a further server asks before it starts.
 *
 *     open -> ask -> done(report) -> ask ... -> close
 *
 * One session with each lane, which stays from question to question; a lane that is lost is dialled
 * again by the next question. Everything happens on the member's loop. */

#ifndef CLI_STATUS_STATUS_H
#define CLI_STATUS_STATUS_H

#include "cli/member/member.h"
#include "node/site/site.h"

#include <jansson.h>

struct status_lane {
    struct status_site *site;
    uint32_t number;
    bool known; /* .address is. */
    struct net_address address;
    struct net_peer *peer;
    uint32_t call; /* Of the question that is under way; zero: none. */
    bool settled;  /* Answered, or it is known that it will not. */
    json_t *status;
    enum err why;
    struct err_text last_error;
};

struct status_site {
    struct cli_context *ctx;
    struct status_site *beside; /* Whose member it shares; NULL: it has its own, */
    struct cli_member member;   /* this one. */
    bool only_first;            /* Ask lane 0 and nobody else. */
    struct status_lane *lanes[NODE_LANES_MAX];
    uint32_t lanes_count; /* At least one. */
    bool asking;
    bool asked_where; /* Where the other lanes are. */
    uint32_t calls;
    struct loop_timer limit;
    /* Owns the report: {"site": NAME, "lanes": [{"lane": 0, "address": ..., "status": {...}},
     * {"lane": 1, "address": ..., "error": ...}]}. NULL: no memory. */
    void (*done)(struct status_site *s, json_t *report, void *user);
    /* Answers to what its owner asks of a lane by itself; may be NULL. */
    void (*answered)(struct status_lane *l, uint16_t operation, uint32_t call, const json_t *fields,
                     void *user);
    void *user;
};

struct status_config {
    const char *option; /* The option that @to came from, for messages. */
    const char *to;     /* Where lane 0 is. */
    enum wire_role role;
    const char *name;
    bool only_first;
    void (*done)(struct status_site *s, json_t *report, void *user);
    void (*answered)(struct status_lane *l, uint16_t operation, uint32_t call, const json_t *fields,
                     void *user);
    void *user;
};

/* Options of every command that asks a site. */
#define STATUS_OPTION_JOIN                                                                         \
    {                                                                                              \
        .name = "join", .placeholder = "ADDRESS", .required = true,                                \
        .help = "where the site's first server is, as it printed it"                               \
    }
#define STATUS_OPTION_CERT                                                                         \
    {                                                                                              \
        .name = "cert", .placeholder = "DIR", .kind = CLI_DIR,                                     \
        .help = "the folder with your certificate, which must be an operator's"                    \
    }
#define STATUS_OPTION_TIMEOUT                                                                      \
    {                                                                                              \
        .name = "timeout", .placeholder = "TIME", .fallback = "5s", .kind = CLI_DURATION,          \
        .min = 100000, .max = INT64_C(600) * 1000000, .help = "wait so long for an answer"         \
    }

/* The error is printed. status_close() is due in any case. */
enum cli_exit status_open(struct cli_context *ctx, struct status_site *s,
                          const struct status_config *config);

/* Ask another site at the same time and as the same member: that of @host, which is open, and is
 * closed after this one. @to was judged (cli/member/security.h). ERR_NOMEM; status_close() is due
 * in any case. */
MUST_USE enum err
status_open_beside(struct status_site *s, struct status_site *host, const struct net_address *to,
                   void (*done)(struct status_site *s, json_t *report, void *user), void *user);

/* Say good-bye to all, wait a moment for it to be sent, and release everything. Who shares a
 * member leaves the waiting to it. */
void status_close(struct status_site *s);

/* Ask all lanes; done() follows, at the latest after @timeout_ns; from inside this call if there is
 * no memory to ask. Not while a question is under way. */
void status_ask(struct status_site *s, int64_t timeout_ns);

/* Lane 0 did not answer: print why. Call it when the report has an error for it. */
enum cli_exit status_unreached(struct status_site *s);

/* The status of lane 0 in a report, or NULL. */
const json_t *status_first(const json_t *report);

#endif
