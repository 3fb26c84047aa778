#include "app/bagofwords.h"

#include "app/option.h"
#include "app/scan.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    BAGOFWORDS_ENTRY_BYTES_MIN = 6, /* "1 1 1" and its end; the last may lack that. */
    BAGOFWORDS_MIX = 3,             /* Topics of a generated document. */
};

struct bagofwords_entry {
    uint32_t document;
    uint32_t word;
    uint32_t count;
};

/* Where in a file this worker's entries are; in most files others' are not between them. */
struct bagofwords_span {
    uint32_t entries;   /* Of all workers, by line 3. */
    struct scan from;   /* Before the first of this worker's. */
    uint64_t last_line; /* Of its last; zero: it has none. */
};

void bagofwords_deinit(struct bagofwords *b)
{
    mem_free(b->starts);
    mem_free(b->tokens);
    *b = (struct bagofwords){0};
}

static void bagofwords_set_part(struct bagofwords *b, uint32_t rank, uint32_t workers)
{
    uint64_t first, end;

    app_part(b->documents, rank, workers, &first, &end);
    b->first = (uint32_t)first;
    b->count = (uint32_t)(end - first);
}

/* One of the three numbers at the top, alone in its line. */
static enum err bagofwords_read_header(struct scan *s, const char *what, uint64_t max,
                                       uint32_t *out)
{
    uint64_t value;
    enum err rc;

    if (!scan_line(s)) {
        return scan_expected(s, what);
    }
    rc = scan_u64(s, what, 1, max, &value);
    if (rc == OK && !scan_at_end(s)) {
        rc = scan_expected(s, "nothing more: the first three lines have a number each");
    }
    if (rc == OK) {
        *out = (uint32_t)value;
    }
    return rc;
}

static enum err bagofwords_read_number(struct scan *s, const char *what, uint32_t max, bool last,
                                       uint32_t *out)
{
    uint64_t value;
    enum err rc = scan_u64(s, what, 1, max, &value);

    if (rc == OK && last && !scan_at_end(s)) {
        rc = scan_expected(s, "the end of the line");
    }
    if (rc == OK && !last && !scan_spaces(s)) {
        rc = scan_expected(s, "a space");
    }
    if (rc == OK) {
        *out = (uint32_t)value;
    }
    return rc;
}

static enum err bagofwords_read_entry(struct scan *s, const struct bagofwords *b,
                                      struct bagofwords_entry *out)
{
    enum err rc = bagofwords_read_number(s, "a document", b->documents, false, &out->document);

    if (rc == OK) {
        rc = bagofwords_read_number(s, "a word", b->words, false, &out->word);
    }
    if (rc == OK) {
        rc = bagofwords_read_number(s, "a count", BAGOFWORDS_COUNT_MAX, true, &out->count);
    }
    if (rc == OK) {
        out->document--;
        out->word--;
    }
    return rc;
}

static bool bagofwords_has(const struct bagofwords *b, uint32_t document)
{
    return document >= b->first && document - b->first < b->count;
}

/* Read all entries once: count the tokens of each of this worker's documents into .starts, one
 * place further on. */
static enum err bagofwords_survey(struct scan s, struct bagofwords *b, uint32_t tokens_max,
                                  struct bagofwords_span *span)
{
    struct scan before = s;
    struct bagofwords_entry e = {0};
    uint64_t tokens = 0;
    uint32_t found = 0;
    enum err rc = OK;

    for (; rc == OK && scan_line(&s); before = s) {
        rc = found < span->entries
                 ? bagofwords_read_entry(&s, b, &e)
                 : scan_error(&s, "more entries than the %u of line 3", span->entries);
        if (rc == OK && bagofwords_has(b, e.document)) {
            span->from = tokens == 0 ? before : span->from;
            span->last_line = s.line;
            b->starts[e.document - b->first + 1] += e.count;
            tokens += e.count;
        }
        if (rc == OK && tokens > tokens_max) {
            rc = err_text_set(s.text, ERR_TOO_BIG,
                              "%s:%llu: more than %u tokens for one worker; take more workers",
                              s.name, (unsigned long long)s.line, tokens_max);
        }
        found += rc == OK;
    }
    if (rc == OK && found < span->entries) {
        rc = scan_error(&s, "the file ends after %u entries, but line 3 says %u: it is cut off",
                        found, span->entries);
    }
    return rc;
}

/* Read this worker's again: put the tokens where they belong. .starts has where each document
 * starts, one place further on, and moves to where it ends: where the next one starts. */
static void bagofwords_fill(struct bagofwords_span *span, struct bagofwords *b)
{
    struct scan *s = &span->from;
    struct bagofwords_entry e;

    while (s->line < span->last_line && scan_line(s)) {
        CHECK(bagofwords_read_entry(s, b, &e) == OK);
        if (bagofwords_has(b, e.document)) {
            uint32_t *at = &b->starts[e.document - b->first + 1];

            for (uint32_t k = 0; k < e.count; k++) {
                b->tokens[(*at)++] = e.word;
            }
        }
    }
}

/* Turn counts, one place further on, into places where things start, one place further on. */
static uint32_t bagofwords_sum(uint32_t *starts, uint32_t count)
{
    uint32_t sum = 0;

    for (uint32_t i = 1; i <= count; i++) {
        uint32_t here = starts[i];

        starts[i] = sum;
        sum += here;
    }
    return sum;
}

