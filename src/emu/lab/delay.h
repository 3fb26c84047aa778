/* The delay of the links between regions: what is put in comes out when it is due. Pure: time comes
 * in as a value, and what an item is does not matter here.
 *
 *     due = when it came + time to send it + delay + jitter, and never before the item ahead of it
 *
 * Rates and queues are elsewhere (the kernel's, see emu/lab/text.h): what comes in has waited for
 * its turn already. What is held is bounded by a count; the caller bounds the bytes. One thread. */

#ifndef EMU_LAB_DELAY_H
#define EMU_LAB_DELAY_H

#include "base/err.h"
#include "obs/histogram.h"

#include <stdbool.h>
#include <stdint.h>

struct delay;

#define DELAY_NEVER INT64_MAX
#define DELAY_LATE_MAX_NS INT64_C(1000000) /* Mean: a run with more is not what it says. */

struct delay_config {
    uint32_t ends;      /* Regions. */
    uint32_t items_max; /* In all links together. */
    uint64_t seed;      /* Of jitter. */
};

/* One direction. All zero: at once. */
struct delay_link {
    int64_t delay_ns;
    int64_t jitter_ns;    /* Uniform from zero to this, on top. */
    uint64_t bytes_per_s; /* For the time that sending takes; zero: none. */
};

struct delay_item {
    uint32_t from;
    uint32_t to;
    void *what;        /* The caller's. */
    uint32_t bytes;    /* On the wire. */
    int64_t waited_ns; /* Before it was put in, and should not have: counts as late. */
    int64_t due_ns;    /* Set when it is put in. */
};

/* ERR_INVALID, ERR_NOMEM. */
MUST_USE enum err delay_create(const struct delay_config *config, struct delay **delay_out);

/* What is still inside is forgotten: take it out first. NULL is allowed. */
void delay_destroy(struct delay *d);

/* For what comes from now on; what is inside keeps its time. */
void delay_link_set(struct delay *d, uint32_t from, uint32_t to, const struct delay_link *link);

/* Put an item in that came at @now_ns. ERR_AGAIN if there is no room. */
MUST_USE enum err delay_push(struct delay *d, const struct delay_item *item, int64_t now_ns);

/* When the next item is due; DELAY_NEVER if there is none. */
int64_t delay_next_ns(const struct delay *d);

/* Take the earliest item out that is due. False if none is. */
MUST_USE bool delay_pop(struct delay *d, int64_t now_ns, struct delay_item *item_out);

uint32_t delay_count(const struct delay *d);

/* How late it is if it goes out at @now_ns: after it was due, with what it waited before. */
int64_t delay_item_late_ns(const struct delay_item *item, int64_t now_ns);

/* Lateness in figures for people, and the verdict. */
struct delay_report {
    uint64_t count;
    double mean_us;
    double p99_us;
    double max_us;
    bool valid; /* The mean is at most DELAY_LATE_MAX_NS. */
};

/* @late holds what delay_item_late_ns() said of each item. */
struct delay_report delay_report_of(const struct obs_distribution *late);

#endif
