/* The stream itself: handshake, records, revocation of live connections. */

#include "net/stream/tls.h"

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/stream/socket_fd.h"
#include "net/stream/tls_context.h"

#include <openssl/err.h>
#include <string.h>
#include <sys/stat.h>

enum {
    NET_TLS_STAGE_BYTES = 16 * 1024, /* One record. */
    NET_TLS_CRL_CHECK_MS = 1000,
};

struct net_tls_transport {
    struct net_transport base;
    struct loop *loop;
    struct net_socket_options options;
    struct net_tls_context client;
    struct net_tls_context server;
    bool joiner;
    uint32_t roles_accepted;
    uint32_t roles_dialled;
    struct pki_identity identity;
    char *crl_path;
    struct stat crl_seen; /* The file that crl_rc is about; all zero: none. */
    enum err crl_rc;      /* What became of it. */
    struct loop_timer crl_timer;
    struct list streams; /* Opened ones, to end those that are revoked. */
};

struct net_tls {
    struct net_stream base;
    struct net_tls_transport *transport;
    struct list link;
    struct net_dialer *dialer;
    bool server;
    bool open;
    bool finishing; /* Say good-bye once nothing is staged. */
    int fd;
    int wanted; /* By our owner. */
    struct loop_poll *poll;
    struct loop_task fail;   /* Says FAILED from the loop. */
    struct loop_task unread; /* Says READABLE for what OpenSSL has taken off the socket already. */
    SSL *ssl;
    uint32_t stage_start; /* What is staged but not yet taken by OpenSSL. */
    uint32_t stage_end;
    uint8_t stage[NET_TLS_STAGE_BYTES];
};

struct net_tls_listen {
    struct net_listener base;
    struct net_tls_transport *transport;
    struct net_accept accept;
    struct net_listener *acceptor;
};

static void net_tls_destroy(struct net_stream *s, bool abort)
{
    struct net_tls *t = (struct net_tls *)s;

    list_remove(&t->link);
    net_dialer_cancel(t->dialer);
    loop_task_cancel(&t->fail);
    loop_task_cancel(&t->unread);
    loop_poll_destroy(t->poll);
    if (t->open && !abort) {
        (void)SSL_shutdown(t->ssl);
        ERR_clear_error();
    }
    SSL_free(t->ssl);
    if (t->fd >= 0) {
        net_socket_close(t->fd, abort);
    }
    mem_free(t);
}

static void net_tls_say_failed(struct loop_task *task, void *user)
{
    struct net_tls *t = user;

    (void)task;
    t->base.event(&t->base, NET_STREAM_FAILED, t->base.user);
}

static void net_tls_say_unread(struct loop_task *task, void *user)
{
    struct net_tls *t = user;

    (void)task;
    if ((t->wanted & NET_STREAM_READABLE) && t->base.failure == OK) {
        t->base.event(&t->base, NET_STREAM_READABLE, t->base.user);
    }
}

/* Remember why, and tell the owner from the loop. */
static void net_tls_fail(struct net_tls *t, enum err rc)
{
    t->base.failure = rc;
    if (t->poll != NULL) {
        loop_poll_want(t->poll, 0);
    }
    loop_task_post(&t->fail);
}

/* Watch for what the owner wants, and for room while something is staged. */
static void net_tls_watch(struct net_tls *t)
{
    int events = 0;

    if (!t->open) {
        return;
    }
    if (t->wanted & NET_STREAM_READABLE) {
        events |= LOOP_READABLE;
    }
    if ((t->wanted & NET_STREAM_WRITABLE) || t->stage_start < t->stage_end) {
        events |= LOOP_WRITABLE;
    }
    loop_poll_want(t->poll, events);
}

/* What OpenSSL's last answer means for the stream. */
static enum err net_tls_judge(struct net_tls *t, int status)
{
    switch (SSL_get_error(t->ssl, status)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return ERR_AGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return ERR_CLOSED;
    case SSL_ERROR_SYSCALL:
        ERR_clear_error();
        return ERR_CLOSED;
    default:
        net_tls_why(t->ssl, &t->base.why);
        return ERR_TLS;
    }
}

