/* Tests of what tools are told: the whole text for a small plan. Whether the tools understand it is
 * for tests/e2e/lab_test.py. */

#include "emu/lab/text.h"

#include "emu/lab/testing.h"

struct fixture {
    struct lab_plan *plan;
    struct text text;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){.plan = lab_testing_plan()};
    *state = &f;
    return text_init(&f.text, LAB_TEXT_BYTES_MAX);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    mem_free(f->plan);
    text_deinit(&f->text);
    return 0;
}

static void test_a_router_has_a_bridge_with_hosts_and_routes(void **state)
{
    const int fds[] = {11, 12};
    struct fixture *f = *state;

    lab_text_router(f->plan, 0, fds, &f->text);
    assert_string_equal(
        f->text.chars,
        "link set lo up\n"
        "link add lan0 mtu 9000 type bridge mcast_snooping 0\n"
        "address add 10.64.0.1/16 dev lan0\n"
        "link add h0 mtu 9000 type veth peer name eth0 mtu 9000 netns /proc/self/fd/11\n"
        "link set h0 master lan0 up\n"
        "link add h1 mtu 9000 type veth peer name eth0 mtu 9000 netns /proc/self/fd/12\n"
        "link set h1 master lan0 up\n"
        "link set lan0 up\n"
        "link set wan0 mtu 9000 txqueuelen 8000 up\n"
        "route add 10.65.0.0/16 dev wan0\n"
        "route add unreachable 10.66.0.0/16\n");
}

static void test_a_host_has_an_address_and_a_way_out(void **state)
{
    struct fixture *f = *state;

    lab_text_host(f->plan, 0, 1, &f->text);
    assert_string_equal(f->text.chars, "link set lo up\n"
                                       "address add 10.64.0.3/16 dev eth0\n"
                                       "link set eth0 up\n"
                                       "route add default via 10.64.0.1\n");
}

static void test_a_host_behind_a_lossy_link_sends_one_by_one(void **state)
{
    struct fixture *f = *state;

    lab_text_host(f->plan, 1, 0, &f->text);
    assert_non_null(strstr(f->text.chars, "link set eth0 gso_max_segs 1\n"));
    text_clear(&f->text);
    lab_text_segments(false, &f->text);
    assert_string_equal(f->text.chars, "link set eth0 gso_max_segs 65535\n");
}

static void test_each_link_has_a_class_a_queue_and_a_filter(void **state)
{
    struct fixture *f = *state;

    lab_text_rates(f->plan, 1, &f->text);
    assert_string_equal(
        f->text.chars,
        "qdisc add dev wan0 root handle 1: htb\n"
        "class add dev wan0 parent 1: classid 1:100 htb rate 20000000bit burst 18000 cburst 18000 "
        "quantum 60000\n"
        "qdisc add dev wan0 parent 1:100 handle 100: bfifo limit 200000\n"
        "filter add dev wan0 parent 1: protocol ip prio 1 u32 match ip dst 10.64.0.0/16 flowid "
        "1:100\n"
        "class add dev wan0 parent 1: classid 1:102 htb rate 1000000000bit burst 250000 cburst "
        "250000 quantum 60000\n"
        "qdisc add dev wan0 parent 1:102 handle 102: bfifo limit 6250000\n"
        "filter add dev wan0 parent 1: protocol ip prio 1 u32 match ip dst 10.66.0.0/16 flowid "
        "1:102\n");
}

static void test_a_change_of_rate_touches_one_link_only(void **state)
{
    struct fixture *f = *state;

    lab_text_rate(f->plan, 1, 0, &f->text);
    assert_string_equal(
        f->text.chars,
        "class change dev wan0 parent 1: classid 1:100 htb rate 20000000bit burst 18000 cburst "
        "18000 quantum 60000\n"
        "qdisc change dev wan0 parent 1:100 handle 100: bfifo limit 200000\n");
}

static void test_rules_are_written_anew_with_losses_and_cuts(void **state)
{
    static const char head[] =
        "add table ip strait\ndelete table ip strait\nadd table ip strait\n"
        "add chain ip strait forward { type filter hook forward priority 0 ; }\n";
    struct fixture *f = *state;

    lab_text_rules(f->plan, 0, &f->text);
    assert_string_equal(f->text.chars, head);
    text_clear(&f->text);
    lab_plan_link_at(f->plan, 1, 2)->cut = true;
    lab_plan_link_at(f->plan, 1, 2)->loss_ppm = 5;
    lab_text_rules(f->plan, 1, &f->text);
    assert_memory_equal(f->text.chars, head, sizeof(head) - 1);
    assert_string_equal(f->text.chars + sizeof(head) - 1,
                        "add rule ip strait forward oifname \"wan0\" ip daddr 10.64.0.0/16 numgen "
                        "random mod 1000000 < 1000 drop\n"
                        "add rule ip strait forward oifname \"wan0\" ip daddr 10.66.0.0/16 drop\n");
}

