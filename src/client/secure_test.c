/* With certificates: who gets in, and what is said to the others. */

#include "client/testing_calls.h"
#include "net/pki/ca.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

struct authority {
    char dir[64];
    struct pki_ca *ca;
    char path[256];
};

static const char *path_in(struct authority *a, const char *name)
{
    (void)snprintf(a->path, sizeof(a->path), "%s/%s", a->dir, name);
    return a->path;
}

/* A certificate into a folder below. */
static void issue_for(struct authority *a, enum wire_role role, const char *site, const char *name,
                      const char *folder)
{
    struct pki_order order = {.now_s = clock_wall_us() / 1000000};
    struct err_text text = {""};

    assert_int_equal(pki_identity_make(role, site, name, &order.identity, &text), OK);
    (void)mkdir(path_in(a, folder), 0700);
    if (pki_ca_issue_to(a->ca, &order, path_in(a, folder), false, &text) != OK) {
        fail_msg("%s", text.text);
    }
}

static void issue(struct authority *a, enum wire_role role, const char *name, const char *folder)
{
    issue_for(a, role, "home", name, folder);
}

static int authority_setup(void **state)
{
    struct authority *a = calloc(1, sizeof(*a));
    struct err_text text = {""};
    int64_t now_s = clock_wall_us() / 1000000;

    (void)snprintf(a->dir, sizeof(a->dir), "/tmp/strait-secure-XXXXXX");
    assert_non_null(mkdtemp(a->dir));
    assert_int_equal(pki_ca_create(path_in(a, "ca"), "test", now_s, 0, &text), OK);
    assert_int_equal(pki_ca_open(path_in(a, "ca"), &a->ca, &text), OK);
    issue(a, WIRE_ROLE_SERVER, "server", "server");
    issue(a, WIRE_ROLE_WORKER, "anna", "anna");
    issue(a, WIRE_ROLE_WORKER, "bert", "two");
    issue(a, WIRE_ROLE_WORKER, "carl", "two");
    issue_for(a, WIRE_ROLE_WORKER, "away", "dora", "dora");
    *state = a;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static int authority_teardown(void **state)
{
    struct authority *a = *state;

    pki_ca_close(a->ca);
    assert_int_equal(nftw(a->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(a);
    return 0;
}

static const char *with_cert(struct authority *a, const char *folder, const char *name)
{
    static char more[512];

    (void)snprintf(more, sizeof(more), ", \"cert\": \"%s/%s\"%s%s%s", a->dir, folder,
                   name != NULL ? ", \"name\": \"" : "", name != NULL ? name : "",
                   name != NULL ? "\"" : "");
    return more;
}

static void test_members_train_over_tls(void **state)
{
    struct authority *a = *state;
    char server[256];
    struct client_testing_site t = {.certs = server};
    float floats[3] = {1, 2, 3}, out[3];
    strait *anna, *bert;
    int table;

    (void)snprintf(server, sizeof(server), "%s", path_in(a, "server"));
    testing_site_start(&t, "bsp", NODE_BROADCAST, 2, 2);
    anna = open_worker(&t, with_cert(a, "anna", NULL));
    bert = open_worker(&t, with_cert(a, "two", "bert"));
    FAILS(strait_join(anna, 0, NULL), STRAIT_E_TIMEOUT, "");
    OKAY(strait_join(bert, T, NULL));
    OKAY(strait_join(anna, T, NULL));
    table = make_table(anna, "w", 1, 3);
    assert_int_equal(make_table(bert, "w", 1, 3), table);
    OKAY(strait_update(anna, table, 0, 3, floats));
    OKAY(strait_update(bert, table, 0, 3, floats));
    FAILS(strait_clock(anna, 1, 0, NULL), STRAIT_E_TIMEOUT, "");
    OKAY(strait_clock(bert, 1, T, NULL));
    OKAY(strait_clock(anna, 1, T, NULL));
    OKAY(strait_read(bert, table, 0, 3, out, T));
    assert_true(out[0] == 2 && out[1] == 4 && out[2] == 6);
    leave_worker(anna);
    leave_worker(bert);
    testing_site_stop(&t);
}

static void test_certificates_that_will_not_do_are_refused_at_once(void **state)
{
    struct authority *a = *state;
    char server[256], options[TESTING_OPTIONS_BYTES];
    struct client_testing_site t = {.certs = server};
    strait *s;

    (void)snprintf(server, sizeof(server), "%s", path_in(a, "server"));
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    (void)mkdir(path_in(a, "empty"), 0700);
    FAILS(strait_open(testing_options(&t, with_cert(a, "nowhere", NULL), options), &s),
          STRAIT_E_CERT, "nowhere: No such file");
    FAILS(strait_open(testing_options(&t, with_cert(a, "empty", NULL), options), &s), STRAIT_E_CERT,
          "no certificate of a member is in that folder; strait cert issue makes one");
    FAILS(strait_open(testing_options(&t, with_cert(a, "two", NULL), options), &s), STRAIT_E_CERT,
          "2 members have certificates there; say which with \"name\"");
    FAILS(strait_open(testing_options(&t, with_cert(a, "two", "anna"), options), &s), STRAIT_E_CERT,
          "anna");
    FAILS(strait_open(testing_options(&t, with_cert(a, "server", NULL), options), &s),
          STRAIT_E_CERT, "not a worker's");
    assert_int_equal(chmod(path_in(a, "anna/anna.key"), 0644), 0);
    FAILS(strait_open(testing_options(&t, with_cert(a, "anna", NULL), options), &s), STRAIT_E_CERT,
          "anna.key");
    testing_site_stop(&t);
}

/* A worker of another authority gets no answer but the reason why. */
static void test_a_stranger_is_told_why(void **state)
{
    struct authority *a = *state;
    struct authority *other;
    void *other_state;
    char server[256];
    struct client_testing_site t = {.certs = server};
    strait *s;

    (void)snprintf(server, sizeof(server), "%s", path_in(a, "server"));
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    assert_int_equal(authority_setup(&other_state), 0);
    other = other_state;
    s = open_worker(&t, with_cert(other, "anna", NULL));
    FAILS_SOON(strait_join(s, 0.05, NULL), STRAIT_E_TIMEOUT, "cannot be reached: ");
    OKAY(strait_close(s));
    assert_int_equal(authority_teardown(&other_state), 0);
    testing_site_stop(&t);
}

static void test_a_certificate_is_good_for_its_own_site(void **state)
{
    struct authority *a = *state;
    char server[256];
    struct client_testing_site t = {.certs = server};
    strait *s;

    (void)snprintf(server, sizeof(server), "%s", path_in(a, "server"));
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = open_worker(&t, with_cert(a, "dora", NULL));
    FAILS(strait_join(s, T, NULL), STRAIT_E_REFUSED, "for site away, and this is site home");
    OKAY(strait_close(s));
    testing_site_stop(&t);
}

/* Not encrypted, on this machine only. */
static void test_a_socket_of_this_machine_will_do(void **state)
{
    struct authority *a = *state;
    char path[256];
    struct client_testing_site t = {.unix_path = path};
    strait *s;

    (void)snprintf(path, sizeof(path), "%s", path_in(a, "socket"));
    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    leave_worker(s);
    testing_site_stop(&t);
}

#define SECURE_TEST(name) cmocka_unit_test_setup_teardown(name, authority_setup, authority_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SECURE_TEST(test_members_train_over_tls),
        SECURE_TEST(test_certificates_that_will_not_do_are_refused_at_once),
        SECURE_TEST(test_a_stranger_is_told_why),
        SECURE_TEST(test_a_certificate_is_good_for_its_own_site),
        SECURE_TEST(test_a_socket_of_this_machine_will_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
