#include "net/pki/member.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MEMBER_END_CHARS = 4 }; /* Of ".crt". */

bool pki_member_is_cert(const char *leaf)
{
    size_t size = strlen(leaf);

    return size > MEMBER_END_CHARS && strcmp(leaf + size - MEMBER_END_CHARS, ".crt") == 0 &&
           strcmp(leaf, "ca.crt") != 0;
}

/* The name of the one member that has a certificate in the folder, to @out, @size long. */
static enum err member_only_one(const char *dir, char *out, size_t size, struct err_text *text)
{
    DIR *folder = opendir(dir);
    struct dirent *entry;
    unsigned count = 0;

    if (folder == NULL) {
        return err_text_set(text, ERR_IO, "%s: %s", dir, strerror(errno));
    }
    while ((entry = readdir(folder)) != NULL) {
        if (pki_member_is_cert(entry->d_name)) {
            int name_size = (int)(strlen(entry->d_name) - MEMBER_END_CHARS);

            (void)snprintf(out, size, "%.*s", name_size, entry->d_name);
            count++;
        }
    }
    (void)closedir(folder);
    if (count == 0) {
        return err_text_set(text, ERR_NOT_FOUND, "%s: no certificate of a member is in that folder",
                            dir);
    }
    if (count > 1) {
        return err_text_set(text, ERR_INVALID, "%s: %u members have certificates there", dir,
                            count);
    }
    return OK;
}

static bool member_path(char *out, const char *dir, const char *name, const char *end)
{
    int size = snprintf(out, PKI_PATH_BYTES, "%s/%s%s", dir, name, end);

    return size > 0 && size < PKI_PATH_BYTES;
}

enum err pki_member_find(const char *dir, const char *name, struct pki_member_files *out,
                         struct err_text *text)
{
    struct pki_member_files files;
    char only[NAME_MAX + 1];

    if (name == NULL || name[0] == '\0') {
        enum err rc = member_only_one(dir, only, sizeof(only), text);

        if (rc != OK) {
            return rc;
        }
        name = only;
    }
    if (!member_path(files.cert, dir, name, ".crt") || !member_path(files.key, dir, name, ".key") ||
        !member_path(files.ca, dir, "ca", ".crt") ||
        !member_path(files.crl, dir, "revoked", ".crl")) {
        return err_text_set(text, ERR_TOO_BIG, "%.64s...: paths in it are longer than %d bytes",
                            dir, PKI_PATH_BYTES - 1);
    }
    *out = files;
    return OK;
}
