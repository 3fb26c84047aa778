/* Fuzz what is made of what sites say of their links: a report, or a list of those of several
 * sites. Whatever they say, a network that comes out of it is one that planners read. */

#include "cli/plan/cluster_links.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_check(const struct cluster_links *c)
{
    CHECK(c->count <= CLUSTER_SITES_MAX && (c->count == 0 || c->first < c->count));
    for (uint32_t a = 0; a < c->count; a++) {
        for (uint32_t b = 0; b < c->count; b++) {
            struct cluster_link l, back;

            if (cluster_links_get(c, a, b, &l)) {
                CHECK(a != b && cluster_links_get(c, b, a, &back));
                CHECK(l.state == back.state && l.bytes_per_s == back.bytes_per_s);
                CHECK(l.by == CLUSTER_NOBODY || l.by < c->count);
            }
        }
    }
}

static void fuzz_network(const struct cluster_links *c, double assume_mbps)
{
    struct topo_graph *g = NULL, *again = NULL;
    struct err_text text = {""};
    json_t *json;
    char *file;

    if (cluster_links_graph(c, "n", assume_mbps, &g, &text) != OK) {
        CHECK(text.text[0] != '\0');
        return;
    }
    json = cluster_links_json(g, "s");
    file = json_dumps(json, JSON_REAL_PRECISION(9));
    CHECK(file != NULL && topo_graph_parse("n", file, strlen(file), &again, &text) == OK);
    CHECK(again->nodes_count == g->nodes_count && again->edges_count == g->edges_count);
    CHECK(again->duplex == g->duplex && again->notes_count == 0);
    free(file);
    json_decref(json);
    topo_graph_free(again);
    topo_graph_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *all = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    struct cluster_links *c = cluster_links_create();
    struct err_text text = {""};

    CHECK(c != NULL);
    (void)!cluster_links_add(c, 0, json_is_array(all) ? json_array_get(all, 0) : all, &text);
    for (uint32_t i = 0; i < c->count; i++) {
        const json_t *report = json_array_get(all, i + 1);

        if (report != NULL && cluster_links_add(c, i, report, &text) != OK) {
            CHECK(text.text[0] != '\0');
        }
    }
    fuzz_check(c);
    if (c->count > 0) {
        (void)cluster_links_bytes(c);
        fuzz_network(c, 0);
        fuzz_network(c, 100);
    }
    cluster_links_destroy(c);
    json_decref(all);
    return 0;
}
