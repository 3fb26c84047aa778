/* Enrolment over loopback: a real endpoint beside a real authority, and joiners with every kind of
 * token; then servers that hang up, keep silent or lie. */

#include "net/pki/enrol.h"

#include "base/buf.h"
#include "base/mem.h"
#include "loop/clock.h"
#include "loop/loop.h"
#include "net/counters.h"
#include "net/pki/testing.h"
#include "net/session/endpoint.h"
#include "net/stream/tls.h"
#include "obs/metric.h"
#include "wire/control.h"
#include "wire/hello.h"

#define MS INT64_C(1000000)

enum { POOL_BYTES = 16 << 20, SERIES_MAX = 128, OUTCOMES_MAX = 8 };

/* What the server does with a request. */
enum conduct { HONEST, BUSY, OTHER_KEY, OTHER_CA, NONSENSE };

struct world {
    struct testing *t;
    struct loop *loop;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_tls_transport *tls;
    struct net_endpoint *endpoint;
    struct net_enroller enroller;
    struct net_address address; /* Of the server. */
    enum conduct conduct;
    int64_t now_s;

    struct net_enrolment outcomes[OUTCOMES_MAX]; /* As the server was told. */
    int outcomes_count;

    struct net_joiner *joiner;
    bool done;
    enum err rc;
    char text[ERR_TEXT_BYTES];
};

/* The server. */

static int64_t world_wall_us(void *user)
{
    return ((struct world *)user)->now_s * 1000000;
}

static void world_answered(struct net_conn *conn, const struct net_enrolment *enrolment, void *user)
{
    struct world *w = user;

    assert_non_null(net_conn_stream(conn));
    assert_true(w->outcomes_count < OUTCOMES_MAX);
    w->outcomes[w->outcomes_count++] = *enrolment;
}

/* An answer as only a broken or a wicked server gives it. */
static enum err world_lie(struct world *w, struct net_conn *conn)
{
    struct pki_order order = testing_order("worker/eu/w1");
    struct wire_enrolled enrolled = {.code = 0};
    struct pki_bundle bundle;
    struct buf *frame;

    order.now_s = w->now_s;
    if (w->conduct == BUSY) {
        enrolled.code = WIRE_REFUSAL_BUSY;
        enrolled.text = "later";
        enrolled.text_bytes = 5;
    } else {
        OK_OR_TEXT(pki_ca_issue(w->t->ca, &order, &bundle, &w->t->text), w->t);
        enrolled.chain = (const uint8_t *)bundle.cert.chars;
        enrolled.chain_bytes = (uint32_t)bundle.cert.size;
        enrolled.authority = (const uint8_t *)bundle.ca.chars;
        enrolled.authority_bytes = (uint32_t)bundle.ca.size;
        if (w->conduct == OTHER_CA) {
            enrolled.authority = enrolled.chain;
            enrolled.authority_bytes = enrolled.chain_bytes;
        }
        if (w->conduct == NONSENSE) {
            enrolled.chain_bytes = 1;
        }
    }
    assert_int_equal(wire_enrolled_encode(w->pool, &enrolled, &frame), OK);
    assert_int_equal(net_conn_send_sealed(conn, NET_CONTROL, frame), OK);
    net_conn_close_soft(conn);
    return OK;
}

static enum err world_enrol(struct net_conn *conn, const struct net_source *source,
                            const struct net_frame *frame, void *user)
{
    struct world *w = user;

    (void)source;
    return w->conduct == HONEST ? net_enroller_frame(&w->enroller, conn, frame)
                                : world_lie(w, conn);
}

static enum err world_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    (void)peer;
    (void)frame;
    (void)user;
    return ERR_REFUSED;
}

static void world_up(struct net_peer *peer, bool restarted, void *user)
{
    (void)peer;
    (void)restarted;
    (void)user;
}

static void world_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    (void)peer;
    (void)why;
    (void)text;
    (void)user;
}

static const struct net_endpoint_events world_events = {
    .up = world_up, .frame = world_frame, .lost = world_lost, .enrol = world_enrol};

