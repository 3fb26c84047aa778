/* For tests of folders: a place for them, and system calls that fail when asked to. The linker puts
 * the functions __wrap_X in the place of X (see CMakeLists.txt), so the code under test has no
 * hooks. Calls that fail are chosen by their count, on whichever thread. */

#ifndef STORE_DIR_TESTING_H
#define STORE_DIR_TESTING_H

#include "store/testing.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum dir_call {
    DIR_CALL_WRITE,
    DIR_CALL_FSYNC,
    DIR_CALL_RENAME,
    DIR_CALL_OPEN,
    DIR_CALL_MKDIR,
    DIR_CALL_UNLINK,
    DIR_CALL_FLOCK,
    DIR_CALL_PREAD,
    DIR_CALL_FSTAT,
    DIR_CALL_FSTATAT,
    DIR_CALL_ACCESS,
    DIR_CALLS,
};

/* Set while no call is under way. */
static struct {
    uint64_t countdown[DIR_CALLS]; /* Until one fails; zero: never. */
    int error[DIR_CALLS];
    size_t write_bytes_max; /* Of one write; zero: no limit. */
    uint64_t kill;          /* Calls that change something until the process dies; zero: never. */
    pthread_mutex_t gate;   /* Writes wait while it is locked. */
} dir_calls = {.gate = PTHREAD_MUTEX_INITIALIZER};

/* The @k-th call from now on fails. */
static inline void dir_fail_at(enum dir_call call, uint64_t k, int error)
{
    dir_calls.countdown[call] = k;
    dir_calls.error[call] = error;
}

/* Switch the fault off; true if it was met. */
static inline bool dir_fail_end(enum dir_call call)
{
    bool met = dir_calls.countdown[call] == 0;

    dir_calls.countdown[call] = 0;
    return met;
}

/* True if the process is to die in this call. */
static inline bool dir_call_kills(void)
{
    return dir_calls.kill > 0 && --dir_calls.kill == 0;
}

static inline bool dir_call_fails(enum dir_call call)
{
    if (call != DIR_CALL_WRITE && call <= DIR_CALL_UNLINK && dir_call_kills()) {
        (void)raise(SIGKILL);
    }
    if (dir_calls.countdown[call] == 0 || --dir_calls.countdown[call] > 0) {
        return false;
    }
    errno = dir_calls.error[call];
    return true;
}

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_renameat(int from_at, const char *from, int to_at, const char *to);
int __wrap_renameat(int from_at, const char *from, int to_at, const char *to);
int __real_openat(int at, const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...);
int __real_mkdirat(int at, const char *path, mode_t mode);
int __wrap_mkdirat(int at, const char *path, mode_t mode);
int __real_unlinkat(int at, const char *path, int flags);
int __wrap_unlinkat(int at, const char *path, int flags);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);
int __real_fstat(int fd, struct stat *status);
int __wrap_fstat(int fd, struct stat *status);
int __real_fstatat(int at, const char *path, struct stat *status, int flags);
int __wrap_fstatat(int at, const char *path, struct stat *status, int flags);
int __real_faccessat(int at, const char *path, int mode, int flags);
int __wrap_faccessat(int at, const char *path, int mode, int flags);

/* Only to files: loops wake each other by writing too. */
ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    struct stat status;

    if (__real_fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return __real_write(fd, bytes, size);
    }
    (void)pthread_mutex_lock(&dir_calls.gate);
    (void)pthread_mutex_unlock(&dir_calls.gate);
    if (dir_call_fails(DIR_CALL_WRITE)) {
        return errno == 0 ? 0 : -1;
    }
    if (dir_call_kills()) {
        (void)!__real_write(fd, bytes, size / 2);
        (void)raise(SIGKILL);
    }
    if (dir_calls.write_bytes_max > 0 && size > dir_calls.write_bytes_max) {
        size = dir_calls.write_bytes_max;
    }
    return __real_write(fd, bytes, size);
}

int __wrap_fsync(int fd)
{
    return dir_call_fails(DIR_CALL_FSYNC) ? -1 : __real_fsync(fd);
}

int __wrap_renameat(int from_at, const char *from, int to_at, const char *to)
{
    return dir_call_fails(DIR_CALL_RENAME) ? -1 : __real_renameat(from_at, from, to_at, to);
}

int __wrap_openat(int at, const char *path, int flags, ...)
{
    mode_t mode;
    va_list args;

    va_start(args, flags);
    mode = (mode_t)va_arg(args, unsigned int);
    va_end(args);
    return dir_call_fails(DIR_CALL_OPEN) ? -1 : __real_openat(at, path, flags, mode);
}

int __wrap_mkdirat(int at, const char *path, mode_t mode)
{
    return dir_call_fails(DIR_CALL_MKDIR) ? -1 : __real_mkdirat(at, path, mode);
}

int __wrap_unlinkat(int at, const char *path, int flags)
{
    return dir_call_fails(DIR_CALL_UNLINK) ? -1 : __real_unlinkat(at, path, flags);
}

int __wrap_flock(int fd, int operation)
{
    return dir_call_fails(DIR_CALL_FLOCK) ? -1 : __real_flock(fd, operation);
}

ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
    return dir_call_fails(DIR_CALL_PREAD) ? -1 : __real_pread(fd, bytes, size, offset);
}

int __wrap_fstat(int fd, struct stat *status)
{
    return dir_call_fails(DIR_CALL_FSTAT) ? -1 : __real_fstat(fd, status);
}

int __wrap_fstatat(int at, const char *path, struct stat *status, int flags)
{
    return dir_call_fails(DIR_CALL_FSTATAT) ? -1 : __real_fstatat(at, path, status, flags);
}

int __wrap_faccessat(int at, const char *path, int mode, int flags)
{
    return dir_call_fails(DIR_CALL_ACCESS) ? -1 : __real_faccessat(at, path, mode, flags);
}

/* A new folder on the disk; its name has room in struct store_fixture. */
static inline void dir_testing_make_on_disk(char path[64])
{
    (void)snprintf(path, 64, "/tmp/strait-store-XXXXXX");
    assert_non_null(mkdtemp(path));
}

/* The same in memory where the system has a place for that: flushing a busy disk takes seconds. */
static inline void dir_testing_make(char path[64])
{
    (void)snprintf(path, 64, "/dev/shm/strait-store-XXXXXX");
    if (mkdtemp(path) == NULL) {
        dir_testing_make_on_disk(path);
    }
}

static inline int dir_testing_unlink(const char *path, const struct stat *status, int kind,
                                     struct FTW *ftw)
{
    (void)status;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static inline void dir_testing_remove(const char *path)
{
    assert_int_equal(nftw(path, dir_testing_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static uint32_t dir_testing_count;

static inline int dir_testing_count_file(const char *path, const struct stat *status, int kind,
                                         struct FTW *ftw)
{
    (void)path;
    (void)status;
    (void)ftw;
    dir_testing_count += kind != FTW_D;
    return 0;
}

/* How many files there are, whatever their names. */
static inline uint32_t dir_testing_files(const char *path)
{
    dir_testing_count = 0;
    assert_int_equal(nftw(path, dir_testing_count_file, 16, FTW_PHYS), 0);
    return dir_testing_count;
}

#endif