static enum err bagofwords_read(struct scan *s, uint32_t tokens_max, uint32_t entries,
                                struct bagofwords *b)
{
    struct bagofwords_span span = {.entries = entries, .from = *s};
    enum err rc;

    b->starts = mem_calloc((size_t)b->count + 1, sizeof(*b->starts));
    if (b->starts == NULL) {
        return err_text_set(s->text, ERR_NOMEM, "%s: out of memory", s->name);
    }
    rc = bagofwords_survey(*s, b, tokens_max, &span);
    if (rc != OK) {
        return rc;
    }
    b->tokens = mem_calloc(bagofwords_sum(b->starts, b->count), sizeof(*b->tokens));
    if (b->tokens == NULL) {
        return err_text_set(s->text, ERR_NOMEM, "%s: out of memory", s->name);
    }
    bagofwords_fill(&span, b);
    return OK;
}

enum err bagofwords_parse(const char *name, const void *bytes, size_t size, uint32_t tokens_max,
                          uint32_t rank, uint32_t workers, struct bagofwords *out,
                          struct err_text *text)
{
    struct bagofwords b = {0};
    uint64_t entries_max = size / (BAGOFWORDS_ENTRY_BYTES_MIN - 1);
    uint32_t entries = 0;
    struct scan s;
    enum err rc;

    CHECK(tokens_max <= BAGOFWORDS_TOKENS_MAX);
    if (entries_max > UINT32_MAX) {
        entries_max = UINT32_MAX;
    }
    scan_init(&s, name, bytes, size, text);
    rc = bagofwords_read_header(&s, "how many documents there are", BAGOFWORDS_DOCUMENTS_MAX,
                                &b.documents);
    if (rc == OK) {
        rc = bagofwords_read_header(&s, "how many words there are", BAGOFWORDS_WORDS_MAX, &b.words);
    }
    if (rc == OK) {
        rc = bagofwords_read_header(&s, "how many entries follow", entries_max, &entries);
    }
    if (rc == OK) {
        bagofwords_set_part(&b, rank, workers);
        rc = bagofwords_read(&s, tokens_max, entries, &b);
    }
    if (rc != OK) {
        bagofwords_deinit(&b);
        return rc;
    }
    *out = b;
    return OK;
}

static int bagofwords_compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* A document's own numbers: the first one says how long it is. */
static struct rng bagofwords_document(const struct bagofwords_plan *plan, uint32_t document,
                                      uint32_t *tokens_out)
{
    struct rng seed, r;

    rng_init(&seed, plan->seed);
    r = rng_fork(&seed, document);
    *tokens_out = plan->tokens - plan->tokens / 2 +
                  (uint32_t)rng_below(&r, (uint64_t)plan->tokens / 2 * 2 + 1);
    return r;
}

/* Nine of ten words come from a topic: its window of the vocabulary, which overlaps the next one,
 * the first words more often. */
static uint32_t bagofwords_word(const struct bagofwords_plan *plan, const uint32_t *mix,
                                struct rng *r)
{
    uint64_t span = (uint64_t)plan->words * 2 / plan->topics;
    uint64_t die = rng_below(r, 10);
    uint32_t topic = mix[die < 6 ? 0 : die < 8 ? 1 : 2];
    double u = rng_unit(r);

    if (die == 9 || span < 2) {
        return (uint32_t)(u * plan->words);
    }
    return (uint32_t)(((uint64_t)topic * plan->words / plan->topics +
                       (uint64_t)(u * u * (double)span)) %
                      plan->words);
}

static void bagofwords_generate_document(const struct bagofwords_plan *plan, uint32_t document,
                                         uint32_t *tokens)
{
    uint32_t mix[BAGOFWORDS_MIX], count;
    struct rng r = bagofwords_document(plan, document, &count);

    for (uint32_t i = 0; i < BAGOFWORDS_MIX; i++) {
        mix[i] = (uint32_t)rng_below(&r, plan->topics);
    }
    for (uint32_t i = 0; i < count; i++) {
        tokens[i] = bagofwords_word(plan, mix, &r);
    }
    qsort(tokens, count, sizeof(*tokens), bagofwords_compare);
}

enum err bagofwords_generate(const struct bagofwords_plan *plan, uint32_t rank, uint32_t workers,
                             struct bagofwords *out)
{
    struct bagofwords b = {.documents = plan->documents, .words = plan->words};
    uint64_t tokens = 0;
    uint32_t count;

    bagofwords_set_part(&b, rank, workers);
    b.starts = mem_calloc((size_t)b.count + 1, sizeof(*b.starts));
    if (b.starts == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < b.count && tokens <= BAGOFWORDS_TOKENS_MAX; i++) {
        (void)bagofwords_document(plan, b.first + i, &count);
        tokens += count;
        b.starts[i + 1] = (uint32_t)tokens;
    }
    b.tokens = tokens <= BAGOFWORDS_TOKENS_MAX ? mem_calloc(tokens, sizeof(*b.tokens)) : NULL;
    if (b.tokens == NULL) {
        bagofwords_deinit(&b);
        return tokens <= BAGOFWORDS_TOKENS_MAX ? ERR_NOMEM : ERR_TOO_BIG;
    }
    for (uint32_t i = 0; i < b.count; i++) {
        bagofwords_generate_document(plan, b.first + i, b.tokens + b.starts[i]);
    }
    *out = b;
    return OK;
}
