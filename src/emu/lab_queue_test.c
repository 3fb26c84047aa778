/* Tests of reading the kernel's answers about queues, whole and damaged. */

#include "emu/lab_queue.h"

#include "base/rng.h"
#include "emu/lab_text.h"

#include <linux/gen_stats.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct answer {
    struct nlmsghdr header;
    struct tcmsg about;
    struct rtattr kind;
    char name[8];
    struct rtattr stats;
    struct rtattr queue;
    struct gnet_stats_queue counts;
};

static struct answer answer_of(uint32_t handle, uint32_t drops)
{
    return (struct answer){
        .header = {.nlmsg_len = sizeof(struct answer), .nlmsg_type = RTM_NEWQDISC},
        .about = {.tcm_handle = handle},
        .kind = {.rta_len = sizeof(struct rtattr) + 6, .rta_type = TCA_KIND},
        .name = "bfifo",
        .stats = {.rta_len = 2 * sizeof(struct rtattr) + sizeof(struct gnet_stats_queue),
                  .rta_type = TCA_STATS2 | NLA_F_NESTED},
        .queue = {.rta_len = sizeof(struct rtattr) + sizeof(struct gnet_stats_queue),
                  .rta_type = TCA_STATS_QUEUE},
        .counts = {.drops = drops},
    };
}

static void test_drops_are_found_by_the_handle_of_the_queue(void **state)
{
    const struct answer answers[] = {answer_of(lab_text_queue_handle(0), 7), answer_of(0x10000, 99),
                                     answer_of(lab_text_queue_handle(63), 8)};
    uint64_t drops[LAB_REGIONS_MAX] = {0};

    (void)state;
    assert_false(lab_queue_parse(answers, sizeof(answers), drops));
    for (uint32_t i = 0; i < LAB_REGIONS_MAX; i++) {
        assert_int_equal(drops[i], i == 0 ? 7 : i == 63 ? 8 : 0);
    }
}

static void test_the_last_part_says_so(void **state)
{
    const struct nlmsghdr done = {.nlmsg_len = sizeof(done), .nlmsg_type = NLMSG_DONE};
    const struct nlmsghdr error = {.nlmsg_len = sizeof(error), .nlmsg_type = NLMSG_ERROR};
    uint64_t drops[LAB_REGIONS_MAX] = {0};

    (void)state;
    assert_true(lab_queue_parse(&done, sizeof(done), drops));
    assert_true(lab_queue_parse(&error, sizeof(error), drops));
    assert_false(lab_queue_parse(&done, 0, drops));
}

static void test_damaged_answers_are_read_within_their_bytes(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        _Alignas(struct nlmsghdr) struct answer answers[2] = {
            answer_of(lab_text_queue_handle(1), 3), answer_of(lab_text_queue_handle(2), 4)};
        uint64_t drops[LAB_REGIONS_MAX] = {0};
        size_t size = (size_t)rng_below(&rng, sizeof(answers) + 1);
        uint8_t *bytes = (uint8_t *)answers;

        for (int flips = (int)rng_below(&rng, 4); flips > 0; flips--) {
            bytes[rng_below(&rng, sizeof(answers))] = (uint8_t)rng_next(&rng);
        }
        (void)lab_queue_parse(bytes, size, drops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drops_are_found_by_the_handle_of_the_queue),
        cmocka_unit_test(test_the_last_part_says_so),
        cmocka_unit_test(test_damaged_answers_are_read_within_their_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