/* The last words. If there is no room for them, the end of the connection has to do. */
static void net_tls_say_finished(struct net_tls *t)
{
    t->finishing = false;
    (void)SSL_shutdown(t->ssl);
    ERR_clear_error();
    net_socket_finish(t->fd);
}

/* Give the staged bytes to OpenSSL. */
static enum err net_tls_flush(struct net_tls *t)
{
    while (t->stage_start < t->stage_end) {
        size_t done = 0;
        int status =
            SSL_write_ex(t->ssl, t->stage + t->stage_start, t->stage_end - t->stage_start, &done);

        if (status != 1) {
            return net_tls_judge(t, status);
        }
        t->stage_start += (uint32_t)done;
    }
    t->stage_start = t->stage_end = 0;
    if (t->finishing) {
        net_tls_say_finished(t);
    }
    return OK;
}

/* Bytes are copied into a record first: OpenSSL wants the same bytes again after it could not send
 * them, but a control frame may have come to the front meanwhile. Small frames share a record. */
static enum err net_tls_write(struct net_stream *s, const struct iovec *iov, int count,
                              size_t *done_out)
{
    struct net_tls *t = (struct net_tls *)s;
    enum err rc = OK;
    size_t taken = 0;

    for (int i = 0; i < count && rc == OK; i++) {
        const uint8_t *bytes = iov[i].iov_base;
        size_t left = iov[i].iov_len;

        while (left > 0 && rc == OK) {
            size_t room = NET_TLS_STAGE_BYTES - t->stage_end;
            size_t n = left < room ? left : room;

            memcpy(t->stage + t->stage_end, bytes, n);
            t->stage_end += (uint32_t)n;
            bytes += n;
            left -= n;
            taken += n;
            if (t->stage_end == NET_TLS_STAGE_BYTES) {
                rc = net_tls_flush(t);
            }
        }
    }
    if (rc == OK) {
        rc = net_tls_flush(t);
    }
    net_tls_watch(t);
    if (rc != OK && rc != ERR_AGAIN) {
        return rc;
    }
    if (taken == 0) {
        return ERR_AGAIN;
    }
    *done_out = taken;
    return OK;
}

static enum err net_tls_read(struct net_stream *s, const struct iovec *iov, int count,
                             size_t *done_out)
{
    struct net_tls *t = (struct net_tls *)s;
    size_t total = 0;

    for (int i = 0; i < count; i++) {
        size_t filled = 0;

        while (filled < iov[i].iov_len) {
            size_t n = 0;
            int status = SSL_read_ex(t->ssl, (uint8_t *)iov[i].iov_base + filled,
                                     iov[i].iov_len - filled, &n);

            if (status != 1) {
                enum err rc = net_tls_judge(t, status);

                if (total > 0) {
                    *done_out = total; /* An error will come back on the next call. */
                    return OK;
                }
                return rc;
            }
            filled += n;
            total += n;
        }
    }
    *done_out = total;
    return OK;
}

static void net_tls_want(struct net_stream *s, int events)
{
    struct net_tls *t = (struct net_tls *)s;

    /* The end of the handshake may have brought the first bytes with it: the socket will not
     * announce them again. */
    if ((events & ~t->wanted & NET_STREAM_READABLE) && t->open && SSL_has_pending(t->ssl)) {
        loop_task_post(&t->unread);
    }
    t->wanted = events;
    net_tls_watch(t);
}

static void net_tls_info(struct net_stream *s, struct net_stream_info *out)
{
    struct net_tls *t = (struct net_tls *)s;

    *out = (struct net_stream_info){0};
    if (t->fd >= 0) {
        net_socket_info(t->fd, out);
    }
    if (t->open) {
        out->ktls = BIO_get_ktls_send(SSL_get_wbio(t->ssl)) != 0;
    }
}

