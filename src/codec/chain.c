#include "codec/chain.h"

#include "base/text.h"
#include "codec/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHAIN_TEXT_MAX = 256, /* Longer ones are nothing that people write. */
    CHAIN_NUMBER_BYTES = 32,
};

/* In the order in which they are written. */
enum chain_stage { CHAIN_NOTHING, CHAIN_CUT, CHAIN_FORM, CHAIN_HALF, CHAIN_SQUEEZE };

static const char *const chain_cuts[CODEC_CUTS] = {"all", "dvf", "norm"};
static const char *const chain_forms[CODEC_FORMS] = {"auto",   "dense", "sparse",
                                                     "bitmap", "gaps",  "paper"};
static const char *const chain_squeezes[CODEC_SQUEEZES + 1] = {"plain", "snappy", "lz4", "zstd",
                                                               "auto"};

const char *codec_form_name(enum codec_form form)
{
    return chain_forms[form];
}

const char *codec_squeeze_name(enum codec_squeeze squeeze)
{
    return chain_squeezes[squeeze];
}

/* Return where @word is in the first @count of @words, or @count. */
static uint32_t chain_find(const char *const *words, uint32_t count, const char *word)
{
    uint32_t i = 0;

    while (i < count && strcmp(words[i], word) != 0) {
        i++;
    }
    return i;
}

/* Without the blanks around it. */
static char *chain_trim(char *word)
{
    size_t size;

    word += strspn(word, " \t");
    size = strlen(word);
    while (size > 0 && strchr(" \t", word[size - 1]) != NULL) {
        size--;
    }
    word[size] = '\0';
    return word;
}

/* @word is "@name=NUMBER". */
static enum err chain_number(const char *in, const char *word, const char *name, float *out,
                             struct err_text *text)
{
    size_t size = strlen(name);
    char *end = NULL;
    double value;

    if (strncmp(word, name, size) != 0 || word[size] != '=') {
        return err_text_set(text, ERR_INVALID,
                            "chain '%.100s': '%.50s' is unknown; write delta=NUMBER, or "
                            "low=NUMBER,up=NUMBER",
                            in, word);
    }
    value = strtod(word + size + 1, &end);
    if (strspn(word + size + 1, "0123456789.eE+-") != strlen(word + size + 1) ||
        end == word + size + 1 || *end != '\0' || !(value >= 0) ||
        value > (double)CODEC_THRESHOLD_MAX) {
        return err_text_set(text, ERR_INVALID,
                            "chain '%.100s': '%.50s': %s must be a number from 0 to %.0f", in, word,
                            name, (double)CODEC_THRESHOLD_MAX);
    }
    *out = (float)value + 0.0F; /* No -0.0. */
    return OK;
}

/* Behind the colon of a cut. */
static enum err chain_thresholds(const char *in, char *words, struct codec_chain *chain,
                                 struct err_text *text)
{
    const char *first = strsep(&words, ",");
    enum err rc;

    if (words == NULL && strncmp(first, "low=", 4) != 0) {
        rc = chain_number(in, first, "delta", &chain->low, text);
        chain->up = chain->low;
        return rc;
    }
    rc = chain_number(in, first, "low", &chain->low, text);
    if (rc == OK) {
        rc = chain_number(in, words == NULL ? "" : words, "up", &chain->up, text);
    }
    if (rc == OK && chain->low > chain->up) {
        return err_text_set(text, ERR_INVALID, "chain '%.100s': low must not be above up", in);
    }
    return rc;
}

static enum err chain_cut(const char *in, char *word, struct codec_chain *chain,
                          struct err_text *text)
{
    char *thresholds = word;
    const char *name = strsep(&thresholds, ":");

    chain->cut = (enum codec_cut)chain_find(chain_cuts, CODEC_CUTS, name);
    if (chain->cut == CODEC_CUT_NONE) {
        return thresholds == NULL
                   ? OK
                   : err_text_set(text, ERR_INVALID,
                                  "chain '%.100s': nothing follows all, it has no threshold", in);
    }
    if (thresholds == NULL) {
        return err_text_set(text, ERR_INVALID,
                            "chain '%.100s': %s needs a threshold; write %s:delta=NUMBER or "
                            "%s:low=NUMBER,up=NUMBER",
                            in, name, name, name);
    }
    return chain_thresholds(in, thresholds, chain, text);
}

/* Which stage @word is; CHAIN_NOTHING: none. */
static enum chain_stage chain_stage(const char *word)
{
    size_t size = strcspn(word, ":");

