/* The simulated disk: its promises one by one, then against a naive model on random operations. */

#include "sim/disk.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct sim_disk *disk_new(uint64_t capacity_bytes, uint64_t seed)
{
    struct sim_disk_config config = {capacity_bytes, 8, seed};
    struct sim_disk *d = NULL;

    assert_int_equal(sim_disk_create(&config, &d), OK);
    return d;
}

static void assert_file(struct sim_disk *d, const char *name, const char *want)
{
    const uint8_t *bytes = NULL;
    size_t size = 0;

    assert_int_equal(sim_disk_read(d, name, &bytes, &size), OK);
    assert_int_equal(size, strlen(want));
    assert_memory_equal(bytes, want, size);
}

static void assert_no_file(struct sim_disk *d, const char *name)
{
    const uint8_t *bytes = NULL;
    size_t size = 0;

    assert_int_equal(sim_disk_read(d, name, &bytes, &size), ERR_NOT_FOUND);
}

static enum err write_text(struct sim_disk *d, const char *name, const char *text)
{
    return sim_disk_write_atomic(d, name, text, strlen(text));
}

static enum err append_text(struct sim_disk *d, const char *name, const char *text)
{
    return sim_disk_append(d, name, text, strlen(text));
}

static void test_an_atomic_write_survives_a_crash(void **state)
{
    struct sim_disk *d = disk_new(100, 1);

    (void)state;
    assert_int_equal(write_text(d, "a", "first"), OK);
    assert_int_equal(write_text(d, "a", "second"), OK);
    assert_int_equal(write_text(d, "empty", ""), OK);
    assert_int_equal(sim_disk_used_bytes(d), 6);
    assert_int_equal(sim_disk_unsynced_bytes(d), 0);
    sim_disk_crash(d);
    assert_file(d, "a", "second");
    assert_file(d, "empty", "");
    assert_int_equal(sim_disk_remove(d, "a"), OK);
    assert_int_equal(sim_disk_remove(d, "a"), ERR_NOT_FOUND);
    sim_disk_crash(d);
    assert_no_file(d, "a");
    assert_int_equal(sim_disk_used_bytes(d), 0);
    sim_disk_destroy(d);
    sim_disk_destroy(NULL);
}

/* Over many seeds a crash tears the unsynced end at every byte, and never the synced part. */
static void test_a_crash_tears_what_was_not_synced(void **state)
{
    uint32_t sizes[8] = {0};
    uint32_t gone = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct sim_disk *d = disk_new(100, seed);
        const uint8_t *bytes = NULL;
        size_t size = 0;

        assert_int_equal(append_text(d, "log", "abc"), OK);
        assert_int_equal(sim_disk_sync(d, "log"), OK);
        assert_int_equal(append_text(d, "log", "de"), OK);
        assert_int_equal(append_text(d, "log", "fg"), OK);
        assert_int_equal(append_text(d, "new", "x"), OK);
        assert_file(d, "log", "abcdefg");
        assert_int_equal(sim_disk_unsynced_bytes(d), 5);
        sim_disk_crash(d);
        assert_int_equal(sim_disk_read(d, "log", &bytes, &size), OK);
        assert_in_range(size, 3, 7);
        assert_memory_equal(bytes, "abcdefg", size);
        sizes[size]++;
        gone += sim_disk_read(d, "new", &bytes, &size) == ERR_NOT_FOUND;
        assert_int_equal(sim_disk_unsynced_bytes(d), 0);
        sim_disk_destroy(d);
    }
    for (uint32_t i = 3; i <= 7; i++) {
        assert_true(sizes[i] > 10);
    }
    assert_in_range(gone, 50, 150);
}

