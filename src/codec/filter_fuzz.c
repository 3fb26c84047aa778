/* Fuzz the texts of a filter, one per line: measure, granularity. What is understood is understood
 * the same once printed; what is not has a reason. */

#include "codec/filter.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_filter(const struct codec_filter *filter)
{
    char chars[CODEC_FILTER_TEXT_BYTES];
    struct codec_filter again;

    CHECK(filter->measure < CODEC_MEASURES && filter->grain < CODEC_GRAINS);
    CHECK((filter->measure == CODEC_CUSTOM) == (filter->name[0] != '\0'));
    CHECK(filter->measure != CODEC_ROW_NORM || filter->grain == CODEC_ROW);
    CHECK(filter->measure == CODEC_PRODUCT ? filter->tables_count >= CODEC_PRODUCT_MIN &&
                                                 filter->tables_count <= CODEC_PRODUCT_MAX
                                           : filter->tables_count == 0);
    for (uint32_t i = 0; i < filter->tables_count; i++) {
        CHECK(codec_filter_find(filter, filter->tables[i]) == i);
    }
    codec_filter_print(filter, chars, sizeof(chars));
    CHECK(codec_filter_parse(chars, codec_grain_name(filter->grain), &again, NULL) == OK);
    CHECK(codec_filter_equal(filter, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err_text text = {""};
    struct codec_filter filter;
    char *chars = malloc(size + 1);
    char *rest = chars;
    const char *measure, *grain;

    CHECK(chars != NULL);
    if (size > 0) {
        memcpy(chars, data, size);
    }
    chars[size] = '\0';
    measure = strsep(&rest, "\n");
    grain = strsep(&rest, "\n");
    if (codec_filter_parse(measure, grain, &filter, &text) == OK) {
        check_filter(&filter);
    } else {
        CHECK(text.text[0] != '\0');
    }
    free(chars);
    return 0;
}
