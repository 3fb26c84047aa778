/* Tests of the authority's folder, its certificates and the requests it signs, in a temporary
 * folder. They pass as root: what a disk refuses is shown by files in place of folders. */

#include "net/pki/testing.h"

#include "net/pki/file.h"

#include <sys/wait.h>

/* The folder. */

static void test_ca_has_its_files_and_profile(void **state)
{
    struct testing *t = *state;
    struct pki_description d;
    X509 *ca = pki_ca_cert(t->ca);
    X509_CRL *crl = testing_crl(t);
    char *serial = testing_read(testing_path(t, "ca/serial"), NULL);

    assert_int_equal(testing_mode(testing_path(t, "ca")), 0700);
    assert_int_equal(testing_mode(testing_path(t, "ca/ca.key")), 0600);
    assert_int_equal(testing_mode(testing_path(t, "ca/tokens")), 0700);
    assert_string_equal(serial, "2\n");
    OK_OR_TEXT(pki_cert_describe(ca, &d, &t->text), t);
    assert_true(d.ca && !d.identified);
    assert_string_equal(d.subject, "CN=test,O=Strait");
    assert_string_equal(d.issuer, d.subject);
    assert_int_equal(d.not_before_s, NOW_S - 300);
    assert_int_equal(d.not_after_s, NOW_S + INT64_C(3650) * DAY_S);
    assert_int_equal(strlen(d.fingerprint), 64);
    assert_int_equal(X509_get_pathlen(ca), 0);
    assert_int_equal(X509_get_key_usage(ca), KU_KEY_CERT_SIGN | KU_CRL_SIGN);
    assert_int_equal(testing_verify(ca, ca, crl, NOW_S, X509_PURPOSE_ANY), X509_V_OK);
    X509_CRL_free(crl);
    free(serial);
}

static void test_create_leaves_an_authority_alone(void **state)
{
    static const char *const files[] = {"ca.key", "serial", "issued.jsonl", "revoked.crl",
                                        "ca.crt"};
    struct testing *t = *state;
    char *before = testing_read(testing_path(t, "ca/ca.key"), NULL);
    char *after;

    FAILS(pki_ca_create(t->ca_dir, "other", NOW_S, 0, &t->text), ERR_EXISTS, t);
    assert_non_null(strstr(t->text.text, t->ca_dir));
    after = testing_read(testing_path(t, "ca/ca.key"), NULL);
    assert_string_equal(before, after);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        char leaf[64];

        (void)snprintf(leaf, sizeof(leaf), "d%zu", i);
        assert_int_equal(mkdir(testing_path(t, leaf), 0700), 0);
        (void)snprintf(leaf, sizeof(leaf), "d%zu/%s", i, files[i]);
        testing_write(testing_path(t, leaf), "x", 1);
        (void)snprintf(leaf, sizeof(leaf), "d%zu", i);
        FAILS(pki_ca_create(testing_path(t, leaf), "o", NOW_S, 0, &t->text), ERR_EXISTS, t);
        assert_non_null(strstr(t->text.text, files[i]));
        (void)snprintf(leaf, sizeof(leaf), "d%zu/%s", i, files[i]);
        assert_int_equal(unlink(testing_path(t, leaf)), 0);
        (void)snprintf(leaf, sizeof(leaf), "d%zu", i);
        assert_int_equal(rmdir(testing_path(t, leaf)), 0); /* Nothing else was written. */
    }
    free(before);
    free(after);
}

