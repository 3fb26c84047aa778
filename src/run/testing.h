/* What tests of runs share: files that are right, files that are spoilt, folders that go away, and
 * simulations for which there is no memory. */

#ifndef RUN_TESTING_H
#define RUN_TESTING_H

#include "base/mem.h"
#include "base/rng.h"
#include "run/file/file.h"
#include "run/sim/sim.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static inline struct run_file *testing_parse(const char *yaml)
{
    struct run_file *f = NULL;
    struct err_text why = {""};

    if (run_file_parse("r.yaml", NULL, yaml, strlen(yaml), &f, &why) != OK) {
        fail_msg("%s", why.text);
    }
    return f;
}

/* A good file of so many @lines, spoilt at random: an answer each time, and no complaint without a
 * place. */
static inline void testing_spoil(const char *good, uint64_t seed, uint32_t lines)
{
    static const char odd[] = "\n :[]{},-#&*!|>'\"%@`?~\t\\09aA\xc3\xff.";
    const size_t size = strlen(good);
    char *copy = mem_calloc(size, 1);
    struct rng rng;
    uint32_t refused = 0;

    assert_non_null(copy);
    rng_init(&rng, seed);
    for (uint32_t i = 0; i < 4000; i++) {
        struct run_file *f = NULL;
        struct err_text why = {""};
        uint32_t line = 0, column = 0;
        enum err rc;

        memcpy(copy, good, size);
        for (uint64_t k = 0; k < 1 + rng_below(&rng, 4); k++) {
            copy[rng_below(&rng, size)] = odd[rng_below(&rng, sizeof(odd) - 1)];
        }
        rc = run_file_parse("r.yaml", NULL, copy, size, &f, &why);
        if (rc == OK) {
            run_file_free(f);
            continue;
        }
        refused++;
        assert_int_equal(sscanf(why.text, "r.yaml:%u:%u: ", &line, &column), 2);
        assert_in_range(line, 1, lines);
        assert_true(column > 0);
        assert_true(rc == ERR_MALFORMED || rc == ERR_TOO_BIG);
        assert_null(strpbrk(why.text, "\n\033"));
    }
    assert_in_range(refused, 1000, 3999);
    mem_free(copy);
}

/* Simulate @f, whose memory runs out at each place where it takes some; there are @least. */
static inline void testing_starve(const struct run_file *f, uint64_t least)
{
    struct run_watcher watcher = {.row = NULL};
    enum err rc = ERR_NOMEM;
    uint64_t k;

    for (k = 1; rc == ERR_NOMEM; k++) {
        struct run_sim_result result;
        struct err_text text = {""};

        mem_fail_at(k, 1);
        rc = run_sim(f, &watcher, NULL, &result, &text);
        mem_fail_at(0, 0);
        if (rc == ERR_NOMEM) {
            assert_non_null(strstr(text.text, "no memory"));
        }
    }
    assert_int_equal(rc, OK);
    assert_true(k > least);
}

static inline int testing_remove_one(const char *path, const struct stat *st, int type,
                                     struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void testing_remove(const char *folder)
{
    assert_int_equal(nftw(folder, testing_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* No child is left behind. */
static inline void testing_alone(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

#endif
