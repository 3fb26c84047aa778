/* The parts of the machine that a conversation does not show: settings, words, limits, memory, and
 * whether the invariant sees what is broken. */

#include "base/mem.h"
#include "sync/testing.h"

static struct testing_actions actions;

static void make(struct sync *s, const struct sync_config *config, uint32_t chunks)
{
    struct err_text text;

    assert_int_equal(sync_init(s, config, &text), OK);
    assert_int_equal(sync_grow(s, chunks), OK);
    actions.count = 0;
}

static void step(struct sync *s, struct sync_event event)
{
    assert_int_equal(testing_step(s, &event, &actions), OK);
}

static void join(struct sync *s, uint32_t member)
{
    step(s, (struct sync_event){.type = SYNC_JOIN, .member = member, .rank = member});
}

static void push(struct sync *s, uint32_t member, uint32_t chunk, uint64_t clock)
{
    step(s,
         (struct sync_event){.type = SYNC_PUSH, .member = member, .chunk = chunk, .clock = clock});
    assert_int_equal(actions.list[0].type, SYNC_TAKE);
}

static void finish(struct sync *s, uint32_t member, uint64_t clock)
{
    step(s, (struct sync_event){.type = SYNC_CLOCK, .member = member, .clock = clock});
}

static void refused(const struct sync_config *config, const char *part)
{
    struct err_text text = {0};
    struct sync s;

    assert_int_equal(sync_init(&s, config, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, part));
    assert_int_equal(sync_init(&s, config, NULL), ERR_INVALID);
}

static void test_settings_that_do_not_go_together_are_refused(void **state)
{
    (void)state;
    refused(&(struct sync_config){.policy = &sync_bsp, .staleness = 1}, "bsp allows 0 to 0");
    refused(&(struct sync_config){.policy = &sync_tap, .staleness = 1}, "tap allows 0 to 0");
    refused(&(struct sync_config){.policy = &sync_ssp, .staleness = SYNC_STALENESS_MAX + 1},
            "ssp allows 0 to 1024");
    refused(&(struct sync_config){.policy = &sync_ssp, .fixed_order = true}, "bsp");
    refused(&(struct sync_config){.policy = &sync_tap, .fixed_order = true}, "bsp");
    refused(&(struct sync_config){.policy = &sync_bsp, .deadline_ns = -1}, "deadline");
    refused(&(struct sync_config){.policy = &sync_bsp, .members_min = SYNC_MEMBERS_MAX + 1},
            "workers");
}

static void test_settings_at_their_limits_are_taken(void **state)
{
    static const struct sync_config configs[] = {
        {.policy = &sync_bsp, .fixed_order = true, .members_min = SYNC_MEMBERS_MAX},
        {.policy = &sync_ssp, .staleness = SYNC_STALENESS_MAX},
        {.policy = &sync_ssp},
        {.policy = &sync_tap, .deadline_ns = 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
        struct sync s;

        make(&s, &configs[i], 0);
        assert_int_equal(sync_version(&s), 0);
        assert_true(sync_deadline(&s) == SYNC_NEVER);
        assert_true(sync_invariant(&s));
        sync_deinit(&s);
        sync_deinit(&s); /* Twice does no harm. */
    }
}

static void test_policies_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(sync_policy_find("bsp"), &sync_bsp);
    assert_ptr_equal(sync_policy_find("ssp"), &sync_ssp);
    assert_ptr_equal(sync_policy_find("tap"), &sync_tap);
    assert_null(sync_policy_find("asp"));
    assert_null(sync_policy_find(""));
}

/* A wide range of clocks around a version, against the words of F2. */
static void test_policies_say_when(void **state)
{
    static const uint64_t version = 10;

    (void)state;
    for (uint64_t s = 0; s < 4; s++) {
        for (uint64_t clock = 1; clock < 20; clock++) {
            struct sync_config config = {.staleness = s};
            bool near = clock <= version + s + 1;
            enum sync_verdict ssp = clock <= version ? SYNC_TOO_LATE : near ? SYNC_NOW : SYNC_LATER;

            assert_int_equal(sync_ssp.push(&config, clock, version), ssp);
            assert_int_equal(sync_ssp.read(&config, clock, version), near);
            assert_int_equal(sync_tap.push(&config, clock, version), SYNC_NOW);
            assert_true(sync_tap.read(&config, clock, version));
            config.staleness = 0;
            assert_int_equal(sync_bsp.push(&config, clock, version),
                             sync_ssp.push(&config, clock, version));
            assert_int_equal(sync_bsp.read(&config, clock, version),
                             sync_ssp.read(&config, clock, version));
        }
    }
    assert_true(sync_bsp.rounds && sync_ssp.rounds && !sync_tap.rounds);
}

