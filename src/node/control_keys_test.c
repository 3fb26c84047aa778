/* Values of the wrong type: each is refused by the name of its key. */

#include "node/control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(uint16_t operation, const char *request, const char *expected)
{
    struct err_text text = {""};
    json_t *fields = json_loads(request, 0, NULL);

    assert_non_null(fields);
    assert_int_equal(node_control_check(operation, fields, &text),
                     expected == NULL ? OK : ERR_INVALID);
    if (expected != NULL) {
        assert_string_equal(text.text, expected);
    }
    json_decref(fields);
}

static void test_each_type_is_looked_at(void **state)
{
    (void)state;
    check(NODE_OP_SITE, "{\"rank\": \"1\"}", "\"rank\" must be a whole number, not negative");
    check(NODE_OP_SITE, "{\"rank\": -1}", "\"rank\" must be a whole number, not negative");
    check(NODE_OP_SITE, "{\"rank\": 1.0}", "\"rank\" must be a whole number, not negative");
    check(NODE_OP_SITE, "{\"rank\": null}", "\"rank\" must be a whole number, not negative");
    check(NODE_OP_JOIN, "{\"resume\": 1}", "\"resume\" must be true or false");
    check(NODE_OP_JOIN, "{\"relay\": false}", "\"relay\" must be a text");
    check(NODE_OP_JOIN, "{\"members\": [1, \"2\"]}", "\"members\" must be a list of numbers");
    check(NODE_OP_JOIN, "{\"members\": {}}", "\"members\" must be a list of numbers");
    check(NODE_OP_JOIN, "{\"tables\": [1]}", "\"tables\" must be a list of objects");
    check(NODE_OP_JOIN, "{\"tables\": [{}, {\"want\": \"yes\"}]}",
          "tables: \"want\" must be true or false");
    check(NODE_OP_TABLE, "{\"rows\": \"4\"}", "\"rows\" must be a whole number, not negative");
    check(NODE_OP_TABLE, "{\"known\": [{\"id\": []}]}",
          "known: \"id\" must be a whole number, not negative");
    check(NODE_OP_LANE, "{\"places\": [{\"address\": 7}]}", "places: \"address\" must be a text");
    check(NODE_OP_REPORT, "{\"samples\": \"many\"}", "\"samples\" must be a number");
    check(NODE_OP_REPORT, "{\"sparsified\": []}", "\"sparsified\" must be an object");
    check(NODE_OP_HANDSHAKE, "{\"shared_config\": 1}", "\"shared_config\" must be an object");
    check(NODE_OP_COPY, "{\"go\": 1}", "\"go\" must be true or false");
    check(NODE_OP_DROP, "{\"name\": 1}", "\"name\" must be a text");
    check(NODE_OP_DROP, "{\"name\": \"r\", \"check\": 1}", "\"check\" must be true or false");
}

static void test_what_is_right_absent_or_unknown_is_taken(void **state)
{
    (void)state;
    check(NODE_OP_SITE, "{\"rank\": 0}", NULL);
    check(NODE_OP_SITE, "{\"colour\": [1]}", NULL);
    check(NODE_OP_REPORT, "{\"clock\": 3, \"loss_sum\": -1.5, \"samples\": 7}", NULL);
    check(NODE_OP_JOIN, "{\"members\": [], \"tables\": [{\"id\": 1, \"want\": true}]}", NULL);
    check(NODE_OP_STATUS, "{\"rank\": \"x\"}", NULL);
    check(999, "{\"rank\": \"x\"}", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_type_is_looked_at),
        cmocka_unit_test(test_what_is_right_absent_or_unknown_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
