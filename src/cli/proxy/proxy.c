/* strait proxy: a link between two regions, as one process. The work is done in emu/proxy/proxy.c;
 * here are its options, and the orders that come on standard input. */

#include "cli/proxy/proxy.h"

#include "cli/command/commands.h"
#include "cli/output/file.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    PROXY_ROUTES_BYTES_MAX = 4 * 1024 * 1024, /* Of the file. */
    PROXY_STATUS_JSON_MS = 500,
    PROXY_STATUS_MS = 5000,
    PROXY_USD_MAX = 1000000, /* For a gigabyte. */
};

#define PROXY_RATE_MAX ((int64_t)EMU_RATE_MAX * 8) /* Bits per second. */

struct proxy {
    struct cli_context *ctx;
    struct loop *loop;
    struct emu_proxy *link;
    struct emu_routes routes;
    struct loop_signal *signals[2];
    struct loop_poll *orders;
    struct loop_timer status;
    int64_t every_ns; /* Zero: no status lines. */
    struct proxy_view view;
    char line[EMU_ORDER_BYTES_MAX + 2]; /* One character more than is allowed shows that it is. */
    size_t line_size;
    bool over; /* Before it began: the orders said so. */
};

static void proxy_stop(struct proxy *p)
{
    p->over = true;
    loop_stop(p->loop);
}

/* Orders. */

static void proxy_show(struct proxy *p)
{
    emu_proxy_stats(p->link, &p->view.now);
    proxy_say_show(p->ctx, &p->view);
}

static void proxy_order(struct proxy *p)
{
    struct emu_order order;
    struct err_text text = {""};

    p->line[p->line_size] = '\0';
    if (emu_order_parse(p->line, p->line_size, &order, &text) != OK) {
        proxy_say_answer(p->ctx, p->line, text.text);
        return;
    }
    switch (order.verb) {
    case EMU_VERB_NONE:
        return;
    case EMU_VERB_FAULT:
    case EMU_VERB_HEAL:
        emu_proxy_order(p->link, &order);
        break;
    case EMU_VERB_SHOW:
        proxy_show(p);
        return;
    case EMU_VERB_QUIT:
        proxy_stop(p);
        break;
    }
    proxy_say_answer(p->ctx, p->line, NULL);
}

static void proxy_heard(struct proxy *p, const char *chars, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (chars[i] == '\n') {
            proxy_order(p);
            p->line_size = 0;
        } else if (p->line_size < sizeof(p->line) - 1) {
            p->line[p->line_size++] = chars[i];
        }
    }
}

/* Whoever told us what to do is gone. With --json that is who started us. */
static void proxy_unheard(struct proxy *p)
{
    if (p->line_size > 0) {
        proxy_order(p);
    }
    loop_poll_destroy(p->orders);
    p->orders = NULL;
    if (p->ctx->json) {
        proxy_stop(p);
    }
}

/* False at the end. */
static bool proxy_hear(struct proxy *p)
{
    char chars[4096];
    ssize_t n = read(STDIN_FILENO, chars, sizeof(chars));

    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return true;
    }
    if (n <= 0) {
        proxy_unheard(p);
        return false;
    }
    proxy_heard(p, chars, (size_t)n);
    return true;
}

static void proxy_readable(int events, void *user)
{
    (void)events;
    (void)proxy_hear(user);
}

/* Time and signals. */

static void proxy_status(struct loop_timer *timer, void *user)
{
    struct proxy *p = user;

    emu_proxy_stats(p->link, &p->view.now);
    proxy_say_status(p->ctx, "status", &p->view);
    p->view.before = p->view.now;
    if (p->ctx->out_errno != 0) {
        proxy_stop(p); /* Nobody reads any more. */
    }
    loop_timer_start_in(timer, p->every_ns);
}

static void proxy_caught(int signum, void *user)
{
    (void)signum;
    proxy_stop(user);
}

/* Options. */

/* @name with "back-" before it, if that is wanted and given. */
static int64_t proxy_number(const struct cli_context *ctx, const char *name, uint32_t way)
{
    char back[32];

    (void)snprintf(back, sizeof(back), "back-%s", name);
    return cli_number(ctx, way == EMU_BACK && cli_given(ctx, back) ? back : name);
}

static uint64_t proxy_bytes_per_s(const struct cli_context *ctx, const char *name, uint32_t way)
{
    return ((uint64_t)proxy_number(ctx, name, way) + 7) / 8; /* Little is not none: that is any. */
}

static struct emu_shape proxy_shape(const struct cli_context *ctx, uint32_t way)
{
    return (struct emu_shape){
        .bytes_per_s = proxy_bytes_per_s(ctx, "rate", way),
        .stream_bytes_per_s = proxy_bytes_per_s(ctx, "stream-rate", way),
        .delay_ns = proxy_number(ctx, "delay", way) * 1000,
        .jitter_ns = proxy_number(ctx, "jitter", way) * 1000,
    };
}

