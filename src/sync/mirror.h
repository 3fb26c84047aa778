/* What a lane shares with its mirrors at other sites, and what it has of theirs, as a pure machine.
 *
 * A lane makes *pieces*: what its site adds to one chunk. Pieces are numbered; each names the one
 * before it of the same chunk, so a receiver knows by one number per chunk and site what it has:
 *
 *     piece of chunk x:  (0, 3]   (3, 7]   (7, 8] ...      has 3: takes (3, 7], drops (0, 3],
 *                                                          holds (7, 8] until it has 7
 *
 * On the way two pieces that follow each other may be added up into one, (3, 8], if the receiver
 * cannot stand between them; so may pieces of several sites. A *mark* behind the pieces says up to
 * which number all have gone, and which clock that is: the mirror clock of that site here. A
 * *report* says back what is safe; a piece is kept by its site until all sites have reported it.
 *
 * Ways: directly from site to site; or by groups, inside of which all send to each other, while
 * between two groups a hub adds up what its group has for the other, sends it to a hub there, and
 * that one sends it to the others of its group. Hubs keep nothing safe: whatever goes wrong on the
 * way, a site asks the site that made a piece, and gets it directly.
 *
 * The driver (node/mirror*.c) moves bytes; it asks mirror_next() what to send to whom, and says
 * what came. Payloads are tokens. Time comes in as a value. */

#ifndef SYNC_MIRROR_H
#define SYNC_MIRROR_H

#include "base/err.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    MIRROR_SITES_MAX = 64,
    MIRROR_GROUPS_MAX = 32,
    MIRROR_MERGE_MAX = 16, /* Payloads in one frame. */
    MIRROR_MARKS_MAX = 66, /* Marks in one frame. */
    MIRROR_STALENESS_MAX = 1 << 20,
};

#define MIRROR_UNBOUNDED UINT64_MAX /* As staleness: nobody waits for other sites. */
#define MIRROR_NEVER INT64_MAX

/* A site that lost its memory numbers its pieces anew, above all it ever had: a new life. */
enum { MIRROR_LIFE_SHIFT = 32 };

static inline uint64_t mirror_life(uint64_t number)
{
    return number >> MIRROR_LIFE_SHIFT;
}

/* It stands for "nothing of that life". */
static inline bool mirror_is_base(uint64_t number)
{
    return (number & ((UINT64_C(1) << MIRROR_LIFE_SHIFT) - 1)) == 0;
}

/* The site's own index in its machine. */
enum { MIRROR_SELF = 0 };
#define MIRROR_NOBODY UINT32_MAX

struct mirror_config {
    uint64_t staleness; /* DS: clocks that a reader may be ahead of the slowest site. */
    int64_t away_ns;    /* A site that is away so long is left out; zero: never. */
    bool majority;      /* ... but only while we see more than half of all sites, and none of these
                         * sees it: it is dead, not cut off from us alone. */
    bool durable;       /* Pieces and marks count when the driver says that they are stored. */
    uint64_t life;      /* Larger than that of any process of the site before. */
    uint32_t groups;    /* Zero: no hubs. */
    int64_t stall_ns;   /* What hubs carry and nobody reports is sent directly after so long. */
    int64_t gather_ns;  /* A hub waits so long at most until all of its group have sent. */
};

/* What a piece contains of one site: (prev, number]. */
struct mirror_range {
    uint32_t site;
    uint64_t prev;
    uint64_t number;
};

/* All pieces of .site in (from, number] went before this; these are all up to .clock. */
struct mirror_mark {
    uint32_t site;
    uint32_t groups; /* Bits: to be passed on there. */
    uint32_t answer; /* Straight from the site: the request that this answers. */
    bool whole;      /* ... and all that it made before it heard of that has gone. */
    uint64_t from;
    uint64_t number;
    uint64_t clock;
};

