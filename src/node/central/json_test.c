/* Tests of node/central_json: words and plans come back as they were, and nothing that cannot be
 * is taken. */

#include "node/central/json.h"

#include "base/rng.h"

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { SITES = 4, TEXT_BYTES = 1024 };

/* With ' for ". */
static json_t *json_of(const char *text)
{
    char json[TEXT_BYTES];
    json_error_t error;
    json_t *out;

    assert_true(strlen(text) < sizeof(json));
    for (size_t i = 0; i <= strlen(text); i++) {
        json[i] = text[i] == '\'' ? '"' : text[i];
    }
    out = json_loads(json, 0, &error);
    if (out == NULL) {
        fail_msg("%s: %s", error.text, text);
    }
    return out;
}

/* @text with the first @from replaced. */
static void with(const char *text, const char *from, const char *to, char *out)
{
    const char *at = strstr(text, from);

    assert_non_null(at);
    (void)snprintf(out, TEXT_BYTES, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* Words. */

#define WORD                                                                                       \
    "{'site': 1, 'life': 77, 'number': 5, 'epoch': 3, 'top': 4, 'remembers': true, "               \
    "'links': [[0, true, 1250000], [3, false, 0]]}"

static bool takes_word(const char *text, uint32_t sites, struct links_word *out)
{
    json_t *fields = json_of(text);
    bool taken = node_word_from_json(fields, sites, out);

    json_decref(fields);
    return taken;
}

static void a_word_is_what_its_text_says(void **state)
{
    struct links_word word;
    json_t *back, *fields = json_of(WORD);

    (void)state;
    assert_true(node_word_from_json(fields, SITES, &word));
    assert_int_equal(word.site, 1);
    assert_int_equal(word.life, 77);
    assert_int_equal(word.number, 5);
    assert_int_equal(word.epoch, 3);
    assert_int_equal(word.top, 4);
    assert_true(word.remembers);
    assert_int_equal(word.count, 2);
    assert_int_equal(word.entries[0].neighbour, 0);
    assert_true(word.entries[0].up);
    assert_int_equal(word.entries[0].bytes_per_s, 1250000);
    assert_int_equal(word.entries[1].neighbour, 3);
    assert_false(word.entries[1].up);
    back = node_word_to_json(&word);
    assert_true(json_equal(fields, back));
    json_decref(back);
    json_decref(fields);
}

static void words_that_cannot_be_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"'site': 1", "'site': 4"}, /* There are four. */
        {"'site': 1", "'site': -1"},
        {"'site': 1", "'site': true"},
        {"'site': 1, ", ""},
        {"'site': 1", "'site': 3"}, /* A link to itself. */
        {"'life': 77", "'life': -1"},
        {"'life': 77", "'life': 'x'"},
        {"'number': 5", "'number': 0"}, /* They are counted from one. */
        {"'number': 5", "'number': 4294967296"},
        {"'number': 5, ", ""},
        {"'epoch': 3", "'epoch': 5"}, /* Later than the latest. */
        {"'epoch': 3", "'epoch': 3.5"},
        {"'top': 4", "'top': 2147483648"},
        {"'top': 4, ", ""},
        {"'remembers': true", "'remembers': 1"},
        {"'links': [[0, true, 1250000], [3, false, 0]]", "'links': {}"},
        {"[0, true, 1250000]", "[4, true, 1250000]"},
        {"[0, true, 1250000]", "[-1, true, 1250000]"},
        {"[0, true, 1250000]", "['0', true, 1250000]"},
        {"[0, true, 1250000]", "[3, true, 1250000]"}, /* Twice. */
        {"[0, true, 1250000]", "[0, 1, 1250000]"},
        {"[0, true, 1250000]", "[0, true, -1]"},
        {"[0, true, 1250000]", "[0, true, 1125899906842625]"},
        {"[0, true, 1250000]", "[0, true, null]"},
        {"[0, true, 1250000]", "[0, true]"},
        {"[0, true, 1250000]", "[0, true, 1250000, 0]"},
        {"[0, true, 1250000]", "0"},
        {"[0, true, 1250000]", "[0, true, 0], [2, true, 0], [1, true, 0]"},
    };
    struct links_word word = {.site = 9};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[TEXT_BYTES];

        with(WORD, cases[i][0], cases[i][1], text);
        if (takes_word(text, SITES, &word)) {
            fail_msg("taken: %s", text);
        }
    }
    assert_false(takes_word("[]", SITES, &word));
    assert_false(takes_word(WORD, 3, &word)); /* Of a network of three. */
    assert_int_equal(word.site, 9);
}

