/* Snapshots: what is exported is read back, by a small parser of the exposition format written here
 * and by a JSON library. */

#include "base/mem.h"
#include "base/rng.h"
#include "obs/snapshot.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT_LIMIT = 1024 * 1024, SAMPLES_MAX = 512, LANES = 3 };

static struct obs_registry *lanes[LANES];
static struct text out;

static int begin(void **state)
{
    (void)state;
    for (int i = 0; i < LANES; i++) {
        assert_int_equal(obs_registry_create(64, &lanes[i]), OK);
    }
    return text_init(&out, TEXT_LIMIT);
}

static int end(void **state)
{
    (void)state;
    for (int i = 0; i < LANES; i++) {
        obs_registry_destroy(lanes[i]);
    }
    text_deinit(&out);
    return 0;
}

static void export_lanes(uint32_t count, void (*write)(const struct obs_snapshot *, struct text *))
{
    struct obs_snapshot *snapshot;

    assert_int_equal(obs_snapshot_create(lanes, count, &snapshot), OK);
    text_clear(&out);
    write(snapshot, &out);
    assert_false(out.failed);
    obs_snapshot_destroy(snapshot);
}

static struct obs_counter *counter(int lane, const char *name, const char *key, const char *value)
{
    struct obs_label label = {key, value};
    struct obs_desc desc = {
        .name = name, .help = "Help.", .labels = &label, .labels_count = key != NULL};
    struct obs_counter *c;

    assert_int_equal(obs_counter_create(lanes[lane], &desc, &c), OK);
    return c;
}

static struct obs_gauge *gauge(int lane, const char *name, enum obs_merge merge)
{
    struct obs_desc desc = {.name = name, .help = "Help.", .merge = merge};
    struct obs_gauge *g;

    assert_int_equal(obs_gauge_create(lanes[lane], &desc, &g), OK);
    return g;
}

static struct obs_histogram *histogram(int lane, const char *name)
{
    static const struct obs_label label = {"phase", "push"};
    struct obs_desc desc = {
        .name = name, .help = "Time.", .labels = &label, .labels_count = 1, .divisor = OBS_NS};
    struct obs_histogram *h;

    assert_int_equal(obs_histogram_create(lanes[lane], &desc, &h), OK);
    return h;
}

static void test_the_text_is_as_prometheus_wants_it(void **state)
{
    (void)state;
    obs_counter_add(counter(0, "b_total", "site", "us"), 2);
    obs_counter_add(counter(0, "b_total", "site", "eu"), 1);
    obs_gauge_set(gauge(0, "a_ratio", OBS_MERGE_SUM), 0.1);
    export_lanes(1, obs_snapshot_prometheus);
    assert_string_equal(out.chars, "# HELP a_ratio Help.\n"
                                   "# TYPE a_ratio gauge\n"
                                   "a_ratio 0.1\n"
                                   "# HELP b_total Help.\n"
                                   "# TYPE b_total counter\n"
                                   "b_total{site=\"eu\"} 1\n"
                                   "b_total{site=\"us\"} 2\n");
}

static void test_a_histogram_is_cumulative_and_in_base_units(void **state)
{
    static const struct obs_label label = {"peer", "eu"};
    struct obs_desc desc = {.name = "t_seconds",
                            .help = "Time.",
                            .labels = &label,
                            .labels_count = 1,
                            .divisor = OBS_US,
                            .le_min = 1000,
                            .le_max = 4096};
    struct obs_histogram *h;

    (void)state;
    assert_int_equal(obs_histogram_create(lanes[0], &desc, &h), OK);
    obs_histogram_record(h, 1024);
    obs_histogram_record(h, 1025);
    obs_histogram_record(h, 4096);
    obs_histogram_record(h, 9000);
    export_lanes(1, obs_snapshot_prometheus);
    assert_string_equal(out.chars, "# HELP t_seconds Time.\n"
                                   "# TYPE t_seconds histogram\n"
                                   "t_seconds_bucket{peer=\"eu\",le=\"0.001024\"} 1\n"
                                   "t_seconds_bucket{peer=\"eu\",le=\"0.002048\"} 2\n"
                                   "t_seconds_bucket{peer=\"eu\",le=\"0.004096\"} 3\n"
                                   "t_seconds_bucket{peer=\"eu\",le=\"+Inf\"} 4\n"
                                   "t_seconds_sum{peer=\"eu\"} 0.015145\n"
                                   "t_seconds_count{peer=\"eu\"} 4\n");
}

