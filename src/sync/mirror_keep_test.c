/* Mirrors: what is stored and restored, copies of other sites, want of memory, limits. */

#include "sync/testing_peers.h"

#include <string.h>

static const struct mirror_config plain = {.staleness = 2, .life = 1};
static const struct mirror_config durable = {.staleness = 2, .life = 1, .durable = true};

/* What is stored. */

static void test_nothing_is_sent_before_it_is_stored(void **state)
{
    struct mirror_mark mark;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &durable, 1);
    testing_make(&m, 0, 1);
    testing_make(&m, 0, 1);
    testing_make(&m, 1, 1);
    mirror_advance(&m, 1);
    testing_quiet(&m, 1);
    mirror_store(&m, nr(1), 0);
    (void)testing_sends_own(&m, 1, 0, nr(0), nr(1)); /* The second is not added to it. */
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.number, nr(1));
    assert_int_equal(mark.clock, 0);
    testing_quiet(&m, 1);
    mirror_store(&m, nr(3), 1);
    (void)testing_sends_own(&m, 1, 0, nr(1), nr(2));
    (void)testing_sends_own(&m, 1, 1, nr(0), nr(3));
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.number, nr(3));
    assert_int_equal(mark.clock, 1);
    mirror_deinit(&m);
}

static void test_marks_say_no_clock_that_is_not_stored(void **state)
{
    struct mirror_mark mark;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &durable, 1);
    mirror_advance(&m, 5);
    testing_quiet(&m, 1);
    mirror_store(&m, nr(0), 3);
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.clock, 3);
    mirror_store(&m, nr(0), 9); /* It was closed when that was said. */
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.clock, 5);
    mirror_store(&m, nr(0), 2);
    testing_quiet(&m, 1);
    mirror_deinit(&m);
}

static void test_what_is_stable_is_reported_when_it_is_stored(void **state)
{
    struct mirror_report report;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &durable, 2);
    mirror_stored(&m, 1, nr(0));
    mirror_say(&m, 1, &report);
    assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(4)), MIRROR_TAKE);
    testing_mark(&m, 1, 1, nr(0), nr(4), 1);
    assert_true(mirror_moved(&m));
    assert_false(mirror_say_due(&m, 1));
    mirror_say(&m, 1, &report);
    assert_int_equal(report.stable, nr(0));
    mirror_stored(&m, 1, nr(3));
    assert_true(mirror_say_due(&m, 1));
    mirror_say(&m, 1, &report);
    assert_int_equal(report.stable, nr(3));
    mirror_stored(&m, 1, nr(2)); /* Nothing goes back. */
    assert_false(mirror_say_due(&m, 1));
    mirror_deinit(&m);
}

static void test_a_site_that_is_alone_keeps_its_pieces_until_they_are_stored(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &durable, 0);
    testing_make(&m, 0, 1);
    testing_make(&m, 0, 2);
    mirror_advance(&m, 2);
    assert_null(mirror_release(&m));
    mirror_store(&m, nr(1), 1);
    assert_ptr_equal(mirror_release(&m), testing_payload(1));
    assert_null(mirror_release(&m));
    assert_int_equal(m.floor, nr(1));
    mirror_deinit(&m);
}

/* A process before this one made three pieces; the first is safe everywhere. */
static void restore(struct mirror *m)
{
    uint32_t groups[2] = {0};

    testing_open(m, &durable, 0, groups, 2);
    mirror_restore_chunk(m, 0, nr(3));
    mirror_restore_chunk(m, 1, nr(2));
    assert_int_equal(mirror_restore_piece(m, 1, nr(0), nr(2), 1, TESTING_BYTES, testing_payload(2)),
                     OK);
    assert_int_equal(mirror_restore_piece(m, 0, nr(1), nr(3), 2, TESTING_BYTES, testing_payload(3)),
                     OK);
    mirror_adopt(m, 2, 1, nr(8));
    mirror_restore_site(m, 1, nr(8), 6);
    mirror_restore_site(m, 2, nr(0), 6);
    mirror_restore(m, nr(3), 2);
    assert_true(mirror_invariant(m));
}

