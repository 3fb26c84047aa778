/* Faults: what can go wrong in a world, by script or by seed. Each kind has a counter that proves
 * that it really happened: a bit that was flipped on its way to a reader, not one that was going to
 * be. Faults with a duration end by themselves; overlapping ones end independently. */

#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "sim/net/link.h"
#include "sim/world.h"

enum sim_fault_kind {
    SIM_FAULT_KILL,      /* kill -9 of a host's process; it restarts after the duration. */
    SIM_FAULT_POWER,     /* Loss of power: nobody is told. Restarts likewise. */
    SIM_FAULT_PAUSE,     /* SIGSTOP, then SIGCONT. */
    SIM_FAULT_CUT,       /* A link is cut both ways. */
    SIM_FAULT_CUT_ONE,   /* One way only. */
    SIM_FAULT_SLOW,      /* A link has only a part (amount, ppm) of its rate. */
    SIM_FAULT_SPIKE,     /* A link has more delay (amount, ns). */
    SIM_FAULT_LOSS,      /* Segments (amount, ppm) come a retransmission later. */
    SIM_FAULT_RESET,     /* A connection is reset, in mid-frame if it has one under way. */
    SIM_FAULT_REORDER,   /* One end sees a reset first; the other still gets old frames. */
    SIM_FAULT_DUPLICATE, /* A frame is sent twice. */
    SIM_FAULT_FLIP,      /* A bit is flipped on the way. */
    SIM_FAULT_FRAGMENT,  /* Reads give a few bytes (amount) at a time. */
    SIM_FAULT_CLOCK,     /* The wall clock jumps (amount, us, may be negative). */
    SIM_FAULT_MEMORY,    /* An allocation (the amount-th) fails. */
    SIM_FAULT_DISK_FULL, /* The next (amount) operations of a disk fail in that way. */
    SIM_FAULT_DISK_SHORT,
    SIM_FAULT_DISK_SYNC,
    SIM_FAULT_DISK_RENAME,
    SIM_FAULT_FREEZE,       /* A pause that is longer than every grace. */
    SIM_FAULT_DESCRIPTORS,  /* A host has none: no new connections, no files. */
    SIM_FAULT_MEMORY_LIMIT, /* Allocations of more than so many bytes (amount) fail. */
    SIM_FAULT_DISK_SLOW,    /* What is to be durable takes longer (amount, ns). */
    SIM_FAULT_LOSE_SHARD,   /* A server is killed and a folder of its store is lost; it is put back
                               after the duration. */
    SIM_FAULT_DAMAGE,       /* Likewise; a bit is flipped in one of the files. */
    SIM_FAULT_STALL,        /* A connection passes nothing any more, and nobody is told. */
    SIM_FAULT_KINDS,
};

/* A bit for each. */
#define SIM_FAULT_BIT(kind) (UINT64_C(1) << (kind))
#define SIM_FAULTS_ALL (SIM_FAULT_BIT(SIM_FAULT_KINDS) - 1)
/* Of which processes die. */
#define SIM_FAULTS_DEATHS                                                                          \
    (SIM_FAULT_BIT(SIM_FAULT_KILL) | SIM_FAULT_BIT(SIM_FAULT_POWER) |                              \
     SIM_FAULT_BIT(SIM_FAULT_LOSE_SHARD) | SIM_FAULT_BIT(SIM_FAULT_DAMAGE))
/* That only those meet who have something on a disk, and those of files that a store has. */
#define SIM_FAULTS_DISKS                                                                           \
    (SIM_FAULTS_STORES | SIM_FAULT_BIT(SIM_FAULT_DISK_FULL) |                                      \
     SIM_FAULT_BIT(SIM_FAULT_DISK_SHORT) | SIM_FAULT_BIT(SIM_FAULT_DISK_SYNC) |                    \
     SIM_FAULT_BIT(SIM_FAULT_DISK_RENAME))
#define SIM_FAULTS_STORES                                                                          \
    (SIM_FAULT_BIT(SIM_FAULT_DISK_SLOW) | SIM_FAULT_BIT(SIM_FAULT_LOSE_SHARD) |                    \
     SIM_FAULT_BIT(SIM_FAULT_DAMAGE))

struct sim_fault {
    enum sim_fault_kind kind;
    struct sim_host *host; /* For faults of hosts. */
    struct sim_link *link; /* For faults of links: one direction of it. */
    int64_t duration_ns;
    int64_t amount;
};

struct sim_faults;

/* Which connection a fault hits is picked by @seed. */
MUST_USE enum err sim_faults_create(struct sim_world *w, uint64_t seed,
                                    struct sim_faults **faults_out);
void sim_faults_destroy(struct sim_faults *f);

/* Let it happen now. False if nothing was there for it to happen to. */
bool sim_fault_inject(struct sim_faults *f, const struct sim_fault *fault);

/* From now to @until_ns, let faults of the kinds in @mask (bit = kind) happen at random times, on
 * average one per @mean_ns, each over before @until_ns. All randomness comes from @seed. */
void sim_faults_storm(struct sim_faults *f, uint64_t seed, uint64_t mask, int64_t mean_ns,
                      int64_t until_ns);

/* @seconds after @from_ns, and after the last fault that has happened so far is over. */
int64_t sim_faults_patience_ns(const struct sim_faults *f, int64_t from_ns, uint32_t seconds);

/* How often that kind has really happened. */
uint64_t sim_faults_fired(const struct sim_faults *f, enum sim_fault_kind kind);

/* "kill", "cut-one"; and back, or SIM_FAULT_KINDS. */
const char *sim_fault_name(enum sim_fault_kind kind);
enum sim_fault_kind sim_fault_parse(const char *name);

/* What a kind acts on, for those who read scripts. */
enum sim_fault_target { SIM_TARGET_HOST, SIM_TARGET_LINK, SIM_TARGET_CONNECTION };
enum sim_fault_target sim_fault_target(enum sim_fault_kind kind);

/* How the amount is written in scripts; SIM_AMOUNT_NONE if there is none. */
enum sim_fault_amount {
    SIM_AMOUNT_NONE,
    SIM_AMOUNT_PPM,
    SIM_AMOUNT_TIME,
    SIM_AMOUNT_COUNT,
};
enum sim_fault_amount sim_fault_amount(enum sim_fault_kind kind);
bool sim_fault_lasts(enum sim_fault_kind kind); /* Has a duration. */

#endif
