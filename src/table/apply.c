#include "table/apply.h"

#include "base/rounding.h"
#include "base/text.h"
#include "table/loops.h"
#include "table/spec.h"

#include <string.h>

static const char *const apply_kinds[TABLE_APPLY_KINDS] = {"add", "sgd", "momentum", "adagrad"};
static const char *const apply_decays[TABLE_DECAYS] = {"none", "step", "sqrt", "exp"};

/* The words of the form key=value, in the order in which they are printed. */
enum apply_key {
    APPLY_LR,
    APPLY_MU,
    APPLY_EPS,
    APPLY_DECAY,
    APPLY_EVERY,
    APPLY_FACTOR,
    APPLY_WARMUP,
    APPLY_KEYS,
};

static const char *const apply_keys[APPLY_KEYS] = {"lr",    "mu",     "eps",   "decay",
                                                   "every", "factor", "warmup"};

/* What follows each key. */
static const char *const apply_allowed[APPLY_KEYS] = {
    "a number above 0",
    "a number from 0 to below 1",
    "a number above 0",
    "none, step, sqrt or exp",
    "a whole number from 1 to 4294967295",
    "a number above 0, at most 1",
    "a whole number up to 4294967295",
};

static const char *const apply_takes[TABLE_APPLY_KINDS] = {
    "add takes nothing",
    "sgd takes lr, decay, every, factor and warmup",
    "momentum takes lr, mu, decay, every, factor and warmup",
    "adagrad takes lr, eps, decay, every, factor and warmup",
};

static bool apply_key_suits(enum apply_key key, enum table_apply_kind kind)
{
    if (kind == TABLE_ADD) {
        return false;
    }
    return (key != APPLY_MU || kind == TABLE_MOMENTUM) &&
           (key != APPLY_EPS || kind == TABLE_ADAGRAD);
}

/* Sort the words into @values by key: NULL where there is none. */
static enum err apply_sort(const char *in, struct table_spec *spec, enum table_apply_kind kind,
                           const char **values, struct err_text *text)
{
    for (uint32_t i = 1; i < spec->count; i++) {
        char *value = spec->words[i];
        const char *name = strsep(&value, "=");
        uint32_t key = table_spec_find(apply_keys, APPLY_KEYS, name);

        if (key == APPLY_KEYS || !apply_key_suits((enum apply_key)key, kind)) {
            return err_text_set(text, ERR_INVALID,
                                "apply '%.100s': '%.50s' does not belong there; %s", in, name,
                                apply_takes[kind]);
        }
        if (value == NULL) {
            return err_text_set(text, ERR_INVALID, "apply '%.100s': write %s=VALUE, where it is %s",
                                in, name, apply_allowed[key]);
        }
        if (values[key] != NULL) {
            return err_text_set(text, ERR_INVALID, "apply '%.100s': %s is there twice", in, name);
        }
        values[key] = value;
    }
    return OK;
}

/* A float within its limits. */
static bool apply_number(const char *chars, enum apply_key key, float *out)
{
    if (table_spec_float(chars, out) != OK) {
        return false;
    }
    if (key == APPLY_MU) {
        return *out >= 0 && *out < 1;
    }
    return *out > 0 && (key != APPLY_FACTOR || *out <= 1);
}