static void net_tls_finish(struct net_stream *s)
{
    struct net_tls *t = (struct net_tls *)s;

    t->finishing = true;
    if (t->stage_start == t->stage_end) {
        net_tls_say_finished(t);
    }
}

static enum err net_tls_pace(struct net_stream *s, uint64_t bytes_per_s)
{
    return net_socket_pace(((struct net_tls *)s)->fd, bytes_per_s);
}

static const struct net_stream_ops net_tls_ops = {
    .write = net_tls_write,
    .read = net_tls_read,
    .want = net_tls_want,
    .info = net_tls_info,
    .finish = net_tls_finish,
    .pace = net_tls_pace,
    .destroy = net_tls_destroy,
};

bool net_tls_describe(const struct net_stream *s, const char **version_out, const char **cipher_out)
{
    const struct net_tls *t = (const struct net_tls *)s;

    if (s->ops != &net_tls_ops || !t->open) {
        return false;
    }
    *version_out = SSL_get_version(t->ssl);
    *cipher_out = SSL_get_cipher_name(t->ssl);
    return true;
}

/* The handshake is done and the chain is good: is it somebody we want? */
static enum err net_tls_identify(struct net_tls *t)
{
    struct net_tls_transport *transport = t->transport;
    uint32_t wanted = t->server ? transport->roles_accepted : transport->roles_dialled;
    X509 *cert = SSL_get0_peer_certificate(t->ssl);
    const unsigned char *alpn;
    unsigned int alpn_size;
    enum err rc;

    SSL_get0_alpn_selected(t->ssl, &alpn, &alpn_size);
    if (alpn_size == strlen(NET_TLS_ALPN_JOIN) && memcmp(alpn, NET_TLS_ALPN_JOIN, alpn_size) == 0) {
        return OK; /* Unauthenticated, for enrolment only. */
    }
    if (alpn_size == 0 || cert == NULL) {
        return err_text_set(&t->base.why, ERR_TLS, "the other end does not speak %s",
                            NET_TLS_ALPN_MEMBER);
    }
    rc = pki_identity_from_cert(cert, &t->base.identity, &t->base.why);
    if (rc != OK) {
        return ERR_TLS;
    }
    if ((t->base.identity.role & wanted) == 0) {
        return err_text_set(&t->base.why, ERR_REFUSED, "a %s is not wanted here",
                            wire_role_name(t->base.identity.role));
    }
    /* A list that came in the middle of the handshake ended only those that were open. */
    if (net_tls_context_revoked(&transport->server, cert)) {
        return err_text_set(&t->base.why, ERR_REFUSED, "its certificate was revoked");
    }
    t->base.authenticated = true;
    return OK;
}

static void net_tls_handshake(struct net_tls *t)
{
    int status = SSL_do_handshake(t->ssl);
    enum err rc;

    if (status != 1) {
        rc = net_tls_judge(t, status);
        if (rc == ERR_AGAIN) {
            loop_poll_want(t->poll, SSL_want_write(t->ssl) ? LOOP_WRITABLE : LOOP_READABLE);
            return;
        }
        if (t->base.why.text[0] == '\0') {
            net_tls_why(t->ssl, &t->base.why);
        }
        net_tls_fail(t, rc == ERR_CLOSED ? ERR_CLOSED : ERR_TLS);
        return;
    }
    rc = net_tls_identify(t);
    if (rc != OK) {
        net_tls_fail(t, rc);
        return;
    }
    t->open = true;
    list_push_back(&t->transport->streams, &t->link);
    net_tls_watch(t);
    t->base.event(&t->base, NET_STREAM_OPENED, t->base.user);
}

