/* Our side of `strait bench push`. */

#include "base/mem.h"
#include "cli/bench/push.h"
#include "cli/bench/site.h"
#include "loop/clock.h"

#include <string.h>
#include <unistd.h>

static void ours_work(struct bench_member *m, const void *user)
{
    const struct bench_push *b = user;
    struct table_schema_text table = {.name = "model", .rows = b->elements, .width = 1};
    float *update = mem_calloc(b->elements, sizeof(float));
    struct node_op op = {.done = false};
    uint16_t id;

    if (update == NULL) {
        _exit(1);
    }
    memset(update, 0, b->elements * sizeof(float)); /* Pages of its own. */
    id = bench_member_join(m, &table);
    for (uint32_t r = 0; r < BENCH_PUSH_WARM + b->rounds; r++) {
        struct node_op push = {.done = false};

        if (r == BENCH_PUSH_WARM) {
            m->figures[0] = clock_mono_ns();
            m->figures[1] = bench_member_cpu_ns(m);
        }
        node_worker_push(m->node, id, 0, b->elements, update, 1, &push);
        node_worker_clock(m->node, 1, &op);
        bench_member_wait(m, &op, "a round does not end");
    }
    m->figures[0] = clock_mono_ns() - m->figures[0];
    m->figures[1] = bench_member_cpu_ns(m) - m->figures[1];
}

enum err bench_push_ours(const struct bench_push *b, struct bench_push_result *out,
                         struct err_text *text)
{
    struct bench_site site = {
        .workers = b->workers,
        .servers = b->servers,
        .site = {.delivery = NODE_BROADCAST, .sync = {.policy = &sync_bsp}},
        .congestion = b->congestion,
        .work = ours_work,
        .user = b,
    };
    struct bench_site_result result;
    int64_t longest = 0, cpu = 0;
    enum err rc = bench_site_run(&site, &result, text);

    for (uint32_t w = 0; w < b->workers; w++) {
        longest = result.figures[w][0] > longest ? result.figures[w][0] : longest;
        cpu += result.figures[w][1];
    }
    *out = (struct bench_push_result){.round_ns = longest / b->rounds,
                                      .cpu_ns = cpu / b->rounds,
                                      .server_bytes = result.server_bytes};
    return rc;
}
