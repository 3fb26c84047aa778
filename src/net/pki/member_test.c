/* A member's files: whose they are, and what is said if that is not clear. */

#include "net/pki/member.h"

#include "net/pki/testing.h"

/* The member's certificate in DIR/@folder. */
static void issue(struct testing *t, const char *identity, const char *folder)
{
    struct pki_order order = testing_order(identity);

    (void)mkdir(testing_path(t, folder), 0700);
    OK_OR_TEXT(pki_ca_issue_to(t->ca, &order, testing_path(t, folder), false, &t->text), t);
}

static void assert_files(const struct testing *t, const struct pki_member_files *files,
                         const char *cert, const char *key, const char *ca, const char *crl)
{
    assert_string_equal(files->cert, testing_path(t, cert));
    assert_string_equal(files->key, testing_path(t, key));
    assert_string_equal(files->ca, testing_path(t, ca));
    assert_string_equal(files->crl, testing_path(t, crl));
}

static void test_the_only_member_needs_no_name(void **state)
{
    struct testing *t = *state;
    struct pki_member_files files;

    issue(t, "worker/eu/anna", "m");
    OK_OR_TEXT(pki_member_find(testing_path(t, "m"), NULL, &files, &t->text), t);
    assert_files(t, &files, "m/anna.crt", "m/anna.key", "m/ca.crt", "m/revoked.crl");
    OK_OR_TEXT(pki_member_find(testing_path(t, "m"), "", &files, &t->text), t);
    assert_files(t, &files, "m/anna.crt", "m/anna.key", "m/ca.crt", "m/revoked.crl");
}

static void test_of_several_one_is_chosen_by_name(void **state)
{
    struct testing *t = *state;
    struct pki_member_files files = {.cert = "as it was"};
    char want[256];

    issue(t, "worker/eu/anna", "m");
    issue(t, "server/eu/bert", "m");
    (void)snprintf(want, sizeof(want), "%s: 2 members have certificates there",
                   testing_path(t, "m"));
    FAILS(pki_member_find(testing_path(t, "m"), NULL, &files, &t->text), ERR_INVALID, t);
    assert_string_equal(t->text.text, want);
    assert_string_equal(files.cert, "as it was");
    OK_OR_TEXT(pki_member_find(testing_path(t, "m"), "bert", &files, &t->text), t);
    assert_files(t, &files, "m/bert.crt", "m/bert.key", "m/ca.crt", "m/revoked.crl");
}

static void test_a_folder_without_members_is_refused(void **state)
{
    struct testing *t = *state;
    struct pki_member_files files;

    FAILS(pki_member_find(t->ca_dir, NULL, &files, &t->text), ERR_NOT_FOUND, t);
    assert_non_null(strstr(t->text.text, "/ca: no certificate of a member is in that folder"));
    FAILS(pki_member_find(testing_path(t, "nowhere"), NULL, &files, &t->text), ERR_IO, t);
    assert_non_null(strstr(t->text.text, "/nowhere: No such file or directory"));
    FAILS(pki_member_find(testing_path(t, "ca/ca.crt"), NULL, &files, &t->text), ERR_IO, t);
    assert_non_null(strstr(t->text.text, "Not a directory"));
}

static void test_a_path_that_is_too_long_is_refused(void **state)
{
    struct testing *t = *state;
    struct pki_member_files files;
    char dir[PKI_PATH_BYTES];

    memset(dir, 'x', sizeof(dir));
    dir[sizeof(dir) - 1] = '\0';
    FAILS(pki_member_find(dir, "anna", &files, &t->text), ERR_TOO_BIG, t);
    dir[sizeof(dir) - sizeof("/anna.crt")] = '\0';
    FAILS(pki_member_find(dir, "anna", &files, &t->text), ERR_TOO_BIG, t); /* The list. */
    dir[sizeof(dir) - sizeof("/revoked.crl")] = '\0';
    OK_OR_TEXT(pki_member_find(dir, "anna", &files, &t->text), t);
}

static void test_certificates_of_members_are_known_by_their_names(void **state)
{
    (void)state;
    assert_true(pki_member_is_cert("anna.crt"));
    assert_true(pki_member_is_cert("a.crt"));
    assert_true(pki_member_is_cert("my-ca.crt"));
    assert_false(pki_member_is_cert("ca.crt"));
    assert_false(pki_member_is_cert(".crt"));
    assert_false(pki_member_is_cert("anna.key"));
    assert_false(pki_member_is_cert("anna.crt.tmp-0"));
    assert_false(pki_member_is_cert("crt"));
    assert_false(pki_member_is_cert(""));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, testing_setup, testing_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_the_only_member_needs_no_name),
        CASE(test_of_several_one_is_chosen_by_name),
        CASE(test_a_folder_without_members_is_refused),
        CASE(test_a_path_that_is_too_long_is_refused),
        cmocka_unit_test(test_certificates_of_members_are_known_by_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
