/* What is held back inside of sites, in run files: every key, printing, and what is refused. */

#include "run/backend.h"
#include "run/file/file.h"

#include "run/testing.h"

#define HEAD                                                                                       \
    "run: r\n"                                                                                     \
    "topology: {regions: [eu]}\n"                                                                  \
    "servers: [{region: eu}]\nworkers: [{region: eu, count: 2}]\n"
#define REST "job: {name: mf}\nstop: {clocks: 10}\n"

static void check_chain(const struct node_sparsify_config *s, const char *chain)
{
    char out[CODEC_CHAIN_TEXT_BYTES];

    assert_true(s->on);
    codec_chain_print(&s->chain, out, sizeof(out));
    assert_string_equal(out, chain);
}

static void test_every_key_reaches_the_site(void **state)
{
    struct run_file *f =
        testing_parse(HEAD "links: {scale: 1/10}\n"
                           "sync:\n"
                           "  delivery: broadcast\n"
                           "  push: dvf:low=1e-4,up=2e-4 | auto\n"
                           "  broadcast: norm:delta=0.5 | gaps | f16 | zstd\n"
                           "  required: 80mbit\n"
                           "  tree: {degree: 64, depth: 16, leaf_cost: 0.25}\n" REST);
    struct node_site site;

    (void)state;
    assert_int_equal(f->sync.required_full, 10000000);
    run_site(f, 0, &site);
    assert_int_equal(node_site_check(&site, NULL), OK);
    check_chain(&site.push, "dvf:low=0.0001,up=0.0002 | auto");
    check_chain(&site.broadcast, "norm:delta=0.5 | gaps | f16 | zstd");
    assert_int_equal(site.required, 1000000);
    assert_int_equal(site.tree.degree, 64);
    assert_int_equal(site.tree.depth, 16);
    assert_true(site.tree.leaf_cost == 0.25F);
    run_file_free(f);
}

static void test_without_a_word_all_is_sent(void **state)
{
    struct run_file *f = testing_parse(HEAD REST);

    (void)state;
    assert_false(f->sync.push.on);
    assert_false(f->sync.broadcast.on);
    assert_int_equal(f->sync.required, 0);
    assert_int_equal(f->sync.tree.degree, 0);
    run_file_free(f);
}

static void test_a_filter_is_for_both_ways(void **state)
{
    struct run_file *f =
        testing_parse(HEAD "sync: {delivery: broadcast, filter: dvf:delta=0.1}\n" REST);

    (void)state;
    check_chain(&f->sync.push, "dvf:delta=0.1 | auto");
    check_chain(&f->sync.broadcast, "dvf:delta=0.1 | auto");
    run_file_free(f);
}

static void test_workers_may_hold_back_what_others_read(void **state)
{
    struct run_file *f = testing_parse(HEAD "sync: {push: dvf:delta=0.1 | sparse}\n" REST);

    (void)state;
    assert_int_equal(f->sync.delivery, NODE_PULL);
    check_chain(&f->sync.push, "dvf:delta=0.1 | sparse");
    assert_false(f->sync.broadcast.on);
    run_file_free(f);
}

static void test_the_preset_wants_thresholds_and_has_the_rest(void **state)
{
    struct run_file *f =
        testing_parse(HEAD "sync: {preset: parameter-flow, filter: dvf:delta=0.1}\n" REST);

    (void)state;
    assert_int_equal(f->sync.delivery, NODE_BROADCAST);
    assert_int_equal(f->sync.tree.degree, 5);
    assert_int_equal(f->sync.tree.depth, 3);
    check_chain(&f->sync.push, "dvf:delta=0.1 | auto");
    run_file_free(f);
    f = testing_parse(HEAD "sync: {preset: parameter-flow, push: all | lz4, delivery: broadcast, "
                           "tree: {degree: 2}}\n" REST);
    assert_int_equal(f->sync.tree.degree, 2);
    assert_int_equal(f->sync.tree.depth, 3);
    assert_false(f->sync.broadcast.on);
    run_file_free(f);
}

