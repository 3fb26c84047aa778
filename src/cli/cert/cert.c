#include "cli/cert/cert.h"

#include "cli/command/commands.h"
#include "cli/member/security.h"
#include "loop/clock.h"

#include <inttypes.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CERT_DAY_S = 24 * 3600 };

int64_t cert_now_s(void)
{
    return clock_wall_us() / 1000000;
}

char *cert_date(int64_t at_s, bool json, char out[CERT_DATE_BYTES])
{
    time_t at = (time_t)at_s;
    struct tm tm;

    if (gmtime_r(&at, &tm) == NULL ||
        strftime(out, CERT_DATE_BYTES, json ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d %H:%M UTC", &tm) ==
            0) {
        (void)snprintf(out, CERT_DATE_BYTES, "%" PRId64, at_s);
    }
    return out;
}

static enum cli_error_id cert_error_id(enum err rc)
{
    switch (rc) {
    case ERR_NOT_FOUND:
        return CLI_ERROR_NOT_ON_RECORD;
    case ERR_EXISTS:
        return CLI_ERROR_EXISTS;
    case ERR_REFUSED:
        return CLI_ERROR_CERT_REFUSED;
    case ERR_FULL:
    case ERR_IO:
        return CLI_ERROR_FILE;
    case ERR_NOMEM:
        return CLI_ERROR_NO_MEMORY;
    default:
        return CLI_ERROR_BAD_CERT;
    }
}

enum cli_exit cert_error(struct cli_context *ctx, enum err rc, const struct err_text *text)
{
    return cli_error(ctx, cert_error_id(rc), NULL, "%s: %s", ctx->parsed->command->path,
                     text->text[0] != '\0' ? text->text : err_string(rc));
}

enum cli_exit cert_open(struct cli_context *ctx, struct pki_ca **ca_out)
{
    const char *dir = cli_argument(ctx, 0);
    struct err_text text = {""};
    enum err rc;

    security_hold_keys();
    rc = pki_ca_open(dir, ca_out, &text);
    if (rc == ERR_NOT_FOUND) {
        char next[ERR_TEXT_BYTES];

        (void)snprintf(next, sizeof(next), "strait cert init %s", dir);
        return cli_error(ctx, CLI_ERROR_NO_AUTHORITY, next, "%s: %s", ctx->parsed->command->path,
                         text.text);
    }
    return rc == OK ? CLI_DONE : cert_error(ctx, rc, &text);
}

enum cli_exit cert_identity(struct cli_context *ctx, size_t index, bool any,
                            struct pki_identity *out)
{
    const char *chars = cli_argument(ctx, index);
    size_t size = strlen(chars);
    bool wild = any && size >= 2 && strcmp(chars + size - 2, "/*") == 0;
    char named[PKI_IDENTITY_TEXT_BYTES];
    struct err_text text = {""};

    /* "*" is no name: read the rest with another one in its place. */
    (void)snprintf(named, sizeof(named), "%.*sany", (int)(wild ? size - 1 : 0), chars);
    if (pki_identity_parse(wild ? named : chars, out, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_BAD_IDENTITY, NULL, "%s: \"%s\": %s",
                         ctx->parsed->command->path, chars, text.text);
    }
    if (wild) {
        (void)snprintf(out->name, sizeof(out->name), "*");
    }
    return CLI_DONE;
}

/* Read a certificate from standard input. */
static enum err cert_read_stdin(X509 **cert_out, struct err_text *text)
{
    char bytes[PKI_PEM_BYTES + 1];
    size_t size = fread(bytes, 1, sizeof(bytes), stdin);

    return pki_cert_decode(bytes, size, cert_out, text);
}

enum cli_exit cert_read(struct cli_context *ctx, const char *path, struct pki_description *out)
{
    struct err_text text = {""};
    X509 *cert = NULL;
    enum err rc =
        strcmp(path, "-") == 0 ? cert_read_stdin(&cert, &text) : pki_cert_read(path, &cert, &text);

    if (rc == OK) {
        rc = pki_cert_describe(cert, out, &text);
        X509_free(cert);
    }
    if (rc == OK) {
        return CLI_DONE;
    }
    /* Missing is a matter of files here, not of records. */
    return cert_error(ctx, rc == ERR_NOT_FOUND ? ERR_IO : rc, &text);
}

const char *cert_state(int64_t not_before_s, int64_t not_after_s, int64_t now_s)
{
    if (now_s < not_before_s) {
        return "not valid yet";
    }
    return now_s > not_after_s ? "expired" : "valid";
}

json_t *cert_json(const struct pki_description *d, int64_t now_s)
{
    char identity[PKI_IDENTITY_TEXT_BYTES], from[CERT_DATE_BYTES], to[CERT_DATE_BYTES];

    return json_pack("{s:b, s:s?, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "authority", (int)d->ca,
                     "identity", d->identified ? pki_identity_format(&d->identity, identity) : NULL,
                     "subject", d->subject, "issuer", d->issuer, "serial", d->serial, "fingerprint",
                     d->fingerprint, "not_before", cert_date(d->not_before_s, true, from),
                     "not_after", cert_date(d->not_after_s, true, to), "state",
                     cert_state(d->not_before_s, d->not_after_s, now_s));
}

void cert_row(struct cli_context *ctx, const char *name, const char *value)
{
    cli_out(ctx, "%s%-12s%s %s\n", cli_style(ctx->color_out, CLI_FAINT), name,
            cli_style(ctx->color_out, CLI_PLAIN), value);
}

void cert_print(struct cli_context *ctx, const struct pki_description *d, int64_t now_s)
{
    char identity[PKI_IDENTITY_TEXT_BYTES], date[CERT_DATE_BYTES], state[64];
    int64_t days = (d->not_after_s - now_s + CERT_DAY_S / 2) / CERT_DAY_S;

    if (d->identified) {
        cert_row(ctx, "identity", pki_identity_format(&d->identity, identity));
    }
    cert_row(ctx, d->ca ? "authority" : "subject", d->subject);
    if (!d->ca) {
        cert_row(ctx, "issued by", d->issuer);
    }
    cert_row(ctx, "valid from", cert_date(d->not_before_s, false, date));
    cert_row(ctx, "valid until", cert_date(d->not_after_s, false, date));
    (void)snprintf(state, sizeof(state), "%s", cert_state(d->not_before_s, d->not_after_s, now_s));
    if (now_s >= d->not_before_s && now_s <= d->not_after_s) {
        (void)snprintf(state, sizeof(state), "valid, %" PRId64 " days left", days);
    }
    cert_row(ctx, "state", state);
    cert_row(ctx, "serial", d->serial);
    cert_row(ctx, "fingerprint", d->fingerprint);
}

const struct cli_command cli_command_cert = {
    .path = "cert",
    .summary = "make certificates: who may join, and as what",
    .group = CLI_GROUP_TRUST,
    .paragraphs =
        (const char *const[]){
            "Members trust each other by certificates of one private authority, which is a folder "
            "on one machine. A certificate says ROLE/SITE/NAME: the role is worker, server, relay "
            "or operator; site and name are yours to choose.",
            "Either issue certificates and carry them to the members, or make tokens with which "
            "members get their own over the network.",
            NULL},
    .examples =
        (const struct cli_example[]){
            {"strait cert init ca", "start an authority in the folder ca"},
            {"strait cert issue ca server/eu/s1 -o certs", "issue a server's certificate"},
            {0}},
};
