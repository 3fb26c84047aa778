/* strait cert list: what an authority has issued. */

#include "cli/cert/cert.h"
#include "cli/command/commands.h"

#include <string.h>

struct cert_walk {
    struct cli_context *ctx;
    json_t *list; /* NULL: print for people. */
    int64_t now_s;
    size_t shown;
    size_t hidden;
};

static const char *list_state(const struct pki_record *r, int64_t now_s)
{
    return r->revoked ? "revoked" : cert_state(r->not_before_s, r->not_after_s, now_s);
}

static enum err list_each(const struct pki_record *r, void *user)
{
    struct cert_walk *walk = user;
    struct cli_context *ctx = walk->ctx;
    const char *state = list_state(r, walk->now_s);
    bool good = strcmp(state, "valid") == 0;
    char identity[PKI_IDENTITY_TEXT_BYTES], from[CERT_DATE_BYTES], to[CERT_DATE_BYTES];

    if (!good && !ctx->json && !cli_flag(ctx, "all")) {
        walk->hidden++;
        return OK;
    }
    walk->shown++;
    pki_identity_format(&r->identity, identity);
    if (walk->list != NULL) {
        json_array_append_new(
            walk->list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "identity", identity, "serial",
                                  r->serial, "fingerprint", r->fingerprint, "not_before",
                                  cert_date(r->not_before_s, true, from), "not_after",
                                  cert_date(r->not_after_s, true, to), "state", state));
        return OK;
    }
    if (walk->shown == 1) {
        cli_out(ctx, "%s%-28s %-20s %-13s %s%s\n", cli_style(ctx->color_out, CLI_HEADING),
                "IDENTITY", "VALID UNTIL", "STATE", "SERIAL", cli_style(ctx->color_out, CLI_PLAIN));
    }
    cli_out(ctx, "%-28s %-20s %s%-13s%s %s\n", identity, cert_date(r->not_after_s, false, to),
            cli_style(ctx->color_out, good ? CLI_GOOD : CLI_DOUBTFUL), state,
            cli_style(ctx->color_out, CLI_PLAIN), r->serial);
    return OK;
}

static enum cli_exit list_run(struct cli_context *ctx)
{
    struct cert_walk walk = {.ctx = ctx, .now_s = cert_now_s()};
    struct err_text text = {""};
    struct pki_ca *ca = NULL;
    enum cli_exit status = cert_open(ctx, &ca);
    enum err rc;

    if (status != CLI_DONE) {
        return status;
    }
    walk.list = ctx->json ? json_array() : NULL;
    rc = pki_ca_list(ca, list_each, &walk, &text);
    pki_ca_close(ca);
    if (rc != OK) {
        json_decref(walk.list);
        return cert_error(ctx, rc, &text);
    }
    if (ctx->json) {
        return cli_json(ctx, json_pack("{s:o}", "certificates", walk.list));
    }
    if (walk.shown == 0) {
        cli_note(ctx, "No valid certificates have been issued.");
        cli_next(ctx, "strait cert issue %s server/SITE/NAME -o certs", cli_argument(ctx, 0));
    }
    if (walk.hidden > 0) {
        cli_note(ctx, "%zu more, expired or revoked: strait cert list %s --all", walk.hidden,
                 cli_argument(ctx, 0));
    }
    return CLI_DONE;
}

const struct cli_command cli_command_cert_list = {
    .path = "cert list",
    .summary = "list the certificates that an authority has issued",
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "DIR", .help = "the folder of the authority", .kind = CLI_DIR}, {0}},
    .options =
        (const struct cli_option[]){
            {.name = "all", .letter = 'a', .help = "also those that expired or were revoked"}, {0}},
    .run = list_run,
};
