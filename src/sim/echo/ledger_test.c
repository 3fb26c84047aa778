/* The ledger against crashes at every moment: what was committed is there, exactly once. */

#include "sim/echo/ledger.h"

#include "base/rng.h"
#include "sim/disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static struct sim_disk *fresh_disk(uint64_t seed)
{
    struct sim_disk_config config = {.capacity_bytes = 1 << 20, .files_max = 8, .seed = seed};
    struct sim_disk *disk;

    assert_int_equal(sim_disk_create(&config, &disk), OK);
    return disk;
}

static struct sim_ledger *open_ledger(struct sim_disk *disk)
{
    struct sim_ledger *l;

    assert_int_equal(sim_ledger_open(disk, NULL, NULL, &l), OK);
    return l;
}

static struct sim_ledger_entry entry(const char *client, uint64_t incarnation, uint64_t sequence)
{
    struct sim_ledger_entry e = {
        .incarnation = incarnation, .sequence = sequence, .value = sequence * 3};

    memcpy(e.client, client, strlen(client));
    return e;
}

static void test_what_is_committed_is_there_after_a_crash(void **state)
{
    struct sim_disk *disk = fresh_disk(1);
    struct sim_ledger *l = open_ledger(disk);
    const struct sim_ledger_client *known;

    (void)state;
    for (uint64_t n = 1; n <= 600; n++) { /* More than one journal. */
        struct sim_ledger_entry e = entry("w1", 4, n);

        assert_int_equal(sim_ledger_commit(l, &e), OK);
        assert_int_equal(sim_ledger_commit(l, &e), ERR_EXISTS);
    }
    sim_ledger_close(l);
    sim_disk_crash(disk);
    l = open_ledger(disk);
    known = sim_ledger_find(l, "w1");
    assert_non_null(known);
    assert_int_equal(known->count, 600);
    assert_int_equal(known->sum, 600 * 601 / 2 * 3);
    assert_int_equal(net_window_base(&known->window), 600);
    assert_null(sim_ledger_find(l, "w2"));
    sim_ledger_close(l);
    sim_disk_destroy(disk);
}

static void test_an_older_incarnation_is_refused(void **state)
{
    struct sim_disk *disk = fresh_disk(1);
    struct sim_ledger *l = open_ledger(disk);
    struct sim_ledger_entry old = entry("w1", 4, 1), newer = entry("w1", 5, 1);

    (void)state;
    assert_int_equal(sim_ledger_commit(l, &old), OK);
    assert_int_equal(sim_ledger_commit(l, &newer), OK);
    old.sequence = 2;
    assert_int_equal(sim_ledger_commit(l, &old), ERR_REFUSED);
    assert_int_equal(sim_ledger_find(l, "w1")->count, 2);
    sim_ledger_close(l);
    sim_disk_destroy(disk);
}

/* Commit with random disk faults and crashes; afterwards every OK is there and nothing twice. */
static void storm(uint64_t seed)
{
    struct sim_disk *disk = fresh_disk(seed);
    struct sim_ledger *l = open_ledger(disk);
    const struct sim_ledger_client *known;
    struct rng rng;
    uint64_t next = 1, committed = 0;

    rng_init(&rng, seed);
    for (int i = 0; i < 400; i++) {
        struct sim_ledger_entry e = entry("w1", 1, next);
        enum err rc;

        if (rng_chance(&rng, 200000)) {
            sim_disk_fault_set(disk, (enum sim_disk_fault)rng_below(&rng, SIM_DISK_FAULTS), 1);
        }
        rc = sim_ledger_commit(l, &e);
        if (rc == OK || rc == ERR_EXISTS) { /* A crash may have kept what was not confirmed. */
            committed = next++;
        }
        if (rng_chance(&rng, 50000)) {
            sim_ledger_close(l);
            sim_disk_crash(disk);
            l = open_ledger(disk);
            known = sim_ledger_find(l, "w1");
            assert_true(committed == 0 || known != NULL);
            assert_true(known == NULL || (known->count >= committed && known->count <= next));
        }
    }
    known = sim_ledger_find(l, "w1");
    assert_non_null(known);
    assert_int_equal(known->count, net_window_base(&known->window));
    assert_int_equal(known->sum, known->count * (known->count + 1) / 2 * 3);
    sim_ledger_close(l);
    sim_disk_destroy(disk);
}

static void test_disk_faults_and_crashes_lose_nothing_that_was_confirmed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        storm(seed);
    }
}

static void test_a_damaged_snapshot_is_noticed(void **state)
{
    struct sim_disk *disk = fresh_disk(1);
    struct sim_ledger *l = open_ledger(disk);
    const uint8_t *bytes;
    uint8_t copy[4096];
    size_t size;

    (void)state;
    for (uint64_t n = 1; n <= 300; n++) {
        struct sim_ledger_entry e = entry("w1", 1, n);

        assert_int_equal(sim_ledger_commit(l, &e), OK);
    }
    sim_ledger_close(l);
    assert_int_equal(sim_disk_read(disk, "state", &bytes, &size), OK);
    assert_true(size <= sizeof(copy));
    for (size_t at = 0; at < size; at += 7) {
        memcpy(copy, bytes, size);
        copy[at] ^= 0x10;
        assert_int_equal(sim_disk_write_atomic(disk, "state", copy, size), OK);
        assert_int_equal(sim_ledger_open(disk, NULL, NULL, &l), ERR_CORRUPT);
        copy[at] ^= 0x10;
        assert_int_equal(sim_disk_write_atomic(disk, "state", copy, size), OK);
        assert_int_equal(sim_disk_read(disk, "state", &bytes, &size), OK);
    }
    sim_disk_destroy(disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_committed_is_there_after_a_crash),
        cmocka_unit_test(test_an_older_incarnation_is_refused),
        cmocka_unit_test(test_disk_faults_and_crashes_lose_nothing_that_was_confirmed),
        cmocka_unit_test(test_a_damaged_snapshot_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
