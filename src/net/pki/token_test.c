/* Tests of join tokens: good once, and for nobody else. */

#include "net/pki/testing.h"

#include <dirent.h>
#include <sys/wait.h>

/* A joiner with its request. */
struct joiner {
    struct pki_token token;
    struct pki_pem key;
    struct pki_pem request;
    struct pki_token_claim claim;
    struct pki_token_result result;
    enum pki_token_reason reason;
};

static struct pki_token_grant grant_for(const char *site, const char *name)
{
    struct pki_token_grant grant = {.now_s = NOW_S};

    grant.identity.role = WIRE_ROLE_WORKER;
    (void)snprintf(grant.identity.site, sizeof(grant.identity.site), "%s", site);
    (void)snprintf(grant.identity.name, sizeof(grant.identity.name), "%s", name);
    return grant;
}

/* Make a token for worker/eu/@name and a joiner that holds it. */
static void joiner_init(struct testing *t, struct joiner *j, const char *name)
{
    struct pki_token_grant grant = grant_for("eu", name);
    char text[PKI_TOKEN_TEXT_BYTES];

    OK_OR_TEXT(pki_token_create(t->ca, &grant, text, &t->text), t);
    OK_OR_TEXT(pki_token_parse(text, &j->token, &t->text), t);
    OK_OR_TEXT(pki_request_create(&j->key, &j->request, &t->text), t);
    j->claim = (struct pki_token_claim){.id = j->token.id,
                                        .secret = j->token.secret,
                                        .request = j->request.chars,
                                        .request_bytes = j->request.size,
                                        .now_s = NOW_S + 10};
    j->reason = PKI_TOKEN_REASON_COUNT;
}

static enum err redeem(struct testing *t, struct joiner *j)
{
    return pki_token_redeem(t->ca, &j->claim, &j->result, &j->reason, &t->text);
}

static void refused(struct testing *t, struct joiner *j, enum pki_token_reason reason)
{
    FAILS(redeem(t, j), ERR_REFUSED, t);
    assert_int_equal(j->reason, reason);
    assert_string_equal(pki_token_answer(reason), "token refused");
}

static void test_token_is_good_once(void **state)
{
    struct testing *t = *state;
    struct joiner j;
    struct pki_bundle bundle = {0};
    struct pki_description d;
    X509 *cert, *ca;
    char *pem;

    joiner_init(t, &j, "w1");
    OK_OR_TEXT(redeem(t, &j), t);
    assert_int_equal(j.reason, PKI_TOKEN_GOOD);
    assert_string_equal(j.result.identity.name, "w1");
    cert = testing_cert(&j.result.cert);
    assert_int_equal(testing_verify(cert, pki_ca_cert(t->ca), NULL, NOW_S, X509_PURPOSE_SSL_CLIENT),
                     X509_V_OK);
    OK_OR_TEXT(pki_cert_describe(cert, &d, &t->text), t);
    assert_true(d.identified && pki_identity_equal(&d.identity, &j.result.identity));
    refused(t, &j, PKI_TOKEN_USED);
    refused(t, &j, PKI_TOKEN_USED);

    /* The joiner's side: the pin, then the files. */
    assert_true(pki_pin_matches(pki_ca_cert(t->ca), j.token.pin));
    bundle.cert = j.result.cert;
    bundle.key = j.key;
    pem = testing_read(testing_path(t, "ca/ca.crt"), &bundle.ca.size);
    memcpy(bundle.ca.chars, pem, bundle.ca.size);
    OK_OR_TEXT(pki_cert_decode(bundle.ca.chars, bundle.ca.size, &ca, &t->text), t);
    assert_true(pki_pin_matches(ca, j.token.pin));
    OK_OR_TEXT(pki_bundle_write(&bundle, &j.result.identity, testing_path(t, "o"), false, &t->text),
               t);
    pki_bundle_wipe(&bundle);
    X509_free(ca);
    X509_free(cert);
    free(pem);
}

