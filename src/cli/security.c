#include "cli/security.h"

#include "cli/advertise.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

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
static enum cli_exit security_judge(struct cli_context *ctx, const char *option, const char *text,
                                    const struct net_address *address)
{
    unsigned insecure = security_insecure(ctx);

    if (address->scheme == NET_SCHEME_TLS) {
        return insecure == 0 ? CLI_DONE
                             : cli_error(ctx, CLI_ERROR_INSECURE, NULL,
                                         "--%s %s: --insecure is for tcp:// addresses; leave it "
                                         "away, or write tcp://",
                                         option, text);
    }
    if (insecure == 0) {
        return cli_error(ctx, CLI_ERROR_INSECURE, NULL,
                         "--%s %s: not encrypted; use tls:// with --cert, or say --insecure",
                         option, text);
    }
    if (insecure == 1 && !security_is_local(address)) {
        return cli_error(ctx, CLI_ERROR_INSECURE, NULL,
                         "--%s %s: not encrypted, and not on this machine; if that is really "
                         "wanted, give --insecure twice",
                         option, text);
    }
    return CLI_DONE;
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

/* The one certificate in the folder beside ca.crt. */
static enum cli_exit security_only_one(struct cli_context *ctx, const char *dir, char *name,
                                       size_t size)
{
    DIR *folder = opendir(dir);
    struct dirent *entry;
    unsigned count = 0;

    if (folder == NULL) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "--cert %s: %s", dir, strerror(errno));
    }
    while ((entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name);

        if (length > 4 && length - 4 < size && strcmp(entry->d_name, "ca.crt") != 0 &&
            strcmp(entry->d_name + length - 4, ".crt") == 0) {
            memcpy(name, entry->d_name, length - 4);
            name[length - 4] = '\0';
            count++;
        }
    }
    (void)closedir(folder);
    if (count == 0) {
        return cli_error(ctx, CLI_ERROR_BAD_CERT, "strait cert issue --help",
                         "--cert %s: no certificate of a member is in that folder", dir);
    }
    if (count > 1) {
        return cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, NULL,
                         "--cert %s: %u members have certificates there; say which with --name",
                         dir, count);
    }
    return CLI_DONE;
}

enum cli_exit security_find(struct cli_context *ctx, struct security_files *out)
{
    const char *dir = cli_text_at(ctx, "cert", 0);
    const char *given = cli_text(ctx, "name");
    char name[256] = "";
    enum cli_exit status;

    if (dir == NULL) {
        return cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, NULL,
                         "a member's certificate is needed: --cert DIR (\"strait cert issue\" "
                         "makes one), or --insecure");
    }
    if (given == NULL) {
        status = security_only_one(ctx, dir, name, sizeof(name));
        if (status != CLI_DONE) {
            return status;
        }
        given = name;
    }
    if ((size_t)snprintf(out->cert, sizeof(out->cert), "%s/%s.crt", dir, given) >=
            sizeof(out->cert) ||
        (size_t)snprintf(out->key, sizeof(out->key), "%s/%s.key", dir, given) >= sizeof(out->key) ||
        (size_t)snprintf(out->ca, sizeof(out->ca), "%s/ca.crt", dir) >= sizeof(out->ca) ||
        (size_t)snprintf(out->crl, sizeof(out->crl), "%s/revoked.crl", dir) >= sizeof(out->crl)) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "--cert: the path of the folder is too long");
    }
    if (access(out->crl, F_OK) != 0) {
        out->crl[0] = '\0';
    }
    return CLI_DONE;
}