/* Dollars for 10^9 bytes; NaN: nobody said. */
static double proxy_price(const struct cli_context *ctx, uint32_t way)
{
    if (way == EMU_BACK && cli_given(ctx, "back-price")) {
        return cli_decimal(ctx, "back-price");
    }
    return cli_given(ctx, "price") ? cli_decimal(ctx, "price") : (double)NAN;
}

static enum cli_exit proxy_read_file(struct proxy *p, const char *path)
{
    struct text chars = {0};
    struct err_text text = {""};
    enum cli_exit status = CLI_DONE;
    enum err rc;

    if (strcmp(path, "-") == 0) {
        return cli_error(p->ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "proxy: --routes: standard input is for commands; name a file");
    }
    if (cli_file_read(path, PROXY_ROUTES_BYTES_MAX, &chars, &text) != OK) {
        return cli_error(p->ctx, CLI_ERROR_FILE, NULL, "proxy: %s", text.text);
    }
    rc = emu_routes_add_lines(&p->routes, path, chars.chars, chars.size, &text);
    if (rc != OK) {
        status = cli_error(p->ctx, rc == ERR_NOMEM ? CLI_ERROR_NO_MEMORY : CLI_ERROR_BAD_VALUE,
                           "strait proxy --help", "proxy: %s", text.text);
    }
    text_deinit(&chars);
    return status;
}

static enum cli_exit proxy_read_routes(struct proxy *p)
{
    const char *path = cli_text(p->ctx, "routes");
    const char *route;
    struct err_text text = {""};

    for (size_t i = 0; (route = cli_argument(p->ctx, i)) != NULL; i++) {
        enum err rc = emu_routes_add(&p->routes, route, &text);

        if (rc != OK) {
            return cli_error(p->ctx, rc == ERR_NOMEM ? CLI_ERROR_NO_MEMORY : CLI_ERROR_BAD_VALUE,
                             "strait proxy --help", "proxy: %s: %s", route, text.text);
        }
    }
    if (path != NULL) {
        enum cli_exit status = proxy_read_file(p, path);

        if (status != CLI_DONE) {
            return status;
        }
    }
    if (p->routes.count == 0) {
        return cli_error(p->ctx, CLI_ERROR_MISSING_ARGUMENT, "strait proxy --help",
                         "proxy: no route: name one, as 127.0.0.1:0=127.0.0.1:7400, or a file of "
                         "them with --routes");
    }
    return CLI_DONE;
}

/* Beginning and end. */

/* Two descriptors for each connection: take what we may have. */
static void proxy_raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static enum err proxy_open(struct proxy *p, struct err_text *text)
{
    const struct emu_proxy_config config = {
        .loop = p->loop,
        .routes = &p->routes,
        .shapes = {proxy_shape(p->ctx, EMU_THERE), proxy_shape(p->ctx, EMU_BACK)},
        .seed = (uint64_t)cli_number(p->ctx, "seed"),
        .conns_max = (uint32_t)cli_number(p->ctx, "connections"),
    };
    enum err rc = loop_timer_init(&p->status, p->loop, proxy_status, p);

    if (rc == OK) {
        rc = loop_signal_create(p->loop, SIGINT, proxy_caught, p, &p->signals[0]);
    }
    if (rc == OK) {
        rc = loop_signal_create(p->loop, SIGTERM, proxy_caught, p, &p->signals[1]);
    }
    return rc == OK ? emu_proxy_create(&config, &p->link, text) : rc;
}

/* Watch standard input; a file, which cannot be watched, is read to its end. */
static void proxy_listen_to_orders(struct proxy *p)
{
    if (loop_poll_create(p->loop, STDIN_FILENO, proxy_readable, p, &p->orders) == OK) {
        loop_poll_want(p->orders, LOOP_READABLE);
        return;
    }
    while (proxy_hear(p)) {
    }
}

static enum cli_exit proxy_work(struct proxy *p)
{
    struct err_text text = {""};
    enum err rc = loop_create(&p->loop);

    if (rc == OK) {
        rc = proxy_open(p, &text);
    }
    if (rc != OK) {
        return cli_error(p->ctx,
                         rc == ERR_NOMEM     ? CLI_ERROR_NO_MEMORY
                         : rc == ERR_INVALID ? CLI_ERROR_BAD_VALUE
                                             : CLI_ERROR_LISTEN,
                         NULL, "proxy: %s", text.text[0] != '\0' ? text.text : err_string(rc));
    }
    proxy_say_ready(p->ctx, p->link, &p->routes);
    emu_proxy_stats(p->link, &p->view.before);
    if (p->every_ns > 0) {
        loop_timer_start_in(&p->status, p->every_ns);
    }
    proxy_listen_to_orders(p);
    if (!p->over) {
        loop_run(p->loop);
    }
    emu_proxy_stats(p->link, &p->view.now);
    proxy_say_status(p->ctx, "stopped", &p->view);
    return CLI_DONE;
}

static void proxy_close(struct proxy *p)
{
    emu_proxy_destroy(p->link);
    loop_poll_destroy(p->orders);
    loop_timer_deinit(&p->status);
    for (int i = 0; i < 2; i++) {
        if (p->signals[i] != NULL) {
            loop_signal_destroy(p->signals[i]);
        }
    }
    loop_destroy(p->loop);
    emu_routes_deinit(&p->routes);
}

