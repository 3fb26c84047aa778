/* Which lanes belong together: a table of what they found, and what is said of it. */

#include "node/lane/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define KEPT                                                                                       \
    {                                                                                              \
        .kept = true                                                                               \
    }
#define BEGUN(h)                                                                                   \
    {                                                                                              \
        .kept = true, .found = true, .history = (h)                                                \
    }
#define WHOLE(h, c)                                                                                \
    {                                                                                              \
        .kept = true, .found = true, .history = (h), .complete = true, .clock = (c)                \
    }

static void check(const char *what, const struct node_server_history *server, uint64_t history,
                  const char *refused)
{
    struct err_text text = {""};
    uint64_t found = 0;
    enum err rc = node_history_check(server, &found, &text);

    if (rc != (refused == NULL ? OK : ERR_CORRUPT) ||
        (refused != NULL && strstr(text.text, refused) == NULL) ||
        (refused == NULL && found != history)) {
        fail_msg("%s: %d, history %d: %s", what, (int)rc, (int)found, text.text);
    }
}

static void test_lanes_of_a_server_are_of_one_training(void **state)
{
    static const struct {
        const char *what;
        struct node_lane_history lanes[3];
        uint64_t history;
        const char *refused;
    } cases[] = {
        {"no store", {{0}, {0}, {0}}, 0, NULL},
        {"an empty store", {KEPT, KEPT, KEPT}, 0, NULL},
        {"a crash before the first checkpoint", {BEGUN(7), KEPT, BEGUN(7)}, 7, NULL},
        {"all of them", {WHOLE(7, 40), WHOLE(7, 40), WHOLE(7, 50)}, 7, NULL},
        {"one begun only", {WHOLE(7, 40), BEGUN(7), WHOLE(7, 40)}, 7, NULL},
        {"one lost",
         {WHOLE(7, 40), KEPT, WHOLE(7, 40)},
         0,
         "lane 4 of site home has checkpoints, of clock 40, and lane 5 has none"},
        {"the first lost", {KEPT, BEGUN(7), WHOLE(7, 50)}, 0, "lane 6 of site home has"},
        {"two trainings",
         {WHOLE(7, 40), WHOLE(8, 40), WHOLE(7, 40)},
         0,
         "lanes 4 and 5 of site home have checkpoints of two trainings"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct node_server_history server = {
            .site = "home", .lanes = cases[i].lanes, .lanes_count = 3, .first_number = 4};

        check(cases[i].what, &server, cases[i].history, cases[i].refused);
    }
}

static void test_a_server_is_of_the_training_of_the_first_one(void **state)
{
    static const struct {
        const char *what;
        struct node_lane_history lane;
        struct node_server_history server;
        const char *refused;
    } cases[] = {
        {"the same", WHOLE(7, 40), {.history = 7, .begun = true}, NULL},
        {"another", WHOLE(8, 40), {.history = 7}, "of another training than the first server"},
        {"nothing yet", KEPT, {.history = 7}, NULL},
        {"lost", KEPT, {.history = 7, .begun = true}, "site home has parameters at its first"},
        {"no store", {0}, {.history = 7, .begun = true}, "lane 2 has none"},
        {"no store, but copies", {0}, {.history = 7, .begun = true, .copies = true}, NULL},
        {"lost, with copies", KEPT, {.history = 7, .begun = true, .copies = true}, "has none"},
        {"discarded, with copies",
         KEPT,
         {.history = 7, .begun = true, .copies = true, .restore = NODE_RESTORE_NONE},
         NULL},
        {"lost, with other sites", KEPT, {.history = 7, .begun = true, .others = true}, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct node_server_history server = cases[i].server;

        server.site = "home";
        server.lanes = &cases[i].lane;
        server.lanes_count = 1;
        server.first_number = 2;
        check(cases[i].what, &server, 7, cases[i].refused);
    }
}

static void test_a_first_server_that_restarts_does_not_go_on_beside_other_parameters(void **state)
{
    static const struct {
        const char *what;
        struct node_lane_history lane;
        bool copies;
        struct node_history_claim other;
        const char *refused;
    } cases[] = {
        {"the same", WHOLE(7, 40), false, {.history = 7, .begun = true}, NULL},
        {"it says nothing", WHOLE(7, 40), false, {.begun = true}, NULL},
        {"it has nothing", WHOLE(7, 40), false, {.history = 8}, NULL},
        {"another", WHOLE(7, 40), false, {.history = 8, .begun = true}, "of another training"},
        {"lost", KEPT, false, {.history = 8, .begun = true}, "its first server has none"},
        {"lost, with copies", KEPT, true, {.history = 8, .begun = true}, "its first server has"},
        {"no store", {0}, false, {.history = 8, .begun = true}, "its first server has none"},
        {"no store, but copies", {0}, true, {.history = 8, .begun = true}, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct node_server_history server = {
            .site = "home", .lanes = &cases[i].lane, .lanes_count = 1, .copies = cases[i].copies};
        struct err_text text = {""};
        enum err rc = node_history_meet(&server, 7, &cases[i].other, &text);

        if (rc != (cases[i].refused == NULL ? OK : ERR_CORRUPT) ||
            (cases[i].refused != NULL && strstr(text.text, cases[i].refused) == NULL)) {
            fail_msg("%s: %d: %s", cases[i].what, (int)rc, text.text);
        }
    }
}

static void test_a_history_is_written_and_read(void **state)
{
    char text[NODE_HISTORY_BYTES];

    (void)state;
    node_history_print(UINT64_C(0xfedcba9876543210), text);
    assert_true(node_history_parse(text) == UINT64_C(0xfedcba9876543210));
    assert_true(node_history_parse(NULL) == 0);
    assert_true(node_history_parse("1") == 0);
    assert_true(node_history_parse("fedcba98765432100") == 0);
    assert_true(node_history_parse("FEDCBA9876543210") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_of_a_server_are_of_one_training),
        cmocka_unit_test(test_a_server_is_of_the_training_of_the_first_one),
        cmocka_unit_test(test_a_first_server_that_restarts_does_not_go_on_beside_other_parameters),
        cmocka_unit_test(test_a_history_is_written_and_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
