/* strait cert init: a new authority. */

#include "cli/cert/cert.h"
#include "cli/command/commands.h"
#include "cli/member/security.h"

static enum cli_exit init_run(struct cli_context *ctx)
{
    const char *dir = cli_argument(ctx, 0);
    char path[1024];
    struct err_text text = {""};
    struct pki_description d;
    enum cli_exit status;
    enum err rc;

    security_hold_keys();
    rc = pki_ca_create(dir, cli_text(ctx, "name"), cert_now_s(), (uint32_t)cli_number(ctx, "days"),
                       &text);
    if (rc != OK) {
        return cert_error(ctx, rc, &text);
    }
    if ((size_t)snprintf(path, sizeof(path), "%s/ca.crt", dir) >= sizeof(path)) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL,
                         "cert init: the path of the folder is too long");
    }
    status = cert_read(ctx, path, &d);
    if (status != CLI_DONE) {
        return status;
    }
    if (ctx->json) {
        json_t *object = cert_json(&d, cert_now_s());

        json_object_set_new(object, "folder", json_string(dir));
        return cli_json(ctx, object);
    }
    cert_row(ctx, "folder", dir);
    cert_print(ctx, &d, cert_now_s());
    cli_note(ctx, "Keep %s/ca.key on this machine: whoever has it can make members.", dir);
    cli_next(ctx, "strait cert issue %s server/SITE/NAME -o certs", dir);
    return CLI_DONE;
}

const struct cli_command cli_command_cert_init = {
    .path = "cert init",
    .summary = "start a certificate authority in a folder",
    .paragraphs =
        (const char *const[]){
            "The folder is made if it is missing, and must not hold an authority yet. The key in "
            "it "
            "never has to leave this machine; make a copy of the folder all the same.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "DIR", .help = "the folder of the new authority", .kind = CLI_DIR},
            {0}},
    .options = (const struct cli_option[]){{.name = "name",
                                            .placeholder = "NAME",
                                            .fallback = "strait",
                                            .help = "what the authority is called"},
                                           {.name = "days",
                                            .placeholder = "N",
                                            .fallback = "3650",
                                            .kind = CLI_NUMBER,
                                            .min = 1,
                                            .max = PKI_DAYS_MAX,
                                            .help = "how long it is valid"},
                                           {0}},
    .examples =
        (const struct cli_example[]){{"strait cert init ca --name hospitals", "name it"}, {0}},
    .run = init_run,
};
