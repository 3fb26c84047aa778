/* strait bench rows: sparse updates a second, and how long one takes there and back. */

#include "base/mem.h"
#include "base/rng.h"
#include "cli/bench/bench.h"
#include "cli/bench/site.h"
#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "cli/command/error.h"
#include "loop/clock.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    ROWS_WIDTH = 16,
    ROWS_WARM = 5,
    ROWS_TRIPS = 5000,
    ROWS_TRIPS_WARM = 500,
};

struct rows_bench {
    uint32_t rows;   /* Of the table. */
    uint32_t batch;  /* Rows of one clock. */
    uint32_t clocks; /* Timed. */
};

/* Distinct rows of a batch, ascending, as a worker that sums what it has for a row makes them. */
static uint32_t rows_pick(struct rng *rng, uint32_t rows, uint32_t batch, uint32_t *out)
{
    uint32_t step = rows / batch;
    uint32_t count = 0;

    for (uint32_t i = 0; i < batch; i++) {
        out[count++] = i * step + (uint32_t)rng_below(rng, step);
    }
    return count;
}

/* Read the rows of a batch, add to them, end the clock. */
static void rows_work(struct bench_member *m, const void *user)
{
    const struct rows_bench *b = user;
    struct table_schema_text table = {.name = "rows", .rows = b->rows, .width = ROWS_WIDTH};
    uint32_t *rows = mem_calloc(b->batch, sizeof(*rows));
    float *values = mem_calloc((size_t)b->batch * ROWS_WIDTH, sizeof(float));
    uint16_t id = bench_member_join(m, &table);
    struct rng rng;

    rng_init(&rng, m->number + 1);
    if (rows == NULL || values == NULL) {
        _exit(1);
    }
    for (uint32_t c = 0; c < ROWS_WARM + b->clocks; c++) {
        struct node_op read = {.done = false}, clock = {.done = false};
        uint32_t count = rows_pick(&rng, b->rows, b->batch, rows);

        if (c == ROWS_WARM) {
            m->figures[0] = clock_mono_ns();
        }
        node_worker_read_rows(m->node, id, rows, count, values, &read);
        bench_member_wait(m, &read, "rows do not come");
        if (node_worker_update_rows(m->node, id, rows, count, values) != OK) {
            _exit(1);
        }
        node_worker_clock(m->node, 1, &clock);
        bench_member_wait(m, &clock, "a clock does not end");
    }
    m->figures[0] = clock_mono_ns() - m->figures[0];
}

/* One row there and back: update it, end the clock, read it. */
static void rows_trip(struct bench_member *m, const void *user)
{
    static int64_t times[ROWS_TRIPS];
    struct table_schema_text table = {.name = "rows", .rows = 4096, .width = ROWS_WIDTH};
    uint16_t id = bench_member_join(m, &table);
    float values[ROWS_WIDTH] = {0};
    uint32_t row = 17;

    (void)user;
    for (uint32_t i = 0; i < ROWS_TRIPS_WARM + ROWS_TRIPS; i++) {
        struct node_op read = {.done = false}, clock = {.done = false};
        int64_t start = clock_mono_ns();

        if (node_worker_update_rows(m->node, id, &row, 1, values) != OK) {
            _exit(1);
        }
        node_worker_clock(m->node, 1, &clock);
        node_worker_read_rows(m->node, id, &row, 1, values, &read);
        bench_member_wait(m, &read, "a row does not come");
        if (i >= ROWS_TRIPS_WARM) {
            times[i - ROWS_TRIPS_WARM] = clock_mono_ns() - start;
        }
    }
    m->figures[0] = bench_quantile(times, ROWS_TRIPS, 500000);
    m->figures[1] = bench_quantile(times, ROWS_TRIPS, 990000);
}

struct rows_turns {
    int64_t ns[BENCH_TURNS_MAX];
    int64_t p50[BENCH_TURNS_MAX];
    int64_t p99[BENCH_TURNS_MAX];
    int64_t wire[BENCH_TURNS_MAX];
};

