/* Fuzz the parsers of a record, each behind a letter: s is scalars.csv, l links.csv, e
 * events.jsonl, n env.json. What is read is in order, what is not has a place. */

#include "run/record/reading.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *fuzz_row(const struct run_reading_row *row, void *user)
{
    uint64_t *clock = user;

    CHECK(row->clock > *clock && isfinite(row->time_s) && row->time_s >= 0);
    CHECK(!isinf(row->objective) && !isinf(row->wan_bytes));
    *clock = row->clock;
    return NULL;
}

static const char *fuzz_link(const struct run_reading_link *link, void *user)
{
    (void)user;
    CHECK(topo_name_valid(link->from) && topo_name_valid(link->to));
    CHECK(isfinite(link->time_s) && !isinf(link->usd));
    return strcmp(link->from, link->to) == 0 ? "it leads nowhere" : NULL;
}

static const char *fuzz_event(const struct run_reading_event *event, void *user)
{
    (void)user;
    CHECK(event->kind != NULL && event->who != NULL && event->text != NULL);
    CHECK(isfinite(event->time_s) && text_is_utf8(event->text));
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run_reading_bytes in = {.name = "fuzz", .chars = (const char *)data + 1};
    struct run_reading_env env;
    struct err_text text = {""};
    uint64_t clock = 0;
    uint32_t torn = 0;
    enum err rc;

    if (size == 0) {
        return 0;
    }
    in.size = size - 1;
    switch (data[0]) {
    case 's':
        rc = run_reading_rows(&in, fuzz_row, &clock, &torn, &text);
        break;
    case 'l':
        rc = run_reading_links(&in, fuzz_link, NULL, &torn, &text);
        break;
    case 'e':
        rc = run_reading_events(&in, fuzz_event, NULL, &torn, &text);
        break;
    default:
        rc = run_reading_env(&in, &env, &text);
        CHECK(rc != OK || (env.backend[0] != '\0' && strpbrk(env.command, "\n\033") == NULL));
        break;
    }
    CHECK(rc == OK ||
          (strncmp(text.text, "fuzz:", 5) == 0 && strpbrk(text.text, "\n\033") == NULL));
    CHECK(rc == OK || rc == ERR_MALFORMED || rc == ERR_VERSION);
    CHECK((rc != OK || torn == 0) || (in.size > 0 && in.chars[in.size - 1] != '\n'));
    return 0;
}
