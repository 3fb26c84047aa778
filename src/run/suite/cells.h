/* Sets: files that name several comparisons (cells), and what somebody else has found for the same,
 * so that a figure of a paper is one command. YAML; docs/RUNS.md has every key. What was read is
 * complete: defaults are filled in, and names were looked up. */

#ifndef RUN_SUITE_CELLS_H
#define RUN_SUITE_CELLS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    RUN_CELLS_BYTES_MAX = 1 << 18,
    RUN_CELLS_MAX = 64,
    RUN_CELLS_ALSO_MAX = 8,      /* Figures after the first. */
    RUN_CELLS_RUNS_MAX = 24,     /* Of one cell, and of a set's own. */
    RUN_CELLS_SETTINGS_MAX = 24, /* Of one cell, and of one run. */
    RUN_CELLS_RUN_NAME_MAX = 32, /* Characters. */
};

/* What is shown of a run. */
enum run_cells_show {
    RUN_SHOW_TIME,          /* Seconds to the goal. */
    RUN_SHOW_SPEED,         /* How many times as fast as the base. */
    RUN_SHOW_BY_LAN,        /* How many times lan's time. */
    RUN_SHOW_CLOCKS,        /* To the goal. */
    RUN_SHOW_DOLLARS,       /* Machines and transfer. */
    RUN_SHOW_CHEAPER,       /* How many times fewer dollars than the base. */
    RUN_SHOW_BYTES,         /* Between regions. */
    RUN_SHOW_INSIGNIFICANT, /* Part of the workers' changes that are small. */
    RUN_SHOW_OBJECTIVE,     /* At the end. */
    RUN_SHOW_SAVED,         /* Part of the base's bytes that it did without, inside regions too. */
    RUN_SHOW_COMMUNICATION, /* Seconds of a worker, mean: waiting for the network and others, ... */
    RUN_SHOW_COMPUTATION,   /* ... and computing, with compression. */
    RUN_SHOWS,
};

/* What the paper has of a run: one figure, or from .low to .high. */
struct run_cells_paper {
    const char *run;
    double low;
    double high;
};

/* What it has of a cell. */
struct run_cells_papers {
    const struct run_cells_paper *of;
    uint32_t count;
};

/* What is shown of the runs. */
struct run_cells_figure {
    const char *name;   /* That of the set, if it is its first. */
    const char *about;  /* May be empty. */
    const char *source; /* Where the paper's figures are from; may be empty. */
    enum run_cells_show show;
    const char **only; /* Names of the runs that it has; none: it has all. */
    uint32_t only_count;
    const char **against; /* By run of the set's own, what it is compared with; NULL: the base. */
    struct run_cells_papers *papers; /* By cell. */
};

/* A run that the set itself says how to make of a cell's file. */
struct run_cells_run {
    const char *name;
    const char **settings; /* "KEY=VALUE", after those of the cell. */
    uint32_t settings_count;
};

/* A comparison. */
struct run_cell {
    const char *name;
    const char *about; /* May be empty. */
    const char *path;  /* Of the run file, good in the working directory. */
    const char **only; /* Names of runs, of a set's own in its order and with those that they are
                        * compared with, ... */
    uint32_t only_count;
    const char **settings; /* ... and "KEY=VALUE" for all of them. */
    uint32_t settings_count;
    bool local;    /* Processes on this machine; else simulated. */
    uint32_t twin; /* The cell that this one is to agree with; RUN_CELLS_MAX: none. */
    uint32_t line;
};

struct run_cells {
    const char *name;
    struct run_cells_figure *figures; /* At least one; all are of the same runs. */
    uint32_t figures_count;
    const char *base; /* A run, or "plain": of each run the plain one with its own barrier. */
    const struct run_cells_run *runs; /* Its own; then .base is one of them and sets the goal. */
    uint32_t runs_count;              /* Zero: it has those that everybody knows. */
    struct run_cell *cells;
    uint32_t count;
    struct run_arena *arena; /* Holds all of this. */
};

/* Read the file. @runs are the names that runs may have unless the set has its own, and end with
 * NULL. ERR_NOT_FOUND, ERR_IO,
 * ERR_TOO_BIG, ERR_MALFORMED, ERR_NOMEM; @text then says "FILE:LINE:COLUMN: KEY: " what is wrong
 * and what is allowed. The caller releases the result. */
MUST_USE enum err run_cells_load(const char *path, const char *const *runs,
                                 struct run_cells **cells_out, struct err_text *text);

/* Read the @size bytes of a set called @name. Paths in it start at @folder. Errors as above, but
 * not of files. */
MUST_USE enum err run_cells_parse(const char *name, const char *folder, const char *bytes,
                                  size_t size, const char *const *runs,
                                  struct run_cells **cells_out, struct err_text *text);

/* NULL is allowed. */
void run_cells_free(struct run_cells *s);

/* "speed", as it is written. */
const char *run_cells_show_name(enum run_cells_show show);

/* The set's own run of that name, or NULL. */
const struct run_cells_run *run_cells_find(const struct run_cells *s, const char *run);

/* Is that run in the figure? */
bool run_cells_shows(const struct run_cells_figure *figure, const char *run);

/* What the figure compares that run with: another, or the set's base. */
const char *run_cells_against(const struct run_cells *s, const struct run_cells_figure *figure,
                              const char *run);

/* What the paper has of that run of the cell, or NULL. */
const struct run_cells_paper *run_cells_paper(const struct run_cells_figure *figure, uint32_t cell,
                                              const char *run);

#endif
