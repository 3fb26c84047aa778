#include "base/fd.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

ssize_t fd_read_all(int fd, void *out, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = read(fd, (uint8_t *)out + done, size - done);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -1;
        }
        if (n == 0) {
            break;
        }
        done += (size_t)n;
    }
    return (ssize_t)done;
}

bool fd_write_all(int fd, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    while (size > 0) {
        ssize_t n = write(fd, at, size);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            return false;
        }
        at += n;
        size -= (size_t)n;
    }
    return true;
}
