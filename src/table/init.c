#include "table/init.h"

#include "base/rounding.h"
#include "base/text.h"
#include "table/draw.h"
#include "table/spec.h"

#include <math.h>
#include <string.h>

static const char *const init_names[TABLE_INIT_KINDS] = {"zeros", "constant", "uniform", "normal"};

#define INIT_ALLOWED "zeros, constant VALUE, uniform HALF-WIDTH or normal DEVIATION"

/* The number behind the kind's name. */
static enum err init_parse_value(const char *in, const char *word, struct table_init *init,
                                 struct err_text *text)
{
    bool spread = init->kind != TABLE_INIT_CONSTANT;

    if (word == NULL) {
        return err_text_set(text, ERR_INVALID, "init '%.100s': %s needs a number: write %s 0.1", in,
                            init_names[init->kind], init_names[init->kind]);
    }
    if (table_spec_float(word, &init->value) != OK ||
        (spread && !(init->value > 0 && init->value <= TABLE_INIT_SPREAD_MAX))) {
        return err_text_set(text, ERR_INVALID, "init '%.100s': '%.50s' must be a number%s", in,
                            word, spread ? " above 0, at most 1e30" : "");
    }
    return OK;
}

enum err table_init_parse(const char *in, struct table_init *out, struct err_text *text)
{
    struct table_init init = {0};
    struct table_spec spec = {0};
    uint32_t kind, at = 1;
    enum err rc;

    if (table_spec_split(in, &spec) != OK) {
        return err_text_set(text, ERR_INVALID, "init '%.100s': write " INIT_ALLOWED, in);
    }
    kind = table_spec_find(init_names, TABLE_INIT_KINDS, spec.words[0]);
    if (kind == TABLE_INIT_KINDS) {
        return err_text_set(text, ERR_INVALID,
                            "init '%.100s': '%.50s' is unknown; there are " INIT_ALLOWED, in,
                            spec.words[0]);
    }
    init.kind = (enum table_init_kind)kind;
    if (init.kind != TABLE_INIT_ZEROS) {
        rc = init_parse_value(in, spec.count > at ? spec.words[at] : NULL, &init, text);
        if (rc != OK) {
            return rc;
        }
        at++;
    }
    if (at < spec.count && strncmp(spec.words[at], "seed=", 5) == 0) {
        if (table_spec_whole(spec.words[at] + 5, UINT64_MAX, &init.seed) != OK || init.seed == 0) {
            return err_text_set(text, ERR_INVALID,
                                "init '%.100s': '%.50s' must be a whole number, at least 1", in,
                                spec.words[at]);
        }
        at++;
    }
    if (at < spec.count) {
        return err_text_set(text, ERR_INVALID,
                            "init '%.100s': '%.50s' is not understood; only seed=NUMBER may follow",
                            in, spec.words[at]);
    }
    *out = init;
    return OK;
}

void table_init_print(const struct table_init *init, char *out, size_t size)
{
    char number[TABLE_SPEC_NUMBER_BYTES];
    struct text t;

    text_init_fixed(&t, out, size);
    text_add(&t, init_names[init->kind]);
    if (init->kind != TABLE_INIT_ZEROS) {
        text_addf(&t, " %s", table_spec_print(init->value, number));
    }
    if (init->seed != 0) {
        text_addf(&t, " seed=%llu", (unsigned long long)init->seed);
    }
    CHECK(!t.failed);
}

bool table_init_equal(const struct table_init *a, const struct table_init *b)
{
    /* Zero and minus zero are different constants. */
    return a->kind == b->kind && a->seed == b->seed && a->value == b->value &&
           signbit(a->value) == signbit(b->value);
}

void table_init_fill(const struct table_init *init, uint64_t seed_of_name, uint64_t first,
                     float *out, uint32_t count)
{
    uint64_t seed = init->seed != 0 ? init->seed : seed_of_name;
    unsigned mode = rounding_enter();

    switch (init->kind) {
    case TABLE_INIT_ZEROS:
        memset(out, 0, count * sizeof(*out));
        break;
    case TABLE_INIT_CONSTANT:
        for (uint32_t i = 0; i < count; i++) {
            out[i] = init->value;
        }
        break;
    case TABLE_INIT_UNIFORM:
        table_draw_uniform(seed, first, init->value, out, count);
        break;
    case TABLE_INIT_NORMAL:
        table_draw_normal(seed, first, init->value, out, count);
        break;
    }
    rounding_leave(mode);
}