static void changes_say_which_word_they_follow(void **state)
{
    struct links_word word;
    char text[TEXT_BYTES];
    json_t *fields, *back;

    (void)state;
    with(WORD, "'number': 5", "'number': 5, 'since': 4", text);
    fields = json_of(text);
    assert_true(node_word_from_json(fields, SITES, &word));
    assert_int_equal(word.since, 4);
    back = node_word_to_json(&word);
    assert_true(json_equal(fields, back));
    json_decref(back);
    json_decref(fields);
    with(WORD, "'number': 5", "'number': 5, 'since': 5", text);
    assert_false(takes_word(text, SITES, &word));
    with(WORD, "'number': 5", "'number': 5, 'since': -1", text);
    assert_false(takes_word(text, SITES, &word));
}

static void what_a_word_does_not_say_is_zero(void **state)
{
    struct links_word word;

    (void)state;
    assert_true(takes_word("{'site': 2, 'number': 1}", SITES, &word));
    assert_int_equal(word.site, 2);
    assert_int_equal(word.life, 0);
    assert_int_equal(word.top, 0);
    assert_int_equal(word.since, 0);
    assert_false(word.remembers);
    assert_int_equal(word.count, 0);
}

static void random_word(struct rng *rng, uint32_t sites, struct links_word *out)
{
    uint32_t top = (uint32_t)rng_below(rng, LINKS_EPOCH_LAST) + 1;

    *out = (struct links_word){.site = (uint32_t)rng_below(rng, sites), .top = top};
    out->life = rng_next(rng) >> 1;
    out->number = (uint32_t)rng_below(rng, UINT32_MAX) + 1;
    out->since = (uint32_t)rng_below(rng, out->number);
    out->epoch = (uint32_t)rng_below(rng, (uint64_t)top + 1);
    out->remembers = rng_below(rng, 2) == 0;
    for (uint32_t n = 0; n < sites; n++) {
        struct links_entry *e = &out->entries[out->count];

        if (n != out->site && rng_below(rng, 3) != 0) {
            e->neighbour = n;
            e->up = rng_below(rng, 2) == 0;
            e->bytes_per_s = rng_below(rng, LINKS_RATE_MAX + 1);
            out->count++;
        }
    }
}

static void words_come_back_as_they_were(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 200; seed++) {
        struct rng rng;
        struct links_word word, back;
        uint32_t sites;
        json_t *fields;

        rng_init(&rng, seed);
        sites = 1 + (uint32_t)rng_below(&rng, LINKS_SITES_MAX);
        random_word(&rng, sites, &word);
        fields = node_word_to_json(&word);
        assert_true(node_word_from_json(fields, sites, &back));
        assert_int_equal(back.site, word.site);
        assert_int_equal(back.life, word.life);
        assert_int_equal(back.number, word.number);
        assert_int_equal(back.since, word.since);
        assert_int_equal(back.epoch, word.epoch);
        assert_int_equal(back.top, word.top);
        assert_int_equal(back.remembers, word.remembers);
        assert_int_equal(back.count, word.count);
        for (uint32_t i = 0; i < word.count; i++) {
            assert_int_equal(back.entries[i].neighbour, word.entries[i].neighbour);
            assert_int_equal(back.entries[i].up, word.entries[i].up);
            assert_int_equal(back.entries[i].bytes_per_s, word.entries[i].bytes_per_s);
        }
        json_decref(fields);
    }
}

/* Plans. */

#define PLAN                                                                                       \
    "{'epoch': 7, 'centre': 2, 'why': 'broken', 'about': [0, 2], 'paths': ["                       \
    "{'site': 0, 'life': 70, 'rate': 1000, 'sites': [0, 3, 2], 'rates': [2000, 0]}, "              \
    "{'site': 2, 'life': 72, 'rate': 0, 'sites': [], 'rates': []}, "                               \
    "{'site': 3, 'life': 0, 'rate': 500, 'sites': [3, 2], 'rates': [900]}]}"

static struct node_plan plan;

static bool takes_plan(const char *text, uint32_t sites)
{
    json_t *fields = json_of(text);
    bool taken = node_plan_from_json(fields, sites, &plan);

    json_decref(fields);
    return taken;
}

