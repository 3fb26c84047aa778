/* The certificate matrix: who must not get in does not, and both ends can say why. */

#include "suites.h"

#include "base/log.h"
#include "link.h"
#include "loop/clock.h"
#include "net/pki/ca.h"
#include "node.h"
#include "tls_client.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <unistd.h>

/* The server's end of an attempt: refused, with a text that holds @word. */
static void tls_refused(struct conf_link *server, const char *word)
{
    struct conf_world *w = server->side->world;

    conf_until(w, conf_link_closed, server, CONF_LIMIT_NS);
    assert_int_equal(server->opened, 0);
    assert_true(server->why == ERR_TLS || server->why == ERR_REFUSED);
    if (strstr(server->text.text, word) == NULL) {
        fail_msg("'%s' does not say '%s'", server->text.text, word);
    }
}

/* Dial b from a, whose transport is what it is; b refuses. */
static void tls_dial_refused(struct conf_world *w, const char *word)
{
    struct conf_pair pair;

    conf_pair_open(&pair, w);
    conf_link_dial(pair.a, &pair.door->listener->address);
    tls_refused(pair.b, word);
    conf_until(w, conf_link_closed, pair.a, CONF_LIMIT_NS);
    assert_true(pair.a->why == ERR_TLS || pair.a->why == ERR_CLOSED);
    assert_true(pair.a->text.text[0] != '\0');
}

static void tls_use_client(struct conf_world *w, const char *dir, const char *name)
{
    struct net_tls_config config = tls_config(dir, name);

    tls_use(&w->a, &config);
}

static void test_an_expired_certificate_is_refused(void **state)
{
    tls_issue("ca", "worker/eu/old", "old", 100, 30);
    tls_use_client(*state, "old", "old");
    tls_dial_refused(*state, "expired");
}

static void test_a_certificate_of_the_future_is_refused(void **state)
{
    tls_issue("ca", "worker/eu/soon", "soon", -10, 30);
    tls_use_client(*state, "soon", "soon");
    tls_dial_refused(*state, "not yet valid");
}

static void test_a_role_that_is_not_wanted_is_refused(void **state)
{
    tls_issue("ca", "operator/eu/op", "op", 0, 30);
    tls_use_client(*state, "op", "op");
    tls_dial_refused(*state, "operator");
}

static void test_a_server_that_is_none_is_not_trusted(void **state)
{
    struct conf_world *w = *state;
    struct net_tls_config config = tls_config("a", "a");
    struct conf_pair pair;

    tls_issue("ca", "worker/eu/fake", "fake", 0, 30);
    tls_use(&w->a, &config); /* Dials servers only. */
    config = tls_config("fake", "fake");
    tls_use(&w->b, &config);
    conf_pair_open(&pair, w);
    conf_link_dial(pair.a, &pair.door->listener->address);
    conf_until(w, conf_link_closed, pair.a, CONF_LIMIT_NS);
    assert_int_equal(pair.a->why, ERR_REFUSED);
    assert_non_null(strstr(pair.a->text.text, "worker"));
}

static void tls_other_authority(void)
{
    if (access(conf_pki_path("other"), F_OK) != 0) {
        assert_int_equal(
            pki_ca_create(conf_pki_path("other"), "other", clock_wall_us() / 1000000, 0, NULL), OK);
        tls_issue("other", "worker/eu/a", "alien", 0, 30);
    }
}

static void test_a_server_of_another_authority_is_not_trusted(void **state)
{
    struct conf_world *w = *state;
    struct conf_pair pair;

    tls_other_authority();
    tls_use_client(w, "alien", "a");
    conf_pair_open(&pair, w);
    conf_link_dial(pair.a, &pair.door->listener->address);
    conf_until(w, conf_pair_closed, &pair, CONF_LIMIT_NS);
    assert_int_equal(pair.a->why, ERR_TLS);
    assert_non_null(strstr(pair.a->text.text, "certificate of the other end"));
    assert_int_equal(pair.b->why, ERR_TLS);
}

/* A plain OpenSSL client is refused; the server says @word, the client hears @heard. */
static void tls_plain_refused(struct conf_world *w, const struct tls_client_config *config,
                              const char *word, const char *heard)
{
    struct tls_client_result result;
    struct conf_pair pair;

    conf_pair_open(&pair, w);
    result = tls_client_run(w, &pair.door->listener->address, config, 3 * CONF_S);
    tls_refused(pair.b, word);
    if (strstr(result.why, heard) == NULL) {
        fail_msg("the client heard '%s' and not '%s'", result.why, heard);
    }
    conf_side_end(&w->b);
}