static void net_tls_ready(int events, void *user)
{
    struct net_tls *t = user;
    int happened = 0;

    if (!t->open) {
        net_tls_handshake(t);
        return;
    }
    if ((events & LOOP_WRITABLE) && t->stage_start < t->stage_end) {
        enum err rc = net_tls_flush(t);

        if (rc != OK && rc != ERR_AGAIN) {
            net_tls_fail(t, rc);
            return;
        }
        net_tls_watch(t);
        if (rc == ERR_AGAIN) {
            events &= ~LOOP_WRITABLE;
        }
    }
    if ((events & LOOP_READABLE) && (t->wanted & NET_STREAM_READABLE)) {
        happened |= NET_STREAM_READABLE;
    }
    if ((events & LOOP_WRITABLE) && (t->wanted & NET_STREAM_WRITABLE)) {
        happened |= NET_STREAM_WRITABLE;
    }
    if (happened != 0) {
        t->base.event(&t->base, happened, t->base.user);
    }
}

static enum err net_tls_create(struct net_tls_transport *transport, bool server,
                               struct net_tls **out)
{
    struct net_tls *t = mem_zalloc(sizeof(*t));

    if (t == NULL) {
        return ERR_NOMEM;
    }
    t->base.ops = &net_tls_ops;
    t->transport = transport;
    t->server = server;
    t->fd = -1;
    list_init(&t->link);
    loop_task_init(&t->fail, transport->loop, net_tls_say_failed, t);
    loop_task_init(&t->unread, transport->loop, net_tls_say_unread, t);
    *out = t;
    return OK;
}

/* Take over a connected descriptor and start the handshake. */
static enum err net_tls_begin(struct net_tls *t, int fd)
{
    struct net_tls_context *c = t->server ? &t->transport->server : &t->transport->client;
    enum err rc;

    t->fd = fd;
    rc = loop_poll_create(t->transport->loop, fd, net_tls_ready, t, &t->poll);
    if (rc == OK) {
        rc = net_tls_context_session(c, t->server, fd, &t->ssl);
    }
    if (rc == OK) {
        loop_poll_want(t->poll, t->server ? LOOP_READABLE : LOOP_WRITABLE);
    }
    return rc;
}

static void net_tls_dialled(enum err rc, int fd, const char *why, void *user)
{
    struct net_tls *t = user;

    t->dialer = NULL;
    if (rc == OK) {
        rc = net_tls_begin(t, fd);
    } else {
        (void)err_text_set(&t->base.why, rc, "%s", why);
    }
    if (rc != OK) {
        net_tls_fail(t, rc);
    }
}

static enum err net_tls_dial(struct net_transport *base, const struct net_address *to,
                             struct net_stream **stream_out)
{
    struct net_tls_transport *transport = (struct net_tls_transport *)base;
    struct net_tls *t;
    enum err rc;

    if (to->scheme != NET_SCHEME_TLS) {
        return ERR_INVALID;
    }
    rc = net_tls_create(transport, false, &t);
    if (rc != OK) {
        return rc;
    }
    rc = net_dialer_start(transport->loop, to, &transport->options, net_tls_dialled, t, &t->dialer);
    if (rc != OK) {
        mem_free(t);
        return rc;
    }
    *stream_out = &t->base;
    return OK;
}

static bool net_tls_admit(const struct net_source *source, void *user)
{
    struct net_tls_listen *l = user;

    return l->accept.admit == NULL || l->accept.admit(source, l->accept.user);
}

static void net_tls_accepted(int fd, const struct net_source *source, void *user)
{
    struct net_tls_listen *l = user;
    struct net_tls *t;

    if (net_tls_create(l->transport, true, &t) != OK) {
        net_socket_close(fd, true);
        l->accept.accepted(NULL, source, l->accept.user);
        return;
    }
    if (net_tls_begin(t, fd) != OK) {
        net_tls_destroy(&t->base, true);
        l->accept.accepted(NULL, source, l->accept.user);
        return;
    }
    l->accept.accepted(&t->base, source, l->accept.user);
}

static void net_tls_unlisten(struct net_listener *listener)
{
    struct net_tls_listen *l = (struct net_tls_listen *)listener;

    l->acceptor->ops->destroy(l->acceptor);
    mem_free(l);
}

static const struct net_listener_ops net_tls_listener_ops = {.destroy = net_tls_unlisten};

