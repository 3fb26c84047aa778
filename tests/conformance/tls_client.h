/* For the tests of tls: members with certificates of every kind, and a plain OpenSSL client for
 * what our own client would not do. */

#ifndef CONFORMANCE_TLS_CLIENT_H
#define CONFORMANCE_TLS_CLIENT_H

#include "fixture.h"

/* Issue a certificate for @identity in DIR/@dir, @ago_days ago and valid for @days. */
void tls_issue(const char *ca, const char *identity, const char *dir, int64_t ago_days,
               uint32_t days);

/* What a configuration for the certificate in DIR/@dir of the member @name looks like. */
struct net_tls_config tls_config(const char *dir, const char *name);

/* Make a transport on @side and let the side use it. Fails the test if it cannot be made. */
void tls_use(struct conf_side *side, const struct net_tls_config *config);

/* A client of plain OpenSSL. */
struct tls_client_config {
    const char *cert_path; /* NULL: none. */
    const char *key_path;
    const char *alpn; /* As on the wire, with its length before it; NULL: none. */
    int version_max;  /* Zero: the newest. */
};

struct tls_client_result {
    bool connected; /* The handshake is done as far as the client can see. */
    char why[256];  /* OpenSSL's reason for the end; empty if it just ended. */
};

/* Connect to @to and wait until the server closes, or for @stay_ns at most. */
struct tls_client_result tls_client_run(struct conf_world *w, const struct net_address *to,
                                        const struct tls_client_config *config, int64_t stay_ns);

/* Write a new key and a certificate signed by itself to DIR/self.crt and DIR/self.key. */
void tls_self_signed(void);

#endif
