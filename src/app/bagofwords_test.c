/* Bags of words: the format, parts of workers, errors with their lines, what is generated. */

#include "app/bagofwords.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum err parse(const char *chars, uint32_t rank, uint32_t workers, struct bagofwords *out,
                      struct err_text *text)
{
    return bagofwords_parse("docword", chars, strlen(chars), 1000, rank, workers, out, text);
}

static void test_documents_are_read_in_any_order(void **state)
{
    static const uint32_t tokens[] = {4, 4, 0, 2, 2, 2};
    struct bagofwords b;

    (void)state;
    assert_int_equal(parse("3\n5\r\n 4 \n\n3 3 2\n1 5 2\n3  3\t1\r\n1 1 1", 0, 1, &b, NULL), OK);
    assert_int_equal(b.documents, 3);
    assert_int_equal(b.words, 5);
    assert_int_equal(b.first, 0);
    assert_int_equal(b.count, 3);
    assert_int_equal(b.starts[0], 0);
    assert_int_equal(b.starts[1], 3);
    assert_int_equal(b.starts[2], 3);
    assert_int_equal(b.starts[3], 6);
    assert_memory_equal(b.tokens, tokens, sizeof(tokens));
    bagofwords_deinit(&b);
}

static const struct {
    const char *chars;
    const char *why;
} bad[] = {
    {"", "docword:0: expected how many documents there are, found the end of the line"},
    {"3\n", "docword:1: expected how many words there are"},
    {"3\n5\n", "docword:2: expected how many entries follow"},
    {"3 5\n1\n1 1 1\n", "docword:1: expected nothing more: the first three lines have a number "
                        "each, found '5'"},
    {"x\n5\n1\n1 1 1\n", "docword:1: expected how many documents there are, a whole number from 1 "
                         "to 16777216, found 'x'"},
    {"0\n5\n1\n1 1 1\n", "docword:1: expected how many documents there are"},
    {"16777217\n5\n1\n1 1 1\n", "docword:1: expected how many documents there are"},
    {"3\n16777217\n1\n1 1 1\n", "docword:2: expected how many words there are"},
    {"3\n5\n1000\n1 1 1\n", "docword:3: expected how many entries follow, a whole number from 1 "
                            "to 3, found '1000'"},
    {"3\n5\n1\n4 1 1\n", "docword:4: expected a document, a whole number from 1 to 3, found"},
    {"3\n5\n1\n0 1 1\n", "docword:4: expected a document, a whole number from 1 to 3, found"},
    {"3\n5\n1\n1 6 1\n", "docword:4: expected a word, a whole number from 1 to 5, found '6 1'"},
    {"3\n5\n1\n1 0 1\n", "docword:4: expected a word, a whole number from 1 to 5"},
    {"3\n5\n1\n1 1 0\n", "docword:4: expected a count, a whole number from 1 to 65536"},
    {"3\n5\n1\n1 1 65537\n", "docword:4: expected a count, a whole number from 1 to 65536"},
    {"3\n5\n1\n1 1\n", "docword:4: expected a space, found the end of the line"},
    {"3\n5\n1\n1 1 1 1\n", "docword:4: expected the end of the line, found '1'"},
    {"3\n5\n1\n1,1,1\n", "docword:4: expected a space, found ',1,1'"},
    {"3\n5\n1\n1 1 1.5\n", "docword:4: expected the end of the line, found '.5'"},
    {"3\n5\n1\n1 1 1\n2 1 1\n", "docword:5: more entries than the 1 of line 3"},
    {"3\n5\n3\n1 1 1\n2 1 1\n", "docword:5: the file ends after 2 entries, but line 3 says 3: it "
                                "is cut off"},
};

static void test_errors_have_their_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct bagofwords b = {.count = 77};
        struct err_text text = {""};

        /* Whichever part the fault is in, every worker finds it. */
        for (uint32_t rank = 0; rank < 3; rank++) {
            if (parse(bad[i].chars, rank, 3, &b, &text) != ERR_MALFORMED) {
                fail_msg("'%s' was accepted", bad[i].chars);
            }
            assert_int_equal(b.count, 77);
            if (strncmp(text.text, bad[i].why, strlen(bad[i].why)) != 0) {
                fail_msg("'%s' for '%s'", text.text, bad[i].chars);
            }
        }
    }
}