static void world_listen(struct world *w, const struct net_enrol_files *files);

static void world_serve(struct world *w)
{
    struct net_enroller_config enroller = {.ca = w->t->ca,
                                           .pool = w->pool,
                                           .wall_us = world_wall_us,
                                           .answered = world_answered,
                                           .user = w};
    struct net_enrol_files files;

    OK_OR_TEXT(net_enrol_files_prepare(w->t->ca, NOW_S, &files, &w->t->text), w->t);
    OK_OR_TEXT(net_enroller_init(&w->enroller, &enroller, &w->t->text), w->t);
    world_listen(w, &files);
}

static void world_listen(struct world *w, const struct net_enrol_files *files)
{
    struct net_tls_config tls = {
        .cert_path = files->cert, .key_path = files->key, .ca_path = files->ca, .enrol = true};
    struct net_endpoint_config config = {.loop = w->loop,
                                         .pool = w->pool,
                                         .registry = w->registry,
                                         .incarnation = 1,
                                         .events = &world_events,
                                         .user = w};
    struct net_address at;

    OK_OR_TEXT(net_tls_transport_create(w->loop, &tls, &w->tls, &w->t->text), w->t);
    config.identity = *net_tls_identity(w->tls);
    OK_OR_TEXT(net_endpoint_create(&config, &w->endpoint), w->t);
    OK_OR_TEXT(net_address_parse("tls://127.0.0.1:0", &at, &w->t->text), w->t);
    OK_OR_TEXT(net_endpoint_listen(w->endpoint, net_tls_transport_base(w->tls), &at, &w->address,
                                   &w->t->text),
               w->t);
}

static int world_setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_int_equal(testing_setup((void **)&w->t), 0);
    w->now_s = NOW_S + 60;
    assert_int_equal(loop_create(&w->loop), OK);
    assert_int_equal(buf_pool_create(POOL_BYTES, &w->pool), OK);
    assert_int_equal(obs_registry_create(SERIES_MAX, &w->registry), OK);
    world_serve(w);
    *state = w;
    return 0;
}

static void world_stop(struct world *w)
{
    net_endpoint_destroy(w->endpoint);
    net_tls_transport_destroy(w->tls);
    w->endpoint = NULL;
    w->tls = NULL;
}

static int world_teardown(void **state)
{
    struct world *w = *state;
    void *t = w->t;

    net_joiner_destroy(w->joiner);
    world_stop(w);
    obs_registry_destroy(w->registry);
    loop_destroy(w->loop);
    buf_pool_destroy(w->pool);
    free(w);
    return testing_teardown(&t);
}

/* The joiner. */

static void world_done(enum err rc, const char *text, void *user)
{
    struct world *w = user;

    assert_false(w->done);
    w->done = true;
    w->rc = rc;
    (void)snprintf(w->text, sizeof(w->text), "%s", text);
}

/* Make a token for @identity. */
static void world_token(struct world *w, const char *identity, char *out)
{
    struct pki_token_grant grant = {.now_s = NOW_S};
    size_t size = strlen(identity);
    bool any = identity[size - 1] == '*';
    char named[128];

    (void)snprintf(named, sizeof(named), "%.*s%s", (int)size - any, identity, any ? "x" : "");
    grant.identity = testing_order(named).identity;
    if (any) {
        (void)snprintf(grant.identity.name, sizeof(grant.identity.name), "*");
    }
    OK_OR_TEXT(pki_token_create(w->t->ca, &grant, out, &w->t->text), w->t);
}

static struct net_joiner_config world_config(struct world *w, const char *token)
{
    return (struct net_joiner_config){.loop = w->loop,
                                      .pool = w->pool,
                                      .registry = w->registry,
                                      .token = token,
                                      .address = w->address,
                                      .dir = testing_path(w->t, "certs"),
                                      .wall_us = world_wall_us,
                                      .done = world_done,
                                      .user = w};
}