static void test_a_client_of_another_authority_is_refused(void **state)
{
    struct tls_client_config config = {.alpn = "\x08strait/1"};

    tls_other_authority();
    config.cert_path = conf_pki_path("alien/a.crt");
    config.key_path = conf_pki_path("alien/a.key");
    tls_plain_refused(*state, &config, "issuer", "unknown ca");
}

static void test_a_client_without_a_certificate_is_refused(void **state)
{
    struct tls_client_config config = {.alpn = "\x08strait/1"};

    tls_plain_refused(*state, &config, "did not return a certificate", "certificate required");
}

static void test_a_self_signed_client_is_refused(void **state)
{
    struct tls_client_config config = {.alpn = "\x08strait/1"};

    tls_self_signed();
    config.cert_path = conf_pki_path("self.crt");
    config.key_path = conf_pki_path("self.key");
    tls_plain_refused(*state, &config, "self-signed", "unknown ca");
}

static struct tls_client_config tls_good_client(const char *alpn)
{
    return (struct tls_client_config){
        .cert_path = conf_pki_path("a/a.crt"), .key_path = conf_pki_path("a/a.key"), .alpn = alpn};
}

static void test_an_older_tls_is_refused(void **state)
{
    struct tls_client_config config = tls_good_client("\x08strait/1");

    config.version_max = TLS1_2_VERSION;
    tls_plain_refused(*state, &config, "unsupported protocol", "protocol version");
}

static void test_a_client_without_a_protocol_name_is_refused(void **state)
{
    struct tls_client_config config = tls_good_client(NULL);

    tls_plain_refused(*state, &config, "strait/1", "");
    config = tls_good_client("\x02h2");
    tls_plain_refused(*state, &config, "application protocol", "application protocol");
}

static void test_a_good_plain_client_gets_in(void **state)
{
    struct tls_client_config config = tls_good_client("\x08strait/1");
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    assert_true(tls_client_run(pair.world, &pair.door->listener->address, &config, 200 * CONF_MS)
                    .connected);
    assert_int_equal(pair.b->opened, 1);
}

static void tls_revoke(const char *identity)
{
    struct pki_identity who;
    struct pki_ca *ca;
    uint32_t count = 0;

    assert_int_equal(pki_identity_parse(identity, &who, NULL), OK);
    assert_int_equal(pki_ca_open(conf_pki_path("ca"), &ca, NULL), OK);
    assert_int_equal(pki_ca_revoke_identity(ca, &who, clock_wall_us() / 1000000, &count, NULL), OK);
    assert_int_equal(count, 1);
    pki_ca_close(ca);
}

static void tls_use_server_with_list(struct conf_world *w)
{
    struct net_tls_config config = tls_config("b", "b");

    config.crl_path = conf_pki_path("ca/revoked.crl");
    tls_use(&w->b, &config);
}

static void test_a_certificate_revoked_before_is_refused(void **state)
{
    tls_issue("ca", "worker/eu/gone", "gone", 0, 30);
    tls_revoke("worker/eu/gone");
    tls_use_server_with_list(*state);
    tls_use_client(*state, "gone", "gone");
    tls_dial_refused(*state, "revoked");
}

static void test_a_certificate_revoked_meanwhile_ends_its_connection(void **state)
{
    struct conf_world *w = *state;
    struct conf_pair pair;

    tls_issue("ca", "worker/eu/late", "late", 0, 30);
    tls_use_server_with_list(w);
    tls_use_client(w, "late", "late");
    conf_pair_open(&pair, w);
    conf_pair_wait(&pair);
    tls_revoke("worker/eu/late");
    conf_until(w, conf_link_closed, pair.b, 4 * CONF_S);
    assert_int_equal(pair.b->why, ERR_REFUSED);
    assert_non_null(strstr(pair.b->text.text, "revoked"));
    conf_until(w, conf_link_closed, pair.a, CONF_LIMIT_NS);
    /* And it does not come in again: the list was read anew. */
    conf_side_end(&w->b);
    tls_use_server_with_list(w);
    tls_dial_refused(w, "revoked");
}

