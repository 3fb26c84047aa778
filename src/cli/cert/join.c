/* strait cert join: get a certificate over the network, for a token. The token comes from a file or
 * from standard input, never from the command line: arguments can be seen by others. */

#include "base/buf.h"
#include "cli/cert/cert.h"
#include "cli/command/commands.h"
#include "cli/member/security.h"
#include "loop/loop.h"
#include "net/pki/enrol.h"
#include "obs/metric.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    JOIN_POOL_BYTES = 4 * 1024 * 1024,
    JOIN_SERIES_MAX = 128,
    JOIN_TOKEN_FILE_BYTES = 256, /* A token, and blanks around it. */
};

struct join {
    struct cli_context *ctx;
    struct loop *loop;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_joiner *joiner;
    char token[JOIN_TOKEN_FILE_BYTES + 1];
    bool done;
    enum err rc;
    struct err_text text;
};

/* Read at most a token file from @fd; its size, or -1. */
static ssize_t join_read(int fd, char *out)
{
    size_t size = 0;
    ssize_t n = 1;

    while (n > 0 && size < JOIN_TOKEN_FILE_BYTES) {
        n = read(fd, out + size, JOIN_TOKEN_FILE_BYTES - size);
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        size += n > 0 ? (size_t)n : 0;
        if (memchr(out, '\n', size) != NULL && isatty(fd) == 1) {
            break;
        }
    }
    return n < 0 ? -1 : (ssize_t)size;
}

/* Read the token and leave away the blanks around it. */
static enum cli_exit join_read_token(struct join *join)
{
    const char *path = cli_text(join->ctx, "token-file");
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    size_t blanks;
    ssize_t n;
    int error;

    if (standard && isatty(fd) == 1) {
        cli_note(join->ctx, "Paste the token and press Enter:");
    }
    n = fd < 0 ? -1 : join_read(fd, join->token);
    error = errno;
    if (!standard && fd >= 0) {
        (void)close(fd);
    }
    if (n < 0) {
        return cli_error(join->ctx, CLI_ERROR_FILE, NULL,
                         "cert join: cannot read the token from %s: %s",
                         standard ? "standard input" : path, strerror(error));
    }
    while (n > 0 && strchr(" \t\r\n", join->token[n - 1]) != NULL) {
        n--;
    }
    join->token[n] = '\0';
    blanks = strspn(join->token, " \t\r\n");
    memmove(join->token, join->token + blanks, (size_t)n - blanks + 1);
    return CLI_DONE;
}

static void join_done(enum err rc, const char *text, void *user)
{
    struct join *join = user;

    join->done = true;
    join->rc = rc;
    (void)err_text_set(&join->text, rc, "%s", text);
    loop_stop(join->loop);
}

static enum cli_exit join_error(struct join *join)
{
    struct cli_context *ctx = join->ctx;
    const char *text = join->text.text;

    switch (join->rc) {
    case ERR_INVALID:
        return cli_error(ctx, CLI_ERROR_BAD_TOKEN, NULL, "cert join: %s", text);
    case ERR_UNREACHABLE:
    case ERR_TIMEOUT:
    case ERR_CLOSED:
        return cli_error(ctx, CLI_ERROR_UNREACHABLE, NULL,
                         "cert join: %s; does \"strait cert serve\" run there?", text);
    case ERR_REFUSED:
        return cli_error(ctx, CLI_ERROR_JOIN_REFUSED, NULL,
                         "cert join: %s; ask for a new token: each is good once, for 15 minutes "
                         "unless made otherwise",
                         text);
    case ERR_AGAIN:
        return cli_error(ctx, CLI_ERROR_JOIN_LATER, NULL, "cert join: %s", text);
    case ERR_TLS:
    case ERR_PEER:
        return cli_error(ctx, CLI_ERROR_WRONG_AUTHORITY, NULL,
                         "cert join: not the authority of the token: %s", text);
    case ERR_NOT_FOUND: /* Here a matter of files, not of records. */
        return cert_error(ctx, ERR_IO, &join->text);
    default:
        return cert_error(ctx, join->rc, &join->text);
    }
}

static enum cli_exit join_report(struct cli_context *ctx, const struct pki_identity *identity,
                                 const char *out)
{
    char cert[1024], key[1024], ca[1024];
    struct pki_description d;
    int64_t now_s = cert_now_s();
    enum cli_exit status;

    /* They were written, so they fit. */
    (void)snprintf(cert, sizeof(cert), "%s/%s.crt", out, identity->name);
    (void)snprintf(key, sizeof(key), "%s/%s.key", out, identity->name);
    (void)snprintf(ca, sizeof(ca), "%s/ca.crt", out);
    status = cert_read(ctx, cert, &d);
    if (status != CLI_DONE) {
        return status;
    }
    if (now_s < d.not_before_s || now_s > d.not_after_s) {
        cli_note(ctx, "The clocks of this machine and of the authority do not agree.");
    }
    if (ctx->json) {
        json_t *object = cert_json(&d, now_s);

        json_object_set_new(
            object, "files",
            json_pack("{s:s, s:s, s:s}", "certificate", cert, "key", key, "authority", ca));
        return cli_json(ctx, object);
    }
    cert_print(ctx, &d, now_s);
    cert_row(ctx, "certificate", cert);
    cert_row(ctx, "key", key);
    cert_row(ctx, "trusts", ca);
    cli_next(ctx, "strait doctor --cert %s", out);
    return CLI_DONE;
}