static void test_a_restored_machine_goes_on_where_it_was(void **state)
{
    struct mirror_report report;
    struct mirror_mark mark;
    struct mirror m;

    (void)state;
    restore(&m);
    assert_false(m.fresh);
    assert_int_equal(m.floor, nr(1));
    mirror_up(&m, 1, true, 0);
    mirror_up(&m, 2, true, 0);
    mirror_say(&m, 1, &report);
    assert_int_equal(report.stable, nr(8));
    assert_int_equal(report.number, nr(3));
    assert_int_equal(report.floor, nr(1));
    assert_int_equal(report.clock, 2);
    testing_confirm(&m, 1, nr(2));
    testing_confirm(&m, 2, nr(1));
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.clock, 1); /* That much it has. */
    (void)testing_sends_own(&m, 1, 0, nr(1), nr(3));
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.from, nr(2));
    assert_int_equal(mark.number, nr(3));
    assert_int_equal(mark.clock, 2);
    (void)testing_sends_own(&m, 2, 1, nr(0), nr(2));
    (void)testing_sends_mark(&m, 2);
    (void)testing_sends_own(&m, 2, 0, nr(1), nr(3));
    assert_int_equal(testing_judge(&m, 2, 1, nr(7), nr(8)), MIRROR_DROP);
    testing_make(&m, 0, 3);
    assert_int_equal(m.number, nr(4));
    mirror_store(&m, nr(4), 2);
    (void)testing_sends_own(&m, 1, 0, nr(3), nr(4));
    testing_confirm(&m, 1, nr(4));
    testing_confirm(&m, 2, nr(4));
    for (uint32_t k = 2; k <= 4; k++) {
        assert_ptr_equal(mirror_release(&m), testing_payload(k));
    }
    mirror_deinit(&m);
}

/* Others were told that these clocks are closed. */
static void test_clocks_that_are_done_again_get_a_later_label(void **state)
{
    struct mirror_mark mark;
    struct mirror m;

    (void)state;
    restore(&m);
    testing_meet(&m, 1);
    testing_drain(&m, 1);
    testing_make(&m, 2, 1);
    mirror_advance(&m, 1);
    assert_int_equal(m.clock, 2);
    mirror_store(&m, nr(4), 2);
    assert_int_equal(testing_look(&m, 1)->clock, 3);
    testing_drain(&m, 1);
    mirror_advance(&m, 3);
    mirror_store(&m, nr(4), 3);
    mark = testing_sends_mark(&m, 1);
    assert_int_equal(mark.clock, 3);
    mirror_deinit(&m);
}

static void test_with_nothing_to_send_a_restored_machine_keeps_nothing(void **state)
{
    uint32_t groups[1] = {0};
    struct mirror m;

    (void)state;
    testing_open(&m, &durable, 0, groups, 1);
    mirror_restore_chunk(&m, 0, nr(3));
    mirror_restore(&m, nr(3), 2);
    assert_int_equal(m.floor, nr(3));
    assert_true(mirror_invariant(&m));
    testing_make(&m, 0, 3);
    assert_int_equal(m.floor, nr(3));
    testing_meet(&m, 1);
    testing_drain(&m, 1);
    mirror_store(&m, nr(4), 2);
    (void)testing_sends_own(&m, 1, 0, nr(3), nr(4));
    mirror_deinit(&m);
}

/* Copies. */

static void test_only_who_comes_late_needs_a_copy(void **state)
{
    struct mirror_report report = {.number = nr(0), .floor = nr(0)};
    uint32_t groups[2] = {0};
    struct mirror m;

    (void)state;
    testing_open(&m, &plain, 0, groups, 2);
    mirror_up(&m, 1, true, 0);
    assert_int_equal(mirror_hear(&m, 1, &report, 0), OK);
    assert_false(mirror_needs_copy(&m)); /* It keeps all that it made. */
    assert_false(mirror_all_greeted(&m));
    mirror_up(&m, 2, true, 0);
    report = (struct mirror_report){.number = nr(9), .floor = nr(5), .fresh = true};
    assert_int_equal(mirror_hear(&m, 2, &report, 0), OK);
    assert_true(mirror_all_greeted(&m));
    assert_false(mirror_needs_copy(&m)); /* Of a fresh one there is nothing to copy. */
    assert_false(mirror_may_copy(&m, 2));
    report.fresh = false;
    report.request = 1;
    assert_int_equal(mirror_hear(&m, 2, &report, 0), OK);
    assert_true(mirror_needs_copy(&m)); /* It does not keep its first pieces. */
    assert_true(mirror_may_copy(&m, 2));
    mirror_down(&m, 2, 0);
    assert_false(mirror_may_copy(&m, 2));
    mirror_deinit(&m);
}

