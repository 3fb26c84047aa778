/* Fuzz the texts of a schema, one per line: name, init, apply, combine. What is understood is
 * within its limits, and is understood the same once written; what is not has a reason. */

#include "table/schema.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rates(const struct table_apply *a)
{
    static const uint64_t clocks[] = {0, 1, 2, 1000, UINT64_MAX};

    CHECK(a->kind == TABLE_ADD || a->lr > 0);
    CHECK(a->mu >= 0 && a->mu < 1 && a->factor >= 0 && a->factor <= 1);
    for (uint32_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
        float rate = table_apply_rate(a, clocks[i]);

        CHECK(rate >= 0 && (rate <= a->lr || a->kind == TABLE_ADD));
    }
}

static void check_values(const struct table_init *init)
{
    float values[8];

    table_init_fill(init, 7, 0, values, 8);
    for (uint32_t i = 0; i < 8; i++) {
        CHECK(values[i] >= -FLT_MAX && values[i] <= FLT_MAX);
    }
}

static void check_schema(const struct table_schema *s)
{
    char init[TABLE_INIT_TEXT_BYTES], apply[TABLE_APPLY_TEXT_BYTES];
    struct table_schema_text in = {
        .name = s->name,
        .rows = s->rows,
        .width = s->width,
        .init = init,
        .apply = apply,
        .combine = table_combine_name(s->combine),
    };
    struct table_schema again;

    table_init_print(&s->init, init, sizeof(init));
    table_apply_print(&s->apply, apply, sizeof(apply));
    CHECK(table_schema_parse(&in, &again, NULL) == OK);
    CHECK(table_schema_equal(s, &again));
    check_rates(&s->apply);
    check_values(&s->init);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct table_schema_text in = {.rows = 3, .width = 5};
    struct err_text text = {""};
    struct table_schema s;
    char *chars = malloc(size + 1);
    char *rest = chars;

    CHECK(chars != NULL);
    if (size > 0) {
        memcpy(chars, data, size);
    }
    chars[size] = '\0';
    in.name = strsep(&rest, "\n");
    in.init = strsep(&rest, "\n");
    in.apply = strsep(&rest, "\n");
    in.combine = strsep(&rest, "\n");
    if (table_schema_parse(&in, &s, &text) == OK) {
        check_schema(&s);
    } else {
        CHECK(text.text[0] != '\0');
    }
    free(chars);
    return 0;
}
