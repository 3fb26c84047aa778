/* Fuzz what is made of the answers of servers: whatever they say, every reason has a sentence, and
 * nothing that is shown can move the cursor or leave its line. */

#include "cli/status/view.h"
#include "cli/status/why.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_TEXT_BYTES = 1024 * 1024, FUZZ_WIDTH = 100, FUZZ_HEIGHT = 40 };

static void fuzz_reasons(const json_t *report)
{
    json_t *reasons = why_reasons(report);

    CHECK(json_is_array(reasons));
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        const json_t *reason = json_array_get(reasons, i);

        CHECK(json_is_string(json_object_get(reason, "kind")));
        CHECK(json_is_string(json_object_get(reason, "text")));
    }
    json_decref(reasons);
}

static void fuzz_view(const json_t *report)
{
    struct status_view v = {.before = report,
                            .now = report,
                            .seconds = 1,
                            .time = "",
                            .width = FUZZ_WIDTH,
                            .height = FUZZ_HEIGHT};
    uint32_t lines = 0;
    struct text out;
    json_t *json;

    CHECK(text_init(&out, FUZZ_TEXT_BYTES) == OK);
    view_screen(&v, &out);
    for (const char *at = out.chars; *at != '\0'; at += strcspn(at, "\n") + 1) {
        CHECK(strcspn(at, "\n") <= FUZZ_WIDTH);
        lines++;
    }
    CHECK(lines <= FUZZ_HEIGHT && strpbrk(out.chars, "\033\r\a\b") == NULL);
    text_clear(&out);
    view_line(&v, &out);
    CHECK(strcspn(out.chars, "\n") == out.size - 1 && strpbrk(out.chars, "\033\r\a\b") == NULL);
    text_deinit(&out);
    json = view_json(&v);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *report = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

    if (json_is_object(report)) {
        fuzz_reasons(report);
        fuzz_view(report);
    }
    json_decref(report);
    return 0;
}