static void test_a_failed_sync_cannot_be_made_good_by_another(void **state)
{
    struct sim_disk *d = disk_new(100, 3);
    const uint8_t *bytes = NULL;
    size_t size = 0;

    (void)state;
    assert_int_equal(write_text(d, "log", "abc"), OK);
    assert_int_equal(append_text(d, "log", "defghijklmnopqrstuvwxyz"), OK);
    sim_disk_fault_set(d, SIM_DISK_SYNC, 1);
    assert_int_equal(sim_disk_sync(d, "log"), ERR_IO);
    assert_int_equal(sim_disk_sync(d, "log"), OK);
    assert_int_equal(sim_disk_unsynced_bytes(d), 23);
    sim_disk_crash(d);
    assert_int_equal(sim_disk_read(d, "log", &bytes, &size), OK);
    assert_true(size < 26);
    assert_int_equal(append_text(d, "log", "!"), OK);
    assert_int_equal(sim_disk_sync(d, "log"), OK);
    assert_int_equal(sim_disk_unsynced_bytes(d), 0);
    assert_int_equal(sim_disk_sync(d, "none"), ERR_NOT_FOUND);
    sim_disk_destroy(d);
}

static void test_each_fault_is_met_and_counted(void **state)
{
    struct sim_disk *d = disk_new(1000, 5);
    const uint8_t *bytes = NULL;
    size_t size = 0;

    (void)state;
    assert_int_equal(write_text(d, "a", "old"), OK);
    for (uint32_t fault = 0; fault < SIM_DISK_FAULTS; fault++) {
        enum err want = fault == SIM_DISK_FULL ? ERR_FULL : ERR_IO;

        sim_disk_fault_set(d, fault, 2);
        assert_int_equal(write_text(d, "a", "new"), want);
        assert_int_equal(write_text(d, "b", "new"), want);
        assert_int_equal(sim_disk_fault_count(d, fault), 2);
        assert_file(d, "a", "old");
        assert_no_file(d, "b");
    }
    sim_disk_fault_set(d, SIM_DISK_SHORT, 1);
    assert_int_equal(append_text(d, "a", " and more"), ERR_IO);
    assert_int_equal(sim_disk_read(d, "a", &bytes, &size), OK);
    assert_in_range(size, 3, 11);
    assert_memory_equal(bytes, "old and more", size);
    sim_disk_fault_set(d, SIM_DISK_FULL, 1);
    assert_int_equal(append_text(d, "a", "x"), ERR_FULL);
    assert_int_equal(append_text(d, "a", "x"), OK);
    sim_disk_fault_set(d, SIM_DISK_RENAME, 5);
    assert_int_equal(append_text(d, "a", "x"), OK); /* It has nothing to rename. */
    sim_disk_crash(d);
    assert_int_equal(write_text(d, "a", "new"), OK); /* The crash ended the faults. */
    assert_int_equal(sim_disk_fault_count(d, SIM_DISK_FULL), 3);
    assert_int_equal(sim_disk_fault_count(d, SIM_DISK_SHORT), 3);
    assert_int_equal(sim_disk_fault_count(d, SIM_DISK_RENAME), 2);
    sim_disk_destroy(d);
}

