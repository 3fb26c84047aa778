/* A member's files. Private to src/net/pki*; pki_bundle_write() is in pki.h. */

#ifndef NET_PKI_BUNDLE_H
#define NET_PKI_BUNDLE_H

#include "net/pki/pki.h"

/* Tell whether pki_bundle_write() would refuse because of what is in @dir. */
MUST_USE enum err pki_bundle_check(const struct pki_identity *identity, const struct pki_pem *ca,
                                   const char *dir, bool replace, struct err_text *text);

#endif
