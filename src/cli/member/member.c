#include "cli/member/member.h"

#include "base/buf.h"
#include "cli/member/security.h"
#include "net/entropy.h"
#include "obs/metric.h"

enum { MEMBER_POOL_BYTES = 64 * 1024 * 1024, MEMBER_SERIES = 256 };

static enum cli_exit member_open_tls(struct cli_context *ctx, struct cli_member *m)
{
    const uint32_t roles = WIRE_ROLE_WORKER | WIRE_ROLE_SERVER | WIRE_ROLE_RELAY;
    struct pki_member_files files;
    struct net_tls_config config = {.cert_path = files.cert,
                                    .key_path = files.key,
                                    .ca_path = files.ca,
                                    .crl_path = files.crl,
                                    .roles_accepted = roles | WIRE_ROLE_OPERATOR,
                                    .roles_dialled = roles,
                                    .options = {.detours = ctx->detours}};
    struct err_text text = {""};
    enum cli_exit status = security_find(ctx, &files);
    enum err rc;

    if (status != CLI_DONE) {
        return status;
    }
    rc = net_tls_transport_create(m->loop, &config, &m->tls, &text);
    if (rc != OK) {
        return cli_error(ctx, rc == ERR_REFUSED ? CLI_ERROR_CERT_REFUSED : CLI_ERROR_BAD_CERT,
                         "strait doctor --cert DIR", "%s",
                         text.text[0] != '\0' ? text.text : err_string(rc));
    }
    m->transport = net_tls_transport_base(m->tls);
    m->identity = *net_tls_identity(m->tls);
    return CLI_DONE;
}

static enum cli_exit member_no_memory(struct cli_context *ctx, enum err rc)
{
    return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot start: %s", cli_error_start(rc));
}

static enum err member_open_parts(struct cli_context *ctx, struct cli_member *m,
                                  const struct cli_member_config *config)
{
    struct net_socket_options options = {.detours = ctx->detours};
    enum err rc = loop_create(&m->loop);

    if (rc == OK) {
        rc = buf_pool_create(MEMBER_POOL_BYTES, &m->pool);
    }
    if (rc == OK) {
        rc = obs_registry_create(MEMBER_SERIES, &m->registry);
    }
    if (rc == OK) {
        net_socket_transport_init(&m->plain, m->loop, &options);
        m->transport = &m->plain.base;
        rc = pki_identity_make(config->role, "none", config->name, &m->identity, NULL);
    }
    return rc;
}

enum cli_exit cli_member_open(struct cli_context *ctx, struct cli_member *m,
                              const struct cli_member_config *config)
{
    bool tls = config->address->scheme == NET_SCHEME_TLS;
    struct net_endpoint_config endpoint = {
        .insecure = !tls, .events = config->events, .user = config->user};
    enum cli_exit status;
    enum err rc;

    *m = (struct cli_member){.loop = NULL};
    rc = member_open_parts(ctx, m, config);
    if (rc != OK) {
        return member_no_memory(ctx, rc);
    }
    status = tls ? member_open_tls(ctx, m) : CLI_DONE;
    if (status != CLI_DONE) {
        return status;
    }
    rc = entropy_u64(&endpoint.seed);
    if (rc == OK) {
        endpoint.incarnation = endpoint.seed | 1;
        endpoint.loop = m->loop;
        endpoint.pool = m->pool;
        endpoint.registry = m->registry;
        endpoint.identity = m->identity;
        rc = net_endpoint_create(&endpoint, &m->endpoint);
    }
    return rc == OK ? CLI_DONE : member_no_memory(ctx, rc);
}

void cli_member_close(struct cli_member *m)
{
    net_endpoint_destroy(m->endpoint);
    net_tls_transport_destroy(m->tls);
    obs_registry_destroy(m->registry);
    buf_pool_destroy(m->pool);
    loop_destroy(m->loop);
}