/* Run until @condition holds; fails the test if that takes a minute. */
#define UNTIL(w, condition)                                                                        \
    for (int64_t until_ns = clock_mono_ns() + 60000 * MS; !(condition);) {                         \
        assert_true(clock_mono_ns() < until_ns);                                                   \
        loop_turn((w)->loop, 10 * MS);                                                             \
    }

static enum err world_join(struct world *w, const struct net_joiner_config *config)
{
    net_joiner_destroy(w->joiner);
    w->joiner = NULL;
    w->done = false;
    OK_OR_TEXT(net_joiner_create(config, &w->joiner, &w->t->text), w->t);
    UNTIL(w, w->done);
    return w->rc;
}

static void refused(struct world *w, const char *token, const char *name, const char *text)
{
    struct net_joiner_config config = world_config(w, token);

    config.name = name;
    assert_int_equal(world_join(w, &config), ERR_REFUSED);
    assert_string_equal(w->text, text);
    assert_int_equal(access(testing_path(w->t, "certs/ca.crt"), F_OK), -1);
}

static const struct net_enrolment *last(const struct world *w)
{
    return &w->outcomes[w->outcomes_count - 1];
}

static void test_a_token_gets_a_certificate(void **state)
{
    struct world *w = *state;
    char token[PKI_TOKEN_TEXT_BYTES] = "";
    struct net_joiner_config config = world_config(w, token);
    struct pki_description d;
    X509 *cert;

    world_token(w, "worker/eu/w1", token);
    assert_int_equal(world_join(w, &config), OK);
    assert_string_equal(w->text, "");
    assert_string_equal(net_joiner_identity(w->joiner)->name, "w1");
    OK_OR_TEXT(pki_cert_read(testing_path(w->t, "certs/w1.crt"), &cert, &w->t->text), w->t);
    assert_int_equal(
        testing_verify(cert, pki_ca_cert(w->t->ca), NULL, w->now_s, X509_PURPOSE_SSL_CLIENT),
        X509_V_OK);
    OK_OR_TEXT(pki_cert_describe(cert, &d, &w->t->text), w->t);
    X509_free(cert);
    assert_int_equal(testing_mode(testing_path(w->t, "certs/w1.key")), 0600);
    assert_int_equal(w->outcomes_count, 1);
    assert_int_equal(last(w)->reason, PKI_TOKEN_GOOD);
    assert_true(pki_identity_equal(&last(w)->identity, &d.identity));
    assert_string_equal(last(w)->serial, d.serial);
    assert_int_equal(last(w)->not_after_s, d.not_after_s);
}

static void test_all_refusals_look_the_same(void **state)
{
    struct world *w = *state;
    char token[PKI_TOKEN_TEXT_BYTES] = "", wrong[PKI_TOKEN_TEXT_BYTES];
    struct net_joiner_config config = world_config(w, token);
    const char *answer = "the authority says: token refused";

    config.dir = testing_path(w->t, "first");
    world_token(w, "worker/eu/w1", token);
    memcpy(wrong, token, sizeof(wrong));
    wrong[17] = wrong[17] == 'a' ? 'b' : 'a'; /* In the secret. */
    refused(w, wrong, NULL, answer);
    assert_int_equal(last(w)->reason, PKI_TOKEN_SECRET);
    memcpy(wrong, token, sizeof(wrong));
    wrong[8] = wrong[8] == 'a' ? 'b' : 'a'; /* In the id. */
    refused(w, wrong, NULL, answer);
    assert_int_equal(last(w)->reason, PKI_TOKEN_UNKNOWN);
    w->now_s = NOW_S + PKI_TOKEN_LIFETIME_S;
    refused(w, token, NULL, answer);
    assert_int_equal(last(w)->reason, PKI_TOKEN_EXPIRED);
    w->now_s = NOW_S + PKI_TOKEN_LIFETIME_S - 1;
    assert_int_equal(world_join(w, &config), OK);
    refused(w, token, NULL, answer);
    assert_int_equal(last(w)->reason, PKI_TOKEN_USED);
}

