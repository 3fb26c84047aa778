/* A topology: regions, the links between them and what they cost. Plain values; nothing here knows
 * a file (topo/file.h) or a network.
 *
 *     region 0 ---- link[0][1] ---> region 1        a link has one direction;
 *        |    <---- link[1][0] ----    |            [i][i] is the LAN inside region i
 *
 * A pair without a link of its own has the default link, if there is one. One thread. */

#ifndef TOPO_TOPO_H
#define TOPO_TOPO_H

#include "base/err.h"
#include "base/limits.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TOPO_REGIONS_MAX = 64,
    TOPO_LINKS_MAX = 4096, /* Entries of a file; a whole mesh both ways has 4032. */
    TOPO_NAME_BYTES = LIMIT_NAME_BYTES + 1,
    TOPO_CLASSES_MAX = 8,      /* Classes of machines that a region has prices of. */
    TOPO_CLASS_BYTES = 16 + 1, /* The name of one. */
    TOPO_SOURCE_BYTES_MAX = 4096,
    TOPO_LAN_DELAY_NS = 50 * 1000,  /* One way inside a region, unless a topology says otherwise. */
    TOPO_PRINT_BYTES_MAX = 4 << 20, /* Room for the longest topology as text. */
};

#define TOPO_LAN_RATE UINT64_C(5000000000)            /* 40 Gbit/s, likewise. */
#define TOPO_RATE_MAX (UINT64_C(1) << 38)             /* Bytes per second: 2.2 Tbit/s. */
#define TOPO_TIME_MAX_NS INT64_C(60000000000)         /* Of a delay or a jitter: 60 s. */
#define TOPO_PRICE_MAX_NUSD UINT64_C(1000000000000)   /* 1,000 dollars per gigabyte. */
#define TOPO_HOUR_MAX_NUSD UINT64_C(1000000000000000) /* 1,000,000 dollars per hour. */

struct topo;

enum topo_duplex {
    TOPO_DUPLEX_SHARED, /* Both directions of a link share its rate. */
    TOPO_DUPLEX_FULL,   /* Each direction has it. */
};

/* What a machine of one class costs in a region. */
struct topo_price {
    char class[TOPO_CLASS_BYTES]; /* 1 to 16 of a-z 0-9 -; empty: every class, as the only price. */
    uint64_t nusd_per_hour;       /* Billionths of a dollar per hour. */
};

struct topo_region {
    char name[TOPO_NAME_BYTES]; /* 1 to 64 of A-Z a-z 0-9 . _ - */
    bool placed;                /* It has a place on the map: */
    double latitude;            /* -90 to 90 */
    double longitude;           /* -180 to 180 */
    uint32_t prices_count;      /* Zero: not known, which is not free. */
    struct topo_price prices[TOPO_CLASSES_MAX];
};

/* One direction. */
struct topo_link {
    uint64_t bytes_per_s;        /* Not zero. */
    uint64_t stream_bytes_per_s; /* The most that one connection gets; zero: no cap. */
    int64_t delay_ns;            /* One way. */
    int64_t jitter_ns;           /* Uniform from zero to this, on top. */
    uint32_t loss_ppm;
    bool priced;                /* The price is known; else it is zero, but not free. */
    uint64_t price_nusd_per_gb; /* Billionths of a dollar per 10^9 bytes. */
};

/* An empty topology with the LAN of TOPO_LAN_RATE and TOPO_LAN_DELAY_NS, of TOPO_DUPLEX_FULL. */
MUST_USE enum err topo_create(struct topo **topo_out);

/* NULL is allowed. */
void topo_destroy(struct topo *t);

/* True for what may be a region's name. */
bool topo_name_valid(const char *name);

/* True for what may be the name of a class of machines. */
bool topo_class_valid(const char *class);

/* True for UTF-8 without control characters and line breaks of any kind: what can be written into
 * every file and stays on its line. */
bool topo_text_valid(const char *chars);

/* Add a region; its index is the number of those before it. ERR_INVALID (name, place or
 * prices), ERR_EXISTS, ERR_TOO_BIG. */
MUST_USE enum err topo_region_add(struct topo *t, const struct topo_region *region);

/* Set the link from one region to another one. ERR_INVALID if a figure is out of its limits or
 * both regions are the same. */
MUST_USE enum err topo_link_set(struct topo *t, uint32_t from, uint32_t to,
                                const struct topo_link *link);

/* Set the link of all pairs that have none of their own; NULL: they are not joined. */
MUST_USE enum err topo_default_set(struct topo *t, const struct topo_link *link);

/* Set the inside of all regions: rate and delay; the rest of @link is zero. */
MUST_USE enum err topo_lan_set(struct topo *t, const struct topo_link *link);

/* Set name and origin of the figures; both may be empty. The lines of @source are its parts.
 * ERR_INVALID unless they are valid texts, ERR_TOO_BIG, ERR_NOMEM. */
MUST_USE enum err topo_describe(struct topo *t, const char *name, const char *source);

/* Of all links between regions. What is shared has the same rate both ways: topo_link_uneven(). */
void topo_duplex_set(struct topo *t, enum topo_duplex duplex);
enum topo_duplex topo_duplex(const struct topo *t);

const char *topo_name(const struct topo *t);
const char *topo_source(const struct topo *t);

uint32_t topo_regions(const struct topo *t);
const struct topo_region *topo_region_at(const struct topo *t, uint32_t index);

/* False if there is no region of that name. */
MUST_USE bool topo_region_find(const struct topo *t, const char *name, uint32_t *index_out);

/* The price of a machine of @class in a region. False if it is not known. */
MUST_USE bool topo_region_price(const struct topo *t, uint32_t region, const char *class,
                                uint64_t *nusd_per_hour_out);

/* The link from one region to another, the default link, or NULL if they are not joined; from a
 * region to itself the LAN. */
const struct topo_link *topo_link_between(const struct topo *t, uint32_t from, uint32_t to);

/* The first two regions that are joined both ways with different rates. False if there are none. */
MUST_USE bool topo_link_uneven(const struct topo *t, uint32_t *a_out, uint32_t *b_out);

/* The link that the pair has of its own, or NULL. */
const struct topo_link *topo_link_own(const struct topo *t, uint32_t from, uint32_t to);

/* NULL: none. */
const struct topo_link *topo_default(const struct topo *t);
const struct topo_link *topo_lan(const struct topo *t);

MUST_USE bool topo_link_equal(const struct topo_link *a, const struct topo_link *b);

/* The same regions in the same order, with the same figures, names and origin. */
MUST_USE bool topo_equal(const struct topo *a, const struct topo *b);

/* Add the topology to @out as the text of a topology file, each line but the first behind @indent
 * spaces. Reading it gives an equal topology. Whether it fit is for the caller to see: out->failed;
 * TOPO_PRINT_BYTES_MAX always do. */
void topo_print(const struct topo *t, uint32_t indent, struct text *out);

/* Add the shortest decimal that is read as the same number. */
void topo_print_number(double value, struct text *out);

#endif
