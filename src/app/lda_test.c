/* The job lda: against a plain serial program, count for count; several workers in lock-step, whose
 * counts must stay those of the corpus; stale counts; odd data. */

#include "app/bagofwords.h"
#include "app/job_testing.h"
#include "app/jobs.h"

enum { DOCUMENTS = 60, WORDS = 50, TOKENS = 20, TRUTH = 5, SEED = 12 };

#define SIZES                                                                                      \
    {"documents", "60", 0}, {"vocabulary", "50", 0}, {"tokens", "20", 0},                          \
    {                                                                                              \
        "truth", "5", 0                                                                            \
    }

static struct app_config config_of(const struct app_option *options, uint32_t count,
                                   uint32_t workers)
{
    return (struct app_config){
        .workers = workers, .seed = SEED, .options = options, .option_count = count};
}

/* The same job as a program of its own: plain counts, a step per token. */
struct serial {
    struct bagofwords data;
    uint32_t topics;
    int *z; /* By token; -1: none. */
    int *nwk;
    int *nk;
    float alpha, beta;
    struct rng rng;
};

static void serial_open(struct serial *s, uint32_t topics)
{
    const struct bagofwords_plan plan = {
        .documents = DOCUMENTS, .words = WORDS, .topics = TRUTH, .tokens = TOKENS, .seed = SEED};

    *s = (struct serial){.topics = topics, .alpha = 0.2f, .beta = 0.05f};
    assert_int_equal(bagofwords_generate(&plan, 0, 1, &s->data), OK);
    s->z = testing_array(s->data.starts[DOCUMENTS], sizeof(int));
    s->nwk = testing_array((size_t)WORDS * topics, sizeof(int));
    s->nk = testing_array(topics, sizeof(int));
    for (uint32_t i = 0; i < s->data.starts[DOCUMENTS]; i++) {
        s->z[i] = -1;
    }
    rng_init(&s->rng, SEED);
}

static void serial_close(struct serial *s)
{
    bagofwords_deinit(&s->data);
    free(s->z);
    free(s->nwk);
    free(s->nk);
}

/* How many tokens of the document have topic @k; -1: none. */
static int serial_ndk(const struct serial *s, uint32_t document, int k)
{
    int count = 0;

    for (uint32_t i = s->data.starts[document]; i < s->data.starts[document + 1]; i++) {
        count += s->z[i] == k;
    }
    return count;
}

/* Draw: first one of eight lanes by its sum, then a topic in it. */
static int serial_draw(const float *p, int topics, double unit)
{
    float lane[8] = {0}, sum = 0, at;
    int j = 0, k;

    for (k = 0; k < topics; k++) {
        lane[k % 8] += p[k];
    }
    for (k = 0; k < 8; k++) {
        sum += lane[k];
    }
    at = (float)(unit * (double)sum);
    while (j + 1 < 8 && j + 1 < topics && at >= lane[j]) {
        at -= lane[j];
        j++;
    }
    for (k = j; k + 8 < topics && at >= p[k]; k += 8) {
        at -= p[k];
    }
    return k;
}

/* Returns minus the log of what the tokens were worth before they were drawn. */
static double serial_visit(struct serial *s, uint32_t document, uint64_t pass)
{
    struct rng own = rng_fork(&s->rng, document);
    struct rng r = rng_fork(&own, pass);
    float *p = testing_array(s->topics, sizeof(float));
    double loss = 0;

    for (uint32_t i = s->data.starts[document]; i < s->data.starts[document + 1]; i++) {
        int *row = s->nwk + (size_t)s->data.tokens[i] * s->topics;
        double sum = 0, all = 0;

        if (s->z[i] >= 0) {
            row[s->z[i]]--;
            s->nk[s->z[i]]--;
            s->z[i] = -1;
        }
        for (uint32_t k = 0; k < s->topics; k++) {
            int ndk = serial_ndk(s, document, (int)k);

            p[k] = ((float)ndk + s->alpha) * ((float)row[k] + s->beta) *
                   (1 / ((float)s->nk[k] + (float)WORDS * s->beta));
            sum += (double)p[k];
            all += ndk + (double)s->alpha;
        }
        loss -= log(sum / all);
        s->z[i] = serial_draw(p, (int)s->topics, rng_unit(&r));
        row[s->z[i]]++;
        s->nk[s->z[i]]++;
    }
    free(p);
    return loss;
}

