/* Checkpoints: what is written is read again, byte for byte as documented; what cannot be is
 * refused; the newest is found, the oldest are removed. */

#include "store/checkpoint.h"

#include "store/checkpoint_testing.h"
#include "store/seal_testing.h"

static const char name_42[] = "eu/shard-0003/00000000000000000042.ckpt";

static void test_what_is_written_is_read_again(void **state)
{
    struct place *p = *state;

    for (uint64_t seed = 0; seed < 200; seed++) {
        struct sample s;

        sample_init(&s, seed, seed, seed % 4 == 0 ? 5000 : 70);
        assert_int_equal(sample_write(p->loop, p->store, &s), OK);
        assert_sample(p->store, &s);
        assert_newest(p->store, seed, 0);
        sample_deinit(&s);
    }
    assert_true(store_memory_used_bytes(p->store) % 64 == 0);
}

static void test_the_largest_chunks_fit(void **state)
{
    struct place *p = *state;
    struct sample s;
    struct rng rng;
    char *describe = mem_zalloc(CHECKPOINT_TEXT_BYTES_MAX + 1);
    char site[LIMIT_NAME_BYTES + 1] = "";
    char name[STORE_NAME_BYTES];

    assert_non_null(describe);
    memset(describe, 'd', CHECKPOINT_TEXT_BYTES_MAX);
    memset(site, 's', LIMIT_NAME_BYTES);
    sample_init(&s, UINT64_MAX, 1, 10);
    sample_deinit(&s);
    rng_init(&rng, 1);
    s.chunk_count = SAMPLE_CHUNKS_MAX;
    s.head.describe = describe;
    s.head.site = site;
    s.head.shard = UINT32_MAX - 1;
    s.head.shards = UINT32_MAX;
    for (uint32_t i = 0; i < SAMPLE_CHUNKS_MAX; i++) {
        sample_chunk(&s, i, &rng, LIMIT_CHUNK_ELEMENTS - i % 2, CHECKPOINT_MEMBERS_MAX - i);
    }
    assert_int_equal(sample_write(p->loop, p->store, &s), OK);
    assert_sample(p->store, &s);
    checkpoint_name(site, s.head.shard, s.head.number, name, sizeof(name));
    assert_int_equal(checkpoint_check(p->store, name, NULL), OK);
    sample_deinit(&s);
    mem_free(describe);
}

/* A small one: its head is in bytes 0 to 127, a chunk to 319, and the end. */
static const struct checkpoint_member small_members[] = {{7, 0x1122334455667788, 41}, {9, 2, 42}};
static const float small_values[] = {1.0f, -2.5f, 3.0f};
static const struct sample small = {
    .head = {42, 3, 8, 40, 1700000000000000, "eu", "{}"},
    .chunk_count = 1,
    .chunks = {{5, 0, 6, 42, 2, small_members, 3, small_values}},
};

/* docs/CHECKPOINT.md in numbers. */
static void test_the_bytes_are_as_documented(void **state)
{
    struct place *p = *state;
    uint8_t hash[SHA256_DIGEST_LENGTH];
    size_t size = 0;
    uint8_t *b;

    assert_int_equal(sample_write(p->loop, p->store, &small), OK);
    b = object_bytes(p->store, name_42, &size);
    assert_int_equal(size, 128 + 192 + 128);
    assert_memory_equal(b, "STRAITCP\1\0\2\0\2\0\0\0", 16);
    assert_int_equal(bytes_load64(b + 16), 42);
    assert_int_equal(bytes_load32(b + 24), 3);
    assert_int_equal(bytes_load32(b + 28), 8);
    assert_int_equal(bytes_load64(b + 32), 40);
    assert_int_equal(bytes_load64(b + 40), 1700000000000000);
    assert_int_equal(bytes_load64(b + 48), hash_bytes(b + 64, 64));
    assert_int_equal(bytes_load64(b + 56), hash_bytes(b, 56));
    assert_memory_equal(b + 64, "eu{}\0\0\0\0", 8);
    assert_memory_equal(b + 128, "chunk\0\0\0\1\0\0\0\5\0\0\0\6\0\0\0\3\0\0\0", 24);
    assert_int_equal(bytes_load64(b + 152), 42);
    assert_memory_equal(b + 160, "\2\0\0\0\0\0\0\0\x2a\0\0\0\0\0\0\0", 16);
    assert_int_equal(bytes_load64(b + 176), hash_bytes(b + 192, 128));
    assert_int_equal(bytes_load64(b + 184), hash_bytes(b + 128, 56));
    assert_memory_equal(b + 192, "\7\0\0\0\0\0\0\0\x88\x77\x66\x55\x44\x33\x22\x11", 16);
    assert_int_equal(bytes_load64(b + 208), 41);
    assert_memory_equal(b + 256, small_values, sizeof(small_values));
    assert_memory_equal(b + 320, "end\0\0\0\0\0\2\0\0\0\0\0\0\0", 16);
    assert_int_equal(bytes_load64(b + 336), 42);
    assert_int_equal(bytes_load64(b + 344), 448);
    assert_int_equal(bytes_load64(b + 352), 1);
    assert_int_equal(bytes_load64(b + 360), 3);
    assert_non_null(SHA256(b, 320, hash));
    assert_memory_equal(b + 368, hash, sizeof(hash));
    assert_int_equal(bytes_load64(b + 440), hash_bytes(b + 320, 120));
    mem_free(b);
}