static void test_a_copy_must_contain_what_we_do_not_keep(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    testing_make(&m, 0, 1);
    testing_confirm(&m, 1, nr(1));
    testing_confirm(&m, 2, nr(1));
    assert_int_equal(m.floor, nr(1));
    assert_true(mirror_may_copy(&m, 1));
    mirror_up(&m, 1, true, 0);
    assert_false(mirror_may_copy(&m, 1)); /* It has not said what it has. */
    testing_confirm(&m, 1, nr(0));
    assert_false(mirror_may_copy(&m, 1));
    testing_confirm(&m, 1, nr(1));
    assert_true(mirror_may_copy(&m, 1));
    mirror_deinit(&m);
}

static void test_a_copy_must_contain_what_others_do_not_keep(void **state)
{
    struct mirror_report report = {
        .number = nr(9), .floor = nr(5), .stable = nr(0), .request = 1, .clock = 1};
    uint64_t stable[MIRROR_SITES_MAX] = {0, nr(0), nr(0)};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    assert_true(mirror_copy_fits(&m, 1, stable)); /* All of them keep everything. */
    assert_int_equal(mirror_hear(&m, 2, &report, 0), OK);
    assert_true(mirror_needs_copy(&m));
    stable[2] = nr(4);
    assert_false(mirror_copy_fits(&m, 1, stable));
    stable[2] = nr(5);
    assert_true(mirror_copy_fits(&m, 1, stable));
    stable[2] = 0;
    assert_true(mirror_copy_fits(&m, 2, stable)); /* Its own it has. */
    mirror_deinit(&m);
}

static void test_our_own_pieces_are_added_to_a_copy_that_has_not_got_them(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    testing_make(&m, 0, 1);
    testing_make(&m, 1, 1);
    testing_make(&m, 0, 2);
    testing_make(&m, 0, 3);
    assert_ptr_equal(mirror_above(&m, 0, nr(0), 0), testing_payload(1));
    assert_ptr_equal(mirror_above(&m, 0, nr(1), 0), testing_payload(3));
    assert_ptr_equal(mirror_above(&m, 0, nr(1), 1), testing_payload(4));
    assert_null(mirror_above(&m, 0, nr(1), 2));
    assert_null(mirror_above(&m, 0, nr(4), 0));
    assert_ptr_equal(mirror_above(&m, 1, nr(1), 0), testing_payload(2));
    assert_null(mirror_above(&m, 2, 0, 0));
    mirror_deinit(&m);
}

static void test_nothing_is_let_go_while_a_copy_is_taken(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    testing_make(&m, 0, 1);
    mirror_set_copying(&m, true);
    testing_make(&m, 0, 2);
    testing_confirm(&m, 1, nr(2));
    assert_ptr_equal(mirror_above(&m, 0, nr(0), 0), testing_payload(1));
    assert_ptr_equal(mirror_above(&m, 0, nr(1), 0), testing_payload(2));
    assert_true(mirror_invariant(&m));
    mirror_set_copying(&m, false);
    assert_null(mirror_above(&m, 0, nr(0), 0));
    assert_ptr_equal(mirror_release(&m), testing_payload(1));
    mirror_deinit(&m);
}

static void test_the_newest_piece_of_a_chunk_says_its_clock(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    assert_int_equal(mirror_piece_clock(&m, 0), 0);
    testing_make(&m, 0, 1);
    testing_make(&m, 0, 4);
    testing_make(&m, 1, 2);
    assert_int_equal(mirror_piece_clock(&m, 0), 4);
    assert_int_equal(mirror_piece_clock(&m, 1), 2);
    testing_confirm(&m, 1, nr(3));
    assert_int_equal(mirror_piece_clock(&m, 0), 0); /* It is not kept any more. */
    mirror_deinit(&m);
}

