/* Fuzz sum, result, whole and note. */

#include "wire/route.h"

#include "wire/fuzzing.h"

/* What only passes frames on finds the same way. */
static void fuzz_way(const struct fuzzing_frame *in, const struct wire_route *route,
                     uint32_t origin)
{
    uint32_t back[WIRE_ROUTE_SITES_MAX];
    struct wire_route found;

    CHECK(wire_route_find(in->body, in->size, &found) == OK);
    CHECK(found.count == route->count && found.sites == route->sites);
    CHECK(found.count >= 2 && found.count <= WIRE_ROUTE_SITES_MAX);
    CHECK(wire_route_index(&found, origin) == 0);
    wire_route_reverse(&found, back);
    for (uint32_t i = 0; i < found.count; i++) {
        CHECK(back[i] != 0 && wire_route_index(&found, back[i]) == found.count - 1 - i);
    }
}

static void fuzz_routed(const struct fuzzing_frame *in)
{
    struct wire_routed routed;
    struct buf *frame = NULL;
    uint32_t last = 0;
    enum err rc;

    if (wire_routed_decode(&in->header, in->body, in->size, &routed) == OK) {
        fuzz_way(in, &routed.route, routed.chunk.origin);
        for (uint32_t i = 0; i < routed.listed_count; i++) {
            CHECK(wire_listed(routed.listed, i).site > last);
            last = wire_listed(routed.listed, i).site;
        }
        rc = wire_routed_encode(fuzzing_pool(), (enum wire_type)in->header.type, &routed, &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_note(const struct fuzzing_frame *in)
{
    struct buf *frame = NULL;
    struct wire_note note;
    enum err rc;

    if (wire_note_decode(&in->header, in->body, in->size, &note) == OK) {
        CHECK((uint32_t)note.kind < WIRE_NOTES && note.size <= WIRE_NOTE_BYTES_MAX);
        fuzz_way(in, &note.route, note.origin);
        rc = wire_note_encode(fuzzing_pool(), &note, &frame);
        fuzzing_same(in, rc, frame);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_route route;
    struct fuzzing_frame in;

    if (!fuzzing_open(data, size, &in)) {
        return 0;
    }
    if (in.header.type == WIRE_SUM || in.header.type == WIRE_RESULT ||
        in.header.type == WIRE_WHOLE) {
        fuzz_routed(&in);
    } else if (in.header.type == WIRE_NOTE) {
        fuzz_note(&in);
    } else {
        (void)wire_route_find(in.body, in.size, &route);
    }
    return 0;
}
