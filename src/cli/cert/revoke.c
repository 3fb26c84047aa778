/* strait cert revoke: certificates that nobody shall trust any more. */

#include "cli/cert/cert.h"
#include "cli/command/commands.h"

#include <string.h>

/* A serial is hexadecimal, an identity has a role in front, and everything else is a file. */
static enum err revoke_target(struct pki_ca *ca, const char *target, int64_t now_s,
                              uint32_t *count_out, struct err_text *text)
{
    struct pki_identity identity;

    if (target[strspn(target, "0123456789abcdefABCDEF")] == '\0') {
        return pki_ca_revoke_serial(ca, target, now_s, count_out, text);
    }
    if (pki_identity_parse(target, &identity, NULL) == OK) {
        return pki_ca_revoke_identity(ca, &identity, now_s, count_out, text);
    }
    return pki_ca_revoke_cert(ca, target, now_s, count_out, text);
}

static enum cli_exit revoke_run(struct cli_context *ctx)
{
    const char *dir = cli_argument(ctx, 0);
    struct err_text text = {""};
    struct pki_ca *ca = NULL;
    uint32_t count = 0;
    enum cli_exit status = cert_open(ctx, &ca);
    enum err rc;

    if (status != CLI_DONE) {
        return status;
    }
    rc = revoke_target(ca, cli_argument(ctx, 1), cert_now_s(), &count, &text);
    pki_ca_close(ca);
    if (rc != OK) {
        return cert_error(ctx, rc, &text);
    }
    if (ctx->json) {
        char list[1024];

        (void)snprintf(list, sizeof(list), "%s/revoked.crl", dir);
        return cli_json(ctx, json_pack("{s:i, s:s}", "revoked", (int)count, "list", list));
    }
    if (count == 0) {
        cli_out(ctx, "revoked already\n");
    } else {
        cli_out(ctx, "revoked %u certificate%s\n", count, count == 1 ? "" : "s");
    }
    cli_note(ctx, "Members learn it from %s/revoked.crl: copy it to them, no restart is needed.",
             dir);
    return CLI_DONE;
}

const struct cli_command cli_command_cert_revoke = {
    .path = "cert revoke",
    .summary = "revoke certificates, and rewrite the revocation list",
    .paragraphs =
        (const char *const[]){
            "There is no way back: to let a member in again, issue a new certificate.", NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "DIR", .help = "the folder of the authority", .kind = CLI_DIR},
            {.placeholder = "WHICH",
             .help = "ROLE/SITE/NAME for all certificates of a member, a serial, or the file of a "
                     "certificate",
             .kind = CLI_FILE},
            {0}},
    .examples =
        (const struct cli_example[]){
            {"strait cert revoke ca worker/eu/w7", "that member must not come back"}, {0}},
    .run = revoke_run,
};
