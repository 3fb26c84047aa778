/* Fuzz the readers of notes: what is read can be written, and is then read the same. The first byte
 * says which kind, the next two how many chunks there are here. */

#include "base/bytes.h"
#include "node/central/note.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHUNKS_MAX = UINT16_MAX, WORDS_MAX = (CHUNKS_MAX + 63) / 64 };

static uint8_t written[WIRE_NOTE_BYTES_MAX];

static void fuzz_note(const uint8_t *bytes, size_t size)
{
    struct node_note note;

    if (node_note_read(bytes, size, &note) != OK) {
        return;
    }
    CHECK(note.round <= CENTRAL_ROUND_LAST && size == NODE_NOTE_BYTES);
    node_note_write(&note, written);
    CHECK(memcmp(written, bytes, size) == 0);
}

/* What has too many runs to be written is void from there on. */
static void fuzz_stand(const uint8_t *bytes, size_t size, uint32_t chunks)
{
    static uint64_t versions[CHUNKS_MAX], back[CHUNKS_MAX];
    struct central_stand stand, again;
    uint64_t tables, tables_again;
    size_t bytes_written;

    if (node_stand_read(bytes, size, chunks, versions, &stand, &tables) != OK) {
        return;
    }
    CHECK(stand.chunks == chunks && stand.versions == versions);
    bytes_written = node_stand_write(&stand, tables, written);
    CHECK(bytes_written <= WIRE_NOTE_BYTES_MAX);
    CHECK(node_stand_read(written, bytes_written, chunks, back, &again, &tables_again) == OK);
    CHECK(tables == tables_again && stand.since == again.since && stand.until == again.until &&
          stand.last == again.last);
    for (uint32_t i = 0; i < chunks; i++) {
        CHECK(versions[i] == back[i] || (back[i] & CENTRAL_VOID) != 0);
    }
}

static void fuzz_go(const uint8_t *bytes, size_t size, uint32_t chunks)
{
    static uint64_t voids[WORDS_MAX], back[WORDS_MAX];
    uint64_t since, since_again;
    size_t bytes_written;

    if (node_go_read(bytes, size, chunks, voids, &since) != OK) {
        return;
    }
    bytes_written = node_go_write(since, voids, chunks, written);
    CHECK(bytes_written <= size); /* Without the zeroes at its end. */
    CHECK(node_go_read(written, bytes_written, chunks, back, &since_again) == OK);
    CHECK(since == since_again && memcmp(voids, back, (chunks + 63) / 64 * sizeof(*voids)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3 || size - 3 > WIRE_NOTE_BYTES_MAX) {
        return 0;
    }
    switch (data[0] % 3) {
    case 0:
        fuzz_note(data + 3, size - 3);
        break;
    case 1:
        fuzz_stand(data + 3, size - 3, bytes_load16(data + 1));
        break;
    default:
        fuzz_go(data + 3, size - 3, bytes_load16(data + 1));
        break;
    }
    return 0;
}
