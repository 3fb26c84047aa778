/* Networks in the program are those of the files. */

#include "topo/known.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_they_are_the_files(void **state)
{
    static char bytes[64 * 1024];
    uint32_t count = 0;

    (void)state;
    for (const struct topo_known *k = topo_knowns; k->name != NULL; k++) {
        char path[512];
        FILE *f;

        (void)snprintf(path, sizeof(path), "%s/topologies/%s", STRAIT_SOURCE_DIR, k->name);
        f = fopen(path, "re");
        assert_non_null(f);
        assert_int_equal(fread(bytes, 1, sizeof(bytes), f), k->size);
        assert_memory_equal(bytes, k->bytes, k->size);
        assert_int_equal(fclose(f), 0);
        count++;
    }
    assert_int_equal(count, 2);
}

static void test_they_are_graphs(void **state)
{
    struct err_text text = {""};
    struct topo_graph *g = NULL;

    (void)state;
    assert_int_equal(topo_known_graph("b4.json", &g, &text), OK);
    assert_int_equal(g->nodes_count, 12);
    assert_int_equal(g->edges_count, 19);
    assert_int_equal(g->duplex, TOPO_DUPLEX_SHARED);
    topo_graph_free(g);
    assert_int_equal(topo_known_graph("internet2.json", &g, &text), OK);
    assert_int_equal(g->nodes_count, 9);
    assert_int_equal(g->edges_count, 13);
    topo_graph_free(g);
}

static void test_out_of_memory_is_said(void **state)
{
    struct err_text text = {""};
    struct topo_graph *g = NULL;

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(topo_known_graph("b4.json", &g, &text), ERR_NOMEM);
    mem_fail_at(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_they_are_the_files),
        cmocka_unit_test(test_they_are_graphs),
        cmocka_unit_test(test_out_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
