#include "store/dir.h"

#include "base/fd.h"
#include "base/log.h"
#include "store/grow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DIR_FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
    DIR_READ_FLAGS = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, /* A pipe must not hang us. */
    DIR_WRITE_FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
    DIR_TMP_TRIES = 1000,
};

/* No object starts with a dot. */
static const char dir_tmp_prefix[] = ".strait-tmp-";

/* What errno means to us. A part of a name that is no folder: there is no such object. */
static enum err dir_err(int why)
{
    switch (why) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
        return ERR_NOT_FOUND;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return ERR_FULL;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_DENIED;
    case ENOMEM:
        return ERR_NOMEM;
    default:
        return ERR_IO;
    }
}

/* Say what went wrong: callers get a code only. */
static enum err dir_fault(const char *verb, const char *name)
{
    int why = errno;

    LOG_WRN("store", "cannot %s %s: %s", verb, name, strerror(why));
    errno = why; /* For those who say more of it. */
    return dir_err(why);
}

/* The same for those who write: to them "not found" is a failure of the disk. */
static enum err dir_write_fault(const char *verb, const char *name)
{
    enum err rc = dir_fault(verb, name);

    return rc == ERR_NOT_FOUND ? ERR_IO : rc;
}

/* Close and keep errno. */
static void dir_drop(int fd)
{
    int why = errno;

    if (fd >= 0) {
        (void)close(fd);
    }
    errno = why;
}

/* Some file systems cannot flush a folder and say EINVAL; then there is nothing to do. */
static bool dir_sync_folder(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL;
}

static enum err dir_open_fault(const char *path, struct err_text *text)
{
    int why = errno;

    if (why == ENOTDIR) {
        return err_text_set(text, ERR_IO,
                            "%s is a file where a folder is needed: name another folder", path);
    }
    if (why == ENOENT) {
        return err_text_set(text, ERR_NOT_FOUND,
                            "there is no folder %s: make it, or name another folder", path);
    }
    return err_text_set(text, dir_err(why), "cannot open the folder %s: %s", path, strerror(why));
}

/* The folder's own entry must last too. Its parent may be closed to us: then it was not us who
 * made the folder. */
static enum err dir_sync_parent(int root, const char *path, struct err_text *text)
{
    int parent = openat(root, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = parent < 0 || dir_sync_folder(parent);

    dir_drop(parent);
    return done ? OK
                : err_text_set(text, dir_err(errno), "cannot flush the parent of the folder %s: %s",
                               path, strerror(errno));
}

enum err dir_open(const char *path, bool write, int *root_out, struct err_text *text)
{
    enum err rc = OK;
    int root;

    if (write && mkdir(path, 0700) != 0 && errno != EEXIST) {
        return err_text_set(text, dir_err(errno), "cannot make the folder %s: %s%s", path,
                            strerror(errno), errno == ENOENT ? ": make its parent first" : "");
    }
    root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        return dir_open_fault(path, text);
    }
    if (write && faccessat(root, ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
        rc = err_text_set(text, dir_err(errno),
                          "cannot write to the folder %s: %s: change its owner or its "
                          "permissions, or name another folder",
                          path, strerror(errno));
    } else if (write) {
        rc = dir_sync_parent(root, path, text);
    }
    if (rc != OK) {
        (void)close(root);
        return rc;
    }
    *root_out = root;
    return OK;
}

void dir_close(int root)
{
    (void)close(root);
}

/* Open one folder below another; -1 with errno. */
static int dir_enter(int at, const char *part, bool make)
{
    int fd = openat(at, part, DIR_FOLDER_FLAGS);

    if (fd >= 0 || errno != ENOENT || !make) {
        return fd;
    }
    if (mkdirat(at, part, 0700) != 0 && errno != EEXIST) {
        return -1;
    }
    return openat(at, part, DIR_FOLDER_FLAGS);
}

/* Open the folder that holds the object; -1 with errno. */
static int dir_descend(int root, const char *name, bool make, const char **leaf_out)
{
    char part[STORE_NAME_BYTES];
    int at = openat(root, ".", DIR_FOLDER_FLAGS);
    const char *slash;

    while (at >= 0 && (slash = strchr(name, '/')) != NULL) {
        int next;

        (void)snprintf(part, sizeof(part), "%.*s", (int)(slash - name), name);
        next = dir_enter(at, part, make);
        dir_drop(at);
        at = next;
        name = slash + 1;
    }
    *leaf_out = name;
    return at;
}

/* Lock a file that was just made. False if a sweep of another process got it first: it is gone
 * then, or will be. Where there are no locks nothing is ever swept either. */
static bool dir_own(int fd)
{
    struct stat status;

    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return false;
    }
    return fstat(fd, &status) == 0 && status.st_nlink > 0;
}

