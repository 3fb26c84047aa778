/* Appliers: their texts, their rates, and their arithmetic bit for bit. */

#include "table/apply.h"

#include "base/hash.h"
#include "table/testing.h"

static struct table_apply parse(const char *in)
{
    struct table_apply apply;
    struct err_text text = {""};

    if (table_apply_parse(in, &apply, &text) != OK) {
        fail_msg("'%s': %s", in, text.text);
    }
    return apply;
}

static void test_what_people_write_is_understood(void **state)
{
    struct table_apply a = parse("add");

    (void)state;
    assert_int_equal(a.kind, TABLE_ADD);
    a = parse(" sgd  lr=0.1 ");
    assert_int_equal(a.kind, TABLE_SGD);
    assert_int_equal(a.decay, TABLE_DECAY_NONE);
    assert_true(a.lr == 0.1F && a.mu == 0 && a.eps == 0 && a.factor == 0);
    assert_true(a.every == 0 && a.warmup == 0);
    a = parse("sgd warmup=5 factor=0.5 every=10 decay=step lr=0.1");
    assert_int_equal(a.decay, TABLE_DECAY_STEP);
    assert_true(a.every == 10 && a.factor == 0.5F && a.warmup == 5);
    a = parse("momentum lr=0.01 mu=0.9 decay=exp factor=1");
    assert_int_equal(a.kind, TABLE_MOMENTUM);
    assert_int_equal(a.decay, TABLE_DECAY_EXP);
    assert_true(a.mu == 0.9F && a.factor == 1);
    a = parse("momentum lr=3e38 mu=0 decay=none warmup=0");
    assert_true(a.mu == 0 && a.decay == TABLE_DECAY_NONE);
    a = parse("adagrad lr=0.1 decay=sqrt");
    assert_int_equal(a.kind, TABLE_ADAGRAD);
    assert_true(a.eps == 1e-8F && a.decay == TABLE_DECAY_SQRT);
    assert_true(parse("adagrad lr=0.1 eps=0.5").eps == 0.5F);
}

static void test_what_is_wrong_is_named_with_what_is_allowed(void **state)
{
    static const struct {
        const char *in;
        const char *text;
    } rows[] = {
        {"", "write add, or sgd, momentum or adagrad with lr=RATE"},
        {"adam lr=1", "'adam' is unknown; there are add, sgd, momentum and adagrad"},
        {"ADD", "'ADD' is unknown; there are add, sgd, momentum and adagrad"},
        {"add lr=0.1", "'lr' does not belong there; add takes nothing"},
        {"sgd", "lr is missing: a number above 0"},
        {"sgd lr", "write lr=VALUE, where it is a number above 0"},
        {"sgd lr=", "lr is '', but must be a number above 0"},
        {"sgd lr=0", "lr is '0', but must be a number above 0"},
        {"sgd lr=-1", "lr is '-1', but must be a number above 0"},
        {"sgd lr=nan", "lr is 'nan', but must be a number above 0"},
        {"sgd lr=inf", "lr is 'inf', but must be a number above 0"},
        {"sgd lr=1e-99", "lr is '1e-99', but must be a number above 0"},
        {"sgd lr=1=2", "lr is '1=2', but must be a number above 0"},
        {"sgd lr=1 lr=1", "lr is there twice"},
        {"sgd lr=1 mu=0.9",
         "'mu' does not belong there; sgd takes lr, decay, every, factor and warmup"},
        {"sgd lr=1 decoy=exp",
         "'decoy' does not belong there; sgd takes lr, decay, every, factor and warmup"},
        {"momentum lr=1", "mu is missing: a number from 0 to below 1"},
        {"momentum lr=1 mu=1", "mu is '1', but must be a number from 0 to below 1"},
        {"momentum lr=1 mu=-0.1", "mu is '-0.1', but must be a number from 0 to below 1"},
        {"momentum lr=1 mu=0.9 eps=1",
         "'eps' does not belong there; momentum takes lr, mu, decay, every, factor and warmup"},
        {"adagrad lr=1 eps=0", "eps is '0', but must be a number above 0"},
        {"sgd lr=1 decay=cosine", "decay is 'cosine', but must be none, step, sqrt or exp"},
        {"sgd lr=1 decay=step factor=0.5", "every is missing: a whole number from 1 to 4294967295"},
        {"sgd lr=1 decay=step every=10", "factor is missing: a number above 0, at most 1"},
        {"sgd lr=1 decay=exp", "factor is missing: a number above 0, at most 1"},
        {"sgd lr=1 every=10", "every is only for decay=step"},
        {"sgd lr=1 decay=exp factor=0.5 every=10", "every is only for decay=step"},
        {"sgd lr=1 decay=sqrt factor=0.5", "factor is only for decay=step and decay=exp"},
        {"sgd lr=1 decay=step every=0 factor=1",
         "every is '0', but must be a whole number from 1 to 4294967295"},
        {"sgd lr=1 decay=exp factor=1.01",
         "factor is '1.01', but must be a number above 0, at most 1"},
        {"sgd lr=1 decay=exp factor=0", "factor is '0', but must be a number above 0, at most 1"},
        {"sgd lr=1 warmup=4294967296",
         "warmup is '4294967296', but must be a whole number up to 4294967295"},
        {"sgd lr=1 warmup=1.5", "warmup is '1.5', but must be a whole number up to 4294967295"},
    };
    struct table_apply out = {.lr = 42};
    struct err_text text;
    char expected[ERR_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)snprintf(expected, sizeof(expected), "apply '%s': %s", rows[i].in, rows[i].text);
        assert_int_equal(table_apply_parse(rows[i].in, &out, &text), ERR_INVALID);
        assert_string_equal(text.text, expected);
        assert_int_equal(table_apply_parse(rows[i].in, &out, NULL), ERR_INVALID);
    }
    assert_true(out.lr == 42);
}

