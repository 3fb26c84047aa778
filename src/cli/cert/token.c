/* strait cert token: a one-time secret with which a member gets its certificate over the network.
 * The token is the only thing on stdout; with --out it goes to a file that others cannot read. */

#include "cli/cert/cert.h"
#include "cli/command/commands.h"
#include "net/pki/token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Write the token and a newline to a new file. */
static enum cli_exit token_write(struct cli_context *ctx, const char *path, const char *token)
{
    char line[PKI_TOKEN_TEXT_BYTES + 1];
    int size = snprintf(line, sizeof(line), "%s\n", token);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t n;
    int error;

    if (fd < 0) {
        return cli_error(ctx, errno == EEXIST ? CLI_ERROR_EXISTS : CLI_ERROR_FILE, NULL,
                         "cert token: cannot write %s: %s", path, strerror(errno));
    }
    n = write(fd, line, (size_t)size);
    error = n < 0 ? errno : n < size ? ENOSPC : 0;
    if (close(fd) != 0 && error == 0) {
        error = errno;
    }
    explicit_bzero(line, sizeof(line));
    if (error != 0) {
        (void)unlink(path);
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "cert token: cannot write %s: %s", path,
                         strerror(error));
    }
    return CLI_DONE;
}

static enum cli_exit token_report(struct cli_context *ctx, const char *token,
                                  const struct pki_token_grant *grant)
{
    char identity[PKI_IDENTITY_TEXT_BYTES], date[CERT_DATE_BYTES];
    int64_t expires_s = grant->now_s + grant->lifetime_s;
    const char *out = cli_text(ctx, "out");

    if (out != NULL) {
        enum cli_exit status = token_write(ctx, out, token);

        if (status != CLI_DONE) {
            return status;
        }
    }
    pki_identity_format(&grant->identity, identity);
    if (ctx->json) {
        return cli_json(ctx, json_pack("{s:s?, s:s?, s:s, s:s}", "token",
                                       out == NULL ? token : NULL, "file", out, "identity",
                                       identity, "expires", cert_date(expires_s, true, date)));
    }
    if (out == NULL) {
        cli_out(ctx, "%s\n", token);
    }
    cli_note(ctx, "Good once, for %s, until %s. It is a secret: pass it on like a password.",
             identity, cert_date(expires_s, false, date));
    return CLI_DONE;
}

static enum cli_exit token_run(struct cli_context *ctx)
{
    struct pki_token_grant grant = {.now_s = cert_now_s(),
                                    .lifetime_s = (uint32_t)(cli_number(ctx, "lifetime") / 1000000),
                                    .days = (uint32_t)cli_number(ctx, "days")};
    char token[PKI_TOKEN_TEXT_BYTES];
    struct err_text text = {""};
    struct pki_ca *ca = NULL;
    enum cli_exit status = cert_identity(ctx, 1, true, &grant.identity);
    enum err rc;

    if (status == CLI_DONE) {
        status = cert_open(ctx, &ca);
    }
    if (status != CLI_DONE) {
        return status;
    }
    rc = pki_token_create(ca, &grant, token, &text);
    pki_ca_close(ca);
    status = rc == OK ? token_report(ctx, token, &grant) : cert_error(ctx, rc, &text);
    explicit_bzero(token, sizeof(token));
    return status;
}

const struct cli_command cli_command_cert_token = {
    .path = "cert token",
    .summary = "make a one-time token with which a member gets its certificate",
    .paragraphs =
        (const char *const[]){
            "The token goes to standard output, alone, or to the file of --out, which only you can "
            "read. It holds the fingerprint of the authority, so the member knows whom it talks "
            "to.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "DIR", .help = "the folder of the authority", .kind = CLI_DIR},
            {.placeholder = "ROLE/SITE/NAME",
             .help = "what it is good for; with * as NAME the member chooses its name"},
            {0}},
    .options = (const struct cli_option[]){{.name = "out",
                                            .letter = 'o',
                                            .placeholder = "FILE",
                                            .kind = CLI_FILE,
                                            .help = "write the token to a new file"},
                                           {.name = "lifetime",
                                            .placeholder = "TIME",
                                            .fallback = "15m",
                                            .kind = CLI_DURATION,
                                            .min = 1000000,
                                            .max = PKI_TOKEN_LIFETIME_S_MAX * INT64_C(1000000),
                                            .help = "how long it can be used, at most 7d"},
                                           {.name = "days",
                                            .placeholder = "N",
                                            .fallback = "90",
                                            .kind = CLI_NUMBER,
                                            .min = 1,
                                            .max = PKI_DAYS_MAX,
                                            .help = "how long the certificate is valid"},
                                           {0}},
    .examples =
        (const struct cli_example[]){
            {"strait cert token ca 'worker/eu/*' -o token", "for a worker that names itself"}, {0}},
    .run = token_run,
};