static void test_limits_are_kept(void **state)
{
    struct sim_disk_config bad[] = {{0, 1, 0},
                                    {1, 0, 0},
                                    {SIM_DISK_CAPACITY_LIMIT + 1, 1, 0},
                                    {1, SIM_DISK_FILES_LIMIT + 1, 0}};
    struct sim_disk *d = NULL;
    char name[SIM_DISK_NAME_BYTES + 1];

    (void)state;
    for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(sim_disk_create(&bad[i], &d), ERR_TOO_BIG);
    }
    d = disk_new(10, 0);
    assert_int_equal(write_text(d, "a", "12345"), OK);
    assert_int_equal(write_text(d, "a", "123456"), ERR_FULL); /* Both would have to fit. */
    assert_int_equal(append_text(d, "a", "67890"), OK);
    assert_int_equal(append_text(d, "a", "x"), ERR_FULL);
    assert_int_equal(sim_disk_capacity_set(d, SIM_DISK_CAPACITY_LIMIT + 1), ERR_TOO_BIG);
    assert_int_equal(sim_disk_capacity_set(d, 5), OK);
    assert_int_equal(append_text(d, "b", ""), ERR_FULL);
    assert_file(d, "a", "1234567890");
    assert_int_equal(sim_disk_capacity_set(d, 1000), OK);
    for (uint32_t i = 1; i < 8; i++) {
        snprintf(name, sizeof(name), "file%u", i);
        assert_int_equal(append_text(d, name, "x"), OK);
    }
    assert_int_equal(append_text(d, "one too many", "x"), ERR_TOO_BIG);
    assert_int_equal(write_text(d, "one too many", "x"), ERR_TOO_BIG);
    assert_int_equal(write_text(d, "file1", "y"), OK);
    assert_int_equal(sim_disk_files_count(d), 8);
    memset(name, 'n', sizeof(name));
    name[SIM_DISK_NAME_BYTES] = '\0';
    assert_int_equal(sim_disk_remove(d, name), ERR_INVALID);
    name[SIM_DISK_NAME_BYTES - 1] = '\0';
    assert_int_equal(sim_disk_remove(d, name), ERR_NOT_FOUND);
    assert_int_equal(write_text(d, "", "x"), ERR_INVALID);
    assert_int_equal(write_text(d, "../a", "x"), ERR_INVALID);
    assert_int_equal(append_text(d, "a\n", "x"), ERR_INVALID);
    sim_disk_destroy(d);
}

static void list_file(const char *name, size_t size, void *user)
{
    char *text = user;

    sprintf(text + strlen(text), "%s=%zu ", name, size);
}

static void test_files_are_listed_by_name(void **state)
{
    struct sim_disk *d = disk_new(100, 0);
    char text[100] = "";

    (void)state;
    assert_int_equal(append_text(d, "log.2", "22"), OK);
    assert_int_equal(write_text(d, "state", "state"), OK);
    assert_int_equal(append_text(d, "log.1", "1"), OK);
    assert_int_equal(append_text(d, "log.10", ""), OK);
    sim_disk_list(d, "", list_file, text);
    assert_string_equal(text, "log.1=1 log.10=0 log.2=2 state=5 ");
    text[0] = '\0';
    sim_disk_list(d, "log.1", list_file, text);
    sim_disk_list(d, "state", list_file, text);
    sim_disk_list(d, "zz", list_file, text);
    sim_disk_list(d, "a", list_file, text);
    assert_string_equal(text, "log.1=1 log.10=0 state=5 ");
    sim_disk_destroy(d);
}

/* A life with allocations in every function; true if none failed. */
static bool allocate_all(struct sim_disk **disk_out)
{
    struct sim_disk_config config = {10000, 4, 1};
    static const char big[1000] = "";

    if (sim_disk_create(&config, disk_out) != OK) {
        *disk_out = NULL;
        return false;
    }
    return write_text(*disk_out, "a", "text") == OK && append_text(*disk_out, "b", "text") == OK &&
           sim_disk_append(*disk_out, "b", big, sizeof(big)) == OK &&
           sim_disk_write_atomic(*disk_out, "a", big, sizeof(big)) == OK;
}

static void test_every_failed_allocation_is_survived(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct sim_disk *d = NULL;
        bool ok;

        mem_fail_at(k, 1);
        ok = allocate_all(&d);
        mem_fail_at(0, 0);
        if (d != NULL) {
            uint64_t used = sim_disk_used_bytes(d);

            assert_int_equal(append_text(d, "c", "usable"), OK);
            assert_file(d, "c", "usable");
            assert_int_equal(sim_disk_used_bytes(d), used + 6);
        }
        sim_disk_destroy(d);
        if (ok) {
            assert_true(k > 8);
            return;
        }
    }
}

enum { MODEL_FILES = 4, MODEL_BYTES = 4096 };

static struct sim_disk *disk_of_two_shards(void)
{
    struct sim_disk *d = disk_new(1000, 1);