static struct table_apply random_apply(struct rng *r)
{
    struct table_apply a = {.kind = (enum table_apply_kind)rng_below(r, TABLE_APPLY_KINDS)};

    if (a.kind == TABLE_ADD) {
        return a;
    }
    a.lr = testing_from_bits(1 + (uint32_t)rng_below(r, 0x7f7fffff));
    a.mu = a.kind == TABLE_MOMENTUM ? (float)(rng_unit(r) * 0.999) : 0;
    a.eps = a.kind == TABLE_ADAGRAD ? testing_from_bits(1 + (uint32_t)rng_below(r, 0x3f7fffff)) : 0;
    a.decay = (enum table_decay)rng_below(r, TABLE_DECAYS);
    if (a.decay == TABLE_DECAY_STEP || a.decay == TABLE_DECAY_EXP) {
        a.factor = testing_from_bits(1 + (uint32_t)rng_below(r, 0x3f800000));
    }
    if (a.decay == TABLE_DECAY_STEP) {
        a.every = rng_chance(r, 100000) ? UINT32_MAX : 1 + (uint32_t)rng_below(r, 100);
    }
    a.warmup = rng_chance(r, 500000) ? (uint32_t)rng_next(r) : 0;
    return a;
}

static void test_a_printed_applier_parses_to_the_same(void **state)
{
    char chars[TABLE_APPLY_TEXT_BYTES];
    struct table_apply a, b;
    struct rng r;

    (void)state;
    a = parse("adagrad lr=0.1 decay=step every=10 factor=0.5 warmup=5");
    table_apply_print(&a, chars, sizeof(chars));
    assert_string_equal(chars, "adagrad lr=0.1 eps=1e-08 decay=step every=10 factor=0.5 warmup=5");
    rng_init(&r, 17);
    for (uint32_t i = 0; i < 5000; i++) {
        a = random_apply(&r);
        table_apply_print(&a, chars, sizeof(chars));
        b = parse(chars);
        assert_true(table_apply_equal(&a, &b));
    }
}

static void test_two_appliers_differ_in_any_field(void **state)
{
    struct table_apply a = parse("momentum lr=0.1 mu=0.5 decay=step every=2 factor=0.5 warmup=3");

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        struct table_apply b = a;

        assert_true(table_apply_equal(&a, &b));
        b.kind = i == 0 ? TABLE_SGD : b.kind;
        b.decay = i == 1 ? TABLE_DECAY_EXP : b.decay;
        b.lr += i == 2 ? 1 : 0;
        b.mu += i == 3 ? 0.1F : 0;
        b.eps += i == 4 ? 0.1F : 0;
        b.factor += i == 5 ? 0.1F : 0;
        b.every += i == 6;
        b.warmup += i == 7;
        assert_false(table_apply_equal(&a, &b));
    }
}