static enum err net_tls_listen(struct net_transport *base, const struct net_address *at,
                               const struct net_accept *accept, struct net_listener **listener_out,
                               struct err_text *text)
{
    struct net_tls_transport *transport = (struct net_tls_transport *)base;
    struct net_tls_listen *l;
    enum err rc;

    if (at->scheme != NET_SCHEME_TLS || transport->joiner) {
        return err_text_set(text, ERR_INVALID, "this transport cannot listen on %s",
                            net_scheme_name(at->scheme));
    }
    l = mem_zalloc(sizeof(*l));
    if (l == NULL) {
        return ERR_NOMEM;
    }
    l->transport = transport;
    l->accept = *accept;
    rc = net_acceptor_create(transport->loop, at, &transport->options, net_tls_admit,
                             net_tls_accepted, l, &l->acceptor, text);
    if (rc != OK) {
        mem_free(l);
        return rc;
    }
    l->base = (struct net_listener){&net_tls_listener_ops, l->acceptor->address};
    *listener_out = &l->base;
    return OK;
}

static const struct net_transport_ops net_tls_transport_ops = {
    .dial = net_tls_dial,
    .listen = net_tls_listen,
};

/* End live connections whose certificate the new list names. */
static void net_tls_end_revoked(struct net_tls_transport *t)
{
    LIST_FOREACH (link, &t->streams) {
        struct net_tls *s = LIST_ENTRY(link, struct net_tls, link);
        X509 *cert = SSL_get0_peer_certificate(s->ssl);

        if (s->base.failure == OK && cert != NULL && net_tls_context_revoked(&t->server, cert)) {
            (void)err_text_set(&s->base.why, ERR_REFUSED, "its certificate was revoked");
            net_tls_fail(s, ERR_REFUSED);
        }
    }
}

/* Put the list of the file in force, unless that would go back to an older one. */
static enum err net_tls_take_crl(struct net_tls_transport *t, struct err_text *text)
{
    X509_CRL *crl = NULL;
    enum err rc = pki_crl_read(t->crl_path, t->server.ca, &crl, text);
    enum err other;

    if (rc != OK) {
        return rc;
    }
    if (t->server.crl != NULL && pki_crl_is_older(crl, t->server.crl)) {
        X509_CRL_free(crl);
        return err_text_set(text, ERR_REFUSED,
                            "%s is older than the list in force: copy the newest one from the "
                            "authority",
                            t->crl_path);
    }
    (void)X509_CRL_up_ref(crl);
    rc = net_tls_context_set_crl(&t->client, crl);
    other = net_tls_context_set_crl(&t->server, crl);
    return rc == OK ? other : rc;
}

/* True if another attempt gives the same result until the file changes. */
static bool net_tls_crl_settled(enum err rc)
{
    return rc == OK || rc == ERR_NOT_FOUND || rc == ERR_MALFORMED || rc == ERR_REFUSED;
}

/* Read the list if the file is another one than the last time; false if there is nothing new. Looks
 * at the file before it reads: a change in between is seen by the next call. */
static bool net_tls_look_for_crl(struct net_tls_transport *t, struct err_text *text)
{
    struct stat now = {0};
    enum err rc = t->crl_rc;
    bool same;

    (void)stat(t->crl_path, &now); /* Why it failed, reading says. */
    same = now.st_ino == t->crl_seen.st_ino && now.st_size == t->crl_seen.st_size &&
           now.st_mtim.tv_sec == t->crl_seen.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == t->crl_seen.st_mtim.tv_nsec;
    if (same && net_tls_crl_settled(rc)) {
        return false;
    }
    t->crl_seen = now;
    t->crl_rc = net_tls_take_crl(t, text);
    return !same || t->crl_rc != rc;
}

