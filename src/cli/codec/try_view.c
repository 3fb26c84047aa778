/* What came of a chain, for people and for programs. */

#include "cli/codec/try.h"
#include "cli/output/figure.h"

#include <inttypes.h>
#include <string.h>

enum {
    TRY_BAR = 6,
    TRY_TEXT_BYTES = 256,
    TRY_NAME_WIDTH = 44,
};

static double try_share(double part, double all)
{
    return all > 0 ? part / all : 0;
}

/* Megabytes of floats a second. */
static double try_rate(uint64_t elements, int64_t ns)
{
    return ns > 0 ? (double)elements * sizeof(float) * 1e3 / (double)ns : 0;
}

static void try_way(uint32_t kind, uint32_t squeeze, struct text *out)
{
    text_add(out, codec_kind_name(kind));
    if (squeeze != CODEC_PLAIN) {
        text_addf(out, " %s", codec_squeeze_name((enum codec_squeeze)squeeze));
    }
}

/* "bitmap", or "bitmap zstd 12, list 3". */
static void try_ways(const struct run_replay_clock *c, struct text *out)
{
    uint32_t several = 0, seen = 0;

    for (uint32_t k = 0; k < CODEC_KINDS * CODEC_SQUEEZES; k++) {
        several += c->ways[k / CODEC_SQUEEZES][k % CODEC_SQUEEZES] > 0;
    }
    for (uint32_t k = 0; k < CODEC_KINDS * CODEC_SQUEEZES; k++) {
        uint64_t chunks = c->ways[k / CODEC_SQUEEZES][k % CODEC_SQUEEZES];

        if (chunks > 0) {
            text_add(out, seen++ > 0 ? ", " : "");
            try_way(k / CODEC_SQUEEZES, k % CODEC_SQUEEZES, out);
            if (several > 1) {
                text_addf(out, " %" PRIu64, chunks);
            }
        }
    }
    text_add(out, several == 0 ? "nothing" : "");
}

void codec_try_head(struct cli_context *ctx, const struct codec_try *t)
{
    cli_out(ctx, "%s%s%s\n%s%5s %9s %6s %-*s %8s %6s %8s %8s %8s %5s %5s %s%s\n",
            cli_style(ctx->color_out, CLI_HEADING), t->name, cli_style(ctx->color_out, CLI_PLAIN),
            cli_style(ctx->color_out, CLI_FAINT), "CLOCK", "ENTRIES", "SENT", TRY_BAR, "", "BYTES",
            "OF ALL", "ERROR", "HELD", "BOUND", "WRITE", "READ", "AS",
            cli_style(ctx->color_out, CLI_PLAIN));
}

void codec_try_line(struct cli_context *ctx, const struct run_replay_clock *c)
{
    double sent = try_share((double)c->sent_elements, (double)c->elements);
    bool utf8 = figure_utf8();
    char chars[3][TRY_TEXT_BYTES];
    struct text bar, bytes, ways;

    text_init_fixed(&bar, chars[0], sizeof(chars[0]));
    text_init_fixed(&bytes, chars[1], sizeof(chars[1]));
    text_init_fixed(&ways, chars[2], sizeof(chars[2]));
    figure_bar(sent, TRY_BAR, utf8, &bar);
    figure_bytes(c->bytes, &bytes);
    try_ways(c, &ways);
    cli_out(ctx,
            "%5" PRIu64 " %9" PRIu64 " %5.1f%% %s %8s %5.1f%% %8.3g %8.3g %8.3g %5.0f %5.0f %s\n",
            c->clock, c->sent_elements, sent * 100, bar.chars, bytes.chars,
            try_share((double)c->bytes, (double)c->elements * 4) * 100, c->error_norm,
            c->residual_norm, c->bound, try_rate(c->elements, c->encode_ns),
            try_rate(c->elements, c->decode_ns), ways.chars);
    cli_flush(ctx);
}

/* How long a clock takes on the link: as it is written, with what writing and reading take; and all
 * floats. */
static double try_seconds(const struct codec_try *t)
{
    return ((double)t->total.bytes / (double)t->config.link_rate +
            (double)(t->total.encode_ns + t->total.decode_ns) / 1e9) /
           (double)t->clocks;
}

static double try_seconds_dense(const struct codec_try *t)
{
    return (double)t->total.elements * 4 / (double)t->config.link_rate / (double)t->clocks;
}