static void test_tokens_have_a_limit(void **state)
{
    static const char chars[] = "2\n1\n2\n1 1 6\n2 1 5\n";
    struct err_text text;
    struct bagofwords b;

    (void)state;
    assert_int_equal(bagofwords_parse("x", chars, strlen(chars), 11, 0, 1, &b, &text), OK);
    bagofwords_deinit(&b);
    assert_int_equal(bagofwords_parse("x", chars, strlen(chars), 10, 0, 1, &b, &text), ERR_TOO_BIG);
    assert_string_equal(text.text, "x:5: more than 10 tokens for one worker; take more workers");
    assert_int_equal(bagofwords_parse("x", chars, strlen(chars), 10, 0, 2, &b, &text), OK);
    bagofwords_deinit(&b);
}

enum { DOCUMENTS = 30, WORDS = 20, ENTRIES = 200 };

static void test_parts_are_the_whole_for_any_number_of_workers(void **state)
{
    static char file[ENTRIES * 32 + 64];
    uint32_t naive[DOCUMENTS][WORDS] = {{0}};
    char *at = file;
    struct rng r;

    (void)state;
    rng_init(&r, 8);
    at += sprintf(at, "%d\n%d\n%d\n", DOCUMENTS, WORDS, ENTRIES);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        uint32_t d = (uint32_t)rng_below(&r, DOCUMENTS), w = (uint32_t)rng_below(&r, WORDS);
        uint32_t n = 1 + (uint32_t)rng_below(&r, 3);

        naive[d][w] += n;
        at += sprintf(at, "%u %u %u\n", d + 1, w + 1, n);
    }
    for (uint32_t workers = 1; workers <= DOCUMENTS + 3; workers++) {
        uint32_t found[DOCUMENTS][WORDS] = {{0}}, next = 0;

        for (uint32_t rank = 0; rank < workers; rank++) {
            struct bagofwords b;

            assert_int_equal(parse(file, rank, workers, &b, NULL), OK);
            assert_int_equal(b.first, next);
            assert_int_equal(b.starts[0], 0);
            for (uint32_t d = 0; d < b.count; d++) {
                for (uint32_t k = b.starts[d]; k < b.starts[d + 1]; k++) {
                    assert_true(b.tokens[k] < WORDS);
                    found[b.first + d][b.tokens[k]]++;
                }
            }
            next += b.count;
            bagofwords_deinit(&b);
        }
        assert_int_equal(next, DOCUMENTS);
        assert_memory_equal(found, naive, sizeof(naive));
    }
}

static void test_a_cut_file_is_read_or_refused(void **state)
{
    static const char all[] = "2\n5\n2\r\n1 3 2\n2 5 1\n";

    (void)state;
    for (size_t size = 0; size < sizeof(all); size++) {
        char *copy = malloc(size + 1);
        struct bagofwords b;
        enum err rc;

        assert_non_null(copy);
        memcpy(copy, all, size);
        rc = bagofwords_parse("x", copy, size, 100, 1, 2, &b, NULL);
        assert_true(rc == OK || rc == ERR_MALFORMED);
        if (rc == OK) {
            bagofwords_deinit(&b);
        }
        free(copy);
    }
}

static void test_out_of_memory_at_every_allocation(void **state)
{
    const struct bagofwords_plan plan = {
        .documents = 5, .words = 9, .topics = 2, .tokens = 3, .seed = 1};
    enum err rc = ERR_NOMEM;
    struct bagofwords b;
    uint64_t k;

    (void)state;
    for (k = 1; rc == ERR_NOMEM; k++) {
        struct err_text text = {""};

        mem_fail_at(k, 1);
        rc = parse("3\n5\n1\n1 1 1\n", 0, 1, &b, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || strstr(text.text, "docword: out of memory") != NULL);
    }
    assert_int_equal(rc, OK);
    assert_int_equal(k, 4);
    bagofwords_deinit(&b);
    for (k = 1, rc = ERR_NOMEM; rc == ERR_NOMEM; k++) {
        mem_fail_at(k, 1);
        rc = bagofwords_generate(&plan, 0, 1, &b);
        mem_fail_at(0, 0);
    }
    assert_int_equal(rc, OK);
    assert_int_equal(k, 4);
    bagofwords_deinit(&b);
}