static void test_a_copy_is_what_we_have_and_the_rest_is_asked_for(void **state)
{
    struct mirror_report before, after;
    uint32_t groups[1] = {0};
    struct mirror m;

    (void)state;
    testing_open(&m, &plain, 0, groups, 1);
    mirror_up(&m, 1, true, 0);
    m.sites[1].floor = nr(2); /* testing_hear() says so again. */
    testing_hear(&m, 1, nr(6), 4, 0, 0);
    assert_true(mirror_needs_copy(&m));
    mirror_say(&m, 1, &before);
    for (uint32_t c = 0; c < TESTING_CHUNKS; c++) {
        mirror_adopt(&m, c, 1, nr(c + 3));
    }
    mirror_adopt_site(&m, 1, nr(5), 3);
    mirror_adopt_site(&m, MIRROR_SELF, nr(77), 9); /* Of ourselves we know better. */
    mirror_begin(&m, 4);
    assert_false(mirror_needs_copy(&m));
    assert_int_equal(m.clock, 4);
    assert_int_equal(m.sites[MIRROR_SELF].stable, 0);
    mirror_say(&m, 1, &after);
    assert_int_equal(after.stable, nr(5));
    assert_false(after.fresh);
    assert_true(after.request > before.request);
    assert_true(m.sites[1].doubt);
    assert_int_equal(testing_judge(&m, 0, 1, nr(3), nr(6)), MIRROR_TAKE);
    assert_int_equal(testing_judge(&m, 2, 1, nr(4), nr(5)), MIRROR_DROP);
    mirror_deinit(&m);
}

static void test_a_copy_that_is_not_stored_is_not_reported(void **state)
{
    struct mirror_report report;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &durable, 1);
    mirror_stored(&m, 1, nr(0));
    mirror_adopt_site(&m, 1, nr(5), 3);
    mirror_say(&m, 1, &report);
    assert_int_equal(report.stable, nr(0));
    mirror_stored(&m, 1, nr(5));
    mirror_adopt_site(&m, 1, nr(4), 3); /* Of one who has less. */
    assert_true(mirror_invariant(&m));
    mirror_say(&m, 1, &report);
    assert_int_equal(report.stable, nr(4));
    mirror_deinit(&m);
}

/* Site 1 as it comes back after it has forgotten everything: with a copy that contains of its life
 * before all up to @had of chunk 0. */
static void second_life(struct mirror *m, uint64_t had)
{
    struct mirror_config config = {.staleness = 2, .life = 2};
    struct mirror_report report;
    uint32_t groups[1] = {0};
    struct mirror other;

    testing_open(&other, &config, 0, groups, 1);
    mirror_adopt(&other, 0, MIRROR_SELF, had);
    mirror_begin(&other, 0);
    mirror_say(&other, 1, &report);
    report.stable = nr(0);
    mirror_up(m, 1, true, 0);
    assert_int_equal(mirror_hear(m, 1, &report, 0), OK);
    mirror_deinit(&other);
}

static void test_who_has_another_part_of_a_life_before_needs_a_copy_of_that_site(void **state)
{
    static const uint64_t had[] = {2, 3, 4};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        bool torn = had[i] != 3;
        struct mirror m;

        testing_mesh(&m, &plain, 2);
        assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(3)), MIRROR_TAKE);
        second_life(&m, nr(had[i]));
        assert_int_equal(mirror_needs_copy(&m), torn);
        assert_true(mirror_may_copy(&m, 1));
        assert_int_equal(mirror_may_copy(&m, 2), !torn);
        mirror_adopt_site(&m, 1, nr_of(2, 0), 0);
        assert_false(mirror_needs_copy(&m));
        assert_true(mirror_may_copy(&m, 2));
        mirror_deinit(&m);
    }
}

/* Nobody has let anything go; but who begins without what others have of it makes them forget it.
 */
static void test_who_forgot_everything_takes_a_copy_of_one_who_knew_it(void **state)
{
    struct mirror_config config = {.staleness = 2, .life = 2};
    uint32_t groups[1] = {0};
    struct mirror_report report;
    struct mirror m, other;

    (void)state;
    testing_mesh(&other, &plain, 2);
    for (uint32_t i = 0; i < 2; i++) {
        bool knew = i == 1;

        if (knew) { /* A piece, and no mark yet: nothing of it is stable. */
            assert_int_equal(testing_judge(&other, 2, 1, nr(0), nr(1)), MIRROR_TAKE);
        }
        mirror_say(&other, 1, &report);
        assert_int_equal(report.stable, nr(0));
        testing_open(&m, &config, 0, groups, 1);
        mirror_up(&m, 1, true, 0);
        assert_int_equal(mirror_hear(&m, 1, &report, 0), OK);
        assert_int_equal(mirror_needs_copy(&m), knew);
        assert_true(mirror_may_copy(&m, 1));
        mirror_begin(&m, 0);
        assert_false(mirror_needs_copy(&m)); /* It has begun: of this life all know something. */
        mirror_deinit(&m);
    }
    mirror_deinit(&other);
}

