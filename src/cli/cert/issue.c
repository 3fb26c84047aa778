/* strait cert issue: a certificate and key for a member. */

#include "cli/cert/cert.h"
#include "cli/command/commands.h"

static enum cli_exit issue_report(struct cli_context *ctx, const struct pki_identity *identity,
                                  const char *out)
{
    char cert[1024], key[1024], ca[1024];
    struct pki_description d;
    enum cli_exit status;

    if ((size_t)snprintf(cert, sizeof(cert), "%s/%s.crt", out, identity->name) >= sizeof(cert) ||
        (size_t)snprintf(key, sizeof(key), "%s/%s.key", out, identity->name) >= sizeof(key) ||
        (size_t)snprintf(ca, sizeof(ca), "%s/ca.crt", out) >= sizeof(ca)) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL,
                         "cert issue: the path of the folder is too long");
    }
    status = cert_read(ctx, cert, &d);
    if (status != CLI_DONE) {
        return status;
    }
    if (ctx->json) {
        json_t *object = cert_json(&d, cert_now_s());

        json_object_set_new(
            object, "files",
            json_pack("{s:s, s:s, s:s}", "certificate", cert, "key", key, "authority", ca));
        return cli_json(ctx, object);
    }
    cert_print(ctx, &d, cert_now_s());
    cert_row(ctx, "certificate", cert);
    cert_row(ctx, "key", key);
    cert_row(ctx, "trusts", ca);
    cli_note(ctx, "Take the three files to the member's machine; the key is its secret.");
    cli_next(ctx, "strait doctor --cert %s", out);
    return CLI_DONE;
}

static enum cli_exit issue_run(struct cli_context *ctx)
{
    const char *sans[PKI_SANS_MAX];
    const char *out = cli_text(ctx, "out");
    struct pki_order order = {
        .sans = sans, .now_s = cert_now_s(), .days = (uint32_t)cli_number(ctx, "days")};
    struct err_text text = {""};
    struct pki_ca *ca = NULL;
    enum cli_exit status = cert_identity(ctx, 1, false, &order.identity);
    const char *san;
    enum err rc;

    for (size_t i = 0; (san = cli_text_at(ctx, "san", i)) != NULL; i++) {
        if (order.sans_count == PKI_SANS_MAX) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "cert issue: --san: at most %d",
                             PKI_SANS_MAX);
        }
        sans[order.sans_count++] = san;
    }
    if (status == CLI_DONE) {
        status = cert_open(ctx, &ca);
    }
    if (status != CLI_DONE) {
        return status;
    }
    rc = pki_ca_issue_to(ca, &order, out, cli_flag(ctx, "replace"), &text);
    pki_ca_close(ca);
    return rc == OK ? issue_report(ctx, &order.identity, out) : cert_error(ctx, rc, &text);
}

const struct cli_command cli_command_cert_issue = {
    .path = "cert issue",
    .summary = "issue a certificate and key for a member",
    .paragraphs =
        (const char *const[]){
            "Writes NAME.crt, NAME.key (readable by you only) and ca.crt to the folder of --out. "
            "Members check the identity, not the host name: --san is for other tools.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "DIR", .help = "the folder of the authority", .kind = CLI_DIR},
            {.placeholder = "ROLE/SITE/NAME",
             .help = "who it is for: worker, server, relay or operator, then site and name"},
            {0}},
    .options =
        (const struct cli_option[]){{.name = "out",
                                     .letter = 'o',
                                     .placeholder = "OUT",
                                     .fallback = "certs",
                                     .kind = CLI_DIR,
                                     .help = "the folder to write to"},
                                    {.name = "days",
                                     .placeholder = "N",
                                     .fallback = "90",
                                     .kind = CLI_NUMBER,
                                     .min = 1,
                                     .max = PKI_DAYS_MAX,
                                     .help = "how long it is valid"},
                                    {.name = "san",
                                     .placeholder = "HOST",
                                     .repeats = true,
                                     .help = "a DNS name or address to add"},
                                    {.name = "replace", .help = "overwrite files of that name"},
                                    {0}},
    .examples =
        (const struct cli_example[]){
            {"strait cert issue ca server/eu/s1 -o certs --san s1.example.org",
             "a server of the site eu"},
            {"strait cert issue ca operator/eu/ada -o ~/.strait --days 30",
             "a person who may look"},
            {0}},
    .run = issue_run,
};