static void test_token_expires(void **state)
{
    struct testing *t = *state;
    struct joiner j;

    joiner_init(t, &j, "w1");
    j.claim.now_s = NOW_S + PKI_TOKEN_LIFETIME_S;
    refused(t, &j, PKI_TOKEN_EXPIRED);
    j.claim.now_s = INT64_MAX;
    refused(t, &j, PKI_TOKEN_EXPIRED);
    j.claim.now_s = NOW_S + PKI_TOKEN_LIFETIME_S - 1;
    OK_OR_TEXT(redeem(t, &j), t);
}

static void test_wrong_secret_is_refused_and_costs_nothing(void **state)
{
    struct testing *t = *state;
    struct joiner j;

    joiner_init(t, &j, "w1");
    for (size_t bit = 0; bit < 8 * PKI_TOKEN_SECRET_BYTES; bit++) {
        j.token.secret[bit / 8] ^= (uint8_t)(1u << bit % 8);
        refused(t, &j, PKI_TOKEN_SECRET);
        j.token.secret[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    /* A stranger learns nothing from the end of a token either. */
    j.token.secret[0] ^= 1;
    j.claim.now_s = NOW_S + DAY_S;
    refused(t, &j, PKI_TOKEN_SECRET);
    j.token.secret[0] ^= 1;
    j.claim.now_s = NOW_S;
    OK_OR_TEXT(redeem(t, &j), t);
}

static void test_token_of_another_authority_is_unknown(void **state)
{
    struct testing *t = *state;
    struct joiner j;
    struct pki_ca *ours = t->ca, *other = NULL;

    OK_OR_TEXT(pki_ca_create(testing_path(t, "b"), "test", NOW_S, 0, &t->text), t);
    OK_OR_TEXT(pki_ca_open(testing_path(t, "b"), &other, &t->text), t);
    joiner_init(t, &j, "w1");
    assert_false(pki_pin_matches(pki_ca_cert(other), j.token.pin));
    t->ca = other;
    refused(t, &j, PKI_TOKEN_UNKNOWN);
    t->ca = ours;
    OK_OR_TEXT(redeem(t, &j), t);
    pki_ca_close(other);
}

static void test_malformed_ids_never_become_paths(void **state)
{
    static const char *const bad[] = {"",         "a",         "aaaaaaa",  "aaaaaaaaa", "../../ca",
                                      "aaaa/aaa", "aaaaaaa\n", "aaaaaaa1", "........"};
    struct testing *t = *state;
    struct joiner j;

    joiner_init(t, &j, "w1");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        j.claim.id = bad[i];
        refused(t, &j, PKI_TOKEN_MALFORMED);
    }
    j.claim.id = "aaaaaaaa";
    refused(t, &j, PKI_TOKEN_UNKNOWN);
    for (size_t i = 0; i < PKI_TOKEN_ID_CHARS; i++) {
        if (j.token.id[i] >= 'a') {
            j.token.id[i] = (char)(j.token.id[i] - 'a' + 'A');
        }
    }
    j.claim.id = j.token.id; /* Upper case is the same token. */
    OK_OR_TEXT(redeem(t, &j), t);
}

static void test_name_is_the_tokens(void **state)
{
    struct testing *t = *state;
    struct joiner j;

    joiner_init(t, &j, "w1");
    j.claim.name = "w2";
    FAILS(redeem(t, &j), ERR_INVALID, t);
    assert_int_equal(j.reason, PKI_TOKEN_NAME);
    j.claim.name = "w1";
    OK_OR_TEXT(redeem(t, &j), t);
    assert_string_equal(j.result.identity.name, "w1");
}

static void test_joiner_chooses_a_free_name(void **state)
{
    static const char *const bad[] = {NULL, "", "*", "a b", "../x", "ca", ".", "w1"};
    struct testing *t = *state;
    struct pki_order order = testing_order("worker/eu/w1");
    struct pki_bundle bundle;
    struct joiner j;
    uint32_t count;

    OK_OR_TEXT(pki_ca_issue(t->ca, &order, &bundle, &t->text), t);
    pki_bundle_wipe(&bundle);
    joiner_init(t, &j, "*");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        j.claim.name = bad[i];
        FAILS(redeem(t, &j), ERR_INVALID, t);
        assert_int_equal(j.reason, PKI_TOKEN_NAME);
    }
    j.claim.name = "w2";
    OK_OR_TEXT(redeem(t, &j), t);
    assert_string_equal(j.result.identity.name, "w2");
    assert_string_equal(j.result.identity.site, "eu");
    /* Once revoked, a name is free again; and a token that names it needs no such thing. */
    joiner_init(t, &j, "w1");
    OK_OR_TEXT(redeem(t, &j), t);
    OK_OR_TEXT(pki_ca_revoke_identity(t->ca, &order.identity, NOW_S, &count, &t->text), t);
    assert_int_equal(count, 2);
    joiner_init(t, &j, "*");
    j.claim.name = "w1";
    OK_OR_TEXT(redeem(t, &j), t);
}