/* A file that was written once is read for ever. */
static void test_the_bytes_are_those_of_the_first_release(void **state)
{
    FILE *file = fopen(STRAIT_SOURCE_DIR "/tests/corpus/store_checkpoint/small", "r");
    struct place *p = *state;
    uint8_t golden[512];
    size_t size;

    assert_non_null(file);
    size = fread(golden, 1, sizeof(golden), file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(sample_write(p->loop, p->store, &small), OK);
    assert_object(p->store, name_42, golden, size);
    assert_int_equal(store_put(p->loop, p->store, name_42, golden, size), OK);
    assert_sample(p->store, &small);
}

static void test_names_go_both_ways(void **state)
{
    static const char *const bad[] = {
        "",
        "eu",
        "eu/shard-0003",
        "eu/shard-0003/",
        "eu/shard-003/00000000000000000042.ckpt",
        "eu/shard-00003/00000000000000000042.ckpt",
        "eu/shard-0003/0000000000000000042.ckpt",
        "eu/shard-0003/00000000000000000042.ckp",
        "eu/shard-0003/00000000000000000042.ckpt2",
        "eu/shard-0003/0000000000000000004x.ckpt",
        "eu/shard-0003/99999999999999999999.ckpt",
        "eu/shard-4294967296/00000000000000000042.ckpt",
        "eu/x/shard-0003/00000000000000000042.ckpt",
        "/shard-0003/00000000000000000042.ckpt",
        "../shard-0003/00000000000000000042.ckpt",
        "eu/shard--003/00000000000000000042.ckpt",
    };
    char name[STORE_NAME_BYTES];
    uint32_t shard;
    uint64_t number;

    (void)state;
    checkpoint_name("eu", 3, 42, name, sizeof(name));
    assert_string_equal(name, name_42);
    assert_int_equal(checkpoint_name_parse(name, &shard, &number), OK);
    assert_int_equal(shard, 3);
    assert_int_equal(number, 42);
    checkpoint_name("EU-west.1", UINT32_MAX, UINT64_MAX, name, sizeof(name));
    assert_string_equal(name, "EU-west.1/shard-4294967295/18446744073709551615.ckpt");
    assert_int_equal(checkpoint_name_parse(name, &shard, &number), OK);
    assert_int_equal(shard, UINT32_MAX);
    assert_true(number == UINT64_MAX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(checkpoint_name_parse(bad[i], &shard, &number), ERR_INVALID);
    }
}

static void test_what_cannot_be_read_is_not_written(void **state)
{
    struct place *p = *state;
    char site[LIMIT_NAME_BYTES + 2] = "";
    char *describe = mem_zalloc(CHECKPOINT_TEXT_BYTES_MAX + 2);
    const struct checkpoint_head good = {1, 0, 1, 0, 0, "eu", "{}"};
    struct checkpoint_head head = good;
    struct checkpoint_writer *w = NULL;

    assert_non_null(describe);
    memset(site, 's', LIMIT_NAME_BYTES + 1);
    memset(describe, 'd', CHECKPOINT_TEXT_BYTES_MAX + 1);
    head.site = site;
    assert_int_equal(checkpoint_begin(p->store, "a", &head, &w), ERR_TOO_BIG);
    head = good;
    head.describe = describe;
    assert_int_equal(checkpoint_begin(p->store, "a", &head, &w), ERR_TOO_BIG);
    head.describe = "\xff";
    assert_int_equal(checkpoint_begin(p->store, "a", &head, &w), ERR_INVALID);
    head = good;
    head.site = "";
    assert_int_equal(checkpoint_begin(p->store, "a", &head, &w), ERR_INVALID);
    head.site = "\xc3";
    assert_int_equal(checkpoint_begin(p->store, "a", &head, &w), ERR_INVALID);
    head = good;
    head.shard = 1;
    assert_int_equal(checkpoint_begin(p->store, "a", &head, &w), ERR_INVALID);
    assert_int_equal(checkpoint_begin(p->store, "../a", &good, &w), ERR_INVALID);
    assert_null(w);
    mem_free(describe);
    checkpoint_abort(NULL);
}

static void test_a_bad_chunk_is_refused_and_the_others_are_kept(void **state)
{
    struct place *p = *state;
    static struct checkpoint_member many[CHECKPOINT_MEMBERS_MAX + 1];
    static float values[LIMIT_CHUNK_ELEMENTS + 1];
    const struct checkpoint_member equal[] = {{1, 1, 1}, {1, 2, 2}};
    const struct checkpoint_chunk good = {0, 0, 0, 1, 0, NULL, 5, values};
    struct store_result result = {0};
    struct sample s = {.head = {42, 3, 4, 0, 0, "eu", "{}"}, .chunk_count = 2};
    struct checkpoint_chunk bad = good;
    struct checkpoint_writer *w = NULL;

    for (uint32_t i = 0; i <= CHECKPOINT_MEMBERS_MAX; i++) {
        many[i].rank = i;
    }
    assert_int_equal(checkpoint_begin(p->store, name_42, &s.head, &w), OK);
    assert_int_equal(checkpoint_add(w, &good), OK);
    bad.count = 0;
    assert_int_equal(checkpoint_add(w, &bad), ERR_INVALID);
    bad.count = LIMIT_CHUNK_ELEMENTS + 1;
    assert_int_equal(checkpoint_add(w, &bad), ERR_INVALID);
    bad = good;
    bad.members = many;
    bad.member_count = CHECKPOINT_MEMBERS_MAX + 1;
    assert_int_equal(checkpoint_add(w, &bad), ERR_INVALID);
    bad.members = equal;
    bad.member_count = 2;
    assert_int_equal(checkpoint_add(w, &bad), ERR_INVALID);
    bad.member_count = 1;
    bad.plane = 1;
    assert_int_equal(checkpoint_add(w, &bad), ERR_INVALID);
    assert_int_equal(checkpoint_add(w, &good), OK);
    assert_int_equal(checkpoint_commit(w, store_result_set, &result), OK);
    STORE_TURN_UNTIL(p->loop, result.calls > 0);
    s.chunks[0] = s.chunks[1] = good;
    assert_sample(p->store, &s);
}

static void test_an_aborted_checkpoint_is_not_there(void **state)
{
    struct place *p = *state;
    struct checkpoint_writer *w = NULL;
    struct sample s;

    sample_init(&s, 42, 7, 100);
    assert_int_equal(checkpoint_begin(p->store, name_42, &s.head, &w), OK);
    for (uint32_t i = 0; i < s.chunk_count; i++) {
        assert_int_equal(checkpoint_add(w, &s.chunks[i]), OK);
    }
    checkpoint_abort(w);
    assert_no_object(p->store, name_42);
    assert_int_equal(store_memory_used_bytes(p->store), 0);
    sample_deinit(&s);
}

/* Every rule of the format, broken in a file whose checks are right, or by a change that they show.
 */
static const struct rule {
    size_t at;
    uint8_t value;
    bool sealed;
    enum err rc;
    const char *text;
} rules[] = {
    {0, 'X', true, ERR_CORRUPT,
     "record 0, at byte 0 of 448: it does not begin as a checkpoint"
     " does; go on from an older checkpoint"},
    {16, 1, false, ERR_CORRUPT,
     "record 0, at byte 0 of 448: its header does not match its "
     "check; go on from an older checkpoint"},
    {8, 2, true, ERR_VERSION,
     "record 0, at byte 0 of 448: it is of another version of the "
     "format; use the version of Strait that wrote it"},
    {10, 0, true, ERR_CORRUPT, "its texts have an impossible length"},
    {10, 65, true, ERR_CORRUPT, "its texts have an impossible length"},
    {14, 2, true, ERR_CORRUPT, "its texts have an impossible length"},
    {13, 2, true, ERR_CORRUPT, "it is longer than what is left of the file"},
    {24, 8, true, ERR_CORRUPT, "it is of a shard that does not exist"},
    {64, 'x', false, ERR_CORRUPT, "its texts do not match their check"},
    {64, 0, true, ERR_CORRUPT, "its texts are not UTF-8"},
    {67, 0xff, true, ERR_CORRUPT, "its texts are not UTF-8"},
    {68, 1, true, ERR_CORRUPT, "its padding is not zero"},
    {16, 1, true, ERR_CORRUPT, "its head and its end are of different checkpoints"},
    {128, 'X', true, ERR_CORRUPT, "record 1, at byte 128 of 448: a chunk should begin there"},
    {152, 1, false, ERR_CORRUPT, "record 1, at byte 128 of 448: its header does not match"},
    {136, 2, true, ERR_CORRUPT, "it belongs elsewhere"},
    {168, 1, true, ERR_CORRUPT, "it belongs elsewhere"},
    {148, 0, true, ERR_CORRUPT, "it has an impossible number of values or members"},
    {150, 2, true, ERR_CORRUPT, "it has an impossible number of values or members"},
    {142, 1, true, ERR_CORRUPT, "it has an impossible number of values or members"},
    {161, 8, true, ERR_CORRUPT, "it has an impossible number of values or members"},
    {149, 1, true, ERR_CORRUPT, "it is longer than what is left of the file"},
    {164, 1, true, ERR_CORRUPT, "a reserved field is not zero"},
    {256, 1, false, ERR_CORRUPT, "its members or values do not match their check"},
    {192, 9, true, ERR_CORRUPT, "its members are not in order"},
    {196, 1, true, ERR_CORRUPT, "its padding is not zero"},
    {240, 1, true, ERR_CORRUPT, "its padding is not zero"},
    {268, 1, true, ERR_CORRUPT, "its padding is not zero"},
    {320, 'X', true, ERR_CORRUPT, "record 0, at byte 320 of 448: its end is missing"},
    {328, 1, false, ERR_CORRUPT, "its end does not match its check"},
    {328, 3, true, ERR_CORRUPT, "its end counts other records than there are"},
    {352, 2, true, ERR_CORRUPT, "its end counts other records than there are"},
    {360, 2, true, ERR_CORRUPT, "its end counts other records than there are"},
    {332, 1, true, ERR_CORRUPT, "a reserved field of its end is not zero"},
    {400, 1, true, ERR_CORRUPT, "a reserved field of its end is not zero"},
    {345, 2, true, ERR_CORRUPT, "its end is of a file of another size"},
};

static void test_each_broken_rule_has_its_text(void **state)
{
    struct place *p = *state;
    struct err_text text;
    size_t size = 0;
    uint8_t *bytes, *copy;

    assert_int_equal(sample_write(p->loop, p->store, &small), OK);
    bytes = object_bytes(p->store, name_42, &size);
    copy = mem_zalloc(size);
    assert_non_null(copy);
    seal_checks(memcpy(copy, bytes, size), size);
    assert_memory_equal(copy, bytes, size);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const struct rule *r = &rules[i];

        memcpy(copy, bytes, size);
        copy[r->at] = r->value;
        if (r->sealed) {
            seal_checks(copy, size);
        }
        assert_int_equal(store_put(p->loop, p->store, name_42, copy, size), OK);
        assert_int_equal(checkpoint_read(p->store, name_42, NULL, NULL, &text), r->rc);
        if (strstr(text.text, r->text) == NULL) {
            fail_msg("byte %zu: %s", r->at, text.text);
        }
        assert_memory_equal(text.text, name_42, strlen(name_42));
    }
    mem_free(copy);
    mem_free(bytes);
}