static void check_print(const char *yaml, const char *line)
{
    struct run_file *f = testing_parse(yaml), *again;
    struct text out, twice;

    assert_int_equal(text_init(&out, RUN_PRINT_BYTES_MAX), OK);
    assert_int_equal(text_init(&twice, RUN_PRINT_BYTES_MAX), OK);
    run_file_print(f, &out);
    if (strstr(out.chars, line) == NULL) {
        fail_msg("%s has no %s", out.chars, line);
    }
    again = testing_parse(out.chars);
    run_file_print(again, &twice);
    assert_string_equal(out.chars, twice.chars);
    assert_true(codec_chain_equal(&f->sync.push.chain, &again->sync.push.chain));
    assert_int_equal(f->sync.required, again->sync.required);
    text_deinit(&out);
    text_deinit(&twice);
    run_file_free(again);
    run_file_free(f);
}

static void test_what_is_printed_is_read_the_same(void **state)
{
    (void)state;
    check_print(HEAD
                "links: {scale: 1/7}\nsync: {preset: parameter-flow, required: 33mbit, filter: "
                "'dvf:low=0,up=1 | paper | snappy'}\n" REST,
                "sync: {barrier: bsp, delivery: broadcast, deadline: 120s, order: arrival, push: "
                "\"dvf:low=0,up=1 | paper | snappy\", broadcast: \"dvf:low=0,up=1 | paper | "
                "snappy\", required: 33mbit, tree: {degree: 5, depth: 3, leaf_cost: 0}}\n");
    check_print(HEAD "sync: {delivery: broadcast, tree: {leaf_cost: 0.1}}\n" REST,
                "order: arrival, tree: {degree: 5, depth: 3, leaf_cost: 0.100000001}}\n");
    check_print(HEAD "sync: {delivery: broadcast, threshold: low, required: 33mbit, push: "
                     "'dvf:low=1,up=2', broadcast: 'norm:low=3,up=4'}\n" REST,
                "order: arrival, push: \"dvf:delta=1 | auto\", broadcast: \"norm:delta=3 | "
                "auto\"}\n");
    check_print(HEAD "sync: {threshold: up, push: 'dvf:low=1,up=2'}\n" REST,
                "order: arrival, push: \"dvf:delta=2 | auto\"}\n");
    check_print(HEAD "sync: {push: all}\n" REST, "order: arrival, push: \"auto\"}\n");
}

#define TWO "'dvf:low=1,up=2'"