static void a_plan_is_what_its_text_says(void **state)
{
    json_t *back, *fields = json_of(PLAN);

    (void)state;
    assert_true(node_plan_from_json(fields, SITES, &plan));
    assert_int_equal(plan.epoch, 7);
    assert_int_equal(plan.centre, 2);
    assert_int_equal(plan.active, 0xd);
    assert_int_equal(plan.why, LINKS_BROKEN);
    assert_int_equal(plan.about.count, 2);
    assert_int_equal(plan.about.sites[1], 2);
    assert_int_equal(plan.paths[0].count, 3);
    assert_int_equal(plan.paths[0].sites[1], 3);
    assert_int_equal(plan.paths[0].rates[0], 2000);
    assert_int_equal(plan.paths[0].bytes_per_s, 1000);
    assert_int_equal(plan.paths[0].life, 70);
    assert_int_equal(plan.paths[1].count, 0);
    assert_int_equal(plan.paths[2].count, 0);
    assert_int_equal(plan.paths[2].life, 72);
    back = node_plan_to_json(&plan, SITES);
    assert_true(json_equal(fields, back));
    json_decref(back);
    json_decref(fields);
}

static void plans_that_cannot_be_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"'epoch': 7", "'epoch': 0"},
        {"'epoch': 7", "'epoch': 2147483648"},
        {"'epoch': 7", "'epoch': '7'"},
        {"'epoch': 7, ", ""},
        {"'centre': 2", "'centre': 4"},
        {"'centre': 2", "'centre': -1"},
        {"'centre': 2", "'centre': 1"}, /* It is not active, and no path ends there. */
        {"'centre': 2, ", ""},
        {"'paths'", "'ways'"}, /* Then nobody is active. */
        {"'why': 'broken'", "'why': 5"},
        {"'about': [0, 2]", "'about': [4]"},
        {"'about': [0, 2]", "'about': [0, 1, 2]"},
        {"'about': [0, 2]", "'about': 0"},
        {"'about': [0, 2]", "'about': ['0']"},
        {"'site': 0", "'site': 4"},
        {"'site': 0", "'site': 3"}, /* Twice, and the path does not begin there. */
        {"'site': 0, ", ""},
        {"'life': 70", "'life': -1"},
        {"'rate': 1000", "'rate': -1"},
        {"'rate': 1000", "'rate': 1125899906842625"},
        {"[0, 3, 2]", "[1, 3, 2]"}, /* From somebody else. */
        {"[0, 3, 2]", "[0, 2, 3]"}, /* To somebody else. */
        {"[0, 3, 2]", "[0, 4, 2]"},
        {"[0, 3, 2]", "[0, '3', 2]"},
        {"[0, 3, 2]", "[0, 2]"}, /* Less links than rates. */
        {"[0, 3, 2]", "[0, 3, 0, 2]"},
        {"[0, 3, 2]", "7"},
        {"[0, 3, 2], 'rates': [2000, 0]", "[0, 3, 0, 2], 'rates': [1, 1, 1]"}, /* In a circle. */
        {"[0, 3, 2], 'rates': [2000, 0]", "[0], 'rates': []"},
        {"[0, 3, 2], 'rates': [2000, 0]", "[], 'rates': []"},
        {"[0, 3, 2]", "[0, 1, 3, 0, 1, 3, 0, 1, 3, 0, 1, 3, 0, 1, 3, 0, 2]"},
        {"[2000, 0]", "[2000]"},
        {"[2000, 0]", "[2000, 0, 0]"},
        {"[2000, 0]", "[2000, -1]"},
        {"[2000, 0]", "[2000, null]"},
        {", 'rates': [2000, 0]", ""},
        {"'sites': [], 'rates': []", "'sites': [2], 'rates': []"}, /* From the centre to itself. */
        {"'sites': [], 'rates': []", "'sites': [0, 2], 'rates': [1]"},
        {"{'site': 2, 'life': 72, 'rate': 0, 'sites': [], 'rates': []}, ", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[TEXT_BYTES];

        with(PLAN, cases[i][0], cases[i][1], text);
        if (takes_plan(text, SITES)) {
            fail_msg("taken: %s", text);
        }
    }
    assert_false(takes_plan("[]", SITES));
    assert_false(takes_plan(PLAN, 3));
}

/* There may be more of them one day. */
static void a_plan_may_have_been_made_for_a_reason_that_is_not_known(void **state)
{
    char text[TEXT_BYTES];

    (void)state;
    with(PLAN, "'broken'", "'cheaper'", text);
    assert_true(takes_plan(text, SITES));
    assert_int_equal(plan.why, LINKS_CONTENT);
}

