/* Records that an interrupted comparison left: which of them are as good as running again. A record
 * holds its run file with all that was set in it, so it is of the same run if that is the same,
 * byte by byte, and the place where it ran. */

#include "base/mem.h"
#include "cli/compare/compare.h"
#include "run/file/set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EARLIER_ASIDE_MAX = 1000, EARLIER_SETS_MAX = 96 };

/* The run file as the record would hold it. */
static enum err earlier_expect(const struct compare_earlier *e, struct text *out,
                               struct err_text *text)
{
    const char *all[EARLIER_SETS_MAX];
    uint32_t count = 0, own = e->own != NULL ? e->own->settings_count : 0;
    struct run_file *f = NULL;
    enum err rc;

    CHECK(e->sets_count + own + e->settings->count <= EARLIER_SETS_MAX);
    for (uint32_t i = 0; i < e->sets_count; i++) {
        all[count++] = e->sets[i];
    }
    for (uint32_t i = 0; i < own; i++) {
        all[count++] = e->own->settings[i];
    }
    for (uint32_t i = 0; i < e->settings->count; i++) {
        all[count++] = e->settings->items[i];
    }
    rc = run_set_load(e->path, all, count, &f, text);
    if (rc == OK) {
        run_file_print(f, out);
        rc = out->failed ? err_text_set(text, ERR_NOMEM, "%.200s: out of memory", e->path) : OK;
    }
    run_file_free(f);
    return rc;
}

/* What was cut off keeps its files, but not its place. */
static enum err earlier_aside(const char *record, struct err_text *text)
{
    char to[COMPARE_PATH_BYTES + 32];

    for (unsigned i = 1; i < EARLIER_ASIDE_MAX; i++) {
        (void)snprintf(to, sizeof(to), "%s.cut-%u", record, i);
        if (access(to, F_OK) != 0) {
            return rename(record, to) == 0
                       ? OK
                       : err_text_set(text, ERR_IO, "%.300s: cannot be put aside: %s", record,
                                      strerror(errno));
        }
    }
    return err_text_set(text, ERR_EXISTS, "%.300s: was cut off too often: remove it", record);
}

/* Did it come to an end of its own? */
static bool earlier_whole(const char *record, const char *on)
{
    struct run_reading *r = NULL;
    struct err_text text;
    bool whole = run_reading_load(record, &r, &text) == OK && r->finished &&
                 strcmp(r->env.backend, on) == 0 && strcmp(r->outcome.end, "interrupted") != 0 &&
                 strcmp(r->outcome.end, "failed") != 0;

    run_reading_free(r);
    return whole;
}

enum err compare_earlier(const struct compare_earlier *e, bool *taken_out, struct err_text *text)
{
    char path[RUN_READING_PATH_BYTES];
    struct text want, have;
    struct stat st;
    enum err rc;

    *taken_out = false;
    if (stat(e->record, &st) != 0) {
        return OK;
    }
    if (!earlier_whole(e->record, e->on)) {
        return earlier_aside(e->record, text);
    }
    rc = text_init(&want, RUN_PRINT_BYTES_MAX);
    if (rc != OK) {
        return err_text_set(text, rc, "%.300s: out of memory", e->record);
    }
    rc = run_reading_file(e->record, "run.yaml", RUN_PRINT_BYTES_MAX, path, &have, text);
    if (rc == OK) {
        rc = earlier_expect(e, &want, text);
        if (rc == OK && strcmp(want.chars, have.chars) != 0) {
            rc = err_text_set(text, ERR_EXISTS,
                              "%.300s holds the record of another run: remove it, or choose "
                              "another folder",
                              e->record);
        }
        text_deinit(&have);
    }
    text_deinit(&want);
    *taken_out = rc == OK;
    return rc;
}