/* What a site tells another one. */
struct mirror_report {
    uint64_t clock;   /* Closed at the sender. */
    uint64_t number;  /* The last piece that it made. */
    uint64_t floor;   /* Pieces up to this one are gone: all have them. */
    uint64_t stable;  /* Of the receiver's pieces all up to this are safe at the sender. */
    uint32_t request; /* Not as before: send again directly what is above .stable. */
    uint64_t away;    /* Sites that the sender does not see, by their bits here. */
    uint64_t before;  /* What the copy that it began with contains of its life before, as a hash. */
    bool fresh;       /* The sender has nothing yet: keep everything for it, send nothing. */
    bool knew;        /* It contains pieces of the receiver, of this life or one before. */
    bool done;        /* Its clock will not move any more: do not wait for it. */
};

struct mirror_piece;
struct mirror_relay;

/* The next thing for a peer. */
enum mirror_kind { MIRROR_NOTHING, MIRROR_PIECE, MIRROR_MARKS };

struct mirror_frame {
    enum mirror_kind kind;
    /* A piece. */
    uint32_t chunk;
    uint32_t groups; /* Bits: to be passed on there. */
    uint64_t clock;  /* Of its newest part. */
    uint32_t range_count;
    struct mirror_range ranges[MIRROR_SITES_MAX];
    uint32_t token_count;
    void *tokens[MIRROR_MERGE_MAX]; /* To be added up, in this order. */
    /* Private: where they are, first relays, then pieces of our own. */
    struct mirror_relay *relays[MIRROR_MERGE_MAX];
    uint32_t relay_count;
    struct mirror_piece *pieces[MIRROR_MERGE_MAX];
    uint32_t piece_count;
    uint32_t passed; /* Groups to which the own ones go by this. */
    bool straight;   /* They go to the peer itself. */
    /* Marks. */
    uint32_t mark_count;
    struct mirror_mark marks[MIRROR_MARKS_MAX];
};

enum mirror_verdict {
    MIRROR_TAKE,   /* Add it; it is contained from now on. */
    MIRROR_DROP,   /* It is contained. */
    MIRROR_HOLD,   /* One before it is missing: judge it again later. */
    MIRROR_REFUSE, /* A part is contained, a part is not: both sites are asked to send directly. */
};

/* Another site, as this one knows it. */
struct mirror_site {
    bool up;         /* There is a session. */
    bool greeted;    /* It has reported since the session began. */
    bool fresh;      /* It has nothing yet, and gets nothing. */
    bool knew;       /* It contains pieces of ours, maybe of a life before. */
    bool done;       /* Its clock stands for ever. */
    bool left_out;   /* Not waited for. */
    bool report_due; /* It does not know yet what we have. */
    uint32_t group;  /* Below config.groups. */
    int64_t down_ns; /* Since when there is no session. */
    int64_t gone_ns; /* Since when all agree that it is gone; MIRROR_NEVER: they do not. */
    uint64_t away;   /* Whom it does not see: bits. */

    /* Of our pieces. */
    uint64_t confirmed; /* It has them safe up to here. */
    uint64_t reported;  /* What it said last; less if it was left out. */
    uint64_t sent;      /* The largest that went to it, by any way. */
    uint64_t direct;    /* Up to here we send to it ourselves, above the hubs do. */
    uint64_t from;      /* It had all up to here when we began to send directly. */
    uint64_t place;     /* In the log: nothing before this waits for it. */
    uint64_t marked;    /* Up to here it was told that all have gone. */
    uint64_t marked_clock;
    uint32_t answered; /* The last request that was served. */
    bool unanswered;   /* ... and no mark has said so yet. */
    int64_t moved_ns;  /* When it reported something new, or had nothing to report. */

    /* Of its pieces. */
    uint64_t stable;    /* All up to here are contained. */
    uint64_t safe;      /* ... and stored. */
    uint64_t clock;     /* Which clock that is: its mirror clock here. */
    uint64_t offset;    /* Added to it, after it was left out. */
    uint64_t announced; /* The clock that it says it has closed. */
    uint64_t number;    /* The last piece that it says it made. */
    uint64_t floor;     /* It keeps no pieces up to here. */
    uint64_t life;      /* The life of it that we have heard of. */
    bool torn;          /* It has forgotten a part of what we have, or has what we never got. */
    bool doubt;         /* Something is missing: believe only the answer to .request. */
    uint32_t request;
    uint64_t missed; /* While it was asked already, as far as this: is that in the answer? */
    struct mirror_mark early; /* Its .from is above .stable, or pieces are held; number 0: none. */
    uint32_t holding;         /* Pieces with parts of it that are held. */

