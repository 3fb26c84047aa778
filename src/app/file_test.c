/* Whole files: plain, packed, damaged, too large. */

#include "app/file.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

enum { CONTENT_BYTES = 700000 };

static char folder[] = "/tmp/strait-file-XXXXXX";
static char path[64];
static uint8_t content[CONTENT_BYTES]; /* Packs to about half. */

static int setup(void **state)
{
    struct rng r;

    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/data", folder);
    rng_init(&r, 3);
    for (size_t i = 0; i < CONTENT_BYTES; i++) {
        content[i] = (uint8_t)('a' + rng_below(&r, 16));
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static void write_file(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Pack into memory; returns the size. */
static size_t pack(const void *bytes, size_t size, uint8_t *out, size_t out_size)
{
    z_stream z = {0};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (uint8_t *)(uintptr_t)bytes;
    z.avail_in = (unsigned)size;
    z.next_out = out;
    z.avail_out = (unsigned)out_size;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return out_size - z.avail_out;
}

static void assert_reads(const void *expected, size_t size)
{
    struct err_text text = {""};
    uint8_t *bytes = NULL;
    size_t got = 0;

    if (app_file_read(path, size, &bytes, &got, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_int_equal(got, size);
    assert_memory_equal(bytes, expected, size);
    assert_int_equal(bytes[size], 0);
    mem_free(bytes);
}

static void assert_refused(uint64_t bytes_max, enum err rc, const char *why)
{
    uint8_t *bytes = (uint8_t *)folder;
    struct err_text text = {""};
    size_t size = 77;

    assert_int_equal(app_file_read(path, bytes_max, &bytes, &size, &text), rc);
    assert_ptr_equal(bytes, folder);
    assert_int_equal(size, 77);
    assert_non_null(strstr(text.text, path));
    if (strstr(text.text, why) == NULL) {
        fail_msg("'%s' does not say '%s'", text.text, why);
    }
    assert_int_equal(app_file_read(path, bytes_max, &bytes, &size, NULL), rc);
}

static void test_plain_files_are_read_whole(void **state)
{
    (void)state;
    write_file(content, CONTENT_BYTES);
    assert_reads(content, CONTENT_BYTES);
    write_file("", 0);
    assert_reads("", 0);
    write_file("\x1f", 1);
    assert_reads("\x1f", 1);
}

static void test_packed_files_are_unpacked(void **state)
{
    static uint8_t packed[CONTENT_BYTES];

    (void)state;
    write_file(packed, pack(content, CONTENT_BYTES, packed, sizeof(packed)));
    assert_reads(content, CONTENT_BYTES);
    write_file(packed, pack("", 0, packed, sizeof(packed)));
    assert_reads("", 0);
    write_file(packed, pack("x", 1, packed, sizeof(packed)));
    assert_reads("x", 1);
}

static void test_members_in_a_row_are_one_file(void **state)
{
    static uint8_t packed[2 * CONTENT_BYTES];
    size_t half = CONTENT_BYTES / 2, size;

    (void)state;
    size = pack(content, half, packed, sizeof(packed));
    size += pack("", 0, packed + size, sizeof(packed) - size);
    size += pack(content + half, CONTENT_BYTES - half, packed + size, sizeof(packed) - size);
    write_file(packed, size);
    assert_reads(content, CONTENT_BYTES);
}

static void test_limits_are_kept(void **state)
{
    static uint8_t packed[CONTENT_BYTES];
    size_t size = pack(content, CONTENT_BYTES, packed, sizeof(packed));

    (void)state;
    write_file(content, CONTENT_BYTES);
    assert_refused(CONTENT_BYTES - 1, ERR_TOO_BIG, "more than 699999 bytes; split it");
    write_file(packed, size);
    assert_refused(CONTENT_BYTES - 1, ERR_TOO_BIG, "more than 699999 bytes when unpacked");
    assert_refused(0, ERR_TOO_BIG, "more than 0 bytes when unpacked");
}

/* A few bytes that unpack to much must not cost more than the limit. */
static void test_a_bomb_is_put_out(void **state)
{
    enum { ZEROS_BYTES = 64 << 20 };
    static uint8_t packed[1 << 20];
    uint8_t *zeros = calloc(1, ZEROS_BYTES);

    (void)state;
    assert_non_null(zeros);
    write_file(packed, pack(zeros, ZEROS_BYTES, packed, sizeof(packed)));
    free(zeros);
    assert_refused(1 << 20, ERR_TOO_BIG, "more than 1048576 bytes when unpacked");
}

static void test_a_cut_is_noticed_at_every_byte(void **state)
{
    uint8_t packed[4096];
    size_t size = pack(content, 2000, packed, sizeof(packed));

    (void)state;
    for (size_t cut = 2; cut < size; cut++) {
        write_file(packed, cut);
        assert_refused(CONTENT_BYTES, ERR_MALFORMED, "it is cut off; get the file again");
    }
}

static void test_damage_is_noticed(void **state)
{
    uint8_t packed[4096], copy[4096];
    size_t size = pack(content, 2000, packed, sizeof(packed));

    (void)state;
    for (size_t at = 10; at < size; at++) {
        memcpy(copy, packed, size);
        copy[at] ^= 0x10;
        write_file(copy, size);
        assert_refused(CONTENT_BYTES, ERR_MALFORMED, "get the file again");
    }
    memcpy(packed + size, "rubbish", 7);
    write_file(packed, size + 7);
    assert_refused(CONTENT_BYTES, ERR_MALFORMED, "get the file again");
}

static void test_what_is_no_file_is_refused(void **state)
{
    struct err_text text;
    uint8_t *bytes;
    size_t size;

    (void)state;
    (void)unlink(path);
    assert_refused(10, ERR_NOT_FOUND, "No such file");
    assert_int_equal(app_file_read(folder, 10, &bytes, &size, &text), ERR_IO);
    assert_non_null(strstr(text.text, "it is a folder, not a file"));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(10, ERR_IO, "a device or a pipe, not a file");
    assert_int_equal(unlink(path), 0);
}

static void fail_every_allocation(size_t size)
{
    enum err rc = ERR_NOMEM;
    uint64_t k;

    for (k = 1; rc == ERR_NOMEM; k++) {
        struct err_text text = {""};
        uint8_t *bytes;
        size_t got;

        mem_fail_at(k, 1);
        rc = app_file_read(path, CONTENT_BYTES, &bytes, &got, &text);
        mem_fail_at(0, 0);
        if (rc == OK) {
            assert_int_equal(got, size);
            mem_free(bytes);
        } else {
            assert_non_null(strstr(text.text, "out of memory"));
        }
    }
    assert_int_equal(rc, OK);
    assert_true(k > 2);
}

static void test_out_of_memory_at_every_allocation(void **state)
{
    static uint8_t packed[CONTENT_BYTES];

    (void)state;
    write_file(content, CONTENT_BYTES);
    fail_every_allocation(CONTENT_BYTES);
    write_file(packed, pack(content, CONTENT_BYTES, packed, sizeof(packed)));
    fail_every_allocation(CONTENT_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_files_are_read_whole),
        cmocka_unit_test(test_packed_files_are_unpacked),
        cmocka_unit_test(test_members_in_a_row_are_one_file),
        cmocka_unit_test(test_limits_are_kept),
        cmocka_unit_test(test_a_bomb_is_put_out),
        cmocka_unit_test(test_a_cut_is_noticed_at_every_byte),
        cmocka_unit_test(test_damage_is_noticed),
        cmocka_unit_test(test_what_is_no_file_is_refused),
        cmocka_unit_test(test_out_of_memory_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
