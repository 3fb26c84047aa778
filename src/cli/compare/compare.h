/* strait compare: several runs of one file, several files, or records that there are, side by
 * side. */

#ifndef CLI_COMPARE_COMPARE_H
#define CLI_COMPARE_COMPARE_H

#include "cli/command/context.h"
#include "run/file/file.h"
#include "run/record/reading.h"
#include "run/suite/cells.h"

enum {
    COMPARE_RUNS_MAX = 32,
    COMPARE_NAME_BYTES = 64,
    COMPARE_PATH_BYTES = 1100,
    COMPARE_SETTING_BYTES = 512,
    COMPARE_SETTINGS_MAX = 8, /* Of one run, besides those of --set. */
    COMPARE_NONE = COMPARE_RUNS_MAX,
};

enum compare_state { COMPARE_WAITS, COMPARE_RUNS, COMPARE_DONE };

/* One of them. */
struct compare_run {
    char name[COMPARE_NAME_BYTES];
    char record[COMPARE_PATH_BYTES];
    const char *path; /* The run file that is run as it is; NULL: it is a setting or a record. */
    const struct run_cells_run *own; /* What a set makes of a file; NULL: something else. */
    enum compare_state state;
    bool known; /* There is an outcome; else .why says why not. */
    struct run_outcome outcome;
    struct run_scalars scalars;
    struct run_reading_curve curve;
    struct run_reading_reach reach; /* Where it is as good as .aim of the comparison. */
    bool reached;                   /* It came as far as it was to come. */
    struct err_text why;
};

/* What the run that sets it reached, which all others are to reach. */
struct compare_goal {
    bool there;
    double objective;
    bool converged;         /* Else that run had come to its last clock. */
    double change;          /* What counted as converged, */
    uint32_t change_clocks; /* over so many clocks. */
    uint64_t clock;         /* Of that run, when it was as good for the first time. */
    uint64_t limit_clocks;  /* For the others; zero: only the time of the file. */
    bool limit_said;        /* It is that of the file. */
};

struct compare {
    char title[COMPARE_NAME_BYTES];
    char dir[COMPARE_PATH_BYTES]; /* Empty: nothing is kept. */
    struct compare_goal goal;
    double aim; /* Up to where all are compared: the goal, or else the best that every run came to;
                 * NaN: there is no such thing. */
    struct compare_run runs[COMPARE_RUNS_MAX];
    uint32_t count;
    uint32_t base;        /* What speed is compared with; COMPARE_NONE: nothing. */
    uint32_t lan;         /* Likewise. */
    uint32_t setter;      /* Who sets the goal: lan, or the base of a set's own runs; or nobody. */
    struct err_text note; /* Something that people should know; may be empty. */
};

/* NULL is allowed. */
void compare_free(struct compare *c);

/* Settings of a run file (compare/set.c). */

/* "lan", "plain-bsp", ...; ends with NULL. */
extern const char *const compare_names[];

struct compare_settings {
    char items[COMPARE_SETTINGS_MAX][COMPARE_SETTING_BYTES];
    uint32_t count;
};

/* What makes the setting @name of the file, without what ends it. */
void compare_settings(const struct run_file *f, const char *name, struct compare_settings *out);

/* What ends the run that sets the goal, and all others by it. */
void compare_settings_converge(const struct run_file *f, struct compare_goal *goal,
                               struct compare_settings *out);
void compare_settings_reach(const struct run_file *f, const struct compare_goal *goal,
                            struct compare_settings *out);

/* Running them (compare/go.c). */

struct compare_go_config {
    const char *path; /* Of the run file. */
    const struct run_file *file;
    const char *const *sets; /* Of --set. */
    uint32_t sets_count;
    uint32_t jobs;       /* At once. */
    const char *on;      /* "sim", "local" */
    bool resume;         /* Records that there are of the same runs are taken, and not run again. */
    const char *heading; /* What this is a part of, for people who look on; NULL: nothing. */
    int64_t since_ns;    /* When that began. */
};

/* Run all of @c->runs that wait; if one of them sets the goal, that first. Ctrl-C ends those that
 * run; then the result has what there is. CLI_DONE, or an error that was printed: nothing can be
 * compared. */
enum cli_exit compare_go(struct cli_context *ctx, const struct compare_go_config *config,
                         struct compare *c);

/* Records of an earlier time (compare/earlier.c). */

struct compare_earlier {
    const char *record; /* Where it would be. */
    const char *path;   /* The run file, and all that is set in it. */
    const char *on;
    const char *const *sets;
    uint32_t sets_count;
    const struct run_cells_run *own; /* NULL: nothing. */
    const struct compare_settings *settings;
};

