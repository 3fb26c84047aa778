/* One file of recorded updates. Private to src/run/updates*.c. */

#ifndef RUN_UPDATES_FILE_H
#define RUN_UPDATES_FILE_H

#include "run/updates/updates.h"

/* Room for one clock, used again for the next. */
struct updates_row {
    uint64_t clock; /* Zero: none yet. */
    float *values;
    uint64_t elements; /* Zero: not known yet; then all rows must have as many. */
    uint64_t capacity;
};

struct updates_file {
    const char *path;
    FILE *file;
    bool npy;
    bool torn;         /* It ended in the middle of a row. */
    uint64_t rows;     /* Of .npy: how many there are. */
    uint64_t elements; /* Likewise. */
    uint64_t row;      /* How many were read. */
    uint64_t line;     /* Else: the current one, from 1. */
};

/* Take over a stream. ERR_INVALID or ERR_IO with @text. The path is borrowed. */
MUST_USE enum err updates_file_begin(struct updates_file *f, FILE *file, const char *path,
                                     uint64_t size, struct err_text *text);
MUST_USE enum err updates_file_open(struct updates_file *f, const char *path,
                                    struct err_text *text);
void updates_file_close(struct updates_file *f); /* May be closed already. */

/* Read the next row over the last; @every clocks later, unless it says so itself. *@got_out is
 * false at the end. */
MUST_USE enum err updates_file_next(struct updates_file *f, uint64_t every, struct updates_row *row,
                                    bool *got_out, struct err_text *text);

/* updates/json.c: the same for lines. */
MUST_USE enum err updates_json_next(struct updates_file *f, uint64_t every, struct updates_row *row,
                                    bool *got_out, struct err_text *text);

/* Room for @elements values. ERR_NOMEM with @text. */
MUST_USE enum err updates_row_reserve(struct updates_row *row, uint64_t elements,
                                      struct err_text *text);

/* updates/meta.c: what an updates.json says; ERR_NOT_FOUND without @text: there is none. */
struct updates_meta {
    uint64_t every;
    uint32_t count;
    char **names; /* Of files beside it. */
};

MUST_USE enum err updates_meta_read(const char *dir, struct updates_meta *out,
                                    struct err_text *text);
MUST_USE enum err updates_meta_parse(const char *path, const char *chars, size_t size,
                                     struct updates_meta *out, struct err_text *text);
void updates_meta_free(struct updates_meta *m);

#endif