static void test_labels_and_help_are_escaped(void **state)
{
    static const struct obs_label label = {"x", "a\"b\\c\nd\xe2\x82\xac"};
    struct obs_desc desc = {
        .name = "c_total", .help = "A \"b\" \\ c\nd", .labels = &label, .labels_count = 1};
    struct obs_counter *c;

    (void)state;
    assert_int_equal(obs_counter_create(lanes[0], &desc, &c), OK);
    export_lanes(1, obs_snapshot_prometheus);
    assert_string_equal(out.chars, "# HELP c_total A \"b\" \\\\ c\\nd\n"
                                   "# TYPE c_total counter\n"
                                   "c_total{x=\"a\\\"b\\\\c\\nd\xe2\x82\xac\"} 0\n");
}

static void test_numbers_are_short_and_exact(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.3, "g 0.3\n"},
        {1e300, "g 1e+300\n"},
        {-0.0625, "g -0.0625\n"},
        {1.0 / 3, "g 0.3333333333333333\n"},
        {0.1 + 0.2, "g 0.30000000000000004\n"},
        {(double)INFINITY, "g +Inf\n"},
        {-(double)INFINITY, "g -Inf\n"},
        {(double)NAN, "g NaN\n"},
    };
    struct obs_gauge *g = gauge(0, "g", OBS_MERGE_SUM);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        obs_gauge_set(g, cases[i].value);
        export_lanes(1, obs_snapshot_prometheus);
        assert_non_null(strstr(out.chars, cases[i].text));
    }
    obs_counter_add(counter(0, "c_total", NULL, NULL), UINT64_MAX);
    export_lanes(1, obs_snapshot_prometheus);
    assert_non_null(strstr(out.chars, "c_total 18446744073709551615\n"));
}

static void test_lanes_are_joined(void **state)
{
    (void)state;
    for (int i = 0; i < LANES; i++) {
        obs_counter_add(counter(i, "c_total", NULL, NULL), 10 + (uint64_t)i);
        obs_gauge_set(gauge(i, "sum", OBS_MERGE_SUM), i + 0.5);
    }
    obs_gauge_set(gauge(0, "last", OBS_MERGE_LAST), 5);
    obs_gauge_set(gauge(1, "last", OBS_MERGE_LAST), 4);
    (void)gauge(2, "last", OBS_MERGE_LAST); /* Never set: says nothing. */
    (void)gauge(0, "unset", OBS_MERGE_LAST);
    (void)counter(1, "only_total", "lane", "1");
    export_lanes(LANES, obs_snapshot_prometheus);
    assert_non_null(strstr(out.chars, "\nc_total 33\n"));
    assert_non_null(strstr(out.chars, "\nsum 4.5\n"));
    assert_non_null(strstr(out.chars, "\nlast 4\n"));
    assert_non_null(strstr(out.chars, "\nonly_total{lane=\"1\"} 0\n"));
    assert_null(strstr(out.chars, "unset"));
}

static void test_joined_histograms_equal_one_with_all_values(void **state)
{
    struct obs_registry *saved[LANES];
    struct text joined;
    struct rng r;

    (void)state;
    rng_init(&r, 1);
    for (int i = 0; i < 3000; i++) {
        int64_t value = (int64_t)(rng_next(&r) >> rng_between(&r, 20, 60));

        obs_histogram_record(histogram((int)rng_below(&r, 2), "t_seconds"), value);
        obs_histogram_record(histogram(2, "t_seconds"), value);
    }
    export_lanes(2, obs_snapshot_json);
    assert_int_equal(text_init(&joined, TEXT_LIMIT), OK);
    text_add(&joined, out.chars);
    memcpy(saved, lanes, sizeof(lanes));
    lanes[0] = lanes[2];
    export_lanes(1, obs_snapshot_json);
    memcpy(lanes, saved, sizeof(lanes));
    assert_string_equal(out.chars, joined.chars);
    text_deinit(&joined);
}