/* Is there a record of just this run that came to its end? One that was cut off is put aside, under
 * a name of its own. ERR_EXISTS: it is of another run; others of files; with @text. */
MUST_USE enum err compare_earlier(const struct compare_earlier *e, bool *taken_out,
                                  struct err_text *text);

/* Several files and records (compare/mix.c). */
enum cli_exit compare_mix(struct cli_context *ctx, const char *const *sets, uint32_t sets_count);

/* Sets (compare/cells.c). */

/* The file of a set that somebody calls @name: that file, with ".yaml", or "set.yaml" in that
 * folder. */
bool compare_cells_find(const char *name, char out[COMPARE_PATH_BYTES]);

/* Run the cells of a set. */
enum cli_exit compare_cells(struct cli_context *ctx, const char *path, const char *const *sets,
                            uint32_t sets_count);

/* What all ways share (compare.c). */

/* A new folder for the records, or that of --output; called after @name. */
enum cli_exit compare_open_dir(struct cli_context *ctx, const char *name, struct compare *c);

/* Choose the runs of a file: @only, with commas (NULL: all that make sense), and lan, which sets
 * the goal. What needs something that the file has not is left out, unless somebody asked for it.
 */
enum cli_exit compare_choose(struct cli_context *ctx, const struct compare_go_config *config,
                             const char *only, struct compare *c);

/* Take a set's own runs, those of a cell; its base sets the goal. */
void compare_choose_own(const struct run_cells *set, const struct run_cell *cell,
                        struct compare *c);

/* Can a file be compared with itself at all? With a set's own runs it needs to be evaluated only.
 */
enum cli_exit compare_check_file(struct cli_context *ctx, const char *path,
                                 const struct run_file *f);
enum cli_exit compare_check_evaluated(struct cli_context *ctx, const char *path,
                                      const struct run_file *f);

/* Print what came out, and keep it in the folder if there is one; or keep it only. */
enum cli_exit compare_show(struct cli_context *ctx, struct compare *c);
enum cli_exit compare_keep_quietly(struct cli_context *ctx, struct compare *c);

/* A run that failed, or of which nothing is known, makes the whole a failure; one that diverged or
 * came too late is a result. */
enum cli_exit compare_verdict(const struct compare *c);

/* The file cannot be run, for @rc. */
enum cli_exit compare_bad_file(struct cli_context *ctx, enum err rc, const struct err_text *text);

/* Records, aligned (compare/align.c). */

/* Read what the record of a run says; NaN as @goal: there is none. */
MUST_USE enum err compare_load(struct compare_run *r, double goal, struct err_text *text);

/* Set the aim, and where each run is as good. */
void compare_align(struct compare *c);

/* All points of all curves, as curves.csv. */
void compare_curves(const struct compare *c, struct text *out);

/* Add a word of a table, in quotes if it must be. */
void compare_csv_word(const char *word, struct text *out);

/* The page of it (compare/page.c). Pure. ERR_NOMEM. */
MUST_USE enum err compare_page(const struct compare *c, struct text *out);

/* What came out, as people want it (compare/view.c). Pure. */

struct compare_view {
    const struct compare *compare;
    bool wide;
    bool color;
    bool utf8;
    int width;
};

void compare_view(const struct compare_view *v, struct text *out);
void compare_csv(const struct compare *c, struct text *out);
json_t *compare_json(const struct compare *c); /* NULL: no memory. */

/* Sentences; each may be empty. */
void compare_say_goal(const struct compare *c, struct text *out);
void compare_say_missed(const struct compare *c, const struct compare_run *r, struct text *out);
void compare_say_budget(const struct compare *c, struct text *out);
void compare_say_prices(const struct compare *c, struct text *out);

/* "reached", "clocks", "no result", ... */
const char *compare_end(const struct compare *c, const struct compare_run *r);

/* Its time can be compared: it has reached the goal, or nobody set one. */
bool compare_timed(const struct compare *c, uint32_t run);

/* When it was as good as the goal, in seconds and clocks; if it was not, or there is none, its end.
 */
double compare_time(const struct compare *c, uint32_t run);
double compare_clocks(const struct compare *c, uint32_t run);

/* How many times as fast as the base it was; how many times lan's time it took. NaN: that cannot be
 * said. */
double compare_speed(const struct compare *c, uint32_t run);
double compare_by_lan(const struct compare *c, uint32_t run);

/* The run of that name, or COMPARE_NONE. */
uint32_t compare_find(const struct compare *c, const char *name);

#endif
