/* How sites share: what a site does with what its workers changed, and what it expects of the
 * others. The chain of choices, one field or struct each:
 *
 *     when     a clock is over (each chunk as soon as its round closes)
 *     select   .filter, .threshold, .goal: what is significant (codec/filter.h, sync/asp.h)
 *     encode   the smallest of the sparse encodings (codec/sparse.h)
 *     admit    .staleness, .barrier, .fresh: who may read what, and when (sync/mirror.h,
 *              sync/selective.h, sync/fresh.h)
 *     weight   .mean: sums, or means over sites
 *     apply    add; what a site applied to its own copy is what it sends
 *     deliver  to all, or by groups and hubs; or .central: sums to one of them, by planned ways,
 *              and results back (node/central/central.h), with all of the above left out
 *
 * The operator gives it to all servers of a site. Sites compare what must be equal in the
 * handshake, and refuse each other with the reason. */

#ifndef NODE_SITE_BETWEEN_H
#define NODE_SITE_BETWEEN_H

#include "base/limits.h"
#include "codec/filter.h"
#include "net/address.h"
#include "sync/asp.h"
#include "sync/links.h"
#include "sync/mirror.h"

struct json_t;
struct node_site;

enum {
    NODE_BETWEEN_STREAMS = 4,   /* Connections to each lane of another site. */
    NODE_BETWEEN_AWAY_S = 30,   /* Until a site that is gone is left out; */
    NODE_CENTRAL_AWAY_S = 5,    /* around a centre everybody waits for it. */
    NODE_BETWEEN_STALENESS = 4, /* Clocks. */
    NODE_BETWEEN_STALL_MS = 30000,
    NODE_BETWEEN_GATHER_MS = 200,
};

#define NODE_BETWEEN_THRESHOLD 0.01F
#define NODE_BETWEEN_FRESH 0.1

struct node_other_site {
    char name[LIMIT_NAME_BYTES + 1];
    struct net_address first; /* Where its first lane is. */
    bool indirect;            /* Central: there is no link to it, only ways through others. */
    uint32_t group;
    uint64_t pace_bytes_per_s; /* From all lanes of this site together; zero: no limit. */
};

/* Group .from talks to group .to through these, best first. */
struct node_hubs {
    uint32_t from;
    uint32_t to;
    uint32_t count;
    char sites[MIRROR_SITES_MAX][LIMIT_NAME_BYTES + 1];
};

enum { NODE_PATH_SITES_MAX = 16 };

/* From a site to the centre. Sites are counted in the order of their names. */
struct node_path {
    uint32_t count; /* Of sites, both ends included; zero: the site has none. */
    uint32_t sites[NODE_PATH_SITES_MAX];
    uint64_t bytes_per_s;                    /* Each way; zero: no limit. */
    uint64_t life;                           /* Of the site, when the plan was made. */
    uint64_t rates[NODE_PATH_SITES_MAX - 1]; /* Of the link behind each; zero: not known. */
};

/* A link between two sites, as the operator says. */
struct site_link {
    uint32_t a;
    uint32_t b;
    uint64_t bytes_per_s;
};

struct node_plan {
    uint32_t epoch; /* Not zero. */
    uint32_t centre;
    uint64_t active;    /* Bits. */
    enum links_why why; /* For people, as the next: LINKS_CONTENT if it is not known. */
    struct links_about about;
    struct node_path paths[CENTRAL_SITES_MAX];
};

struct node_between {
    bool central;
    struct node_plan plan; /* To begin with; no epoch: sites make one when they see each other. */
    const struct site_link *links; /* What is known of links before they are measured. */
    uint32_t links_count;
    bool shared;             /* Both directions of a link share its rate. */
    uint64_t no_centre;      /* Bits of sites that may not be the centre, ... */
    uint64_t no_relay;       /* ... or pass on what is for others. */
    double reserve;          /* Part of each link that plans leave to others, 0 to below 1. */
    double move_gain;        /* The centre moves if rounds become shorter by more than this part. */
    uint32_t change_percent; /* Links that change by more make another plan; zero: the default. */
    struct node_other_site *others;
    uint32_t others_count; /* Zero: there is one site. */
    uint32_t group;        /* Of this site. */
    uint32_t groups;       /* Zero: all send to all. */
    struct node_hubs *hubs;
    uint32_t hubs_count;

    struct codec_filter filter;
    float threshold; /* v of v / sqrt(clock): the hard one. */
    enum asp_goal goal;
    uint64_t budget_bytes; /* Of one lane, to send in all; zero: no limit. */
    uint64_t clocks;       /* In which to spend it; zero: not known. */
    uint64_t staleness;    /* DS; MIRROR_UNBOUNDED: nobody waits. */
    bool barrier;
    double fresh; /* Part of a clock that readers wait for what is about to come (sync/fresh.h). */
    bool mean;    /* Tables whose updates are averaged are averaged over sites too. */

    int64_t away_ns; /* Zero: nobody is left out. */
    bool majority;
    int64_t stall_ns; /* Zero: the default, as with the others. */
    int64_t gather_ns;
    uint16_t streams;
    uint64_t log_bytes; /* Of pieces that somebody does not have yet; zero: as much as tables. */
};

/* The defaults: Gaia's. */
void node_between_init(struct node_between *b);

/* ERR_INVALID with what does not go together: a group without a hub that exists, a site named
 * twice, thresholds out of range, too many of anything. */
MUST_USE enum err node_between_check(const struct node_between *b, const struct node_site *site,
                                     struct err_text *text);

/* What must be equal at all sites, as an object; NULL: no memory. */
struct json_t *node_between_to_json(const struct node_between *b, const struct node_site *site);

/* Compare: ERR_INVALID with what differs, where, and what to do. The text names both sites, because
 * both are shown it. */
MUST_USE enum err node_between_compare(const struct json_t *ours, const char *us,
                                       const struct json_t *theirs, const char *them,
                                       struct err_text *text);

#endif
