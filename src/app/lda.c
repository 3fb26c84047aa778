/* Topic modelling: latent Dirichlet allocation by collapsed Gibbs sampling (G10).
 *
 * Every token has a topic; the counts are n_wk (tokens of word w with topic k: table "words", a row
 * per word) and n_k (table "topics"). In a clock a worker takes the next documents of its part,
 * draws a new topic for each token from
 *
 *     p(k) ~ (n_dk + alpha) (n_wk + beta) / (n_k + V beta), the token itself not counted,
 *
 * and pushes the differences of the counts, which are whole numbers. On its first visit to a
 * document the tokens have no topic yet, and the difference is the first count: so the tables start
 * from zero, and no clock is special. Counts read may be stale, even below zero for a while; then
 * they count as zero. A float is exact up to 2^24 tokens of one topic.
 *
 * The objective is log p(words, topics) per token. It is a sum of a part per document, which the
 * document's worker adds, and a part of the tables, which worker 0 adds alone. A token without a
 * topic adds -log(V K), as if both its word and its topic were drawn evenly.
 *
 * log() and lgamma() are those of libm, and only judge; the drawing uses + - * / alone, in a fixed
 * order, so the same calls give the same topics everywhere. */

#include "app/bagofwords.h"
#include "app/file.h"
#include "app/jobs.h"
#include "app/option.h"
#include "app/sparse.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum {
    LDA_LANES = 8, /* Partial sums of the weights of a draw. */
    LDA_TOPICS_MAX = 4096,
    LDA_NONE = UINT16_MAX,   /* A token without a topic. */
    LDA_FLOPS_PER_TOPIC = 6, /* Of a draw. */
    LDA_TABLE_WORDS = 0,
    LDA_TABLE_TOPICS = 1,
};

struct lda {
    struct app app;
    struct bagofwords data;
    struct sparse_set touched; /* Words of this clock. */
    uint64_t clock;            /* Which that is; zero: none yet. */
    uint32_t document_first;   /* Its documents, among this worker's. */
    uint32_t document_end;
    uint16_t *topics; /* By token. */
    float *counts;    /* By topic: tokens of the document at hand. */
    float *shares;    /* By topic: 1 / (n_k + V beta). */
    float *weights;   /* By topic: p(k) of the draw at hand, up to a factor. */
    uint32_t topic_count;
    uint32_t batch;
    float alpha;
    float beta;
    bool first_worker;
    struct rng rng;
};

/* Sums of a clock. */
struct lda_sums {
    uint64_t tokens;
    double log_likelihood;
    double product; /* Of likelihoods that are not in the sum yet: one logarithm for many. */
};

static const char *const lda_generated_keys[] = {"documents", "vocabulary", "tokens", "truth",
                                                 NULL};
static const char *const lda_keys[] = {"topics",     "alpha",  "beta",  "batch", "documents",
                                       "vocabulary", "tokens", "truth", NULL};

static void lda_destroy(struct app *app)
{
    struct lda *l = (struct lda *)app;

    if (l == NULL) {
        return;
    }
    bagofwords_deinit(&l->data);
    sparse_set_deinit(&l->touched);
    mem_free(l->topics);
    mem_free(l->counts);
    mem_free(l->shares);
    mem_free(l->weights);
    mem_free(l);
}

static enum err lda_load(struct lda *l, const struct app_config *c, struct err_text *text)
{
    uint8_t *bytes;
    size_t size;
    enum err rc = app_file_read(c->data, APP_FILE_BYTES_MAX, &bytes, &size, text);

    if (rc == OK) {
        rc = bagofwords_parse(c->data, bytes, size, BAGOFWORDS_TOKENS_MAX, c->rank, c->workers,
                              &l->data, text);
        mem_free(bytes);
    }
    return rc;
}

static enum err lda_generate(struct lda *l, const struct app_config *c, struct err_text *text)
{
    struct bagofwords_plan plan = {.seed = c->seed};
    enum err rc =
        app_option_u32(c, "documents", 2000, 1, BAGOFWORDS_DOCUMENTS_MAX, &plan.documents, text);

