/* Tests of revocation and of the record, and of what crashes, races and disks do to both. */

#include "net/pki/testing.h"

#include "base/mem.h"

#include <sys/wait.h>

/* Revoking. */

static X509 *issue(struct testing *t, const char *identity, char *serial_out)
{
    struct pki_order order = testing_order(identity);
    struct pki_bundle bundle;
    struct pki_description d;
    X509 *cert;

    OK_OR_TEXT(pki_ca_issue(t->ca, &order, &bundle, &t->text), t);
    cert = testing_cert(&bundle.cert);
    OK_OR_TEXT(pki_cert_describe(cert, &d, &t->text), t);
    if (serial_out != NULL) {
        (void)strcpy(serial_out, d.serial);
    }
    pki_bundle_wipe(&bundle);
    return cert;
}

static int verify_now(struct testing *t, X509 *cert)
{
    X509_CRL *crl = testing_crl(t);
    int error = testing_verify(cert, pki_ca_cert(t->ca), crl, NOW_S, X509_PURPOSE_SSL_CLIENT);

    X509_CRL_free(crl);
    return error;
}

static void test_revoked_by_serial_identity_or_file(void **state)
{
    struct testing *t = *state;
    char serial[PKI_SERIAL_TEXT_BYTES], spelt[80];
    X509 *a = issue(t, "worker/eu/a", serial), *b1 = issue(t, "worker/eu/b", NULL);
    X509 *b2 = issue(t, "worker/eu/b", NULL), *c = issue(t, "worker/eu/c", NULL);
    X509 *certs[4] = {a, b1, b2, c};
    struct pki_identity identity;
    struct pki_order order = testing_order("worker/eu/d");
    uint32_t count = 99;
    size_t n = 0;

    for (int i = 0; i < 4; i++) {
        assert_int_equal(verify_now(t, certs[i]), X509_V_OK);
    }
    /* As other tools spell it: upper case, colons, leading zeros. */
    for (const char *s = serial; *s != '\0'; s += 2) {
        n += (size_t)snprintf(spelt + n, sizeof(spelt) - n, "%s%c%c", n == 0 ? "00:" : ":", s[0],
                              s[1] >= 'a' ? s[1] - 'a' + 'A' : s[1]);
    }
    OK_OR_TEXT(pki_ca_revoke_serial(t->ca, spelt, NOW_S, &count, &t->text), t);
    assert_int_equal(count, 1);
    assert_int_equal(verify_now(t, a), X509_V_ERR_CERT_REVOKED);
    assert_int_equal(verify_now(t, b1), X509_V_OK);
    OK_OR_TEXT(pki_ca_revoke_serial(t->ca, serial, NOW_S, &count, &t->text), t);
    assert_int_equal(count, 0);

    assert_int_equal(pki_identity_parse("worker/eu/b", &identity, NULL), OK);
    OK_OR_TEXT(pki_ca_revoke_identity(t->ca, &identity, NOW_S, &count, &t->text), t);
    assert_int_equal(count, 2);
    assert_int_equal(verify_now(t, b1), X509_V_ERR_CERT_REVOKED);
    assert_int_equal(verify_now(t, b2), X509_V_ERR_CERT_REVOKED);
    assert_int_equal(verify_now(t, a), X509_V_ERR_CERT_REVOKED);
    assert_int_equal(verify_now(t, c), X509_V_OK);

    OK_OR_TEXT(pki_ca_issue_to(t->ca, &order, testing_path(t, "o"), false, &t->text), t);
    OK_OR_TEXT(pki_ca_revoke_cert(t->ca, testing_path(t, "o/d.crt"), NOW_S, &count, &t->text), t);
    assert_int_equal(count, 1);
    assert_int_equal(verify_now(t, c), X509_V_OK);
    for (int i = 0; i < 4; i++) {
        X509_free(certs[i]);
    }
}

