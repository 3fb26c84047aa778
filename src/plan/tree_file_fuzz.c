/* Fuzz files that describe trees to be planned: what is read well can be planned or is said not to
 * be possible; what is not is refused with a place. */

#include "plan/tree_file.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_plan(const struct plan_tree_file *f)
{
    static uint32_t parent[PLAN_TREE_WORKERS_MAX];
    struct plan_tree_answer a, measured;
    struct err_text why = {""};

    if (f->problem.workers > 16) {
        return; /* Takes too long. */
    }
    if (plan_tree_possible(&f->problem, &why) != OK) {
        CHECK(strstr(why.text, "would do") != NULL);
        return;
    }
    CHECK(plan_tree_grow(&f->problem, parent, &a, &why) == OK);
    CHECK(plan_tree_measure(&f->problem, parent, &measured));
    CHECK(a.objective == measured.objective && a.bound <= a.objective);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan_tree_file *f = NULL;
    struct err_text why = {""};

    if (plan_tree_file_parse("fuzz", (const char *)data, size, &f, &why) == OK) {
        fuzz_plan(f);
        plan_tree_file_free(f);
    } else {
        CHECK(f == NULL);
        CHECK(strncmp(why.text, "fuzz:", 5) == 0);
        CHECK(why.text[5] >= '0' && why.text[5] <= '9');
        CHECK(strpbrk(why.text, "\n\033") == NULL);
    }
    return 0;
}
