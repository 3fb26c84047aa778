/* Files of pki: whole reads, and writes that are either done or not there. For pki and enrol only.
 * Every failing function fills @text and returns ERR_NOT_FOUND, ERR_EXISTS, ERR_FULL or ERR_IO. */

#ifndef NET_PKI_FILE_H
#define NET_PKI_FILE_H

#include "net/pki/pki.h"

#include <sys/types.h>

enum {
    PKI_FILE_BYTES_MAX = 64 * 1024,       /* Certificates, keys, tokens. */
    PKI_CRL_BYTES_MAX = 16 * 1024 * 1024, /* Revocation lists. */
};

/* The content of a file; zeroed before it is freed, since it may be a key. */
struct pki_bytes {
    char *chars; /* Terminated. */
    size_t size;
    mode_t mode; /* Permission bits of the file. */
};

/* A file written under another name beside its place. */
struct pki_staged {
    char path[PKI_PATH_BYTES];
    char tmp[PKI_PATH_BYTES]; /* Empty: nothing to discard. */
};

/* Write DIR/LEAF to @out, PKI_PATH_BYTES long. ERR_TOO_BIG. */
MUST_USE enum err pki_path(const char *dir, const char *leaf, char *out, struct err_text *text);

/* Say what could not be done to @path because of errno. */
enum err pki_file_fault(struct err_text *text, const char *verb, const char *path);

/* Make a folder (0700) unless it is there. */
MUST_USE enum err pki_dir_make(const char *path, struct err_text *text);

/* True if something is there, even if it cannot be read. */
bool pki_file_exists(const char *path);

/* Read a regular file of at most @limit bytes; ERR_TOO_BIG. */
MUST_USE enum err pki_file_read(const char *path, size_t limit, struct pki_bytes *out,
                                struct err_text *text);
void pki_bytes_deinit(struct pki_bytes *bytes);

/* Write the bytes to the disk, still under another name. */
MUST_USE enum err pki_file_stage(const char *path, const void *bytes, size_t size, mode_t mode,
                                 struct pki_staged *out, struct err_text *text);

/* Give a staged file its name. Without @replace, ERR_EXISTS if that is taken. */
MUST_USE enum err pki_file_commit(struct pki_staged *staged, bool replace, struct err_text *text);

/* Remove what was not committed. A zeroed one is allowed. */
void pki_file_discard(struct pki_staged *staged);

/* Stage and commit. */
MUST_USE enum err pki_file_write(const char *path, const void *bytes, size_t size, mode_t mode,
                                 bool replace, struct err_text *text);

/* Add a line, which ends in a newline, to a file that exists. The end of a line that a crash cut
 * off is removed first. */
MUST_USE enum err pki_file_append(const char *path, const char *line, size_t size,
                                  struct err_text *text);

/* Wait for the lock @path and hold it until pki_file_unlock(). */
MUST_USE enum err pki_file_lock(const char *path, int *fd_out, struct err_text *text);
void pki_file_unlock(int fd);

#endif