    /* What goes to it for others: hub work. */
    struct list relays;
    uint64_t relays_bytes;
    struct mirror_passing *passing; /* By site that made the pieces; NULL: no groups. */
    uint64_t relays_made;           /* How many there have been: each has its number. */
    uint64_t passed_due;            /* Bits: marks to pass on. */
    uint64_t fenced_due;            /* Bits: those that go next, behind all relays */
    uint64_t fence;                 /* up to this one, and not behind later ones. */
    uint64_t gathered;              /* Sites that have sent a mark since the last time. */
    bool flushing;                  /* What has come so far goes now. */
    int64_t waits_ns;               /* Since when something waits; MIRROR_NEVER: nothing does. */
};

/* What passes through here from one site to another. */
struct mirror_passing {
    struct mirror_mark mark;
    struct mirror_mark fenced; /* As it was when it got its place among the relays. */
    uint64_t number;           /* The largest that came for it. */
    uint64_t lost;             /* Pieces up to here may not have reached it. */
};

/* The way of our pieces to another group. */
struct mirror_way {
    uint32_t near; /* Hub of ours; MIRROR_NOBODY: none, all goes directly. */
    uint32_t far;  /* Hub of theirs. */
    uint64_t from; /* Pieces above this one go this way. */
    uint64_t marked;
    uint64_t marked_clock;
};

/* Which sites of one group talk to another group, best first: then the rest in order. */
struct mirror_hubs {
    uint32_t count;
    uint32_t sites[MIRROR_SITES_MAX];
};

/* Embedded in its owner; fields are private to src/sync but for reading. */
struct mirror {
    struct mirror_config config;
    struct mirror_site *sites; /* MIRROR_SITES_MAX of them. */
    uint32_t sites_count;      /* Those used have indexes below. */
    struct mirror_hubs *hubs;  /* [group][other group]; NULL: no groups. */
    struct mirror_way *ways;   /* [group]; NULL: no groups. */
    uint64_t clock;            /* Closed here. */
    uint64_t number;           /* The last piece made. */
    uint64_t floor;            /* Pieces up to here are let go. */
    uint64_t stored;           /* Pieces up to here may be sent. */
    uint64_t stored_clock;     /* Others may be told up to here. */
    uint64_t sent;             /* The largest that went to anybody. */
    bool fresh;                /* We have nothing yet and wait for a copy. */
    bool copying;              /* A copy of another site is on its way: nothing is let go. */
    bool done;
    uint32_t chunks_count;
    uint32_t chunks_capacity;
    uint64_t *contained;       /* By chunk and site. */
    uint64_t *made;            /* By chunk: our last piece of it. */
    struct list *pieces_of;    /* By chunk, in order. */
    struct mirror_piece **log; /* All pieces in order, by place modulo capacity. */
    uint32_t log_capacity;     /* A power of two. */
    uint64_t log_first;        /* Places. */
    uint64_t log_end;
    uint64_t log_bytes;
    bool moved;           /* For mirror_moved(). */
    struct list released; /* Payloads to let go. */
};

/* ERR_INVALID with a text, ERR_NOMEM. The machine has one site, itself, in group @group. */
MUST_USE enum err mirror_init(struct mirror *m, const struct mirror_config *config, uint32_t group,
                              struct err_text *text);
void mirror_deinit(struct mirror *m); /* Payloads are given back first, by mirror_release(). */

/* One more site, which is waited for from now on. ERR_TOO_BIG, ERR_NOMEM. */
MUST_USE enum err mirror_add_site(struct mirror *m, uint32_t group, int64_t now_ns,
                                  uint32_t *site_out);
/* That one came later than the others: nobody waits for it before it has caught up. */
void mirror_late_site(struct mirror *m, uint32_t site);