static void test_names_are_the_authority_s_business(void **state)
{
    struct world *w = *state;
    char token[PKI_TOKEN_TEXT_BYTES] = "";
    struct net_joiner_config config = world_config(w, token);
    const char *answer = "the authority says: the token is not for that name, or the name is taken";

    config.dir = testing_path(w->t, "first");
    world_token(w, "worker/eu/w1", token);
    refused(w, token, "w2", answer);
    assert_int_equal(last(w)->reason, PKI_TOKEN_NAME);
    world_token(w, "worker/eu/*", token);
    refused(w, token, NULL, answer);
    config.name = "w3";
    assert_int_equal(world_join(w, &config), OK);
    assert_string_equal(net_joiner_identity(w->joiner)->name, "w3");
    world_token(w, "worker/eu/*", token);
    refused(w, token, "w3", answer);
}

static void test_another_authority_gets_no_secret(void **state)
{
    struct world *w = *state;
    char token[PKI_TOKEN_TEXT_BYTES] = "";
    struct net_joiner_config config = world_config(w, token);

    world_token(w, "worker/eu/w1", token);
    token[50] = token[50] == 'a' ? 'b' : 'a'; /* In the pin. */
    assert_int_equal(world_join(w, &config), ERR_TLS);
    assert_non_null(strstr(w->text, "certificate"));
    assert_int_equal(w->outcomes_count, 0);
}

/* A worker has a certificate of the right authority, but must not get tokens to redeem itself. */
static void test_a_worker_cannot_pose_as_the_authority(void **state)
{
    struct world *w = *state;
    char token[PKI_TOKEN_TEXT_BYTES] = "";
    struct net_joiner_config config;
    struct net_enrol_files files = {0};
    struct pki_order order = testing_order("worker/eu/mallory");

    order.now_s = NOW_S;
    world_stop(w);
    OK_OR_TEXT(pki_ca_issue_to(w->t->ca, &order, testing_path(w->t, "mallory"), false, &w->t->text),
               w->t);
    (void)snprintf(files.cert, sizeof(files.cert), "%s", testing_path(w->t, "mallory/mallory.crt"));
    (void)snprintf(files.key, sizeof(files.key), "%s", testing_path(w->t, "mallory/mallory.key"));
    (void)snprintf(files.ca, sizeof(files.ca), "%s", testing_path(w->t, "mallory/ca.crt"));
    world_listen(w, &files);
    config = world_config(w, token);
    world_token(w, "server/eu/s1", token);
    assert_int_equal(world_join(w, &config), ERR_TLS);
    assert_int_equal(w->outcomes_count, 0);
}

static void test_what_cannot_work_is_not_tried(void **state)
{
    struct world *w = *state;
    struct testing *t = w->t;
    char token[PKI_TOKEN_TEXT_BYTES] = "";
    struct net_joiner_config config = world_config(w, "strait1.hello");
    struct net_joiner *j = NULL;

    FAILS(net_joiner_create(&config, &j, &t->text), ERR_INVALID, t);
    world_token(w, "worker/eu/*", token);
    config.token = token;
    config.name = "a/b";
    FAILS(net_joiner_create(&config, &j, &t->text), ERR_INVALID, t);
    config.name = NULL;
    config.address.scheme = NET_SCHEME_TCP;
    FAILS(net_joiner_create(&config, &j, &t->text), ERR_INVALID, t);
    config.address.scheme = NET_SCHEME_TLS;
    config.dir = testing_path(t, "no/such/folder");
    FAILS(net_joiner_create(&config, &j, &t->text), ERR_NOT_FOUND, t);
    assert_null(j);
}

