/* Folders of IDX files for tests, written by hand.
 *
 * Included by tests only; each is one program, so all functions are static. */

#ifndef APP_IDX_TESTING_H
#define APP_IDX_TESTING_H

#include "app/idx.h"
#include "base/mem.h"
#include "base/rng.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

/* Where Debian's package dataset-fashion-mnist puts its files. */
#define IDX_TESTING_FASHION "/usr/share/datasets/fashion-mnist"

struct idx_testing {
    char folder[64];
};

static inline void idx_testing_open(struct idx_testing *t)
{
    (void)snprintf(t->folder, sizeof(t->folder), "/tmp/strait-idx-XXXXXX");
    assert_non_null(mkdtemp(t->folder));
}

/* Remove all files. */
static inline void idx_testing_clear(const struct idx_testing *t)
{
    DIR *dir = opendir(t->folder);
    struct dirent *entry;
    char path[400];

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(path, sizeof(path), "%s/%s", t->folder, entry->d_name);
            assert_int_equal(unlink(path), 0);
        }
    }
    (void)closedir(dir);
}

static inline void idx_testing_close(const struct idx_testing *t)
{
    idx_testing_clear(t);
    assert_int_equal(rmdir(t->folder), 0);
}

/* Write a file, packed if its name ends so. */
static inline void idx_testing_write(const struct idx_testing *t, const char *name,
                                     const uint8_t *bytes, size_t size)
{
    bool packed = strlen(name) > 3 && strcmp(name + strlen(name) - 3, ".gz") == 0;
    char path[400];
    gzFile file;

    (void)snprintf(path, sizeof(path), "%s/%s", t->folder, name);
    file = gzopen(path, packed ? "wb" : "wbT");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

static inline uint8_t *idx_testing_number(uint8_t *p, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        *p++ = (uint8_t)(value >> shift);
    }
    return p;
}

/* Make a file of images; returns its size. Point k of image i of @seed is a fixed random number. */
static inline size_t idx_testing_images(uint8_t *out, uint32_t count, uint32_t height,
                                        uint32_t width, uint64_t seed)
{
    uint8_t *p = idx_testing_number(out, 0x803);
    struct rng r;

    rng_init(&r, seed);
    p = idx_testing_number(p, count);
    p = idx_testing_number(p, height);
    p = idx_testing_number(p, width);
    for (uint32_t i = 0; i < count * height * width; i++) {
        *p++ = (uint8_t)rng_next(&r);
    }
    return (size_t)(p - out);
}

static inline size_t idx_testing_labels(uint8_t *out, uint32_t count, uint64_t seed)
{
    uint8_t *p = idx_testing_number(out, 0x801);
    struct rng r;

    rng_init(&r, seed);
    p = idx_testing_number(p, count);
    for (uint32_t i = 0; i < count; i++) {
        *p++ = (uint8_t)rng_below(&r, 10);
    }
    return (size_t)(p - out);
}

#endif