/* log p(words, topics) by the book, with what tokens without a topic add. */
static double serial_objective(const struct serial *s)
{
    double a = (double)s->alpha, b = (double)s->beta, sum = 0, k_count = s->topics;

    for (uint32_t k = 0; k < s->topics; k++) {
        sum += lgamma(WORDS * b) - WORDS * lgamma(b) - lgamma(WORDS * b + s->nk[k]);
        for (uint32_t w = 0; w < WORDS; w++) {
            sum += lgamma(b + s->nwk[w * s->topics + k]);
        }
    }
    for (uint32_t d = 0; d < DOCUMENTS; d++) {
        int none = serial_ndk(s, d, -1);
        int all = (int)(s->data.starts[d + 1] - s->data.starts[d]) - none;

        sum += lgamma(k_count * a) - k_count * lgamma(a) - lgamma(k_count * a + all);
        for (uint32_t k = 0; k < s->topics; k++) {
            sum += lgamma(a + serial_ndk(s, d, (int)k));
        }
        sum -= none * log(WORDS * k_count);
    }
    return sum / s->data.starts[DOCUMENTS];
}

static void assert_counts(const struct testing_cluster *c, const struct serial *s)
{
    for (uint32_t k = 0; k < s->topics; k++) {
        assert_true(c->tables[1].values[k] == (float)s->nk[k]);
        for (uint32_t w = 0; w < WORDS; w++) {
            assert_true(c->tables[0].values[w * s->topics + k] == (float)s->nwk[w * s->topics + k]);
        }
    }
}

static void test_one_worker_equals_a_serial_program_count_for_count(void **state)
{
    static const uint32_t topics[] = {1, 2, 7, 8, 9, 24, 37};

    (void)state;
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
        char number[8];
        const struct app_option options[] = {SIZES,
                                             {"topics", number, 0},
                                             {"alpha", "0.2", 0},
                                             {"beta", "0.05", 0},
                                             {"batch", "7", 0}};
        struct app_config config = config_of(options, 8, 1);
        struct testing_cluster c;
        struct serial s;

        (void)snprintf(number, sizeof(number), "%u", topics[i]);
        testing_open(&c, &app_lda, &config);
        serial_open(&s, topics[i]);
        assert_true(fabs(testing_objective(&c) - serial_objective(&s)) < 1e-9);
        assert_true(fabs(testing_objective(&c) + log(WORDS * (double)topics[i])) < 1e-9);
        for (uint32_t clock = 0; clock < 40; clock++) {
            uint32_t first = clock % 9 * 7;
            double loss = 0;

            testing_round(&c);
            for (uint32_t d = first; d < first + 7 && d < DOCUMENTS; d++) {
                loss += serial_visit(&s, d, clock / 9);
            }
            assert_counts(&c, &s);
            assert_true(fabs(c.total.loss_sum - loss) < 1e-5 * loss);
            assert_true(fabs(testing_objective(&c) - serial_objective(&s)) < 1e-9);
        }
        serial_close(&s);
        testing_close(&c);
    }
}

/* After each round the tables hold exactly the tokens that were visited: nothing is lost, nothing
 * is counted twice (I8). */
