#include "net/stream/tls_context.h"

#include "base/log.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NET_TLS_READ_AHEAD_BYTES = 128 * 1024 };

/* AES-128 first: it is the fastest on processors with AES instructions, and strong enough. */
#define NET_TLS_CIPHERS "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

static const uint8_t net_tls_alpn_member[] = "\x08" NET_TLS_ALPN_MEMBER;
static const uint8_t net_tls_alpn_join[] = "\x0d" NET_TLS_ALPN_JOIN;

bool net_tls_kernel_capable(void)
{
    char words[256] = {0};
    int fd = open("/proc/sys/net/ipv4/tcp_available_ulp", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, words, sizeof(words) - 1);

    if (fd >= 0) {
        (void)close(fd);
    }
    return n > 0 && strstr(words, "tls") != NULL;
}

void net_tls_why(SSL *ssl, struct err_text *text)
{
    unsigned long code = ERR_get_error();
    long verdict = ssl == NULL ? X509_V_OK : SSL_get_verify_result(ssl);
    const char *reason =
        code == 0 ? "connection ended in the handshake" : ERR_reason_error_string(code);

    if (verdict != X509_V_OK) {
        (void)err_text_set(text, ERR_TLS, "certificate of the other end: %s",
                           X509_verify_cert_error_string(verdict));
    } else {
        (void)err_text_set(text, ERR_TLS, "tls: %s", reason == NULL ? "unknown error" : reason);
    }
    ERR_clear_error();
}

/* Strangers who want to enrol need no certificate; members do. The choice of protocol comes before
 * the request for a certificate, so the demand can still be changed here. */
