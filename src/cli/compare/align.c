/* Records of a comparison: what each says, and where each is as good as the others. */

#include "base/mem.h"
#include "cli/compare/compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void compare_free(struct compare *c)
{
    for (uint32_t i = 0; c != NULL && i < c->count; i++) {
        mem_free(c->runs[i].curve.points);
    }
    mem_free(c);
}

enum err compare_load(struct compare_run *r, double goal, struct err_text *text)
{
    struct run_reading_row *rows = NULL;
    struct run_reading_curve curve;
    uint32_t count = 0;
    enum err rc = run_outcome_load(r->record, &r->outcome, text);

    if (rc == OK) {
        rc = run_scalars_load(r->record, r->outcome.rising, goal, &r->scalars, text);
    }
    if (rc == OK) {
        rc = run_reading_rows_load(r->record, &rows, &count, text);
    }
    if (rc == OK) {
        rc = run_reading_curve(rows, count, &curve);
        mem_free(rows);
        if (rc != OK) {
            return err_text_set(text, rc, "%.300s: out of memory", r->record);
        }
        mem_free(r->curve.points);
        r->curve = curve;
    }
    return rc;
}

/* The least good of what each was at its best, if all can be measured by the same. */
static double align_common(const struct compare *c)
{
    const struct run_outcome *first = NULL;
    double common = NAN;

    for (uint32_t i = 0; i < c->count; i++) {
        const struct compare_run *r = &c->runs[i];
        bool worse;

        if (!r->known) {
            continue;
        }
        first = first == NULL ? &r->outcome : first;
        if (r->scalars.last_clock == 0 || r->outcome.rising != first->rising ||
            strcmp(r->outcome.objective_is, first->objective_is) != 0) {
            return NAN;
        }
        worse = first->rising ? r->scalars.best < common : r->scalars.best > common;
        common = isnan(common) || worse ? r->scalars.best : common;
    }
    return common;
}

void compare_align(struct compare *c)
{
    c->aim = c->goal.there ? c->goal.objective : align_common(c);
    for (uint32_t i = 0; i < c->count; i++) {
        struct compare_run *r = &c->runs[i];

        run_reading_reach(r->curve.points, r->curve.loss ? 0 : r->curve.count, r->outcome.rising,
                          c->aim, &r->reach);
    }
}

/* Folders may be called anything. */
void compare_csv_word(const char *word, struct text *out)
{
    if (strpbrk(word, ",\"\n\r") == NULL) {
        text_add(out, word);
        return;
    }
    text_add(out, "\"");
    for (; *word != '\0'; word++) {
        text_add_bytes(out, word, 1);
        text_add(out, *word == '"' ? "\"" : "");
    }
    text_add(out, "\"");
}

static void align_real(double value, struct text *out)
{
    text_add(out, ",");
    if (isfinite(value)) {
        topo_print_number(value, out);
    }
}

void compare_curves(const struct compare *c, struct text *out)
{
    text_add(out, "run,clock,time_s,wan_bytes,usd,objective\n");
    for (uint32_t i = 0; i < c->count; i++) {
        const struct compare_run *r = &c->runs[i];

        for (uint32_t j = 0; r->known && j < r->curve.count; j++) {
            const struct run_reading_point *p = &r->curve.points[j];

            compare_csv_word(r->name, out);
            text_addf(out, ",%" PRIu64, p->clock);
            align_real(p->time_s, out);
            text_add(out, ",");
            if (isfinite(p->wan_bytes)) {
                text_addf(out, "%.0f", p->wan_bytes);
            }
            align_real(p->wan_usd, out);
            align_real(p->value, out);
            text_add(out, "\n");
        }
    }
}
