/* What the jobs say of their tables is what tables understand: the two modules do not know each
 * other, so it is seen here. */

#include "app/app.h"
#include "table/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct table_schema schema_of(const char *job, const struct app_table *table)
{
    struct table_schema_text in = {.name = table->name,
                                   .rows = table->rows,
                                   .width = table->width,
                                   .init = table->init,
                                   .apply = table->apply,
                                   .combine = table->combine};
    struct err_text text = {""};
    struct table_schema out;

    if (table_schema_parse(&in, &out, &text) != OK) {
        fail_msg("job %s: %s", job, text.text);
    }
    return out;
}

static struct table_schema first_table(const char *job, uint64_t seed)
{
    struct app_config config = {.job = job, .workers = 1, .seed = seed};
    struct app_table tables[APP_TABLES_MAX];
    struct err_text text = {""};
    struct table_schema first;
    struct app *app;
    uint32_t count;

    if (app_create(&config, &app, &text) != OK) {
        fail_msg("%s", text.text);
    }
    count = app->ops->tables(app, tables);
    assert_in_range(count, 1, APP_TABLES_MAX);
    first = schema_of(job, &tables[0]);
    for (uint32_t i = 1; i < count; i++) {
        (void)schema_of(job, &tables[i]);
    }
    app_destroy(app);
    return first;
}

static void test_tables_of_all_jobs_are_understood_whatever_the_seed(void **state)
{
    static const uint64_t seeds[] = {UINT64_MAX, 0, 1};
    const size_t tried = getenv("STRAIT_VALGRIND") != NULL ? 1 : sizeof(seeds) / sizeof(seeds[0]);
    const struct app_ops *const *all;
    uint32_t count;

    (void)state;
    all = app_all(&count);
    for (uint32_t i = 0; i < count; i++) {
        for (size_t k = 0; k < tried; k++) {
            (void)first_table(all[i]->name, seeds[k]);
        }
    }
}

static void test_the_seed_of_a_job_is_that_of_its_table(void **state)
{
    (void)state;
    assert_true(first_table("mf", 7).init.seed == 7);
    assert_true(first_table("mf", UINT64_MAX).init.seed == UINT64_MAX);
    assert_true(first_table("mlp", 7).init.seed == 7);
    /* Made of the table's name. */
    assert_true(first_table("mf", 0).init.seed == 0);
    assert_true(first_table("mlp", 0).init.seed == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_of_all_jobs_are_understood_whatever_the_seed),
        cmocka_unit_test(test_the_seed_of_a_job_is_that_of_its_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
