/* What is in the notes of rounds around a centre (wire/route.h): bytes only. Sites are bits in the
 * order of their names. */

#ifndef NODE_CENTRAL_NOTE_H
#define NODE_CENTRAL_NOTE_H

#include "sync/central.h"
#include "wire/route.h"

enum {
    NODE_NOTE_BYTES = 32, /* Of all but stand and go. */
    NODE_STAND_RUNS_MAX = 5000,
};

/* Ask, have, room, nothing, empty, idle, busy, since: those of these that it needs. */
struct node_note {
    uint16_t table;
    uint32_t chunk;
    uint64_t round; /* Or version. */
    uint64_t sites;
    uint64_t bytes;
};

void node_note_write(const struct node_note *note, uint8_t *out);
MUST_USE enum err node_note_read(const uint8_t *bytes, size_t size, struct node_note *out);

/* A stand: versions as runs of equal ones. @tables is a hash of what tables there are. Returns the
 * size, at most WIRE_NOTE_BYTES_MAX; where there are too many runs, the rest is void. */
size_t node_stand_write(const struct central_stand *stand, uint64_t tables, uint8_t *out);

/* @versions has room for @chunks; ERR_AGAIN if the stand has another number of them,
 * ERR_MALFORMED. */
MUST_USE enum err node_stand_read(const uint8_t *bytes, size_t size, uint32_t chunks,
                                  uint64_t *versions, struct central_stand *out,
                                  uint64_t *tables_out);

/* A go: since, and the bits of void chunks. There may be more chunks here than it knows of, which
 * are not void then: tables that were made since this site stood. ERR_AGAIN: there are fewer.
 * ERR_MALFORMED. */
size_t node_go_write(uint64_t since, const uint64_t *voids, uint32_t chunks, uint8_t *out);
MUST_USE enum err node_go_read(const uint8_t *bytes, size_t size, uint32_t chunks, uint64_t *voids,
                               uint64_t *since_out);

#endif