enum err dir_file_open(int root, const char *name, uint32_t serial, struct dir_file *out)
{
    struct dir_file f = {.folder = -1, .fd = -1};
    const char *leaf;

    (void)snprintf(f.name, sizeof(f.name), "%s", name);
    f.folder = dir_descend(root, name, true, &leaf);
    if (f.folder < 0) {
        return dir_write_fault("make the folder of", name);
    }
    for (uint32_t try = 0; try < DIR_TMP_TRIES; try++) {
        (void)snprintf(f.tmp, sizeof(f.tmp), "%s%ld-%u-%u", dir_tmp_prefix, (long)getpid(), serial,
                       try);
        f.fd = openat(f.folder, f.tmp, DIR_WRITE_FLAGS, 0600);
        if (f.fd >= 0 && dir_own(f.fd)) {
            *out = f;
            return OK;
        }
        if (f.fd < 0 && errno != EEXIST) {
            break;
        }
        dir_drop(f.fd);
        errno = EEXIST;
    }
    dir_drop(f.folder);
    return dir_write_fault("write", name);
}

enum err dir_file_write(struct dir_file *f, const void *bytes, size_t size)
{
    return fd_write_all(f->fd, bytes, size) ? OK : dir_write_fault("write", f->name);
}

/* Flush the object's folder and all above it that belong to the store: any of them may be new. */
static bool dir_sync_up(const struct dir_file *f)
{
    int at = f->folder;
    bool done = dir_sync_folder(at);

    for (const char *c = f->name; done && *c != '\0'; c++) {
        int above;

        if (*c != '/') {
            continue;
        }
        above = openat(at, "..", DIR_FOLDER_FLAGS);
        if (at != f->folder) {
            dir_drop(at);
        }
        at = above;
        done = at >= 0 && dir_sync_folder(at);
    }
    if (at != f->folder) {
        dir_drop(at);
    }
    return done;
}

enum err dir_file_publish(struct dir_file *f)
{
    const char *slash = strrchr(f->name, '/');

    if (fsync(f->fd) != 0) {
        return dir_write_fault("flush", f->name);
    }
    if (renameat(f->folder, f->tmp, f->folder, slash == NULL ? f->name : slash + 1) != 0) {
        return dir_write_fault("rename", f->name);
    }
    f->tmp[0] = '\0';
    if (!dir_sync_up(f)) {
        return dir_write_fault("flush the folder of", f->name);
    }
    /* The lock goes last: nobody may take a file for a leftover before it has its name. */
    dir_file_discard(f);
    return OK;
}

void dir_file_discard(struct dir_file *f)
{
    if (f->fd < 0) {
        return;
    }
    if (f->tmp[0] != '\0' && unlinkat(f->folder, f->tmp, 0) != 0) {
        (void)dir_fault("remove the unfinished", f->name);
    }
    (void)close(f->fd);
    (void)close(f->folder);
    f->fd = -1;
}

