#include "topo/file.h"

#include "topo/json.h"
#include "topo/read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A text and its size, for places. */
struct file_text {
    const char *bytes;
    size_t size;
};

static struct topo_place file_find(const void *user, const char *path, const char *key)
{
    const struct file_text *t = user;

    return topo_locate(t->bytes, t->size, path, key);
}

enum err topo_file_parse(const char *name, const char *bytes, size_t size, struct topo **topo_out,
                         struct err_text *text)
{
    const struct file_text whole = {bytes, size};
    const struct topo_origin origin = {
        .name = name, .prefix = "", .versioned = true, .find = file_find, .user = &whole};
    json_t *root = NULL;
    enum err rc;

    if (size > TOPO_FILE_BYTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%.128s: larger than %d bytes", name,
                            TOPO_FILE_BYTES_MAX);
    }
    rc = topo_json_parse(name, bytes, size, &root, text);
    if (rc != OK) {
        return rc;
    }
    rc = topo_read(root, &origin, topo_out, text);
    json_decref(root);
    return rc;
}

static enum err file_bad(struct err_text *text, const char *path, int error)
{
    enum err rc = error == ENOENT ? ERR_NOT_FOUND : ERR_IO;

    return err_text_set(text, rc, "%.300s: %s", path, strerror(error));
}

static enum err file_read_all(int fd, const char *path, struct text *out, struct err_text *text)
{
    char piece[16 * 1024];
    ssize_t n;

    do {
        n = read(fd, piece, sizeof(piece));
        if (n < 0 && errno != EINTR) {
            return file_bad(text, path, errno);
        }
        text_add_bytes(out, piece, n > 0 ? (size_t)n : 0);
    } while (n != 0 && !out->failed);
    return OK;
}

enum err topo_file_read(const char *path, size_t bytes_max, struct text *out, struct err_text *text)
{
    /* A pipe would keep us waiting; O_NONBLOCK is for opening one. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    enum err rc;

    if (fd < 0) {
        return file_bad(text, path, errno);
    }
    if (fstat(fd, &info) != 0) {
        rc = file_bad(text, path, errno);
    } else if (!S_ISREG(info.st_mode)) {
        rc = err_text_set(text, ERR_IO, "%.300s: not a regular file", path);
    } else if ((uint64_t)info.st_size > bytes_max) {
        rc = err_text_set(text, ERR_TOO_BIG, "%.300s: larger than %zu bytes", path, bytes_max);
    } else {
        rc = text_init(out, bytes_max);
        if (rc == OK) {
            rc = file_read_all(fd, path, out, text);
            if (rc == OK && out->failed) {
                rc = ERR_NOMEM; /* Or it grew meanwhile; either way it is not all here. */
            }
            if (rc != OK) {
                text_deinit(out);
            }
        }
        if (rc == ERR_NOMEM) {
            rc = err_text_set(text, rc, "%.300s: out of memory", path);
        }
    }
    (void)close(fd);
    return rc;
}

enum err topo_file_load(const char *path, struct topo **topo_out, struct err_text *text)
{
    struct text bytes = {0};
    enum err rc = topo_file_read(path, TOPO_FILE_BYTES_MAX, &bytes, text);

    if (rc == OK) {
        rc = topo_file_parse(path, bytes.chars, bytes.size, topo_out, text);
        text_deinit(&bytes);
    }
    return rc;
}