static void test_lanes_that_disagree_are_refused(void **state)
{
    struct obs_desc desc = {.name = "x", .help = "Help."};
    struct obs_snapshot *snapshot = NULL;
    struct obs_histogram *h;

    (void)state;
    (void)gauge(0, "x", OBS_MERGE_SUM);
    assert_int_equal(obs_histogram_create(lanes[1], &desc, &h), OK);
    assert_int_equal(obs_snapshot_create(lanes, 2, &snapshot), ERR_INVALID);
    assert_int_equal(obs_snapshot_create(lanes, OBS_REGISTRIES_MAX + 1, &snapshot), ERR_TOO_BIG);
    assert_null(snapshot);
    obs_snapshot_destroy(NULL);
}

static void test_nothing_is_a_valid_snapshot(void **state)
{
    (void)state;
    export_lanes(0, obs_snapshot_prometheus);
    assert_string_equal(out.chars, "");
    export_lanes(LANES, obs_snapshot_json);
    assert_string_equal(out.chars,
                        "{\"schema\":1,\"counters\":[],\"gauges\":[],\"histograms\":[]}");
}

/* The parser: strict about what our side writes, and ignorant of what it does not. */

struct sample {
    char name[OBS_NAME_BYTES_MAX + 8];
    char labels[OBS_LABEL_BYTES_MAX * 2]; /* Without `le`. */
    double le;                            /* NAN if there is none. */
    double value;
};

struct exposition {
    char family[OBS_NAME_BYTES_MAX];
    char type[16];
    struct sample samples[SAMPLES_MAX];
    size_t count;
    size_t families;
};

static size_t parse_word(const char *at)
{
    size_t size = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

    assert_true(size > 0);
    return size;
}

/* Skip a quoted label value; only \\, \" and \n may be escaped. */
static const char *parse_quoted(const char *at)
{
    assert_int_equal(*at++, '"');
    for (; *at != '"'; at++) {
        assert_true(*at != '\0' && *at != '\n');
        if (*at == '\\') {
            at++;
            assert_non_null(memchr("\\\"n", *at, 3));
        }
    }
    return at + 1;
}

static const char *parse_labels(const char *at, struct sample *s)
{
    assert_int_equal(*at, '{');
    while (*at != '}') {
        const char *key = ++at;
        size_t size = parse_word(at);
        const char *value = at + size + 1;

        assert_int_equal(at[size], '=');
        at = parse_quoted(value);
        if (size == 2 && memcmp(key, "le", 2) == 0) {
            s->le = strtod(value + 1, NULL);
        } else {
            strncat(s->labels, key, (size_t)(at - key));
        }
        assert_true(*at == ',' || *at == '}');
    }
    return at + 1;
}

static void parse_sample(struct exposition *e, const char *line)
{
    struct sample *s = &e->samples[e->count++];
    size_t size = parse_word(line);
    const char *at = line + size;
    char *number_end;

    assert_true(e->count < SAMPLES_MAX);
    *s = (struct sample){.le = (double)NAN};
    memcpy(s->name, line, size);
    assert_memory_equal(s->name, e->family, strlen(e->family));
    if (strcmp(e->type, "histogram") == 0) {
        const char *suffix = s->name + strlen(e->family);

        assert_true(strcmp(suffix, "_bucket") == 0 || strcmp(suffix, "_sum") == 0 ||
                    strcmp(suffix, "_count") == 0);
    } else {
        assert_string_equal(s->name, e->family);
    }
    at = *at == '{' ? parse_labels(at, s) : at;
    assert_int_equal(*at++, ' ');
    s->value = strtod(at, &number_end);
    assert_true(number_end != at);
    assert_int_equal(*number_end, '\n');
}

static void parse_line(struct exposition *e, const char *line)
{
    char name[OBS_NAME_BYTES_MAX];

    if (strncmp(line, "# HELP ", 7) == 0) {
        assert_int_equal(sscanf(line + 7, "%127s", name), 1);
        assert_true(strcmp(name, e->family) > 0); /* Sorted, so each family comes once. */
        strcpy(e->family, name);
        e->families++;
    } else if (strncmp(line, "# TYPE ", 7) == 0) {
        assert_int_equal(sscanf(line + 7, "%127s %15s", name, e->type), 2);
        assert_string_equal(name, e->family);
    } else {
        parse_sample(e, line);
    }
}