static void test_create_fails_whole(void **state)
{
    struct testing *t = *state;
    char deep[2000];

    testing_write(testing_path(t, "file"), "x", 1);
    FAILS(pki_ca_create(testing_path(t, "file"), "a", NOW_S, 0, &t->text), ERR_IO, t);
    FAILS(pki_ca_create(testing_path(t, "file/in"), "a", NOW_S, 0, &t->text), ERR_IO, t);
    FAILS(pki_ca_create(testing_path(t, "no/such"), "a", NOW_S, 0, &t->text), ERR_NOT_FOUND, t);
    FAILS(pki_ca_create(testing_path(t, "n"), "a b", NOW_S, 0, &t->text), ERR_INVALID, t);
    FAILS(pki_ca_create(testing_path(t, "n"), "", NOW_S, 0, &t->text), ERR_INVALID, t);
    FAILS(pki_ca_create(testing_path(t, "n"), "a", -1, 0, &t->text), ERR_INVALID, t);
    FAILS(pki_ca_create(testing_path(t, "n"), "a", INT64_MAX, 0, &t->text), ERR_INVALID, t);
    FAILS(pki_ca_create(testing_path(t, "n"), "a", NOW_S, 36501, &t->text), ERR_INVALID, t);
    assert_int_equal(access(testing_path(t, "n"), F_OK), -1);
    memset(deep, 'd', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    FAILS(pki_ca_create(deep, "a", NOW_S, 0, &t->text), ERR_TOO_BIG, t);

    /* The last step fails: what was written before is taken back. */
    assert_int_equal(mkdir(testing_path(t, "half"), 0700), 0);
    testing_write(testing_path(t, "half/tokens"), "x", 1);
    FAILS(pki_ca_create(testing_path(t, "half"), "a", NOW_S, 0, &t->text), ERR_IO, t);
    assert_int_equal(unlink(testing_path(t, "half/tokens")), 0);
    assert_int_equal(rmdir(testing_path(t, "half")), 0);
}

static void test_a_file_is_replaced_only_if_told(void **state)
{
    struct testing *t = *state;
    const char *path = testing_path(t, "file");
    char *content;

    OK_OR_TEXT(pki_file_write(path, "one", 3, 0600, false, &t->text), t);
    FAILS(pki_file_write(path, "two", 3, 0600, false, &t->text), ERR_EXISTS, t);
    assert_non_null(strstr(t->text.text, path));
    content = testing_read(path, NULL);
    assert_string_equal(content, "one");
    free(content);
    OK_OR_TEXT(pki_file_write(path, "two", 3, 0640, true, &t->text), t);
    content = testing_read(path, NULL);
    assert_string_equal(content, "two");
    free(content);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("elsewhere", path), 0); /* Nor is a link followed. */
    FAILS(pki_file_write(path, "x", 1, 0600, false, &t->text), ERR_EXISTS, t);
    assert_int_equal(access(testing_path(t, "elsewhere"), F_OK), -1);
}

/* Two processes make an authority in one folder, many times: one wins, and what it made works. */
static void test_of_two_creators_one_wins(void **state)
{
    struct testing *t = *state;

    for (int round = 0; round < 20; round++) {
        struct pki_ca *ca = NULL;
        int gate[2], won = 0, lost = 0;
        char leaf[16];
        pid_t pids[2];

        (void)snprintf(leaf, sizeof(leaf), "r%d", round);
        assert_int_equal(pipe(gate), 0);
        for (int p = 0; p < 2; p++) {
            pids[p] = fork();
            if (pids[p] == 0) {
                char byte;
                enum err rc;

                (void)close(gate[1]);
                (void)!read(gate[0], &byte, 1); /* Both start when the gate closes. */
                rc = pki_ca_create(testing_path(t, leaf), "race", NOW_S, 0, NULL);
                _exit(rc == OK ? 1 : rc == ERR_EXISTS ? 2 : 3);
            }
        }
        (void)close(gate[0]);
        (void)close(gate[1]);
        for (int p = 0; p < 2; p++) {
            int status = 0;

            assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
            won += WEXITSTATUS(status) == 1;
            lost += WEXITSTATUS(status) == 2;
        }
        assert_int_equal(won, 1);
        assert_int_equal(lost, 1);
        OK_OR_TEXT(pki_ca_open(testing_path(t, leaf), &ca, &t->text), t);
        pki_ca_close(ca);
    }
}