/* Open an object for reading; -1 with errno. */
static int dir_open_object(int root, const char *name, struct stat *status_out)
{
    const char *leaf;
    int folder = dir_descend(root, name, false, &leaf);
    int fd = folder < 0 ? -1 : openat(folder, leaf, DIR_READ_FLAGS);

    dir_drop(folder);
    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, status_out) != 0) {
        dir_drop(fd);
        return -1;
    }
    if (!S_ISREG(status_out->st_mode)) {
        (void)close(fd);
        errno = ENOENT;
        return -1;
    }
    return fd;
}

/* Not being there is an answer, everything else is news. */
static enum err dir_read_fault(const char *name)
{
    return dir_err(errno) == ERR_NOT_FOUND ? ERR_NOT_FOUND : dir_fault("read", name);
}

enum err dir_read(int root, const char *name, uint64_t offset, void *bytes, size_t size,
                  size_t *done_out)
{
    struct stat status;
    int fd = dir_open_object(root, name, &status);
    enum err rc = OK;
    size_t done = 0;

    if (fd < 0) {
        return dir_read_fault(name);
    }
    while (done < size && offset < INT64_MAX - done) {
        ssize_t n = pread(fd, (uint8_t *)bytes + done, size - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            /* These say that the medium or its file system lost the bytes, not that we may not. */
            bool lost = errno == EIO || errno == EBADMSG || errno == EUCLEAN;

            rc = dir_fault("read", name);
            rc = lost ? ERR_CORRUPT : rc;
            break;
        }
        if (n == 0) {
            break;
        }
        done += (size_t)n;
    }
    (void)close(fd);
    if (rc == OK) {
        *done_out = done;
    }
    return rc;
}

enum err dir_size(int root, const char *name, uint64_t *size_out)
{
    struct stat status;
    int fd = dir_open_object(root, name, &status);

    if (fd < 0) {
        return dir_read_fault(name);
    }
    (void)close(fd);
    *size_out = (uint64_t)status.st_size;
    return OK;
}

enum err dir_remove(int root, const char *name)
{
    const char *leaf;
    int folder = dir_descend(root, name, false, &leaf);
    enum err rc = OK;

    if (folder < 0) {
        return dir_read_fault(name);
    }
    if (unlinkat(folder, leaf, 0) != 0) {
        /* A folder of that name is no object. */
        rc = errno == ENOENT || errno == EISDIR ? ERR_NOT_FOUND : dir_fault("remove", name);
    } else if (!dir_sync_folder(folder)) {
        rc = dir_fault("flush the folder of", name);
    }
    (void)close(folder);
    return rc;
}

/* A walk over all regular files below a folder. */
struct dir_walk {
    const char *prefix;
    enum err (*file)(struct dir_walk *w, int folder, const char *leaf, const struct stat *status);
    char path[STORE_NAME_BYTES]; /* Of the folder, with its slash. */
    size_t path_size;
    struct grow entries; /* struct dir_entry, for dir_list(). */
};

struct dir_entry {
    char name[STORE_NAME_BYTES];
    uint64_t size;
};

static enum err dir_walk_folder(struct dir_walk *w, int folder);

/* Go into a folder if objects that start with the prefix can be there. */
static enum err dir_walk_enter(struct dir_walk *w, int folder, const char *part)
{
    size_t size = w->path_size;
    size_t more = strlen(part) + 1;
    size_t prefix_size = strlen(w->prefix);
    enum err rc = OK;
    int fd;

    if (!store_name_valid(part) || size + more >= sizeof(w->path)) {
        return OK;
    }
    (void)snprintf(w->path + size, sizeof(w->path) - size, "%s/", part);
    if (strncmp(w->path, w->prefix, size + more < prefix_size ? size + more : prefix_size) == 0) {
        fd = openat(folder, part, DIR_FOLDER_FLAGS);
        if (fd >= 0) {
            w->path_size = size + more;
            rc = dir_walk_folder(w, fd);
            w->path_size = size;
        } else if (errno != ENOENT) {
            rc = dir_fault("read the folder", w->path);
        }
    }
    w->path[size] = '\0';
    return rc;
}

static enum err dir_walk_entry(struct dir_walk *w, int folder, const char *leaf)
{
    struct stat status;