static void test_the_list_of_the_revoked_is_read_again_for_newcomers(void **state)
{
    struct conf_world *w = *state;
    struct conf_pair pair;
    struct conf_link *server;
    struct conf_link *client;

    tls_issue("ca", "worker/eu/next", "next", 0, 30);
    tls_use_server_with_list(w);
    tls_use_client(w, "next", "next");
    conf_pair_open(&pair, w);
    tls_revoke("worker/eu/next");
    conf_pass(w, 1500 * CONF_MS);
    server = pair.b;
    client = pair.a;
    conf_link_dial(client, &pair.door->listener->address);
    tls_refused(server, "revoked");
    conf_until(w, conf_link_closed, client, CONF_LIMIT_NS);
    /* Others still get in. */
    tls_use_client(w, "a", "a");
    pair.a = conf_link_new(&w->a);
    pair.b = conf_link_new(&w->b);
    pair.door->links[1] = pair.b;
    conf_pair_wait(&pair);
    conf_pair_close(&pair);
}

static void tls_copy_file(const char *from, const char *to)
{
    char bytes[8192];
    FILE *file = fopen(from, "rb");
    size_t size = file == NULL ? 0 : fread(bytes, 1, sizeof(bytes), file);

    assert_true(size > 0 && fclose(file) == 0);
    file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void test_a_list_that_appears_later_counts_too(void **state)
{
    struct net_tls_config config = tls_config("b", "b");
    struct conf_world *w = *state;
    struct conf_pair pair;

    tls_issue("ca", "worker/eu/first", "first", 0, 30);
    config.crl_path = conf_pki_path("b/revoked.crl");
    tls_use(&w->b, &config);
    tls_use_client(w, "first", "first");
    conf_pair_open(&pair, w);
    conf_pair_wait(&pair);
    tls_revoke("worker/eu/first");
    tls_copy_file(conf_pki_path("ca/revoked.crl"), conf_pki_path("b/revoked.crl"));
    conf_until(w, conf_link_closed, pair.b, CONF_LIMIT_NS);
    assert_int_equal(pair.b->why, ERR_REFUSED);
    assert_non_null(strstr(pair.b->text.text, "revoked"));
    conf_until(w, conf_link_closed, pair.a, CONF_LIMIT_NS);
    /* And it does not come in again. */
    pair.a = conf_link_new(&w->a);
    pair.b = conf_link_new(&w->b);
    pair.door->links[1] = pair.b;
    conf_link_dial(pair.a, &pair.door->listener->address);
    tls_refused(pair.b, "revoked");
    conf_until(w, conf_link_closed, pair.a, CONF_LIMIT_NS);
    assert_int_equal(unlink(conf_pki_path("b/revoked.crl")), 0);
}

/* The last line that was logged. */
static char tls_logged[1024];

static void tls_log(const char *line, size_t size, void *user)
{
    (void)user;
    (void)snprintf(tls_logged, sizeof(tls_logged), "%.*s", (int)size, line);
}

static int64_t tls_log_wall_us(void *user)
{
    (void)user;
    return clock_wall_us();
}

static bool tls_logged_word(void *user)
{
    return strstr(tls_logged, user) != NULL;
}

/* The next line of the log is about the list, has @word, and says what is in force. */
static void tls_wait_for_log(struct conf_world *w, char *word, const char *then)
{
    tls_logged[0] = '\0';
    conf_until(w, tls_logged_word, word, CONF_LIMIT_NS);
    assert_non_null(strstr(tls_logged, then));
}

static void test_the_list_in_force_stays_until_there_is_a_newer_one(void **state)
{
    struct log_config log = {.filter = "info", .wall_us = tls_log_wall_us, .write = tls_log};
    struct net_tls_config config;
    struct conf_world *w = *state;

    tls_issue("ca", "worker/eu/second", "second", 0, 30);
    tls_issue("ca", "worker/eu/third", "third", 0, 30);
    tls_copy_file(conf_pki_path("ca/revoked.crl"), conf_pki_path("old.crl"));
    tls_revoke("worker/eu/second");
    tls_copy_file(conf_pki_path("ca/revoked.crl"), conf_pki_path("b/revoked.crl"));
    tls_revoke("worker/eu/third");
    tls_copy_file(conf_pki_path("ca/revoked.crl"), conf_pki_path("newest.crl"));
    assert_int_equal(log_setup(&log, NULL), OK);
    config = tls_config("b", "b");
    config.crl_path = conf_pki_path("b/revoked.crl");
    tls_use(&w->b, &config);
    tls_use_client(w, "second", "second");
    tls_dial_refused(w, "revoked");

    assert_int_equal(unlink(conf_pki_path("b/revoked.crl")), 0);
    tls_wait_for_log(w, "No such file", "the one in force stays");
    tls_dial_refused(w, "revoked");
    tls_copy_file(conf_pki_path("b/b.crt"), conf_pki_path("b/revoked.crl"));
    tls_wait_for_log(w, "not a revocation list", "the one in force stays");
    tls_dial_refused(w, "revoked");
    tls_copy_file(conf_pki_path("old.crl"), conf_pki_path("b/revoked.crl"));
    tls_wait_for_log(w, "is older than", "the one in force stays");
    tls_dial_refused(w, "revoked");
    tls_copy_file(conf_pki_path("newest.crl"), conf_pki_path("b/revoked.crl"));
    tls_wait_for_log(w, "revocation list", "revoked.crl read");
    tls_use_client(w, "third", "third");
    tls_dial_refused(w, "revoked");
    log_teardown();
    assert_int_equal(unlink(conf_pki_path("b/revoked.crl")), 0);
}

static void tls_start_fails(struct conf_world *w, const struct net_tls_config *config, enum err rc,
                            const char *word)
{
    struct net_tls_transport *transport;
    struct err_text text = {0};

    assert_int_equal(net_tls_transport_create(w->b.loop, config, &transport, &text), rc);
    if (strstr(text.text, word) == NULL) {
        fail_msg("'%s' does not say '%s'", text.text, word);
    }
}

static void test_files_that_do_not_fit_are_refused_at_the_start(void **state)
{
    struct net_tls_config config = tls_config("a", "a");

    config.key_path = conf_pki_path("b/b.key");
    tls_start_fails(*state, &config, ERR_INVALID, "does not belong to the key");
    tls_other_authority();
    config = tls_config("a", "a");
    config.ca_path = conf_pki_path("alien/ca.crt");
    tls_start_fails(*state, &config, ERR_INVALID, "not signed by");
    config = tls_config("a", "a");
    config.cert_path = conf_pki_path("a/none.crt");
    tls_start_fails(*state, &config, ERR_NOT_FOUND, "none.crt");
    config = tls_config("a", "a");
    config.crl_path = conf_pki_path("other/revoked.crl");
    tls_start_fails(*state, &config, ERR_REFUSED, "revoked.crl");
}

static void test_joining_without_a_certificate_needs_enrolment(void **state)
{
    struct tls_client_config config = {.alpn = "\x0dstrait-join/1"};
    struct conf_world *w = *state;
    struct net_tls_config server = tls_config("b", "b");
    struct conf_pair pair;

    tls_plain_refused(w, &config, "application protocol", "application protocol");
    server.enrol = true;
    tls_use(&w->b, &server);
    conf_pair_open(&pair, w);
    assert_true(tls_client_run(w, &pair.door->listener->address, &config, 200 * CONF_MS).connected);
    assert_int_equal(pair.b->opened, 1);
    conf_side_end(&w->b);
    /* Members still have to show who they are. */
    tls_use(&w->b, &server);
    config.alpn = "\x08strait/1";
    tls_plain_refused(w, &config, "did not return a certificate", "certificate required");
}

/* A joiner knows its authority by a hash only. */
static void tls_join(struct conf_world *w, uint8_t change, enum err why)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    struct net_tls_joiner_config config = {.pin = digest};
    struct net_tls_transport *joiner;
    unsigned int size = 0;
    struct conf_pair pair;
    X509 *ca;

    assert_int_equal(pki_cert_read(conf_pki_path("a/ca.crt"), &ca, NULL), OK);
    assert_int_equal(X509_digest(ca, EVP_sha256(), digest, &size), 1);
    X509_free(ca);
    digest[3] ^= change;
    assert_int_equal(net_tls_joiner_create(w->a.loop, &config, &joiner, NULL), OK);
    w->a.transport = net_tls_transport_base(joiner);
    conf_pair_open(&pair, w);
    conf_link_dial(pair.a, &pair.door->listener->address);
    if (why == OK) {
        conf_until(w, conf_pair_opened, &pair, CONF_LIMIT_NS);
        assert_false(net_conn_stream(pair.a->conn)->authenticated);
        assert_false(net_conn_stream(pair.b->conn)->authenticated);
        net_conn_close(pair.a->conn, OK, NULL);
    }
    conf_until(w, conf_pair_closed, &pair, CONF_LIMIT_NS);
    assert_int_equal(pair.a->why, why);
    conf_side_end(&w->b);
    net_tls_transport_destroy(joiner);
}