/* Records whose own checks are right, under an end that is not theirs. */
static void test_records_that_are_not_those_of_the_hash_are_refused(void **state)
{
    struct place *p = *state;
    struct err_text text;
    size_t size = 0;
    uint8_t *bytes;

    assert_int_equal(sample_write(p->loop, p->store, &small), OK);
    bytes = object_bytes(p->store, name_42, &size);
    bytes[368] ^= 1;
    bytes_store64(bytes + 440, hash_bytes(bytes + 320, 120));
    assert_int_equal(store_put(p->loop, p->store, name_42, bytes, size), OK);
    mem_free(bytes);
    assert_int_equal(checkpoint_read(p->store, name_42, NULL, NULL, &text), ERR_CORRUPT);
    assert_non_null(strstr(text.text, "the file does not match its SHA-256"));
}

static void test_files_that_are_no_checkpoints_are_refused(void **state)
{
    static const size_t sizes[] = {0, 1, 63, 64, 128, 191, 192, 256, 257, 4096};
    struct place *p = *state;
    static uint8_t zeros[4096];
    struct err_text text;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(store_put(p->loop, p->store, "x", zeros, sizes[i]), OK);
        assert_int_equal(checkpoint_read(p->store, "x", NULL, NULL, &text), ERR_CORRUPT);
    }
    assert_string_equal(text.text, "x is damaged: record 0, at byte 3968 of 4096: its end is "
                                   "missing; go on from an older checkpoint");
    assert_int_equal(checkpoint_read(p->store, "none", NULL, NULL, &text), ERR_NOT_FOUND);
    assert_string_equal(text.text, "there is no checkpoint none");
    assert_int_equal(checkpoint_read(p->store, "../x", NULL, NULL, &text), ERR_INVALID);
    assert_string_equal(text.text, "cannot read the checkpoint ../x: invalid argument");
}