static void what_a_plan_does_not_say_is_zero(void **state)
{
    (void)state;
    assert_true(takes_plan("{'epoch': 1, 'centre': 0, 'paths': [{'site': 0}, "
                           "{'site': 1, 'sites': [1, 0], 'rates': [0]}]}",
                           SITES));
    assert_int_equal(plan.active, 3);
    assert_int_equal(plan.why, LINKS_CONTENT);
    assert_int_equal(plan.about.count, 0);
    assert_int_equal(plan.paths[0].count, 0);
    assert_int_equal(plan.paths[1].bytes_per_s, 0);
    assert_int_equal(plan.paths[1].life, 0);
    assert_false(takes_plan("{'epoch': 1, 'centre': 0, 'paths': {'site': 0}}", SITES));
}

/* Some sites, in an order by chance, up to the centre. */
static void random_path(struct rng *rng, uint32_t sites, uint32_t site, uint32_t centre,
                        struct node_path *path)
{
    uint64_t seen = UINT64_C(1) << site | UINT64_C(1) << centre;

    path->life = rng_next(rng) >> 1;
    path->bytes_per_s = rng_below(rng, LINKS_RATE_MAX + 1);
    if (site == centre) {
        return;
    }
    path->sites[path->count++] = site;
    for (uint32_t i = 0; i < NODE_PATH_SITES_MAX - 2; i++) {
        uint32_t next = (uint32_t)rng_below(rng, sites);

        if ((seen >> next & 1) == 0) {
            seen |= UINT64_C(1) << next;
            path->sites[path->count++] = next;
        }
    }
    path->sites[path->count++] = centre;
    for (uint32_t i = 0; i + 1 < path->count; i++) {
        path->rates[i] = rng_below(rng, LINKS_RATE_MAX + 1);
    }
}

static void same_path(const struct node_path *a, const struct node_path *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->life, b->life);
    assert_int_equal(a->bytes_per_s, b->bytes_per_s);
    assert_memory_equal(a->sites, b->sites, a->count * sizeof(a->sites[0]));
    assert_memory_equal(a->rates, b->rates,
                        (a->count == 0 ? 0 : a->count - 1) * sizeof(a->rates[0]));
}

static void plans_come_back_as_they_were(void **state)
{
    static struct node_plan back;

    (void)state;
    for (uint32_t seed = 0; seed < 200; seed++) {
        struct rng rng;
        uint32_t sites;
        json_t *fields;

        rng_init(&rng, seed);
        sites = 1 + (uint32_t)rng_below(&rng, CENTRAL_SITES_MAX);
        plan = (struct node_plan){0};
        plan.epoch = 1 + (uint32_t)rng_below(&rng, LINKS_EPOCH_LAST);
        plan.centre = (uint32_t)rng_below(&rng, sites);
        plan.why = (enum links_why)rng_below(&rng, LINKS_CHANGED + 1);
        plan.about.count = (uint32_t)rng_below(&rng, 3);
        for (uint32_t i = 0; i < plan.about.count; i++) {
            plan.about.sites[i] = (uint32_t)rng_below(&rng, sites);
        }
        for (uint32_t i = 0; i < sites; i++) {
            if (i == plan.centre || rng_below(&rng, 4) != 0) {
                plan.active |= UINT64_C(1) << i;
                random_path(&rng, sites, i, plan.centre, &plan.paths[i]);
            }
        }
        fields = node_plan_to_json(&plan, sites);
        assert_true(node_plan_from_json(fields, sites, &back));
        assert_int_equal(back.epoch, plan.epoch);
        assert_int_equal(back.centre, plan.centre);
        assert_int_equal(back.active, plan.active);
        assert_int_equal(back.why, plan.why);
        assert_int_equal(back.about.count, plan.about.count);
        assert_memory_equal(back.about.sites, plan.about.sites,
                            plan.about.count * sizeof(plan.about.sites[0]));
        for (uint32_t i = 0; i < sites; i++) {
            same_path(&back.paths[i], &plan.paths[i]);
        }
        json_decref(fields);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_is_what_its_text_says),
        cmocka_unit_test(words_that_cannot_be_are_refused),
        cmocka_unit_test(changes_say_which_word_they_follow),
        cmocka_unit_test(what_a_word_does_not_say_is_zero),
        cmocka_unit_test(words_come_back_as_they_were),
        cmocka_unit_test(a_plan_is_what_its_text_says),
        cmocka_unit_test(plans_that_cannot_be_are_refused),
        cmocka_unit_test(a_plan_may_have_been_made_for_a_reason_that_is_not_known),
        cmocka_unit_test(what_a_plan_does_not_say_is_zero),
        cmocka_unit_test(plans_come_back_as_they_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