static void test_the_rate_follows_its_formula(void **state)
{
    struct table_apply a = parse("sgd lr=0.5 decay=step every=10 factor=0.5");

    (void)state;
    assert_true(table_apply_rate(&a, 1) == 0.5F && table_apply_rate(&a, 10) == 0.5F);
    assert_true(table_apply_rate(&a, 11) == 0.25F && table_apply_rate(&a, 21) == 0.125F);
    assert_true(table_apply_rate(&a, UINT64_MAX) == 0);
    a = parse("sgd lr=0.5 decay=sqrt");
    assert_true(table_apply_rate(&a, 1) == 0.5F && table_apply_rate(&a, 4) == 0.25F);
    assert_true(table_apply_rate(&a, 1000000) == 0.0005F);
    a = parse("sgd lr=8 decay=exp factor=0.5");
    assert_true(table_apply_rate(&a, 1) == 8 && table_apply_rate(&a, 4) == 1);
    a = parse("sgd lr=8 decay=exp factor=1");
    assert_true(table_apply_rate(&a, UINT64_MAX) == 8);
    a = parse("sgd lr=1 warmup=4");
    assert_true(table_apply_rate(&a, 1) == 0.25F && table_apply_rate(&a, 3) == 0.75F);
    assert_true(table_apply_rate(&a, 4) == 1 && table_apply_rate(&a, 5) == 1);
    assert_true(table_apply_rate(&a, 0) == table_apply_rate(&a, 1));
    a = parse("add");
    assert_true(table_apply_rate(&a, 77) == 1);
}

/* Against the library's power function, as near as a float is. */
static void test_the_rate_agrees_with_the_library(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 23);
    for (uint32_t i = 0; i < 5000; i++) {
        struct table_apply a = random_apply(&r);
        uint64_t clock = 1 + rng_below(&r, i % 2 == 0 ? 50 : 100000);
        double rate = (double)a.lr, n = (double)(clock - 1);

        if (a.kind == TABLE_ADD) {
            continue;
        }
        rate *= a.decay == TABLE_DECAY_EXP ? pow((double)a.factor, n) : 1;
        rate *= a.decay == TABLE_DECAY_STEP ? pow((double)a.factor, floor(n / a.every)) : 1;
        rate /= a.decay == TABLE_DECAY_SQRT ? sqrt((double)clock) : 1;
        rate *= clock < a.warmup ? (double)clock / a.warmup : 1;
        assert_true(fabs((double)table_apply_rate(&a, clock) - rate) <= rate * 1e-6 + 0x1p-149);
    }
}

static void test_the_rate_has_these_bits(void **state)
{
    static const uint64_t clocks[] = {1, 2, 3, 17, 1000, 99999};
    struct table_apply a = parse("sgd lr=0.1 decay=exp factor=0.9999 warmup=10");
    uint32_t bits[6];

    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        bits[i] = testing_bits(table_apply_rate(&a, clocks[i]));
    }
    assert_int_equal(hash_bytes(bits, sizeof(bits)), UINT64_C(0xad49fe95b8662186));
}

/* One element, by the formulas of the header. */
static bool naive_step(const struct table_apply *a, float rate, float scale, float *w, float *m,
                       float sum)
{
    float u = testing_mul(scale, sum);
    float state = *m, next = *w;

    if (a->kind == TABLE_ADD) {
        next = testing_add(next, u);
    } else if (a->kind == TABLE_SGD) {
        next = testing_add(next, -testing_mul(rate, u));
    } else if (a->kind == TABLE_MOMENTUM) {
        state = testing_add(testing_mul(a->mu, state), u);
        next = testing_add(next, -testing_mul(rate, state));
    } else {
        volatile float root;

        state = testing_add(state, testing_mul(u, u));
        root = sqrtf(state);
        next = testing_add(next, -testing_divide(testing_mul(rate, u), testing_add(root, a->eps)));
    }
    if (!testing_is_finite(next) || !testing_is_finite(state)) {
        return false;
    }
    *w = next;
    *m = state;
    return true;
}

struct applied {
    uint32_t count;
    float *w, *state, *u;
    float *naive_w, *naive_state;
};

static struct applied applied_make(struct rng *r, bool adagrad, uint32_t count)
{
    struct applied p = {.count = count};

