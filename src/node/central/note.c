#include "node/central/note.h"

#include "base/bytes.h"

#include <string.h>

enum { RUN_BYTES = 12, STAND_HEAD_BYTES = 40, GO_HEAD_BYTES = 16 };

_Static_assert(STAND_HEAD_BYTES + NODE_STAND_RUNS_MAX * RUN_BYTES <= WIRE_NOTE_BYTES_MAX,
               "a stand is a note");

void node_note_write(const struct node_note *note, uint8_t *out)
{
    struct bytes_writer w;

    bytes_writer_init(&w, out, NODE_NOTE_BYTES);
    bytes_write16(&w, note->table);
    bytes_write16(&w, 0);
    bytes_write32(&w, note->chunk);
    bytes_write64(&w, note->round);
    bytes_write64(&w, note->sites);
    bytes_write64(&w, note->bytes);
    CHECK(!w.failed && w.left == 0);
}

enum err node_note_read(const uint8_t *bytes, size_t size, struct node_note *out)
{
    struct bytes_reader r;
    uint16_t zero;

    bytes_reader_init(&r, bytes, size);
    out->table = bytes_read16(&r);
    zero = bytes_read16(&r);
    out->chunk = bytes_read32(&r);
    out->round = bytes_read64(&r);
    out->sites = bytes_read64(&r);
    out->bytes = bytes_read64(&r);
    return r.failed || r.left != 0 || zero != 0 || out->round > CENTRAL_ROUND_LAST ? ERR_MALFORMED
                                                                                   : OK;
}

size_t node_stand_write(const struct central_stand *stand, uint64_t tables, uint8_t *out)
{
    struct bytes_writer w;
    uint32_t runs = 0;

    bytes_writer_init(&w, out, WIRE_NOTE_BYTES_MAX);
    bytes_write64(&w, tables);
    bytes_write64(&w, stand->since);
    bytes_write64(&w, stand->until);
    bytes_write32(&w, stand->last);
    bytes_write32(&w, stand->chunks);
    bytes_write64(&w, 0);
    for (uint32_t i = 0; i < stand->chunks;) {
        uint32_t end = i + 1;
        uint64_t version = stand->versions[i];

        if (++runs == NODE_STAND_RUNS_MAX) { /* It takes copies of what does not fit. */
            end = stand->chunks;
            version |= CENTRAL_VOID;
        }
        while (end < stand->chunks && stand->versions[end] == version) {
            end++;
        }
        bytes_write64(&w, version);
        bytes_write32(&w, end - i);
        i = end;
    }
    CHECK(!w.failed);
    return w.written;
}

enum err node_stand_read(const uint8_t *bytes, size_t size, uint32_t chunks, uint64_t *versions,
                         struct central_stand *out, uint64_t *tables_out)
{
    struct bytes_reader r;
    uint32_t at = 0;

    bytes_reader_init(&r, bytes, size);
    *tables_out = bytes_read64(&r);
    *out = (struct central_stand){.since = bytes_read64(&r), .versions = versions};
    out->until = bytes_read64(&r);
    out->last = bytes_read32(&r);
    out->chunks = bytes_read32(&r);
    if (bytes_read64(&r) != 0 || r.failed) {
        return ERR_MALFORMED;
    }
    if (out->chunks != chunks) {
        return ERR_AGAIN;
    }
    while (r.left > 0 && !r.failed) {
        uint64_t version = bytes_read64(&r);
        uint32_t count = bytes_read32(&r);

        if (r.failed || count == 0 || count > chunks - at) {
            return ERR_MALFORMED;
        }
        for (uint32_t i = 0; i < count; i++) {
            versions[at++] = version;
        }
    }
    return at == chunks ? OK : ERR_MALFORMED;
}

size_t node_go_write(uint64_t since, const uint64_t *voids, uint32_t chunks, uint8_t *out)
{
    uint32_t words = (chunks + 63) / 64;
    struct bytes_writer w;

    while (words > 0 && voids[words - 1] == 0) {
        words--;
    }
    bytes_writer_init(&w, out, WIRE_NOTE_BYTES_MAX);
    bytes_write64(&w, since);
    bytes_write32(&w, chunks);
    bytes_write32(&w, words);
    for (uint32_t i = 0; i < words; i++) {
        bytes_write64(&w, voids[i]);
    }
    CHECK(!w.failed);
    return w.written;
}

enum err node_go_read(const uint8_t *bytes, size_t size, uint32_t chunks, uint64_t *voids,
                      uint64_t *since_out)
{
    struct bytes_reader r;
    uint32_t theirs;
    uint32_t words;

    bytes_reader_init(&r, bytes, size);
    *since_out = bytes_read64(&r);
    theirs = bytes_read32(&r);
    words = bytes_read32(&r);
    if (r.failed || words > (theirs + UINT64_C(63)) / 64 ||
        r.left != (size_t)words * sizeof(uint64_t)) {
        return ERR_MALFORMED;
    }
    if (theirs > chunks) {
        return ERR_AGAIN;
    }
    for (uint32_t i = words; i < (chunks + UINT64_C(63)) / 64; i++) {
        voids[i] = 0;
    }
    for (uint32_t i = 0; i < words; i++) {
        voids[i] = bytes_read64(&r);
    }
    if (words > 0 && words == theirs / 64 + 1) {
        voids[words - 1] &= (UINT64_C(1) << theirs % 64) - 1;
    }
    return OK;
}
