/* strait bench net: sessions against bare sockets on loopback. */

#include "base/private_dir.h"
#include "cli/bench/bench.h"
#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "cli/command/env.h"
#include "cli/member/security.h"
#include "loop/clock.h"
#include "net/pki/ca.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NET_ROUNDS_MAX = 101,
    NET_TRIPS = 20000,
    NET_SMALL_FRAMES = 4000000,
    NET_FRAME_64 = 64,
};

static const uint32_t net_sizes[] = {4096, 16384, 65536, 262144, 1048576, 4194304};

/* Several rounds of one measurement, both sides in turn. */
struct net_rounds {
    int64_t ours[NET_ROUNDS_MAX];
    int64_t floor[NET_ROUNDS_MAX];
    int64_t ours_cpu[NET_ROUNDS_MAX];
    int64_t floor_cpu[NET_ROUNDS_MAX];
    uint32_t count;
};

struct net_bench {
    struct cli_context *ctx;
    struct bench_way way;
    uint32_t rounds;
    uint64_t bytes; /* Of one round of a stream. */
    json_t *streams;
    json_t *small;
    json_t *trips;
};

static enum cli_exit net_fail(struct net_bench *b, const struct err_text *text)
{
    return cli_error(b->ctx, CLI_ERROR_BENCH, "strait doctor", "bench net: %s", text->text);
}

static double net_median(int64_t *values, uint32_t count)
{
    return (double)bench_quantile(values, count, 500000);
}

static enum cli_exit net_measure_stream(struct net_bench *b, const struct bench_stream *stream,
                                        struct net_rounds *r)
{
    struct err_text text = {0};

    r->count = b->rounds;
    for (uint32_t i = 0; i < b->rounds; i++) {
        struct bench_stream_result floor, ours;

        if (bench_floor_stream(&b->way, stream, &floor, &text) != OK ||
            bench_ours_stream(&b->way, stream, &ours, &text) != OK) {
            return net_fail(b, &text);
        }
        r->floor[i] = floor.wall_ns;
        r->ours[i] = ours.wall_ns;
        r->floor_cpu[i] = floor.cpu_ns;
        r->ours_cpu[i] = ours.cpu_ns;
    }
    return CLI_DONE;
}

static enum cli_exit net_one_size(struct net_bench *b, uint32_t frame_bytes)
{
    struct bench_stream stream = {.frame_bytes = frame_bytes, .frames = b->bytes / frame_bytes};
    struct net_rounds r;
    enum cli_exit status = net_measure_stream(b, &stream, &r);
    double bytes = (double)stream.frames * frame_bytes;
    double ours, floor, ours_core, floor_core;

    if (status != CLI_DONE) {
        return status;
    }
    ours = bytes / net_median(r.ours, r.count);
    floor = bytes / net_median(r.floor, r.count);
    ours_core = bytes / net_median(r.ours_cpu, r.count);
    floor_core = bytes / net_median(r.floor_cpu, r.count);
    json_array_append_new(b->streams,
                          json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "frame_bytes",
                                    (json_int_t)frame_bytes, "gb_per_s", ours, "floor_gb_per_s",
                                    floor, "ratio", ours / floor, "gb_per_core_s", ours_core,
                                    "floor_gb_per_core_s", floor_core));
    if (!b->ctx->json) {
        cli_out(b->ctx,
                "  %8u-byte frames  %7.3f GB/s  floor %7.3f  ratio %.2f  (%.2f GB per core-second, "
                "floor %.2f)\n",
                frame_bytes, ours, floor, ours / floor, ours_core, floor_core);
        cli_flush(b->ctx);
    }
    return CLI_DONE;
}

static enum cli_exit net_small(struct net_bench *b)
{
    struct bench_stream stream = {.frame_bytes = NET_FRAME_64, .frames = NET_SMALL_FRAMES};
    struct net_rounds r;
    enum cli_exit status = net_measure_stream(b, &stream, &r);
    double ours, floor;

    if (status != CLI_DONE) {
        return status;
    }
    ours = (double)stream.frames * 1e3 / net_median(r.ours, r.count);
    floor = (double)stream.frames * 1e3 / net_median(r.floor, r.count);
    b->small = json_pack("{s:f, s:f, s:f}", "million_per_s", ours, "floor_million_per_s", floor,
                         "ratio", ours / floor);
    if (!b->ctx->json) {
        cli_out(b->ctx, "        64-byte frames  %7.3f M/s   floor %7.3f  ratio %.2f\n", ours,
                floor, ours / floor);
        cli_flush(b->ctx);
    }
    return CLI_DONE;
}

