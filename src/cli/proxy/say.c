/* The lines of `strait proxy`: for people, or JSON. */

#include "base/units.h"
#include "cli/output/figure.h"
#include "cli/proxy/proxy.h"
#include "cli/server/server.h"
#include "run/report/page.h"

#include <inttypes.h>
#include <math.h>

enum { SAY_LINE_BYTES = 1024 };

/* "127.0.0.1:4711": the scheme goes without saying. */
static const char *say_address(const struct net_address *address, char *out)
{
    return net_address_format(address, out) + sizeof("tcp://") - 1;
}

void proxy_say_ready(struct cli_context *ctx, const struct emu_proxy *proxy,
                     const struct emu_routes *routes)
{
    char listen[NET_ADDRESS_BYTES], target[NET_ADDRESS_BYTES];
    json_t *list = ctx->json ? json_array() : NULL;

    for (uint32_t i = 0; i < routes->count; i++) {
        const char *way = emu_way_name(routes->list[i].way);
        const char *from = say_address(emu_proxy_bound(proxy, i), listen);
        const char *to = say_address(&routes->list[i].target, target);

        if (ctx->json) {
            (void)json_array_append_new(
                list, json_pack("{s:s, s:s, s:s}", "way", way, "listen", from, "target", to));
        } else {
            cli_out(ctx, "%-6s %s -> %s\n", way, from, to);
        }
    }
    if (ctx->json) {
        server_say_json(ctx, json_pack("{s:s, s:o}", "event", "ready", "routes", list));
    }
    cli_flush(ctx);
}

static double say_seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

static double say_since(const struct proxy_view *v)
{
    return v->now.now_ns > v->before.now_ns ? say_seconds(v->now.now_ns - v->before.now_ns) : 1e-9;
}

static double say_utilisation(const struct proxy_view *v, uint32_t way)
{
    int64_t busy_ns = v->now.ways[way].pipe.busy_ns - v->before.ways[way].pipe.busy_ns;
    double part = say_seconds(busy_ns) / say_since(v);

    return part < 0 ? 0 : part > 1 ? 1 : part; /* A piece that has begun counts wholly. */
}

static double say_late_us(const struct emu_pipe_stats *p)
{
    return p->late_count == 0 ? 0 : (double)p->late_sum_ns * 1e-3 / (double)p->late_count;
}

/* What the link has carried so far costs; NaN if that is not known. */
static double say_usd(const struct proxy_view *v, uint32_t way)
{
    return (double)v->now.ways[way].pipe.sent_bytes * 1e-9 * v->usd_per_gb[way];
}

/* JSON. */

static json_t *say_way(const struct proxy_view *v, uint32_t way)
{
    const struct emu_way_stats *w = &v->now.ways[way];

    json_t *json = json_pack(
        "{s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "bit_per_s",
        (json_int_t)w->shape.bytes_per_s * 8, "stream_bit_per_s",
        (json_int_t)w->shape.stream_bytes_per_s * 8, "delay_ms", (double)w->shape.delay_ns * 1e-6,
        "jitter_ms", (double)w->shape.jitter_ns * 1e-6, "accepted_bytes",
        (json_int_t)w->pipe.sent_bytes, "delivered_bytes", (json_int_t)w->delivered_bytes,
        "queued_bytes", (json_int_t)w->pipe.queued_bytes, "pieces", (json_int_t)w->pipe.pieces,
        "busy_s", say_seconds(w->pipe.busy_ns), "utilisation", say_utilisation(v, way),
        "late_mean_us", say_late_us(&w->pipe), "late_max_us", (double)w->pipe.late_max_ns * 1e-3);

    if (!isnan(v->usd_per_gb[way])) {
        (void)json_object_set_new(json, "usd_per_gb", json_real(v->usd_per_gb[way]));
        (void)json_object_set_new(json, "usd", json_real(say_usd(v, way)));
    }
    return json;
}

static json_t *say_faults(const struct emu_proxy_stats *now)
{
    json_t *faults = json_object();

    for (uint32_t i = 0; i < EMU_FAULTS; i++) {
        (void)json_object_set_new(faults, emu_fault_name((enum emu_fault)i),
                                  json_integer((json_int_t)now->fired[i]));
    }
    return faults;
}

static json_t *say_active(const struct emu_proxy_stats *now)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < EMU_FAULTS; i++) {
        for (uint32_t way = 0; way < EMU_WAYS; way++) {
            if (now->active[i][way]) {
                (void)json_array_append_new(
                    list,
                    json_sprintf("%s %s", emu_fault_name((enum emu_fault)i), emu_way_name(way)));
            }
        }
    }
    return list;
}