/* Who of @group talks to @other, in order. */
void mirror_set_hubs(struct mirror *m, uint32_t group, uint32_t other,
                     const struct mirror_hubs *hubs);

/* @count more chunks. ERR_NOMEM. */
MUST_USE enum err mirror_grow(struct mirror *m, uint32_t count);

/* Our pieces. */

/* There is a piece of that chunk for clock @clock, of so many bytes. ERR_NOMEM: nothing changed. */
MUST_USE enum err mirror_make(struct mirror *m, uint32_t chunk, uint64_t clock, uint32_t bytes,
                              void *token);

/* A copy of another site is being taken, or no more. Its chunks may have been read before a piece
 * of ours came there, and come here after that site has confirmed the piece: mirror_above() must
 * still have it then. */
void mirror_set_copying(struct mirror *m, bool copying);

/* All chunks have closed clock @clock. */
void mirror_advance(struct mirror *m, uint64_t clock);

/* Durable: pieces up to @number are stored, and that @clock was closed. */
void mirror_store(struct mirror *m, uint64_t number, uint64_t clock);

/* No more clocks: the site is done. Or not, after all. */
void mirror_finish(struct mirror *m);
void mirror_go_on(struct mirror *m);

/* Take the next payload that is not needed any more; NULL: none. */
void *mirror_release(struct mirror *m);

/* Sending. */

/* What is next for that peer; nothing changes. Pieces before marks. */
void mirror_next(struct mirror *m, uint32_t peer, struct mirror_frame *out);
/* It was taken over for sending. */
void mirror_sent(struct mirror *m, uint32_t peer, const struct mirror_frame *frame, int64_t now_ns);

/* What is to go to that site, or by it to other groups, and has not gone: pieces of ours, then what
 * passes through here. What other sites carry for us does not wait here. In bytes: of our pieces of
 * a chunk only the largest, for they go together. And the @index-th payload, or NULL; *groups_out:
 * bits of the groups that it goes to by that site. */
uint64_t mirror_waiting_bytes(const struct mirror *m, uint32_t site);
void *mirror_waiting(const struct mirror *m, uint32_t site, uint32_t index, uint32_t *groups_out);
/* The payload of our newest piece of the chunk, if it waits for that site in this sense; or NULL.
 */
void *mirror_newest(const struct mirror *m, uint32_t chunk, uint32_t site, uint32_t *groups_out);

/* The report for a peer. */
void mirror_say(struct mirror *m, uint32_t peer, struct mirror_report *out);
/* Is there something new to report? Cleared by mirror_say(). */
bool mirror_say_due(const struct mirror *m, uint32_t peer);

/* Receiving. */

/* Sessions: @again: the peer is another process than before, or has lost what it was sent. */
void mirror_up(struct mirror *m, uint32_t peer, bool again, int64_t now_ns);
void mirror_down(struct mirror *m, uint32_t peer, int64_t now_ns);

/* A report came. ERR_PEER if no correct site could have made it. It may tell of a new life of the
 * peer: pieces that are held, and selective barriers, are to be looked at again. */
MUST_USE enum err mirror_hear(struct mirror *m, uint32_t peer, const struct mirror_report *report,
                              int64_t now_ns);

/* A piece came; or @held: one that was held is looked at again. @straight: from the site that made
 * it, not through hubs. */
enum mirror_verdict mirror_judge(struct mirror *m, uint32_t chunk,
                                 const struct mirror_range *ranges, uint32_t count, bool held,
                                 bool straight);
/* A piece came that cannot be judged yet: it is held. */
void mirror_hold(struct mirror *m, const struct mirror_range *ranges, uint32_t count);
/* A piece that is held cannot be any longer. */
void mirror_lose(struct mirror *m, const struct mirror_range *ranges, uint32_t count);

/* A piece that came from @peer is to be passed on to the groups of @groups (bits). Asks @keep for a
 * reference of the payload for each way it goes. ERR_NOMEM: it is lost on that way, and its sites
 * will send it directly. */
MUST_USE enum err mirror_pass(struct mirror *m, uint32_t peer, uint32_t chunk, uint64_t clock,
                              uint32_t groups, const struct mirror_range *ranges, uint32_t count,
                              uint32_t bytes, void *(*keep)(void *user), void *user);

