/* Lines of one thread while another one learns who they are: each line has one origin, whole. */

#include "base/log.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static _Atomic uint32_t lines;
static _Atomic uint32_t wrong;
static _Atomic bool over;

static int64_t wall_us(void *user)
{
    (void)user;
    return 0;
}

static void write_line(const char *line, size_t size, void *user)
{
    static const char *const origins[] = {"net: x\n", "net[worker]: x\n", "net[eu/worker-3]: x\n"};
    bool known = false;

    (void)user;
    for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
        size_t end = strlen(origins[i]);

        known = known || (size > end && memcmp(line + size - end, origins[i], end) == 0);
    }
    atomic_fetch_add(&wrong, known ? 0 : 1);
    atomic_fetch_add(&lines, 1);
}

static void *write_lines(void *user)
{
    (void)user;
    while (!atomic_load(&over)) {
        LOG_INF("net", "x");
    }
    return NULL;
}

/* Wait for lines that began after this call. */
static void await_lines(void)
{
    uint32_t first = atomic_load(&lines);

    while (atomic_load(&lines) - first < 100) {
    }
}

static void test_an_origin_may_change_while_others_write(void **state)
{
    const struct log_config config = {.filter = "info", .wall_us = wall_us, .write = write_line};
    struct err_text text = {""};
    pthread_t thread;

    (void)state;
    assert_int_equal(log_setup(&config, &text), OK);
    assert_int_equal(pthread_create(&thread, NULL, write_lines, NULL), 0);
    await_lines();
    log_set_origin(NULL, "worker");
    await_lines();
    log_set_origin("eu", "worker-3");
    await_lines();
    atomic_store(&over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    log_teardown();
    assert_int_equal(atomic_load(&wrong), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_origin_may_change_while_others_write),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
