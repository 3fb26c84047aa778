/* The header is a Python dictionary with three keys, which NumPy writes in one way but reads in
 * many: so keys may come in any order, with either kind of quotes, and with any spaces. */

#include "client/npy.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What is left to read. */
struct npy_scan {
    const char *at;
    const char *end;
};

enum npy_key { NPY_DESCR = 1, NPY_ORDER = 2, NPY_SHAPE = 4 };

enum err client_npy_start(const uint8_t *bytes, uint64_t *header_bytes_out, struct err_text *text)
{
    uint64_t size;

    if (memcmp(bytes, "\x93NUMPY", 6) != 0) {
        return err_text_set(text, ERR_INVALID, "not a .npy file");
    }
    if (bytes[6] < 1 || bytes[6] > 3) {
        return err_text_set(text, ERR_INVALID, "version %u of the .npy format is not known",
                            bytes[6]);
    }
    size = bytes[6] == 1 ? 10 + (uint64_t)bytes_load16(bytes + 8)
                         : 12 + (uint64_t)bytes_load32(bytes + 8);
    if (size > CLIENT_NPY_HEADER_MAX || size < CLIENT_NPY_START_BYTES) {
        return err_text_set(text, ERR_INVALID, "a header of %" PRIu64 " bytes", size);
    }
    *header_bytes_out = size;
    return OK;
}

static void npy_skip(struct npy_scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t')) {
        s->at++;
    }
}

static bool npy_take(struct npy_scan *s, char wanted)
{
    npy_skip(s);
    if (s->at == s->end || *s->at != wanted) {
        return false;
    }
    s->at++;
    return true;
}

static bool npy_word(struct npy_scan *s, const char *word)
{
    size_t size = strlen(word);

    npy_skip(s);
    if ((size_t)(s->end - s->at) < size || memcmp(s->at, word, size) != 0) {
        return false;
    }
    s->at += size;
    return true;
}

/* A text in quotes, without escapes. */
static bool npy_text(struct npy_scan *s, char *out, size_t size)
{
    char quote = npy_take(s, '\'') ? '\'' : npy_take(s, '"') ? '"' : '\0';
    size_t n = 0;

    while (quote != '\0' && s->at < s->end && *s->at != quote && n + 1 < size) {
        out[n++] = *s->at++;
    }
    out[n] = '\0';
    return quote != '\0' && s->at < s->end && *s->at++ == quote;
}

static bool npy_number(struct npy_scan *s, uint64_t *out)
{
    uint64_t value = 0;
    const char *start;

    npy_skip(s);
    for (start = s->at; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
        if (value > (UINT64_C(1) << 48)) {
            return false;
        }
        value = value * 10 + (uint64_t)(*s->at - '0');
    }
    *out = value;
    return s->at > start;
}

/* "()", "(3,)", "(3, 4)". */
static bool npy_shape(struct npy_scan *s, struct client_npy *out)
{
    if (!npy_take(s, '(')) {
        return false;
    }
    out->axes = 0;
    while (!npy_take(s, ')')) {
        if (out->axes == CLIENT_NPY_AXES_MAX || !npy_number(s, &out->shape[out->axes])) {
            return false;
        }
        out->axes++;
        if (!npy_take(s, ',')) {
            return npy_take(s, ')');
        }
    }
    return true;
}

/* One entry; which key it was goes into @seen. */
static enum err npy_entry(struct npy_scan *s, struct client_npy *out, unsigned *seen,
                          struct err_text *text)
{
    char key[32], value[32];

    if (!npy_text(s, key, sizeof(key)) || !npy_take(s, ':')) {
        return err_text_set(text, ERR_INVALID, "its header cannot be read");
    }
    if (strcmp(key, "descr") == 0) {
        *seen |= NPY_DESCR;
        if (!npy_text(s, value, sizeof(value)) || strcmp(value, "<f4") != 0) {
            return err_text_set(text, ERR_INVALID,
                                "its elements are not float32 (\"<f4\"): convert them with "
                                ".astype('<f4')");
        }
    } else if (strcmp(key, "fortran_order") == 0) {
        *seen |= NPY_ORDER;
        if (!npy_word(s, "False")) {
            return err_text_set(text, ERR_INVALID,
                                "it is in the order of Fortran: convert it with "
                                "numpy.ascontiguousarray()");
        }
    } else if (strcmp(key, "shape") == 0) {
        *seen |= NPY_SHAPE;
        if (!npy_shape(s, out)) {
            return err_text_set(text, ERR_INVALID, "its shape cannot be read");
        }
    } else {
        return err_text_set(text, ERR_INVALID, "its header has an unknown key");
    }
    return OK;
}

enum err client_npy_parse(const uint8_t *bytes, uint64_t size, struct client_npy *out,
                          struct err_text *text)
{
    uint64_t start = bytes[6] == 1 ? 10 : 12;
    struct npy_scan s = {(const char *)bytes + start, (const char *)bytes + size};
    unsigned seen = 0;

    *out = (struct client_npy){.header_bytes = size};
    if (!npy_take(&s, '{')) {
        return err_text_set(text, ERR_INVALID, "its header cannot be read");
    }
    while (!npy_take(&s, '}')) {
        enum err rc = npy_entry(&s, out, &seen, text);

        if (rc != OK) {
            return rc;
        }
        if (!npy_take(&s, ',')) {
            if (!npy_take(&s, '}')) {
                return err_text_set(text, ERR_INVALID, "its header cannot be read");
            }
            break;
        }
    }
    if (seen != (NPY_DESCR | NPY_ORDER | NPY_SHAPE)) {
        return err_text_set(text, ERR_INVALID, "its header is not complete");
    }
    return OK;
}

enum err client_npy_fits(const struct client_npy *npy, uint64_t rows, uint32_t width,
                         struct err_text *text)
{
    char shape[CLIENT_NPY_AXES_MAX * 24] = "";
    size_t at = 0;

    if ((npy->axes == 2 && npy->shape[0] == rows && npy->shape[1] == width) ||
        (npy->axes == 1 && npy->shape[0] == rows * width)) {
        return OK;
    }
    for (uint32_t i = 0; i < npy->axes; i++) {
        at += (size_t)snprintf(shape + at, sizeof(shape) - at, "%s%" PRIu64, i > 0 ? ", " : "",
                               npy->shape[i]);
    }
    return err_text_set(text, ERR_INVALID,
                        "its shape is (%s), but that of the table is (%" PRIu64 ", %u)", shape,
                        rows, width);
}