    if (fstatat(folder, leaf, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? OK : dir_fault("look at", leaf);
    }
    if (S_ISDIR(status.st_mode)) {
        return dir_walk_enter(w, folder, leaf);
    }
    return S_ISREG(status.st_mode) ? w->file(w, folder, leaf, &status) : OK;
}

/* The descriptor is gone afterwards. */
static enum err dir_walk_folder(struct dir_walk *w, int folder)
{
    DIR *d = fdopendir(folder);
    struct dirent *entry;
    enum err rc = OK;

    if (d == NULL) {
        rc = dir_fault("read the folder", w->path);
        (void)close(folder);
        return rc;
    }
    while (rc == OK) {
        errno = 0;
        entry = readdir(d);
        if (entry == NULL) {
            rc = errno == 0 ? OK : dir_fault("read the folder", w->path);
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            rc = dir_walk_entry(w, folder, entry->d_name);
        }
    }
    (void)closedir(d);
    return rc;
}

/* It starts in the folder that the prefix names: how much there is beside that costs nothing. */
static enum err dir_walk(struct dir_walk *w, int root)
{
    const char *leaf;
    int fd = dir_descend(root, w->prefix, false, &leaf);

    if (fd < 0) {
        bool below = strchr(w->prefix, '/') != NULL;

        return below && dir_err(errno) == ERR_NOT_FOUND ? OK
                                                        : dir_fault("read the folder", w->prefix);
    }
    w->path_size = (size_t)(leaf - w->prefix);
    (void)snprintf(w->path, sizeof(w->path), "%.*s", (int)w->path_size, w->prefix);
    return dir_walk_folder(w, fd);
}

static enum err dir_sweep_file(struct dir_walk *w, int folder, const char *leaf,
                               const struct stat *status)
{
    int fd;

    (void)w;
    (void)status;
    if (strncmp(leaf, dir_tmp_prefix, strlen(dir_tmp_prefix)) != 0) {
        return OK;
    }
    fd = openat(folder, leaf, DIR_READ_FLAGS);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        (void)unlinkat(folder, leaf, 0);
    }
    dir_drop(fd);
    return OK;
}

void dir_sweep(int root)
{
    struct dir_walk w = {.prefix = "", .file = dir_sweep_file};

    /* Leftovers cost only space: what cannot be reached now is met at the next start. */
    (void)dir_walk(&w, root);
}

static enum err dir_list_file(struct dir_walk *w, int folder, const char *leaf,
                              const struct stat *status)
{
    struct dir_entry entry = {.size = (uint64_t)status->st_size};
    int n = snprintf(entry.name, sizeof(entry.name), "%s%s", w->path, leaf);
    enum err rc;

    (void)folder;
    if (n < 0 || (size_t)n >= sizeof(entry.name) || !store_name_valid(entry.name) ||
        strncmp(entry.name, w->prefix, strlen(w->prefix)) != 0) {
        return OK;
    }
    rc = grow_add(&w->entries, &entry, sizeof(entry), STORE_OBJECTS_MAX * sizeof(entry));
    return rc == ERR_FULL ? ERR_TOO_BIG : rc;
}

static int dir_entry_compare(const void *a, const void *b)
{
    return strcmp(((const struct dir_entry *)a)->name, ((const struct dir_entry *)b)->name);
}

enum err dir_list(int root, const char *prefix,
                  void (*object)(const char *name, uint64_t size, void *user), void *user)
{
    struct dir_walk w = {.prefix = prefix, .file = dir_list_file};
    enum err rc = dir_walk(&w, root);
    size_t count = w.entries.size / sizeof(struct dir_entry);
    struct dir_entry *entries = (void *)w.entries.bytes;

    if (rc == OK && count > 0) {
        qsort(entries, count, sizeof(*entries), dir_entry_compare);
        for (size_t i = 0; i < count; i++) {
            object(entries[i].name, entries[i].size, user);
        }
    }
    grow_deinit(&w.entries);
    return rc;
}