static enum err join_start(struct join *join, const struct net_address *address)
{
    struct cli_context *ctx = join->ctx;
    struct net_joiner_config config = {
        .token = join->token,
        .address = *address,
        .name = cli_text(ctx, "name"),
        .dir = cli_text(ctx, "out"),
        .replace = cli_flag(ctx, "replace"),
        .timeout_ns = cli_number(ctx, "timeout") * 1000,
        .done = join_done,
        .user = join,
    };
    enum err rc = loop_create(&join->loop);

    if (rc == OK) {
        rc = buf_pool_create(JOIN_POOL_BYTES, &join->pool);
    }
    if (rc == OK) {
        rc = obs_registry_create(JOIN_SERIES_MAX, &join->registry);
    }
    if (rc != OK) {
        return err_text_set(&join->text, rc, "%s", err_string(rc));
    }
    config.loop = join->loop;
    config.pool = join->pool;
    config.registry = join->registry;
    security_hold_keys();
    return net_joiner_create(&config, &join->joiner, &join->text);
}

static enum cli_exit join_work(struct join *join, const struct net_address *address)
{
    struct cli_context *ctx = join->ctx;
    char to[NET_ADDRESS_BYTES];

    join->rc = join_start(join, address);
    if (join->rc == OK) {
        cli_note(ctx, "Asking %s for a certificate ...", net_address_format(address, to));
        while (!join->done) {
            loop_run(join->loop);
        }
    }
    return join->rc == OK
               ? join_report(ctx, net_joiner_identity(join->joiner), cli_text(ctx, "out"))
               : join_error(join);
}

static enum cli_exit join_run(struct cli_context *ctx)
{
    struct join join = {.ctx = ctx};
    const char *name = cli_text(ctx, "name");
    struct net_address address;
    enum err rc = net_address_parse(cli_argument(ctx, 0), &address, &join.text);
    enum cli_exit status;

    if (rc == OK && address.scheme != NET_SCHEME_TLS) {
        rc = err_text_set(&join.text, ERR_INVALID, "certificates are handed out over tls:// only");
    }
    if (rc != OK) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "cert join: %s", join.text.text);
    }
    if (name != NULL && !pki_name_valid(name)) {
        return cli_error(ctx, CLI_ERROR_BAD_IDENTITY, NULL,
                         "cert join: --name \"%s\": not a name of a member", name);
    }
    status = join_read_token(&join);
    if (status == CLI_DONE) {
        status = join_work(&join, &address);
    }
    explicit_bzero(join.token, sizeof(join.token));
    net_joiner_destroy(join.joiner);
    obs_registry_destroy(join.registry);
    loop_destroy(join.loop);
    buf_pool_destroy(join.pool);
    return status;
}

const struct cli_command cli_command_cert_join = {
    .path = "cert join",
    .summary = "get a certificate over the network, for a token",
    .paragraphs =
        (const char *const[]){
            "ADDRESS is where \"strait cert serve\" runs, which prints it. The token proves that "
            "you may join, and names the authority, so nobody else can answer in its place. It is "
            "read from a file or from standard input, and is good once.",
            "The key is made here and stays here. Writes NAME.crt, NAME.key (readable by you only) "
            "and ca.crt to the folder of --out.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "ADDRESS", .help = "tls://HOST:PORT, or HOST:PORT"}, {0}},
    .options =
        (const struct cli_option[]){{.name = "token-file",
                                     .placeholder = "FILE",
                                     .fallback = "-",
                                     .kind = CLI_FILE,
                                     .help = "the file with the token; - is standard input"},
                                    {.name = "name",
                                     .placeholder = "NAME",
                                     .help = "the name to join by, if the token leaves it "
                                             "open"},
                                    {.name = "out",
                                     .letter = 'o',
                                     .placeholder = "OUT",
                                     .fallback = "certs",
                                     .kind = CLI_DIR,
                                     .help = "the folder to write to"},
                                    {.name = "timeout",
                                     .placeholder = "TIME",
                                     .fallback = "15s",
                                     .kind = CLI_DURATION,
                                     .min = 100000,
                                     .max = INT64_C(3600) * 1000000,
                                     .help = "give up after that time"},
                                    {.name = "replace", .help = "overwrite files of that name"},
                                    {0}},
    .examples =
        (const struct cli_example[]){
            {"strait cert join ca.example.org:7443 --token-file token --name w1",
             "join as w1, with the token in a file"},
            {0}},
    .run = join_run,
};