    assert_int_equal(write_text(d, "st+shard.0+a", "zero"), OK);
    assert_int_equal(write_text(d, "st+shard.0+b", "nought"), OK);
    assert_int_equal(write_text(d, "other", "kept"), OK);
    return d;
}

static void test_a_folder_is_lost_and_put_back(void **state)
{
    struct sim_disk *d = disk_of_two_shards();
    uint64_t used = sim_disk_used_bytes(d);
    uint32_t number;

    (void)state;
    assert_int_equal(sim_disk_lose(d, "shard.9", false), 0);
    number = sim_disk_lose(d, "shard.", false);
    assert_int_not_equal(number, 0);
    assert_true(sim_disk_used_bytes(d) < used);
    assert_int_equal(sim_disk_lost_count(d, false), 0); /* Nobody has missed it. */
    assert_no_file(d, "st+shard.0+a");
    assert_no_file(d, "st+shard.0+b");
    assert_file(d, "other", "kept");
    assert_int_equal(sim_disk_lost_count(d, false), 2);
    assert_int_equal(sim_disk_lost_count(d, true), 0);
    assert_int_equal(write_text(d, "st+shard.0+b", "new"), OK);
    sim_disk_mend(d, number);
    assert_file(d, "st+shard.0+a", "zero");
    assert_file(d, "st+shard.0+b", "new");
    sim_disk_destroy(d);
}

static void test_a_damaged_file_is_another_one_until_it_is_mended(void **state)
{
    struct sim_disk *d = disk_of_two_shards();
    uint32_t number = sim_disk_lose(d, "shard.", true);
    const uint8_t *bytes = NULL;
    size_t size = 0;

    (void)state;
    assert_int_not_equal(number, 0);
    assert_file(d, "st+shard.0+a", "zero");
    assert_int_equal(sim_disk_read(d, "st+shard.0+b", &bytes, &size), OK);
    assert_int_equal(size, strlen("nought"));
    assert_memory_not_equal(bytes, "nought", size);
    assert_int_equal(sim_disk_lost_count(d, true), 1);
    sim_disk_mend(d, number);
    assert_file(d, "st+shard.0+b", "nought");

    number = sim_disk_lose(d, "shard.", true);
    assert_int_equal(write_text(d, "st+shard.0+b", "new"), OK);
    sim_disk_mend(d, number);
    assert_file(d, "st+shard.0+b", "new");
    sim_disk_destroy(d);
}

static void test_without_descriptors_no_file_is_opened(void **state)
{
    struct sim_disk *d = disk_of_two_shards();
    const uint8_t *bytes = NULL;
    size_t size = 0;

    (void)state;
    sim_disk_starve(d, true);
    sim_disk_starve(d, true);
    sim_disk_starve(d, false);
    assert_int_equal(sim_disk_read(d, "other", &bytes, &size), ERR_IO);
    assert_int_equal(write_text(d, "other", "new"), ERR_IO);
    assert_int_equal(sim_disk_starved_count(d), 2);
    sim_disk_starve(d, false);
    assert_file(d, "other", "kept");
    sim_disk_destroy(d);
}

static void test_a_slow_disk_says_how_slow_it_is(void **state)
{
    struct sim_disk *d = disk_new(100, 1);

    (void)state;
    assert_true(sim_disk_extra_ns(d) == 0);
    assert_int_equal(sim_disk_slow_count(d), 0);
    sim_disk_slow(d, 5);
    sim_disk_slow(d, 7);
    assert_true(sim_disk_extra_ns(d) == 12);
    assert_int_equal(sim_disk_slow_count(d), 1);
    sim_disk_slow(d, -12);
    assert_true(sim_disk_extra_ns(d) == 0);
    sim_disk_destroy(d);
}

struct model {
    bool there[MODEL_FILES];
    bool known[MODEL_FILES];
    uint8_t bytes[MODEL_FILES][MODEL_BYTES];
    size_t size[MODEL_FILES];
    size_t durable[MODEL_FILES];
};