static void test_files_in_the_way_are_found_before_the_token_is_spent(void **state)
{
    struct world *w = *state;
    struct testing *t = w->t;
    char token[PKI_TOKEN_TEXT_BYTES] = "";
    struct net_joiner_config config = world_config(w, token);
    struct pki_order order = testing_order("worker/eu/w9");
    struct net_joiner *j = NULL;

    world_token(w, "worker/eu/*", token);
    config.name = "w1";
    assert_int_equal(mkdir(config.dir, 0700), 0);
    testing_write(testing_path(t, "certs/w1.key"), "x", 1);
    FAILS(net_joiner_create(&config, &j, &t->text), ERR_EXISTS, t);
    config.name = "w2";
    OK_OR_TEXT(pki_ca_create(testing_path(t, "other"), "other", NOW_S, 0, &t->text), t);
    config.dir = testing_path(t, "other");
    FAILS(net_joiner_create(&config, &j, &t->text), ERR_EXISTS, t);
    config.dir = testing_path(t, "same");
    OK_OR_TEXT(pki_ca_issue_to(t->ca, &order, config.dir, false, &t->text), t);
    assert_int_equal(world_join(w, &config), OK); /* The same authority is no obstacle. */
    world_token(w, "worker/eu/w2", token);
    config.name = NULL;
    assert_int_equal(world_join(w, &config), ERR_EXISTS);
    assert_non_null(strstr(w->text, "used up"));
    world_token(w, "worker/eu/w2", token);
    config.replace = true;
    assert_int_equal(world_join(w, &config), OK);
}

static void test_nobody_there(void **state)
{
    struct world *w = *state;
    char token[PKI_TOKEN_TEXT_BYTES] = "";
    struct net_joiner_config config = world_config(w, token);

    world_token(w, "worker/eu/w1", token);
    world_stop(w);
    assert_int_equal(world_join(w, &config), ERR_UNREACHABLE);
    assert_non_null(strstr(w->text, "tls://127.0.0.1:"));
}

struct visitors {
    struct net_stream *streams[4];
    int count;
    bool hang_up;
};

static void visitors_event(struct net_stream *s, int events, void *user)
{
    (void)s;
    (void)events;
    (void)user;
}

static bool visitors_admit(const struct net_source *source, void *user)
{
    (void)source;
    (void)user;
    return true;
}

static void visitors_accepted(struct net_stream *s, const struct net_source *source, void *user)
{
    struct visitors *v = user;

    (void)source;
    s->event = visitors_event;
    if (v->hang_up) {
        s->ops->destroy(s, true);
    } else {
        v->streams[v->count++] = s;
    }
}

static void test_a_server_that_is_silent_or_hangs_up(void **state)
{
    struct world *w = *state;
    char token[PKI_TOKEN_TEXT_BYTES] = "";
    struct net_joiner_config config = world_config(w, token);
    struct net_socket_options options = {.congestion = ""};
    struct visitors visitors = {.count = 0};
    struct net_accept accept = {visitors_admit, visitors_accepted, &visitors};
    struct net_address at = {.scheme = NET_SCHEME_TCP, .host = "127.0.0.1", .port = "0"};
    struct net_socket_transport plain;
    struct net_listener *listener;

    world_token(w, "worker/eu/w1", token);
    net_socket_transport_init(&plain, w->loop, &options);
    OK_OR_TEXT(plain.base.ops->listen(&plain.base, &at, &accept, &listener, &w->t->text), w->t);
    memcpy(config.address.port, listener->address.port, sizeof(config.address.port));
    config.timeout_ns = 50 * MS;
    assert_int_equal(world_join(w, &config), ERR_TIMEOUT);
    assert_non_null(strstr(w->text, "no answer within 50 ms"));
    config.timeout_ns = 0;
    visitors.hang_up = true;
    assert_int_equal(world_join(w, &config), ERR_CLOSED);
    listener->ops->destroy(listener);
    visitors.streams[0]->ops->destroy(visitors.streams[0], true);
}

static void lied_to(struct world *w, enum conduct conduct, enum err rc)
{
    char token[PKI_TOKEN_TEXT_BYTES] = "";
    struct net_joiner_config config = world_config(w, token);

    world_token(w, "worker/eu/w1", token);
    w->conduct = conduct;
    assert_int_equal(world_join(w, &config), rc);
    assert_true(w->text[0] != '\0');
    assert_int_equal(access(testing_path(w->t, "certs/w1.crt"), F_OK), -1);
    assert_int_equal(access(testing_path(w->t, "certs/ca.crt"), F_OK), -1);
}

