#include "client/file.h"

#include "base/fd.h"
#include "base/mem.h"
#include "client/npy.h"
#include "client/option.h"
#include "net/entropy.h"
#include "store/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct client_file {
    int fd;
    char path[CLIENT_PATH_BYTES];
    char draft[CLIENT_PATH_BYTES]; /* What is written to. */
};

/* What errno means, and for which file. */
static enum err file_failed(const char *path, struct err_text *text)
{
    enum err rc = errno == ENOENT                      ? ERR_NOT_FOUND
                  : errno == ENOSPC || errno == EDQUOT ? ERR_FULL
                                                       : ERR_IO;

    return err_text_set(text, rc, "%.400s: %s", path, strerror(errno));
}

/* NULL with *@rc_out and @text. */
static struct client_file *file_make(const char *path, enum err *rc_out, struct err_text *text)
{
    struct client_file *f;

    if (strlen(path) >= sizeof(f->path)) {
        *rc_out = err_text_set(text, ERR_TOO_BIG, "the path is longer than %d characters",
                               CLIENT_PATH_BYTES - 1);
        return NULL;
    }
    f = mem_zalloc(sizeof(*f));
    if (f == NULL) {
        *rc_out = err_text_set(text, ERR_NOMEM, "no memory to open a file");
        return NULL;
    }
    f->fd = -1;
    memcpy(f->path, path, strlen(path) + 1);
    return f;
}

void client_file_close(struct client_file *f)
{
    if (f == NULL) {
        return;
    }
    if (f->fd >= 0) {
        (void)close(f->fd);
    }
    if (f->draft[0] != '\0') {
        (void)unlink(f->draft);
    }
    mem_free(f);
}

static enum err file_put(struct client_file *f, const void *bytes, size_t size,
                         struct err_text *text)
{
    return fd_write_all(f->fd, bytes, size) ? OK : file_failed(f->path, text);
}

enum err client_file_create(const char *path, uint64_t rows, uint32_t width,
                            struct client_file **file_out, struct err_text *text)
{
    uint8_t header[NPY_HEADER_BYTES];
    uint64_t unique;
    enum err rc;
    struct client_file *f = file_make(path, &rc, text);

    if (f == NULL) {
        return rc;
    }
    rc = entropy_u64(&unique);
    if (rc != OK) {
        (void)err_text_set(text, rc, "the system has no randomness");
    } else if (snprintf(f->draft, sizeof(f->draft), "%s.%016" PRIx64, path, unique) >=
               (int)sizeof(f->draft)) {
        f->draft[0] = '\0';
        rc = err_text_set(text, ERR_TOO_BIG, "the path is too long");
    } else {
        f->fd = open(f->draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd < 0) {
            f->draft[0] = '\0';
            rc = file_failed(path, text);
        }
    }
    if (rc == OK) {
        npy_header(rows, width, header);
        rc = file_put(f, header, sizeof(header), text);
    }
    if (rc != OK) {
        client_file_close(f);
        return rc;
    }
    *file_out = f;
    return OK;
}

enum err client_file_write(struct client_file *f, const float *values, uint64_t count,
                           struct err_text *text)
{
    return file_put(f, values, count * sizeof(float), text);
}

/* The change of names must survive too. */
static enum err file_sync_folder(const char *path)
{
    char copy[CLIENT_PATH_BYTES];
    int fd;
    int status;

    memcpy(copy, path, strlen(path) + 1);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return ERR_IO;
    }
    status = fsync(fd);
    (void)close(fd);
    return status == 0 ? OK : ERR_IO;
}

enum err client_file_commit(struct client_file *f, struct err_text *text)
{
    enum err rc = OK;

    if (fsync(f->fd) != 0 || rename(f->draft, f->path) != 0) {
        rc = file_failed(f->path, text);
    } else {
        f->draft[0] = '\0';
        if (file_sync_folder(f->path) != OK) {
            rc = file_failed(f->path, text);
        }
    }
    client_file_close(f);
    return rc;
}

static enum err file_get(struct client_file *f, void *bytes, size_t size, struct err_text *text)
{
    ssize_t n = fd_read_all(f->fd, bytes, size);

    if (n < 0) {
        return file_failed(f->path, text);
    }
    if ((size_t)n < size) {
        return err_text_set(text, ERR_INVALID, "%.400s: it ends too early", f->path);
    }
    return OK;
}

/* Read the header and judge it, and the size of the file. */
static enum err file_judge(struct client_file *f, uint64_t rows, uint32_t width,
                           struct err_text *text)
{
    uint8_t start[CLIENT_NPY_START_BYTES];
    uint64_t size = 0;
    struct client_npy npy;
    struct err_text why = {""};
    uint8_t *header = NULL;
    struct stat status;
    enum err rc = file_get(f, start, sizeof(start), text);

    if (rc != OK) {
        return rc;
    }
    rc = client_npy_start(start, &size, &why);
    if (rc == OK) {
        header = mem_zalloc(size);
        if (header == NULL) {
            return err_text_set(text, ERR_NOMEM, "no memory for the header of a file");
        }
        memcpy(header, start, sizeof(start));
        rc = file_get(f, header + sizeof(start), size - sizeof(start), text);
        if (rc != OK) {
            mem_free(header);
            return rc;
        }
        rc = client_npy_parse(header, size, &npy, &why);
    }
    if (rc == OK) {
        rc = client_npy_fits(&npy, rows, width, &why);
    }
    mem_free(header);
    if (rc == OK && fstat(f->fd, &status) == 0 && S_ISREG(status.st_mode) &&
        (uint64_t)status.st_size != size + rows * width * sizeof(float)) {
        rc = err_text_set(&why, ERR_INVALID, "it is not as long as its header says");
    }
    return rc == OK ? OK : err_text_set(text, rc, "%.250s: %.250s", f->path, why.text);
}

enum err client_file_open(const char *path, uint64_t rows, uint32_t width,
                          struct client_file **file_out, struct err_text *text)
{
    enum err rc;
    struct client_file *f = file_make(path, &rc, text);

    if (f == NULL) {
        return rc;
    }
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    rc = f->fd < 0 ? file_failed(path, text) : file_judge(f, rows, width, text);
    if (rc != OK) {
        client_file_close(f);
        return rc;
    }
    *file_out = f;
    return OK;
}

enum err client_file_read(struct client_file *f, float *out, uint64_t count, struct err_text *text)
{
    return file_get(f, out, count * sizeof(float), text);
}
