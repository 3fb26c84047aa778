/* What `strait hold` is told first: one line of JSON. The far end of a run on other machines gets
 * all that a member needs by it, keys included, and nothing by arguments, which others can see.
 *
 *     {"do": "hold", "dir": "~/.cache/strait/runs/mf-1f", "member": "w0", "folders": ["state"],
 *      "files": {"w0.key": {"text": "...", "mode": "0600"}}, "argv": ["strait", "worker", ...]}
 *     {"do": "ask", "dir": "~/.cache/strait/runs", "paths": ["/data/train"]}
 *     {"do": "remove", "dir": "~/.cache/strait/runs/mf-1f"} */

#ifndef RUN_LIVE_PARCEL_H
#define RUN_LIVE_PARCEL_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    RUN_PARCEL_BYTES_MAX = 4 << 20,
    RUN_PARCEL_FILES_MAX = 16,
    RUN_PARCEL_FOLDERS_MAX = 4,
    RUN_PARCEL_PATHS_MAX = 4,
    RUN_PARCEL_ARGS_MAX = 256,
    RUN_PARCEL_NAME_BYTES = 128, /* Of a file, folder or member, terminated. */
    RUN_PARCEL_PATH_BYTES = 1024,
};

enum run_parcel_kind {
    RUN_PARCEL_HOLD,   /* Make the files, start the member, and keep it. */
    RUN_PARCEL_ASK,    /* Say what there is. */
    RUN_PARCEL_REMOVE, /* Remove the folder of a run. */
};

struct run_parcel_file {
    const char *name;
    const char *text;
    bool secret; /* For the owner only, and gone with the process. */
};

struct run_parcel {
    enum run_parcel_kind kind;
    const char *dir;    /* "/..." or "~/..." */
    const char *member; /* Its folder below that. */
    struct run_parcel_file files[RUN_PARCEL_FILES_MAX];
    uint32_t files_count;
    const char *folders[RUN_PARCEL_FOLDERS_MAX];
    uint32_t folders_count;
    const char *paths[RUN_PARCEL_PATHS_MAX];
    uint32_t paths_count;
    const char *argv[RUN_PARCEL_ARGS_MAX + 1]; /* NULL-terminated; the first is "strait". */
    uint32_t argv_count;
    struct json_t *json; /* Holds the texts of one that was read. */
};

/* Read the @size bytes of a line. ERR_MALFORMED, ERR_TOO_BIG with @text; ERR_NOMEM. The caller
 * releases the result. */
MUST_USE enum err run_parcel_parse(const char *bytes, size_t size, struct run_parcel **out,
                                   struct err_text *text);

/* Of one that was read. NULL is allowed. */
void run_parcel_free(struct run_parcel *p);

/* The line, without its end; the caller gives it to free(). NULL: no memory, or a text
 * that is not UTF-8. */
MUST_USE char *run_parcel_print(const struct run_parcel *p);

#endif