static void test_counts_are_those_of_the_corpus(void **state)
{
    const struct app_option options[] = {SIZES, {"topics", "11", 0}, {"batch", "3", 0}};
    struct app_config config = config_of(options, 6, 4);
    struct testing_cluster c;
    struct serial s;

    (void)state;
    testing_open(&c, &app_lda, &config);
    serial_open(&s, 11);
    for (uint32_t clock = 1; clock <= 20; clock++) {
        uint32_t expected[WORDS] = {0};

        testing_round(&c);
        /* Worker w has the 15 documents from 15 w on, and takes 3 a clock. */
        for (uint32_t d = 0; d < DOCUMENTS; d++) {
            for (uint32_t i = s.data.starts[d]; d % 15 < clock * 3 && i < s.data.starts[d + 1];
                 i++) {
                expected[s.data.tokens[i]]++;
            }
        }
        for (uint32_t k = 0; k < 11; k++) {
            float sum = 0;

            for (uint32_t w = 0; w < WORDS; w++) {
                assert_true(c.tables[0].values[w * 11 + k] >= 0);
                sum += c.tables[0].values[w * 11 + k];
            }
            assert_true(sum == c.tables[1].values[k]);
        }
        for (uint32_t w = 0; w < WORDS; w++) {
            float sum = 0;

            for (uint32_t k = 0; k < 11; k++) {
                sum += c.tables[0].values[w * 11 + k];
            }
            assert_true(sum == (float)expected[w]);
        }
    }
    serial_close(&s);
    testing_close(&c);
}

/* The mean over the last 20 of 120 passes, for it wanders. */
static double objective_after(uint32_t workers, const char *batch)
{
    const struct app_option options[] = {SIZES, {"topics", "5", 0}, {"batch", batch, 0}};
    struct app_config config = config_of(options, 6, workers);
    struct testing_cluster c;
    double sum = 0;

    testing_open(&c, &app_lda, &config);
    testing_rounds(&c, 100 * 10);
    for (uint32_t i = 0; i < 20; i++) {
        testing_rounds(&c, 10);
        sum += testing_objective(&c);
    }
    testing_close(&c);
    return sum / 20;
}

/* The same number of documents per clock in all. Within 2 %. */
static void test_workers_in_lock_step_reach_the_serial_objective(void **state)
{
    double serial = objective_after(1, "6");

    (void)state;
    assert_true(serial > -4.6 && serial < 0);
    assert_true(fabs(objective_after(2, "3") / serial - 1) < 0.02);
    assert_true(fabs(objective_after(6, "1") / serial - 1) < 0.02);
}

static void test_the_objective_rises(void **state)
{
    struct app_config config = config_of(NULL, 0, 22);
    struct testing_cluster c;
    double before, after;

    (void)state;
    testing_open(&c, &app_lda, &config);
    before = testing_objective(&c);
    for (uint32_t i = 0; i < 4; i++) {
        testing_rounds(&c, 10);
        after = testing_objective(&c);
        assert_true(after > before);
        before = after;
    }
    testing_close(&c);
}

/* What a stale read may show: counts below zero, and fractions. */
static void test_stale_counts_do_no_harm(void **state)
{
    const struct app_option options[] = {SIZES, {"topics", "13", 0}, {"batch", "20", 0}};
    struct app_config config = config_of(options, 6, 1);
    struct testing_cluster c;
    struct rng r;

    (void)state;
    testing_open(&c, &app_lda, &config);
    rng_init(&r, 2);
    for (uint32_t round = 0; round < 30; round++) {
        for (uint32_t t = 0; t < 2; t++) {
            for (size_t i = 0; i < c.tables[t].elements; i++) {
                c.tables[t].values[i] = (float)rng_between(&r, -40, 40) / 4;
            }
        }
        testing_round(&c);
        assert_true(isfinite(c.total.loss_sum) && isfinite(testing_objective(&c)));
    }
    testing_close(&c);
}

/* All topics can be drawn, also when weights differ by many orders of magnitude. */
static void test_every_topic_is_drawn(void **state)
{
    static const char *const numbers[] = {"2", "8", "20"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const struct app_option options[] = {
            SIZES, {"topics", numbers[i], 0}, {"batch", "60", 0}, {"alpha", "1000", 0}};
        struct app_config config = config_of(options, 7, 1);
        struct testing_cluster c;

        testing_open(&c, &app_lda, &config);
        testing_round(&c);
        for (size_t k = 0; k < c.tables[1].elements; k++) {
            assert_true(c.tables[1].values[k] > 0);
        }
        testing_close(&c);
    }
}