static enum err stop_at_head(const struct checkpoint_head *head, void *user)
{
    (void)head;
    (void)user;
    return ERR_REFUSED;
}

static enum err stop_at_second(const struct checkpoint_chunk *chunk, void *user)
{
    (void)chunk;
    return ++*(uint32_t *)user == 2 ? ERR_CANCELLED : OK;
}

static enum err pass_head(const struct checkpoint_head *head, void *user)
{
    (void)head;
    (void)user;
    return OK;
}

static void test_a_callback_may_end_the_reading(void **state)
{
    const struct checkpoint_reader_events at_head = {stop_at_head, stop_at_second};
    const struct checkpoint_reader_events at_second = {pass_head, stop_at_second};
    struct place *p = *state;
    struct err_text text;
    uint32_t chunks = 0;
    struct sample s;

    sample_init(&s, 42, 7, 100);
    assert_true(s.chunk_count > 2);
    assert_int_equal(sample_write(p->loop, p->store, &s), OK);
    assert_int_equal(checkpoint_read(p->store, name_42, &at_head, &chunks, &text), ERR_REFUSED);
    assert_int_equal(chunks, 0);
    assert_int_equal(checkpoint_read(p->store, name_42, &at_second, &chunks, &text), ERR_CANCELLED);
    assert_int_equal(chunks, 2);
    sample_deinit(&s);
}

