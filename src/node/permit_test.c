/* Every operation by every role, from the lane's own site and from another one. */

#include "node/permit.h"

#include "net/pki/pki.h"
#include "node/control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { OPERATIONS = 0x5000 };

static const enum wire_role roles[] = {WIRE_ROLE_WORKER, WIRE_ROLE_SERVER, WIRE_ROLE_RELAY,
                                       WIRE_ROLE_OPERATOR};

/* Letters of roles that may, of the own site and of others: w, s, r, o. */
static const struct {
    uint16_t operation;
    const char *own, *other;
} table[] = {
    {NODE_OP_SITE, "wso", "so"},  {NODE_OP_LANE, "s", ""},  {NODE_OP_TABLE, "w", ""},
    {NODE_OP_JOIN, "w", ""},      {NODE_OP_LEAVE, "w", ""}, {NODE_OP_REPORT, "w", ""},
    {NODE_OP_STATUS, "wso", "o"}, {NODE_OP_SAVE, "wo", ""}, {NODE_OP_HANDSHAKE, "", "s"},
    {NODE_OP_COPY, "", "s"},      {NODE_OP_WORD, "", "s"},  {NODE_OP_PLAN, "", "s"},
    {NODE_OP_CHANGES, "", "s"},   {NODE_OP_DROP, "wo", ""},
};

static enum node_permit asked(uint16_t operation, enum wire_role role, const char *site, bool named,
                              struct err_text *text)
{
    struct pki_identity who = {.role = role};

    (void)snprintf(who.site, sizeof(who.site), "%s", site);
    return node_permit(operation, &who, "home", named, text);
}

static bool has(const char *letters, size_t role)
{
    return strchr(letters, "wsro"[role]) != NULL;
}

static void test_only_what_the_table_lists_is_permitted(void **state)
{
    struct err_text text;

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        for (size_t r = 0; r < 4; r++) {
            bool own = has(table[i].own, r), other = has(table[i].other, r);
            enum node_permit none = own || other ? NODE_PERMIT_SITE : NODE_PERMIT_ROLE;

            assert_int_equal(asked(table[i].operation, roles[r], "home", true, &text),
                             own ? NODE_PERMIT_OK : none);
            assert_int_equal(asked(table[i].operation, roles[r], "away", true, &text),
                             other ? NODE_PERMIT_OK : none);
        }
    }
}

/* Without certificates anybody may take any name: sites are not told apart, roles are. */
static void test_without_certificates_only_the_role_counts(void **state)
{
    struct err_text text;

    (void)state;
    assert_int_equal(asked(NODE_OP_TABLE, WIRE_ROLE_WORKER, "away", false, &text), NODE_PERMIT_OK);
    assert_int_equal(asked(NODE_OP_HANDSHAKE, WIRE_ROLE_SERVER, "home", false, &text),
                     NODE_PERMIT_OK);
    assert_int_equal(asked(NODE_OP_TABLE, WIRE_ROLE_OPERATOR, "home", false, &text),
                     NODE_PERMIT_ROLE);
    assert_int_equal(asked(NODE_OP_HANDSHAKE, WIRE_ROLE_WORKER, "away", false, &text),
                     NODE_PERMIT_ROLE);
}

static void test_what_is_not_listed_is_refused(void **state)
{
    struct err_text text;
    size_t known = 0;

    (void)state;
    for (uint16_t operation = 0; operation < OPERATIONS; operation++) {
        known += asked(operation, WIRE_ROLE_WORKER, "home", false, &text) != NODE_PERMIT_UNKNOWN;
    }
    assert_int_equal(known, sizeof(table) / sizeof(table[0]));
    assert_int_equal(asked(NODE_OP_TABLE | NODE_ANSWER, WIRE_ROLE_WORKER, "home", true, &text),
                     NODE_PERMIT_UNKNOWN);
}

static void test_a_refusal_says_why_and_what_to_do(void **state)
{
    struct err_text text;

    (void)state;
    (void)asked(NODE_OP_TABLE, WIRE_ROLE_OPERATOR, "home", true, &text);
    assert_string_equal(text.text,
                        "operation table is not for the role operator: use another certificate");
    (void)asked(NODE_OP_TABLE, WIRE_ROLE_WORKER, "away", true, &text);
    assert_string_equal(text.text, "your certificate is for site away, and this is site home: "
                                   "operation table is for the role worker of this site");
    (void)asked(99, WIRE_ROLE_WORKER, "home", true, &text);
    assert_string_equal(text.text, "operation 99 is not known here");
}

static void test_reasons_have_names(void **state)
{
    (void)state;
    assert_string_equal(node_permit_name(NODE_PERMIT_UNKNOWN), "unknown");
    assert_string_equal(node_permit_name(NODE_PERMIT_ROLE), "role");
    assert_string_equal(node_permit_name(NODE_PERMIT_SITE), "site");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_the_table_lists_is_permitted),
        cmocka_unit_test(test_without_certificates_only_the_role_counts),
        cmocka_unit_test(test_what_is_not_listed_is_refused),
        cmocka_unit_test(test_a_refusal_says_why_and_what_to_do),
        cmocka_unit_test(test_reasons_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
