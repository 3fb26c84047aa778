/* Atomic files for pki: write beside the place, flush, rename, flush the folder. */

#include "net/pki/file.h"

#include "base/fd.h"
#include "base/mem.h"
#include "net/entropy.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_LINE_BYTES_MAX = 1024 };

enum err pki_path(const char *dir, const char *leaf, char *out, struct err_text *text)
{
    int n = snprintf(out, PKI_PATH_BYTES, "%s/%s", dir, leaf);

    if (n < 0 || n >= PKI_PATH_BYTES) {
        return err_text_set(text, ERR_TOO_BIG,
                            "the path %.64s.../%s is longer than %d bytes: use a shorter one", dir,
                            leaf, PKI_PATH_BYTES - 1);
    }
    return OK;
}

enum err pki_file_fault(struct err_text *text, const char *verb, const char *path)
{
    int why = errno;
    enum err rc = why == ENOENT                    ? ERR_NOT_FOUND
                  : why == EEXIST                  ? ERR_EXISTS
                  : why == ENOSPC || why == EDQUOT ? ERR_FULL
                                                   : ERR_IO;

    return err_text_set(text, rc, "cannot %s %s: %s", verb, path, strerror(why));
}

enum err pki_dir_make(const char *path, struct err_text *text)
{
    struct stat status;

    if (mkdir(path, 0700) == 0) {
        return OK;
    }
    if (errno != EEXIST) {
        return pki_file_fault(text, "make the folder", path);
    }
    if (stat(path, &status) != 0) {
        return pki_file_fault(text, "look at", path);
    }
    if (!S_ISDIR(status.st_mode)) {
        return err_text_set(text, ERR_IO,
                            "%s is a file where a folder is needed: name another folder", path);
    }
    return OK;
}

bool pki_file_exists(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 || errno != ENOENT;
}

enum err pki_file_read(const char *path, size_t limit, struct pki_bytes *out, struct err_text *text)
{
    struct pki_bytes bytes = {0};
    struct stat status;
    enum err rc = OK;
    ssize_t n;
    /* Not blocking: a named pipe in place of a certificate must not hang us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 || fstat(fd, &status) != 0) {
        rc = pki_file_fault(text, "read", path);
        goto out_close;
    }
    if (!S_ISREG(status.st_mode)) {
        rc = err_text_set(text, ERR_IO, "cannot read %s: it is not a regular file", path);
        goto out_close;
    }
    if (status.st_size > (off_t)limit) {
        rc = err_text_set(text, ERR_TOO_BIG, "cannot read %s: it is larger than %zu bytes", path,
                          limit);
        goto out_close;
    }
    bytes = (struct pki_bytes){.size = (size_t)status.st_size, .mode = status.st_mode & 07777};
    bytes.chars = mem_zalloc(bytes.size + 1);
    if (bytes.chars == NULL) {
        rc = err_text_set(text, ERR_NOMEM, "cannot read %s: out of memory", path);
        goto out_close;
    }
    n = fd_read_all(fd, bytes.chars, bytes.size);
    if (n < 0) {
        rc = pki_file_fault(text, "read", path);
        pki_bytes_deinit(&bytes);
        goto out_close;
    }
    bytes.size = (size_t)n;
    *out = bytes;
out_close:
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

void pki_bytes_deinit(struct pki_bytes *bytes)
{
    if (bytes->chars != NULL) {
        OPENSSL_cleanse(bytes->chars, bytes->size);
    }
    mem_free(bytes->chars);
    *bytes = (struct pki_bytes){0};
}

/* Make the change of a folder's entries last. */
static bool file_sync_folder(const char *path)
{
    char folder[PKI_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    bool done;
    int fd;

    if (slash == NULL) {
        (void)strcpy(folder, ".");
    } else {
        (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path);
    }
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    /* Some file systems cannot flush a folder and say EINVAL; then there is nothing to do. */
    done = fsync(fd) == 0 || errno == EINVAL;
    (void)close(fd);
    return done;
}

enum err pki_file_stage(const char *path, const void *bytes, size_t size, mode_t mode,
                        struct pki_staged *out, struct err_text *text)
{
    struct pki_staged staged;
    uint64_t unique;
    enum err rc;
    int fd, n;

    if (entropy_u64(&unique) != OK) {
        return err_text_set(text, ERR_IO, "cannot write %s: the system has no randomness", path);
    }
    n = snprintf(staged.path, sizeof(staged.path), "%s", path);
    CHECK(n >= 0 && n < PKI_PATH_BYTES);
    n = snprintf(staged.tmp, sizeof(staged.tmp), "%s.tmp-%016llx", path,
                 (unsigned long long)unique);
    if (n < 0 || n >= PKI_PATH_BYTES) {
        return err_text_set(text, ERR_TOO_BIG, "the path %.128s... is too long", path);
    }
    fd = open(staged.tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0) {
        return pki_file_fault(text, "write", path);
    }
    if (!fd_write_all(fd, bytes, size) || fsync(fd) != 0) {
        rc = pki_file_fault(text, "write", path);
        (void)close(fd);
        goto err_unlink;
    }
    if (close(fd) != 0) {
        rc = pki_file_fault(text, "write", path);
        goto err_unlink;
    }
    *out = staged;
    return OK;
err_unlink:
    (void)unlink(staged.tmp);
    return rc;
}

/* Rename unless the name is taken. Not every file system knows RENAME_NOREPLACE; all local ones
 * know hard links or the former. */
static int file_rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return -1;
    }
    if (link(from, to) != 0) {
        return -1;
    }
    return unlink(from);
}

