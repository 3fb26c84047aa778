/* Enrolment: how a stranger with a one-time token gets its certificate over the network.
 *
 *     joiner                                        an endpoint beside the authority's folder
 *     dial; TLS "strait-join/1", no certificate  -> shows its certificate and the authority's
 *     compare the authority with the token's pin
 *     enroll: token, wanted name, request        -> redeem the token, sign the request
 *     check, write NAME.crt NAME.key ca.crt      <- enrolled: both certificates, or why not; close
 *
 * In the frame the token is its id (PKI_TOKEN_ID_CHARS characters) and its secret. The joiner's key
 * never leaves the joiner. The server's side is in enrol.c, the joiner's in enrol_join.c. Both
 * belong to one loop and work on files from inside its callbacks: they block it for as long as a
 * few small writes take to reach the disk, the server's also while another process holds the lock
 * of the authority. That is right for a program that does nothing else; a server that trains
 * should enrol on a lane of its own. */

#ifndef NET_PKI_ENROL_H
#define NET_PKI_ENROL_H

#include "net/address.h"
#include "net/pki/token.h"

struct buf_pool;
struct loop;
struct net_conn;
struct net_frame;
struct obs_registry;

/* The server's side. */

enum { NET_ENROL_PATH_BYTES = 1024 };

/* What became of one request. Valid for the call. */
struct net_enrolment {
    enum pki_token_reason reason; /* PKI_TOKEN_GOOD: granted. */
    struct pki_identity identity; /* Granted: who it is now. */
    char serial[PKI_SERIAL_TEXT_BYTES];
    int64_t not_after_s;
    const char *text; /* Refused: why. For the operator; the stranger is told less. */
};

struct net_enroller_config {
    struct pki_ca *ca; /* Borrowed, like the pool: both outlive the enroller. */
    struct buf_pool *pool;
    int64_t (*wall_us)(void *user); /* UTC, microseconds since 1970. */
    /* A request was answered; the answer is queued on @conn. May be NULL. */
    void (*answered)(struct net_conn *conn, const struct net_enrolment *enrolment, void *user);
    void *user;
};

/* Fields are private to net/pki/enrol.c. */
struct net_enroller {
    struct net_enroller_config config;
    struct pki_pem ca; /* The authority's certificate, as it is handed out. */
};

/* There is nothing to release. */
MUST_USE enum err net_enroller_init(struct net_enroller *e,
                                    const struct net_enroller_config *config,
                                    struct err_text *text);

/* Deal with a stranger's WIRE_ENROLL: for net_endpoint_events.enrol. Answers and closes softly;
 * nothing more is read from the connection. A frame that makes no sense gets no answer. */
MUST_USE enum err net_enroller_frame(struct net_enroller *e, struct net_conn *conn,
                                     const struct net_frame *frame);

/* With what the server itself serves TLS. */
struct net_enrol_files {
    char cert[NET_ENROL_PATH_BYTES];
    char key[NET_ENROL_PATH_BYTES];
    char ca[NET_ENROL_PATH_BYTES];
};

/* Find the certificate of server/ca/enrol in the folder "enrol" of the authority's. A new one is
 * issued if there is none, or none that is good for another month. */
MUST_USE enum err net_enrol_files_prepare(struct pki_ca *ca, int64_t now_s,
                                          struct net_enrol_files *out, struct err_text *text);

/* The joiner's side. */

struct net_joiner;

struct net_joiner_config {
    struct loop *loop;
    struct buf_pool *pool;
    struct obs_registry *registry;
    const char *token; /* Its text. This and the texts below are borrowed for the call. */
    struct net_address address;
    const char *name; /* The wanted name; NULL or empty: the one in the token. */
    const char *dir;  /* Where the files go, as by pki_bundle_write(). */
    bool replace;
    int64_t timeout_ns;             /* For all of it; zero: the default of 15 s. */
    int64_t (*wall_us)(void *user); /* For validity; NULL: the system's clock. */
    /* Called once, from the loop. OK: the files are written. Otherwise nothing is, and @text says
     * why:
     *     ERR_REFUSED      the authority does not want us: the token is used, expired or unknown,
     *                      or not for that name;
     *     ERR_AGAIN        the authority cannot issue now; the token is still good;
     *     ERR_TLS          it is not the authority that the token names, or no authority at all;
     *     ERR_UNREACHABLE, ERR_TIMEOUT, ERR_CLOSED    nobody answers;
     *     ERR_EXISTS, ERR_IO, ERR_FULL    a file is in the way, or cannot be written;
     *     ERR_PEER         the answer makes no sense, or is not for our key. */
    void (*done)(enum err rc, const char *text, void *user);
    void *user;
};

/* Make a key and a request and start to dial. ERR_INVALID if the token or the name is malformed or
 * the address is not tls. What stands in the way in the folder is found here, before the token is
 * spent, as far as the name is known: ERR_EXISTS, ERR_IO. */
MUST_USE enum err net_joiner_create(const struct net_joiner_config *config,
                                    struct net_joiner **joiner_out, struct err_text *text);

/* Give up if it is not done: nothing is called. The key is wiped. Not from inside done(). NULL is
 * allowed. */
void net_joiner_destroy(struct net_joiner *j);

/* Who we are now; valid after done() with OK. */
const struct pki_identity *net_joiner_identity(const struct net_joiner *j);

#endif
