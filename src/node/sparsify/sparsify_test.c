/* What sparsification counts: by costs or by a clock, for itself, for metrics and for people. */

#include "node/sparsify/sparsify.h"

#include "base/mem.h"
#include "base/text.h"
#include "node/control.h"
#include "obs/metric.h"
#include "obs/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ELEMENTS = 1000, SNAPSHOT_BYTES = 1 << 16, SERIES = 64 };

static int64_t ticks;

/* Each look takes three nanoseconds. */
static int64_t tick(void)
{
    return ticks += 3;
}

static struct node_sparsify_config sparsify_config_of(const char *chain)
{
    struct node_sparsify_config s = {.on = true};

    assert_int_equal(codec_chain_parse(chain, &s.chain, NULL), OK);
    return s;
}

/* One element of ten is large. */
static void take(struct node_sparsifier *f, float threshold, struct codec_packed *packed)
{
    float held[ELEMENTS];

    for (uint32_t i = 0; i < ELEMENTS; i++) {
        held[i] = i % 10 == 0 ? 1.0F : 0.01F;
    }
    node_sparsify_encode(f, threshold, held, ELEMENTS, packed);
}

static void test_costs_say_how_long_it_took(void **state)
{
    struct node_sparsify_config how = sparsify_config_of("dvf:delta=0.5 | dense");
    struct codec_costs dear = codec_costs_default;
    struct codec_packed packed;
    struct codec_plain plain;
    struct node_sparsifier f, slow;

    (void)state;
    dear.cut_ps[CODEC_CUT_VALUE] += 1000000; /* A microsecond for each element. */
    assert_int_equal(node_sparsify_open(&f, &how, NULL, NULL), OK);
    assert_int_equal(node_sparsify_open(&slow, &how, &dear, NULL), OK);
    take(&f, 0.5F, &packed);
    take(&slow, 0.5F, &packed);
    assert_int_equal(f.totals.chunks, 1);
    assert_int_equal(f.totals.elements, ELEMENTS);
    assert_int_equal(f.totals.sent_elements, ELEMENTS / 10);
    assert_int_equal(f.totals.bytes, packed.bytes);
    assert_true(f.totals.encode_ns > 0);
    assert_int_equal(slow.totals.encode_ns, f.totals.encode_ns + INT64_C(1000) * ELEMENTS);
    assert_int_equal(f.totals.decode_ns, 0);
    assert_int_equal(node_sparsify_decode(&f, packed.codec, f.room, packed.bytes, ELEMENTS, &plain),
                     OK);
    assert_true(f.totals.decode_ns > 0);
    node_sparsify_close(&f);
    node_sparsify_close(&slow);
}

static void test_a_clock_says_how_long_it_took(void **state)
{
    struct node_sparsify_config how = sparsify_config_of("dvf:delta=0.5 | sparse");
    struct codec_packed packed;
    struct codec_plain plain;
    struct node_sparsifier f;

    (void)state;
    ticks = 0;
    assert_int_equal(node_sparsify_open(&f, &how, NULL, tick), OK);
    assert_int_equal(ticks, 0); /* Nothing is chosen: nothing is measured. */
    take(&f, 0.5F, &packed);
    assert_int_equal(f.totals.encode_ns, 3);
    assert_int_equal(node_sparsify_decode(&f, packed.codec, f.room, packed.bytes, ELEMENTS, &plain),
                     OK);
    assert_int_equal(f.totals.decode_ns, 3);
    node_sparsify_close(&f);
    how = sparsify_config_of("dvf:delta=0.5 | auto");
    assert_int_equal(node_sparsify_open(&f, &how, NULL, tick), OK);
    assert_true(ticks > 12);
    node_sparsify_close(&f);
}

static void test_totals_add_up(void **state)
{
    struct node_sparsify_totals a = {1, 20, 3, 40, 5, 6}, b = {10, 20, 30, 40, 50, 60}, sum = a,
                                back;

    (void)state;
    node_sparsify_totals_add(&sum, &b);
    assert_int_equal(sum.elements, 40);
    back = node_sparsify_totals_since(&sum, &a);
    assert_memory_equal(&back, &b, sizeof(b));
}