static void parse(struct exposition *e, const char *chars)
{
    memset(e, 0, sizeof(*e));
    while (*chars != '\0') {
        const char *newline = strchr(chars, '\n');

        assert_non_null(newline);
        parse_line(e, chars);
        chars = newline + 1;
    }
}

/* Bounds rise to +Inf, counts never fall, and +Inf is the count. Returns how many histograms. */
static int check_buckets(const struct exposition *e)
{
    double le = -1, value = 0;
    int histograms = 0;

    for (size_t i = 0; i < e->count; i++) {
        const struct sample *s = &e->samples[i];

        if (!isnan(s->le)) {
            assert_true(s->le > le && s->value >= value);
            le = s->le;
            value = s->value;
        } else if (strstr(s->name, "_count") != NULL) {
            assert_true(isinf(le) && s->value == value);
            le = -1;
            value = 0;
            histograms++;
        }
    }
    return histograms;
}

static double find(const struct exposition *e, const char *name, const char *labels)
{
    for (size_t i = 0; i < e->count; i++) {
        if (strcmp(e->samples[i].name, name) == 0 && strcmp(e->samples[i].labels, labels) == 0 &&
            isnan(e->samples[i].le)) {
            return e->samples[i].value;
        }
    }
    fail_msg("no sample %s{%s}", name, labels);
    return 0;
}

static void fill_lanes(void)
{
    struct rng r;

    rng_init(&r, 4);
    for (int i = 0; i < LANES; i++) {
        obs_counter_add(counter(i, "c_total", NULL, NULL), 7);
        obs_counter_add(counter(i, "d_total", "x", i == 0 ? "}\",\\\n{" : "y"), 3);
        obs_gauge_set(gauge(i, "g_ratio", OBS_MERGE_LAST), 0.25);
        for (int k = 0; k < 1000; k++) {
            obs_histogram_record(histogram(i, "t_seconds"), (int64_t)(rng_next(&r) >> 30));
            obs_histogram_record(histogram(i, "u_seconds"), 1000);
        }
    }
}

static void test_a_parser_reads_the_text_back(void **state)
{
    static struct exposition e;

    (void)state;
    fill_lanes();
    export_lanes(LANES, obs_snapshot_prometheus);
    parse(&e, out.chars);
    assert_int_equal(e.families, 5);
    assert_int_equal(check_buckets(&e), 2);
    assert_true(find(&e, "c_total", "") == 21);
    assert_true(find(&e, "d_total", "x=\"y\"") == 6);
    assert_true(find(&e, "d_total", "x=\"}\\\",\\\\\\n{\"") == 3);
    assert_true(find(&e, "g_ratio", "") == 0.25);
    assert_true(find(&e, "t_seconds_count", "phase=\"push\"") == 3000);
    assert_true(find(&e, "u_seconds_sum", "phase=\"push\"") == 0.003);
}

