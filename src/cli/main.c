/* strait: reads the command line, sets up the log, runs one command, and looks whether its results
 * were delivered. */

#include "base/log.h"
#include "cli/command/context.h"
#include "cli/command/env.h"
#include "cli/command/help.h"
#include "cli/command/table.h"
#include "loop/clock.h"
#include "net/detour.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MAIN_OUT_BYTES = 256 * 1024 }; /* A failing write is then seen in cli_flush(). */

static int64_t main_wall_us(void *user)
{
    (void)user;
    return clock_wall_us();
}

/* One call per line, so that lines of several threads and processes do not mix. */
static void main_log_write(const char *line, size_t size, void *user)
{
    ssize_t n;

    (void)user;
    do {
        n = write(STDERR_FILENO, line, size);
    } while (n < 0 && errno == EINTR);
}

/* If a standard descriptor is closed, the next file we open would take its place and get our
 * output. One that fails on use takes the place instead. */
static void main_keep_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            int opened = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);

            CHECK(opened == fd || opened < 0);
        }
    }
}

static int main_width(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return CLI_WIDTH;
    }
    return size.ws_col < CLI_WIDTH_MIN   ? CLI_WIDTH_MIN
           : size.ws_col > CLI_WIDTH_MAX ? CLI_WIDTH_MAX
                                         : size.ws_col;
}

static bool main_color(const struct cli_env *env, const struct cli_parsed *parsed, int fd)
{
    if (parse_flag(parsed, "no-color") || env->color == ENV_COLOR_NEVER) {
        return false;
    }
    return env->color == ENV_COLOR_ALWAYS || isatty(fd) == 1;
}

static size_t main_count(const struct cli_parsed *parsed, const char *name)
{
    const struct cli_option *option = cli_option_find(NULL, name, strlen(name));
    size_t count = 0;

    for (size_t i = 0; i < parsed->settings_count; i++) {
        count += parsed->settings[i].option == option && parsed->settings[i].on;
    }
    return count;
}

static const char *main_log_filter(const struct cli_context *ctx, const struct cli_env *env)
{
    static const char *const levels[] = {NULL, "info", "debug", "trace"};
    size_t verbose = main_count(ctx->parsed, "verbose");

    if (cli_given(ctx, "log")) {
        return cli_text(ctx, "log");
    }
    if (verbose > 0) {
        return levels[verbose < 3 ? verbose : 3];
    }
    return ctx->quiet ? "error" : env->log;
}

static enum cli_exit main_log_setup(struct cli_context *ctx, const struct cli_env *env)
{
    const struct log_config config = {
        .format = strcmp(cli_text(ctx, "log-format"), "json") == 0 ? LOG_JSON : LOG_TEXT,
        .filter = main_log_filter(ctx, env),
        .color = ctx->color_err,
        .repeats_per_s = 100,
        .wall_us = main_wall_us,
        .write = main_log_write,
    };
    struct err_text why = {""};

    if (log_setup(&config, &why) != OK) {
        return cli_error(ctx, CLI_ERROR_BAD_LOG_FILTER, "strait help STRAIT-0008", "%s \"%s\": %s",
                         cli_given(ctx, "log") ? "--log" : "STRAIT_LOG", config.filter, why.text);
    }
    return CLI_DONE;
}

static enum cli_exit main_run(struct cli_context *ctx, const struct cli_env *env)
{
    const struct cli_command *command = ctx->parsed->command;
    enum cli_exit status;

    if (ctx->parsed->help) {
        if (command == NULL) {
            help_overview(ctx);
        } else {
            help_command(ctx, command);
        }
        return CLI_DONE;
    }
    if (parse_flag(ctx->parsed, "version")) {
        cli_out(ctx, "strait " STRAIT_VERSION "\n");
        return CLI_DONE;
    }
    if (command == NULL) {
        help_overview(ctx);
        return CLI_DONE;
    }
    status = main_log_setup(ctx, env);
    if (status == CLI_DONE) {
        status = command->run(ctx);
    }
    log_teardown();
    return status;
}

/* Results that did not arrive are a failure, whatever the command thought. */
static enum cli_exit main_finish(struct cli_context *ctx, enum cli_exit status)
{
    cli_flush(ctx);
    if (fclose(ctx->out) != 0 && ctx->out_errno == 0) {
        ctx->out_errno = errno;
    }
    if (ctx->out_errno != 0) {
        ctx->out = ctx->err; /* cli_error() flushes .out, which is gone. */
        (void)cli_error(ctx, CLI_ERROR_STDOUT, NULL, "cannot write to standard output: %s",
                        strerror(ctx->out_errno));
        return status == CLI_DONE ? CLI_FAILED : status;
    }
    return status;
}

int main(int argc, char **argv)
{
    static struct cli_parsed parsed; /* Too large for the stack. */
    const struct cli_env env = env_read();
    struct cli_problem problem;
    struct cli_context ctx = {.parsed = &parsed, .out = stdout, .err = stderr};
    enum cli_error_id rc;
    enum cli_exit status;

    main_keep_descriptors();
    (void)signal(SIGPIPE, SIG_IGN); /* A reader that goes away is an error like others, */
    (void)signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow. */
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 0); /* A job gets a core, not all. */
    if (isatty(STDOUT_FILENO) != 1) {
        (void)setvbuf(stdout, NULL, _IOFBF, MAIN_OUT_BYTES);
    }
    rc = parse_line(argc, argv, &parsed, &problem);
    ctx.json = parse_flag(&parsed, "json");
    for (int i = 1; rc != CLI_ERROR_NONE && i < argc && strcmp(argv[i], "--") != 0; i++) {
        ctx.json = ctx.json || strcmp(argv[i], "--json") == 0;
    }
    ctx.quiet = parse_flag(&parsed, "quiet");
    ctx.color_out = main_color(&env, &parsed, STDOUT_FILENO);
    ctx.color_err = main_color(&env, &parsed, STDERR_FILENO);
    ctx.progress = !ctx.quiet && !ctx.json && isatty(STDERR_FILENO) == 1;
    ctx.width = main_width();
    status = rc != CLI_ERROR_NONE ? cli_error(&ctx, rc, problem.next.text, "%s", problem.what.text)
                                  : main_run(&ctx, &env);
    net_detours_free(ctx.detours);
    return (int)main_finish(&ctx, status);
}
