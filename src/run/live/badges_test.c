/* Certificates of a run: everybody gets one, and no key is left behind. */

#include "run/live/badges.h"

#include "run/testing.h"

#include "base/mem.h"
#include "net/pki/ca.h"

#include <openssl/x509.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOW_S = 1800000000 };

static const char yaml[] = "run: test\n"
                           "topology:\n"
                           "  regions: [eu, us]\n"
                           "  links: [{between: [eu, us], rate: 8mbit, rtt: 10ms, price: 0.5}]\n"
                           "sites: [{region: eu, workers: 2}, {name: west, region: us}]\n"
                           "job: {name: synthetic, options: {elements: 10}}\n"
                           "stop: {clocks: 3}\n";

struct stage {
    char dir[32];
    struct run_file *file;
};

static void stage_open(struct stage *s)
{
    struct err_text text = {""};

    (void)snprintf(s->dir, sizeof(s->dir), "/tmp/strait-badges-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    assert_int_equal(run_file_parse("a.yaml", NULL, yaml, strlen(yaml), &s->file, &text), OK);
}

static void stage_close(struct stage *s)
{
    run_file_free(s->file);
    testing_remove(s->dir);
}

static bool stage_has(const struct stage *s, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", s->dir, name);
    return access(path, F_OK) == 0;
}

static void expect(struct run_badge badge, const char *wanted)
{
    char identity[PKI_IDENTITY_TEXT_BYTES];
    struct err_text text = {""};
    struct pki_identity who;
    X509 *cert = NULL;

    assert_int_equal(pki_cert_decode(badge.cert, strlen(badge.cert), &cert, &text), OK);
    assert_int_equal(pki_identity_from_cert(cert, &who, &text), OK);
    assert_string_equal(pki_identity_format(&who, identity), wanted);
    assert_non_null(strstr(badge.key, "PRIVATE KEY"));
    X509_free(cert);
}

static void test_everybody_is_who_the_file_says(void **state)
{
    struct err_text text = {""};
    struct run_badges *b = NULL;
    struct stage s;

    (void)state;
    stage_open(&s);
    if (run_badges_create(s.file, s.dir, NOW_S, &b, &text) != OK) {
        fail_msg("%s", text.text);
    }
    expect(run_badge_server(b, 0), "server/eu/eu-s0");
    expect(run_badge_server(b, 1), "server/west/west-s0");
    expect(run_badge_worker(b, 0), "worker/eu/w0");
    expect(run_badge_worker(b, 2), "worker/west/w2");
    assert_non_null(strstr(run_badges_ca(b), "BEGIN CERTIFICATE"));
    assert_true(stage_has(&s, "ca/ca.crt"));
    assert_false(stage_has(&s, "ca/ca.key"));
    assert_true(stage_has(&s, "operator/operator.key"));
    run_badges_destroy(b);
    run_badges_destroy(NULL);
    assert_false(stage_has(&s, "operator/operator.key"));
    assert_true(stage_has(&s, "operator/operator.crt"));
    stage_close(&s);
}

static void test_an_authority_of_somebody_else_is_left_alone(void **state)
{
    struct err_text text = {""};
    struct run_badges *b = NULL;
    struct stage s;
    char path[64];

    (void)state;
    stage_open(&s);
    (void)snprintf(path, sizeof(path), "%s/ca", s.dir);
    assert_int_equal(pki_ca_create(path, "theirs", NOW_S, 0, &text), OK);
    assert_int_equal(run_badges_create(s.file, s.dir, NOW_S, &b, &text), ERR_EXISTS);
    assert_null(b);
    assert_true(stage_has(&s, "ca/ca.key"));
    stage_close(&s);
}

static void test_no_memory_leaves_no_key(void **state)
{
    enum err rc = ERR_NOMEM;
    uint64_t k;

    (void)state;
    for (k = 1; rc != OK; k++) {
        struct err_text text = {""};
        struct run_badges *b = NULL;
        struct stage s;

        stage_open(&s);
        mem_fail_at(k, 1);
        rc = run_badges_create(s.file, s.dir, NOW_S, &b, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || text.text[0] != '\0');
        assert_false(stage_has(&s, "ca/ca.key"));
        run_badges_destroy(b);
        assert_false(stage_has(&s, "operator/operator.key"));
        stage_close(&s);
    }
    assert_true(k > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everybody_is_who_the_file_says),
        cmocka_unit_test(test_an_authority_of_somebody_else_is_left_alone),
        cmocka_unit_test(test_no_memory_leaves_no_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