static void test_every_word_is_there_and_none_is_used_twice(void **state)
{
    (void)state;
    for (int i = 0; i < SYNC_ACTIONS; i++) {
        const char *name = sync_action_name((enum sync_action_type)i);

        assert_string_not_equal(name, "unknown");
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(name, sync_action_name((enum sync_action_type)k));
        }
    }
    for (int i = 0; i < SYNC_EVENTS; i++) {
        assert_string_not_equal(sync_event_name((enum sync_event_type)i), "unknown");
    }
    assert_string_equal(sync_event_name(SYNC_CONTINUE), "continue");
    assert_string_equal(sync_action_name(SYNC_EXPIRE), "expire");
    assert_string_equal(sync_reason_name(SYNC_LATE), "late");
    assert_string_equal(sync_reason_name(SYNC_STRANGER), "not a member");
    assert_string_equal(sync_event_name(SYNC_EVENTS), "unknown");
    assert_string_equal(sync_action_name(SYNC_ACTIONS), "unknown");
    assert_string_equal(sync_reason_name(SYNC_REASONS), "unknown");
}

static void test_an_event_that_does_not_exist_is_an_error(void **state)
{
    struct sync_event event = {.type = SYNC_EVENTS};
    struct sync s;

    (void)state;
    make(&s, &(struct sync_config){.policy = &sync_bsp}, 1);
    assert_int_equal(testing_step(&s, &event, &actions), ERR_PEER);
    sync_deinit(&s);
}

/* A machine in mid-round, whose tables are full. */
static void make_busy(struct sync *s)
{
    make(s, &(struct sync_config){.policy = &sync_ssp, .staleness = 2, .deadline_ns = 9}, 3);
    for (uint32_t m = 0; m < 8; m++) {
        join(s, m);
    }
    push(s, 0, 0, 1);
    push(s, 1, 2, 1);
    finish(s, 1, 1);
    for (uint32_t m = 0; m < 8; m++) {
        finish(s, m, 1);
    }
    push(s, 1, 2, 2);
}

static void test_a_join_without_memory_changes_nothing(void **state)
{
    struct sync_event event = {.type = SYNC_JOIN, .member = 8, .rank = 8};
    uint64_t k = 0;
    enum err rc;

    (void)state;
    do {
        struct sync s;

        make_busy(&s);
        mem_fail_at(++k, 1);
        rc = testing_step(&s, &event, &actions); /* It compares. */
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_int_equal(sync_is_member(&s, 8), rc == OK);
        assert_int_equal(testing_step(&s, &event, &actions), rc == OK ? ERR_PEER : OK);
        assert_true(sync_is_member(&s, 8));
        assert_int_equal(sync_contained(&s, 2, 1), 1);
        sync_deinit(&s);
    } while (rc != OK);
    assert_true(k > 1);
}

static void test_growth_without_memory_changes_nothing(void **state)
{
    struct testing_image before = {0};
    uint64_t k = 0;
    enum err rc;

    (void)state;
    do {
        struct sync s;

        make_busy(&s);
        testing_image_take(&before, &s);
        mem_fail_at(++k, 1);
        rc = sync_grow(&s, 5);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        if (rc == ERR_NOMEM) {
            testing_image_same(&before, &s);
            assert_int_equal(sync_grow(&s, 5), OK);
        }
        assert_int_equal(sync_chunk_version(&s, 7), 1);
        assert_int_equal(sync_contained(&s, 2, 1), 1);
        push(&s, 7, 7, 2);
        sync_deinit(&s);
    } while (rc != OK);
    assert_true(k > 1);
    testing_image_deinit(&before);
}

static void test_a_reserve_without_memory_changes_nothing(void **state)
{
    struct testing_image before = {0};
    uint64_t k = 0;
    enum err rc;

    (void)state;
    do {
        struct sync s;

        make_busy(&s);
        testing_image_take(&before, &s);
        mem_fail_at(++k, 1);
        rc = sync_reserve(&s, 5);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        if (rc == ERR_NOMEM) {
            testing_image_same(&before, &s);
        }
        sync_deinit(&s);
    } while (rc != OK);
    assert_true(k > 1);
    testing_image_deinit(&before);
}

