/* Files of recorded updates: which kind they are, and rows of .npy. */

#include "run/updates/file.h"

#include "base/mem.h"
#include "client/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "floats are read as they are");

enum err updates_row_reserve(struct updates_row *row, uint64_t elements, struct err_text *text)
{
    float *values;

    if (elements <= row->capacity) {
        return OK;
    }
    values = mem_calloc(elements, sizeof(float));
    if (values == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a clock of %" PRIu64 " elements",
                            elements);
    }
    if (row->capacity > 0) {
        memcpy(values, row->values, row->capacity * sizeof(float));
    }
    mem_free(row->values);
    row->values = values;
    row->capacity = elements;
    return OK;
}

static enum err file_short(const struct updates_file *f, struct err_text *text)
{
    return ferror(f->file)
               ? err_text_set(text, ERR_IO, "%.300s: %s", f->path, strerror(errno))
               : err_text_set(text, ERR_INVALID,
                              "%.300s: it is cut short: it ends before what its header says",
                              f->path);
}

/* One axis is one clock, two are several. */
static enum err file_shape(struct updates_file *f, const struct client_npy *npy, uint64_t size,
                           struct err_text *text)
{
    if (npy->axes < 1 || npy->axes > 2) {
        return err_text_set(text, ERR_INVALID,
                            "%.300s: it has %u axes; one axis is one clock, two are (clocks, "
                            "elements): convert it with .reshape(len(a), -1)",
                            f->path, npy->axes);
    }
    f->rows = npy->axes == 2 ? npy->shape[0] : 1;
    f->elements = npy->shape[npy->axes - 1];
    if (f->rows == 0 || f->elements == 0) {
        return err_text_set(text, ERR_INVALID, "%.300s: it is empty: there is no %s in it", f->path,
                            f->rows == 0 ? "clock" : "element");
    }
    if (f->elements > RUN_UPDATES_ELEMENTS_MAX) {
        return err_text_set(text, ERR_TOO_BIG,
                            "%.300s: a clock has %" PRIu64 " elements; at most %d can be read",
                            f->path, f->elements, RUN_UPDATES_ELEMENTS_MAX);
    }
    /* More may follow: a run that is killed leaves a clock that its header does not count yet. */
    return f->rows > (size - npy->header_bytes) / sizeof(float) / f->elements ? file_short(f, text)
                                                                              : OK;
}

static enum err file_header(struct updates_file *f, uint64_t size, struct err_text *text)
{
    uint8_t start[CLIENT_NPY_START_BYTES];
    struct err_text why = {""};
    struct client_npy npy;
    uint64_t header_bytes = 0;
    uint8_t *header;
    enum err rc;

    if (fread(start, 1, sizeof(start), f->file) != sizeof(start)) {
        return file_short(f, text);
    }
    rc = client_npy_start(start, &header_bytes, &why);
    if (rc != OK) {
        return err_text_set(text, rc, "%.300s: %.150s", f->path, why.text);
    }
    if (header_bytes > size) {
        return file_short(f, text);
    }
    header = mem_zalloc(header_bytes);
    if (header == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for the header of a file");
    }
    memcpy(header, start, sizeof(start));
    if (fread(header + sizeof(start), 1, header_bytes - sizeof(start), f->file) !=
        header_bytes - sizeof(start)) {
        rc = file_short(f, text);
    } else {
        rc = client_npy_parse(header, header_bytes, &npy, &why);
        rc = rc == OK ? file_shape(f, &npy, size, text)
                      : err_text_set(text, rc, "%.300s: %.150s", f->path, why.text);
    }
    mem_free(header);
    return rc;
}

enum err updates_file_begin(struct updates_file *f, FILE *file, const char *path, uint64_t size,
                            struct err_text *text)
{
    int first = getc(file);
    enum err rc = OK;

    *f = (struct updates_file){.path = path, .file = file};
    if (first == EOF) {
        rc = ferror(file) ? file_short(f, text)
                          : err_text_set(text, ERR_INVALID, "%.300s: it is empty", path);
    } else {
        f->npy = ungetc(first, file) == 0x93;
        rc = f->npy ? file_header(f, size, text) : OK;
    }
    if (rc != OK) {
        updates_file_close(f);
    }
    return rc;
}

enum err updates_file_open(struct updates_file *f, const char *path, struct err_text *text)
{
    FILE *file = fopen(path, "re");
    struct stat status;

    *f = (struct updates_file){.path = path};
    if (file == NULL) {
        return err_text_set(text, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%.300s: %s", path,
                            strerror(errno));
    }
    if (fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode)) {
        (void)fclose(file);
        return err_text_set(text, ERR_INVALID, "%.300s: not a file", path);
    }
    return updates_file_begin(f, file, path, (uint64_t)status.st_size, text);
}

void updates_file_close(struct updates_file *f)
{
    if (f->file != NULL) {
        (void)fclose(f->file);
        f->file = NULL;
    }
}

static enum err file_next_row(struct updates_file *f, uint64_t every, struct updates_row *row,
                              bool *got_out, struct err_text *text)
{
    enum err rc;

    *got_out = f->row < f->rows;
    if (!*got_out) {
        return OK;
    }
    if (row->elements != 0 && row->elements != f->elements) {
        return err_text_set(text, ERR_INVALID,
                            "%.300s: a clock has %" PRIu64 " elements, but the clocks before have "
                            "%" PRIu64 "; all clocks have the same number of elements",
                            f->path, f->elements, row->elements);
    }
    rc = updates_row_reserve(row, f->elements, text);
    if (rc != OK) {
        return rc;
    }
    if (fread(row->values, sizeof(float), f->elements, f->file) != f->elements) {
        return file_short(f, text);
    }
    for (uint64_t i = 0; i < f->elements; i++) {
        if (!isfinite(row->values[i])) {
            return err_text_set(text, ERR_INVALID,
                                "%.300s: element %" PRIu64 " of row %" PRIu64
                                " is %s, and must be finite",
                                f->path, i, f->row, isnan(row->values[i]) ? "NaN" : "infinite");
        }
    }
    f->row++;
    row->elements = f->elements;
    row->clock = row->clock == 0 ? 1 : row->clock + every;
    return OK;
}

enum err updates_file_next(struct updates_file *f, uint64_t every, struct updates_row *row,
                           bool *got_out, struct err_text *text)
{
    return f->npy ? file_next_row(f, every, row, got_out, text)
                  : updates_json_next(f, every, row, got_out, text);
}
