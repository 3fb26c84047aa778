/* The files of a member in a folder, as `strait cert issue` writes them. */

#ifndef CLIENT_CERTIFICATE_H
#define CLIENT_CERTIFICATE_H

#include "client/option.h"

struct client_certificate {
    char cert[CLIENT_PATH_BYTES];
    char key[CLIENT_PATH_BYTES];
    char ca[CLIENT_PATH_BYTES];
    char crl[CLIENT_PATH_BYTES]; /* Empty: the folder has no revocation list. */
};

/* Find the files of the member @name in @dir; @name empty: of the only one that is there. They are
 * not opened. ERR_NOT_FOUND, ERR_INVALID, ERR_TOO_BIG with @text. */
MUST_USE enum err client_certificate_find(const char *dir, const char *name,
                                          struct client_certificate *out, struct err_text *text);

#endif