static void test_bad_request_leaves_the_token(void **state)
{
    struct testing *t = *state;
    struct joiner j;

    joiner_init(t, &j, "w1");
    for (size_t cut = 0; cut + 2 < j.request.size; cut += 16) {
        j.claim.request_bytes = cut;
        FAILS(redeem(t, &j), ERR_INVALID, t);
        assert_int_equal(j.reason, PKI_TOKEN_REQUEST);
    }
    j.claim.request_bytes = j.request.size;
    OK_OR_TEXT(redeem(t, &j), t);
}

static void test_our_own_fault_leaves_the_token(void **state)
{
    struct testing *t = *state;
    struct joiner j;

    joiner_init(t, &j, "w1");
    assert_int_equal(rename(testing_path(t, "ca/issued.jsonl"), testing_path(t, "kept")), 0);
    assert_int_equal(symlink("/dev/full", testing_path(t, "ca/issued.jsonl")), 0);
    FAILS(redeem(t, &j), ERR_FULL, t);
    assert_int_equal(j.reason, PKI_TOKEN_FAULT);
    assert_null(strstr(pki_token_answer(j.reason), "/")); /* No path of ours goes out. */
    assert_int_equal(rename(testing_path(t, "kept"), testing_path(t, "ca/issued.jsonl")), 0);
    OK_OR_TEXT(redeem(t, &j), t);
    refused(t, &j, PKI_TOKEN_USED);
}

/* Two processes and one token, many times: one wins each time. */
static void test_of_two_processes_one_wins(void **state)
{
    enum { ROUNDS = 20, PROCESSES = 2 };
    struct testing *t = *state;
    struct joiner j;

    for (int round = 0; round < ROUNDS; round++) {
        int gate[2], won = 0, used = 0;
        pid_t pids[PROCESSES];

        joiner_init(t, &j, "w1");
        assert_int_equal(pipe(gate), 0);
        for (int p = 0; p < PROCESSES; p++) {
            pids[p] = fork();
            if (pids[p] == 0) {
                char byte;
                enum err rc;

                (void)close(gate[1]);
                (void)!read(gate[0], &byte, 1); /* All start when the gate closes. */
                rc = redeem(t, &j);
                _exit(rc == OK ? 1 : j.reason == PKI_TOKEN_USED ? 2 : 3);
            }
        }
        (void)close(gate[0]);
        (void)close(gate[1]);
        for (int p = 0; p < PROCESSES; p++) {
            int status = 0;

            assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
            assert_true(WIFEXITED(status));
            won += WEXITSTATUS(status) == 1;
            used += WEXITSTATUS(status) == 2;
        }
        assert_int_equal(won, 1);
        assert_int_equal(used, PROCESSES - 1);
    }
}