static void test_who_has_another_part_of_a_life_before_is_believed_by_nobody(void **state)
{
    struct mirror_report report;
    uint64_t stable[MIRROR_SITES_MAX] = {0};
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 2);
    assert_int_equal(testing_judge(&m, 0, 1, nr(0), nr(3)), MIRROR_TAKE);
    testing_mark(&m, 1, 1, nr(0), nr(3), 1);
    second_life(&m, nr(2));
    testing_mark(&m, 1, 1, nr_of(2, 0), nr_of(2, 1), 4);
    mirror_say(&m, 1, &report);
    assert_int_equal(report.stable, 0); /* Of its new life as well. */
    assert_true(mirror_invariant(&m));
    mirror_adopt_site(&m, 1, nr_of(2, 1), 4);
    mirror_say(&m, 1, &report);
    assert_int_equal(report.stable, nr_of(2, 1));
    stable[1] = nr(3); /* A copy of one who has not heard of the new life. */
    assert_false(mirror_copy_fits(&m, 2, stable));
    stable[1] = nr_of(2, 0);
    assert_true(mirror_copy_fits(&m, 2, stable));
    mirror_deinit(&m);
}

/* What it knew of others' lives is in what it stored. */
static void test_a_restored_machine_sees_that_another_site_has_forgotten(void **state)
{
    struct mirror m;

    (void)state;
    restore(&m);
    mirror_adopt(&m, 0, 1, nr(8));
    second_life(&m, nr(7));
    assert_true(mirror_needs_copy(&m));
    assert_true(m.sites[1].torn);
    mirror_deinit(&m);
}

/* It may have another part of our life before. */
static void test_after_a_new_life_a_copy_is_of_one_who_has_accepted_it(void **state)
{
    struct mirror_config config = {.staleness = 2, .life = 2};
    uint32_t groups[1] = {0};
    struct mirror m;

    (void)state;
    testing_open(&m, &config, 0, groups, 1);
    mirror_adopt(&m, 0, MIRROR_SELF, nr(3));
    mirror_begin(&m, 0);
    mirror_up(&m, 1, true, 0);
    testing_hear(&m, 1, nr(1), 1, nr(3), 0);
    assert_false(mirror_may_copy(&m, 1));
    testing_hear(&m, 1, nr(1), 1, nr_of(2, 0), 0);
    assert_true(mirror_may_copy(&m, 1));
    mirror_deinit(&m);
}

/* Want of memory. */