static void test_a_server_that_lies_is_not_believed(void **state)
{
    struct world *w = *state;

    lied_to(w, BUSY, ERR_AGAIN);
    lied_to(w, OTHER_KEY, ERR_PEER);
    lied_to(w, OTHER_CA, ERR_TLS);
    lied_to(w, NONSENSE, ERR_PEER);
}

/* A stranger that writes its frames by hand. */
struct stranger {
    struct world *w;
    struct net_tls_transport *tls;
    struct net_counters counters;
    struct net_conn *conn;
    uint32_t token_bytes;
    int requests;
    int answers;
    bool closed;
};

static void stranger_opened(struct net_conn *conn, void *user)
{
    struct stranger *s = user;
    uint8_t token[WIRE_ENROLL_TOKEN_BYTES_MAX] = "aaaaaaaa";
    struct wire_enroll enroll = {.token = token,
                                 .token_bytes = s->token_bytes,
                                 .name = "",
                                 .request = (const uint8_t *)"x",
                                 .request_bytes = 1};
    struct buf *frame;

    for (int i = 0; i < s->requests; i++) {
        assert_int_equal(wire_enroll_encode(s->w->pool, &enroll, &frame), OK);
        assert_int_equal(net_conn_send_sealed(conn, NET_CONTROL, frame), OK);
    }
}

static enum err stranger_frame(struct net_conn *conn, const struct net_frame *frame, void *user)
{
    struct stranger *s = user;
    struct wire_enrolled enrolled;

    (void)conn;
    assert_int_equal(wire_enrolled_decode(frame->body, frame->header.body_bytes, &enrolled), OK);
    assert_int_equal(enrolled.code, WIRE_REFUSAL_TOKEN);
    assert_int_equal(enrolled.text_bytes, strlen("token refused"));
    assert_memory_equal(enrolled.text, "token refused", enrolled.text_bytes);
    s->answers++;
    return OK;
}

static void stranger_closed(struct net_conn *conn, enum err why, const char *text, void *user)
{
    (void)conn;
    (void)why;
    (void)text;
    ((struct stranger *)user)->closed = true;
}

static void stranger_run(struct world *w, uint32_t token_bytes, int requests)
{
    static const struct net_conn_events events = {
        .opened = stranger_opened, .frame = stranger_frame, .closed = stranger_closed};
    struct stranger s = {.w = w, .token_bytes = token_bytes, .requests = requests};
    struct net_conn_config config = {
        .loop = w->loop, .pool = w->pool, .counters = &s.counters, .events = &events, .user = &s};
    char text[PKI_TOKEN_TEXT_BYTES];
    struct pki_token token;
    struct net_stream *stream;
    struct net_transport *transport;
    int before = w->outcomes_count;
    struct net_tls_joiner_config joiner = {.wall_us = world_wall_us, .user = w};

    world_token(w, "worker/eu/w1", text);
    OK_OR_TEXT(pki_token_parse(text, &token, &w->t->text), w->t);
    joiner.pin = token.pin;
    OK_OR_TEXT(net_tls_joiner_create(w->loop, &joiner, &s.tls, &w->t->text), w->t);
    assert_int_equal(net_counters_init(&s.counters, w->registry), OK);
    transport = net_tls_transport_base(s.tls);
    assert_int_equal(transport->ops->dial(transport, &w->address, &stream), OK);
    assert_int_equal(net_conn_create(&config, stream, &s.conn), OK);
    UNTIL(w, s.closed);
    assert_int_equal(s.answers, 1);
    assert_int_equal(w->outcomes_count, before + 1);
    net_tls_transport_destroy(s.tls);
}

static void test_one_request_per_connection(void **state)
{
    struct world *w = *state;

    stranger_run(w, PKI_TOKEN_ID_CHARS + PKI_TOKEN_SECRET_BYTES, 5);
    assert_int_equal(last(w)->reason, PKI_TOKEN_UNKNOWN);
}

static void test_a_token_of_another_size_is_refused(void **state)
{
    struct world *w = *state;

    stranger_run(w, 1, 1);
    assert_int_equal(last(w)->reason, PKI_TOKEN_MALFORMED);
    stranger_run(w, WIRE_ENROLL_TOKEN_BYTES_MAX, 1);
    assert_int_equal(last(w)->reason, PKI_TOKEN_MALFORMED);
}