static bool apply_whole(const char *chars, enum apply_key key, uint32_t *out)
{
    uint64_t value;

    if (table_spec_whole(chars, UINT32_MAX, &value) != OK || (key == APPLY_EVERY && value == 0)) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

static bool apply_read(const char *chars, enum apply_key key, struct table_apply *apply)
{
    uint32_t decay;

    switch (key) {
    case APPLY_LR:
        return apply_number(chars, key, &apply->lr);
    case APPLY_MU:
        return apply_number(chars, key, &apply->mu);
    case APPLY_EPS:
        return apply_number(chars, key, &apply->eps);
    case APPLY_FACTOR:
        return apply_number(chars, key, &apply->factor);
    case APPLY_EVERY:
        return apply_whole(chars, key, &apply->every);
    case APPLY_WARMUP:
        return apply_whole(chars, key, &apply->warmup);
    case APPLY_DECAY:
        decay = table_spec_find(apply_decays, TABLE_DECAYS, chars);
        apply->decay = (enum table_decay)(decay % TABLE_DECAYS);
        return decay < TABLE_DECAYS;
    case APPLY_KEYS:
        break;
    }
    return false;
}

/* Does the applier, as read so far, need this key, or have no use for it? */
static bool apply_needs(enum apply_key key, const struct table_apply *apply)
{
    bool factor = apply->decay == TABLE_DECAY_STEP || apply->decay == TABLE_DECAY_EXP;

    return (key == APPLY_LR && apply->kind != TABLE_ADD) ||
           (key == APPLY_MU && apply->kind == TABLE_MOMENTUM) ||
           (key == APPLY_EVERY && apply->decay == TABLE_DECAY_STEP) ||
           (key == APPLY_FACTOR && factor);
}

/* What is missing, and what has nothing to do with the decay that was chosen. */
static enum err apply_complete(const char *in, const char *const *values,
                               const struct table_apply *apply, struct err_text *text)
{
    for (uint32_t key = 0; key < APPLY_KEYS; key++) {
        bool needed = apply_needs((enum apply_key)key, apply);

        if (needed && values[key] == NULL) {
            return err_text_set(text, ERR_INVALID, "apply '%.100s': %s is missing: %s", in,
                                apply_keys[key], apply_allowed[key]);
        }
        if (!needed && values[key] != NULL && (key == APPLY_EVERY || key == APPLY_FACTOR)) {
            return err_text_set(text, ERR_INVALID, "apply '%.100s': %s is only for decay=%s", in,
                                apply_keys[key],
                                key == APPLY_EVERY ? "step" : "step and decay=exp");
        }
    }
    return OK;
}

enum err table_apply_parse(const char *in, struct table_apply *out, struct err_text *text)
{
    const char *values[APPLY_KEYS] = {NULL};
    struct table_apply apply = {0};
    struct table_spec spec = {0};
    uint32_t kind;
    enum err rc;

    if (table_spec_split(in, &spec) != OK) {
        return err_text_set(text, ERR_INVALID,
                            "apply '%.100s': write add, or sgd, momentum or adagrad with lr=RATE",
                            in);
    }
    kind = table_spec_find(apply_kinds, TABLE_APPLY_KINDS, spec.words[0]);
    if (kind == TABLE_APPLY_KINDS) {
        return err_text_set(text, ERR_INVALID,
                            "apply '%.100s': '%.50s' is unknown; there are add, sgd, momentum and "
                            "adagrad",
                            in, spec.words[0]);
    }
    apply.kind = (enum table_apply_kind)kind;
    apply.eps = apply.kind == TABLE_ADAGRAD ? 1e-8F : 0;
    rc = apply_sort(in, &spec, apply.kind, values, text);
    for (uint32_t key = 0; key < APPLY_KEYS && rc == OK; key++) {
        if (values[key] != NULL && !apply_read(values[key], (enum apply_key)key, &apply)) {
            rc = err_text_set(text, ERR_INVALID, "apply '%.100s': %s is '%.50s', but must be %s",
                              in, apply_keys[key], values[key], apply_allowed[key]);
        }
    }
    if (rc == OK) {
        rc = apply_complete(in, values, &apply, text);
    }
    if (rc == OK) {
        *out = apply;
    }
    return rc;
}

void table_apply_print(const struct table_apply *apply, char *out, size_t size)
{
    char number[TABLE_SPEC_NUMBER_BYTES];
    struct text t;

    text_init_fixed(&t, out, size);
    text_add(&t, apply_kinds[apply->kind]);
    if (apply->kind != TABLE_ADD) {
        text_addf(&t, " lr=%s", table_spec_print(apply->lr, number));
    }
    if (apply->kind == TABLE_MOMENTUM) {
        text_addf(&t, " mu=%s", table_spec_print(apply->mu, number));
    }
    if (apply->kind == TABLE_ADAGRAD) {
        text_addf(&t, " eps=%s", table_spec_print(apply->eps, number));
    }
    if (apply->decay != TABLE_DECAY_NONE) {
        text_addf(&t, " decay=%s", apply_decays[apply->decay]);
    }
    if (apply->decay == TABLE_DECAY_STEP) {
        text_addf(&t, " every=%u", (unsigned)apply->every);
    }
    if (apply->decay == TABLE_DECAY_STEP || apply->decay == TABLE_DECAY_EXP) {
        text_addf(&t, " factor=%s", table_spec_print(apply->factor, number));
    }
    if (apply->warmup != 0) {
        text_addf(&t, " warmup=%u", (unsigned)apply->warmup);
    }
    CHECK(!t.failed);
}

bool table_apply_equal(const struct table_apply *a, const struct table_apply *b)
{
    return a->kind == b->kind && a->decay == b->decay && a->lr == b->lr && a->mu == b->mu &&
           a->eps == b->eps && a->factor == b->factor && a->every == b->every &&
           a->warmup == b->warmup;
}

uint32_t table_apply_planes(const struct table_apply *apply)
{
    return apply->kind == TABLE_MOMENTUM || apply->kind == TABLE_ADAGRAD ? 1 : 0;
}

uint32_t table_apply_run(const struct table_apply *apply, uint64_t clock, float scale, float *w,
                         float *state, const float *u, uint32_t count)
{
    return table_apply_run_tracked(apply, clock, scale, w, state, u, NULL, count);
}

uint32_t table_apply_run_tracked(const struct table_apply *apply, uint64_t clock, float scale,
                                 float *w, float *state, const float *u, float *held,
                                 uint32_t count)
{
    const struct table_loops *loops = table_loops_best();
    struct table_step step = {.scale = scale, .mu = apply->mu, .eps = apply->eps};
    unsigned mode = rounding_enter();
    uint32_t kept;

    CHECK((state != NULL) == (table_apply_planes(apply) > 0));
    step.rate = table_apply_rate(apply, clock);
    if (held == NULL) {
        kept = loops->step[apply->kind](&step, w, state, u, count);
    } else {
        kept = loops->track[apply->kind](&step, w, state, u, held, count);
    }
    rounding_leave(mode);
    return kept;
}