static void test_revoking_the_unknown_is_refused(void **state)
{
    struct testing *t = *state;
    struct pki_identity identity;
    struct pki_ca *other = NULL;
    struct pki_order order = testing_order("worker/eu/w1");
    uint32_t count = 99;
    char *before = testing_read(testing_path(t, "ca/revoked.crl"), NULL), *after;

    FAILS(pki_ca_revoke_serial(t->ca, "1234", NOW_S, &count, &t->text), ERR_NOT_FOUND, t);
    FAILS(pki_ca_revoke_serial(t->ca, "", NOW_S, &count, &t->text), ERR_INVALID, t);
    FAILS(pki_ca_revoke_serial(t->ca, "12x4", NOW_S, &count, &t->text), ERR_INVALID, t);
    FAILS(pki_ca_revoke_serial(t->ca, "11111111112222222222333333333344444444445", NOW_S, &count,
                               &t->text),
          ERR_INVALID, t);
    assert_int_equal(pki_identity_parse("worker/eu/nobody", &identity, NULL), OK);
    FAILS(pki_ca_revoke_identity(t->ca, &identity, NOW_S, &count, &t->text), ERR_NOT_FOUND, t);
    OK_OR_TEXT(pki_ca_create(testing_path(t, "b"), "test", NOW_S, 0, &t->text), t);
    OK_OR_TEXT(pki_ca_open(testing_path(t, "b"), &other, &t->text), t);
    OK_OR_TEXT(pki_ca_issue_to(other, &order, testing_path(t, "o"), false, &t->text), t);
    FAILS(pki_ca_revoke_cert(t->ca, testing_path(t, "o/w1.crt"), NOW_S, &count, &t->text),
          ERR_REFUSED, t);
    FAILS(pki_ca_revoke_cert(t->ca, testing_path(t, "ca/ca.crt"), NOW_S, &count, &t->text),
          ERR_REFUSED, t);
    FAILS(pki_ca_revoke_cert(t->ca, testing_path(t, "none"), NOW_S, &count, &t->text),
          ERR_NOT_FOUND, t);
    assert_int_equal(count, 99);
    after = testing_read(testing_path(t, "ca/revoked.crl"), NULL);
    assert_string_equal(before, after);
    pki_ca_close(other);
    free(before);
    free(after);
}

static long crl_number(struct testing *t)
{
    X509_CRL *crl = testing_crl(t);
    ASN1_INTEGER *number = X509_CRL_get_ext_d2i(crl, NID_crl_number, NULL, NULL);
    long value = ASN1_INTEGER_get(number);

    ASN1_INTEGER_free(number);
    X509_CRL_free(crl);
    return value;
}

static void test_list_is_numbered_and_outlives_its_members(void **state)
{
    struct testing *t = *state;
    char serial[PKI_SERIAL_TEXT_BYTES];
    X509_CRL *crl;
    uint32_t count;

    assert_int_equal(crl_number(t), 1);
    for (long i = 2; i < 6; i++) {
        X509_free(issue(t, "worker/eu/w1", serial));
        OK_OR_TEXT(pki_ca_revoke_serial(t->ca, serial, NOW_S, &count, &t->text), t);
        assert_int_equal(crl_number(t), i);
    }
    crl = testing_crl(t);
    assert_int_equal(X509_cmp_time(X509_CRL_get0_nextUpdate(crl),
                                   &(time_t){(time_t)(NOW_S + INT64_C(3649) * DAY_S)}),
                     1);
    assert_int_equal(sk_X509_REVOKED_num(X509_CRL_get_REVOKED(crl)), 4);
    X509_CRL_free(crl);
}

/* A list of the authority with another date, and without a number if @plain. */
static X509_CRL *dated(struct testing *t, int64_t now_s, bool plain)
{
    X509_CRL *crl = testing_crl(t);
    ASN1_TIME *when = ASN1_TIME_set(NULL, (time_t)now_s);

    assert_int_equal(X509_CRL_set1_lastUpdate(crl, when), 1);
    if (plain) {
        X509_EXTENSION_free(
            X509_CRL_delete_ext(crl, X509_CRL_get_ext_by_NID(crl, NID_crl_number, -1)));
    }
    ASN1_TIME_free(when);
    return crl;
}

static void test_the_older_of_two_lists_is_known_by_number_then_date(void **state)
{
    struct testing *t = *state;
    char serial[PKI_SERIAL_TEXT_BYTES];
    X509_CRL *first = dated(t, NOW_S + DAY_S, false), *again = dated(t, NOW_S, false);
    X509_CRL *plain = dated(t, NOW_S + 2 * DAY_S, true), *second;
    uint32_t count;

    X509_free(issue(t, "worker/eu/w1", serial));
    OK_OR_TEXT(pki_ca_revoke_serial(t->ca, serial, NOW_S, &count, &t->text), t);
    second = testing_crl(t);
    assert_true(pki_crl_is_older(first, second)); /* By number, whatever the date. */
    assert_false(pki_crl_is_older(second, first));
    assert_false(pki_crl_is_older(first, first));
    assert_true(pki_crl_is_older(again, first));
    assert_false(pki_crl_is_older(first, again));
    assert_true(pki_crl_is_older(second, plain));
    assert_false(pki_crl_is_older(plain, second));
    X509_CRL_free(first);
    X509_CRL_free(again);
    X509_CRL_free(plain);
    X509_CRL_free(second);
}