/* Replaces the object that is being read by another whole one of the same number. */
struct replacer {
    struct place *place;
    struct sample other;
};

static enum err replace(const struct checkpoint_head *head, void *user)
{
    struct replacer *r = user;

    (void)head;
    assert_int_equal(sample_write(r->place->loop, r->place->store, &r->other), OK);
    return OK;
}

static enum err pass_chunk(const struct checkpoint_chunk *chunk, void *user)
{
    (void)chunk;
    (void)user;
    return OK;
}

static void test_a_checkpoint_that_is_replaced_in_mid_read_is_not_trusted(void **state)
{
    const struct checkpoint_reader_events events = {replace, pass_chunk};
    struct place *p = *state;

    for (uint64_t seed = 100; seed < 120; seed++) {
        struct replacer r = {.place = p};
        struct err_text text;
        struct sample s;

        sample_init(&s, 42, seed, 60000);
        sample_init(&r.other, 42, seed + 1, 60000);
        assert_int_equal(sample_write(p->loop, p->store, &s), OK);
        assert_int_equal(checkpoint_read(p->store, name_42, &events, &r, &text), ERR_CORRUPT);
        sample_deinit(&s);
        sample_deinit(&r.other);
    }
}

static void test_reading_takes_the_same_memory_for_any_size(void **state)
{
    struct place *p = *state;
    uint64_t allocations[2];
    struct sample s;
    struct rng rng;

    for (uint32_t i = 0; i < 2; i++) {
        uint64_t before;

        sample_init(&s, 42, 1, 10);
        sample_deinit(&s);
        rng_init(&rng, 1);
        s.chunk_count = i == 0 ? 1 : SAMPLE_CHUNKS_MAX;
        for (uint32_t k = 0; k < SAMPLE_CHUNKS_MAX; k++) {
            sample_chunk(&s, k, &rng, i == 0 ? 10 : LIMIT_CHUNK_ELEMENTS, 3);
        }
        assert_int_equal(sample_write(p->loop, p->store, &s), OK);
        before = mem_allocations();
        assert_sample(p->store, &s);
        allocations[i] = mem_allocations() - before;
        sample_deinit(&s);
    }
    assert_int_equal(allocations[0], 1);
    assert_int_equal(allocations[1], 1);
}

