/* OpenSSL contexts and the judgement of certificates, for net/stream/tls.c. */

#ifndef NET_STREAM_TLS_CONTEXT_H
#define NET_STREAM_TLS_CONTEXT_H

#include "net/stream/tls.h"

#include <openssl/ssl.h>

#define NET_TLS_ALPN_MEMBER "strait/1"
#define NET_TLS_ALPN_JOIN "strait-join/1"

/* One direction: what we use when we dial, or when we are dialled. */
struct net_tls_context {
    SSL_CTX *ctx;
    BIO_METHOD *socket; /* How bytes get to a descriptor and back. */
    X509 *ca;
    X509_CRL *crl;
    bool enrol;
    bool joiner;
    uint8_t pin[PKI_PIN_BYTES];
    int64_t (*wall_us)(void *user);
    void *user;
};

/* Everything but the revocation list. */
MUST_USE enum err net_tls_context_init(struct net_tls_context *c,
                                       const struct net_tls_config *config, bool server,
                                       struct err_text *text);
MUST_USE enum err net_tls_context_init_joiner(struct net_tls_context *c,
                                              const struct net_tls_joiner_config *config,
                                              struct err_text *text);
void net_tls_context_deinit(struct net_tls_context *c);

/* Make a session on @fd. */
MUST_USE enum err net_tls_context_session(struct net_tls_context *c, bool server, int fd,
                                          SSL **ssl_out);

/* Replace the revocation list; ownership of @crl passes. */
MUST_USE enum err net_tls_context_set_crl(struct net_tls_context *c, X509_CRL *crl);

/* True if the list names the certificate. */
bool net_tls_context_revoked(const struct net_tls_context *c, X509 *cert);

/* Describe why OpenSSL failed, and empty its error queue. */
void net_tls_why(SSL *ssl, struct err_text *text);

#endif
