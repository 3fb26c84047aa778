#include "base/private_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Say that the folder is not private, also in errno. */
static enum err private_dir_refuse(struct err_text *text, const char *path, const char *why)
{
    errno = EPERM;
    return err_text_set(text, ERR_REFUSED, "%.600s: %s", path, why);
}

/* In a folder where everybody may write, the sticky bit keeps others from taking ours away. */
static enum err private_dir_check_place(int fd, const char *path, struct err_text *text)
{
    struct stat st;

    if (fstatat(fd, "..", &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return err_text_set(text, ERR_IO, "%.600s/..: %s", path, strerror(errno));
    }
    return (st.st_mode & S_IWOTH) == 0 || (st.st_mode & S_ISVTX) != 0
               ? OK
               : private_dir_refuse(text, path,
                                    "it is in a folder from which anybody may remove it: run "
                                    "chmod +t on that folder, or use another one");
}

static enum err private_dir_check(int fd, const char *path, struct err_text *text)
{
    struct stat st;

    if (fstat(fd, &st) != 0) {
        return err_text_set(text, ERR_IO, "%.600s: %s", path, strerror(errno));
    }
    if (st.st_uid != geteuid()) {
        return private_dir_refuse(text, path,
                                  "the folder belongs to somebody else: remove it, or use another "
                                  "one");
    }
    if ((st.st_mode & 077) != 0) {
        return private_dir_refuse(text, path,
                                  "the folder is open to others: run chmod 700 on it if that was "
                                  "an oversight, or use another one");
    }
    return private_dir_check_place(fd, path, text);
}

enum err private_dir_make(const char *path, struct err_text *text)
{
    enum err rc;
    int fd, error;

    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return err_text_set(text, ERR_IO, "cannot make the folder %.600s: %s", path,
                            strerror(errno));
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOTDIR || errno == ELOOP
                   ? private_dir_refuse(text, path,
                                        "a folder is needed there, but it is a link or a file: "
                                        "remove it, or use another name")
                   : err_text_set(text, ERR_IO, "%.600s: %s", path, strerror(errno));
    }
    rc = private_dir_check(fd, path, text);
    error = errno;
    (void)close(fd);
    errno = error;
    return rc;
}

enum err private_dir_new(const char *place, const char *name, char *out, size_t size,
                         struct err_text *text)
{
    int n = snprintf(out, size, "%s/%s-XXXXXX", place, name);

    if (n < 0 || (size_t)n >= size) {
        errno = ENAMETOOLONG;
        return err_text_set(text, ERR_TOO_BIG, "the path of the folder %.128s... is too long",
                            place);
    }
    if (mkdtemp(out) == NULL) {
        return err_text_set(text, ERR_IO, "cannot make a folder in %.600s: %s", place,
                            strerror(errno));
    }
    return private_dir_make(out, text);
}