/* Also if members have joined in between. */
static void test_what_was_reserved_needs_no_memory(void **state)
{
    uint64_t allocations;
    struct sync s;

    (void)state;
    make_busy(&s);
    assert_int_equal(sync_reserve(&s, 5), OK);
    join(&s, 40);
    allocations = mem_allocations();
    assert_int_equal(sync_grow(&s, 2), OK);
    assert_int_equal(sync_grow(&s, 3), OK);
    assert_int_equal(mem_allocations(), allocations);
    assert_int_equal(sync_chunk_version(&s, 7), 1);
    assert_int_equal(sync_contained(&s, 2, 1), 1);
    push(&s, 40, 7, 3);
    assert_true(sync_invariant(&s));
    sync_deinit(&s);
}

static void test_more_chunks_than_can_be_counted_are_refused(void **state)
{
    struct testing_image before = {0};
    struct sync s;

    (void)state;
    make_busy(&s);
    testing_image_take(&before, &s);
    assert_int_equal(sync_grow(&s, UINT32_MAX - 2), ERR_TOO_BIG);
    assert_int_equal(sync_reserve(&s, UINT32_MAX - 2), ERR_TOO_BIG);
    testing_image_same(&before, &s);
    testing_image_deinit(&before);
    sync_deinit(&s);
}

static void test_only_joins_and_growth_allocate(void **state)
{
    uint64_t allocations;
    struct sync s;

    (void)state;
    make_busy(&s);
    allocations = mem_allocations();
    push(&s, 2, 0, 2);
    finish(&s, 2, 2);
    step(&s, (struct sync_event){.type = SYNC_READ, .member = 3, .chunk = 1, .clock = 2});
    step(&s, (struct sync_event){.type = SYNC_TIMEOUT, .now_ns = 100});
    step(&s, (struct sync_event){.type = SYNC_LEAVE, .member = 2});
    join(&s, 3); /* There is room. */
    assert_int_equal(mem_allocations(), allocations);
    sync_deinit(&s);
}

/* All places taken, all of them missed at once, and more chunks than fit besides. */
static void test_everybody_at_once_fits(void **state)
{
    enum { CHUNKS = 1000 };
    struct sync s;

    (void)state;
    make(&s,
         &(struct sync_config){
             .policy = &sync_bsp, .deadline_ns = 10, .members_min = SYNC_MEMBERS_MAX},
         CHUNKS);
    for (uint32_t m = 0; m < SYNC_MEMBERS_MAX; m++) {
        assert_int_equal(actions.count, 0);
        join(&s, m);
    }
    assert_int_equal(actions.count, SYNC_MEMBERS_MAX);
    push(&s, 17, 3, 1);
    step(&s, (struct sync_event){.type = SYNC_TIMEOUT, .now_ns = 10});
    assert_int_equal(actions.count, SYNC_MEMBERS_MAX + CHUNKS + 1);
    assert_int_equal(actions.parts, 4);
    for (uint32_t i = 0; i < SYNC_MEMBERS_MAX; i++) {
        assert_int_equal(actions.list[i].type, SYNC_EXPIRE);
        assert_int_equal(actions.list[i].member, i);
    }
    for (uint32_t c = 0; c < CHUNKS; c++) {
        assert_int_equal(actions.list[SYNC_MEMBERS_MAX + c].type, SYNC_CLOSE);
        assert_int_equal(actions.list[SYNC_MEMBERS_MAX + c].chunk, c);
    }
    assert_int_equal(sync_version(&s), 1);
    sync_deinit(&s);
}

static void test_who_never_joined_is_nobody(void **state)
{
    struct sync s;

    (void)state;
    make(&s, &(struct sync_config){.policy = &sync_bsp}, 1);
    assert_false(sync_is_member(&s, 0));
    assert_int_equal(sync_contained(&s, 0, 0), 0);
    join(&s, 0);
    assert_true(sync_is_member(&s, 0));
    assert_false(sync_is_member(&s, SYNC_MEMBERS_MAX - 1));
    assert_false(sync_waits_for(&s, SYNC_MEMBERS_MAX - 1));
    assert_int_equal(sync_member_clock(&s, SYNC_MEMBERS_MAX - 1), 0);
    assert_int_equal(sync_contained(&s, 0, SYNC_MEMBERS_MAX - 1), 0);
    sync_deinit(&s);
}

/* The invariant is worth something only if it can fail. */
static void admitted(uint32_t count)
{
    assert_int_equal(actions.count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(actions.list[i].type, SYNC_ADMIT);
        assert_int_equal(actions.list[i].member, i);
        assert_int_equal(actions.list[i].clock, 1);
    }
}