static enum cli_exit net_trips(struct net_bench *b)
{
    int64_t ours50[NET_ROUNDS_MAX], ours99[NET_ROUNDS_MAX];
    int64_t floor50[NET_ROUNDS_MAX], floor99[NET_ROUNDS_MAX];
    struct err_text text = {0};
    double ours, floor;

    for (uint32_t i = 0; i < b->rounds; i++) {
        struct bench_trip_result o, f;

        if (bench_floor_trips(&b->way, NET_TRIPS, &f, &text) != OK ||
            bench_ours_trips(&b->way, NET_TRIPS, &o, &text) != OK) {
            return net_fail(b, &text);
        }
        ours50[i] = o.p50_ns;
        ours99[i] = o.p99_ns;
        floor50[i] = f.p50_ns;
        floor99[i] = f.p99_ns;
    }
    ours = net_median(ours50, b->rounds) * 1e-3;
    floor = net_median(floor50, b->rounds) * 1e-3;
    b->trips =
        json_pack("{s:f, s:f, s:f, s:f, s:f}", "p50_us", ours, "p99_us",
                  net_median(ours99, b->rounds) * 1e-3, "floor_p50_us", floor, "floor_p99_us",
                  net_median(floor99, b->rounds) * 1e-3, "ratio_p50", ours / floor);
    if (!b->ctx->json) {
        cli_out(
            b->ctx,
            "  round trip of 64 bytes  p50 %.1f us, p99 %.1f us  floor %.1f, %.1f  ratio of p50 "
            "%.2f\n",
            ours, net_median(ours99, b->rounds) * 1e-3, floor,
            net_median(floor99, b->rounds) * 1e-3, ours / floor);
        cli_flush(b->ctx);
    }
    return CLI_DONE;
}

/* A certificate each for both ends, good for a day. */
static enum err net_make_certs(const char *dir, struct err_text *text)
{
    static const char *const who[] = {"server/bench/s1", "worker/bench/w1"};
    struct pki_ca *ca = NULL;
    char ca_dir[BENCH_PATH_BYTES + 8];
    int64_t now_s = clock_wall_us() / 1000000;
    enum err rc;

    security_hold_keys();
    (void)snprintf(ca_dir, sizeof(ca_dir), "%s/ca", dir);
    rc = pki_ca_create(ca_dir, "bench", now_s, 1, text);
    if (rc == OK) {
        rc = pki_ca_open(ca_dir, &ca, text);
    }
    for (size_t i = 0; i < 2 && rc == OK; i++) {
        struct pki_order order = {.now_s = now_s, .days = 1};

        rc = pki_identity_parse(who[i], &order.identity, text);
        if (rc == OK) {
            rc = pki_ca_issue_to(ca, &order, dir, false, text);
        }
    }
    pki_ca_close(ca);
    return rc;
}

/* Remove what net_make_certs() and the sockets left: two levels, nothing else. */
static void net_remove_dir(const char *dir, int depth)
{
    DIR *d = opendir(dir);
    struct dirent *entry;

    while (d != NULL && (entry = readdir(d)) != NULL) {
        char path[BENCH_PATH_BYTES + 300];
        struct stat info;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        (void)snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && depth > 0) {
            net_remove_dir(path, depth - 1);
        } else {
            (void)unlink(path);
        }
    }
    if (d != NULL) {
        (void)closedir(d);
    }
    (void)rmdir(dir);
}

static enum cli_exit net_measure_all(struct net_bench *b)
{
    enum cli_exit status = CLI_DONE;

    if (cli_given(b->ctx, "frame")) {
        return net_one_size(b, (uint32_t)cli_number(b->ctx, "frame"));
    }
    for (size_t i = 0; i < sizeof(net_sizes) / sizeof(net_sizes[0]) && status == CLI_DONE; i++) {
        status = net_one_size(b, net_sizes[i]);
    }
    if (status == CLI_DONE) {
        status = net_small(b);
    }
    return status == CLI_DONE ? net_trips(b) : status;
}