    if (rc == OK) {
        rc = app_option_u32(c, "vocabulary", 2000, 1, BAGOFWORDS_WORDS_MAX, &plan.words, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "tokens", 64, 1, 1 << 20, &plan.tokens, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "truth", 20, 1, LDA_TOPICS_MAX, &plan.topics, text);
    }
    if (rc == OK) {
        rc = bagofwords_generate(&plan, c->rank, c->workers, &l->data);
    }
    if (rc == ERR_TOO_BIG) {
        rc = err_text_set(text, rc,
                          "job %s: more than %d tokens for one worker; take fewer documents or "
                          "tokens, or more workers",
                          c->job, BAGOFWORDS_TOKENS_MAX);
    }
    return rc;
}

static enum err lda_read_options(struct lda *l, const struct app_config *c, struct err_text *text)
{
    double alpha = 0, beta = 0;
    enum err rc = app_option_check(c, lda_keys, text);

    if (rc == OK) {
        rc = app_option_generated(c, lda_generated_keys, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "topics", 20, 1, LDA_TOPICS_MAX, &l->topic_count, text);
    }
    if (rc == OK) {
        rc = app_option_double(c, "alpha", 0.1, 1e-6, 1e3, &alpha, text);
    }
    if (rc == OK) {
        rc = app_option_double(c, "beta", 0.01, 1e-6, 1e3, &beta, text);
    }
    if (rc == OK) {
        rc = app_option_u32(c, "batch", 50, 1, BAGOFWORDS_DOCUMENTS_MAX, &l->batch, text);
    }
    l->alpha = (float)alpha;
    l->beta = (float)beta;
    return rc;
}

static enum err lda_prepare(struct lda *l)
{
    uint32_t tokens = l->data.starts[l->data.count];
    enum err rc = sparse_set_init(&l->touched, l->data.words);

    if (rc != OK) {
        return rc;
    }
    l->topics = mem_calloc(tokens, sizeof(*l->topics));
    l->counts = mem_calloc(l->topic_count, sizeof(*l->counts));
    l->shares = mem_calloc(l->topic_count, sizeof(*l->shares));
    l->weights = mem_calloc(l->topic_count, sizeof(*l->weights));
    if (l->topics == NULL || l->counts == NULL || l->shares == NULL || l->weights == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < tokens; i++) {
        l->topics[i] = LDA_NONE;
    }
    return OK;
}

static enum err lda_create(const struct app_config *c, struct app **app_out, struct err_text *text)
{
    struct lda *l = mem_zalloc(sizeof(*l));
    enum err rc;

    if (l == NULL) {
        return err_text_set(text, ERR_NOMEM, "job %s: out of memory", c->job);
    }
    l->app.ops = &app_lda;
    l->first_worker = c->rank == 0;
    rng_init(&l->rng, c->seed);
    rc = lda_read_options(l, c, text);
    if (rc == OK) {
        rc = app_option_data(c) == NULL ? lda_generate(l, c, text) : lda_load(l, c, text);
    }
    if (rc == OK) {
        rc = lda_prepare(l);
    }
    if (rc != OK) {
        lda_destroy(&l->app);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "job %s: out of memory", c->job) : rc;
    }
    *app_out = &l->app;
    return OK;
}

static uint32_t lda_tables(const struct app *app, struct app_table *tables_out)
{
    const struct lda *l = (const struct lda *)app;

    tables_out[LDA_TABLE_WORDS] = (struct app_table){.name = "words",
                                                     .rows = l->data.words,
                                                     .width = l->topic_count,
                                                     .access = APP_ROWS,
                                                     .init = "zeros",
                                                     .apply = "add",
                                                     .combine = "sum"};
    tables_out[LDA_TABLE_TOPICS] = (struct app_table){.name = "topics",
                                                      .rows = 1,
                                                      .width = l->topic_count,
                                                      .access = APP_DENSE,
                                                      .init = "zeros",
                                                      .apply = "add",
                                                      .combine = "sum"};
    return 2;
}

static uint64_t lda_clocks_per_pass(const struct lda *l)
{
    return ((uint64_t)l->data.count + l->batch - 1) / l->batch;
}