static void test_damaged_list_is_never_replaced(void **state)
{
    struct testing *t = *state;
    char serial[PKI_SERIAL_TEXT_BYTES];
    X509 *cert = issue(t, "worker/eu/w1", serial);
    const char *path = testing_path(t, "ca/revoked.crl");
    size_t size = 0;
    char *whole = testing_read(path, &size), *after;
    X509_CRL *crl = NULL;
    uint32_t count;

    for (size_t cut = 0; cut + 2 < size; cut += 16) {
        testing_write(path, whole, cut);
        FAILS(pki_ca_revoke_serial(t->ca, serial, NOW_S, &count, &t->text), ERR_MALFORMED, t);
        FAILS(pki_crl_read(path, pki_ca_cert(t->ca), &crl, &t->text), ERR_MALFORMED, t);
    }
    after = testing_read(path, NULL);
    assert_int_equal(strncmp(after, whole, strlen(after)), 0);
    assert_int_equal(unlink(path), 0);
    FAILS(pki_ca_revoke_serial(t->ca, serial, NOW_S, &count, &t->text), ERR_NOT_FOUND, t);
    testing_write(path, whole, size);
    OK_OR_TEXT(pki_ca_revoke_serial(t->ca, serial, NOW_S, &count, &t->text), t);
    assert_int_equal(count, 1);
    free(after);
    free(whole);
    X509_free(cert);
}

struct listing {
    char text[1024];
};

static enum err list_record(const struct pki_record *record, void *user)
{
    struct listing *listing = user;
    char identity[PKI_IDENTITY_TEXT_BYTES];
    size_t used = strlen(listing->text);

    assert_int_equal(record->not_before_s, NOW_S - 300);
    assert_int_equal(strlen(record->fingerprint), 64);
    (void)snprintf(listing->text + used, sizeof(listing->text) - used, "%s%s\n",
                   pki_identity_format(&record->identity, identity),
                   record->revoked ? " revoked" : "");
    return OK;
}

static enum err list_stop(const struct pki_record *record, void *user)
{
    (void)record;
    (void)user;
    return ERR_CANCELLED;
}

static void test_list_tells_all(void **state)
{
    struct testing *t = *state;
    struct listing listing = {{0}};
    char serial[PKI_SERIAL_TEXT_BYTES];
    uint32_t count;

    X509_free(issue(t, "server/eu/s0", NULL));
    X509_free(issue(t, "worker/eu/w1", serial));
    X509_free(issue(t, "worker/us/w2", NULL));
    OK_OR_TEXT(pki_ca_revoke_serial(t->ca, serial, NOW_S, &count, &t->text), t);
    OK_OR_TEXT(pki_ca_list(t->ca, list_record, &listing, &t->text), t);
    assert_string_equal(listing.text, "server/eu/s0\nworker/eu/w1 revoked\nworker/us/w2\n");
    assert_int_equal(pki_ca_list(t->ca, list_stop, NULL, &t->text), ERR_CANCELLED);
}

/* Crashes, races and disks. */

static void test_cut_record_is_repaired(void **state)
{
    struct testing *t = *state;
    const char *path = testing_path(t, "ca/issued.jsonl");
    size_t size = 0;
    char *two;

    X509_free(issue(t, "worker/eu/w1", NULL));
    X509_free(issue(t, "worker/eu/w2", NULL));
    two = testing_read(path, &size);
    for (size_t cut = size - 1; cut > size / 2 + 1; cut -= 16) {
        testing_write(path, two, cut);
        assert_int_equal(testing_issued(t), 1);
        X509_free(issue(t, "worker/eu/w3", NULL));
        assert_int_equal(testing_issued(t), 2);
    }
    two[3] = '!';
    testing_write(path, two, size);
    FAILS(pki_ca_list(t->ca, testing_count_record, &(uint32_t){0}, &t->text), ERR_MALFORMED, t);
    assert_non_null(strstr(t->text.text, "line 1"));
    free(two);
}