static void put_number(struct place *p, const char *site, uint32_t shard, uint64_t number)
{
    struct sample s;

    sample_init(&s, number, number, 50);
    s.head.site = site;
    s.head.shard = shard;
    assert_int_equal(sample_write(p->loop, p->store, &s), OK);
    sample_deinit(&s);
}

/* Change one byte of a checkpoint. */
static void damage(struct place *p, uint64_t number, size_t at)
{
    char name[STORE_NAME_BYTES];
    size_t size = 0;
    uint8_t *bytes;

    checkpoint_name("eu", 3, number, name, sizeof(name));
    bytes = object_bytes(p->store, name, &size);
    bytes[at] ^= 0x10;
    assert_int_equal(store_put(p->loop, p->store, name, bytes, size), OK);
    mem_free(bytes);
}

static enum err newest(struct place *p, uint32_t *skipped_out, struct err_text *text)
{
    char name[STORE_NAME_BYTES] = "";
    uint64_t number = 0;

    return checkpoint_newest(p->store, "eu", 3, name, sizeof(name), &number, skipped_out, text);
}

static void test_the_newest_whole_one_is_found(void **state)
{
    struct place *p = *state;
    struct err_text text = {"x"};
    char site[LIMIT_NAME_BYTES + 2] = "";
    char name[STORE_NAME_BYTES];
    uint64_t number = 0;
    uint32_t skipped = 9;
    size_t size = 0;
    uint8_t *bytes;

    assert_int_equal(newest(p, &skipped, &text), ERR_NOT_FOUND);
    assert_int_equal(skipped, 0);
    assert_string_equal(text.text, "");
    put_number(p, "eu", 2, 99);
    put_number(p, "us", 3, 99);
    assert_int_equal(store_put_text(p->loop, p->store, "eu/shard-0003/notes", "x"), OK);
    assert_int_equal(newest(p, &skipped, &text), ERR_NOT_FOUND);
    put_number(p, "eu", 3, 9);
    put_number(p, "eu", 3, 10);
    put_number(p, "eu", 3, 100);
    assert_newest(p->store, 100, 0);
    damage(p, 100, 20);
    assert_newest(p->store, 10, 1);
    /* A whole one under a wrong name is not what it says. */
    bytes = object_bytes(p->store, "eu/shard-0003/00000000000000000009.ckpt", &size);
    assert_int_equal(
        store_put(p->loop, p->store, "eu/shard-0003/00000000000000000101.ckpt", bytes, size), OK);
    mem_free(bytes);
    assert_newest(p->store, 10, 2);
    assert_int_equal(newest(p, &skipped, &text), OK);
    assert_string_equal(text.text, "eu/shard-0003/00000000000000000101.ckpt is not what its name "
                                   "says: it is eu/shard-0003/00000000000000000009.ckpt");
    damage(p, 10, 20);
    damage(p, 9, 20);
    assert_int_equal(newest(p, &skipped, &text), ERR_NOT_FOUND);
    assert_int_equal(skipped, 4);
    assert_true(text.text[0] != '\0');
    assert_int_equal(
        checkpoint_newest(p->store, "..", 3, name, sizeof(name), &number, &skipped, &text),
        ERR_INVALID);
    assert_string_equal(text.text,
                        "cannot list the checkpoints of shard 3 of ..: invalid argument");
    memset(site, 's', sizeof(site) - 1);
    assert_int_equal(
        checkpoint_newest(p->store, site, 3, name, sizeof(name), &number, &skipped, &text),
        ERR_INVALID);
    assert_int_equal(checkpoint_prune(p->store, site, 3, &number, 1), ERR_INVALID);
    assert_int_equal(checkpoint_last(p->store, site, 3, &number, &text), ERR_INVALID);
}

