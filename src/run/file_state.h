/* What the files that read run files share. Private to src/run/file*.c. */

#ifndef RUN_FILE_STATE_H
#define RUN_FILE_STATE_H

#include "run/file.h"
#include "run/file_yaml.h"

enum { RUN_FILE_PATH_BYTES = 64 };

/* A path in the file, such as "servers[3].lanes". */
struct file_path {
    char chars[RUN_FILE_PATH_BYTES];
};

/* One file being read. */
struct file_reader {
    const char *name;
    const char *folder;      /* Where the path of a topology starts; NULL: none may be named. */
    const char *data_folder; /* Where the path of the data starts; NULL: nowhere. */
    const char *bytes;
    size_t size;
    struct run_arena *arena;
    struct run_yaml *root;
    struct run_file *f;
    struct err_text *text;
};

/* Say what is wrong with what is at @path (or should be), with its place. Returns @rc. */
enum err file_fail(const struct file_reader *r, enum err rc, const char *path, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* The same for the node itself. */
enum err file_fail_at(const struct file_reader *r, enum err rc, struct topo_place place,
                      const char *path, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* What is at @path, or NULL. */
const struct run_yaml *file_find(const struct file_reader *r, const char *path);

/* Check the tree against the schema (file_schema.c): keys, kinds, numbers, choices. */
MUST_USE enum err file_check(const struct file_reader *r);

/* Let libcyaml make r->f of a text that file_check() found good. ERR_INVALID if it does not agree:
 * a defect of the check, which tests and fuzzing look for. */
MUST_USE enum err file_load(struct file_reader *r);

/* The topology: a path or a mapping (file_topology.c). */
MUST_USE enum err file_topology(struct file_reader *r);

/* Defaults, limits, and what has to go together (file_fill.c). */
MUST_USE enum err file_fill(struct file_reader *r);

/* The lines of "faults" (file_fault.c), once members and regions are known. */
MUST_USE enum err file_faults(struct file_reader *r);

#endif