    p.w = testing_array(3, count);
    p.state = testing_array(5, count);
    p.u = testing_array(1, count);
    p.naive_w = testing_array(0, count);
    p.naive_state = testing_array(0, count);
    testing_fill(r, p.w, count);
    testing_fill(r, p.state, count);
    testing_fill(r, p.u, count);
    for (uint32_t i = 0; i < count; i++) {
        if (adagrad) {
            p.state[i] = fabsf(p.state[i]);
        }
        if (rng_chance(r, 20000)) {
            p.u[i] = testing_from_bits((uint32_t)rng_next(r) | 0x7f800000);
        }
        p.naive_w[i] = p.w[i];
        p.naive_state[i] = p.state[i];
    }
    return p;
}

static void applied_free(struct applied *p)
{
    testing_array_free(p->w, 3);
    testing_array_free(p->state, 5);
    testing_array_free(p->u, 1);
    testing_array_free(p->naive_w, 0);
    testing_array_free(p->naive_state, 0);
}

static uint32_t check_step(const struct table_loops *loops, const struct table_apply *a,
                           struct rng *r, uint32_t count)
{
    struct applied p = applied_make(r, a->kind == TABLE_ADAGRAD, count);
    struct table_step step = {.scale = rng_chance(r, 500000) ? 1 : testing_float(r),
                              .rate = table_apply_rate(a, 1 + rng_below(r, 100)),
                              .mu = a->mu,
                              .eps = a->eps};
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        kept += !naive_step(a, step.rate, step.scale, &p.naive_w[i], &p.naive_state[i], p.u[i]);
    }
    assert_int_equal(
        loops->step[a->kind](&step, p.w, table_apply_planes(a) > 0 ? p.state : NULL, p.u, count),
        kept);
    testing_alike(p.w, p.naive_w, count);
    testing_alike(p.state, p.naive_state, count);
    assert_true(loops->finite(p.w, count) && loops->finite(p.state, count));
    applied_free(&p);
    return kept;
}

static void test_every_kind_of_loop_applies_with_the_bits_of_single_operations(void **state)
{
    struct rng r;

    (void)state;
    for (uint32_t k = 0; k < TABLE_LOOPS_MAX; k++) {
        const struct table_loops *loops = table_loops_at(k);
        uint32_t kept = 0;

        if (loops == NULL) {
            print_message("this processor lacks kind %u of the loops\n", k);
            continue;
        }
        rng_init(&r, 31 + k);
        for (uint32_t i = 0; i < 60 * TESTING_COUNTS; i++) {
            struct table_apply a = random_apply(&r);
            uint32_t count = testing_counts[i % TESTING_COUNTS];

            if (count < 2000 || i < 6 * TESTING_COUNTS) {
                kept += check_step(loops, &a, &r, count);
            }
        }
        assert_true(kept > 1000);
    }
}

/* One element, and what was added to it. All of it stays if any of it would not be finite. */
static bool naive_track(const struct table_apply *a, float rate, float scale, float *w, float *m,
                        float sum, float *held)
{
    float u = testing_mul(scale, sum);
    float state = *m, change, next, next_held;

    if (a->kind == TABLE_ADD) {
        change = u;
    } else if (a->kind == TABLE_SGD) {
        change = -testing_mul(rate, u);
    } else if (a->kind == TABLE_MOMENTUM) {
        state = testing_add(testing_mul(a->mu, state), u);
        change = -testing_mul(rate, state);
    } else {
        volatile float root;

        state = testing_add(state, testing_mul(u, u));
        root = sqrtf(state);
        change = -testing_divide(testing_mul(rate, u), testing_add(root, a->eps));
    }
    next = testing_add(*w, change);
    next_held = testing_add(*held, change);
    if (!testing_is_finite(next) || !testing_is_finite(state) || !testing_is_finite(next_held)) {
        return false;
    }
    *w = next;
    *m = state;
    *held = next_held;
    return true;
}

static uint32_t check_track(const struct table_loops *loops, const struct table_apply *a,
                            struct rng *r, uint32_t count)
{
    struct applied p = applied_make(r, a->kind == TABLE_ADAGRAD, count);
    float *held = testing_array(7, count), *naive_held = testing_array(0, count);
    struct table_step step = {.scale = rng_chance(r, 500000) ? 1 : testing_float(r),
                              .rate = table_apply_rate(a, 1 + rng_below(r, 100)),
                              .mu = a->mu,
                              .eps = a->eps};
    uint32_t kept = 0;