static void test_a_joiner_trusts_only_the_authority_of_its_token(void **state)
{
    struct conf_world *w = *state;
    struct net_tls_config server = tls_config("b", "b");

    server.enrol = true;
    tls_use(&w->b, &server);
    tls_join(w, 0, OK);
    tls_use(&w->b, &server);
    tls_join(w, 1, ERR_TLS);
    /* Nor does it show its token to a member that is no server. */
    tls_issue("ca", "worker/eu/fake", "fake", 0, 30);
    server = tls_config("fake", "fake");
    server.enrol = true;
    tls_use(&w->b, &server);
    tls_join(w, 0, ERR_TLS);
}

static void test_a_joiner_may_not_speak_as_a_member(void **state)
{
    struct tls_client_config config = {.alpn = "\x0dstrait-join/1"};
    struct conf_world *w = *state;
    struct net_tls_config server = tls_config("b", "b");
    struct conf_node *node = conf_node_new(&w->b);
    struct tls_client_result result;

    server.enrol = true;
    tls_use(&w->b, &server);
    conf_node_start(node);
    conf_node_listen(node);
    result = tls_client_run(w, &node->at, &config, 4 * CONF_S);
    assert_true(result.connected);
    assert_int_equal(node->ups, 0);
    assert_int_equal(obs_counter_value(w->b.counters.strangers_refused), 1); /* Two seconds. */
    conf_node_stop(node);
}

