/* A member of Strait for as long as a command runs: a loop, a transport and an endpoint, as the
 * options say (cli/member/security.h). */

#ifndef CLI_MEMBER_MEMBER_H
#define CLI_MEMBER_MEMBER_H

#include "cli/command/context.h"
#include "loop/loop.h"
#include "net/session/endpoint.h"
#include "net/stream/socket.h"
#include "net/stream/tls.h"

/* Fields are for reading. */
struct cli_member {
    struct loop *loop;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_socket_transport plain;
    struct net_tls_transport *tls;
    struct net_transport *transport; /* The one that the address wants. */
    struct pki_identity identity;    /* By certificate; else what was asked for. */
    struct net_endpoint *endpoint;
};

struct cli_member_config {
    const struct net_address *address; /* Already judged. */
    enum wire_role role;               /* Without certificates: who we say we are. */
    const char *name;                  /* Likewise. */
    const struct net_endpoint_events *events;
    void *user;
};

/* The error is printed. cli_member_close() is due in any case. */
enum cli_exit cli_member_open(struct cli_context *ctx, struct cli_member *m,
                              const struct cli_member_config *config);

/* Ends at once. A zeroed member is allowed. */
void cli_member_close(struct cli_member *m);

#endif
