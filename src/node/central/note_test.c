/* Tests of node/central_note: what is written is read, and nothing else is. */

#include "node/central/note.h"

#include "base/rng.h"

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

enum { CHUNKS = 20000 };

static uint64_t versions[CHUNKS], back[CHUNKS];
static uint8_t bytes[WIRE_NOTE_BYTES_MAX];

static void a_note_comes_back_as_it_was(void **state)
{
    const struct node_note note = {
        .table = 7, .chunk = 123456, .round = 99, .sites = UINT64_MAX, .bytes = 1 << 20};
    struct node_note out = {0};

    (void)state;
    node_note_write(&note, bytes);
    assert_int_equal(node_note_read(bytes, NODE_NOTE_BYTES, &out), OK);
    assert_memory_equal(&note, &out, sizeof(note));
    assert_int_equal(node_note_read(bytes, NODE_NOTE_BYTES - 1, &out), ERR_MALFORMED);
    assert_int_equal(node_note_read(bytes, NODE_NOTE_BYTES + 1, &out), ERR_MALFORMED);
    bytes[2] = 1;
    assert_int_equal(node_note_read(bytes, NODE_NOTE_BYTES, &out), ERR_MALFORMED);
    bytes[2] = 0;
    bytes[15] = 0x80; /* No round is as late as that. */
    assert_int_equal(node_note_read(bytes, NODE_NOTE_BYTES, &out), ERR_MALFORMED);
}

static void check_stand(uint32_t chunks)
{
    const struct central_stand stand = {
        .last = 3, .since = 4, .until = CENTRAL_EVER, .chunks = chunks, .versions = versions};
    struct central_stand out;
    uint64_t tables;
    size_t size = node_stand_write(&stand, 77, bytes);

    assert_int_equal(node_stand_read(bytes, size, chunks, back, &out, &tables), OK);
    assert_int_equal(tables, 77);
    assert_int_equal(out.last, 3);
    assert_int_equal(out.since, 4);
    assert_true(out.until == CENTRAL_EVER);
    assert_int_equal(out.chunks, chunks);
    assert_int_equal(node_stand_read(bytes, size, chunks + 1, back, &out, &tables), ERR_AGAIN);
    for (size_t cut = 0; cut < size && cut < 64; cut++) {
        assert_int_not_equal(node_stand_read(bytes, cut, chunks, back, &out, &tables), OK);
    }
}

static void stands_come_back_as_they_were(void **state)
{
    struct rng rng;

    (void)state;
    for (uint32_t seed = 0; seed < 200; seed++) {
        uint32_t chunks;

        rng_init(&rng, seed);
        chunks = 1 + (uint32_t)rng_below(&rng, 4000);
        for (uint32_t i = 0; i < chunks; i++) {
            versions[i] = i > 0 && rng_below(&rng, 4) != 0 ? versions[i - 1] : rng_below(&rng, 9);
            versions[i] |= rng_below(&rng, 50) == 0 ? CENTRAL_VOID : 0;
        }
        check_stand(chunks);
        assert_memory_equal(versions, back, chunks * sizeof(*versions));
    }
}

/* Versions of a site are seldom more than two; of one that has too many the rest is void. */
static void a_stand_that_does_not_fit_gives_up_what_is_left(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CHUNKS; i++) {
        versions[i] = i % 3;
    }
    check_stand(CHUNKS);
    assert_int_equal(back[100], versions[100]);
    assert_true((back[CHUNKS - 1] & CENTRAL_VOID) != 0);
}

static void a_go_comes_back_as_it_was(void **state)
{
    uint64_t voids[4] = {5, 0, UINT64_C(1) << 63, 0};
    uint64_t out[4] = {1, 1, 1, 1};
    uint64_t since;
    size_t size;

    (void)state;
    size = node_go_write(12, voids, 250, bytes);
    assert_int_equal(node_go_read(bytes, size, 250, out, &since), OK);
    assert_int_equal(since, 12);
    assert_memory_equal(voids, out, sizeof(voids));
    assert_int_equal(node_go_read(bytes, size - 1, 250, out, &since), ERR_MALFORMED);
    assert_int_equal(node_go_read(bytes, size, 249, out, &since), ERR_AGAIN);
    memset(out, 0xff, sizeof(out));
    assert_int_equal(node_go_read(bytes, size, 251, out, &since), OK); /* One more is here. */
    assert_memory_equal(voids, out, sizeof(voids));
    voids[3] = UINT64_MAX; /* Of chunks that it does not have nothing is said. */
    size = node_go_write(12, voids, 250, bytes);
    assert_int_equal(node_go_read(bytes, size, 256, out, &since), OK);
    assert_true(out[3] == (UINT64_C(1) << 58) - 1);
    bytes[12] = 5; /* More words than there are chunks for. */
    assert_int_equal(node_go_read(bytes, size, 250, out, &since), ERR_MALFORMED);
    memset(voids, 0, sizeof(voids));
    assert_int_equal(node_go_write(12, voids, 250, bytes), 16); /* As usual. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_note_comes_back_as_it_was),
        cmocka_unit_test(stands_come_back_as_they_were),
        cmocka_unit_test(a_stand_that_does_not_fit_gives_up_what_is_left),
        cmocka_unit_test(a_go_comes_back_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