/* Find the documents of a clock and the words in them. */
static void lda_seek(struct lda *l, uint64_t clock)
{
    uint32_t place;

    if (clock == l->clock) {
        return;
    }
    l->clock = clock;
    if (l->data.count > 0) {
        place = (uint32_t)((clock - 1) % lda_clocks_per_pass(l));
        l->document_first = place * l->batch;
        l->document_end = l->data.count - l->document_first < l->batch
                              ? l->data.count
                              : l->document_first + l->batch;
    }
    for (uint32_t i = l->data.starts[l->document_first]; i < l->data.starts[l->document_end]; i++) {
        sparse_set_add(&l->touched, l->data.tokens[i]);
    }
    sparse_set_list(&l->touched);
}

static enum err lda_rows(struct app *app, uint64_t clock, uint32_t table, const uint32_t **rows_out,
                         uint32_t *count_out)
{
    struct lda *l = (struct lda *)app;

    CHECK(table == LDA_TABLE_WORDS);
    lda_seek(l, clock);
    *rows_out = l->touched.rows;
    *count_out = l->touched.count;
    return OK;
}

static float lda_positive(float count)
{
    return count > 0 ? count : 0;
}

/* Add @change to a topic's count and keep its share in step. */
static void lda_count(struct lda *l, float *topics, uint32_t topic, float change)
{
    topics[topic] += change;
    l->shares[topic] = 1 / (lda_positive(topics[topic]) + (float)l->data.words * l->beta);
}

/* Four floats at once, from any place. */
typedef float lda_four __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t lda_mask __attribute__((vector_size(16)));

static lda_four lda_weigh_four(const struct lda *l, const float *word, uint32_t k)
{
    lda_four n = *(const lda_four *)(word + k);
    lda_four w;

    n = (lda_four)((lda_mask)n & (lda_mask)(n > 0));
    w = (*(const lda_four *)(l->counts + k) + l->alpha) * (n + l->beta) *
        *(const lda_four *)(l->shares + k);
    *(lda_four *)(l->weights + k) = w;
    return w;
}

/* Write p(k), up to a factor, of a token whose word has the row @word; topic k is in lane k % 8,
 * and @lanes gets the sum of each lane. */
static void lda_weigh(const struct lda *l, const float *word, float *lanes)
{
    lda_four low = {0}, high = {0};
    uint32_t k = 0;

    for (; k + LDA_LANES <= l->topic_count; k += LDA_LANES) {
        low += lda_weigh_four(l, word, k);
        high += lda_weigh_four(l, word, k + 4);
    }
    memcpy(lanes, &low, sizeof(low));
    memcpy(lanes + 4, &high, sizeof(high));
    for (uint32_t j = 0; k < l->topic_count; j++, k++) {
        l->weights[k] =
            (l->counts[k] + l->alpha) * (lda_positive(word[k]) + l->beta) * l->shares[k];
        lanes[j] += l->weights[k];
    }
}

/* Walk @at, which is below the sum of all weights, lane by lane, then along the lane. Rounding may
 * leave a little at the end: then it is the last topic that can be. */
static uint32_t lda_pick(const struct lda *l, const float *lanes, float at)
{
    uint32_t last = (l->topic_count < LDA_LANES ? l->topic_count : LDA_LANES) - 1;
    uint32_t topic = 0;

    for (; topic < last && at >= lanes[topic]; topic++) {
        at -= lanes[topic];
    }
    for (; topic + LDA_LANES < l->topic_count && at >= l->weights[topic]; topic += LDA_LANES) {
        at -= l->weights[topic];
    }
    return topic;
}

/* Draw a topic for a token of a document with @others other tokens that have one. */
static uint32_t lda_draw(const struct lda *l, const float *word, uint32_t others, struct rng *r,
                         struct lda_sums *sums)
{
    float lanes[LDA_LANES], sum = 0;