/* Count the files of the tokens folder that hold @chars; NULL: all. */
static int files_with(struct testing *t, const char *chars)
{
    DIR *dir = opendir(testing_path(t, "ca/tokens"));
    const struct dirent *entry;
    int count = 0;

    while ((entry = readdir(dir)) != NULL) {
        char leaf[300];
        char *content;

        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(leaf, sizeof(leaf), "ca/tokens/%s", entry->d_name);
        assert_int_equal(testing_mode(testing_path(t, leaf)), 0600);
        content = testing_read(testing_path(t, leaf), NULL);
        count += chars == NULL || strstr(content, chars) != NULL;
        free(content);
    }
    (void)closedir(dir);
    return count;
}

static void test_secret_is_not_on_the_disk(void **state)
{
    struct testing *t = *state;
    struct pki_token_grant grant = grant_for("eu", "*");
    char text[PKI_TOKEN_TEXT_BYTES], secret[27];

    OK_OR_TEXT(pki_token_create(t->ca, &grant, text, &t->text), t);
    assert_int_equal(strlen(text), PKI_TOKEN_TEXT_BYTES - 1);
    assert_int_equal(strncmp(text, "strait1.", 8), 0);
    memcpy(secret, text + 17, 26);
    secret[26] = '\0';
    assert_int_equal(files_with(t, NULL), 1);
    assert_int_equal(files_with(t, secret), 0);
    assert_int_equal(files_with(t, "secret_sha256"), 1);
}

static void test_old_tokens_are_removed(void **state)
{
    struct testing *t = *state;
    struct joiner j;
    struct pki_token_grant grant = grant_for("eu", "late");
    char text[PKI_TOKEN_TEXT_BYTES];

    joiner_init(t, &j, "w1");
    OK_OR_TEXT(redeem(t, &j), t);
    joiner_init(t, &j, "w2");
    testing_write(testing_path(t, "ca/tokens/damaged.json"), "{", 1);
    grant.now_s = NOW_S + DAY_S; /* They ended less than a day ago. */
    OK_OR_TEXT(pki_token_create(t->ca, &grant, text, &t->text), t);
    assert_int_equal(files_with(t, NULL), 4);
    grant.now_s = NOW_S + DAY_S + PKI_TOKEN_LIFETIME_S + 1;
    OK_OR_TEXT(pki_token_create(t->ca, &grant, text, &t->text), t);
    assert_int_equal(files_with(t, NULL), 3);
    refused(t, &j, PKI_TOKEN_UNKNOWN);
}

static void test_damaged_token_file_is_a_fault(void **state)
{
    struct testing *t = *state;
    struct joiner j;
    char leaf[64];
    size_t size = 0;
    char *whole;

    joiner_init(t, &j, "w1");
    (void)snprintf(leaf, sizeof(leaf), "ca/tokens/%s.json", j.token.id);
    whole = testing_read(testing_path(t, leaf), &size);
    for (size_t cut = 0; cut + 2 < size; cut += 16) {
        testing_write(testing_path(t, leaf), whole, cut);
        FAILS(redeem(t, &j), ERR_MALFORMED, t);
        assert_int_equal(j.reason, PKI_TOKEN_FAULT);
    }
    testing_write(testing_path(t, leaf), whole, size);
    OK_OR_TEXT(redeem(t, &j), t);
    free(whole);
}

