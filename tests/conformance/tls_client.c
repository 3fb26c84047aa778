/* Certificates and clients for the tests of tls. */

#include "tls_client.h"

#include "loop/clock.h"
#include "net/pki/ca.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void tls_issue(const char *ca_dir, const char *identity, const char *dir, int64_t ago_days,
               uint32_t days)
{
    struct pki_order order = {.now_s = clock_wall_us() / 1000000 - ago_days * 86400, .days = days};
    struct err_text text = {0};
    struct pki_ca *ca;

    assert_int_equal(pki_identity_parse(identity, &order.identity, NULL), OK);
    assert_int_equal(pki_ca_open(conf_pki_path(ca_dir), &ca, NULL), OK);
    if (pki_ca_issue_to(ca, &order, conf_pki_path(dir), true, &text) != OK) {
        fail_msg("%s", text.text);
    }
    pki_ca_close(ca);
}

struct net_tls_config tls_config(const char *dir, const char *name)
{
    char leaf[64];
    struct net_tls_config config = {
        .roles_accepted = WIRE_ROLE_WORKER | WIRE_ROLE_SERVER,
        .roles_dialled = WIRE_ROLE_SERVER,
    };

    (void)snprintf(leaf, sizeof(leaf), "%s/%s.crt", dir, name);
    config.cert_path = conf_pki_path(leaf);
    (void)snprintf(leaf, sizeof(leaf), "%s/%s.key", dir, name);
    config.key_path = conf_pki_path(leaf);
    (void)snprintf(leaf, sizeof(leaf), "%s/ca.crt", dir);
    config.ca_path = conf_pki_path(leaf);
    return config;
}

struct tls_thing {
    struct net_tls_transport *transport;
};

static void tls_thing_end(void *thing)
{
    struct tls_thing *t = thing;

    net_tls_transport_destroy(t->transport);
    t->transport = NULL;
}

void tls_use(struct conf_side *side, const struct net_tls_config *config)
{
    struct tls_thing *t = conf_new(side, sizeof(*t), tls_thing_end);
    struct err_text text = {0};

    if (net_tls_transport_create(side->loop, config, &t->transport, &text) != OK) {
        fail_msg("%s", text.text);
    }
    side->transport = net_tls_transport_base(t->transport);
}

static SSL_CTX *client_context(const struct tls_client_config *config)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    assert_non_null(ctx);
    if (config->cert_path != NULL) {
        assert_int_equal(SSL_CTX_use_certificate_file(ctx, config->cert_path, SSL_FILETYPE_PEM), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(ctx, config->key_path, SSL_FILETYPE_PEM), 1);
    }
    if (config->alpn != NULL) {
        assert_int_equal(SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)config->alpn,
                                                 (unsigned int)strlen(config->alpn)),
                         0);
    }
    if (config->version_max != 0) {
        assert_int_equal(SSL_CTX_set_max_proto_version(ctx, config->version_max), 1);
    }
    return ctx;
}

static int client_connect(const struct net_address *to)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(to->port))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(inet_pton(AF_INET, to->host, &in.sin_addr), 1);
    assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

/* One attempt to get on; returns false when the connection has ended. */
static bool client_step(SSL *ssl, struct tls_client_result *result)
{
    char byte;
    int status = result->connected ? SSL_read(ssl, &byte, 1) : SSL_do_handshake(ssl);
    int error = SSL_get_error(ssl, status);
    const char *why;

    if (status == 1 && !result->connected) {
        result->connected = true;
        return true;
    }
    if (status == 1 || error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        return true;
    }
    why = ERR_reason_error_string(ERR_peek_error());
    (void)snprintf(result->why, sizeof(result->why), "%s", why == NULL ? "" : why);
    return false;
}

struct tls_client_result tls_client_run(struct conf_world *w, const struct net_address *to,
                                        const struct tls_client_config *config, int64_t stay_ns)
{
    struct tls_client_result result = {0};
    int64_t until_ns = conf_now_ns(w) + stay_ns;
    SSL_CTX *ctx = client_context(config);
    SSL *ssl = SSL_new(ctx);
    int fd = client_connect(to);

    assert_int_equal(SSL_set_fd(ssl, fd), 1);
    SSL_set_connect_state(ssl);
    while (client_step(ssl, &result) && conf_now_ns(w) < until_ns) {
        (void)conf_step(w, conf_now_ns(w) + CONF_MS);
    }
    ERR_clear_error();
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    assert_int_equal(close(fd), 0);
    return result;
}

void tls_self_signed(void)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    X509 *cert = X509_new();
    FILE *file;

    assert_int_equal(X509_set_version(cert, X509_VERSION_3), 1);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    (void)X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    (void)X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    (void)X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                                     (const unsigned char *)"worker/eu/a", -1, -1, 0);
    assert_int_equal(X509_set_issuer_name(cert, X509_get_subject_name(cert)), 1);
    assert_int_equal(X509_set_pubkey(cert, key), 1);
    assert_true(X509_sign(cert, key, NULL) > 0);
    file = fopen(conf_pki_path("self.crt"), "w");
    assert_int_equal(PEM_write_X509(file, cert), 1);
    assert_int_equal(fclose(file), 0);
    file = fopen(conf_pki_path("self.key"), "w");
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(file), 0);
    X509_free(cert);
    EVP_PKEY_free(key);
}
