/* strait compare: several runs of one file, or records that there are, side by side. */

#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli/context.h"
#include "run/file.h"
#include "run/outcome.h"

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
    enum compare_state state;
    bool known; /* There is an outcome; else .why says why not. */
    struct run_outcome outcome;
    struct run_scalars scalars;
    bool reached; /* It came as far as it was to come. */
    struct err_text why;
};

/* What lan reached, which all others are to reach. */
struct compare_goal {
    bool there;
    double objective;
    bool converged;         /* Else lan had come to its last clock. */
    double change;          /* What counted as converged, */
    uint32_t change_clocks; /* over so many clocks. */
    uint64_t clock;         /* Of lan, when it was as good for the first time. */
    uint64_t limit_clocks;  /* For the others; zero: only the time of the file. */
    bool limit_said;        /* It is that of the file. */
};

struct compare {
    char title[COMPARE_NAME_BYTES];
    char dir[COMPARE_PATH_BYTES]; /* Empty: only records are compared. */
    struct compare_goal goal;
    struct compare_run runs[COMPARE_RUNS_MAX];
    uint32_t count;
    uint32_t base;        /* What speed is compared with; COMPARE_NONE: nothing. */
    uint32_t lan;         /* Likewise. */
    struct err_text note; /* Something that people should know; may be empty. */
};

/* Settings of a run file (compare_set.c). */

/* "lan", "plain-bsp", ...; ends with NULL. */
extern const char *const compare_names[];

struct compare_settings {
    char items[COMPARE_SETTINGS_MAX][COMPARE_SETTING_BYTES];
    uint32_t count;
};

/* What makes the setting @name of the file, without what ends it. */
void compare_settings(const struct run_file *f, const char *name, struct compare_settings *out);

/* What ends lan for the goal, and all others by it. */
void compare_settings_converge(const struct run_file *f, struct compare_goal *goal,
                               struct compare_settings *out);
void compare_settings_reach(const struct run_file *f, const struct compare_goal *goal,
                            struct compare_settings *out);

/* Running them (compare_go.c). */

struct compare_go_config {
    const char *path; /* Of the run file. */
    const struct run_file *file;
    const char *const *sets; /* Of --set. */
    uint32_t sets_count;
    uint32_t jobs; /* At once. */
};

/* Run all of @c->runs, lan first, and set the goal. Ctrl-C ends those that run; then the result has
 * what there is. CLI_DONE, or an error that was printed: nothing can be compared. */
enum cli_exit compare_go(struct cli_context *ctx, const struct compare_go_config *config,
                         struct compare *c);

/* What came out, as people want it (compare_view.c). Pure. */

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