static void test_a_lan_is_held_back_only_if_it_is_slow(void **state)
{
    struct fixture *f = *state;

    lab_text_lan(f->plan, &f->text);
    assert_string_equal(f->text.chars,
                        "qdisc add dev eth0 root handle 1: htb default 1\n"
                        "class add dev eth0 parent 1: classid 1:1 htb rate 10000000000bit burst "
                        "2500000 cburst 2500000 quantum 60000\n");
    text_clear(&f->text);
    f->plan->lan_bytes_per_s = 0;
    lab_text_lan(f->plan, &f->text);
    assert_string_equal(f->text.chars, "");
}

static uint32_t lines_of(const char *chars, const char *part)
{
    uint32_t count = 0;

    for (; (chars = strstr(chars, part)) != NULL; chars++) {
        count++;
    }
    return count;
}

static void test_cards_hold_back_what_hosts_send_and_get(void **state)
{
    static const char card[] =
        "qdisc add dev h0 root handle 1: htb default 100\n"
        "class add dev h0 parent 1: classid 1:1 htb rate 100000000bit burst 25000 cburst 25000 "
        "quantum 60000\n"
        "class add dev h0 parent 1:1 classid 1:100 htb rate 390624bit ceil 100000000bit burst "
        "18000 cburst 25000 quantum 60000\n"
        "qdisc add dev h0 parent 1:100 bfifo limit 139264\n";
    struct fixture *f = *state;
    struct err_text why = {""};

    lab_text_cards(f->plan, 0, &f->text);
    assert_string_equal(f->text.chars, "");
    assert_int_equal(lab_plan_set_card(f->plan, 12500000, &why), OK);
    f->plan->hosts[0] = 2;
    lab_text_cards(f->plan, 0, &f->text);
    assert_int_equal(lines_of(f->text.chars, "dev h0 "), 1 + 1 + 2 * 256 + 1);
    assert_int_equal(lines_of(f->text.chars, "dev h1 "), 1 + 1 + 2 * 256 + 1);
    assert_int_equal(lines_of(f->text.chars, "\n"), 2 * 515);
    assert_memory_equal(f->text.chars, card, strlen(card));
    assert_non_null(strstr(f->text.chars,
                           "class add dev h1 parent 1:1 classid 1:1ff htb rate 390624bit ceil "
                           "100000000bit burst 18000 cburst 25000 quantum 60000\n"
                           "qdisc add dev h1 parent 1:1ff bfifo limit 139264\n"
                           "filter add dev h1 parent 1: protocol all prio 1 bpf bytecode \"12,32 0 "
                           "0 4293918732,"));
    text_clear(&f->text);
    lab_text_lan(f->plan, &f->text);
    assert_int_equal(lines_of(f->text.chars, "dev eth0 "), 515);
}

static void test_queues_are_found_again_by_their_handle(void **state)
{
    (void)state;
    assert_int_equal(lab_text_queue_handle(0), 0x1000000);
    assert_int_equal(lab_text_queue_handle(2), 0x1020000);
}

static void test_the_largest_region_fits_a_batch(void **state)
{
    struct fixture *f = *state;
    int fds[LAB_HOSTS_MAX] = {0};

    f->plan->regions = LAB_REGIONS_MAX;
    f->plan->hosts[0] = LAB_HOSTS_MAX;
    for (uint32_t i = 0; i < LAB_HOSTS_MAX; i++) {
        fds[i] = 100000;
    }
    for (uint32_t to = 1; to < LAB_REGIONS_MAX; to++) {
        *lab_plan_link_at(f->plan, 0, to) =
            (struct lab_link){.joined = true, .bytes_per_s = TOPO_RATE_MAX, .loss_ppm = 999999};
    }
    lab_text_router(f->plan, 0, fds, &f->text);
    assert_false(f->text.failed);
    text_clear(&f->text);
    f->plan->card_bytes_per_s = TOPO_RATE_MAX;
    lab_text_rates(f->plan, 0, &f->text);
    lab_text_cards(f->plan, 0, &f->text);
    assert_false(f->text.failed);
    text_clear(&f->text);
    lab_text_rules(f->plan, 0, &f->text);
    assert_false(f->text.failed);
}

#define WITH_PLAN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLAN(test_a_router_has_a_bridge_with_hosts_and_routes),
        WITH_PLAN(test_a_host_has_an_address_and_a_way_out),
        WITH_PLAN(test_a_host_behind_a_lossy_link_sends_one_by_one),
        WITH_PLAN(test_each_link_has_a_class_a_queue_and_a_filter),
        WITH_PLAN(test_a_change_of_rate_touches_one_link_only),
        WITH_PLAN(test_rules_are_written_anew_with_losses_and_cuts),
        WITH_PLAN(test_a_lan_is_held_back_only_if_it_is_slow),
        WITH_PLAN(test_cards_hold_back_what_hosts_send_and_get),
        WITH_PLAN(test_queues_are_found_again_by_their_handle),
        WITH_PLAN(test_the_largest_region_fits_a_batch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