void codec_try_total(struct cli_context *ctx, const struct codec_try *t)
{
    const struct run_replay_clock *c = &t->total;
    char line[4 * TRY_TEXT_BYTES], rate[32];
    struct text out;

    text_init_fixed(&out, line, sizeof(line));
    value_format(CLI_RATE, (int64_t)t->config.link_rate * 8, rate, sizeof(rate));
    text_addf(&out,
              "sends %.1f %% of the entries in %.1f %% of the bytes, %" PRIu64
              " clock%s of %" PRIu64 " elements; at %s/s a clock takes ",
              try_share((double)c->sent_elements, (double)c->elements) * 100,
              try_share((double)c->bytes, (double)c->elements * 4) * 100, t->clocks,
              t->clocks == 1 ? "" : "s", c->elements / t->clocks, rate);
    figure_time(try_seconds(t), &out);
    text_add(&out, " (");
    figure_time((double)(c->encode_ns + c->decode_ns) / 1e9 / (double)t->clocks, &out);
    text_add(&out, " of it to write and read) instead of ");
    figure_time(try_seconds_dense(t), &out);
    text_addf(&out, ". Writes %.0f MB/s and reads %.0f MB/s, as ",
              try_rate(c->elements, c->encode_ns), try_rate(c->elements, c->decode_ns));
    try_ways(c, &out);
    text_addf(&out,
              ". What is held in the end has a norm of %.3g (the bound is %.3g), %.2f %% of that "
              "of all updates together.",
              c->residual_norm, c->bound, try_share(c->residual_norm, c->sum_norm) * 100);
    cli_wrap(ctx->out, line, 0, 0, ctx->width);
}

void codec_try_compare(struct cli_context *ctx, const struct codec_try *tries, uint32_t count)
{
    cli_out(ctx, "%s%-*s %6s %6s %8s %8s %8s %6s%s\n", cli_style(ctx->color_out, CLI_FAINT),
            TRY_NAME_WIDTH, "CHAIN", "SENT", "OF ALL", "RATIO", "HELD", "BOUND", "A CLOCK",
            cli_style(ctx->color_out, CLI_PLAIN));
    for (uint32_t i = 0; i < count; i++) {
        const struct run_replay_clock *c = &tries[i].total;
        char chars[TRY_TEXT_BYTES];
        struct text time;

        text_init_fixed(&time, chars, sizeof(chars));
        figure_time(try_seconds(&tries[i]), &time);
        cli_out(ctx, "%-*s %5.1f%% %5.1f%% %7.3fx %8.3g %8.3g %s\n", TRY_NAME_WIDTH, tries[i].name,
                try_share((double)c->sent_elements, (double)c->elements) * 100,
                try_share((double)c->bytes, (double)c->elements * 4) * 100,
                try_share((double)c->bytes, (double)tries[0].total.bytes), c->residual_norm,
                c->bound, time.chars);
    }
}

/* As JSON. */

static json_t *try_ways_json(const struct run_replay_clock *c)
{
    json_t *out = json_object();

    for (uint32_t k = 0; k < CODEC_KINDS * CODEC_SQUEEZES; k++) {
        uint64_t chunks = c->ways[k / CODEC_SQUEEZES][k % CODEC_SQUEEZES];
        char chars[TRY_TEXT_BYTES];
        struct text name;

        if (chunks > 0) {
            text_init_fixed(&name, chars, sizeof(chars));
            try_way(k / CODEC_SQUEEZES, k % CODEC_SQUEEZES, &name);
            json_object_set_new(out, chars, json_integer((json_int_t)chunks));
        }
    }
    return out;
}

/* What a clock and all of them have in common. */
static json_t *try_json(const struct run_replay_clock *c)
{
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:o}", "sent_elements",
                     (json_int_t)c->sent_elements, "elements", (json_int_t)c->elements, "bytes",
                     (json_int_t)c->bytes, "residual_norm", c->residual_norm, "bound", c->bound,
                     "sum_norm", c->sum_norm, "encode_mb_s", try_rate(c->elements, c->encode_ns),
                     "decode_mb_s", try_rate(c->elements, c->decode_ns), "as", try_ways_json(c));
}

json_t *codec_try_clock_json(const struct run_replay_clock *c)
{
    json_t *out = try_json(c);

    json_object_set_new(out, "clock", json_integer((json_int_t)c->clock));
    json_object_set_new(out, "threshold", json_real(c->threshold));
    json_object_set_new(out, "update_norm", json_real(c->update_norm));
    json_object_set_new(out, "error_norm", json_real(c->error_norm));
    return out;
}

json_t *codec_try_json(struct codec_try *t)
{
    const struct run_replay_clock *c = &t->total;
    json_t *total = try_json(c), *out;
    char chain[CODEC_CHAIN_TEXT_BYTES];

    codec_chain_print(&t->config.chain, chain, sizeof(chain));
    json_object_set_new(total, "clocks", json_integer((json_int_t)t->clocks));
    json_object_set_new(total, "chunks", json_integer((json_int_t)c->chunks));
    json_object_set_new(total, "dense_bytes", json_integer((json_int_t)c->elements * 4));
    json_object_set_new(total, "sent_share",
                        json_real(try_share((double)c->sent_elements, (double)c->elements)));
    json_object_set_new(total, "bytes_share",
                        json_real(try_share((double)c->bytes, (double)c->elements * 4)));
    json_object_set_new(total, "link_bit_s", json_integer((json_int_t)t->config.link_rate * 8));
    json_object_set_new(total, "clock_seconds", json_real(try_seconds(t)));
    json_object_set_new(total, "dense_clock_seconds", json_real(try_seconds_dense(t)));
    out = json_pack("{s:s, s:o, s:o}", "chain", chain, "clocks", t->list, "total", total);
    t->list = NULL;
    if (t->which != NULL) {
        json_object_set_new(out, "threshold", json_string(t->which));
    }
    return out;
}