    for (uint32_t i = 0; i < CODEC_CUTS; i++) {
        if (strlen(chain_cuts[i]) == size && strncmp(chain_cuts[i], word, size) == 0) {
            return CHAIN_CUT;
        }
    }
    if (chain_find(chain_forms, CODEC_FORMS, word) < CODEC_FORMS) {
        return CHAIN_FORM;
    }
    if (strcmp(word, "f16") == 0) {
        return CHAIN_HALF;
    }
    return chain_find(chain_squeezes, CODEC_SQUEEZES, word) < CODEC_SQUEEZES ? CHAIN_SQUEEZE
                                                                             : CHAIN_NOTHING;
}

static enum err chain_word(const char *in, char *word, enum chain_stage *last,
                           struct codec_chain *chain, struct err_text *text)
{
    enum chain_stage stage = chain_stage(word);

    if (stage == CHAIN_NOTHING) {
        return err_text_set(text, ERR_INVALID,
                            "chain '%.100s': '%.50s' is unknown; there are all, dvf:delta=NUMBER "
                            "and norm:delta=NUMBER, then auto, dense, sparse, bitmap, gaps and "
                            "paper, then f16, then plain, snappy, lz4 and zstd",
                            in, word);
    }
    if (stage <= *last) {
        return err_text_set(text, ERR_INVALID,
                            "chain '%.100s': '%.50s' is there too late; the order is cut | form | "
                            "f16 | squeeze, each once",
                            in, word);
    }
    *last = stage;
    switch (stage) {
    case CHAIN_CUT:
        return chain_cut(in, word, chain, text);
    case CHAIN_FORM:
        chain->form = (enum codec_form)chain_find(chain_forms, CODEC_FORMS, word);
        break;
    case CHAIN_HALF:
        chain->half = true;
        break;
    case CHAIN_SQUEEZE:
    case CHAIN_NOTHING:
        chain->squeeze = (enum codec_squeeze)chain_find(chain_squeezes, CODEC_SQUEEZES, word);
    }
    return OK;
}

enum err codec_chain_parse(const char *text, struct codec_chain *out, struct err_text *text_out)
{
    struct codec_chain chain = {.squeeze = CODEC_SQUEEZE_AUTO};
    enum chain_stage last = CHAIN_NOTHING;
    char chars[CHAIN_TEXT_MAX];
    char *rest = chars;
    char *word;
    enum err rc = OK;

    if (strlen(text) >= sizeof(chars)) {
        return err_text_set(text_out, ERR_INVALID,
                            "chain '%.100s': it is longer than %d characters", text,
                            CHAIN_TEXT_MAX - 1);
    }
    memcpy(chars, text, strlen(text) + 1);
    while (rc == OK && (word = strsep(&rest, "|")) != NULL) {
        rc = chain_word(text, chain_trim(word), &last, &chain, text_out);
    }
    if (rc == OK && chain.squeeze == CODEC_SQUEEZE_AUTO && chain.form != CODEC_FORM_AUTO) {
        chain.squeeze = CODEC_PLAIN;
    }
    if (rc == OK) {
        *out = chain;
    }
    return rc;
}

/* As few digits as say all of it. */
static void chain_print_number(struct text *t, const char *name, float value)
{
    char chars[CHAIN_NUMBER_BYTES];

    for (int digits = 1; digits <= 9; digits++) {
        (void)snprintf(chars, sizeof(chars), "%.*g", digits, (double)value);
        if ((float)strtod(chars, NULL) == value) {
            break;
        }
    }
    text_addf(t, "%s=%s", name, chars);
}

void codec_chain_print(const struct codec_chain *chain, char *out, size_t size)
{
    bool squeezes = chain->squeeze != CODEC_SQUEEZE_AUTO &&
                    (chain->form == CODEC_FORM_AUTO || chain->squeeze != CODEC_PLAIN);
    struct text t;

    text_init_fixed(&t, out, size);
    if (chain->cut != CODEC_CUT_NONE) {
        text_addf(&t, "%s:", chain_cuts[chain->cut]);
        chain_print_number(&t, chain->low == chain->up ? "delta" : "low", chain->low);
    }
    if (chain->low != chain->up) {
        text_add(&t, ",");
        chain_print_number(&t, "up", chain->up);
    }
    text_addf(&t, "%s%s", chain->cut != CODEC_CUT_NONE ? " | " : "", chain_forms[chain->form]);
    text_addf(&t, "%s%s%s", chain->half ? " | f16" : "", squeezes ? " | " : "",
              squeezes ? chain_squeezes[chain->squeeze] : "");
    CHECK(!t.failed);
}

bool codec_chain_equal(const struct codec_chain *a, const struct codec_chain *b)
{
    return a->cut == b->cut && a->low == b->low && a->up == b->up && a->form == b->form &&
           a->half == b->half && a->squeeze == b->squeeze;
}
