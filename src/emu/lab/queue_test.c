/* Tests of reading the kernel's answers about queues, whole and damaged. */

#include "emu/lab/queue.h"

#include "base/rng.h"
#include "emu/lab/text.h"

#include <linux/gen_stats.h>
#include <linux/if_link.h>
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
    struct lab_queue_counts counts = {.missed = 0};

    (void)state;
    assert_false(lab_queue_parse(answers, sizeof(answers), &counts));
    for (uint32_t i = 0; i < LAB_REGIONS_MAX; i++) {
        assert_int_equal(counts.drops[i], i == 0 ? 7 : i == 63 ? 8 : 0);
    }
}

static void test_what_the_relay_missed_is_in_the_device(void **state)
{
    struct device {
        struct nlmsghdr header;
        struct ifinfomsg about;
        struct rtattr stats;
        uint8_t counts[sizeof(struct rtnl_link_stats64)]; /* Not aligned, as on the wire. */
    } device = {
        .header = {.nlmsg_len = sizeof(device), .nlmsg_type = RTM_NEWLINK},
        .stats = {.rta_len = sizeof(struct rtattr) + sizeof(struct rtnl_link_stats64),
                  .rta_type = IFLA_STATS64},
    };
    const struct rtnl_link_stats64 said = {.tx_dropped = 42, .rx_dropped = 7};
    struct lab_queue_counts counts = {.missed = 0};

    (void)state;
    memcpy(device.counts, &said, sizeof(said));
    assert_int_equal(sizeof(device), sizeof(device.header) + sizeof(device.about) +
                                         sizeof(device.stats) + sizeof(device.counts));
    assert_true(lab_queue_parse(&device, sizeof(device), &counts));
    assert_int_equal(counts.missed, 42);
    device.stats.rta_len = sizeof(struct rtattr) + 8; /* Cut: it says nothing. */
    counts.missed = 0;
    assert_true(lab_queue_parse(&device, sizeof(device), &counts));
    assert_int_equal(counts.missed, 0);
}

static void test_the_last_part_says_so(void **state)
{
    const struct nlmsghdr done = {.nlmsg_len = sizeof(done), .nlmsg_type = NLMSG_DONE};
    const struct nlmsghdr error = {.nlmsg_len = sizeof(error), .nlmsg_type = NLMSG_ERROR};
    struct lab_queue_counts counts = {.missed = 0};

    (void)state;
    assert_true(lab_queue_parse(&done, sizeof(done), &counts));
    assert_true(lab_queue_parse(&error, sizeof(error), &counts));
    assert_false(lab_queue_parse(&done, 0, &counts));
}

static void test_damaged_answers_are_read_within_their_bytes(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        _Alignas(struct nlmsghdr) struct answer answers[2] = {
            answer_of(lab_text_queue_handle(1), 3), answer_of(lab_text_queue_handle(2), 4)};
        struct lab_queue_counts counts = {.missed = 0};
        size_t size = (size_t)rng_below(&rng, sizeof(answers) + 1);
        uint8_t *bytes = (uint8_t *)answers;

        for (int flips = (int)rng_below(&rng, 4); flips > 0; flips--) {
            bytes[rng_below(&rng, sizeof(answers))] = (uint8_t)rng_next(&rng);
        }
        (void)lab_queue_parse(bytes, size, &counts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drops_are_found_by_the_handle_of_the_queue),
        cmocka_unit_test(test_what_the_relay_missed_is_in_the_device),
        cmocka_unit_test(test_the_last_part_says_so),
        cmocka_unit_test(test_damaged_answers_are_read_within_their_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
