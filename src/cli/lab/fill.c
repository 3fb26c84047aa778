/* strait lab fill: other people's traffic, in the namespace of a host. Not for people: a run starts
 * one for each of its members.
 *
 * Orders come as lines on standard input (emu/traffic/filler_order.h), and the end of it is the
 * end. News go out as lines of JSON: {"event":"ready"}, then, whenever something came,
 * {"event":"received", "bytes":[...]} with what came in all, by kind. */

#include "base/log.h"
#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "emu/traffic/filler.h"
#include "net/stream/socket.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { FILL_EVERY_MS = 200 };

struct fill {
    struct cli_context *ctx;
    struct loop *loop;
    struct net_socket_transport transport;
    struct filler *filler;
    struct loop_poll *input;
    struct loop_timer every;
    uint64_t told; /* Bytes of all kinds. */
    char line[FILLER_ORDER_BYTES_MAX + 1];
    size_t size;
};

static uint64_t fill_received(const struct fill *f)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < FILLER_KINDS_MAX; i++) {
        sum += filler_received(f->filler, i);
    }
    return sum;
}

static void fill_say(struct fill *f)
{
    if (fill_received(f) == f->told) {
        return;
    }
    f->told = fill_received(f);
    cli_out(f->ctx, "{\"event\":\"received\",\"bytes\":[");
    for (uint32_t i = 0; i < FILLER_KINDS_MAX; i++) {
        cli_out(f->ctx, "%s%" PRIu64, i == 0 ? "" : ",", filler_received(f->filler, i));
    }
    cli_out(f->ctx, "]}\n");
    cli_flush(f->ctx);
    if (f->ctx->out_errno != 0) {
        loop_stop(f->loop); /* Nobody listens any more. */
    }
}

static void fill_every(struct loop_timer *timer, void *user)
{
    fill_say(user);
    loop_timer_start_in(timer, (int64_t)FILL_EVERY_MS * 1000000);
}

static void fill_order(struct fill *f, const char *line, size_t size)
{
    struct filler_order order;
    struct err_text text = {""};
    enum err rc = filler_order_parse(line, size, &order, &text);

    if (rc != OK) {
        LOG_ERR("fill", "%s", text.text);
        return;
    }
    rc = filler_do(f->filler, &order);
    if (rc != OK) {
        LOG_ERR("fill", "a flow cannot begin: %s", err_string(rc));
    }
}

static void fill_orders(struct fill *f)
{
    char *end;

    while ((end = memchr(f->line, '\n', f->size)) != NULL || f->size == sizeof(f->line)) {
        size_t length = end == NULL ? f->size : (size_t)(end - f->line);
        size_t used = end == NULL ? length : length + 1;

        fill_order(f, f->line, length);
        memmove(f->line, f->line + used, f->size - used);
        f->size -= used;
    }
}

static void fill_input(int events, void *user)
{
    struct fill *f = user;
    ssize_t n = read(STDIN_FILENO, f->line + f->size, sizeof(f->line) - f->size);

    (void)events;
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (n <= 0) {
        loop_poll_want(f->input, 0);
        loop_stop(f->loop);
        return;
    }
    f->size += (size_t)n;
    fill_orders(f);
}

static enum err fill_open(struct fill *f, struct err_text *text)
{
    struct net_socket_options options = {.congestion = ""};
    struct filler_config config;
    enum err rc = net_address_parse(cli_text(f->ctx, "listen"), &config.at, text);

    if (rc == OK) {
        rc = loop_create(&f->loop);
    }
    if (rc == OK) {
        net_socket_transport_init(&f->transport, f->loop, &options);
        config.loop = f->loop;
        config.transport = &f->transport.base;
        rc = filler_create(&config, &f->filler, text);
    }
    if (rc == OK) {
        rc = loop_timer_init(&f->every, f->loop, fill_every, f);
    }
    return rc == OK ? loop_poll_create(f->loop, STDIN_FILENO, fill_input, f, &f->input) : rc;
}

static enum cli_exit fill_run(struct cli_context *ctx)
{
    struct fill f = {.ctx = ctx};
    struct err_text text = {""};
    enum err rc = fill_open(&f, &text);

    if (rc == OK) {
        cli_out(ctx, "{\"event\":\"ready\"}\n");
        cli_flush(ctx);
        loop_poll_want(f.input, LOOP_READABLE);
        loop_timer_start_in(&f.every, 0);
        loop_run(f.loop);
        fill_say(&f);
    }
    loop_poll_destroy(f.input);
    loop_timer_deinit(&f.every);
    filler_destroy(f.filler);
    loop_destroy(f.loop);
    return rc == OK ? CLI_DONE
                    : cli_error(ctx, CLI_ERROR_LAB, NULL, "lab fill: %s",
                                text.text[0] != '\0' ? text.text : err_string(rc));
}

const struct cli_command cli_command_lab_fill = {
    .path = "lab fill",
    .summary = "be other people's traffic, as lines on standard input say",
    .hidden = true,
    .options = (const struct cli_option[]){{.name = "listen",
                                            .placeholder = "ADDRESS",
                                            .help = "where flows of others come in",
                                            .required = true},
                                           {0}},
    .run = fill_run,
};
