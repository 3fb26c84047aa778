/* The conformance suite of the transport: main tcp|tls|unix|sim [pattern]. One list of tests, run
 * over the carrier that is named, and the tests that only this carrier has. */

#include "suites.h"

#include <stdio.h>

enum { MAIN_TESTS_MAX = 256 };

static struct CMUnitTest main_tests[MAIN_TESTS_MAX];
static size_t main_count;

static void main_add(const struct CMUnitTest *tests, size_t count)
{
    assert_true(main_count + count <= MAIN_TESTS_MAX);
    memcpy(main_tests + main_count, tests, count * sizeof(tests[0]));
    main_count += count;
}

static const struct conf_carrier *main_carrier(const char *name)
{
    static const struct conf_carrier *const carriers[] = {&conf_tcp, &conf_tls, &conf_unix,
                                                          &conf_sim};

    for (size_t i = 0; i < sizeof(carriers) / sizeof(carriers[0]); i++) {
        if (strcmp(carriers[i]->name, name) == 0) {
            return carriers[i];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int failed;

    conf_carrier = argc < 2 ? NULL : main_carrier(argv[1]);
    if (conf_carrier == NULL) {
        (void)fprintf(stderr, "usage: %s tcp|tls|unix|sim [pattern]\n", argv[0]);
        return 2;
    }
    main_add(conf_exchange_tests, conf_exchange_count);
    main_add(conf_cancel_tests, conf_cancel_count);
    main_add(conf_silence_tests, conf_silence_count);
    main_add(conf_damage_tests, conf_damage_count);
    main_add(conf_pressure_tests, conf_pressure_count);
    main_add(conf_stranger_tests, conf_stranger_count);
    main_add(conf_session_tests, conf_session_count);
    main_add(conf_resend_tests, conf_resend_count);
    main_add(conf_restart_tests, conf_restart_count);
    main_add(conf_acked_tests, conf_acked_count);
    main_add(conf_pace_tests, conf_pace_count);
    main_add(conf_meter_tests, conf_meter_count);
    main_add(conf_memory_tests, conf_memory_count);
    if (conf_carrier == &conf_tcp) {
        main_add(conf_tcp_tests, conf_tcp_count);
    }
    if (conf_carrier == &conf_tls) {
        main_add(conf_tls_tests, conf_tls_count);
    }
    if (conf_carrier == &conf_unix) {
        main_add(conf_unix_tests, conf_unix_count);
    }
    if (argc > 2) {
        cmocka_set_test_filter(argv[2]);
    }
    failed = _cmocka_run_group_tests(argv[1], main_tests, main_count, NULL, NULL);
    conf_pki_remove();
    return failed;
}