static void test_json_reads_back(void **state)
{
    const char *name = NULL, *key = NULL, *label = NULL;
    double value, sum, min, p50, max;
    json_int_t schema, count;
    json_error_t error;
    json_t *json, *buckets, *empty;

    (void)state;
    fill_lanes();
    obs_gauge_set(gauge(0, "broken", OBS_MERGE_SUM), (double)NAN);
    (void)histogram(0, "v_seconds");
    export_lanes(LANES, obs_snapshot_json);
    json = json_loads(out.chars, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(json);
    assert_int_equal(json_unpack(json, "{s:I, s:[{s:s,s:{},s:F},{s:s,s:{s:s},s:F}]}", "schema",
                                 &schema, "counters", "name", &name, "labels", "value", &value,
                                 "name", &key, "labels", "x", &label, "value", &sum),
                     0);
    assert_int_equal(schema, 1);
    assert_string_equal(name, "c_total");
    assert_true(value == 21);
    assert_string_equal(key, "d_total");
    assert_string_equal(label, "y");
    assert_true(sum == 6);
    assert_int_equal(json_unpack(json, "{s:[{s:n},{s:F}]}", "gauges", "value", "value", &value), 0);
    assert_true(value == 0.25);
    assert_int_equal(json_unpack(json, "{s:[o,{s:I,s:F,s:F,s:F,s:F,s:o},o]}", "histograms", &empty,
                                 "count", &count, "sum", &sum, "min", &min, "p50", &p50, "max",
                                 &max, "buckets", &buckets, &empty),
                     0);
    assert_int_equal(count, 3000);
    assert_true(sum == 0.003 && min == 1e-6 && max == 1e-6 && p50 == 1e-6);
    assert_int_equal(json_array_size(buckets), 1);
    assert_int_equal(json_integer_value(json_array_get(json_array_get(buckets, 0), 1)), 3000);
    assert_int_equal(json_unpack(empty, "{s:n,s:n,s:n,s:[]}", "min", "max", "p999", "buckets"), 0);
    json_decref(json);
}

static void test_a_text_that_is_too_small_fails(void **state)
{
    struct obs_snapshot *snapshot;
    struct text small;

    (void)state;
    fill_lanes();
    assert_int_equal(text_init(&small, 100), OK);
    assert_int_equal(obs_snapshot_create(lanes, LANES, &snapshot), OK);
    obs_snapshot_prometheus(snapshot, &small);
    assert_true(small.failed);
    text_clear(&small);
    obs_snapshot_json(snapshot, &small);
    assert_true(small.failed);
    obs_snapshot_destroy(snapshot);
    text_deinit(&small);
}

static void test_allocation_k_fails_for_every_k(void **state)
{
    struct obs_snapshot *snapshot;
    enum err rc = ERR_NOMEM;

    (void)state;
    fill_lanes();
    for (uint64_t k = 1; rc != OK; k++) {
        mem_fail_at(k, 1);
        snapshot = NULL;
        rc = obs_snapshot_create(lanes, LANES, &snapshot);
        mem_fail_at(0, 0);
        assert_int_equal(rc, snapshot == NULL ? ERR_NOMEM : OK);
    }
    obs_snapshot_destroy(snapshot);
}

/* A lane that creates and updates while another thread takes snapshots. */
static void *lane_work(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000; i++) {
        char value[2] = {(char)('a' + i / 1000), '\0'};

        obs_counter_add(counter(0, "c_total", "x", value), 1);
        obs_histogram_record(histogram(0, "t_seconds"), i);
        obs_gauge_set(gauge(0, "g", OBS_MERGE_SUM), i);
    }
    return NULL;
}

static void test_a_snapshot_may_be_taken_while_a_lane_works(void **state)
{
    static struct exposition e;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, lane_work, NULL), 0);
    for (int i = 0; i < 50; i++) {
        export_lanes(1, obs_snapshot_prometheus);
        parse(&e, out.chars);
        (void)check_buckets(&e);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    export_lanes(1, obs_snapshot_prometheus);
    parse(&e, out.chars);
    assert_true(find(&e, "c_total", "x=\"t\"") == 1000);
    assert_true(find(&e, "t_seconds_count", "phase=\"push\"") == 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_text_is_as_prometheus_wants_it, begin, end),
        cmocka_unit_test_setup_teardown(test_a_histogram_is_cumulative_and_in_base_units, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_labels_and_help_are_escaped, begin, end),
        cmocka_unit_test_setup_teardown(test_numbers_are_short_and_exact, begin, end),
        cmocka_unit_test_setup_teardown(test_lanes_are_joined, begin, end),
        cmocka_unit_test_setup_teardown(test_joined_histograms_equal_one_with_all_values, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_lanes_that_disagree_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_is_a_valid_snapshot, begin, end),
        cmocka_unit_test_setup_teardown(test_a_parser_reads_the_text_back, begin, end),
        cmocka_unit_test_setup_teardown(test_json_reads_back, begin, end),
        cmocka_unit_test_setup_teardown(test_a_text_that_is_too_small_fails, begin, end),
        cmocka_unit_test_setup_teardown(test_allocation_k_fails_for_every_k, begin, end),
        cmocka_unit_test_setup_teardown(test_a_snapshot_may_be_taken_while_a_lane_works, begin,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