/* Two kinds of documents with words of their own, one empty document, one worker without any. */
static void test_files_are_read_and_their_topics_found(void **state)
{
    static const struct app_option options[] = {{"topics", "2", 0}, {"batch", "1", 0}};
    struct testing_file f;
    struct app_config config = config_of(options, 2, 6);
    struct testing_cluster c;
    const float *w;

    (void)state;
    testing_file_make(&f,
                      "5\n4\n8\n1 1 30\n1 2 30\n2 3 30\n2 4 30\n4 1 30\n4 2 30\n5 3 30\n5 4 30\n");
    config.data = f.path;
    testing_open(&c, &app_lda, &config);
    assert_int_equal(c.tables[0].is.rows, 4);
    testing_rounds(&c, 200);
    w = c.tables[0].values;
    assert_true((w[0] == 60 && w[2] == 60 && w[5] == 60 && w[7] == 60) ||
                (w[1] == 60 && w[3] == 60 && w[4] == 60 && w[6] == 60));
    assert_true(testing_evaluate(&c).count == 240);
    testing_close(&c);
    testing_file_remove(&f);
}

static void test_one_token_is_enough(void **state)
{
    static const struct app_option options[] = {
        {"documents", "1", 0}, {"vocabulary", "1", 0}, {"tokens", "1", 0}, {"truth", "1", 0}};
    struct app_config config = config_of(options, 4, 3);
    struct testing_cluster c;

    (void)state;
    testing_open(&c, &app_lda, &config);
    testing_rounds(&c, 10);
    assert_true(testing_evaluate(&c).count == 1);
    testing_close(&c);
}

static void test_bad_files_are_refused(void **state)
{
    (void)state;
    testing_file_refused(&app_lda, "2\n3\n1\n1 4 1\n", ":4: expected a word");
}

static void test_bad_options_are_refused(void **state)
{
    static const struct testing_bad_option bad[] = {
        {{"topics", "4097", 0}, "job lda, option topics: '4097' is not"},
        {{"alpha", "0", 0}, "job lda, option alpha: '0' is not"},
        {{"beta", "0", 0}, "job lda, option beta: '0' is not"},
        {{"batch", "0", 0}, "job lda, option batch: '0' is not"},
        {{"documents", "0", 0}, "job lda, option documents: '0' is not"},
        {{"vocabulary", "0", 0}, "job lda, option vocabulary: '0' is not"},
        {{"tokens", "0", 0}, "job lda, option tokens: '0' is not"},
        {{"truth", "0", 0}, "job lda, option truth: '0' is not"},
        {{"topic", "1", 0}, "job lda, option topic: it has no such option; did you mean 'topics'?"},
    };

    (void)state;
    testing_options_refused(&app_lda, bad, sizeof(bad) / sizeof(bad[0]));
}

static void test_too_much_for_one_worker_is_refused(void **state)
{
    static const struct app_option options[] = {{"documents", "2000", 0}, {"tokens", "1048576", 0}};
    struct app_config config = config_of(options, 2, 1);
    struct err_text text;
    struct app *app;

    (void)state;
    config.job = "lda";
    assert_int_equal(app_lda.create(&config, &app, &text), ERR_TOO_BIG);
    assert_non_null(strstr(text.text, "or more workers"));
}

static void test_out_of_memory_at_every_allocation(void **state)
{
    const struct app_option options[] = {SIZES};
    struct app_config config = config_of(options, 4, 2);

    (void)state;
    testing_memory_fails_clean(&app_lda, &config, "2\n3\n1\n1 2 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker_equals_a_serial_program_count_for_count),
        cmocka_unit_test(test_counts_are_those_of_the_corpus),
        cmocka_unit_test(test_workers_in_lock_step_reach_the_serial_objective),
        cmocka_unit_test(test_the_objective_rises),
        cmocka_unit_test(test_stale_counts_do_no_harm),
        cmocka_unit_test(test_every_topic_is_drawn),
        cmocka_unit_test(test_files_are_read_and_their_topics_found),
        cmocka_unit_test(test_one_token_is_enough),
        cmocka_unit_test(test_bad_files_are_refused),
        cmocka_unit_test(test_bad_options_are_refused),
        cmocka_unit_test(test_too_much_for_one_worker_is_refused),
        cmocka_unit_test(test_out_of_memory_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