static void expect(struct obs_registry *registry, const char *line)
{
    struct obs_snapshot *snapshot;
    struct text out;

    assert_int_equal(obs_snapshot_create(&registry, 1, &snapshot), OK);
    assert_int_equal(text_init(&out, SNAPSHOT_BYTES), OK);
    obs_snapshot_prometheus(snapshot, &out);
    if (strstr(out.chars, line) == NULL) {
        fail_msg("no %s in %s", line, out.chars);
    }
    text_deinit(&out);
    obs_snapshot_destroy(snapshot);
}

static void test_metrics_follow(void **state)
{
    struct node_sparsify_config how = sparsify_config_of("dvf:low=0.5,up=2 | sparse");
    struct obs_registry *registry;
    struct codec_packed packed;
    struct node_sparsifier f;

    (void)state;
    assert_int_equal(obs_registry_create(SERIES, &registry), OK);
    assert_int_equal(node_sparsify_open(&f, &how, NULL, tick), OK);
    assert_int_equal(node_sparsify_add_metrics(&f, registry, "push"), OK);
    take(&f, node_sparsify_threshold(&f, 1), &packed);
    expect(registry, "strait_sparsify_threshold{direction=\"push\"} 0.5\n");
    expect(registry, "strait_sparsify_high_threshold{direction=\"push\"} 0\n");
    expect(registry, "strait_sparsify_elements_total{direction=\"push\"} 1000\n");
    expect(registry, "strait_sparsify_sent_elements_total{direction=\"push\"} 100\n");
    expect(registry, "strait_codec_seconds_total{work=\"encode\"} 3e-09\n");
    expect(registry, "strait_codec_seconds_total{work=\"decode\"} 0\n");
    f.up = true;
    take(&f, node_sparsify_threshold(&f, 1), &packed);
    expect(registry, "strait_sparsify_threshold{direction=\"push\"} 2\n");
    expect(registry, "strait_sparsify_high_threshold{direction=\"push\"} 1\n");
    expect(registry, "strait_sparsify_sent_elements_total{direction=\"push\"} 100\n");
    node_sparsify_close(&f);
    obs_registry_destroy(registry);
}

static void test_how_it_is_comes_back_from_json(void **state)
{
    struct node_sparsify_state in = {
        .upper = true, .threshold = 0.125, .link_rate = 12345, .totals = {1, 20, 3, 40, 5, 6}};
    struct node_sparsify_state out;
    json_t *json = node_sparsify_state_to_json(&in);

    (void)state;
    assert_true(node_sparsify_state_from_json(json, &out));
    assert_true(out.upper && out.threshold == 0.125 && out.link_rate == 12345);
    assert_memory_equal(&out.totals, &in.totals, sizeof(in.totals));
    (void)json_object_set_new(json, "sent_elements", json_integer(21));
    assert_false(node_sparsify_state_from_json(json, &out));
    assert_int_equal(out.totals.elements, 0);
    (void)json_object_set_new(json, "sent_elements", json_integer(3));
    (void)json_object_set_new(json, "threshold", json_real(-1));
    assert_false(node_sparsify_state_from_json(json, &out));
    (void)json_object_set_new(json, "threshold", json_real(1));
    (void)json_object_set_new(json, "link_bytes_per_s", json_integer(-1));
    assert_false(node_sparsify_state_from_json(json, &out));
    assert_false(node_sparsify_state_from_json(NULL, &out));
    json_decref(json);
}

static void test_memory_may_run_out_anywhere(void **state)
{
    struct node_sparsify_config how = sparsify_config_of("all | auto");
    struct obs_registry *registry;
    enum err rc = ERR_NOMEM;

    (void)state;
    assert_int_equal(obs_registry_create(SERIES, &registry), OK);
    for (uint32_t k = 1; rc == ERR_NOMEM; k++) {
        struct node_sparsifier f;

        assert_true(k < 100);
        mem_fail_at(k, 1);
        rc = node_sparsify_open(&f, &how, NULL, NULL);
        if (rc == OK) {
            rc = node_sparsify_add_metrics(&f, registry, "push");
        }
        mem_fail_at(0, 0);
        node_sparsify_close(&f);
    }
    assert_int_equal(rc, OK);
    obs_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs_say_how_long_it_took),
        cmocka_unit_test(test_a_clock_says_how_long_it_took),
        cmocka_unit_test(test_totals_add_up),
        cmocka_unit_test(test_metrics_follow),
        cmocka_unit_test(test_how_it_is_comes_back_from_json),
        cmocka_unit_test(test_memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