static void test_what_is_generated_does_not_depend_on_the_workers(void **state)
{
    const struct bagofwords_plan plan = {
        .documents = 40, .words = 90, .topics = 4, .tokens = 11, .seed = 5};
    struct bagofwords whole;

    (void)state;
    assert_int_equal(bagofwords_generate(&plan, 0, 1, &whole), OK);
    for (uint32_t workers = 1; workers <= 50; workers++) {
        uint32_t token = 0;

        for (uint32_t rank = 0; rank < workers; rank++) {
            struct bagofwords part;

            assert_int_equal(bagofwords_generate(&plan, rank, workers, &part), OK);
            for (uint32_t d = 0; d < part.count; d++) {
                assert_int_equal(part.starts[d + 1] - part.starts[d],
                                 whole.starts[part.first + d + 1] - whole.starts[part.first + d]);
            }
            for (uint32_t k = 0; k < part.starts[part.count]; k++, token++) {
                assert_int_equal(part.tokens[k], whole.tokens[token]);
            }
            bagofwords_deinit(&part);
        }
        assert_int_equal(token, whole.starts[40]);
    }
    bagofwords_deinit(&whole);
}

static void test_generated_documents_are_good_documents(void **state)
{
    static const struct bagofwords_plan plans[] = {
        {.documents = 200, .words = 100, .topics = 5, .tokens = 10, .seed = 1},
        {.documents = 200, .words = 1, .topics = 5, .tokens = 1, .seed = 2},
        {.documents = 200, .words = 3, .topics = 4096, .tokens = 2, .seed = 3},
        {.documents = 1, .words = 1 << 24, .topics = 1, .tokens = 5, .seed = 4},
    };

    (void)state;
    for (size_t p = 0; p < sizeof(plans) / sizeof(plans[0]); p++) {
        uint32_t least = plans[p].tokens - plans[p].tokens / 2;
        uint32_t most = plans[p].tokens + plans[p].tokens / 2;
        struct bagofwords b;

        assert_int_equal(bagofwords_generate(&plans[p], 0, 1, &b), OK);
        for (uint32_t d = 0; d < b.count; d++) {
            assert_in_range(b.starts[d + 1] - b.starts[d], least, most);
            for (uint32_t k = b.starts[d]; k < b.starts[d + 1]; k++) {
                assert_true(b.tokens[k] < plans[p].words);
                assert_true(k == b.starts[d] || b.tokens[k] >= b.tokens[k - 1]);
            }
        }
        bagofwords_deinit(&b);
    }
}

static void test_too_many_tokens_are_not_generated(void **state)
{
    const struct bagofwords_plan plan = {
        .documents = 2000, .words = 2, .topics = 1, .tokens = 1 << 20, .seed = 1};
    struct bagofwords b;

    (void)state;
    assert_int_equal(bagofwords_generate(&plan, 0, 1, &b), ERR_TOO_BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents_are_read_in_any_order),
        cmocka_unit_test(test_errors_have_their_line),
        cmocka_unit_test(test_tokens_have_a_limit),
        cmocka_unit_test(test_parts_are_the_whole_for_any_number_of_workers),
        cmocka_unit_test(test_a_cut_file_is_read_or_refused),
        cmocka_unit_test(test_out_of_memory_at_every_allocation),
        cmocka_unit_test(test_what_is_generated_does_not_depend_on_the_workers),
        cmocka_unit_test(test_generated_documents_are_good_documents),
        cmocka_unit_test(test_too_many_tokens_are_not_generated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