/* An older program must not go back to older work in silence. */
static void test_a_newer_one_of_another_version_is_not_skipped(void **state)
{
    struct place *p = *state;
    struct err_text text;
    uint32_t skipped = 9;
    uint64_t number;
    size_t size = 0;
    uint8_t *bytes;

    put_number(p, "eu", 3, 41);
    put_number(p, "eu", 3, 42);
    put_number(p, "eu", 3, 43);
    damage(p, 43, 20);
    bytes = object_bytes(p->store, name_42, &size);
    bytes[8] = FORMAT_VERSION + 1;
    seal_checks(bytes, size);
    assert_int_equal(store_put(p->loop, p->store, name_42, bytes, size), OK);
    mem_free(bytes);
    assert_int_equal(newest(p, &skipped, &text), ERR_VERSION);
    assert_int_equal(skipped, 1);
    assert_non_null(strstr(text.text, "use the version of Strait that wrote it"));
    assert_int_equal(checkpoint_last(p->store, "eu", 3, &number, &text), OK);
    assert_int_equal(number, 43);
    assert_int_equal(checkpoint_last(p->store, "eu", 4, &number, &text), OK);
    assert_int_equal(number, 0);
}

/* The numbers of shard 3 that are there, as text. */
static void number_add(const char *name, uint64_t size, void *user)
{
    char *text = user;
    uint32_t shard;
    uint64_t number;

    (void)size;
    assert_int_equal(checkpoint_name_parse(name, &shard, &number), OK);
    (void)snprintf(text + strlen(text), 64 - strlen(text), " %llu", (unsigned long long)number);
}

static void assert_numbers(struct place *p, const char *want)
{
    char text[64] = "";

    assert_int_equal(store_list(p->store, "eu/shard-0003/", number_add, text), OK);
    assert_string_equal(text, want);
}

static void test_old_ones_are_removed_but_those_to_keep(void **state)
{
    const uint64_t keep[] = {7, 4}, first = 1;
    struct place *p = *state;

    put_number(p, "eu", 2, 1);
    put_number(p, "us", 3, 1);
    assert_int_equal(checkpoint_prune(p->store, "eu", 3, keep, 2), OK);
    for (uint64_t i = 1; i <= 9; i++) {
        put_number(p, "eu", 3, i);
    }
    assert_int_equal(checkpoint_prune(p->store, "eu", 3, keep, 0), OK);
    assert_int_equal(checkpoint_prune(p->store, "eu", 3, &first, 1), OK);
    assert_numbers(p, " 1 2 3 4 5 6 7 8 9");
    damage(p, 4, 70);
    assert_int_equal(checkpoint_prune(p->store, "eu", 3, keep, 2), OK);
    assert_numbers(p, " 4 7 8 9"); /* Newer ones may be under way. */
    assert_int_equal(
        store_size(p->store, "eu/shard-0002/00000000000000000001.ckpt", &(uint64_t){0}), OK);
    assert_int_equal(
        store_size(p->store, "us/shard-0003/00000000000000000001.ckpt", &(uint64_t){0}), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE(test_what_is_written_is_read_again),
        PLACE(test_the_largest_chunks_fit),
        PLACE(test_the_bytes_are_as_documented),
        PLACE(test_the_bytes_are_those_of_the_first_release),
        cmocka_unit_test(test_names_go_both_ways),
        PLACE(test_what_cannot_be_read_is_not_written),
        PLACE(test_a_bad_chunk_is_refused_and_the_others_are_kept),
        PLACE(test_an_aborted_checkpoint_is_not_there),
        PLACE(test_each_broken_rule_has_its_text),
        PLACE(test_records_that_are_not_those_of_the_hash_are_refused),
        PLACE(test_files_that_are_no_checkpoints_are_refused),
        PLACE(test_a_callback_may_end_the_reading),
        PLACE(test_a_checkpoint_that_is_replaced_in_mid_read_is_not_trusted),
        PLACE(test_reading_takes_the_same_memory_for_any_size),
        PLACE(test_the_newest_whole_one_is_found),
        PLACE(test_a_newer_one_of_another_version_is_not_skipped),
        PLACE(test_old_ones_are_removed_but_those_to_keep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
