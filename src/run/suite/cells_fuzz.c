/* Fuzz sets: what is read well is complete and within its limits; what is not is refused with a
 * place. */

#include "run/suite/cells.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool fuzz_has(const struct run_cell *cell, const char *run)
{
    uint32_t i = 0;

    while (i < cell->only_count && strcmp(cell->only[i], run) != 0) {
        i++;
    }
    return i < cell->only_count;
}

/* Cells have what their runs are compared with; of what a paper says nothing is missing. */
static void fuzz_look_figure(const struct run_cells *s, const struct run_cells_figure *f)
{
    CHECK(run_cells_show_name(f->show) != NULL && f->name[0] != '\0');
    CHECK(f->only_count <= RUN_CELLS_RUNS_MAX && strchr(f->name, '/') == NULL);
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t j = 0; s->runs_count > 0 && j < s->cells[i].only_count; j++) {
            CHECK(!run_cells_shows(f, s->cells[i].only[j]) ||
                  fuzz_has(&s->cells[i], run_cells_against(s, f, s->cells[i].only[j])));
        }
        for (uint32_t j = 0; j < f->papers[i].count; j++) {
            const struct run_cells_paper *p = &f->papers[i].of[j];

            CHECK(isfinite(p->low) && p->low <= p->high && run_cells_shows(f, p->run));
            CHECK(s->runs_count == 0 || fuzz_has(&s->cells[i], p->run));
        }
    }
}

static void fuzz_look(const struct run_cells *s)
{
    CHECK(s->count >= 1 && s->count <= RUN_CELLS_MAX && s->name[0] != '\0' && s->base[0] != '\0');
    CHECK(s->figures_count >= 1 && s->figures_count <= 1 + RUN_CELLS_ALSO_MAX);
    CHECK(s->runs_count <= RUN_CELLS_RUNS_MAX);
    CHECK(s->runs_count == 0 || run_cells_find(s, s->base) != NULL);
    for (uint32_t i = 0; i < s->runs_count; i++) {
        CHECK(s->runs[i].name[0] != '.' && strchr(s->runs[i].name, '/') == NULL);
        CHECK(s->runs[i].settings_count <= RUN_CELLS_SETTINGS_MAX);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        const struct run_cell *cell = &s->cells[i];

        CHECK(cell->name[0] != '\0' && strchr(cell->name, '/') == NULL && cell->path[0] != '\0');
        CHECK(cell->only_count >= 1 && cell->only_count <= RUN_CELLS_RUNS_MAX);
        CHECK(cell->settings_count <= RUN_CELLS_SETTINGS_MAX);
        CHECK(cell->twin == RUN_CELLS_MAX || (cell->twin < s->count && cell->twin != i));
        for (uint32_t j = 0; j < cell->settings_count; j++) {
            CHECK(strchr(cell->settings[j], '=') > cell->settings[j]);
        }
    }
    for (uint32_t i = 0; i < s->figures_count; i++) {
        fuzz_look_figure(s, &s->figures[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const runs[] = {"lan", "plain-bsp", "gaia-bsp", NULL};
    struct run_cells *s = NULL;
    struct err_text why = {""};
    enum err rc = run_cells_parse("fuzz", ".", (const char *)data, size, runs, &s, &why);

    if (rc == OK) {
        fuzz_look(s);
        run_cells_free(s);
    } else {
        CHECK(s == NULL);
        CHECK(strncmp(why.text, "fuzz:", 5) == 0);
        CHECK(why.text[5] >= '1' && why.text[5] <= '9');
        CHECK(strpbrk(why.text, "\n\033") == NULL);
        CHECK(rc == ERR_MALFORMED || rc == ERR_TOO_BIG);
    }
    return 0;
}
