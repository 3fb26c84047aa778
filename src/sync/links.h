/* Who sees whom, and who has to make another plan (sync/central.h), as a pure machine: one lane's
 * part in it.
 *
 * Sites are joined by some links only. Each says of its own what it sees of them, a *word*, and
 * passes the others' words on, so that all know the whole network (as OSPF does it). From that
 * follows which sites are there, whether the plan can still be followed, and who proposes another
 * one: the centre if it is there, and if it does not, the others, one after the other. There is no
 * vote: epochs are unique, the highest counts, and whoever proposes too early is only a nuisance.
 *
 * Nothing here sends. What each neighbour needs is a difference of versions (links_flood.c): the
 * words that this site has, without those that the neighbour is known to have and those that
 * another site sends it. links_pending() and links_plan_is_pending() tell it; callers look there
 * after every change. */

#ifndef SYNC_LINKS_H
#define SYNC_LINKS_H

#include "sync/central.h"

enum {
    LINKS_SITES_MAX = CENTRAL_SITES_MAX,
    LINKS_PATH_MAX = 16, /* Sites on a path, both ends included. */
};

#define LINKS_NEVER UINT64_MAX
#define LINKS_RATE_MAX (UINT64_C(1) << 50)      /* Bytes per second. */
#define LINKS_EPOCH_LAST ((uint32_t)INT32_MAX)  /* No word and no plan has a later one. */
#define LINKS_RATE_TURN_NS UINT64_C(1000000000) /* Rates alone are said so often at most. */

struct links_config {
    uint64_t away_ns;        /* Who is not reached for so long is left out; zero: nobody ever is. */
    uint64_t turn_ns;        /* Each waits so long for the one before it to propose. */
    uint64_t quiet_ns;       /* Changes come in bursts: the last one must be so long ago. */
    uint64_t batch_ns;       /* Shortest time between two batches of words to one neighbour. */
    uint64_t forward_ns;     /* Other sites' words go over a link only when it was up so long. */
    uint64_t late_ns;        /* Links that were never up are waited for so long at the start. */
    uint64_t settle_ns;      /* Rates must differ for so long ... */
    uint32_t change_percent; /* ... by more than this from those of the plan; 1 to 1000. */
    bool majority;           /* Plans need more than half of all, and of those that remember. */
};

struct links_entry {
    uint32_t neighbour;
    bool up;
    uint64_t bytes_per_s; /* As this end measured it, up to LINKS_RATE_MAX; zero: it did not. */
};

/* What a site says of itself. Of two the one with the later life counts, then the higher number. */
struct links_word {
    uint32_t site;
    uint64_t life;   /* Later processes of the site have higher ones. */
    uint32_t number; /* From one. */
    uint32_t epoch;  /* Of the plan that it follows; zero: none. */
    uint32_t top;    /* The highest that it followed ever, as far as it knows. */
    uint32_t since;  /* Entries changed after the word of this number; zero: all entries. */
    bool remembers;  /* It has what was closed by a plan before. */
    uint32_t count;
    struct links_entry entries[LINKS_SITES_MAX - 1];
};

/* A site's part in a plan. */
struct links_path {
    uint64_t life;  /* Of the site, when the plan was made; zero: not known, so the first one. */
    uint32_t count; /* One: it is the centre. */
    uint32_t sites[LINKS_PATH_MAX];     /* From the site to the centre; none twice. */
    uint64_t rates[LINKS_PATH_MAX - 1]; /* Of the link behind each, likewise; zero: unknown. */
};

enum links_why {
    LINKS_CONTENT, /* With the plan. */
    LINKS_FIRST,   /* There is none. */
    LINKS_LOST,    /* The centre is away. */
    LINKS_GONE,    /* Another active site is. */
    LINKS_BACK,    /* Somebody is there who is not active, or has restarted, or forgot. */
    LINKS_BROKEN,  /* A path has links that went down. All sites are there by other ways. */
    LINKS_ASKED,   /* links_ask(). */
    LINKS_CHANGED, /* Links are not those that the plan was made with: others, or their rates. */
};

/* As a word: "first", "lost", ... */
const char *links_why_name(enum links_why why);
MUST_USE bool links_why_find(const char *name, enum links_why *out);

/* Whom that is about: nobody, a site, or the ends of a link. */
struct links_about {
    uint32_t count;
    uint32_t sites[2];
};

/* A plan that should be made. */
struct links_wish {
    enum links_why why;
    struct links_about about;
    uint32_t epoch; /* Higher than all that are known; no other site ever has the same. */
    uint64_t active;
};

struct links_site {
    uint64_t life;
    uint32_t number; /* Of its last word; zero: none was heard. */
    uint32_t floor;  /* Changes are known since the word of this number. */
    uint32_t epoch;
    uint32_t top;
    bool remembers;
    uint64_t named; /* Bits of neighbours that are in the word. */
    uint64_t up;
    uint64_t met;   /* Those it was ever joined with. */
    uint64_t since; /* It is not reached; LINKS_NEVER: it is. */
};

/* Identifies a word of a site. */
struct links_version {
    uint64_t life;
    uint32_t number; /* Zero: no word. */
};

/* What this site knows of the other end of a link. */
struct links_neighbour {
    uint64_t batch_ns;   /* Time of the next batch of words, at the earliest. */
    uint64_t forward_ns; /* The same of words of other sites. */
    uint32_t epoch;      /* Of the latest plan that it has, as this session showed; zero: none. */
};