static void test_damaged_serial_is_refused(void **state)
{
    static const char *const bad[] = {"", "\n", "x\n", "1\n", "-5\n", "4294967295\n", "2", "2 2\n"};
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");
    struct pki_bundle bundle;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        testing_write(testing_path(t, "ca/serial"), bad[i], strlen(bad[i]));
        FAILS(pki_ca_issue(t->ca, &order, &bundle, &t->text), ERR_MALFORMED, t);
    }
    assert_int_equal(unlink(testing_path(t, "ca/serial")), 0);
    FAILS(pki_ca_issue(t->ca, &order, &bundle, &t->text), ERR_NOT_FOUND, t);
    assert_int_equal(mkdir(testing_path(t, "ca/serial"), 0700), 0);
    FAILS(pki_ca_issue(t->ca, &order, &bundle, &t->text), ERR_IO, t);
    assert_non_null(strstr(t->text.text, "ca/serial"));
    assert_int_equal(testing_issued(t), 0);
}

static void test_nothing_is_handed_out_without_a_record(void **state)
{
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");
    struct pki_bundle bundle = {0};

    assert_int_equal(unlink(testing_path(t, "ca/issued.jsonl")), 0);
    FAILS(pki_ca_issue(t->ca, &order, &bundle, &t->text), ERR_NOT_FOUND, t);
    assert_int_equal(mkdir(testing_path(t, "ca/issued.jsonl"), 0700), 0);
    FAILS(pki_ca_issue(t->ca, &order, &bundle, &t->text), ERR_IO, t);
    assert_int_equal(bundle.cert.size, 0);
    /* A full disk. */
    assert_int_equal(rmdir(testing_path(t, "ca/issued.jsonl")), 0);
    assert_int_equal(symlink("/dev/full", testing_path(t, "ca/issued.jsonl")), 0);
    FAILS(pki_ca_issue(t->ca, &order, &bundle, &t->text), ERR_FULL, t);
    assert_int_equal(bundle.cert.size, 0);
}

static enum err check_serial_order(const struct pki_record *record, void *user)
{
    unsigned long *last = user;
    unsigned long counter = strtoul(record->serial, NULL, 16);
    char head[PKI_SERIAL_TEXT_BYTES];

    /* All but the last 16 digits, which are random. */
    (void)snprintf(head, sizeof(head), "%.*s", (int)strlen(record->serial) - 16, record->serial);
    counter = strtoul(head, NULL, 16);
    assert_true(counter > *last);
    *last = counter;
    return OK;
}

static void test_processes_may_issue_at_once(void **state)
{
    enum { PROCESSES = 4, EACH = 8 };
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");
    pid_t pids[PROCESSES];
    unsigned long last = 0;

    for (int p = 0; p < PROCESSES; p++) {
        pids[p] = fork();
        if (pids[p] == 0) {
            struct pki_bundle bundle;
            int failed = 0;

            for (int i = 0; i < EACH; i++) {
                failed += pki_ca_issue(t->ca, &order, &bundle, NULL) != OK;
            }
            _exit(failed);
        }
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = 1;

        assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(testing_issued(t), PROCESSES * EACH);
    OK_OR_TEXT(pki_ca_list(t->ca, check_serial_order, &last, &t->text), t);
    assert_int_equal(last, 1 + PROCESSES * EACH);
}

static void test_each_allocation_may_fail(void **state)
{
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");
    bool failed = true;

    for (uint64_t k = 1; failed; k++) {
        struct pki_ca *ca = NULL;
        struct pki_bundle bundle;
        uint64_t before = mem_failures();
        enum err rc;

        mem_fail_at(k, 1);
        rc = pki_ca_open(t->ca_dir, &ca, &t->text);
        if (rc == OK) {
            rc = pki_ca_issue(ca, &order, &bundle, &t->text);
        }
        mem_fail_at(0, 0);
        failed = mem_failures() != before;
        assert_int_equal(rc, failed ? ERR_NOMEM : OK);
        pki_ca_close(ca);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, testing_setup, testing_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_revoked_by_serial_identity_or_file),
        CASE(test_revoking_the_unknown_is_refused),
        CASE(test_list_is_numbered_and_outlives_its_members),
        CASE(test_the_older_of_two_lists_is_known_by_number_then_date),
        CASE(test_damaged_list_is_never_replaced),
        CASE(test_list_tells_all),
        CASE(test_cut_record_is_repaired),
        CASE(test_damaged_serial_is_refused),
        CASE(test_nothing_is_handed_out_without_a_record),
        CASE(test_processes_may_issue_at_once),
        CASE(test_each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