static void test_certificates_in_der_are_read_whole(void **state)
{
    struct testing *t = *state;
    unsigned char *der = NULL;
    int size = i2d_X509(pki_ca_cert(t->ca), &der);
    X509 *cert = NULL;

    OK_OR_TEXT(pki_cert_decode(der, (size_t)size, &cert, &t->text), t);
    assert_int_equal(X509_cmp(cert, pki_ca_cert(t->ca)), 0);
    X509_free(cert);
    for (int cut = 0; cut < size; cut += 16) {
        FAILS(pki_cert_decode(der, (size_t)cut, &cert, &t->text), ERR_MALFORMED, t);
    }
    der = OPENSSL_realloc(der, (size_t)size + 1);
    der[size] = 0;
    FAILS(pki_cert_decode(der, (size_t)size + 1, &cert, &t->text), ERR_MALFORMED, t);
    OPENSSL_free(der);
}

static void test_open_says_what_is_wrong(void **state)
{
    struct testing *t = *state;
    struct pki_ca *ca = NULL;
    const char *key = testing_path(t, "ca/ca.key");

    FAILS(pki_ca_open(testing_path(t, "none"), &ca, &t->text), ERR_NOT_FOUND, t);
    assert_non_null(strstr(t->text.text, "strait cert"));
    assert_int_equal(chmod(key, 0640), 0);
    FAILS(pki_ca_open(t->ca_dir, &ca, &t->text), ERR_REFUSED, t);
    assert_non_null(strstr(t->text.text, "chmod 600"));
    assert_int_equal(chmod(key, 0400), 0);
    OK_OR_TEXT(pki_ca_open(t->ca_dir, &ca, &t->text), t);
    pki_ca_close(ca);
    OK_OR_TEXT(pki_ca_create(testing_path(t, "b"), "b", NOW_S, 0, &t->text), t);
    assert_int_equal(rename(testing_path(t, "b/ca.key"), key), 0);
    FAILS(pki_ca_open(t->ca_dir, &ca, &t->text), ERR_INVALID, t);
    assert_int_equal(unlink(key), 0);
    FAILS(pki_ca_open(t->ca_dir, &ca, &t->text), ERR_NOT_FOUND, t);
    assert_int_equal(mkfifo(key, 0600), 0);
    FAILS(pki_ca_open(t->ca_dir, &ca, &t->text), ERR_IO, t);
    pki_ca_close(NULL);
}

/* Cut @leaf at every 16th byte: opening is an error each time, never a crash. */
static void cut_everywhere(struct testing *t, const char *leaf)
{
    const char *path = testing_path(t, leaf);
    size_t size = 0;
    char *whole = testing_read(path, &size);
    struct pki_ca *ca = NULL;

    /* The end of the last line is not needed. */
    for (size_t cut = 0; cut + 2 < size; cut += 16) {
        testing_write(path, whole, cut);
        FAILS(pki_ca_open(t->ca_dir, &ca, &t->text), ERR_MALFORMED, t);
        assert_non_null(strstr(t->text.text, path));
    }
    testing_write(path, whole, size);
    OK_OR_TEXT(pki_ca_open(t->ca_dir, &ca, &t->text), t);
    pki_ca_close(ca);
    free(whole);
}

static void test_truncated_files_are_refused(void **state)
{
    struct testing *t = *state;
    char *large = calloc(1, 100000);
    struct pki_ca *ca = NULL;

    cut_everywhere(t, "ca/ca.crt");
    cut_everywhere(t, "ca/ca.key");
    testing_write(testing_path(t, "ca/ca.crt"), large, 100000);
    FAILS(pki_ca_open(t->ca_dir, &ca, &t->text), ERR_TOO_BIG, t);
    free(large);
}

/* OpenSSL would ask for the passphrase on the terminal. */
static void test_encrypted_key_is_refused_without_a_question(void **state)
{
    struct testing *t = *state;
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    FILE *file = fopen(testing_path(t, "locked.key"), "w");

    assert_int_equal(PEM_write_PKCS8PrivateKey(file, key, EVP_aes_128_cbc(), "pass", 4, NULL, NULL),
                     1);
    (void)fclose(file);
    EVP_PKEY_free(key);
    key = NULL;
    assert_int_equal(chmod(testing_path(t, "locked.key"), 0600), 0);
    FAILS(pki_key_read(testing_path(t, "locked.key"), &key, &t->text), ERR_MALFORMED, t);
    assert_null(key);
}

