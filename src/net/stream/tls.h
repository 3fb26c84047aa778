/* Streams over TLS 1.3, mutual: both ends show a certificate of the same authority, and the
 * certificate says who they are (net/pki/pki.h). Nothing older than TLS 1.3, no session resumption:
 * the revocation list is asked at every handshake. Its file is looked at once a second: a list that
 * appears or changes is read, and connections whose certificate it names are ended. A file that
 * disappears, is damaged or is older than the list in force is logged, and the list in force stays.
 *
 * A server may also let strangers in who only want to enrol: they speak another protocol name
 * (ALPN), show no certificate, and stay unauthenticated. */

#ifndef NET_STREAM_TLS_H
#define NET_STREAM_TLS_H

#include "net/stream/socket.h"

struct net_tls_transport;

struct net_tls_config {
    const char *cert_path;
    const char *key_path;
    const char *ca_path;
    const char *crl_path;    /* May be missing for now; NULL: no revocation list. */
    uint32_t roles_accepted; /* Mask of enum wire_role: who may dial us. */
    uint32_t roles_dialled;  /* Whom we may have reached. */
    bool enrol;              /* Listening: let strangers enrol. */
    struct net_socket_options options;
    int64_t (*wall_us)(void *user); /* For validity; NULL: the system's clock. */
    void *user;
};

/* A transport for tls:// addresses on @loop. ERR_INVALID, ERR_NOT_FOUND or ERR_REFUSED with @text
 * if a file is missing, malformed, readable by others, or does not fit the rest. */
MUST_USE enum err net_tls_transport_create(struct loop *loop, const struct net_tls_config *config,
                                           struct net_tls_transport **transport_out,
                                           struct err_text *text);

struct net_tls_joiner_config {
    const uint8_t *pin;             /* PKI_PIN_BYTES of the authority. */
    int64_t (*wall_us)(void *user); /* For validity; NULL: the system's clock. */
    void *user;
};

/* The joiner's transport: shows no certificate, and trusts only a server of the authority that the
 * pin names. */
MUST_USE enum err net_tls_joiner_create(struct loop *loop,
                                        const struct net_tls_joiner_config *config,
                                        struct net_tls_transport **transport_out,
                                        struct err_text *text);

/* Streams and listeners must be gone. NULL is allowed. */
void net_tls_transport_destroy(struct net_tls_transport *t);

struct net_transport *net_tls_transport_base(struct net_tls_transport *t);

/* Who we are by our own certificate. */
const struct pki_identity *net_tls_identity(const struct net_tls_transport *t);

/* The version and cipher of a stream that this module made, as OpenSSL calls them; false for
 * others, and before the handshake is done. */
bool net_tls_describe(const struct net_stream *s, const char **version_out,
                      const char **cipher_out);

/* True if the kernel can take over encryption. */
bool net_tls_kernel_capable(void);

#endif