    lda_weigh(l, word, lanes);
    for (uint32_t j = 0; j < LDA_LANES; j++) {
        sum += lanes[j];
    }
    sums->product *= (double)sum / ((double)others + (double)l->alpha * l->topic_count);
    if (sums->product < 1e-200) {
        sums->log_likelihood += log(sums->product);
        sums->product = 1;
    }
    return lda_pick(l, lanes, (float)(rng_unit(r) * (double)sum));
}

/* Draw new topics for the tokens of a document. @words are the rows of this clock, @topics the
 * sums; both change at once, so that the next token sees it. */
static void lda_visit(struct lda *l, uint32_t document, float *words, float *topics,
                      struct lda_sums *sums)
{
    uint32_t first = l->data.starts[document], end = l->data.starts[document + 1];
    struct rng own = rng_fork(&l->rng, l->data.first + document);
    struct rng r = rng_fork(&own, (l->clock - 1) / lda_clocks_per_pass(l));
    uint32_t assigned = 0;

    memset(l->counts, 0, l->topic_count * sizeof(*l->counts));
    for (uint32_t i = first; i < end; i++) {
        if (l->topics[i] != LDA_NONE) {
            l->counts[l->topics[i]]++;
            assigned++;
        }
    }
    for (uint32_t i = first; i < end; i++) {
        float *word =
            words + (size_t)sparse_set_slot(&l->touched, l->data.tokens[i]) * l->topic_count;
        uint32_t topic = l->topics[i];

        if (topic != LDA_NONE) {
            l->counts[topic]--;
            word[topic]--;
            lda_count(l, topics, topic, -1);
            assigned--;
        }
        topic = lda_draw(l, word, assigned, &r, sums);
        l->topics[i] = (uint16_t)topic;
        l->counts[topic]++;
        word[topic]++;
        lda_count(l, topics, topic, 1);
        assigned++;
    }
    sums->tokens += end - first;
}

/* Make a copy to work on in the place of the update, and, later, the update of it. */
static void lda_begin_update(const struct app_view *v, size_t elements)
{
    if (elements > 0) {
        memcpy(v->update, v->values, elements * sizeof(float));
    }
}

static void lda_end_update(const struct app_view *v, size_t elements)
{
    for (size_t k = 0; k < elements; k++) {
        v->update[k] -= v->values[k];
    }
}

static enum err lda_step(struct app *app, struct app_view *views, struct app_step *step)
{
    struct lda *l = (struct lda *)app;
    const struct app_view *words = &views[LDA_TABLE_WORDS], *topics = &views[LDA_TABLE_TOPICS];
    struct lda_sums sums = {.product = 1};

    lda_seek(l, step->clock);
    CHECK(words->row_count == l->touched.count);
    lda_begin_update(words, (size_t)words->row_count * l->topic_count);
    lda_begin_update(topics, l->topic_count);
    for (uint32_t k = 0; k < l->topic_count; k++) {
        lda_count(l, topics->update, k, 0);
    }
    for (uint32_t d = l->document_first; d < l->document_end; d++) {
        lda_visit(l, d, words->update, topics->update, &sums);
    }
    lda_end_update(words, (size_t)words->row_count * l->topic_count);
    lda_end_update(topics, l->topic_count);
    step->samples = sums.tokens == 0 ? 1 : (uint32_t)sums.tokens;
    step->loss_sum = -(sums.log_likelihood + log(sums.product));
    step->flops = (double)sums.tokens * l->topic_count * LDA_FLOPS_PER_TOPIC;
    return OK;
}

/* lgamma() without its global sign, which is no concern of positive numbers. */
static double lda_lgamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

/* lgamma(prior + count) - lgamma(prior): most counts are zero. */
static double lda_rise(float count, double prior)
{
    return count > 0 ? lda_lgamma(prior + (double)count) - lda_lgamma(prior) : 0;
}

