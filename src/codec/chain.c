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

const struct codec_word codec_words[] = {
    {CODEC_STAGE_CUT, CODEC_CUT_NONE, "all", "all",
     "everything goes that is not zero; as if nothing was said"},
    {CODEC_STAGE_CUT, CODEC_CUT_VALUE, "dvf", "dvf:delta=D",
     "what is not above D / sqrt(clock) in magnitude is held back, and added to what comes later"},
    {CODEC_STAGE_CUT, CODEC_CUT_NORM, "norm", "norm:delta=D",
     "the smallest are held back, as many as keep the norm of what is held within "
     "D / sqrt(clock) * sqrt(elements): the bound of dvf, with the fewest entries sent"},
    {CODEC_STAGE_FORM, CODEC_FORM_AUTO, "auto", "auto",
     "the form that takes the least time to write, send and read; as if nothing was said"},
    {CODEC_STAGE_FORM, CODEC_FORM_DENSE, "dense", "dense", "all floats, zeros too"},
    {CODEC_STAGE_FORM, CODEC_FORM_SPARSE, "sparse", "sparse",
     "numbers of elements (two bytes each) and their values"},
    {CODEC_STAGE_FORM, CODEC_FORM_BITMAP, "bitmap", "bitmap",
     "a bit for each element, and the values of those that go"},
    {CODEC_STAGE_FORM, CODEC_FORM_GAPS, "gaps", "gaps",
     "distances between elements (mostly a byte each) and their values"},
    {CODEC_STAGE_FORM, CODEC_FORM_PAPER, "paper", "paper",
     "sparse if more than 80 % are zeros, else dense"},
    {CODEC_STAGE_HALF, true, "f16", "f16",
     "values as halves where the threshold allows it; rounding errors are held back"},
    {CODEC_STAGE_SQUEEZE, CODEC_PLAIN, "plain", "plain",
     "not squeezed; as if nothing was said, but with auto that is the cheapest of all"},
    {CODEC_STAGE_SQUEEZE, CODEC_SNAPPY, "snappy", "snappy", "squeezed by Snappy"},
    {CODEC_STAGE_SQUEEZE, CODEC_LZ4, "lz4", "lz4", "squeezed by LZ4"},
    {CODEC_STAGE_SQUEEZE, CODEC_ZSTD, "zstd", "zstd", "squeezed by Zstandard at its first level"},
    {0},
};

const char *codec_stage_name(enum codec_stage stage)
{
    static const char *const names[] = {"", "cut", "form", "f16", "squeeze"};

    return names[stage];
}

static const char *chain_name(enum codec_stage stage, int value)
{
    const struct codec_word *w = codec_words;

    while (w->stage != stage || w->value != value) {
        w++;
        CHECK(w->name != NULL);
    }
    return w->name;
}

const char *codec_form_name(enum codec_form form)
{
    return chain_name(CODEC_STAGE_FORM, (int)form);
}

const char *codec_squeeze_name(enum codec_squeeze squeeze)
{
    return squeeze == CODEC_SQUEEZE_AUTO ? "auto" : chain_name(CODEC_STAGE_SQUEEZE, (int)squeeze);
}

/* What @word is; NULL: nothing. Only behind cuts there is more. */
static const struct codec_word *chain_find(const char *word)
{
    size_t size = strcspn(word, ":");

    for (const struct codec_word *w = codec_words; w->name != NULL; w++) {
        if (strlen(w->name) == size && strncmp(w->name, word, size) == 0) {
            return word[size] == '\0' || w->stage == CODEC_STAGE_CUT ? w : NULL;
        }
    }
    return NULL;
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

/* @word has the name of the cut that is in the chain. */
static enum err chain_cut(const char *in, char *word, struct codec_chain *chain,
                          struct err_text *text)
{
    char *thresholds = word;
    const char *name = strsep(&thresholds, ":");

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

static enum err chain_word(const char *in, char *word, enum codec_stage *last,
                           struct codec_chain *chain, struct err_text *text)
{
    const struct codec_word *w = chain_find(word);

    if (w == NULL) {
        return err_text_set(text, ERR_INVALID,
                            "chain '%.100s': '%.50s' is unknown; there are all, dvf:delta=NUMBER "
                            "and norm:delta=NUMBER, then auto, dense, sparse, bitmap, gaps and "
                            "paper, then f16, then plain, snappy, lz4 and zstd",
                            in, word);
    }
    if (w->stage <= *last) {
        return err_text_set(text, ERR_INVALID,
                            "chain '%.100s': '%.50s' is there too late; the order is cut | form | "
                            "f16 | squeeze, each once",
                            in, word);
    }
    *last = w->stage;
    switch (w->stage) {
    case CODEC_STAGE_CUT:
        chain->cut = (enum codec_cut)w->value;
        return chain_cut(in, word, chain, text);
    case CODEC_STAGE_FORM:
        chain->form = (enum codec_form)w->value;
        break;
    case CODEC_STAGE_HALF:
        chain->half = true;
        break;
    case CODEC_STAGE_SQUEEZE:
    case CODEC_STAGE_NONE:
        chain->squeeze = (enum codec_squeeze)w->value;
    }
    return OK;
}

enum err codec_chain_parse(const char *text, struct codec_chain *out, struct err_text *text_out)
{
    struct codec_chain chain = {.squeeze = CODEC_SQUEEZE_AUTO};
    enum codec_stage last = CODEC_STAGE_NONE;
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

/* As few characters as say all of it. */
static void chain_print_number(struct text *t, const char *name, float value)
{
    char best[CHAIN_NUMBER_BYTES] = "", chars[CHAIN_NUMBER_BYTES];

    for (int digits = 1; digits <= 9; digits++) {
        (void)snprintf(chars, sizeof(chars), "%.*g", digits, (double)value);
        if ((float)strtod(chars, NULL) == value &&
            (best[0] == '\0' || strlen(chars) < strlen(best))) {
            memcpy(best, chars, sizeof(best));
        }
    }
    text_addf(t, "%s=%s", name, best);
}

void codec_chain_print(const struct codec_chain *chain, char *out, size_t size)
{
    bool squeezes = chain->squeeze != CODEC_SQUEEZE_AUTO &&
                    (chain->form == CODEC_FORM_AUTO || chain->squeeze != CODEC_PLAIN);
    struct text t;

    text_init_fixed(&t, out, size);
    if (chain->cut != CODEC_CUT_NONE) {
        text_addf(&t, "%s:", chain_name(CODEC_STAGE_CUT, (int)chain->cut));
        chain_print_number(&t, chain->low == chain->up ? "delta" : "low", chain->low);
    }
    if (chain->low != chain->up) {
        text_add(&t, ",");
        chain_print_number(&t, "up", chain->up);
    }
    text_addf(&t, "%s%s", chain->cut != CODEC_CUT_NONE ? " | " : "", codec_form_name(chain->form));
    text_addf(&t, "%s%s%s", chain->half ? " | f16" : "", squeezes ? " | " : "",
              squeezes ? codec_squeeze_name(chain->squeeze) : "");
    CHECK(!t.failed);
}

bool codec_chain_equal(const struct codec_chain *a, const struct codec_chain *b)
{
    return a->cut == b->cut && a->low == b->low && a->up == b->up && a->form == b->form &&
           a->half == b->half && a->squeeze == b->squeeze;
}