static void test_the_kernel_encrypts_only_where_it_can(void **state)
{
    struct net_stream_info info;
    struct conf_pair pair;

    conf_pair_open(&pair, *state);
    conf_pair_wait(&pair);
    net_conn_info(pair.a->conn, &info);
    if (!net_tls_kernel_capable()) {
        assert_false(info.ktls);
    }
    conf_pair_close(&pair);
}

static int64_t tls_next_century(void *user)
{
    (void)user;
    return INT64_C(4102444800000000); /* 2100-01-01. */
}

static void test_validity_follows_the_injected_clock(void **state)
{
    struct conf_world *w = *state;
    struct net_tls_config server = tls_config("b", "b");

    server.wall_us = tls_next_century;
    tls_use(&w->b, &server);
    tls_dial_refused(w, "expired");
}

const struct CMUnitTest conf_tls_tests[] = {
    CONF_TEST(test_an_expired_certificate_is_refused),
    CONF_TEST(test_a_certificate_of_the_future_is_refused),
    CONF_TEST(test_a_role_that_is_not_wanted_is_refused),
    CONF_TEST(test_a_server_that_is_none_is_not_trusted),
    CONF_TEST(test_a_server_of_another_authority_is_not_trusted),
    CONF_TEST(test_a_client_of_another_authority_is_refused),
    CONF_TEST(test_a_client_without_a_certificate_is_refused),
    CONF_TEST(test_a_self_signed_client_is_refused),
    CONF_TEST(test_an_older_tls_is_refused),
    CONF_TEST(test_a_client_without_a_protocol_name_is_refused),
    CONF_TEST(test_a_good_plain_client_gets_in),
    CONF_TEST(test_a_certificate_revoked_before_is_refused),
    CONF_TEST(test_a_certificate_revoked_meanwhile_ends_its_connection),
    CONF_TEST(test_the_list_of_the_revoked_is_read_again_for_newcomers),
    CONF_TEST(test_a_list_that_appears_later_counts_too),
    CONF_TEST(test_the_list_in_force_stays_until_there_is_a_newer_one),
    CONF_TEST(test_files_that_do_not_fit_are_refused_at_the_start),
    CONF_TEST(test_joining_without_a_certificate_needs_enrolment),
    CONF_TEST(test_a_joiner_trusts_only_the_authority_of_its_token),
    CONF_TEST(test_a_joiner_may_not_speak_as_a_member),
    CONF_TEST(test_the_kernel_encrypts_only_where_it_can),
    CONF_TEST(test_validity_follows_the_injected_clock),
};
const size_t conf_tls_count = sizeof(conf_tls_tests) / sizeof(conf_tls_tests[0]);
