/* strait cert show: what a certificate says. */

#include "cli/cert/cert.h"
#include "cli/command/commands.h"

static enum cli_exit show_run(struct cli_context *ctx)
{
    struct pki_description d;
    enum cli_exit status = cert_read(ctx, cli_argument(ctx, 0), &d);

    if (status != CLI_DONE) {
        return status;
    }
    if (ctx->json) {
        return cli_json(ctx, cert_json(&d, cert_now_s()));
    }
    cert_print(ctx, &d, cert_now_s());
    return CLI_DONE;
}

const struct cli_command cli_command_cert_show = {
    .path = "cert show",
    .summary = "print what a certificate says",
    .paragraphs =
        (const char *const[]){"Says what is written in the certificate; it does not check "
                              "who signed it. \"strait doctor --cert DIR\" does.",
                              NULL},
    .arguments = (const struct cli_argument[]){{.placeholder = "FILE",
                                                .help = "a certificate; - for standard input",
                                                .kind = CLI_FILE},
                                               {0}},
    .examples =
        (const struct cli_example[]){{"strait cert show certs/s1.crt", "whose is it, how long?"},
                                     {0}},
    .run = show_run,
};