static void test_only_ed25519_keys_are_read(void **state)
{
    struct testing *t = *state;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    FILE *file = fopen(testing_path(t, "ec.key"), "w");

    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    (void)fclose(file);
    EVP_PKEY_free(key);
    assert_int_equal(chmod(testing_path(t, "ec.key"), 0600), 0);
    FAILS(pki_key_read(testing_path(t, "ec.key"), &key, &t->text), ERR_REFUSED, t);
}

/* Issuing. */

static void test_issued_certificate_verifies(void **state)
{
    struct testing *t = *state;
    static const char *const sans[] = {"node7.example.org", "10.1.2.3", "2001:db8::7"};
    struct pki_order order = testing_order("server/eu/s0");
    struct pki_bundle bundle;
    struct pki_description d;
    X509_CRL *crl = testing_crl(t);
    X509 *cert, *ca = pki_ca_cert(t->ca);

    order.sans = sans;
    order.sans_count = 3;
    OK_OR_TEXT(pki_ca_issue(t->ca, &order, &bundle, &t->text), t);
    cert = testing_cert(&bundle.cert);
    assert_int_equal(testing_verify(cert, ca, crl, NOW_S, X509_PURPOSE_SSL_SERVER), X509_V_OK);
    assert_int_equal(testing_verify(cert, ca, crl, NOW_S, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
    assert_int_not_equal(testing_verify(cert, ca, crl, NOW_S, X509_PURPOSE_SMIME_SIGN), X509_V_OK);
    assert_int_equal(testing_verify(cert, ca, crl, NOW_S - 299, X509_PURPOSE_SSL_CLIENT),
                     X509_V_OK);
    assert_int_equal(testing_verify(cert, ca, NULL, NOW_S - 301, X509_PURPOSE_SSL_CLIENT),
                     X509_V_ERR_CERT_NOT_YET_VALID);
    assert_int_equal(
        testing_verify(cert, ca, crl, NOW_S + INT64_C(90) * DAY_S - 1, X509_PURPOSE_SSL_CLIENT),
        X509_V_OK);
    assert_int_equal(
        testing_verify(cert, ca, crl, NOW_S + INT64_C(90) * DAY_S + 1, X509_PURPOSE_SSL_CLIENT),
        X509_V_ERR_CERT_HAS_EXPIRED);
    assert_int_equal(X509_check_host(cert, sans[0], 0, 0, NULL), 1);
    assert_int_equal(X509_check_ip_asc(cert, sans[1], 0), 1);
    assert_int_equal(X509_check_ip_asc(cert, sans[2], 0), 1);
    assert_int_equal(X509_check_host(cert, "s0", 0, 0, NULL), 0);
    assert_int_equal(X509_get_key_usage(cert), KU_DIGITAL_SIGNATURE);
    assert_int_equal(X509_get_extended_key_usage(cert), XKU_SSL_CLIENT | XKU_SSL_SERVER);
    assert_int_equal(X509_check_ca(cert), 0);
    OK_OR_TEXT(pki_cert_describe(cert, &d, &t->text), t);
    assert_true(d.identified && !d.ca && pki_identity_equal(&d.identity, &order.identity));
    assert_int_equal(d.not_after_s, NOW_S + INT64_C(90) * DAY_S);
    assert_string_equal(d.subject, "CN=s0,O=eu");
    pki_bundle_wipe(&bundle);
    assert_int_equal(bundle.key.chars[0], 0);
    X509_free(cert);
    X509_CRL_free(crl);
}

static void test_certificate_of_another_authority_fails(void **state)
{
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");
    struct pki_bundle bundle;
    struct pki_ca *other = NULL;
    X509_CRL *crl = NULL;
    X509 *cert;

    /* Same name, other key. */
    OK_OR_TEXT(pki_ca_create(testing_path(t, "b"), "test", NOW_S, 0, &t->text), t);
    OK_OR_TEXT(pki_ca_open(testing_path(t, "b"), &other, &t->text), t);
    OK_OR_TEXT(pki_ca_issue(other, &order, &bundle, &t->text), t);
    cert = testing_cert(&bundle.cert);
    assert_int_not_equal(
        testing_verify(cert, pki_ca_cert(t->ca), NULL, NOW_S, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
    assert_int_equal(testing_verify(cert, pki_ca_cert(other), NULL, NOW_S, X509_PURPOSE_SSL_CLIENT),
                     X509_V_OK);
    FAILS(pki_crl_read(testing_path(t, "b/revoked.crl"), pki_ca_cert(t->ca), &crl, &t->text),
          ERR_REFUSED, t);
    pki_bundle_wipe(&bundle);
    X509_free(cert);
    pki_ca_close(other);
}

static void test_bad_orders_are_refused_and_leave_no_trace(void **state)
{
    static const char *const bad_sans[] = {"",     "a b",   "300.1.1.1",   "1.2.3", "x:y",
                                           ".dot", "-dash", "under_score", "a\nb",  "*.wild.org"};
    struct testing *t = *state;
    struct pki_order good = testing_order("worker/eu/w1"), order;
    const char *many[PKI_SANS_MAX + 1];
    const char *san;
    struct pki_bundle bundle;
    char *issued;

    order = good;
    order.identity.role = WIRE_ROLE_STRANGER;
    FAILS(pki_ca_issue(t->ca, &order, &bundle, &t->text), ERR_INVALID, t);
    order = good;
    (void)strcpy(order.identity.name, "../../etc/x");
    FAILS(pki_ca_issue_to(t->ca, &order, testing_path(t, "o"), false, &t->text), ERR_INVALID, t);
    (void)strcpy(order.identity.name, "ca");
    FAILS(pki_ca_issue_to(t->ca, &order, t->ca_dir, true, &t->text), ERR_INVALID, t);
    order = good;
    order.days = PKI_DAYS_MAX + 1;
    FAILS(pki_ca_issue(t->ca, &order, &bundle, &t->text), ERR_INVALID, t);
    order = good;
    order.now_s = INT64_MIN;
    FAILS(pki_ca_issue(t->ca, &order, &bundle, &t->text), ERR_INVALID, t);
    order.now_s = NOW_S + INT64_C(3651) * DAY_S;
    FAILS(pki_ca_issue(t->ca, &order, &bundle, &t->text), ERR_REFUSED, t);
    order = good;
    order.sans = many;
    order.sans_count = PKI_SANS_MAX + 1;
    FAILS(pki_ca_issue(t->ca, &order, &bundle, &t->text), ERR_TOO_BIG, t);
    for (size_t i = 0; i < sizeof(bad_sans) / sizeof(*bad_sans); i++) {
        san = bad_sans[i];
        order.sans = &san;
        order.sans_count = 1;
        FAILS(pki_ca_issue(t->ca, &order, &bundle, &t->text), ERR_INVALID, t);
    }
    issued = testing_read(testing_path(t, "ca/issued.jsonl"), NULL);
    assert_string_equal(issued, "");
    assert_int_equal(access(testing_path(t, "o"), F_OK), -1);
    free(issued);
}

static void test_largest_certificate_fits(void **state)
{
    struct testing *t = *state;
    struct pki_order order = testing_order("operator/x/y");
    const char *sans[PKI_SANS_MAX];
    char host[254];
    struct pki_bundle bundle;

    memset(host, 'h', sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    for (size_t i = 0; i < PKI_SANS_MAX; i++) {
        sans[i] = host;
    }
    memset(order.identity.site, 's', LIMIT_NAME_BYTES);
    memset(order.identity.name, 'n', LIMIT_NAME_BYTES);
    order.sans = sans;
    order.sans_count = PKI_SANS_MAX;
    OK_OR_TEXT(pki_ca_issue(t->ca, &order, &bundle, &t->text), t);
    OK_OR_TEXT(pki_bundle_write(&bundle, &order.identity, testing_path(t, "o"), false, &t->text),
               t);
    pki_bundle_wipe(&bundle);
}

static void test_leaf_ends_with_its_authority(void **state)
{
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");
    struct pki_description d;
    struct pki_bundle bundle;
    X509 *cert;

    order.now_s = NOW_S + INT64_C(3640) * DAY_S;
    OK_OR_TEXT(pki_ca_issue(t->ca, &order, &bundle, &t->text), t);
    cert = testing_cert(&bundle.cert);
    OK_OR_TEXT(pki_cert_describe(cert, &d, &t->text), t);
    assert_int_equal(d.not_after_s, NOW_S + INT64_C(3650) * DAY_S);
    pki_bundle_wipe(&bundle);
    X509_free(cert);
}

static void test_issue_to_writes_the_files(void **state)
{
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");
    const char *out = testing_path(t, "o");
    EVP_PKEY *key = NULL;
    X509 *cert = NULL;
    char *ours, *theirs, *before, *after;

    OK_OR_TEXT(pki_ca_issue_to(t->ca, &order, out, false, &t->text), t);
    assert_int_equal(testing_mode(out), 0700);
    assert_int_equal(testing_mode(testing_path(t, "o/w1.key")), 0600);
    OK_OR_TEXT(pki_key_read(testing_path(t, "o/w1.key"), &key, &t->text), t);
    OK_OR_TEXT(pki_cert_read(testing_path(t, "o/w1.crt"), &cert, &t->text), t);
    assert_int_equal(X509_check_private_key(cert, key), 1);
    ours = testing_read(testing_path(t, "o/ca.crt"), NULL);
    theirs = testing_read(testing_path(t, "ca/ca.crt"), NULL);
    assert_string_equal(ours, theirs);

    before = testing_read(testing_path(t, "o/w1.key"), NULL);
    FAILS(pki_ca_issue_to(t->ca, &order, out, false, &t->text), ERR_EXISTS, t);
    assert_non_null(strstr(t->text.text, "w1.key"));
    after = testing_read(testing_path(t, "o/w1.key"), NULL);
    assert_string_equal(before, after);
    free(after);
    OK_OR_TEXT(pki_ca_issue_to(t->ca, &order, out, true, &t->text), t);
    after = testing_read(testing_path(t, "o/w1.key"), NULL);
    assert_string_not_equal(before, after);
    assert_int_equal(testing_mode(testing_path(t, "o/w1.key")), 0600);
    free(after);
    free(before);
    free(ours);
    free(theirs);
    EVP_PKEY_free(key);
    X509_free(cert);
}

static void test_issue_to_checks_before_it_issues(void **state)
{
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");

    testing_write(testing_path(t, "file"), "x", 1);
    FAILS(pki_ca_issue_to(t->ca, &order, testing_path(t, "file"), false, &t->text), ERR_IO, t);
    assert_int_equal(mkdir(testing_path(t, "o"), 0700), 0);
    testing_write(testing_path(t, "o/ca.crt"), "another", 7);
    FAILS(pki_ca_issue_to(t->ca, &order, testing_path(t, "o"), false, &t->text), ERR_EXISTS, t);
    assert_non_null(strstr(t->text.text, "ca.crt"));
    assert_int_equal(unlink(testing_path(t, "o/ca.crt")), 0);
    assert_int_equal(symlink("nowhere", testing_path(t, "o/w1.crt")), 0);
    FAILS(pki_ca_issue_to(t->ca, &order, testing_path(t, "o"), false, &t->text), ERR_EXISTS, t);
    assert_int_equal(testing_issued(t), 0);
    assert_int_equal(unlink(testing_path(t, "o/w1.crt")), 0);
    assert_int_equal(rmdir(testing_path(t, "o")), 0); /* No temporary file is left. */
    OK_OR_TEXT(pki_ca_issue_to(t->ca, &order, t->ca_dir, false, &t->text), t);
    assert_int_equal(testing_issued(t), 1);
}

static void test_mixed_bundles_are_not_written(void **state)
{
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");
    struct pki_bundle a, b, mixed;
    struct pki_identity other;
    struct pki_ca *second = NULL;
    const char *out = testing_path(t, "o");

    OK_OR_TEXT(pki_ca_create(testing_path(t, "b"), "b", NOW_S, 0, &t->text), t);
    OK_OR_TEXT(pki_ca_open(testing_path(t, "b"), &second, &t->text), t);
    OK_OR_TEXT(pki_ca_issue(t->ca, &order, &a, &t->text), t);
    OK_OR_TEXT(pki_ca_issue(second, &order, &b, &t->text), t);
    mixed = a;
    mixed.key = b.key;
    FAILS(pki_bundle_write(&mixed, &order.identity, out, false, &t->text), ERR_INVALID, t);
    mixed = a;
    mixed.ca = b.ca;
    FAILS(pki_bundle_write(&mixed, &order.identity, out, false, &t->text), ERR_INVALID, t);
    mixed = a;
    mixed.cert = a.ca;
    FAILS(pki_bundle_write(&mixed, &order.identity, out, false, &t->text), ERR_NOT_FOUND, t);
    mixed = a;
    mixed.cert.size = 100;
    FAILS(pki_bundle_write(&mixed, &order.identity, out, false, &t->text), ERR_MALFORMED, t);
    assert_int_equal(pki_identity_parse("worker/eu/w2", &other, NULL), OK);
    FAILS(pki_bundle_write(&a, &other, out, false, &t->text), ERR_INVALID, t);
    assert_int_equal(access(out, F_OK), -1);
    OK_OR_TEXT(pki_bundle_write(&a, &order.identity, out, false, &t->text), t);
    pki_bundle_wipe(&a);
    pki_bundle_wipe(&b);
    pki_bundle_wipe(&mixed);
    pki_ca_close(second);
}

/* Requests. */

/* A request for @key that claims to be somebody else; the caller frees it. */
static X509_REQ *boastful_request(EVP_PKEY *key)
{
    X509_REQ *request = X509_REQ_new();
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name,
                                                    "URI:strait://operator/eu/root,DNS:evil.org");
    STACK_OF(X509_EXTENSION) *extensions = sk_X509_EXTENSION_new_null();
    X509_NAME *name = X509_REQ_get_subject_name(request);

    assert_true(sk_X509_EXTENSION_push(extensions, extension) > 0);
    assert_int_equal(X509_REQ_add_extensions(request, extensions), 1);
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                                (const unsigned char *)"root", -1, -1, 0),
                     1);
    assert_int_equal(X509_REQ_set_pubkey(request, key), 1);
    assert_true(X509_REQ_sign(request, key, EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256()) >
                0);
    sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
    return request;
}

static void test_request_gives_its_key_and_nothing_else(void **state)
{
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    X509_REQ *request = boastful_request(key);
    struct pki_description d;
    struct pki_pem pem;
    unsigned char *der = NULL;
    int size = i2d_X509_REQ(request, &der);
    X509 *cert;

    OK_OR_TEXT(pki_ca_sign_request(t->ca, &order, der, (size_t)size, &pem, &t->text), t);
    cert = testing_cert(&pem);
    OK_OR_TEXT(pki_cert_describe(cert, &d, &t->text), t);
    assert_true(pki_identity_equal(&d.identity, &order.identity));
    assert_string_equal(d.subject, "CN=w1,O=eu");
    assert_int_equal(X509_check_host(cert, "evil.org", 0, 0, NULL), 0);
    assert_int_equal(X509_check_private_key(cert, key), 1);
    assert_int_equal(testing_verify(cert, pki_ca_cert(t->ca), NULL, NOW_S, X509_PURPOSE_SSL_CLIENT),
                     X509_V_OK);

    /* Every single changed byte spoils the proof of possession or the form. */
    for (int i = 0; i < size; i += 3) {
        der[i] ^= 1;
        assert_int_not_equal(pki_ca_sign_request(t->ca, &order, der, (size_t)size, &pem, &t->text),
                             OK);
        der[i] ^= 1;
    }
    for (int cut = 0; cut < size; cut += 16) {
        FAILS(pki_ca_sign_request(t->ca, &order, der, (size_t)cut, &pem, &t->text), ERR_MALFORMED,
              t);
    }
    der = OPENSSL_realloc(der, (size_t)size + 1);
    der[size] = 0;
    FAILS(pki_ca_sign_request(t->ca, &order, der, (size_t)size + 1, &pem, &t->text), ERR_MALFORMED,
          t);
    assert_int_equal(testing_issued(t), 1);
    OPENSSL_free(der);
    X509_free(cert);
    X509_REQ_free(request);
    EVP_PKEY_free(key);
}

static void test_request_of_another_kind_is_refused(void **state)
{
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");
    EVP_PKEY *keys[2] = {EVP_EC_gen("P-256"), EVP_PKEY_Q_keygen(NULL, NULL, "ED448")};
    struct pki_pem pem;

    for (size_t i = 0; i < 2; i++) {
        X509_REQ *request = i == 0 ? boastful_request(keys[i]) : X509_REQ_new();
        unsigned char *der = NULL;
        int size;

        if (i == 1) {
            assert_int_equal(X509_REQ_set_pubkey(request, keys[i]), 1);
            assert_true(X509_REQ_sign(request, keys[i], NULL) > 0);
        }
        size = i2d_X509_REQ(request, &der);
        FAILS(pki_ca_sign_request(t->ca, &order, der, (size_t)size, &pem, &t->text), ERR_REFUSED,
              t);
        OPENSSL_free(der);
        X509_REQ_free(request);
        EVP_PKEY_free(keys[i]);
    }
    assert_int_equal(testing_issued(t), 0);
}

static void test_garbage_requests_are_refused(void **state)
{
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");
    struct pki_pem key, request, cert, longer;
    char noise[PKI_PEM_BYTES + 1];
    uint32_t seed = 7;

    for (size_t i = 0; i < sizeof(noise); i++) {
        seed = seed * 1664525u + 1013904223u;
        noise[i] = (char)(seed >> 24);
    }
    for (size_t size = 0; size <= sizeof(noise); size += 97) {
        FAILS(pki_ca_sign_request(t->ca, &order, noise, size, &cert, &t->text), ERR_MALFORMED, t);
    }
    noise[0] = 0x30;
    FAILS(pki_ca_sign_request(t->ca, &order, noise, sizeof(noise), &cert, &t->text), ERR_MALFORMED,
          t);
    OK_OR_TEXT(pki_request_create(&key, &request, &t->text), t);
    for (size_t cut = 0; cut + 2 < request.size; cut += 16) {
        FAILS(pki_ca_sign_request(t->ca, &order, request.chars, cut, &cert, &t->text),
              ERR_MALFORMED, t);
    }
    longer = request;
    FAILS(pki_ca_sign_request(t->ca, &order, longer.chars + 30, 50, &cert, &t->text), ERR_MALFORMED,
          t);
    OK_OR_TEXT(pki_ca_sign_request(t->ca, &order, request.chars, request.size, &cert, &t->text), t);
    pki_pem_wipe(&key);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, testing_setup, testing_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_ca_has_its_files_and_profile),
        CASE(test_create_leaves_an_authority_alone),
        CASE(test_create_fails_whole),
        CASE(test_a_file_is_replaced_only_if_told),
        CASE(test_of_two_creators_one_wins),
        CASE(test_certificates_in_der_are_read_whole),
        CASE(test_open_says_what_is_wrong),
        CASE(test_truncated_files_are_refused),
        CASE(test_encrypted_key_is_refused_without_a_question),
        CASE(test_only_ed25519_keys_are_read),
        CASE(test_issued_certificate_verifies),
        CASE(test_certificate_of_another_authority_fails),
        CASE(test_bad_orders_are_refused_and_leave_no_trace),
        CASE(test_largest_certificate_fits),
        CASE(test_leaf_ends_with_its_authority),
        CASE(test_issue_to_writes_the_files),
        CASE(test_issue_to_checks_before_it_issues),
        CASE(test_mixed_bundles_are_not_written),
        CASE(test_request_gives_its_key_and_nothing_else),
        CASE(test_request_of_another_kind_is_refused),
        CASE(test_garbage_requests_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