static enum cli_exit net_over(struct cli_context *ctx, enum net_scheme scheme, json_t *results)
{
    struct net_bench b = {
        .ctx = ctx,
        .way = {.scheme = scheme},
        .rounds = (uint32_t)cli_number(ctx, "rounds"),
        .bytes = (uint64_t)cli_number(ctx, "bytes"),
        .streams = json_array(),
    };
    struct err_text text = {0};
    enum cli_exit status = CLI_DONE;

    (void)snprintf(b.way.congestion, sizeof(b.way.congestion), "%s", cli_text(ctx, "congestion"));
    if (private_dir_new(env_tmp(), "strait-bench", b.way.dir, sizeof(b.way.dir), &text) != OK) {
        json_decref(b.streams);
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "bench net: %s", text.text);
    }
    if (scheme == NET_SCHEME_TLS && net_make_certs(b.way.dir, &text) != OK) {
        status = net_fail(&b, &text);
    }
    if (!ctx->json) {
        cli_out(ctx, "%s%s%s, %u rounds of both sides in turn, medians\n",
                cli_style(ctx->color_out, CLI_HEADING), net_scheme_name(scheme),
                cli_style(ctx->color_out, CLI_PLAIN), b.rounds);
        cli_flush(ctx);
    }
    if (status == CLI_DONE) {
        status = net_measure_all(&b);
    }
    if (status == CLI_DONE) {
        json_object_set_new(results, net_scheme_name(scheme),
                            json_pack("{s:O, s:o*, s:o*}", "streams", b.streams, "frames_64",
                                      b.small, "round_trip", b.trips));
    }
    json_decref(b.streams);
    net_remove_dir(b.way.dir, 2);
    return status;
}

static enum cli_exit bench_net_run(struct cli_context *ctx)
{
    static const enum net_scheme schemes[] = {NET_SCHEME_TCP, NET_SCHEME_UNIX, NET_SCHEME_TLS};
    const char *only = cli_text(ctx, "over");
    json_t *results = json_object();
    enum cli_exit status = CLI_DONE;

    for (size_t i = 0; i < 3 && status == CLI_DONE; i++) {
        if (strcmp(only, "all") == 0 || strcmp(only, net_scheme_name(schemes[i])) == 0) {
            status = net_over(ctx, schemes[i], results);
        }
    }
    if (status == CLI_DONE && ctx->json) {
        json_object_set_new(results, "rounds", json_integer(cli_number(ctx, "rounds")));
        return cli_json(ctx, results);
    }
    json_decref(results);
    return status;
}

const struct cli_command cli_command_bench_net = {
    .path = "bench net",
    .summary = "measure sessions against bare sockets on loopback",
    .paragraphs =
        (const char *const[]){
            "Two processes on this machine. Ours: one session with everything that belongs to it "
            "(frame checks, sequence numbers, acknowledgements, a window). The floor: the same "
            "bytes "
            "over bare blocking sockets, a frame at a time but small ones 64 KiB at a time, with "
            "the "
            "same congestion control; for tls the floor is bare tcp. The two take turns, and the "
            "medians are compared.",
            NULL},
    .options =
        (const struct cli_option[]){
            {.name = "over",
             .placeholder = "CARRIER",
             .fallback = "all",
             .help = "only this carrier",
             .kind = CLI_WORDS,
             .words = "tcp unix tls all"},
            {.name = "rounds",
             .placeholder = "NUMBER",
             .fallback = "5",
             .help = "how often both sides take their turn",
             .kind = CLI_NUMBER,
             .min = 1,
             .max = NET_ROUNDS_MAX},
            {.name = "bytes",
             .placeholder = "SIZE",
             .fallback = "1GiB",
             .help = "how much each stream carries",
             .kind = CLI_SIZE,
             .min = 4194304,
             .max = INT64_C(1) << 40},
            {.name = "frame",
             .placeholder = "SIZE",
             .help = "only streams of whole frames of this size, header included",
             .kind = CLI_SIZE,
             .min = NET_FRAME_64,
             .max = 4194304},
            {.name = "congestion",
             .placeholder = "NAME",
             .fallback = "cubic",
             .help = "congestion control of both sides"},
            {0}},
    .examples = (const struct cli_example[]){{"strait bench net", "all carriers"},
                                             {"strait bench net --over tcp --json", "for a record"},
                                             {0}},
    .run = bench_net_run,
};