enum err pki_file_commit(struct pki_staged *staged, bool replace, struct err_text *text)
{
    int rc =
        replace ? rename(staged->tmp, staged->path) : file_rename_new(staged->tmp, staged->path);

    if (rc != 0 && errno == EEXIST) {
        return err_text_set(text, ERR_EXISTS,
                            "%s is there already and was not overwritten: move it away first",
                            staged->path);
    }
    if (rc != 0) {
        return pki_file_fault(text, "write", staged->path);
    }
    staged->tmp[0] = '\0';
    if (!file_sync_folder(staged->path)) {
        return pki_file_fault(text, "flush the folder of", staged->path);
    }
    return OK;
}

void pki_file_discard(struct pki_staged *staged)
{
    if (staged->tmp[0] != '\0') {
        (void)unlink(staged->tmp);
        staged->tmp[0] = '\0';
    }
}

enum err pki_file_write(const char *path, const void *bytes, size_t size, mode_t mode, bool replace,
                        struct err_text *text)
{
    struct pki_staged staged;
    enum err rc = pki_file_stage(path, bytes, size, mode, &staged, text);

    if (rc != OK) {
        return rc;
    }
    rc = pki_file_commit(&staged, replace, text);
    pki_file_discard(&staged);
    return rc;
}

/* Find where the last whole line of a file of @size bytes ends. False with errno. */
static bool file_end_of_lines(int fd, off_t size, off_t *end_out)
{
    char tail[FILE_LINE_BYTES_MAX];
    size_t want = size < FILE_LINE_BYTES_MAX ? (size_t)size : sizeof(tail);
    ssize_t n = pread(fd, tail, want, size - (off_t)want);
    const char *newline;

    if (n < 0) {
        return false;
    }
    newline = (size_t)n == want ? memrchr(tail, '\n', want) : NULL;
    if (newline == NULL && (off_t)want < size) {
        errno = EILSEQ;
        return false;
    }
    *end_out = newline == NULL ? 0 : size - (off_t)want + (newline - tail) + 1;
    return true;
}

enum err pki_file_append(const char *path, const char *line, size_t size, struct err_text *text)
{
    struct stat status;
    enum err rc = OK;
    off_t end = 0;
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK);

    CHECK(size > 0 && size <= FILE_LINE_BYTES_MAX && line[size - 1] == '\n');
    if (fd < 0 || fstat(fd, &status) != 0 || !file_end_of_lines(fd, status.st_size, &end)) {
        rc = pki_file_fault(text, "add to", path);
        goto out_close;
    }
    if (end != status.st_size && ftruncate(fd, end) != 0) {
        rc = pki_file_fault(text, "repair", path);
        goto out_close;
    }
    if (!fd_write_all(fd, line, size) || fsync(fd) != 0) {
        rc = pki_file_fault(text, "add to", path);
        /* Half a line must not stay; if even this fails, the next call cuts it. */
        if (ftruncate(fd, end) != 0) {
            goto out_close;
        }
    }
out_close:
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

enum err pki_file_lock(const char *path, int *fd_out, struct err_text *text)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0) {
        return pki_file_fault(text, "open the lock", path);
    }
    while (flock(fd, LOCK_EX) != 0) {
        if (errno != EINTR) {
            enum err rc = pki_file_fault(text, "lock", path);

            (void)close(fd);
            return rc;
        }
    }
    *fd_out = fd;
    return OK;
}

void pki_file_unlock(int fd)
{
    (void)close(fd);
}
