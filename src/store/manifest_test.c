/* Manifests: the text, damage of each byte, and which one covers a shard. */

#include "store/manifest.h"

#include "loop/loop.h"
#include "store/memory.h"
#include "store/testing.h"

static const struct manifest example = {
    .history = 0x0123456789abcdef,
    .lane = 1,
    .lanes = 2,
    .shards = 5,
    .count = 2,
    .checkpoints = {{.number = 7, .clock = 70}, {.number = 5, .clock = 50}},
};

static void test_the_text_is_that_of_the_documentation(void **state)
{
    static const char wanted[] = "strait-manifest 1\n"
                                 "history 0123456789abcdef\n"
                                 "lane 1 of 2\n"
                                 "shards 5\n"
                                 "checkpoint 7 clock 70\n"
                                 "checkpoint 5 clock 50\n"
                                 "check 7fc037ce29dd2111\n";
    char text[MANIFEST_BYTES_MAX + 1];
    struct manifest back;
    size_t size = manifest_encode(&example, text);

    (void)state;
    assert_memory_equal(text, wanted, sizeof(wanted) - 1);
    assert_int_equal(size, sizeof(wanted) - 1);
    assert_int_equal(manifest_decode(text, size, &back), OK);
    assert_int_equal(back.history, example.history);
    assert_int_equal(back.count, 2);
    assert_int_equal(back.checkpoints[1].clock, 50);
}

static void test_a_changed_or_cut_text_is_refused(void **state)
{
    char text[MANIFEST_BYTES_MAX + 1];
    size_t size = manifest_encode(&example, text);
    struct manifest back;

    (void)state;
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            text[i] = (char)(text[i] ^ (1 << bit));
            assert_int_not_equal(manifest_decode(text, size, &back), OK);
            text[i] = (char)(text[i] ^ (1 << bit));
        }
        assert_int_not_equal(manifest_decode(text, i, &back), OK);
    }
    text[16] = '2';
    assert_int_equal(manifest_decode(text, size, &back), ERR_VERSION);
}

static void test_what_does_not_go_together_is_refused(void **state)
{
    struct manifest bad[] = {example, example, example, example};
    char text[MANIFEST_BYTES_MAX + 1];
    struct manifest back;

    (void)state;
    bad[0].lane = 2;
    bad[1].lanes = 0;
    bad[2].shards = 1;
    bad[3].checkpoints[1].number = 7;
    for (int i = 0; i < 4; i++) {
        size_t size = manifest_encode(&bad[i], text);

        assert_int_equal(manifest_decode(text, size, &back), ERR_CORRUPT);
    }
}

static void test_the_largest_manifest_fits(void **state)
{
    char text[MANIFEST_BYTES_MAX + 1];
    struct manifest full = example, back;

    (void)state;
    full.count = MANIFEST_CHECKPOINTS_MAX;
    for (uint32_t i = 0; i < full.count; i++) {
        full.checkpoints[i] =
            (struct manifest_checkpoint){.number = UINT64_MAX - i, .clock = UINT64_MAX};
    }
    assert_int_equal(manifest_decode(text, manifest_encode(&full, text), &back), OK);
    assert_int_equal(back.count, MANIFEST_CHECKPOINTS_MAX);
}

static void test_a_newer_checkpoint_replaces_one_of_its_clock_and_the_oldest(void **state)
{
    struct manifest m = example;

    (void)state;
    manifest_push(&m, 2, 8, 70);
    assert_int_equal(m.count, 2);
    assert_int_equal(m.checkpoints[0].number, 8);
    assert_int_equal(m.checkpoints[1].number, 5);
    manifest_push(&m, 2, 9, 90);
    assert_int_equal(m.count, 2);
    assert_int_equal(m.checkpoints[1].number, 8);
    manifest_push(&m, 1, 10, 91);
    assert_int_equal(m.count, 1);
    assert_ptr_equal(manifest_at(&m, 91), &m.checkpoints[0]);
    assert_null(manifest_at(&m, 90));
}

/* In a store. */

struct place {
    struct loop *loop;
    struct store *store;
};

static int place_open(void **state)
{
    static struct place p;
    const struct store_memory_config config = {1 << 20, 0};

    assert_int_equal(loop_create_manual(0, &p.loop), OK);
    assert_int_equal(store_memory_create(&config, p.loop, &p.store), OK);
    *state = &p;
    return 0;
}

static int place_close(void **state)
{
    struct place *p = *state;

    store_destroy(p->store);
    loop_destroy(p->loop);
    return 0;
}

static void place_written(enum err rc, void *user)
{
    (void)user;
    assert_int_equal(rc, OK);
}

static void place_put(struct place *p, const struct manifest *m)
{
    assert_int_equal(manifest_write(p->store, "home", m, place_written, NULL), OK);
    loop_manual_advance(p->loop, loop_manual_next_ns(p->loop));
}

static void test_the_newest_that_covers_a_shard_is_found(void **state)
{
    struct place *p = *state;
    const struct manifest old = {.history = 1,
                                 .lane = 0,
                                 .lanes = 1,
                                 .shards = 5,
                                 .count = 1,
                                 .checkpoints = {{.number = 6, .clock = 60}}};
    const struct manifest begun = {.history = 1, .lane = 0, .lanes = 2, .shards = 5};
    struct manifest_list list;
    struct err_text text;

    place_put(p, &old);
    place_put(p, &example);
    place_put(p, &begun);
    assert_int_equal(manifest_list_read(p->store, "home", &list, &text), OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(manifest_list_find(&list, 1)->checkpoints[0].number, 7);
    assert_int_equal(manifest_list_find(&list, 0)->checkpoints[0].number, 6);
    assert_null(manifest_list_find(&list, 5));
    manifest_list_free(&list);
    assert_int_equal(manifest_remove_covering(p->store, "home", 1), OK);
    assert_int_equal(manifest_list_read(p->store, "home", &list, &text), OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.items[0].count, 0);
    manifest_list_free(&list);
}

static void test_a_damaged_one_is_named(void **state)
{
    struct place *p = *state;
    struct manifest_list list;
    struct store_writer *w;
    struct err_text text;

    assert_int_equal(store_begin(p->store, "home/lane-0000-of-0001.manifest", &w), OK);
    assert_int_equal(store_append(w, "no", 2), OK);
    store_commit(w, place_written, NULL);
    loop_manual_advance(p->loop, loop_manual_next_ns(p->loop));
    assert_int_equal(manifest_list_read(p->store, "home", &list, &text), ERR_CORRUPT);
    assert_non_null(strstr(text.text, "home/lane-0000-of-0001.manifest is damaged"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_text_is_that_of_the_documentation),
        cmocka_unit_test(test_a_changed_or_cut_text_is_refused),
        cmocka_unit_test(test_what_does_not_go_together_is_refused),
        cmocka_unit_test(test_the_largest_manifest_fits),
        cmocka_unit_test(test_a_newer_checkpoint_replaces_one_of_its_clock_and_the_oldest),
        cmocka_unit_test_setup_teardown(test_the_newest_that_covers_a_shard_is_found, place_open,
                                        place_close),
        cmocka_unit_test_setup_teardown(test_a_damaged_one_is_named, place_open, place_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