    testing_fill(r, held, count);
    for (uint32_t i = 0; i < count; i++) {
        if (rng_chance(r, 20000)) {
            held[i] = rng_chance(r, 500000) ? 3.4e38F : -3.4e38F;
        }
        naive_held[i] = held[i];
        kept += !naive_track(a, step.rate, step.scale, &p.naive_w[i], &p.naive_state[i], p.u[i],
                             &naive_held[i]);
    }
    assert_int_equal(loops->track[a->kind](&step, p.w, table_apply_planes(a) > 0 ? p.state : NULL,
                                           p.u, held, count),
                     kept);
    testing_alike(p.w, p.naive_w, count);
    testing_alike(p.state, p.naive_state, count);
    testing_alike(held, naive_held, count);
    assert_true(loops->finite(held, count));
    testing_array_free(held, 7);
    testing_array_free(naive_held, 0);
    applied_free(&p);
    return kept;
}

static void test_every_kind_of_loop_also_keeps_what_it_added(void **state)
{
    struct rng r;

    (void)state;
    for (uint32_t k = 0; k < TABLE_LOOPS_MAX; k++) {
        const struct table_loops *loops = table_loops_at(k);
        uint32_t kept = 0;

        if (loops == NULL) {
            print_message("this processor lacks kind %u of the loops\n", k);
            continue;
        }
        rng_init(&r, 77);
        for (uint32_t i = 0; i < 60 * TESTING_COUNTS; i++) {
            struct table_apply a = random_apply(&r);
            uint32_t count = testing_counts[i % TESTING_COUNTS];

            if (count < 2000 || i < 6 * TESTING_COUNTS) {
                kept += check_track(loops, &a, &r, count);
            }
        }
        assert_true(kept > 1000);
    }
}

static void test_what_was_added_is_what_the_value_gained(void **state)
{
    /* U is 8. Momentum: M = 0.5 * 1 + 8. Adagrad: G = 17 + 64, and 2 * 8 / (9 + 1). */
    static const struct {
        const char *apply;
        float m, change, m_after;
    } rows[] = {
        {"add", 0, 8, 0},
        {"sgd lr=0.5", 0, -4, 0},
        {"momentum lr=0.5 mu=0.5", 1, -4.25F, 8.5F},
        {"adagrad lr=2 eps=1", 17, -1.6F, 81},
    };
    const float u[1] = {16};

    (void)state;
    for (uint32_t k = 0; k < 4; k++) {
        struct table_apply a = parse(rows[k].apply);
        float w[1] = {0}, m[1] = {rows[k].m}, held[1] = {-2};
        float *plane = table_apply_planes(&a) > 0 ? m : NULL;

        assert_int_equal(table_apply_run_tracked(&a, 1, 0.5F, w, plane, u, held, 1), 0);
        assert_true(w[0] == rows[k].change && m[0] == rows[k].m_after);
        assert_true(held[0] == testing_add(-2, rows[k].change));
    }
}

static void test_a_held_sum_that_would_not_be_finite_keeps_the_whole_element(void **state)
{
    static const char *const appliers[] = {"add", "sgd lr=1", "momentum lr=1 mu=0.5",
                                           "adagrad lr=3e38"};

    (void)state;
    for (uint32_t k = 0; k < 4; k++) {
        struct table_apply a = parse(appliers[k]);
        float full = k == 0 ? 3e38F : -3e38F;
        float w[3] = {0, 0, 0}, m[3] = {1, 1, 1}, held[3] = {0, full, 0};
        float u[3] = {2e38F, 2e38F, 2e38F};
        float *plane = table_apply_planes(&a) > 0 ? m : NULL;

        if (k == 3) {
            u[0] = u[1] = u[2] = 1;
        }
        assert_int_equal(table_apply_run_tracked(&a, 1, 1, w, plane, u, held, 3), 1);
        assert_true(w[1] == 0 && m[1] == 1 && held[1] == full);
        assert_true(w[0] != 0 && held[0] == w[0] && held[2] == w[2] && m[0] == m[2]);
    }
}

