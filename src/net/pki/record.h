/* issued.jsonl: one line of JSON per certificate, only ever added to. Private to src/net/pki*. */

#ifndef NET_PKI_RECORD_H
#define NET_PKI_RECORD_H

#include "net/pki/ca.h"

/* Fill a record from a certificate of ours; .revoked is false. */
MUST_USE enum err pki_record_from_cert(const X509 *cert, struct pki_record *out,
                                       struct err_text *text);

/* Write a line to the disk. */
MUST_USE enum err pki_record_append(const char *path, const struct pki_record *record,
                                    struct err_text *text);

/* Call @each for every whole line; .revoked is false. ERR_MALFORMED names a line that is damaged. A
 * last line without its end is skipped: a crash cut it, and its certificate was never handed out.
 */
MUST_USE enum err pki_record_walk(const char *path,
                                  enum err (*each)(const struct pki_record *record, void *user),
                                  void *user, struct err_text *text);

#endif