static void test_init_without_memory_gives_everything_back(void **state)
{
    struct mirror_config config = {.staleness = 2, .life = 1, .groups = 3};
    struct err_text text;
    uint64_t k = 0;
    enum err rc;

    (void)state;
    do {
        struct mirror m;

        mem_fail_at(++k, 1);
        rc = mirror_init(&m, &config, 1, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_int_equal(m.sites != NULL, rc == OK);
        mirror_deinit(&m); /* Also after a failure. */
    } while (rc != OK);
    assert_int_equal(k, 5);
}

static void test_a_site_without_memory_is_not_added(void **state)
{
    struct mirror_config config = {.staleness = 2, .life = 1, .groups = 2};
    uint32_t groups[2] = {0, 1}, site = 99;
    struct mirror m, before;

    (void)state;
    testing_open(&m, &config, 0, groups, 2);
    memcpy(&before, &m, sizeof(m));
    mem_fail_at(1, 1);
    assert_int_equal(mirror_add_site(&m, 1, 0, &site), ERR_NOMEM);
    mem_fail_at(0, 0);
    assert_memory_equal(&before, &m, sizeof(m));
    assert_int_equal(site, 99);
    assert_int_equal(mirror_add_site(&m, 1, 0, &site), OK);
    assert_int_equal(site, 3);
    mirror_deinit(&m);
}

static void test_growth_without_memory_changes_nothing(void **state)
{
    struct mirror m, before;
    uint64_t k = 0;
    enum err rc;

    (void)state;
    testing_mesh(&m, &plain, 1);
    testing_make(&m, 2, 1);
    assert_int_equal(testing_judge(&m, 2, 1, nr(0), nr(3)), MIRROR_TAKE);
    do {
        memcpy(&before, &m, sizeof(m));
        mem_fail_at(++k, 1);
        rc = mirror_grow(&m, 2);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_true(rc == OK || memcmp(&before, &m, sizeof(m)) == 0);
        assert_int_equal(mirror_contained(&m, 2, 1), nr(3));
        assert_ptr_equal(mirror_above(&m, 2, nr(0), 0), testing_payload(1));
    } while (rc != OK);
    assert_int_equal(k, 4);
    assert_int_equal(m.chunks_count, TESTING_CHUNKS + 2);
    assert_int_equal(mirror_contained(&m, 4, 1), 0);
    testing_make(&m, 4, 1);
    assert_null(mirror_above(&m, 4, nr(2), 0));
    (void)testing_sends_own(&m, 1, 2, nr(0), nr(1));
    (void)testing_sends_own(&m, 1, 4, nr(0), nr(2));
    mirror_deinit(&m);
}

/* With a full log it takes two allocations. */
static void test_a_piece_without_memory_is_not_made(void **state)
{
    struct mirror m, before;
    uint64_t k = 0;
    enum err rc;

    (void)state;
    testing_mesh(&m, &plain, 1);
    while (m.log_end - m.log_first < m.log_capacity) {
        testing_make(&m, 0, 1);
    }
    do {
        memcpy(&before, &m, sizeof(m));
        mem_fail_at(++k, 1);
        rc = mirror_make(&m, 0, 1, TESTING_BYTES, testing_payload(65));
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_true(rc == OK || memcmp(&before, &m, sizeof(m)) == 0);
        assert_int_equal(m.made[0], rc == OK ? nr(65) : nr(64));
        assert_int_equal(mirror_above(&m, 0, nr(64), 0) != NULL, rc == OK);
        assert_true(mirror_invariant(&m));
    } while (rc != OK);
    assert_int_equal(k, 3);
    mirror_deinit(&m);
}

/* Limits. */

static void test_there_are_so_many_sites_and_no_more(void **state)
{
    struct mirror_report report = {.number = nr(0), .floor = nr(0), .stable = nr(0)};
    uint32_t site = 99, whom, last = MIRROR_SITES_MAX - 1;
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, last);
    assert_int_equal(mirror_add_site(&m, 0, 0, &site), ERR_TOO_BIG);
    assert_int_equal(site, 99);
    testing_make(&m, 0, 1);
    for (uint32_t i = 1; i <= last; i++) {
        assert_null(mirror_release(&m));
        (void)testing_sends_own(&m, i, 0, nr(0), nr(1));
        (void)testing_sends_mark(&m, i);
        testing_quiet(&m, i);
        testing_confirm(&m, i, nr(1));
    }
    assert_ptr_equal(mirror_release(&m), testing_payload(1));
    for (uint32_t i = 1; i < last; i++) {
        testing_mark(&m, i, i, nr(0), nr(0), 9);
    }
    assert_false(mirror_may_read(&m, 9, &whom));
    assert_int_equal(whom, last);
    assert_int_equal(testing_judge(&m, TESTING_CHUNKS - 1, last, nr(0), nr(1)), MIRROR_TAKE);
    mirror_down(&m, last, 0);
    mirror_say(&m, 1, &report);
    assert_int_equal(report.away, UINT64_C(1) << last);
    mirror_deinit(&m);
}

static void test_a_site_is_in_a_group_that_there_is(void **state)
{
    struct mirror_config config = {.staleness = 2, .life = 1, .groups = 2};
    uint32_t groups[1] = {1}, site;
    struct mirror m;

    (void)state;
    testing_open(&m, &config, 0, groups, 1);
    assert_int_equal(mirror_add_site(&m, 2, 0, &site), ERR_TOO_BIG);
    mirror_deinit(&m);
}

/* Also when its first piece is not at its beginning. */
static void test_the_log_grows_beyond_its_first_capacity(void **state)
{
    struct mirror m;

    (void)state;
    testing_mesh(&m, &plain, 1);
    for (uint32_t k = 1; k <= 50; k++) {
        testing_make(&m, k % TESTING_CHUNKS, 1);
    }
    testing_drain(&m, 1);
    testing_confirm(&m, 1, nr(40));
    for (uint32_t k = 51; k <= 400; k++) {
        testing_make(&m, k % TESTING_CHUNKS, 1);
    }
    assert_true(m.log_capacity > 64);
    assert_int_equal(m.log_bytes, 360 * TESTING_BYTES);
    for (uint32_t k = 1; k <= 40; k++) {
        assert_ptr_equal(mirror_release(&m), testing_payload(k));
    }
    testing_drain(&m, 1);
    testing_confirm(&m, 1, nr(400));
    for (uint32_t k = 41; k <= 400; k++) {
        assert_ptr_equal(mirror_release(&m), testing_payload(k));
    }
    assert_null(mirror_release(&m));
    assert_int_equal(m.log_bytes, 0);
    mirror_deinit(&m);
}

