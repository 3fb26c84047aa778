/* Chains as people write them. */

#include "codec/chain.h"

#include "codec/testing.h"

static struct codec_chain parse(const char *in)
{
    struct codec_chain chain;
    struct err_text text = {""};

    if (codec_chain_parse(in, &chain, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return chain;
}

static void test_what_people_write_is_understood_and_printed_alike(void **state)
{
    static const struct {
        const char *in, *out; /* NULL: the same. */
        struct codec_chain chain;
    } rows[] = {
        {"all", "auto", {.squeeze = CODEC_SQUEEZE_AUTO}},
        {"auto", NULL, {.squeeze = CODEC_SQUEEZE_AUTO}},
        {"plain", "auto | plain", {.squeeze = CODEC_PLAIN}},
        {"zstd", "auto | zstd", {.squeeze = CODEC_ZSTD}},
        {"f16", "auto | f16", {.half = true, .squeeze = CODEC_SQUEEZE_AUTO}},
        {"dense", NULL, {.form = CODEC_FORM_DENSE}},
        {"all|gaps|plain", "gaps", {.form = CODEC_FORM_GAPS}},
        {"dvf:delta=0.01 | sparse | snappy",
         NULL,
         {CODEC_CUT_VALUE, 0.01F, 0.01F, CODEC_FORM_SPARSE, false, CODEC_SNAPPY}},
        {" dvf:delta=1e-3|bitmap |f16| lz4 ",
         "dvf:delta=0.001 | bitmap | f16 | lz4",
         {CODEC_CUT_VALUE, 0.001F, 0.001F, CODEC_FORM_BITMAP, true, CODEC_LZ4}},
        {"norm:low=0.25,up=0.5 | paper",
         NULL,
         {CODEC_CUT_NORM, 0.25F, 0.5F, CODEC_FORM_PAPER, false, CODEC_PLAIN}},
        {"norm:low=2,up=2",
         "norm:delta=2 | auto",
         {CODEC_CUT_NORM, 2, 2, CODEC_FORM_AUTO, false, CODEC_SQUEEZE_AUTO}},
        {"norm:low=10,up=250 | dense",
         NULL,
         {CODEC_CUT_NORM, 10, 250, CODEC_FORM_DENSE, false, CODEC_PLAIN}},
        {"dvf:delta=-0", "dvf:delta=0 | auto", {.cut = CODEC_CUT_VALUE, .squeeze = 4}},
        {"norm:low=0,up=1000000 | auto | f16 | snappy",
         "norm:low=0,up=1e+06 | auto | f16 | snappy",
         {CODEC_CUT_NORM, 0, 1e6F, CODEC_FORM_AUTO, true, CODEC_SNAPPY}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct codec_chain chain = parse(rows[i].in);
        char out[CODEC_CHAIN_TEXT_BYTES];

        assert_true(codec_chain_equal(&chain, &rows[i].chain));
        codec_chain_print(&chain, out, sizeof(out));
        assert_string_equal(out, rows[i].out == NULL ? rows[i].in : rows[i].out);
        chain = parse(out);
        assert_true(codec_chain_equal(&chain, &rows[i].chain));
    }
}

static const char unknown[] = " is unknown; there are all, dvf:delta=NUMBER and norm:delta=NUMBER, "
                              "then auto, dense, sparse, bitmap, gaps and paper, then f16, then "
                              "plain, snappy, lz4 and zstd";
static const char late[] = " is there too late; the order is cut | form | f16 | squeeze, each once";
static const char number[] = " must be a number from 0 to 1000000";
static const char words[] = " is unknown; write delta=NUMBER, or low=NUMBER,up=NUMBER";

static void test_what_is_wrong_is_named_with_what_is_allowed(void **state)
{
    static const struct {
        const char *in, *word, *text;
    } rows[] = {
        {"", "''", unknown},
        {"sparse |", "''", unknown},
        {"gzip", "'gzip'", unknown},
        {"dvff:delta=1", "'dvff:delta=1'", unknown},
        {"snappy:1", "'snappy:1'", unknown},
        {"snappy | sparse", "'sparse'", late},
        {"sparse | bitmap", "'bitmap'", late},
        {"f16 | all", "'all'", late},
        {"all | dvf:delta=1", "'dvf:delta=1'", late},
        {"all:delta=1", "nothing follows all, it has no threshold", ""},
        {"dvf", "dvf needs a threshold; write dvf:delta=NUMBER or dvf:low=NUMBER,up=NUMBER", ""},
        {"norm:", "''", words},
        {"norm:sigma=1", "'sigma=1'", words},
        {"dvf:delta", "'delta'", words},
        {"dvf:delta=", "'delta=': delta", number},
        {"dvf:delta=x", "'delta=x': delta", number},
        {"dvf:delta=1x", "'delta=1x': delta", number},
        {"dvf:delta= 1", "'delta= 1': delta", number},
        {"dvf:delta=nan", "'delta=nan': delta", number},
        {"dvf:delta=inf", "'delta=inf': delta", number},
        {"dvf:delta=-1", "'delta=-1': delta", number},
        {"dvf:delta=1e7", "'delta=1e7': delta", number},
        {"dvf:delta=1,up=2", "'delta=1'", words},
        {"dvf:low=1", "''", words},
        {"dvf:low=1,up=2,up=3", "'up=2,up=3': up", number},
        {"dvf:low=2,up=1", "low must not be above up", ""},
    };
    struct codec_chain out = {.low = 42};
    struct err_text text;
    char expected[ERR_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(codec_chain_parse(rows[i].in, &out, &text), ERR_INVALID);
        (void)snprintf(expected, sizeof(expected), "chain '%s': %s%s", rows[i].in, rows[i].word,
                       rows[i].text);
        assert_string_equal(text.text, expected);
        assert_int_equal(codec_chain_parse(rows[i].in, &out, NULL), ERR_INVALID);
    }
    assert_true(out.low == 42);
}

static void test_a_text_without_end_is_refused(void **state)
{
    char chars[600];
    struct codec_chain out;
    struct err_text text;

    (void)state;
    memset(chars, ' ', sizeof(chars) - 1);
    chars[sizeof(chars) - 1] = '\0';
    assert_int_equal(codec_chain_parse(chars, &out, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "it is longer than 255 characters"));
}

static void test_every_threshold_is_printed_so_that_it_is_the_same_again(void **state)
{
    char out[CODEC_CHAIN_TEXT_BYTES];
    struct rng r;

    (void)state;
    rng_init(&r, 1);
    for (int i = 0; i < 20000; i++) {
        float a = fabsf(testing_float(&r)), b = fabsf(testing_float(&r));
        struct codec_chain chain = {.cut = 1 + (enum codec_cut)rng_below(&r, 2),
                                    .low = a < b ? a : b,
                                    .up = a < b ? b : a,
                                    .form = CODEC_FORM_PAPER,
                                    .half = true,
                                    .squeeze = CODEC_SNAPPY};
        struct codec_chain again;

        if (chain.up <= 1e6F) {
            codec_chain_print(&chain, out, sizeof(out));
            again = parse(out);
            assert_true(codec_chain_equal(&chain, &again));
        }
    }
}

static void test_every_word_of_the_table_can_be_written(void **state)
{
    enum codec_stage before = CODEC_STAGE_CUT;
    uint32_t count = 0;

    (void)state;
    for (const struct codec_word *w = codec_words; w->name != NULL; w++) {
        const char *letter = strrchr(w->written, 'D');
        struct codec_chain chain;
        char in[64];

        (void)snprintf(in, sizeof(in), "%.*s%s",
                       (int)(letter == NULL ? strlen(w->written) : (size_t)(letter - w->written)),
                       w->written, letter == NULL ? "" : "2");
        chain = parse(in);
        assert_true(w->stage >= before);
        assert_int_equal(w->stage == CODEC_STAGE_CUT    ? (int)chain.cut
                         : w->stage == CODEC_STAGE_FORM ? (int)chain.form
                         : w->stage == CODEC_STAGE_HALF ? (int)chain.half
                                                        : (int)chain.squeeze,
                         w->value);
        assert_true(strlen(codec_stage_name(w->stage)) > 0 && strlen(w->meaning) > 0);
        before = w->stage;
        count++;
    }
    assert_int_equal(count, CODEC_CUTS + CODEC_FORMS + 1 + CODEC_SQUEEZES);
    assert_string_equal(codec_squeeze_name(CODEC_SQUEEZE_AUTO), "auto");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_word_of_the_table_can_be_written),
        cmocka_unit_test(test_what_people_write_is_understood_and_printed_alike),
        cmocka_unit_test(test_what_is_wrong_is_named_with_what_is_allowed),
        cmocka_unit_test(test_a_text_without_end_is_refused),
        cmocka_unit_test(test_every_threshold_is_printed_so_that_it_is_the_same_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
