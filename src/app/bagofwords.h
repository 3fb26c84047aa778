/* Documents as bags of words, as the job lda wants them: read from a file or generated.
 *
 * Files are in the format of the UCI bag-of-words collection (docword.NAME.txt): three lines with
 * the number of documents, of words in the vocabulary and of entries, then a line "document word
 * count" per entry, in any order; documents and words are numbered from 1 there, from 0 here.
 *
 * A worker holds its part of the documents only: they are divided in the order of their numbers. */

#ifndef APP_BAGOFWORDS_H
#define APP_BAGOFWORDS_H

#include "base/err.h"

#include <stdint.h>

enum {
    BAGOFWORDS_DOCUMENTS_MAX = 1 << 24,
    BAGOFWORDS_WORDS_MAX = 1 << 24,
    BAGOFWORDS_COUNT_MAX = 1 << 16,  /* Of one word in one document, in a line. */
    BAGOFWORDS_TOKENS_MAX = 1 << 29, /* Of one worker. */
};

struct bagofwords {
    uint32_t documents; /* Of all workers. */
    uint32_t words;     /* In the vocabulary. */
    uint32_t first;     /* This worker's first document ... */
    uint32_t count;     /* ... and how many it has; some may be empty. */
    uint32_t *starts;   /* count + 1: where the tokens of a document start. */
    uint32_t *tokens;   /* The word of each. */
};

/* What to generate: each document mixes three of the topics, each topic prefers the words of its
 * part of the vocabulary. */
struct bagofwords_plan {
    uint32_t documents;
    uint32_t words;
    uint32_t topics;
    uint32_t tokens; /* Of a document, on average. */
    uint64_t seed;
};

/* Read the part of worker @rank of @workers, of at most @tokens_max tokens. @name is the file's,
 * for errors. ERR_MALFORMED with line and reason, ERR_TOO_BIG, ERR_NOMEM. The caller owns
 * *@out. */
MUST_USE enum err bagofwords_parse(const char *name, const void *bytes, size_t size,
                                   uint32_t tokens_max, uint32_t rank, uint32_t workers,
                                   struct bagofwords *out, struct err_text *text);

/* Generate that part; the whole does not depend on @workers. ERR_TOO_BIG, ERR_NOMEM. */
MUST_USE enum err bagofwords_generate(const struct bagofwords_plan *plan, uint32_t rank,
                                      uint32_t workers, struct bagofwords *out);

void bagofwords_deinit(struct bagofwords *b);

#endif