static enum cli_exit proxy_run(struct cli_context *ctx)
{
    struct proxy p = {
        .ctx = ctx,
        .view.usd_per_gb = {proxy_price(ctx, EMU_THERE), proxy_price(ctx, EMU_BACK)},
    };
    enum cli_exit status = proxy_read_routes(&p);

    p.every_ns = cli_given(ctx, "every")
                     ? cli_number(ctx, "every") * 1000
                     : (ctx->json ? PROXY_STATUS_JSON_MS : PROXY_STATUS_MS) * INT64_C(1000000);
    if (status == CLI_DONE) {
        proxy_raise_limit();
        status = proxy_work(&p);
    }
    proxy_close(&p);
    return status;
}

/* clang-format off */
#define PROXY_RATE(name_, help_) \
    {.name = (name_), .placeholder = "RATE", .kind = CLI_RATE, .min = 0, .max = PROXY_RATE_MAX, \
     .help = (help_)}
#define PROXY_TIME(name_, help_) \
    {.name = (name_), .placeholder = "TIME", .kind = CLI_DURATION, .min = 0, \
     .max = EMU_DELAY_MAX_NS / 1000, .help = (help_)}
#define PROXY_PRICE(name_, help_) \
    {.name = (name_), .placeholder = "USD", .kind = CLI_DECIMAL, .min = 0, .max = PROXY_USD_MAX, \
     .help = (help_)}

static const struct cli_option proxy_options[] = {
    PROXY_RATE("rate", "what the link carries each way, as 100mbit; 0, the default: any"),
    PROXY_RATE("stream-rate", "the most that one connection gets of it; 0, the default: all"),
    PROXY_TIME("delay", "how long each byte travels, one way; default: 0"),
    PROXY_TIME("jitter", "up to so much more, at random; bytes of a connection stay in order"),
    PROXY_PRICE("price", "dollars for 10^9 bytes each way, so that it says what was spent"),
    PROXY_RATE("back-rate", "the way back; default: as there"),
    PROXY_RATE("back-stream-rate", "the way back; default: as there"),
    PROXY_TIME("back-delay", "the way back; default: as there"),
    PROXY_TIME("back-jitter", "the way back; default: as there"),
    PROXY_PRICE("back-price", "the way back; default: as there"),
    {.name = "routes", .placeholder = "FILE", .kind = CLI_FILE,
     .help = "more routes, one a line; # begins a comment"},
    CLI_OPTION_NUMBER("seed", "NUMBER", "1", "of jitter, and of where faults strike", 0, INT64_MAX),
    CLI_OPTION_NUMBER("connections", "NUMBER", "4096",
                      "at once; who comes beyond is reset", 1, EMU_CONNS_MAX),
    {.name = "every", .placeholder = "TIME", .kind = CLI_DURATION, .min = 0,
     .max = INT64_C(86400) * 1000000,
     .help = "say so often how it stands; 0: never; default: 500ms with --json, else 5s"},
    {0}};
/* clang-format on */

const struct cli_command cli_command_proxy = {
    .path = "proxy",
    .summary = "be a link between two places: slow, far, and faulty on demand",
    .group = CLI_GROUP_MEASURE,
    .paragraphs =
        (const char *const[]){
            "Carries TCP connections with the rate, delay and jitter of a link; all connections "
            "share the rate fairly, in each direction. Needs no privileges. A route is "
            "[there:|back:]LISTEN=TARGET: who connects to LISTEN is carried to TARGET, and stands "
            "at the near end (there, which may be left out) or at the far end (back) of the link. "
            "Port 0 is chosen by the system, and printed.",
            "Commands come on standard input, one a line, and each is answered by a line: rate "
            "20mbit, delay 50ms, jitter 5ms, cut, stall (nothing more is sent), drain 10kbit "
            "(receivers take that much only), flip 3 or flip every 1MB (bits), fragments on "
            "(single bytes), reset (all connections, in the middle of what they carry), refuse "
            "(new connections are reset), heal (all of these end), show, quit. \"there\" or "
            "\"back\" behind a command is for one direction only, not with reset and refuse; "
            "\"for 5s\" behind a fault ends it after that time.",
            "With --json each event is one line: ready with the routes, status, done or wrong for "
            "each command, show, stopped; and the end of standard input ends the link.",
            NULL},
    .arguments = (const struct cli_argument[]){{.placeholder = "ROUTE",
                                                .help = "LISTEN=TARGET, both host:port",
                                                .optional = true,
                                                .repeats = true},
                                               {0}},
    .options = proxy_options,
    .examples =
        (const struct cli_example[]){
            {"strait proxy 127.0.0.1:8000=127.0.0.1:7400 --rate 50mbit --delay 40ms",
             "a worker that joins port 8000 is 80 ms away from its server"},
            {"echo 'cut for 3s' | strait proxy 127.0.0.1:8000=127.0.0.1:7400",
             "and cut off for the first three seconds"},
            {0}},
    .run = proxy_run,
};
