/* The store on a simulated disk: the suite of all stores, then what a crash and a bad disk do. */

#include "sim/store.h"

#include "sim/disk.h"
#include "store/store_testing.h"

enum { COMMIT_NS = 5000 };

static struct sim_disk *disk;

static void sim_open(struct store_fixture *f)
{
    struct sim_disk_config config = {
        .capacity_bytes = 256 * 1024 * 1024, .files_max = 1024, .seed = 7};

    assert_int_equal(loop_create_manual(0, &f->loop), OK);
    assert_int_equal(sim_disk_create(&config, &disk), OK);
    assert_int_equal(sim_store_create(disk, f->loop, COMMIT_NS, &f->store), OK);
}

static void sim_restart(struct store_fixture *f)
{
    store_destroy(f->store);
    sim_disk_crash(disk);
    assert_int_equal(sim_store_create(disk, f->loop, COMMIT_NS, &f->store), OK);
}

static void sim_close(struct store_fixture *f)
{
    store_destroy(f->store);
    sim_disk_destroy(disk);
    loop_destroy(f->loop);
}

static struct store_backend backend = {sim_open, sim_restart, sim_close};

static void test_each_fault_of_the_disk_leaves_the_old_object(void **state)
{
    struct store_fixture *f = *state;

    assert_int_equal(store_put_text(f->loop, f->store, "eu/a", "old"), OK);
    for (int fault = 0; fault < SIM_DISK_FAULTS; fault++) {
        sim_disk_fault_set(disk, (enum sim_disk_fault)fault, 1);
        assert_int_not_equal(store_put_text(f->loop, f->store, "eu/a", "new"), OK);
        assert_object_text(f->store, "eu/a", "old");
        assert_true(sim_disk_fault_count(disk, (enum sim_disk_fault)fault) == 1);
    }
    assert_int_equal(store_put_text(f->loop, f->store, "eu/a", "new"), OK);
    assert_object_text(f->store, "eu/a", "new");
}

static void test_a_crash_before_the_commit_is_over_leaves_the_old_object(void **state)
{
    struct store_fixture *f = *state;
    struct store_result result = {0};
    struct store_writer *w = NULL;

    assert_int_equal(store_put_text(f->loop, f->store, "eu/a", "old"), OK);
    assert_int_equal(store_begin(f->store, "eu/a", &w), OK);
    assert_int_equal(store_append(w, "new", 3), OK);
    store_commit(w, store_result_set, &result);
    sim_restart(f);
    assert_object_text(f->store, "eu/a", "old");
    assert_int_equal(result.calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_SUITE(&backend),
        STORE_CASE(test_each_fault_of_the_disk_leaves_the_old_object, &backend),
        STORE_CASE(test_a_crash_before_the_commit_is_over_leaves_the_old_object, &backend),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