static void test_token_text_has_one_spelling(void **state)
{
    struct testing *t = *state;
    struct pki_token_grant grant = grant_for("eu", "w1");
    struct pki_token a, b;
    char text[PKI_TOKEN_TEXT_BYTES], changed[PKI_TOKEN_TEXT_BYTES + 8];

    OK_OR_TEXT(pki_token_create(t->ca, &grant, text, &t->text), t);
    OK_OR_TEXT(pki_token_parse(text, &a, &t->text), t);
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        (void)strcpy(changed, text);
        changed[i] = '\0';
        FAILS(pki_token_parse(changed, &b, &t->text), ERR_INVALID, t);
        assert_null(strstr(t->text.text, text + 17));
        changed[i] = '!';
        FAILS(pki_token_parse(changed, &b, &t->text), ERR_INVALID, t);
    }
    (void)snprintf(changed, sizeof(changed), "%sx", text);
    FAILS(pki_token_parse(changed, &b, &t->text), ERR_INVALID, t);
    /* The last character of the secret has two spare bits. */
    (void)strcpy(changed, text);
    changed[17 + 25] = changed[17 + 25] == 'b' ? 'c' : 'b';
    FAILS(pki_token_parse(changed, &b, &t->text), ERR_INVALID, t);
    for (size_t i = 8; i < sizeof(text) - 1; i++) {
        changed[i] = (char)(text[i] >= 'a' ? text[i] - 'a' + 'A' : text[i]);
    }
    OK_OR_TEXT(pki_token_parse(changed, &b, &t->text), t);
    assert_memory_equal(&a, &b, sizeof(a));
    pki_token_wipe(&a);
    assert_int_equal(a.id[0], 0);
}

static void test_bad_grants_are_refused(void **state)
{
    struct testing *t = *state;
    struct pki_token_grant grant = grant_for("eu", "w 1");
    char text[PKI_TOKEN_TEXT_BYTES] = "";

    FAILS(pki_token_create(t->ca, &grant, text, &t->text), ERR_INVALID, t);
    grant = grant_for("*", "w1");
    FAILS(pki_token_create(t->ca, &grant, text, &t->text), ERR_INVALID, t);
    grant = grant_for("eu", "w1");
    grant.identity.role = WIRE_ROLE_STRANGER;
    FAILS(pki_token_create(t->ca, &grant, text, &t->text), ERR_INVALID, t);
    grant = grant_for("eu", "w1");
    grant.lifetime_s = PKI_TOKEN_LIFETIME_S_MAX + 1;
    FAILS(pki_token_create(t->ca, &grant, text, &t->text), ERR_INVALID, t);
    grant = grant_for("eu", "w1");
    grant.now_s = INT64_MAX;
    FAILS(pki_token_create(t->ca, &grant, text, &t->text), ERR_INVALID, t);
    assert_string_equal(text, "");
    /* A file in place of the folder. */
    grant = grant_for("eu", "w1");
    assert_int_equal(rmdir(testing_path(t, "ca/tokens")), 0);
    testing_write(testing_path(t, "ca/tokens"), "x", 1);
    FAILS(pki_token_create(t->ca, &grant, text, &t->text), ERR_IO, t);
    assert_string_equal(text, "");
}

static void test_every_reason_has_a_word(void **state)
{
    (void)state;
    for (unsigned int i = 0; i < PKI_TOKEN_REASON_COUNT; i++) {
        assert_non_null(pki_token_reason_name((enum pki_token_reason)i));
        assert_non_null(pki_token_answer((enum pki_token_reason)i));
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, testing_setup, testing_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_token_is_good_once),
        CASE(test_token_expires),
        CASE(test_wrong_secret_is_refused_and_costs_nothing),
        CASE(test_token_of_another_authority_is_unknown),
        CASE(test_malformed_ids_never_become_paths),
        CASE(test_name_is_the_tokens),
        CASE(test_joiner_chooses_a_free_name),
        CASE(test_bad_request_leaves_the_token),
        CASE(test_our_own_fault_leaves_the_token),
        CASE(test_of_two_processes_one_wins),
        CASE(test_secret_is_not_on_the_disk),
        CASE(test_old_tokens_are_removed),
        CASE(test_damaged_token_file_is_a_fault),
        CASE(test_token_text_has_one_spelling),
        CASE(test_bad_grants_are_refused),
        cmocka_unit_test(test_every_reason_has_a_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
