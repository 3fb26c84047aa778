/* The files of a member in a folder, as `strait cert issue` and joining by token write them. */

#ifndef NET_PKI_MEMBER_H
#define NET_PKI_MEMBER_H

#include "net/pki/pki.h"

struct pki_member_files {
    char cert[PKI_PATH_BYTES];
    char key[PKI_PATH_BYTES];
    char ca[PKI_PATH_BYTES];
    char crl[PKI_PATH_BYTES]; /* The revocation list; may appear later. */
};

/* True if the file of that name in a folder is the certificate of a member. */
bool pki_member_is_cert(const char *leaf);

/* Find the files of the member @name in @dir; @name NULL or empty: of the only one that is there.
 * They are not opened. ERR_IO if the folder cannot be read, ERR_NOT_FOUND if no member has a
 * certificate there, ERR_INVALID if several have, ERR_TOO_BIG if a path is too long; @text begins
 * with the folder. */
MUST_USE enum err pki_member_find(const char *dir, const char *name, struct pki_member_files *out,
                                  struct err_text *text);

#endif