static void test_without_held_it_is_the_same_as_ever(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 3);
    for (uint32_t i = 0; i < 500; i++) {
        struct table_apply a = random_apply(&r);
        struct applied p = applied_make(&r, a.kind == TABLE_ADAGRAD, 130);
        bool planes = table_apply_planes(&a) > 0;

        assert_int_equal(table_apply_run(&a, i, 0.5F, p.w, planes ? p.state : NULL, p.u, 130),
                         table_apply_run_tracked(&a, i, 0.5F, p.naive_w,
                                                 planes ? p.naive_state : NULL, p.u, NULL, 130));
        testing_alike(p.w, p.naive_w, 130);
        testing_alike(p.state, p.naive_state, 130);
        applied_free(&p);
    }
}

static void test_an_element_that_would_not_be_finite_keeps_value_and_state(void **state)
{
    static const char *const appliers[] = {"add", "sgd lr=1", "momentum lr=1 mu=0.5",
                                           "adagrad lr=1"};
    /* The last two are finite: one overflows when it is subtracted, one when it is squared. */
    static const float bad[] = {NAN, INFINITY, -INFINITY, -3e38F, 2e19F};
    static const bool keeps[4][5] = {
        {true, true, true, false, false},
        {true, true, true, true, false},
        {true, true, true, true, false},
        {true, true, true, true, true},
    };

    (void)state;
    for (uint32_t k = 0; k < 4; k++) {
        struct table_apply a = parse(appliers[k]);

        for (uint32_t i = 0; i < 5; i++) {
            float w[3] = {1, 3e38F, 1}, m[3] = {1, 3e38F, 1}, u[3] = {1, bad[i], 1};

            assert_int_equal(
                table_apply_run(&a, 1, 1, w, table_apply_planes(&a) > 0 ? m : NULL, u, 3),
                keeps[k][i]);
            assert_true(!keeps[k][i] || (w[1] == 3e38F && m[1] == 3e38F));
            assert_true(w[0] == w[2] && w[0] != 1);
        }
    }
}

static void test_a_run_is_the_same_bits_for_ever(void **state)
{
    static const struct {
        const char *apply;
        uint64_t hash;
    } rows[] = {
        {"add", UINT64_C(0x0ef80c7c3ce3da25)},
        {"sgd lr=0.1 decay=sqrt warmup=3", UINT64_C(0x079b3a96c7b901f4)},
        {"momentum lr=0.05 mu=0.9 decay=step every=2 factor=0.7", UINT64_C(0x92f709890f2ef17b)},
        {"adagrad lr=0.2 eps=1e-6 decay=exp factor=0.99", UINT64_C(0x0f13219bb48f1090)},
    };
    float w[1001], m[1001], u[1001];
    struct rng r;

    (void)state;
    for (uint32_t k = 0; k < 4; k++) {
        struct table_apply a = parse(rows[k].apply);

        rng_init(&r, 7);
        memset(m, 0, sizeof(m));
        testing_fill(&r, w, 1001);
        for (uint64_t clock = 1; clock <= 8; clock++) {
            testing_fill(&r, u, 1001);
            (void)table_apply_run(&a, clock, 0.25F, w, table_apply_planes(&a) > 0 ? m : NULL, u,
                                  1001);
        }
        assert_int_equal(hash_bytes(w, sizeof(w)) ^ hash_bytes(m, sizeof(m)), rows[k].hash);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_people_write_is_understood),
        cmocka_unit_test(test_what_is_wrong_is_named_with_what_is_allowed),
        cmocka_unit_test(test_a_printed_applier_parses_to_the_same),
        cmocka_unit_test(test_two_appliers_differ_in_any_field),
        cmocka_unit_test(test_the_rate_follows_its_formula),
        cmocka_unit_test(test_the_rate_agrees_with_the_library),
        cmocka_unit_test(test_the_rate_has_these_bits),
        cmocka_unit_test(test_every_kind_of_loop_applies_with_the_bits_of_single_operations),
        cmocka_unit_test(test_every_kind_of_loop_also_keeps_what_it_added),
        cmocka_unit_test(test_what_was_added_is_what_the_value_gained),
        cmocka_unit_test(test_a_held_sum_that_would_not_be_finite_keeps_the_whole_element),
        cmocka_unit_test(test_without_held_it_is_the_same_as_ever),
        cmocka_unit_test(test_an_element_that_would_not_be_finite_keeps_value_and_state),
        cmocka_unit_test(test_a_run_is_the_same_bits_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
