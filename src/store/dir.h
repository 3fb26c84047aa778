/* Objects as files below a folder: blocking, no threads; store/dir_store.c makes a store of it.
 *
 * A new object is written under another name in the folder of the object, flushed, renamed, and the
 * folders are flushed. Such a file is locked by its writer as long as that lives; without a lock
 * it is a leftover. Names of objects are judged by the caller; symbolic links are not followed. */

#ifndef STORE_DIR_H
#define STORE_DIR_H

#include "store/store.h"

enum { DIR_TMP_BYTES = 64 };

/* A file on its way to become an object. */
struct dir_file {
    int folder;                  /* That holds the object. */
    int fd;                      /* -1: not open. */
    char tmp[DIR_TMP_BYTES];     /* Its name for now. */
    char name[STORE_NAME_BYTES]; /* Of the object. */
};

/* Open the folder. With @write: make it if it is not there and judge whether it can be written to.
 */
MUST_USE enum err dir_open(const char *path, bool write, int *root_out, struct err_text *text);
void dir_close(int root);

/* Remove what writers that are dead have left. What cannot be removed stays. */
void dir_sweep(int root);

/* Begin a file, making subfolders as needed. @serial differs between the files of a process that
 * are open at once, or else costs another attempt. ERR_FULL, ERR_IO, ERR_NOMEM. */
MUST_USE enum err dir_file_open(int root, const char *name, uint32_t serial, struct dir_file *out);
MUST_USE enum err dir_file_write(struct dir_file *f, const void *bytes, size_t size);

/* Make it durable under its name. On an error the file is still to be discarded. */
MUST_USE enum err dir_file_publish(struct dir_file *f);

/* Remove it. One that is not open is allowed. */
void dir_file_discard(struct dir_file *f);

/* As in store/store.h. */
MUST_USE enum err dir_read(int root, const char *name, uint64_t offset, void *bytes, size_t size,
                           size_t *done_out);
MUST_USE enum err dir_size(int root, const char *name, uint64_t *size_out);
MUST_USE enum err dir_remove(int root, const char *name);
MUST_USE enum err dir_list(int root, const char *prefix,
                           void (*object)(const char *name, uint64_t size, void *user), void *user);

#endif
