/* Each script in tests/sim has its whole conversation beside it (NAME.out). Run with
 * STRAIT_UPDATE_GOLDEN=1 to write the transcripts anew, and read the difference before you commit
 * it. The same files are compared in the builds by gcc and by clang. */

#include "sim/scenario/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 20, LINES_MAX = 400 };

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "re");
    char *bytes = calloc(1, FILE_BYTES_MAX);
    size_t size;

    assert_non_null(bytes);
    if (file == NULL) {
        free(bytes);
        return NULL;
    }
    size = fread(bytes, 1, FILE_BYTES_MAX - 1, file);
    assert_true(size < FILE_BYTES_MAX - 1);
    (void)fclose(file);
    return bytes;
}

static void write_whole(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void run_text(const char *path, const char *script, struct sim_scenario_result *result)
{
    struct sim_scenario_options options = {.trace = true, .trace_bytes_max = FILE_BYTES_MAX};
    struct err_text text = {0};
    struct sim_scenario *scenario;

    if (sim_scenario_parse(path, script, strlen(script), &scenario, &text) != OK) {
        fail_msg("%s", text.text);
    }
    options.seed = sim_scenario_seed(scenario);
    assert_int_equal(sim_scenario_run(scenario, &options, result, &text), OK);
    sim_scenario_destroy(scenario);
}

static void run_script(const char *path, struct sim_scenario_result *result)
{
    char *script = read_whole(path);

    assert_non_null(script);
    run_text(path, script, result);
    free(script);
}

/* Point at the first line that differs. */
static void compare(const char *path, const char *expected, const char *got)
{
    int line = 1;

    if (strcmp(expected, got) == 0) {
        return;
    }
    while (*expected != '\0' && *expected == *got) {
        line += *got == '\n';
        expected++;
        got++;
    }
    fail_msg("%s differs in line %d, from here:\n--- expected\n%.300s\n--- got\n%.300s", path, line,
             expected, got);
}

/* A transcript that nobody reads to its end shows nothing. */
static void check_length(const char *path, const char *transcript)
{
    int lines = 0;

    for (; *transcript != '\0'; transcript++) {
        lines += *transcript == '\n';
    }
    if (lines > LINES_MAX) {
        fail_msg("%s has %d lines, more than %d: make the script smaller", path, lines, LINES_MAX);
    }
}

static void check_script(const char *script)
{
    struct sim_scenario_result result;
    char path[512], golden[520];
    char *expected;

    (void)snprintf(path, sizeof(path), "tests/sim/%s", script);
    (void)snprintf(golden, sizeof(golden), "%.*s.out", (int)(strlen(path) - 4), path);
    run_script(path, &result);
    if (result.verdict[0] != '\0') {
        fail_msg("%s: %s", path, result.verdict);
    }
    check_length(golden, result.transcript.chars);
    if (getenv("STRAIT_UPDATE_GOLDEN") != NULL) {
        write_whole(golden, result.transcript.chars);
    }
    expected = read_whole(golden);
    assert_non_null(expected);
    compare(golden, expected, result.transcript.chars);
    free(expected);
    sim_scenario_result_deinit(&result);
}

static int is_script(const struct dirent *entry)
{
    size_t size = strlen(entry->d_name);

    return size > 4 && strcmp(entry->d_name + size - 4, ".sim") == 0;
}

static void test_every_script_gives_its_transcript(void **state)
{
    struct dirent **entries;
    int count = scandir("tests/sim", &entries, is_script, alphasort);

    (void)state;
    assert_true(count >= 30);
    for (int i = 0; i < count; i++) {
        check_script(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static void test_the_same_seed_gives_the_same_transcript(void **state)
{
    struct sim_scenario_result a, b;

    (void)state;
    run_script("tests/sim/kill_server.sim", &a);
    run_script("tests/sim/kill_server.sim", &b);
    assert_string_equal(a.transcript.chars, b.transcript.chars);
    assert_true(a.transcript_hash == b.transcript_hash);
    sim_scenario_result_deinit(&a);
    sim_scenario_result_deinit(&b);
}

/* The values of tests/sim/site_fixed_order.sim with one word of it replaced. */
static uint64_t values_with(const char *word, const char *instead)
{
    const char *path = "tests/sim/site_fixed_order.sim";
    char *script = read_whole(path);
    const char *at;
    char changed[4096];
    struct sim_scenario_result result;

    assert_non_null(script);
    at = strstr(script, word);
    assert_non_null(at);
    (void)snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - script), script, instead,
                   at + strlen(word));
    run_text(path, changed, &result);
    assert_string_equal(result.verdict, "");
    sim_scenario_result_deinit(&result);
    free(script);
    return result.values_hash;
}

static void test_a_fixed_order_gives_the_same_bits_on_one_server_and_two(void **state)
{
    uint64_t one = values_with("seed 27", "seed 27");

    (void)state;
    assert_true(values_with("seed 27", "seed 28") == one);
    assert_true(values_with("server s0 eu", "server s0 us\nserver s1 eu") == one);
    assert_true(values_with("server s0 eu", "server s0 eu lanes=2") == one);
    assert_true(values_with("order=fixed", "order=any") != one); /* Else order would not matter. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_script_gives_its_transcript),
        cmocka_unit_test(test_the_same_seed_gives_the_same_transcript),
        cmocka_unit_test(test_a_fixed_order_gives_the_same_bits_on_one_server_and_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