static int net_tls_choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_size,
                               const unsigned char *offered, unsigned int offered_size, void *user)
{
    struct net_tls_context *c = user;
    unsigned char *choice;

    if (SSL_select_next_proto(&choice, out_size, net_tls_alpn_member,
                              sizeof(net_tls_alpn_member) - 1, offered,
                              offered_size) == OPENSSL_NPN_NEGOTIATED) {
        *out = choice;
        return SSL_TLSEXT_ERR_OK;
    }
    if (c->enrol &&
        SSL_select_next_proto(&choice, out_size, net_tls_alpn_join, sizeof(net_tls_alpn_join) - 1,
                              offered, offered_size) == OPENSSL_NPN_NEGOTIATED) {
        SSL_set_verify(ssl, SSL_VERIFY_NONE, NULL);
        *out = choice;
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* An expired list still names those who were revoked: better than none, so it is used. */
static int net_tls_verify(int ok, X509_STORE_CTX *store)
{
    if (!ok && X509_STORE_CTX_get_error(store) == X509_V_ERR_CRL_HAS_EXPIRED) {
        LOG_WRN("net", "the revocation list has expired: have the authority write a new one");
        X509_STORE_CTX_set_error(store, X509_V_OK);
        return 1;
    }
    return ok;
}

/* A token must not be given to just any member of the authority: a worker could redeem it itself.
 */
static bool net_tls_may_enrol(const struct net_tls_context *c, X509 *leaf)
{
    time_t now_s = c->wall_us == NULL ? 0 : (time_t)(c->wall_us(c->user) / 1000000);
    time_t *at = c->wall_us == NULL ? NULL : &now_s; /* NULL: the system's clock. */
    struct pki_identity identity;

    return pki_identity_from_cert(leaf, &identity, NULL) == OK &&
           identity.role == WIRE_ROLE_SERVER && X509_cmp_time(X509_get0_notBefore(leaf), at) < 0 &&
           X509_cmp_time(X509_get0_notAfter(leaf), at) > 0;
}

/* The joiner knows its authority by the pin in its token only: accept exactly a server whose chain
 * ends in a certificate with that hash. */
static int net_tls_verify_pin(X509_STORE_CTX *store, void *user)
{
    struct net_tls_context *c = user;
    STACK_OF(X509) *chain = X509_STORE_CTX_get0_untrusted(store);
    X509 *leaf = X509_STORE_CTX_get0_cert(store);

    for (int i = 0; i < sk_X509_num(chain); i++) {
        X509 *ca = sk_X509_value(chain, i);

        if (pki_pin_matches(ca, c->pin) && X509_check_ca(ca) > 0 &&
            X509_verify(leaf, X509_get0_pubkey(ca)) == 1 && net_tls_may_enrol(c, leaf)) {
            X509_STORE_CTX_set_error(store, X509_V_OK);
            return 1;
        }
    }
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_UNTRUSTED);
    return 0;
}

/* OpenSSL writes to sockets without MSG_NOSIGNAL: a peer that has gone would cost the process its
 * life. Where the kernel encrypts, control records need OpenSSL's own way. */
static int net_tls_bio_write(BIO *bio, const char *bytes, int size)
{
    int fd = -1;
    int n;

    if (BIO_get_ktls_send(bio)) {
        return BIO_meth_get_write(BIO_s_socket())(bio, bytes, size);
    }
    BIO_get_fd(bio, &fd);
    n = (int)send(fd, bytes, (size_t)size, MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (n <= 0 && BIO_sock_should_retry(n)) {
        BIO_set_retry_write(bio);
    }
    return n;
}

/* OpenSSL's sockets in everything but writing. */
static enum err net_tls_context_socket(struct net_tls_context *c)
{
    const BIO_METHOD *like = BIO_s_socket();
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOCKET, "socket");

    if (m == NULL || BIO_meth_set_write(m, net_tls_bio_write) != 1 ||
        BIO_meth_set_read(m, BIO_meth_get_read(like)) != 1 ||
        BIO_meth_set_ctrl(m, BIO_meth_get_ctrl(like)) != 1 ||
        BIO_meth_set_create(m, BIO_meth_get_create(like)) != 1 ||
        BIO_meth_set_destroy(m, BIO_meth_get_destroy(like)) != 1) {
        BIO_meth_free(m);
        ERR_clear_error();
        return ERR_NOMEM;
    }
    c->socket = m;
    return OK;
}

static enum err net_tls_context_new(struct net_tls_context *c, bool server)
{
    bool ktls = net_tls_kernel_capable();

    c->ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    if (c->ctx == NULL) {
        return ERR_NOMEM;
    }
    (void)SSL_CTX_set_options(c->ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                          SSL_OP_IGNORE_UNEXPECTED_EOF |
                                          (ktls ? SSL_OP_ENABLE_KTLS : 0));
    (void)SSL_CTX_set_mode(c->ctx,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_num_tickets(c->ctx, 0);
    if (!ktls) {
        /* One system call for several records; the kernel's own decryption forbids it. */
        SSL_CTX_set_read_ahead(c->ctx, 1);
        SSL_CTX_set_default_read_buffer_len(c->ctx, NET_TLS_READ_AHEAD_BYTES);
    }
    if (SSL_CTX_set_min_proto_version(c->ctx, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(c->ctx, NET_TLS_CIPHERS) != 1) {
        return ERR_TLS;
    }
    return net_tls_context_socket(c);
}

static enum err net_tls_context_load(struct net_tls_context *c, const struct net_tls_config *config,
                                     struct err_text *text)
{
    X509 *cert = NULL;
    EVP_PKEY *key = NULL;
    enum err rc = pki_cert_read(config->cert_path, &cert, text);

    if (rc == OK) {
        rc = pki_key_read(config->key_path, &key, text);
    }
    if (rc == OK) {
        rc = pki_cert_read(config->ca_path, &c->ca, text);
    }
    /* The chain carries the authority too, so that a joiner can compare it with its pin. */
    if (rc == OK &&
        (SSL_CTX_use_certificate(c->ctx, cert) != 1 || SSL_CTX_use_PrivateKey(c->ctx, key) != 1 ||
         SSL_CTX_add1_chain_cert(c->ctx, c->ca) != 1 ||
         X509_STORE_add_cert(SSL_CTX_get_cert_store(c->ctx), c->ca) != 1)) {
        ERR_clear_error();
        rc = err_text_set(text, ERR_INVALID, "%s: does not belong to the key %s", config->cert_path,
                          config->key_path);
    }
    if (rc == OK && X509_verify(cert, X509_get0_pubkey(c->ca)) != 1) {
        ERR_clear_error();
        rc = err_text_set(text, ERR_INVALID, "%s: was not signed by the authority %s",
                          config->cert_path, config->ca_path);
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    return rc;
}

/* Judge validity by the injected clock where there is one. */
static void net_tls_context_set_time(struct net_tls_context *c, SSL *ssl)
{
    if (c->wall_us != NULL) {
        X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl), (time_t)(c->wall_us(c->user) / 1000000));
    }
}

enum err net_tls_context_set_crl(struct net_tls_context *c, X509_CRL *crl)
{
    X509_STORE *store = X509_STORE_new();

    if (store == NULL || X509_STORE_add_cert(store, c->ca) != 1 ||
        X509_STORE_add_crl(store, crl) != 1 ||
        X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK) != 1) {
        X509_STORE_free(store);
        X509_CRL_free(crl);
        ERR_clear_error();
        return ERR_NOMEM;
    }
    SSL_CTX_set_cert_store(c->ctx, store);
    X509_CRL_free(c->crl);
    c->crl = crl;
    return OK;
}

bool net_tls_context_revoked(const struct net_tls_context *c, X509 *cert)
{
    X509_REVOKED *entry = NULL;

    return c->crl != NULL && X509_CRL_get0_by_cert(c->crl, &entry, cert) == 1;
}

enum err net_tls_context_init(struct net_tls_context *c, const struct net_tls_config *config,
                              bool server, struct err_text *text)
{
    enum err rc;

    *c = (struct net_tls_context){
        .enrol = server && config->enrol, .wall_us = config->wall_us, .user = config->user};
    rc = net_tls_context_new(c, server);
    if (rc == OK) {
        rc = net_tls_context_load(c, config, text);
    }
    if (rc != OK) {
        net_tls_context_deinit(c);
        return rc;
    }
    SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, net_tls_verify);
    if (server) {
        SSL_CTX_set_alpn_select_cb(c->ctx, net_tls_choose_alpn, c);
    } else {
        (void)SSL_CTX_set_alpn_protos(c->ctx, net_tls_alpn_member, sizeof(net_tls_alpn_member) - 1);
    }
    return OK;
}