/* log p(topics of the document), and what its tokens without a topic add. */
static double lda_judge_document(struct lda *l, uint32_t document)
{
    double alpha = (double)l->alpha, all = alpha * l->topic_count, sum = 0;
    uint32_t first = l->data.starts[document], end = l->data.starts[document + 1];
    uint32_t assigned = 0;

    memset(l->counts, 0, l->topic_count * sizeof(*l->counts));
    for (uint32_t i = first; i < end; i++) {
        if (l->topics[i] != LDA_NONE) {
            l->counts[l->topics[i]]++;
            assigned++;
        }
    }
    for (uint32_t k = 0; k < l->topic_count; k++) {
        sum += lda_rise(l->counts[k], alpha);
    }
    return sum - lda_rise((float)assigned, all) -
           (double)(end - first - assigned) * log((double)l->data.words * l->topic_count);
}

/* log p(words of the tokens, given their topics). */
static double lda_judge_tables(const struct lda *l, const float *words, const float *topics)
{
    double beta = (double)l->beta, sum = 0;
    size_t elements = (size_t)l->data.words * l->topic_count;

    for (size_t i = 0; i < elements; i++) {
        sum += lda_rise(words[i], beta);
    }
    for (uint32_t k = 0; k < l->topic_count; k++) {
        sum -= lda_rise(topics[k], beta * l->data.words);
    }
    return sum;
}

static enum err lda_evaluate(struct app *app, const struct app_view *views, struct app_score *score)
{
    struct lda *l = (struct lda *)app;
    struct app_score total = {.count = l->data.starts[l->data.count]};

    for (uint32_t d = 0; d < l->data.count; d++) {
        total.objective_sum += lda_judge_document(l, d);
    }
    if (l->first_worker) {
        total.objective_sum +=
            lda_judge_tables(l, views[LDA_TABLE_WORDS].values, views[LDA_TABLE_TOPICS].values);
    }
    *score = total;
    return OK;
}

/* The state: the topic of each token, two bytes. */

static uint64_t lda_state_size(const struct app *app)
{
    const struct lda *l = (const struct lda *)app;

    return l->data.starts[l->data.count] * sizeof(*l->topics);
}

static uint64_t lda_state_about(const struct app *app)
{
    const struct lda *l = (const struct lda *)app;
    const uint32_t *starts = l->data.starts, *tokens = l->data.tokens;
    uint64_t parts[] = {l->data.words, l->data.first, l->topic_count,
                        hash_bytes(starts, (l->data.count + UINT64_C(1)) * sizeof(*starts)),
                        hash_bytes(tokens, starts[l->data.count] * sizeof(*tokens))};

    return hash_bytes(parts, sizeof(parts));
}

static void lda_state_save(const struct app *app, uint64_t offset, uint8_t *out, size_t size)
{
    memcpy(out, (const uint8_t *)((const struct lda *)app)->topics + offset, size);
}

static enum err lda_state_load(struct app *app, uint64_t offset, const uint8_t *bytes, size_t size)
{
    struct lda *l = (struct lda *)app;
    size_t first = (size_t)(offset / sizeof(*l->topics));

    for (size_t i = 0; i < size / sizeof(*l->topics); i++) {
        uint16_t topic = bytes_load16(bytes + i * sizeof(topic));

        if (topic >= l->topic_count && topic != LDA_NONE) {
            return ERR_CORRUPT;
        }
        l->topics[first + i] = topic;
    }
    return OK;
}

static const struct app_state_ops lda_state = {
    .exact = true,
    .size = lda_state_size,
    .about = lda_state_about,
    .save = lda_state_save,
    .load = lda_state_load,
};

const struct app_ops app_lda = {
    .name = "lda",
    .summary = "topics of documents by collapsed Gibbs sampling",
    .objective = "log likelihood per token",
    .rising = true,
    .options_help = "topics=20 how many to find\n"
                    "alpha=0.1 prior of the topics of a document\n"
                    "beta=0.01 prior of the words of a topic\n"
                    "batch=50 documents per clock and worker\n"
                    "documents=2000 generated data: documents\n"
                    "vocabulary=2000 generated data: words\n"
                    "tokens=64 generated data: tokens of a document, on average\n"
                    "truth=20 generated data: topics\n",
    .create = lda_create,
    .destroy = lda_destroy,
    .tables = lda_tables,
    .rows = lda_rows,
    .step = lda_step,
    .evaluate = lda_evaluate,
    .state = &lda_state,
};