static void model_check(struct model *m, struct sim_disk *d, bool crashed)
{
    uint64_t used = 0;

    for (uint32_t i = 0; i < MODEL_FILES; i++) {
        const char name[2] = {(char)('a' + i), '\0'};
        const uint8_t *bytes = NULL;
        size_t size = 0;
        enum err rc = sim_disk_read(d, name, &bytes, &size);

        if (crashed && rc == OK) { /* Take over how much the crash left. */
            assert_in_range(size, m->durable[i], m->size[i]);
            m->size[i] = m->durable[i] = size;
            m->known[i] = true;
        } else if (crashed && m->there[i]) {
            assert_false(m->known[i]);
            m->there[i] = false;
        }
        assert_int_equal(rc, m->there[i] ? OK : ERR_NOT_FOUND);
        if (rc == OK) {
            assert_int_equal(size, m->size[i]);
            assert_memory_equal(bytes, m->bytes[i], size);
            used += size;
        }
    }
    assert_int_equal(sim_disk_used_bytes(d), used);
}

static void model_put(struct model *m, struct sim_disk *d, struct rng *rng, uint32_t i, bool atomic)
{
    const char name[2] = {(char)('a' + i), '\0'};
    size_t start = atomic || !m->there[i] ? 0 : m->size[i];
    size_t size = (size_t)rng_below(rng, 200);
    uint8_t bytes[200];

    if (start + size > MODEL_BYTES) {
        return;
    }
    for (size_t k = 0; k < size; k++) {
        bytes[k] = (uint8_t)rng_next(rng);
    }
    assert_int_equal(atomic ? sim_disk_write_atomic(d, name, bytes, size)
                            : sim_disk_append(d, name, bytes, size),
                     OK);
    memcpy(m->bytes[i] + start, bytes, size);
    m->size[i] = start + size;
    m->known[i] = atomic || (m->there[i] && m->known[i]);
    m->durable[i] = atomic ? size : m->there[i] ? m->durable[i] : 0;
    m->there[i] = true;
}

static void test_random_operations_match_the_naive_model(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct sim_disk *d = disk_new(1 << 20, seed);
        struct model m = {0};
        struct rng rng;

        rng_init(&rng, seed);
        for (uint32_t step = 0; step < 200; step++) {
            uint32_t i = (uint32_t)rng_below(&rng, MODEL_FILES);
            const char name[2] = {(char)('a' + i), '\0'};
            uint64_t kind = rng_below(&rng, 20);

            if (kind == 0) {
                sim_disk_crash(d);
            } else if (kind == 1) {
                assert_int_equal(sim_disk_remove(d, name), m.there[i] ? OK : ERR_NOT_FOUND);
                m.there[i] = false;
            } else if (kind < 6) {
                assert_int_equal(sim_disk_sync(d, name), m.there[i] ? OK : ERR_NOT_FOUND);
                m.durable[i] = m.size[i];
                m.known[i] = true;
            } else {
                model_put(&m, d, &rng, i, kind < 9);
            }
            model_check(&m, d, kind == 0);
        }
        sim_disk_destroy(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_folder_is_lost_and_put_back),
        cmocka_unit_test(test_a_damaged_file_is_another_one_until_it_is_mended),
        cmocka_unit_test(test_without_descriptors_no_file_is_opened),
        cmocka_unit_test(test_a_slow_disk_says_how_slow_it_is),
        cmocka_unit_test(test_an_atomic_write_survives_a_crash),
        cmocka_unit_test(test_a_crash_tears_what_was_not_synced),
        cmocka_unit_test(test_a_failed_sync_cannot_be_made_good_by_another),
        cmocka_unit_test(test_each_fault_is_met_and_counted),
        cmocka_unit_test(test_limits_are_kept),
        cmocka_unit_test(test_files_are_listed_by_name),
        cmocka_unit_test(test_every_failed_allocation_is_survived),
        cmocka_unit_test(test_random_operations_match_the_naive_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
