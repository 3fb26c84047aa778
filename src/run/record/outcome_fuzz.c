/* Fuzz what is read of records: a summary, or (behind a byte for its direction) a table. What
 * is read can be shown, what is not has a reason. */

#include "run/record/outcome.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_summary(const char *chars, size_t size)
{
    json_t *summary = json_loadb(chars, size, JSON_REJECT_DUPLICATES, NULL);
    struct err_text text = {""};
    struct run_outcome o;

    if (summary != NULL && run_outcome_parse(summary, &o, &text) == OK) {
        CHECK(o.end[0] != '\0' && isfinite(o.time_s) && o.scale > 0);
        CHECK(strpbrk(o.end, "\n\033") == NULL && strpbrk(o.note.text, "\n\033") == NULL);
    } else {
        CHECK(summary == NULL || text.text[0] != '\0');
    }
    json_decref(summary);
}

static void fuzz_table(const char *chars, size_t size, bool rising)
{
    struct err_text text = {""};
    struct run_scalars s;

    if (run_scalars_parse("fuzz", chars, size, rising, 1, &s, &text) == OK) {
        CHECK(s.last_clock <= s.clock && s.first_clock <= s.last_clock);
        CHECK(isnan(s.reached_clock) || s.reached_clock <= (double)s.last_clock);
        CHECK(s.last_clock == 0 || (s.first_clock > 0 && isfinite(s.last) && isfinite(s.best)));
    } else {
        CHECK(strncmp(text.text, "fuzz:", 5) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    if (data[0] == '{') {
        fuzz_summary((const char *)data, size);
    } else {
        fuzz_table((const char *)data + 1, size - 1, data[0] == '+');
    }
    return 0;
}
