#include "cli/member/security.h"

#include "cli/member/advertise.h"

#include <string.h>
#include <sys/resource.h>

unsigned security_insecure(const struct cli_context *ctx)
{
    unsigned count = 0;

    for (size_t i = 0; i < ctx->parsed->settings_count; i++) {
        const struct cli_setting *s = &ctx->parsed->settings[i];

        if (strcmp(s->option->name, "insecure") == 0) {
            count = s->on ? count + 1 : 0;
        }
    }
    return count;
}

bool security_is_local(const struct net_address *address)
{
    return address->scheme == NET_SCHEME_UNIX || advertise_is_loopback(address->host);
}

/* The rule. */
const char *security_objection(const struct cli_context *ctx, const struct net_address *address)
{
    unsigned insecure = security_insecure(ctx);

    if (address->scheme == NET_SCHEME_TLS) {
        return insecure == 0 ? NULL
                             : "--insecure is for tcp:// addresses; leave it away, or write tcp://";
    }
    if (insecure == 0) {
        return "not encrypted; use tls:// with --cert, or say --insecure";
    }
    if (insecure == 1 && !security_is_local(address)) {
        return "not encrypted, and not on this machine; if that is really wanted, give --insecure "
               "twice";
    }
    return NULL;
}

static enum cli_exit security_judge(struct cli_context *ctx, const char *option, const char *text,
                                    const struct net_address *address)
{
    const char *objection = security_objection(ctx, address);

    return objection == NULL
               ? CLI_DONE
               : cli_error(ctx, CLI_ERROR_INSECURE, NULL, "--%s %s: %s", option, text, objection);
}

enum cli_exit security_address(struct cli_context *ctx, const char *option, const char *text,
                               struct net_address *out)
{
    bool bare = strstr(text, "://") == NULL && strncmp(text, "unix:", 5) != 0;
    char full[NET_ADDRESS_BYTES + 8];
    struct err_text why = {""};

    if ((size_t)snprintf(full, sizeof(full), "%s%s",
                         bare && security_insecure(ctx) > 0 ? "tcp://" : "",
                         text) >= sizeof(full)) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--%s: the address is too long", option);
    }
    if (net_address_parse(full, out, &why) != OK || out->scheme == NET_SCHEME_SIM) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--%s: %s", option,
                         why.text[0] != '\0' ? why.text : "not an address of a real machine");
    }
    return security_judge(ctx, option, text, out);
}

void security_hold_keys(void)
{
    struct rlimit limit;

    /* The hard limit stays: who owns the process may want a dump after all. */
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = 0;
        (void)setrlimit(RLIMIT_CORE, &limit);
    }
}

/* What pki_member_find() said, with what to do. */
static enum cli_exit security_not_found(struct cli_context *ctx, enum err rc, const char *why)
{
    switch (rc) {
    case ERR_NOT_FOUND:
        return cli_error(ctx, CLI_ERROR_BAD_CERT, "strait cert issue --help", "--cert %s", why);
    case ERR_INVALID:
        return cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, NULL, "--cert %s; say which with --name",
                         why);
    default:
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "--cert %s", why);
    }
}

enum cli_exit security_find(struct cli_context *ctx, struct pki_member_files *out)
{
    const char *dir = cli_text_at(ctx, "cert", 0);
    struct err_text why = {""};
    enum err rc;

    if (dir == NULL) {
        return cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, NULL,
                         "a member's certificate is needed: --cert DIR (\"strait cert issue\" "
                         "makes one), or --insecure");
    }
    security_hold_keys();
    rc = pki_member_find(dir, cli_text(ctx, "name"), out, &why);
    return rc == OK ? CLI_DONE : security_not_found(ctx, rc, why.text);
}