static void net_tls_check_crl(struct loop_timer *timer, void *user)
{
    struct net_tls_transport *t = user;
    struct err_text text = {0};

    loop_timer_start_in(timer, (int64_t)NET_TLS_CRL_CHECK_MS * 1000000);
    if (!net_tls_look_for_crl(t, &text)) {
        return;
    }
    if (t->crl_rc == OK) {
        LOG_INF("net", "revocation list %s read", t->crl_path);
        net_tls_end_revoked(t);
    } else if (t->server.crl != NULL) {
        LOG_ERR("net", "revocation list not re-read, the one in force stays: %s", text.text);
    } else {
        LOG_ERR("net", "revocation list not read, none is in force: %s", text.text);
    }
}

/* A list may be missing for now; one that is there must be good. */
static enum err net_tls_start_crl(struct net_tls_transport *t, const char *path,
                                  struct err_text *text)
{
    enum err rc;

    t->crl_path = mem_strdup(path);
    rc = t->crl_path == NULL ? ERR_NOMEM
                             : loop_timer_init(&t->crl_timer, t->loop, net_tls_check_crl, t);
    if (rc != OK) {
        return rc;
    }
    loop_timer_start_in(&t->crl_timer, (int64_t)NET_TLS_CRL_CHECK_MS * 1000000);
    t->crl_rc = ERR_NOT_FOUND;
    return net_tls_look_for_crl(t, text) && t->crl_rc != ERR_NOT_FOUND ? t->crl_rc : OK;
}

static enum err net_tls_own_identity(struct net_tls_transport *t, const char *path,
                                     struct err_text *text)
{
    X509 *cert = NULL;
    enum err rc = pki_cert_read(path, &cert, text);

    if (rc == OK) {
        rc = pki_identity_from_cert(cert, &t->identity, text);
    }
    X509_free(cert);
    return rc;
}

static struct net_tls_transport *net_tls_transport_alloc(struct loop *loop)
{
    struct net_tls_transport *t = mem_zalloc(sizeof(*t));

    if (t != NULL) {
        t->base.ops = &net_tls_transport_ops;
        t->loop = loop;
        list_init(&t->streams);
    }
    return t;
}

enum err net_tls_transport_create(struct loop *loop, const struct net_tls_config *config,
                                  struct net_tls_transport **transport_out, struct err_text *text)
{
    struct net_tls_transport *t = net_tls_transport_alloc(loop);
    enum err rc;

    if (t == NULL) {
        return ERR_NOMEM;
    }
    t->options = config->options;
    t->roles_accepted = config->roles_accepted;
    t->roles_dialled = config->roles_dialled;
    rc = net_tls_context_init(&t->client, config, false, text);
    if (rc == OK) {
        rc = net_tls_context_init(&t->server, config, true, text);
    }
    if (rc == OK) {
        rc = net_tls_own_identity(t, config->cert_path, text);
    }
    if (rc == OK && config->crl_path != NULL) {
        rc = net_tls_start_crl(t, config->crl_path, text);
    }
    if (rc != OK) {
        net_tls_transport_destroy(t);
        return rc;
    }
    *transport_out = t;
    return OK;
}

enum err net_tls_joiner_create(struct loop *loop, const struct net_tls_joiner_config *config,
                               struct net_tls_transport **transport_out, struct err_text *text)
{
    struct net_tls_transport *t = net_tls_transport_alloc(loop);
    enum err rc;

    if (t == NULL) {
        return ERR_NOMEM;
    }
    t->joiner = true;
    rc = net_tls_context_init_joiner(&t->client, config, text);
    if (rc != OK) {
        net_tls_transport_destroy(t);
        return rc;
    }
    *transport_out = t;
    return OK;
}

void net_tls_transport_destroy(struct net_tls_transport *t)
{
    if (t == NULL) {
        return;
    }
    CHECK(list_empty(&t->streams));
    loop_timer_deinit(&t->crl_timer);
    net_tls_context_deinit(&t->client);
    net_tls_context_deinit(&t->server);
    mem_free(t->crl_path);
    mem_free(t);
}

struct net_transport *net_tls_transport_base(struct net_tls_transport *t)
{
    return &t->base;
}

const struct pki_identity *net_tls_identity(const struct net_tls_transport *t)
{
    return &t->identity;
}
