/* The lists of tests, one per file, that main.c joins into one. */

#ifndef CONFORMANCE_SUITES_H
#define CONFORMANCE_SUITES_H

#include "fixture.h"

/* For every carrier. */
extern const struct CMUnitTest conf_exchange_tests[];
extern const size_t conf_exchange_count;
extern const struct CMUnitTest conf_cancel_tests[];
extern const size_t conf_cancel_count;
extern const struct CMUnitTest conf_silence_tests[];
extern const size_t conf_silence_count;
extern const struct CMUnitTest conf_damage_tests[];
extern const size_t conf_damage_count;
extern const struct CMUnitTest conf_pressure_tests[];
extern const size_t conf_pressure_count;
extern const struct CMUnitTest conf_stranger_tests[];
extern const size_t conf_stranger_count;
extern const struct CMUnitTest conf_session_tests[];
extern const size_t conf_session_count;
extern const struct CMUnitTest conf_resend_tests[];
extern const size_t conf_resend_count;
extern const struct CMUnitTest conf_restart_tests[];
extern const size_t conf_restart_count;
extern const struct CMUnitTest conf_acked_tests[];
extern const size_t conf_acked_count;
extern const struct CMUnitTest conf_pace_tests[];
extern const size_t conf_pace_count;
extern const struct CMUnitTest conf_meter_tests[];
extern const size_t conf_meter_count;
extern const struct CMUnitTest conf_memory_tests[];
extern const size_t conf_memory_count;

/* For one carrier only. */
extern const struct CMUnitTest conf_tcp_tests[];
extern const size_t conf_tcp_count;
extern const struct CMUnitTest conf_unix_tests[];
extern const size_t conf_unix_count;
extern const struct CMUnitTest conf_tls_tests[];
extern const size_t conf_tls_count;

#endif