/* Who is the next to get what came from @peer for @groups: bits of sites. And for which groups that
 * one gets it: none if it is in our own, else its own. */
uint64_t mirror_next_hops(const struct mirror *m, uint32_t peer, uint32_t groups);
uint32_t mirror_hop_groups(const struct mirror *m, uint32_t hop);

/* It cannot be passed on: nobody there may be told that it was. */
void mirror_pass_failed(struct mirror *m, uint32_t groups, const struct mirror_range *ranges,
                        uint32_t count);

/* A mark came, on all streams. */
void mirror_marked(struct mirror *m, uint32_t peer, const struct mirror_mark *mark);
/* Is more of some site stable than when this was asked last? Readers may go on, and there is
 * something to store. */
bool mirror_moved(struct mirror *m);
/* Durable: what was stable of that site up to @number is stored. */
void mirror_stored(struct mirror *m, uint32_t site, uint64_t number);

/* Reading. */

/* May a worker that is about to compute @clock read? If not, *for_out is whom it waits for. */
bool mirror_may_read(const struct mirror *m, uint64_t clock, uint32_t *for_out);

/* Time has passed. Returns true if somebody was left out or is back: readers may go on. */
bool mirror_tick(struct mirror *m, int64_t now_ns);

/* Copies: a site that has nothing takes a copy of another one. */

/* Somebody keeps no longer what we miss; or we have nothing, and somebody has what we made in a
 * life before: without it the others would have to forget that. */
bool mirror_needs_copy(const struct mirror *m);
/* Can it be a copy of that site? It must have all of ours that we do not keep any more; and if a
 * site has begun a new life with less, or more, than we have of it, it must be of that one. */
bool mirror_may_copy(const struct mirror *m, uint32_t site);
/* ... and of the others, by site, all that they do not keep any more. */
bool mirror_copy_fits(const struct mirror *m, uint32_t from, const uint64_t *stable);
/* Has every site reported? */
bool mirror_all_greeted(const struct mirror *m);
/* We are no longer fresh: we begin with what we have, after @clock. */
void mirror_begin(struct mirror *m, uint64_t clock);
/* A chunk came as another site has it: of @site it contains all up to @number. */
void mirror_adopt(struct mirror *m, uint32_t chunk, uint32_t site, uint64_t number);
/* ... and all chunks did: of @site they contain at least all up to @stable. It is asked for what
 * follows. */
void mirror_adopt_site(struct mirror *m, uint32_t site, uint64_t stable, uint64_t clock);
/* The payloads of our pieces of a chunk above @number, to be added to such a copy: the @index-th;
 * NULL: no more. */
void *mirror_above(struct mirror *m, uint32_t chunk, uint64_t number, uint32_t index);

/* After a restart, from what was stored, before anybody is up: the last piece of each chunk; the
 * pieces that somebody may not have, in order; what of others is contained (mirror_adopt()) and
 * safe; then all of it. */
void mirror_restore_chunk(struct mirror *m, uint32_t chunk, uint64_t made);
void mirror_settle_floor(struct mirror *m, uint64_t floor); /* All sites had pieces up to this. */
void mirror_restore_site(struct mirror *m, uint32_t site, uint64_t stable, uint64_t clock);
void mirror_restore(struct mirror *m, uint64_t number, uint64_t clock);
MUST_USE enum err mirror_restore_piece(struct mirror *m, uint32_t chunk, uint64_t prev,
                                       uint64_t number, uint64_t clock, uint32_t bytes,
                                       void *token);

/* The clock of our last piece of the chunk that is still kept; zero: none is. */
uint64_t mirror_piece_clock(const struct mirror *m, uint32_t chunk);

static inline uint64_t mirror_contained(const struct mirror *m, uint32_t chunk, uint32_t site)
{
    return m->contained[(size_t)chunk * MIRROR_SITES_MAX + site];
}

/* What must always hold, for tests and simulations. */
bool mirror_invariant(const struct mirror *m);

#endif
