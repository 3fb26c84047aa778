/* Tests of requests: what a keeper is asked for. */

#include "emu/lab/request.h"

#include "emu/lab/testing.h"

static struct lab_plan *parsed(const char *line)
{
    struct lab_plan *plan = NULL;
    struct err_text text = {""};

    if (lab_request_parse(line, strlen(line), &plan, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return plan;
}

static void refused(const char *line, enum err wanted, const char *why)
{
    struct lab_plan *plan = NULL;
    struct err_text text = {""};

    assert_int_equal(lab_request_parse(line, strlen(line), &plan, &text), wanted);
    assert_null(plan);
    if (strstr(text.text, why) == NULL) {
        fail_msg("%s", text.text);
    }
}

static void test_a_request_becomes_a_plan(void **state)
{
    struct lab_plan *plan =
        parsed("{\"topology\": " LAB_TEST_TOPOLOGY ", \"hosts\": [3, 0, 1], \"mtu\": 1500}");

    (void)state;
    assert_int_equal(plan->regions, 3);
    assert_int_equal(plan->mtu, 1500);
    assert_int_equal(plan->hosts[0], 3);
    assert_int_equal(plan->hosts[1], 0);
    assert_int_equal(lab_plan_link(plan, 0, 1)->bytes_per_s, 12500000);
    mem_free(plan);
}

static void test_what_is_not_said_has_defaults(void **state)
{
    struct lab_plan *plan = parsed("{\"topology\": " LAB_TEST_TOPOLOGY "}");

    (void)state;
    assert_int_equal(plan->mtu, LAB_MTU);
    assert_int_equal(plan->hosts[2], 1);
    mem_free(plan);
    plan = parsed("{\"topology\": " LAB_TEST_TOPOLOGY ", \"hosts\": 4}");
    assert_int_equal(plan->hosts[0] + plan->hosts[1] + plan->hosts[2], 12);
    assert_int_equal(plan->card_bytes_per_s, 0);
    mem_free(plan);
    plan = parsed("{\"topology\": " LAB_TEST_TOPOLOGY ", \"card\": \"80mbit\"}");
    assert_int_equal(plan->card_bytes_per_s, 10000000);
    assert_int_equal(plan->lan_bytes_per_s, 10000000);
    mem_free(plan);
}

static void test_what_cannot_be_is_refused(void **state)
{
    (void)state;
    refused("", ERR_MALFORMED, "not an object of JSON");
    refused("[]", ERR_MALFORMED, "not an object of JSON");
    refused("{}", ERR_MALFORMED, "topology: an object is wanted");
    refused("{\"topology\": {\"strait_topology\": 1, \"regions\": 5}}", ERR_MALFORMED, "regions");
    refused("{\"topology\": " LAB_TEST_TOPOLOGY ", \"host\": 1}", ERR_MALFORMED,
            "there are topology, hosts, mtu and card");
    refused("{\"topology\": " LAB_TEST_TOPOLOGY ", \"hosts\": [1]}", ERR_INVALID,
            "hosts: 1 counts for 3 regions");
    refused("{\"topology\": " LAB_TEST_TOPOLOGY ", \"hosts\": [1, 1, 251]}", ERR_INVALID,
            "hosts: a whole number from 0 to 250");
    refused("{\"topology\": " LAB_TEST_TOPOLOGY ", \"hosts\": \"many\"}", ERR_INVALID,
            "hosts: a whole number from 0 to 250");
    refused("{\"topology\": " LAB_TEST_TOPOLOGY ", \"mtu\": 100}", ERR_INVALID,
            "mtu: a whole number from 576 to 32000");
    refused("{\"topology\": " LAB_TEST_TOPOLOGY ", \"card\": 5}", ERR_INVALID,
            "card: a rate such as \"100mbit\" is wanted");
    refused("{\"topology\": " LAB_TEST_TOPOLOGY ", \"card\": \"fast\"}", ERR_INVALID,
            "card: a rate such as \"100mbit\" is wanted");
    refused("{\"topology\": " LAB_TEST_TOPOLOGY ", \"card\": \"1kbit\"}", ERR_INVALID,
            "card 1kbit: a lab does 64kbit to 10gbit, and not more than the LAN");
    refused("{\"topology\": " LAB_TEST_TOPOLOGY ", \"card\": \"20gbit\"}", ERR_INVALID,
            "card 20gbit: a lab does 64kbit to 10gbit, and not more than the LAN");
}

static void test_what_is_printed_is_one_line_and_read_as_the_same(void **state)
{
    struct topo *topo = lab_testing_topo(LAB_TEST_TOPOLOGY);
    struct lab_plan *plan;
    struct text text;

    (void)state;
    assert_int_equal(text_init(&text, LAB_REQUEST_BYTES_MAX), OK);
    lab_request_print(topo, 2, 1500, &text);
    assert_false(text.failed);
    assert_ptr_equal(strchr(text.chars, '\n'), text.chars + text.size - 1);
    plan = parsed(text.chars);
    assert_int_equal(plan->hosts[2], 2);
    assert_int_equal(plan->mtu, 1500);
    assert_int_equal(lab_plan_link(plan, 1, 0)->loss_ppm, 1000);
    mem_free(plan);
    text_deinit(&text);
    topo_destroy(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_becomes_a_plan),
        cmocka_unit_test(test_what_is_not_said_has_defaults),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_what_is_printed_is_one_line_and_read_as_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
