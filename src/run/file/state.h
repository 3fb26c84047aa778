/* What the files that read run files share. Private to src/run/file*.c. */

#ifndef RUN_FILE_STATE_H
#define RUN_FILE_STATE_H

#include "run/file/file.h"
#include "run/file/yaml.h"

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
    bool places; /* It is not a run file but one of places of sites (run/file/sites_file.h). */
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

/* What is at @path if it is there, within its limits; else @fallback (file/value.c). @value holds
 * what was read of it. */
MUST_USE enum err file_whole(const struct file_reader *r, const char *path, uint64_t *value,
                             uint64_t fallback, uint64_t least, uint64_t most);
MUST_USE enum err file_u32(const struct file_reader *r, const char *path, uint32_t *value,
                           uint32_t fallback, uint32_t least, uint32_t most);
MUST_USE enum err file_number(const struct file_reader *r, const char *path, double *value,
                              double fallback, double least, double most);
/* A path that does not start with "/" starts from the file's folder. Empty stays empty. */
MUST_USE enum err file_path_from_here(struct file_reader *r, const char **path);

/* The same for a time with its unit. */
MUST_USE enum err file_time(const struct file_reader *r, const char *path, int64_t *ns_out,
                            int64_t fallback, int64_t least, int64_t most);

/* A number, or one with "%". */
MUST_USE bool file_read_part(const char *chars, double *out);

/* Is it a name? Is it one of a region? */
MUST_USE enum err file_name(const struct file_reader *r, const char *path, const char *name);
MUST_USE enum err file_region(const struct file_reader *r, const char *path, const char *name,
                              uint32_t *index_out);

/* Check the tree against the schema (file/schema.c): keys, kinds, numbers, choices. */
MUST_USE enum err file_check(const struct file_reader *r);

/* The same for the lists of servers and of workers of a site, which may be numbers instead. */
MUST_USE enum err file_check_servers(const struct file_reader *r, const struct run_yaml *node,
                                     const char *path);
MUST_USE enum err file_check_workers(const struct file_reader *r, const struct run_yaml *node,
                                     const char *path);

/* The same for "converged", which may be true or false instead. */
MUST_USE enum err file_check_converged(const struct file_reader *r, const struct run_yaml *node,
                                       const char *path);

/* Let libcyaml make r->f of a text that file_check() found good. ERR_INVALID if it does not agree:
 * a defect of the check, which tests and fuzzing look for. */
MUST_USE enum err file_load(struct file_reader *r);

/* The topology: a path or a mapping (file/topology.c). */
MUST_USE enum err file_topology(struct file_reader *r);

/* The rates that this run has, of those of the topology (file/links.c). */
MUST_USE enum err file_links(struct file_reader *r);

/* @rate times @factor; false: that is no rate. */
MUST_USE bool file_links_rate(uint64_t *rate, double factor);

/* Defaults, limits, and what has to go together (file/fill.c). */
MUST_USE enum err file_fill(struct file_reader *r);

/* The name of a server, once its line is known: @entry is its path (file/fill.c). */
MUST_USE enum err file_server_name(struct file_reader *r, const char *entry, uint32_t index,
                                   const char *made);

/* The sites of the file, with their servers and workers, and how they are laid out
 * (file/sites.c). */
MUST_USE enum err file_sites(struct file_reader *r);

/* Where members are in their racks, once all are known (file/rack.c). */
MUST_USE enum err file_racks(const struct file_reader *r);

/* How updates come together, once links are known (file/sync.c). */
MUST_USE enum err file_sync(struct file_reader *r);

/* When it is over (file/stop.c). */
MUST_USE enum err file_stop(struct file_reader *r);

/* The class of the run's machines, and how sites share, and money (file/between.c). */
MUST_USE enum err file_machine(struct file_reader *r);
MUST_USE enum err file_between(struct file_reader *r);

/* Of that only how sites share, once .parts are known; and how it is printed (file/print.c). */
MUST_USE enum err file_between_terms(struct file_reader *r);
void file_print_between(const struct run_file *f, double factor, struct text *out);

/* A site of that name among .parts, for what is at @node; also by its region if @regions
 * (file/between.c). */
MUST_USE enum err file_between_site(const struct file_reader *r, const struct run_yaml *node,
                                    const char *path, bool regions, uint32_t *index_out);

/* What belongs to preset central, and the links between sites; and how it is printed, with rates
 * times @factor (file/central.c). */
MUST_USE enum err file_central(struct file_reader *r);
void file_print_central(const struct run_file *f, double factor, struct text *out);

/* Other people's traffic (file/background.c), once members and regions are known. */
MUST_USE enum err file_backgrounds(struct file_reader *r);

/* The lines of "faults" (file/fault.c), once members and regions are known. */
MUST_USE enum err file_faults(struct file_reader *r);

#endif