static enum err rows_measure(struct cli_context *ctx, const struct rows_bench *b, uint32_t workers,
                             uint32_t turns, struct rows_turns *t, struct err_text *text)
{
    struct bench_way way = {.scheme = NET_SCHEME_TCP};
    struct bench_site site = {
        .workers = workers,
        .servers = 1,
        .site = {.delivery = NODE_PULL, .sync = {.policy = &sync_ssp, .staleness = 1}},
        .congestion = "cubic",
        .work = rows_work,
        .user = b,
    };
    struct bench_site alone = {
        .workers = 1,
        .servers = 1,
        .site = {.delivery = NODE_PULL, .sync = {.policy = &sync_tap}},
        .congestion = "cubic",
        .work = rows_trip,
    };
    enum err rc = OK;

    (void)snprintf(way.congestion, sizeof(way.congestion), "cubic");
    for (uint32_t i = 0; i < turns && rc == OK; i++) {
        struct bench_site_result result;
        struct bench_trip_result trip;

        cli_note(ctx, "turn %u of %u", i + 1, turns);
        rc = bench_site_run(&site, &result, text);
        for (uint32_t w = 0; w < workers && rc == OK; w++) {
            t->ns[i] = result.figures[w][0] > t->ns[i] ? result.figures[w][0] : t->ns[i];
        }
        if (rc == OK) {
            rc = bench_ours_trips(&way, ROWS_TRIPS, &trip, text);
        }
        if (rc == OK) {
            t->wire[i] = trip.p50_ns;
            rc = bench_site_run(&alone, &result, text);
            t->p50[i] = result.figures[0][0];
            t->p99[i] = result.figures[0][1];
        }
    }
    return rc;
}

static enum cli_exit bench_rows_run(struct cli_context *ctx)
{
    struct rows_bench b = {
        .rows = (uint32_t)cli_number(ctx, "rows"),
        .batch = (uint32_t)cli_number(ctx, "batch"),
        .clocks = (uint32_t)cli_number(ctx, "clocks"),
    };
    uint32_t workers = (uint32_t)cli_number(ctx, "workers");
    uint32_t turns = (uint32_t)cli_number(ctx, "turns");
    struct rows_turns t = {.ns = {0}};
    struct err_text text = {""};
    double rate, p50, p99, wire;

    if (b.batch > b.rows) {
        b.batch = b.rows;
    }
    if (rows_measure(ctx, &b, workers, turns, &t, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_BENCH, NULL, "bench rows: %s", text.text);
    }
    rate =
        (double)b.batch * b.clocks * workers / ((double)bench_quantile(t.ns, turns, 500000) / 1e9);
    p50 = (double)bench_quantile(t.p50, turns, 500000) / 1e3;
    p99 = (double)bench_quantile(t.p99, turns, 500000) / 1e3;
    wire = (double)bench_quantile(t.wire, turns, 500000) / 1e3;
    if (ctx->json) {
        return cli_json(ctx, json_pack("{s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f}", "workers",
                                       (int)workers, "rows", (int)b.rows, "batch", (int)b.batch,
                                       "turns", (int)turns, "row_updates_per_s", rate,
                                       "round_trip_p50_us", p50, "round_trip_p99_us", p99,
                                       "transport_p50_us", wire, "ratio", p50 / wire));
    }
    cli_out(ctx, "%u workers, 1 server, rows of %d floats, medians of %u turns\n", workers,
            ROWS_WIDTH, turns);
    cli_out(ctx, "  %.2f million row updates a second, each row read before it is updated\n",
            rate / 1e6);
    cli_out(ctx,
            "  one row updated and read: p50 %.1f us, p99 %.1f us; transport alone p50 %.1f us, "
            "ratio %.2f\n",
            p50, p99, wire, p50 / wire);
    return CLI_DONE;
}

const struct cli_command cli_command_bench_rows = {
    .path = "bench rows",
    .summary = "measure sparse updates of rows",
    .paragraphs =
        (const char *const[]){
            "Workers read a batch of rows, add to each and end the clock, as sparse jobs do (ssp, "
            "staleness 1, pull delivery): how many rows a second go through one server. Then one "
            "worker updates and reads back a single row (tap): the round trip, beside that of the "
            "transport alone in the same run.",
            NULL},
    .options =
        (const struct cli_option[]){
            CLI_OPTION_NUMBER("workers", "N", "2", "how many workers", 1, BENCH_WORKERS_MAX),
            CLI_OPTION_NUMBER("rows", "NUMBER", "262144", "rows of the table", 16, 16777216),
            CLI_OPTION_NUMBER("batch", "NUMBER", "65536", "rows of a worker's clock", 1, 16777216),
            CLI_OPTION_NUMBER("clocks", "NUMBER", "40", "timed clocks", 1, 100000),
            CLI_OPTION_NUMBER("turns", "NUMBER", "3", "how often it is measured", 1,
                              BENCH_TURNS_MAX),
            {0}},
    .examples = (const struct cli_example[]){{"strait bench rows --json", "for a record"}, {0}},
    .run = bench_rows_run,
};