enum err net_tls_context_init_joiner(struct net_tls_context *c,
                                     const struct net_tls_joiner_config *config,
                                     struct err_text *text)
{
    enum err rc;

    *c = (struct net_tls_context){.joiner = true, .wall_us = config->wall_us, .user = config->user};
    memcpy(c->pin, config->pin, sizeof(c->pin));
    rc = net_tls_context_new(c, false);
    if (rc != OK) {
        net_tls_context_deinit(c);
        return err_text_set(text, rc, "cannot set up tls");
    }
    SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_cert_verify_callback(c->ctx, net_tls_verify_pin, c);
    (void)SSL_CTX_set_alpn_protos(c->ctx, net_tls_alpn_join, sizeof(net_tls_alpn_join) - 1);
    return OK;
}

void net_tls_context_deinit(struct net_tls_context *c)
{
    SSL_CTX_free(c->ctx);
    BIO_meth_free(c->socket);
    X509_free(c->ca);
    X509_CRL_free(c->crl);
    *c = (struct net_tls_context){0};
}

enum err net_tls_context_session(struct net_tls_context *c, bool server, int fd, SSL **ssl_out)
{
    SSL *ssl = SSL_new(c->ctx);
    BIO *bio = BIO_new(c->socket);

    if (ssl == NULL || bio == NULL) {
        SSL_free(ssl);
        BIO_free(bio);
        ERR_clear_error();
        return ERR_NOMEM;
    }
    BIO_set_fd(bio, fd, BIO_NOCLOSE);
    SSL_set_bio(ssl, bio, bio);
    net_tls_context_set_time(c, ssl);
    if (server) {
        SSL_set_accept_state(ssl);
    } else {
        SSL_set_connect_state(ssl);
    }
    *ssl_out = ssl;
    return OK;
}
