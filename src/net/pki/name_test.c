/* Tests of identities: their text, and how a certificate carries them. */

#include "net/pki/testing.h"

static void test_identity_text_round_trips(void **state)
{
    static const char *const good[] = {"worker/eu/w1", "server/us-east.1/s_0", "relay/A/B",
                                       "operator/x/-", "worker/.../..a"};
    (void)state;

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct pki_identity identity;
        char text[PKI_IDENTITY_TEXT_BYTES];

        assert_int_equal(pki_identity_parse(good[i], &identity, NULL), OK);
        assert_string_equal(pki_identity_format(&identity, text), good[i]);
        assert_true(pki_identity_equal(&identity, &identity));
    }
}

static void test_identity_refuses_what_is_not_exact(void **state)
{
    static const char *const bad[] = {
        "",           "worker",        "worker/eu",    "worker/eu/",     "worker//w1",
        "/eu/w1",     "Worker/eu/w1",  "king/eu/w1",   "stranger/eu/w1", "worker/eu/w1/",
        "worker/e/.", "worker/../w1",  "worker/e u/w", "worker/eu/w\n",  "worker/eu/w%31",
        "worker/é/w", "worker/eu/w\"", "worker/eu/*",  " worker/eu/w1"};
    struct pki_identity identity = {.site = "untouched"};
    struct testing t;
    char longest[PKI_IDENTITY_TEXT_BYTES * 2] = "worker/eu/";
    (void)state;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        FAILS(pki_identity_parse(bad[i], &identity, &t.text), ERR_INVALID, &t);
        assert_string_equal(identity.site, "untouched");
    }
    memset(longest + strlen("worker/eu/"), 'x', LIMIT_NAME_BYTES);
    assert_int_equal(pki_identity_parse(longest, &identity, NULL), OK);
    for (size_t more = 1; more < 100; more++) {
        memset(longest + strlen("worker/eu/"), 'x', LIMIT_NAME_BYTES + more);
        FAILS(pki_identity_parse(longest, &identity, &t.text), ERR_INVALID, &t);
    }
    assert_int_equal(
        pki_identity_make(WIRE_ROLE_WORKER | WIRE_ROLE_SERVER, "a", "b", &identity, NULL),
        ERR_INVALID);
    assert_int_equal(pki_identity_make(WIRE_ROLE_STRANGER, "a", "b", &identity, NULL), ERR_INVALID);
}

struct general {
    int type;
    const char *chars;
    int size; /* Negative: up to the terminator. */
};

/* A certificate with these alternative names and nothing else of interest. */
static X509 *cert_with_names(const struct general *list, size_t count)
{
    X509 *cert = X509_new();
    GENERAL_NAMES *names = GENERAL_NAMES_new();

    for (size_t i = 0; i < count; i++) {
        GENERAL_NAME *name = GENERAL_NAME_new();
        ASN1_IA5STRING *string = ASN1_IA5STRING_new();

        assert_int_equal(ASN1_STRING_set(string, list[i].chars, list[i].size), 1);
        GENERAL_NAME_set0_value(name, list[i].type, string);
        assert_true(sk_GENERAL_NAME_push(names, name) > 0);
    }
    assert_int_equal(X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, 0), 1);
    GENERAL_NAMES_free(names);
    return cert;
}

static enum err identity_of(const struct general *list, size_t count, struct pki_identity *out)
{
    X509 *cert = cert_with_names(list, count);
    enum err rc = pki_identity_from_cert(cert, out, NULL);

    X509_free(cert);
    return rc;
}

static void test_certificate_names_exactly_one_member(void **state)
{
    static const struct general good[] = {{GEN_DNS, "strait://server/eu/no", -1},
                                          {GEN_URI, "https://example.org/", -1},
                                          {GEN_URI, "strait://worker/eu/w1", -1}};
    static const struct general twice[] = {{GEN_URI, "strait://worker/eu/w1", -1},
                                           {GEN_URI, "strait://worker/eu/w1", -1}};
    static const struct general bad[] = {{GEN_URI, "strait://worker/eu/w1\0.evil", 27},
                                         {GEN_URI, "strait://worker/eu", -1},
                                         {GEN_URI, "STRAIT://worker/eu/w1", -1},
                                         {GEN_URI, "strait:worker/eu/w1", -1},
                                         {GEN_URI, "strait://stranger/eu/w1", -1},
                                         {GEN_URI, "strait://worker/eu/w1?x", -1},
                                         {GEN_URI, "strait://", -1},
                                         {GEN_URI, "strait:", -1}};
    struct pki_identity identity;
    X509 *empty = X509_new();
    char longer[4000];
    (void)state;

    assert_int_equal(identity_of(good, 3, &identity), OK);
    assert_string_equal(identity.name, "w1");
    assert_int_equal(identity.role, WIRE_ROLE_WORKER);
    assert_int_equal(identity_of(good, 2, &identity), ERR_NOT_FOUND);
    assert_int_equal(identity_of(twice, 2, &identity), ERR_INVALID);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(identity_of(&bad[i], 1, &identity), ERR_INVALID);
    }
    memset(longer, 'x', sizeof(longer));
    memcpy(longer, "strait://worker/eu/", 19);
    assert_int_equal(identity_of(&(struct general){GEN_URI, longer, sizeof(longer)}, 1, &identity),
                     ERR_INVALID);
    assert_int_equal(pki_identity_from_cert(empty, &identity, NULL), ERR_NOT_FOUND);
    X509_free(empty);
}

static void test_two_lists_of_names_are_refused(void **state)
{
    struct pki_identity identity;
    X509 *cert = cert_with_names(&(struct general){GEN_URI, "strait://worker/eu/w1", -1}, 1);
    X509_EXTENSION *again = X509_EXTENSION_dup(X509_get_ext(cert, 0));
    (void)state;

    assert_int_equal(X509_add_ext(cert, again, -1), 1);
    assert_int_equal(pki_identity_from_cert(cert, &identity, NULL), ERR_INVALID);
    X509_EXTENSION_free(again);
    X509_free(cert);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity_text_round_trips),
        cmocka_unit_test(test_identity_refuses_what_is_not_exact),
        cmocka_unit_test(test_certificate_names_exactly_one_member),
        cmocka_unit_test(test_two_lists_of_names_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
