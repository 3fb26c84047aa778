/* What the `strait cert` commands share: opening an authority, and saying what went wrong. */

#ifndef CLI_CERT_CERT_H
#define CLI_CERT_CERT_H

#include "cli/command/context.h"
#include "net/pki/ca.h"

enum { CERT_DATE_BYTES = 32 };

/* The time of day, seconds since 1970. */
int64_t cert_now_s(void);

/* Write "2035-11-13 07:00 UTC", or with @json "2035-11-13T07:00:00Z". Returns @out. */
char *cert_date(int64_t at_s, bool json, char out[CERT_DATE_BYTES]);

/* Print the error for @rc with pki's @text. Returns the exit status. */
enum cli_exit cert_error(struct cli_context *ctx, enum err rc, const struct err_text *text);

/* Open the authority in the folder that is the first argument; the error is printed. */
enum cli_exit cert_open(struct cli_context *ctx, struct pki_ca **ca_out);

/* Read the identity in the argument @index; the error is printed. With @any a name of "*" is
 * allowed. */
enum cli_exit cert_identity(struct cli_context *ctx, size_t index, bool any,
                            struct pki_identity *out);

/* Read and describe the certificate in a file ("-": standard input); the error is printed. */
enum cli_exit cert_read(struct cli_context *ctx, const char *path, struct pki_description *out);

/* "valid", "expired", "not valid yet". */
const char *cert_state(int64_t not_before_s, int64_t not_after_s, int64_t now_s);

/* A certificate as JSON; NULL is out of memory. The caller releases it. */
json_t *cert_json(const struct pki_description *d, int64_t now_s);

/* Print a certificate for people. */
void cert_print(struct cli_context *ctx, const struct pki_description *d, int64_t now_s);

/* Print one line of a list of facts. */
void cert_row(struct cli_context *ctx, const char *name, const char *value);

#endif