static json_t *say_json(const char *event, const struct proxy_view *v)
{
    return json_pack("{s:s, s:f, s:{s:I, s:I, s:I, s:I}, s:o, s:o, s:o, s:o}", "event", event,
                     "elapsed_s", say_seconds(v->now.now_ns), "flows", "open",
                     (json_int_t)v->now.open, "total", (json_int_t)v->now.total, "turned_away",
                     (json_int_t)v->now.away, "unreachable", (json_int_t)v->now.missed, "there",
                     say_way(v, EMU_THERE), "back", say_way(v, EMU_BACK), "faults",
                     say_faults(&v->now), "active", say_active(&v->now));
}

/* Text. */

/* "there 48.1 Mbit/s (96 %), late 35 us" */
static void say_way_line(struct text *out, const struct proxy_view *v, uint32_t way)
{
    uint64_t bytes = v->now.ways[way].delivered_bytes - v->before.ways[way].delivered_bytes;

    text_addf(out, "%s %.2f Mbit/s", emu_way_name(way), (double)bytes * 8e-6 / say_since(v));
    if (v->now.ways[way].shape.bytes_per_s != 0) {
        text_addf(out, " (%.0f %%)", say_utilisation(v, way) * 100);
    }
    text_add(out, ", ");
    figure_bytes(v->now.ways[way].pipe.queued_bytes, out);
    text_addf(out, " on the way, late by %.0f us; ", say_late_us(&v->now.ways[way].pipe));
}

void proxy_say_status(struct cli_context *ctx, const char *event, const struct proxy_view *v)
{
    char line[SAY_LINE_BYTES];
    struct text out;

    if (ctx->json) {
        server_say_json(ctx, say_json(event, v));
        return;
    }
    text_init_fixed(&out, line, sizeof(line));
    figure_time(say_seconds(v->now.now_ns), &out);
    text_add(&out, ": ");
    say_way_line(&out, v, EMU_THERE);
    say_way_line(&out, v, EMU_BACK);
    text_addf(&out, "%" PRIu32 " of %" PRIu64 " connections open", v->now.open, v->now.total);
    if (!isnan(say_usd(v, EMU_THERE) + say_usd(v, EMU_BACK))) {
        text_add(&out, ", ");
        run_page_usd(&out, say_usd(v, EMU_THERE) + say_usd(v, EMU_BACK));
    }
    cli_out(ctx, "%s\n", line);
    cli_flush(ctx);
}

static void say_shape(struct cli_context *ctx, const struct emu_way_stats *w, uint32_t way)
{
    struct units_text rate, stream, delay, jitter;

    cli_out(
        ctx, "%-6s rate %s, each connection %s, delay %s, jitter up to %s\n", emu_way_name(way),
        w->shape.bytes_per_s == 0 ? "any" : units_rate_print(w->shape.bytes_per_s, &rate),
        w->shape.stream_bytes_per_s == 0 ? "any"
                                         : units_rate_print(w->shape.stream_bytes_per_s, &stream),
        units_time_print(w->shape.delay_ns, &delay), units_time_print(w->shape.jitter_ns, &jitter));
    cli_out(ctx,
            "%-6s %" PRIu64 " bytes taken, %" PRIu64 " delivered, late by %.0f us, at most "
            "%.0f us\n",
            "", w->pipe.sent_bytes, w->delivered_bytes, say_late_us(&w->pipe),
            (double)w->pipe.late_max_ns * 1e-3);
}

void proxy_say_show(struct cli_context *ctx, const struct proxy_view *v)
{
    if (ctx->json) {
        server_say_json(ctx, say_json("show", v));
        return;
    }
    for (uint32_t way = 0; way < EMU_WAYS; way++) {
        say_shape(ctx, &v->now.ways[way], way);
    }
    for (uint32_t i = 0; i < EMU_FAULTS; i++) {
        bool there = v->now.active[i][EMU_THERE], back = v->now.active[i][EMU_BACK];

        if (v->now.fired[i] > 0 || there || back) {
            cli_out(ctx, "%-9s %" PRIu64 " so far%s\n", emu_fault_name((enum emu_fault)i),
                    v->now.fired[i],
                    there && back ? ", on now"
                    : there       ? ", on now there"
                    : back        ? ", on now back"
                                  : "");
        }
    }
    proxy_say_status(ctx, "show", v);
}

void proxy_say_answer(struct cli_context *ctx, const char *order, const char *wrong)
{
    if (ctx->json) {
        server_say_json(ctx,
                        json_pack("{s:s, s:s, s:s*}", "event", wrong == NULL ? "done" : "wrong",
                                  "command", order, "error", wrong));
        return;
    }
    if (wrong == NULL) {
        cli_out(ctx, "done: %s\n", order);
    } else {
        cli_out(ctx, "wrong: %s\n", wrong);
    }
    cli_flush(ctx);
}