/* Fields are private to src/sync. */
struct links {
    struct links_config config;
    uint32_t sites;
    uint32_t self;
    struct links_site *list;
    uint64_t *rates;    /* By site and neighbour, as said. */
    uint32_t *changed;  /* By site and neighbour: number of the word that changed the entry. */
    uint64_t *measured; /* Of this site's links. */
    struct links_neighbour *neighbours;
    struct links_version *known; /* By neighbour and site: the word that the neighbour has. */
    uint64_t reached;
    uint64_t late_ns;    /* A link that is not up yet will not be. */
    uint64_t changed_ns; /* Somebody's links, life or memory did. */
    bool due;
    uint64_t said_ns; /* LINKS_NEVER: never. */
    uint32_t epoch;   /* Of the plan; zero: none. */
    uint32_t centre;
    uint64_t active;
    struct links_path *paths;
    uint64_t *planned; /* By two sites: what their link was when the plan was made, or kept. */
    uint64_t lost;     /* Those who forgot since it was made. */
    bool asked;
    uint64_t need_ns;      /* Since then another one is needed, or LINKS_NEVER. */
    uint64_t again_ns;     /* This site has proposed one; not again before that. */
    uint64_t different_ns; /* Since then rates differ, or LINKS_NEVER. */
    uint64_t look_ns;
};

/* 300 ms for a turn, 100 ms of quiet, 50 ms between batches, 100 ms before words of others go over
 * a link, 5 s at the start, a quarter of a rate for 10 s; nobody is left out, and there must be a
 * majority. */
struct links_config links_config_default(void);

/* @sites in all, of which this is @self in that life. ERR_NOMEM. */
MUST_USE enum err links_init(struct links *l, uint32_t sites, uint32_t self, uint64_t life,
                             const struct links_config *config, uint64_t now);
void links_deinit(struct links *l);

/* This site's links and memory. It begins without either. */
void links_set_up(struct links *l, uint32_t neighbour, bool up, uint64_t now);
void links_set_rate(struct links *l, uint32_t neighbour, uint64_t bytes_per_s);
void links_set_memory(struct links *l, bool remembers, uint64_t now);

/* There was a plan of that epoch: for a site that knows it from an earlier life. Who proposes a
 * plan should keep that where it survives: else another one may get the same epoch. */
void links_set_top(struct links *l, uint32_t epoch);

/* Is there something to be said? Rates alone only if one differs by more than a tenth. */
bool links_due(const struct links *l, uint64_t now);

/* Say it: a new word of this site. */
void links_say(struct links *l, uint64_t now, struct links_word *out);

enum links_verdict {
    LINKS_NEW,
    LINKS_OLD,   /* It is known, or a later one is. */
    LINKS_WRONG, /* It cannot be. */
};

/* A word came from that neighbour. One about this site that an earlier life said is LINKS_OLD, and
 * makes a new one due. Changes since a word that this site does not have are LINKS_WRONG: the
 * sender does not know what this site has, and the session has to begin anew. */
MUST_USE enum links_verdict links_take(struct links *l, uint32_t from,
                                       const struct links_word *word, uint64_t now);

/* The latest word of a site, or false: none is known, or it is this one's and another is due. */
MUST_USE bool links_word_get(const struct links *l, uint32_t site, struct links_word *out);

/* A session with the neighbour was lost, and what was under way with it: nothing is known of what
 * the neighbour has. */
void links_neighbour_reset(struct links *l, uint32_t neighbour);

/* Bits of sites whose words the neighbour is to be sent now; zero while its link is down, and until
 * .batch_ns after the last batch. */
uint64_t links_pending(const struct links *l, uint32_t neighbour, uint64_t now);

/* The pending word of @site for the neighbour: what changed since the word that the neighbour has.
 * It counts as sent: if it cannot be, links_neighbour_reset(). */
void links_pending_get(struct links *l, uint32_t neighbour, uint32_t site, uint64_t now,
                       struct links_word *out);

/* When words are pending next, or LINKS_NEVER. */
uint64_t links_pending_deadline(const struct links *l);

/* Is the neighbour to be sent the plan now? After the words that are pending then. */
bool links_plan_is_pending(const struct links *l, uint32_t neighbour);

/* The neighbour has the plan of that epoch: it came from there, or was sent. */
void links_plan_known(struct links *l, uint32_t neighbour, uint32_t epoch);

/* Do both ends say that it is up? */
bool links_joined(const struct links *l, uint32_t a, uint32_t b);

/* Is there a link, as the first of them says? */
static inline bool links_is_named(const struct links *l, uint32_t a, uint32_t b)
{
    return (l->list[a].named >> b & 1) != 0;
}

/* Bits of sites that are joined with this one, through others or not; and itself. */
static inline uint64_t links_reached(const struct links *l)
{
    return l->reached;
}

/* The smaller of what both ends measured; zero if nobody did. */
uint64_t links_rate(const struct links *l, uint32_t a, uint32_t b);

/* The latest life of a site that is known. */
static inline uint64_t links_life(const struct links *l, uint32_t site)
{
    return l->list[site].life;
}

/* This plan is followed from now on; @paths by site, of those that are active. LINKS_OLD: it, or a
 * later one, is already. */
MUST_USE enum links_verdict links_plan_set(struct links *l, uint32_t epoch, uint32_t centre,
                                           uint64_t active, const struct links_path *paths);

/* Rates have changed, and by those there are now the plan is still the best. */
void links_plan_keep(struct links *l);

/* This site cannot do with the plan, whatever the others see (central_is_unfit()). */
void links_ask(struct links *l);

/* Should this site propose a plan now? To be called after whatever has changed, and at
 * links_deadline(). If no plan comes of it, it is said again when all others had their turn. */
MUST_USE bool links_look(struct links *l, uint64_t now, struct links_wish *out);

/* Is the plan as good as any, whatever rates are: all who are active are there, nobody else is, and
 * no other plan is on its way? */
bool links_is_content(const struct links *l);

/* When to look again, at links_due() too; LINKS_NEVER. */
uint64_t links_deadline(const struct links *l);

#endif
