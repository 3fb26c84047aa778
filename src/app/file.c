#include "app/file.h"

#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    FILE_PIECE_BYTES = 64 * 1024,
    FILE_GROW_BYTES = 256 * 1024, /* Room for what is unpacked, to begin with. */
    FILE_GZIP_WINDOW = 15 + 16,   /* For inflateInit2(): the largest window, gzip header. */
};

/* What was read so far; one byte more than .capacity is there, for the zero. */
struct file_bytes {
    const char *path;
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    uint64_t bytes_max;
    struct err_text *text;
};

static enum err file_fault(const struct file_bytes *f)
{
    int why = errno;

    return err_text_set(f->text, why == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot read %s: %s",
                        f->path, strerror(why));
}

static enum err file_too_big(const struct file_bytes *f)
{
    return err_text_set(f->text, ERR_TOO_BIG,
                        "cannot read %s: it has more than %llu bytes%s; split it", f->path,
                        (unsigned long long)f->bytes_max, f->capacity == 0 ? "" : " when unpacked");
}

static enum err file_damaged(const struct file_bytes *f, const char *why)
{
    return err_text_set(f->text, ERR_MALFORMED,
                        "cannot read %s: %s; get the file again, gzip -t checks it", f->path, why);
}

/* Make room for @capacity bytes, which is more than there is. */
static enum err file_grow(struct file_bytes *f, size_t capacity)
{
    uint8_t *bytes = mem_zalloc(capacity + 1);

    if (bytes == NULL) {
        return err_text_set(f->text, ERR_NOMEM, "cannot read %s: out of memory", f->path);
    }
    if (f->size > 0) {
        memcpy(bytes, f->bytes, f->size);
    }
    mem_free(f->bytes);
    f->bytes = bytes;
    f->capacity = capacity;
    return OK;
}

static enum err file_read_plain(struct file_bytes *f, int fd, uint64_t size)
{
    enum err rc;
    ssize_t n;

    if (size > f->bytes_max || size >= SIZE_MAX) {
        return file_too_big(f);
    }
    rc = file_grow(f, (size_t)size);
    if (rc != OK) {
        return rc;
    }
    n = fd_read_all(fd, f->bytes, f->capacity);
    if (n < 0) {
        return file_fault(f);
    }
    f->size = (size_t)n;
    return OK;
}

static void *file_zlib_alloc(void *user, unsigned count, unsigned size)
{
    (void)user;
    return mem_calloc(count, size);
}

static void file_zlib_free(void *user, void *p)
{
    (void)user;
    mem_free(p);
}

/* Give @z room to unpack into. */
static enum err file_make_room(struct file_bytes *f, z_stream *z)
{
    /* One byte more than allowed may come in: it shows that there are more. */
    uint64_t most = f->bytes_max + 1;
    uint64_t room = f->capacity == 0 ? FILE_GROW_BYTES : (uint64_t)f->capacity * 2;
    enum err rc = OK;

    if (f->size == f->capacity) {
        rc = f->size < most ? file_grow(f, (size_t)(room < most ? room : most)) : file_too_big(f);
    }
    if (rc == OK) {
        room = f->capacity - f->size;
        z->next_out = f->bytes + f->size;
        z->avail_out = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
    }
    return rc;
}

/* Unpack what @z has at hand. *@ended_out: a member of the file ended there. */
static enum err file_unpack_piece(struct file_bytes *f, z_stream *z, bool *ended_out)
{
    enum err rc;
    int status;

    do {
        rc = file_make_room(f, z);
        if (rc != OK) {
            return rc;
        }
        status = inflate(z, Z_NO_FLUSH);
        f->size = (size_t)(z->next_out - f->bytes);
        if (status == Z_MEM_ERROR) {
            return err_text_set(f->text, ERR_NOMEM, "cannot read %s: out of memory", f->path);
        }
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
            return file_damaged(f, z->msg == NULL ? "not a whole gzip file" : z->msg);
        }
    } while (status != Z_STREAM_END && (z->avail_in > 0 || z->avail_out == 0));
    *ended_out = status == Z_STREAM_END;
    return OK;
}

/* Unpack one piece of the file after the other; a member may end anywhere in one, and the next
 * begins right there. */
static enum err file_unpack_all(struct file_bytes *f, int fd, z_stream *z, uint8_t *piece)
{
    bool between = false; /* Members: there the file may end. */

    for (;;) {
        ssize_t n = fd_read_all(fd, piece, FILE_PIECE_BYTES);

        if (n < 0) {
            return file_fault(f);
        }
        if (n == 0) {
            return between ? OK : file_damaged(f, "it is cut off");
        }
        z->next_in = piece;
        z->avail_in = (uInt)n;
        while (z->avail_in > 0) {
            bool ended = false;
            enum err rc;

            if (between && inflateReset(z) != Z_OK) {
                return file_damaged(f, "not a whole gzip file");
            }
            rc = file_unpack_piece(f, z, &ended);
            if (rc != OK) {
                return rc;
            }
            between = ended;
        }
    }
}

static enum err file_read_gzip(struct file_bytes *f, int fd)
{
    z_stream z = {.zalloc = file_zlib_alloc, .zfree = file_zlib_free};
    uint8_t *piece = mem_zalloc(FILE_PIECE_BYTES);
    enum err rc;

    if (piece == NULL || inflateInit2(&z, FILE_GZIP_WINDOW) != Z_OK) {
        mem_free(piece);
        return err_text_set(f->text, ERR_NOMEM, "cannot read %s: out of memory", f->path);
    }
    rc = file_unpack_all(f, fd, &z, piece);
    (void)inflateEnd(&z);
    mem_free(piece);
    if (rc == OK && f->size > f->bytes_max) {
        rc = file_too_big(f);
    }
    return rc;
}

static enum err file_read_open(struct file_bytes *f, int fd)
{
    uint8_t magic[2] = {0, 0};
    struct stat status;
    enum err rc;

    if (fstat(fd, &status) != 0) {
        return file_fault(f);
    }
    if (!S_ISREG(status.st_mode)) {
        return err_text_set(f->text, ERR_IO, "cannot read %s: it is %s, not a file", f->path,
                            S_ISDIR(status.st_mode) ? "a folder" : "a device or a pipe");
    }
    if (pread(fd, magic, sizeof(magic), 0) < 0) {
        return file_fault(f);
    }
    rc = magic[0] == 0x1f && magic[1] == 0x8b ? file_read_gzip(f, fd)
                                              : file_read_plain(f, fd, (uint64_t)status.st_size);
    if (rc == OK) {
        CHECK(f->bytes != NULL);
        f->bytes[f->size] = 0;
    }
    return rc;
}

enum err app_file_read(const char *path, uint64_t bytes_max, uint8_t **bytes_out, size_t *size_out,
                       struct err_text *text)
{
    struct file_bytes f = {.path = path, .bytes_max = bytes_max, .text = text};
    /* Not blocking: a named pipe in place of a file must not hang us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum err rc;

    CHECK(bytes_max < UINT64_MAX);
    if (fd < 0) {
        return file_fault(&f);
    }
    rc = file_read_open(&f, fd);
    (void)close(fd);
    if (rc != OK) {
        mem_free(f.bytes);
        return rc;
    }
    *bytes_out = f.bytes;
    *size_out = f.size;
    return OK;
}