/* They came before it was known that the site has begun, and no more may ever come. */
static void test_a_restart_lets_those_in_who_wait_for_others(void **state)
{
    for (uint32_t way = 0; way < 2; way++) {
        struct sync s;

        (void)state;
        make(&s, &(struct sync_config){.policy = &sync_bsp, .members_min = 4}, 2);
        join(&s, 0);
        join(&s, 1);
        admitted(0);
        assert_true(sync_is_waiting(&s, 0) && !sync_is_member(&s, 0) && !sync_is_waiting(&s, 2));
        sync_restart(&s);
        if (way == 0) {
            join(&s, 2);
        } else {
            step(&s, (struct sync_event){.type = SYNC_CONTINUE});
        }
        admitted(way == 0 ? 3 : 2);
        assert_true(!sync_is_waiting(&s, 0) && sync_is_member(&s, 0));
        sync_deinit(&s);
    }
}

static void test_the_invariant_sees_what_is_broken(void **state)
{
    struct sync s;

    (void)state;
    make_busy(&s); /* Round 1 is closed; in chunk 2, worker 1 has sent 2. */
    assert_true(sync_invariant(&s));
    s.versions[1] = 0; /* Behind the shard. */
    assert_false(sync_invariant(&s));
    s.version = 0; /* Behind what everybody has finished. */
    assert_false(sync_invariant(&s));
    s.version = 1;
    s.versions[1] = 1;
    s.contained[1] = 2; /* More than was sent: chunk 0, worker 1. */
    assert_false(sync_invariant(&s));
    s.contained[1] = 0;
    s.pushed[1] = 1 + 2 + 2; /* Further ahead than the staleness allows (I9). */
    assert_false(sync_invariant(&s));
    s.pushed[1] = 0;
    assert_true(sync_invariant(&s));
    sync_deinit(&s);

    make(&s, &(struct sync_config){.policy = &sync_tap}, 1);
    join(&s, 0);
    push(&s, 0, 0, 1);
    s.pushed[0] = 2; /* An update that is not closed. */
    assert_false(sync_invariant(&s));
    sync_deinit(&s);
}

/* The chunk that held the round back goes: the round is complete without it. */
static void test_a_round_does_not_wait_for_chunks_that_are_gone(void **state)
{
    struct sync_config config = {.policy = &sync_bsp};
    struct sync s;

    (void)state;
    make(&s, &config, 4);
    join(&s, 0);
    join(&s, 1);
    push(&s, 0, 0, 1);
    push(&s, 0, 3, 1);
    push(&s, 1, 3, 1); /* Chunk 3 closes. */
    assert_int_equal(sync_chunk_version(&s, 3), 1);
    sync_shrink(&s, 0, 3);
    assert_true(sync_invariant(&s));
    assert_int_equal(sync_chunk_version(&s, 0), 1);
    assert_int_equal(sync_contained(&s, 0, 1), 1);
    assert_int_equal(sync_version(&s), 0);
    step(&s, (struct sync_event){.type = SYNC_CONTINUE});
    assert_int_equal(sync_version(&s), 1);
    assert_int_equal(sync_grow(&s, 2), OK); /* Nothing of the old ones is in the new ones. */
    assert_int_equal(sync_contained(&s, 1, 0), 0);
    assert_int_equal(sync_chunk_version(&s, 2), 1);
    finish(&s, 0, 1);
    finish(&s, 1, 1);
    push(&s, 0, 2, 2);
    assert_true(sync_invariant(&s));
    sync_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_that_do_not_go_together_are_refused),
        cmocka_unit_test(test_settings_at_their_limits_are_taken),
        cmocka_unit_test(test_policies_are_found_by_name),
        cmocka_unit_test(test_policies_say_when),
        cmocka_unit_test(test_every_word_is_there_and_none_is_used_twice),
        cmocka_unit_test(test_an_event_that_does_not_exist_is_an_error),
        cmocka_unit_test(test_a_join_without_memory_changes_nothing),
        cmocka_unit_test(test_growth_without_memory_changes_nothing),
        cmocka_unit_test(test_a_reserve_without_memory_changes_nothing),
        cmocka_unit_test(test_what_was_reserved_needs_no_memory),
        cmocka_unit_test(test_more_chunks_than_can_be_counted_are_refused),
        cmocka_unit_test(test_only_joins_and_growth_allocate),
        cmocka_unit_test(test_everybody_at_once_fits),
        cmocka_unit_test(test_who_never_joined_is_nobody),
        cmocka_unit_test(test_a_restart_lets_those_in_who_wait_for_others),
        cmocka_unit_test(test_the_invariant_sees_what_is_broken),
        cmocka_unit_test(test_a_round_does_not_wait_for_chunks_that_are_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