static void test_giving_up_is_possible_at_any_time(void **state)
{
    struct world *w = *state;
    char token[PKI_TOKEN_TEXT_BYTES] = "";
    struct net_joiner_config config = world_config(w, token);

    world_token(w, "worker/eu/w1", token);
    for (int turns = 0; turns < 8; turns++) {
        struct net_joiner *j;

        w->done = false;
        config.dir = testing_path(w->t, turns % 2 == 0 ? "even" : "odd");
        OK_OR_TEXT(net_joiner_create(&config, &j, &w->t->text), w->t);
        for (int i = 0; i < turns && !w->done; i++) {
            loop_turn(w->loop, 10 * MS);
        }
        net_joiner_destroy(j);
        if (w->outcomes_count > 0) {
            break; /* It got that far: the token is used. */
        }
    }
}

static void test_memory_may_end_at_any_time(void **state)
{
    struct world *w = *state;
    char token[PKI_TOKEN_TEXT_BYTES] = "";
    struct net_joiner_config config = world_config(w, token);
    struct net_joiner *j = NULL;
    enum err rc = ERR_NOMEM;

    world_token(w, "worker/eu/w1", token);
    for (uint64_t k = 1; rc != OK; k++) {
        assert_true(k < 1000);
        mem_fail_at(k, 1);
        rc = net_joiner_create(&config, &j, &w->t->text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
    }
    net_joiner_destroy(j);
}

static void test_the_server_s_own_certificate_is_kept_while_it_is_good(void **state)
{
    struct world *w = *state;
    struct testing *t = w->t;
    struct net_enrol_files files;
    uint32_t issued = testing_issued(t);
    uint32_t count;

    assert_int_equal(issued, 1);
    OK_OR_TEXT(net_enrol_files_prepare(t->ca, NOW_S + INT64_C(59) * DAY_S, &files, &t->text), t);
    assert_int_equal(testing_issued(t), issued);
    assert_int_equal(testing_mode(files.key), 0600);
    OK_OR_TEXT(net_enrol_files_prepare(t->ca, NOW_S + INT64_C(61) * DAY_S, &files, &t->text), t);
    assert_int_equal(testing_issued(t), issued + 1);
    OK_OR_TEXT(pki_ca_revoke_cert(t->ca, files.cert, NOW_S, &count, &t->text), t);
    OK_OR_TEXT(net_enrol_files_prepare(t->ca, NOW_S + INT64_C(61) * DAY_S, &files, &t->text), t);
    assert_int_equal(testing_issued(t), issued + 2);
    testing_write(files.key, "x", 1);
    OK_OR_TEXT(net_enrol_files_prepare(t->ca, NOW_S + INT64_C(61) * DAY_S, &files, &t->text), t);
    assert_int_equal(testing_issued(t), issued + 3);
    OK_OR_TEXT(net_enrol_files_prepare(t->ca, NOW_S + INT64_C(61) * DAY_S, &files, &t->text), t);
    assert_int_equal(testing_issued(t), issued + 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_token_gets_a_certificate),
        TEST(test_all_refusals_look_the_same),
        TEST(test_names_are_the_authority_s_business),
        TEST(test_another_authority_gets_no_secret),
        TEST(test_a_worker_cannot_pose_as_the_authority),
        TEST(test_what_cannot_work_is_not_tried),
        TEST(test_files_in_the_way_are_found_before_the_token_is_spent),
        TEST(test_nobody_there),
        TEST(test_a_server_that_is_silent_or_hangs_up),
        TEST(test_a_server_that_lies_is_not_believed),
        TEST(test_one_request_per_connection),
        TEST(test_a_token_of_another_size_is_refused),
        TEST(test_giving_up_is_possible_at_any_time),
        TEST(test_memory_may_end_at_any_time),
        TEST(test_the_server_s_own_certificate_is_kept_while_it_is_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