static const struct wrong {
    const char *entries, *why;
} wrongs[] = {
    {"push: [a]", "5:14: sync.push: has to be a text, but is a list"},
    {"push: ''",
     "5:14: sync.push: chain '': '' is unknown; there are all, dvf:delta=NUMBER and "
     "norm:delta=NUMBER, then auto, dense, sparse, bitmap, gaps and paper, then f16, then "
     "plain, snappy, lz4 and zstd"},
    {"push: dvf", "5:14: sync.push: chain 'dvf': dvf needs a threshold; write "
                  "dvf:delta=NUMBER or dvf:low=NUMBER,up=NUMBER"},
    {"delivery: broadcast, filter: lz4 | dense",
     "5:37: sync.filter: chain 'lz4 | dense': 'dense' is there too late; the order is cut | "
     "form | f16 | squeeze, each once"},
    {"delivery: broadcast, broadcast: dvf:delta=-1",
     "5:40: sync.broadcast: chain 'dvf:delta=-1': 'delta=-1': delta must be a number from 0 to "
     "1000000"},
    {"broadcast: all",
     "5:19: sync.broadcast: filters what servers broadcast, so it needs 'delivery: broadcast'"},
    {"filter: all", "5:16: sync.filter: filters what servers broadcast, so it needs 'delivery: "
                    "broadcast', or push instead of filter"},
    {"delivery: broadcast, filter: all, push: all",
     "5:37: sync.filter: is push and broadcast at once: leave it out, or leave out push"},
    {"delivery: broadcast, broadcast: all, filter: all",
     "5:53: sync.filter: is push and broadcast at once: leave it out, or leave out broadcast"},
    {"delivery: broadcast, broadcast: all, filter: all, push: all",
     "5:53: sync.filter: is push and broadcast at once: leave it out, or leave out both"},
    {"push: " TWO, "5:14: sync.push: has two thresholds, and nothing says when links are too "
                   "slow for the lower one: write 'required: RATE', or one threshold "
                   "(delta=NUMBER, or 'threshold: low')"},
    {"threshold: up, push: dvf:delta=1",
     "5:19: sync.threshold: is one of two thresholds, and no chain has two: write "
     "low=NUMBER,up=NUMBER in it instead of delta=NUMBER, or leave threshold out"},
    {"threshold: high, push: " TWO, "5:19: sync.threshold: 'high' is not one of both, low, up"},
    {"threshold: up, required: 1mb, push: " TWO,
     "5:33: sync.required: '1mb' is not a rate: write a number and its unit (bit, kbit, mbit, "
     "gbit, tbit, B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s or TiB/s), such as "
     "100mbit"},
    {"required: 1mbit, push: dvf:delta=1",
     "5:18: sync.required: chooses between two thresholds, and no chain has two: write "
     "low=NUMBER,up=NUMBER in it instead of delta=NUMBER, or leave required out"},
    {"required: 1mb, push: " TWO,
     "5:18: sync.required: '1mb' is not a rate: write a number and its unit (bit, kbit, mbit, "
     "gbit, tbit, B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s or TiB/s), such as "
     "100mbit"},
    {"required: 0, push: " TWO,
     "5:18: sync.required: is out of range: write a rate of at least 1 byte per second after "
     "links.scale, up to 2.199023255552tbit"},
    {"tree: {}", "5:14: sync.tree: is a way for sums, and with the delivery pull none are "
                 "sent: write 'delivery: broadcast'"},
    {"tree: 5", "5:14: sync.tree: has to be a mapping (key: value), but is a text"},
    {"delivery: broadcast, tree: {degree: 0}",
     "5:44: sync.tree.degree: 0 is out of range: write a whole number from 1 to 64"},
    {"delivery: broadcast, tree: {depth: 17}",
     "5:43: sync.tree.depth: 17 is out of range: write a whole number from 1 to 16"},
    {"delivery: broadcast, tree: {leaf_cost: -1}",
     "5:47: sync.tree.leaf_cost: -1 is out of range: write a number from 0 to 1000"},
    {"delivery: broadcast, tree: {leaf: 1}",
     "5:36: sync.tree.leaf: no such key: did you mean 'leaf_cost'?"},
    {"preset: gaia", "5:16: sync.preset: 'gaia' is not one of parameter-flow"},
    {"preset: parameter-flow",
     "5:16: sync.preset: 'parameter-flow' wants to know what is small enough to be held back, "
     "which depends on the job: write 'filter: \"dvf:delta=NUMBER\"'"},
    {"preset: parameter-flow, filter: all, delivery: pull",
     "5:55: sync.delivery: is broadcast with the preset parameter-flow: leave it out"},
};

static void test_what_cannot_be_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        char yaml[1024], why[400];
        struct run_file *f = NULL;
        struct err_text text = {""};

        (void)snprintf(yaml, sizeof(yaml), HEAD "sync: {%s}\n" REST, wrongs[i].entries);
        (void)snprintf(why, sizeof(why), "r.yaml:%s", wrongs[i].why);
        assert_int_equal(run_file_parse("r.yaml", NULL, yaml, strlen(yaml), &f, &text),
                         ERR_MALFORMED);
        assert_string_equal(text.text, why);
    }
}

static void test_spoilt_files_are_refused_with_their_place(void **state)
{
    (void)state;
    testing_spoil(HEAD "sync: {preset: parameter-flow, required: 3mbit, filter: 'dvf:low=0,up=1 | "
                       "auto', tree: {degree: 3, depth: 2, leaf_cost: 0.5}}\n" REST,
                  78, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_reaches_the_site),
        cmocka_unit_test(test_without_a_word_all_is_sent),
        cmocka_unit_test(test_a_filter_is_for_both_ways),
        cmocka_unit_test(test_workers_may_hold_back_what_others_read),
        cmocka_unit_test(test_the_preset_wants_thresholds_and_has_the_rest),
        cmocka_unit_test(test_what_is_printed_is_read_the_same),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_spoilt_files_are_refused_with_their_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
