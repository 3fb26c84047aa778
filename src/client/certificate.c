#include "client/certificate.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The name of the one certificate in the folder beside ca.crt. */
static enum err certificate_only_one(const char *dir, char *name, size_t size,
                                     struct err_text *text)
{
    DIR *folder = opendir(dir);
    struct dirent *entry;
    unsigned count = 0;

    if (folder == NULL) {
        return err_text_set(text, ERR_NOT_FOUND, "cert %s: %s", dir, strerror(errno));
    }
    while ((entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name);

        if (length > 4 && length - 4 < size && strcmp(entry->d_name, "ca.crt") != 0 &&
            strcmp(entry->d_name + length - 4, ".crt") == 0) {
            memcpy(name, entry->d_name, length - 4);
            name[length - 4] = '\0';
            count++;
        }
    }
    (void)closedir(folder);
    if (count == 0) {
        return err_text_set(text, ERR_NOT_FOUND,
                            "cert %s: no certificate of a member is in that folder; strait cert "
                            "issue makes one",
                            dir);
    }
    if (count > 1) {
        return err_text_set(text, ERR_INVALID,
                            "cert %s: %u members have certificates there; say which with \"name\"",
                            dir, count);
    }
    return OK;
}

static bool certificate_path(char *out, const char *dir, const char *name, const char *end)
{
    int size = snprintf(out, CLIENT_PATH_BYTES, "%s/%s%s", dir, name, end);

    return size > 0 && size < CLIENT_PATH_BYTES;
}

enum err client_certificate_find(const char *dir, const char *name, struct client_certificate *out,
                                 struct err_text *text)
{
    char only[CLIENT_PATH_BYTES];

    if (name[0] == '\0') {
        enum err rc = certificate_only_one(dir, only, sizeof(only), text);

        if (rc != OK) {
            return rc;
        }
        name = only;
    }
    if (!certificate_path(out->cert, dir, name, ".crt") ||
        !certificate_path(out->key, dir, name, ".key") ||
        !certificate_path(out->ca, dir, "ca", ".crt") ||
        !certificate_path(out->crl, dir, "revoked", ".crl")) {
        return err_text_set(text, ERR_TOO_BIG, "cert: the path of the folder is too long");
    }
    if (access(out->crl, F_OK) != 0) {
        out->crl[0] = '\0';
    }
    return OK;
}