static void test_a_configuration_that_cannot_be_is_refused_with_a_text(void **state)
{
    static const struct {
        uint64_t staleness;
        uint32_t groups, group;
        enum err rc;
        const char *text;
    } rows[] = {
        {MIRROR_STALENESS_MAX, 0, 0, OK, ""},
        {MIRROR_STALENESS_MAX + 1, 0, 0, ERR_INVALID, "staleness between sites: 0 to 1048576"},
        {MIRROR_UNBOUNDED, 0, 0, OK, ""},
        {0, MIRROR_GROUPS_MAX, MIRROR_GROUPS_MAX - 1, OK, ""},
        {0, MIRROR_GROUPS_MAX + 1, 0, ERR_INVALID, "group 0 of 33: there may be 32"},
        {0, 2, 2, ERR_INVALID, "group 2 of 2"},
        {0, UINT32_MAX, 0, ERR_INVALID, "group 0 of 4294967295"},
    };

    (void)state;
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mirror_config config = {
            .staleness = rows[i].staleness, .groups = rows[i].groups, .life = 1};
        struct err_text text = {0};
        struct mirror m;

        assert_int_equal(mirror_init(&m, &config, rows[i].group, &text), rows[i].rc);
        assert_non_null(strstr(text.text, rows[i].text));
        mirror_deinit(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_sent_before_it_is_stored),
        cmocka_unit_test(test_marks_say_no_clock_that_is_not_stored),
        cmocka_unit_test(test_what_is_stable_is_reported_when_it_is_stored),
        cmocka_unit_test(test_a_site_that_is_alone_keeps_its_pieces_until_they_are_stored),
        cmocka_unit_test(test_a_restored_machine_goes_on_where_it_was),
        cmocka_unit_test(test_clocks_that_are_done_again_get_a_later_label),
        cmocka_unit_test(test_with_nothing_to_send_a_restored_machine_keeps_nothing),
        cmocka_unit_test(test_only_who_comes_late_needs_a_copy),
        cmocka_unit_test(test_a_copy_must_contain_what_we_do_not_keep),
        cmocka_unit_test(test_a_copy_must_contain_what_others_do_not_keep),
        cmocka_unit_test(test_our_own_pieces_are_added_to_a_copy_that_has_not_got_them),
        cmocka_unit_test(test_nothing_is_let_go_while_a_copy_is_taken),
        cmocka_unit_test(test_the_newest_piece_of_a_chunk_says_its_clock),
        cmocka_unit_test(test_a_copy_is_what_we_have_and_the_rest_is_asked_for),
        cmocka_unit_test(test_a_copy_that_is_not_stored_is_not_reported),
        cmocka_unit_test(test_who_has_another_part_of_a_life_before_needs_a_copy_of_that_site),
        cmocka_unit_test(test_who_forgot_everything_takes_a_copy_of_one_who_knew_it),
        cmocka_unit_test(test_who_has_another_part_of_a_life_before_is_believed_by_nobody),
        cmocka_unit_test(test_a_restored_machine_sees_that_another_site_has_forgotten),
        cmocka_unit_test(test_after_a_new_life_a_copy_is_of_one_who_has_accepted_it),
        cmocka_unit_test(test_init_without_memory_gives_everything_back),
        cmocka_unit_test(test_a_site_without_memory_is_not_added),
        cmocka_unit_test(test_growth_without_memory_changes_nothing),
        cmocka_unit_test(test_a_piece_without_memory_is_not_made),
        cmocka_unit_test(test_there_are_so_many_sites_and_no_more),
        cmocka_unit_test(test_a_site_is_in_a_group_that_there_is),
        cmocka_unit_test(test_the_log_grows_beyond_its_first_capacity),
        cmocka_unit_test(test_a_configuration_that_cannot_be_is_refused_with_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
