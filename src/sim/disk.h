/* The disk of one simulated host: files in memory that survive a crash as far as they were synced.
 *
 *     |<------ durable ------>|<-- appended, not synced -->|
 *     survives a crash         a seeded part of it survives
 *
 * It stands for tmp + fsync + rename on one side and for an append-only log with fsync on the
 * other; nothing else a node needs. Faults are switched on for the next operations and counted, so
 * that a test can prove that it met them. Deterministic: its randomness comes from its seed. One
 * thread; no real file is touched. */

#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct sim_disk;

enum {
    SIM_DISK_NAME_BYTES = 128, /* Of a file's name, with its end. */
    SIM_DISK_FILES_LIMIT = 64 * 1024,
};

#define SIM_DISK_CAPACITY_LIMIT (UINT64_C(1) << 40) /* Bytes. */

struct sim_disk_config {
    uint64_t capacity_bytes;
    uint32_t files_max;
    uint64_t seed;
};

enum sim_disk_fault {
    SIM_DISK_FULL,   /* A write or append returns ERR_FULL and changes nothing. */
    SIM_DISK_SHORT,  /* An append keeps a seeded part of its bytes (not all) and returns ERR_IO; an
                        atomic write returns ERR_IO and changes nothing. */
    SIM_DISK_SYNC,   /* A sync or the one inside an atomic write returns ERR_IO: sim_disk_sync(). */
    SIM_DISK_RENAME, /* The rename of an atomic write returns ERR_IO; the old file stays. */
    SIM_DISK_FAULTS,
};

/* ERR_TOO_BIG if a limit is zero or above those of this header; ERR_NOMEM. */
MUST_USE enum err sim_disk_create(const struct sim_disk_config *config, struct sim_disk **disk_out);

/* NULL is allowed. */
void sim_disk_destroy(struct sim_disk *d);

/* Functions that take a name return ERR_INVALID if it is empty, has a '/' or a control character,
 * or does not fit SIM_DISK_NAME_BYTES. On any error the disk is as before, unless a fault says
 * otherwise. */

/* Replace or create the file, as tmp + fsync + rename does: after OK it is durable; after an error
 * or a crash it is wholly the old one. Both copies must fit the disk for a moment: ERR_FULL.
 * ERR_TOO_BIG at the limit of files. */
MUST_USE enum err sim_disk_write_atomic(struct sim_disk *d, const char *name, const void *bytes,
                                        size_t size);

/* Add to the end of the file, creating it if needed. Readable at once, durable after
 * sim_disk_sync(). ERR_FULL, ERR_TOO_BIG as above. */
MUST_USE enum err sim_disk_append(struct sim_disk *d, const char *name, const void *bytes,
                                  size_t size);

/* Make what was appended durable. After a sync that failed with ERR_IO, later ones may return OK
 * and yet nothing more of this file becomes durable until it is replaced or removed, as on Linux,
 * where a failed fsync marks the pages clean: asking again is a bug of the caller that a crash will
 * show. ERR_NOT_FOUND. */
MUST_USE enum err sim_disk_sync(struct sim_disk *d, const char *name);

/* A view of the whole file, valid until the disk changes. ERR_NOT_FOUND. */
MUST_USE enum err sim_disk_read(struct sim_disk *d, const char *name, const uint8_t **bytes_out,
                                size_t *size_out);

/* Remove the file, durably. ERR_NOT_FOUND. */
MUST_USE enum err sim_disk_remove(struct sim_disk *d, const char *name);

/* Call @file for every file whose name starts with @prefix, in the order of names. It must not
 * change the disk. */
void sim_disk_list(const struct sim_disk *d, const char *prefix,
                   void (*file)(const char *name, size_t size, void *user), void *user);

/* The host crashed. Each file keeps what is durable and a seeded part of the rest (perhaps none,
 * perhaps all), torn anywhere; a file that was never durable and keeps nothing is gone. What is
 * left is durable. Faults that were switched on are switched off. */
void sim_disk_crash(struct sim_disk *d);

/* The next @operations operations that this fault can hit meet it; zero: none. */
void sim_disk_fault_set(struct sim_disk *d, enum sim_disk_fault fault, uint32_t operations);

/* How often the fault was met since the disk was created. */
uint64_t sim_disk_fault_count(const struct sim_disk *d, enum sim_disk_fault fault);

/* While it is starved nobody can open a file (no descriptors): reading and replacing one returns
 * ERR_IO. May be set several times, and must be taken back as often. */
void sim_disk_starve(struct sim_disk *d, bool starved);
uint64_t sim_disk_starved_count(const struct sim_disk *d); /* How often somebody met that. */

/* Everything that is to be durable takes so much longer (may be negative, to take it back). The
 * disk knows no time: whoever waits for it asks. */
void sim_disk_slow(struct sim_disk *d, int64_t extra_ns);
int64_t sim_disk_extra_ns(struct sim_disk *d);
uint64_t sim_disk_slow_count(const struct sim_disk *d); /* How often somebody had to wait longer. */

/* Take away all files whose names have @part in them and begin like one of these up to the '+'
 * behind it (a folder), picked by the disk's randomness; or, if @damage, flip a bit in the last of
 * them instead. Returns zero if there is none, else what sim_disk_mend() puts them back by, but for
 * files that were written anew. */
uint32_t sim_disk_lose(struct sim_disk *d, const char *part, bool damage);
void sim_disk_mend(struct sim_disk *d, uint32_t number);
/* How often somebody wanted to read a file that was lost or damaged. */
uint64_t sim_disk_lost_count(const struct sim_disk *d, bool damaged);

/* Change the capacity; what is there stays, even if it is more. ERR_TOO_BIG. */
MUST_USE enum err sim_disk_capacity_set(struct sim_disk *d, uint64_t bytes);

uint64_t sim_disk_used_bytes(const struct sim_disk *d);
uint32_t sim_disk_files_count(const struct sim_disk *d);

/* Bytes appended and not durable, over all files. */
uint64_t sim_disk_unsynced_bytes(const struct sim_disk *d);

#endif
