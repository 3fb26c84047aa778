#include "cli/command/context.h"

#include "cli/command/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option *context_option(const struct cli_context *ctx, const char *name)
{
    const struct cli_option *option = cli_option_find(ctx->parsed->command, name, strlen(name));

    CHECK(option != NULL);
    return option;
}

/* The value given, or the default; .text is NULL if there is neither. */
static struct cli_value context_value(const struct cli_context *ctx, const char *name)
{
    const struct cli_option *o = context_option(ctx, name);
    const struct cli_setting *setting = parse_last(ctx->parsed, o);
    struct cli_value value = {0};

    CHECK(o->placeholder != NULL);
    if (setting != NULL) {
        return setting->value;
    }
    if (o->fallback != NULL) {
        CHECK(value_parse(o->kind, o->words, o->min, o->max, o->fallback, &value, NULL) == OK);
    }
    return value;
}

bool cli_flag(const struct cli_context *ctx, const char *name)
{
    return parse_flag(ctx->parsed, name);
}

bool cli_given(const struct cli_context *ctx, const char *name)
{
    return parse_last(ctx->parsed, context_option(ctx, name)) != NULL;
}

const char *cli_text(const struct cli_context *ctx, const char *name)
{
    return context_value(ctx, name).text;
}

int64_t cli_number(const struct cli_context *ctx, const char *name)
{
    return context_value(ctx, name).number;
}

double cli_decimal(const struct cli_context *ctx, const char *name)
{
    return context_value(ctx, name).decimal;
}

const char *cli_text_at(const struct cli_context *ctx, const char *name, size_t index)
{
    const struct cli_option *option = context_option(ctx, name);

    for (size_t i = 0; i < ctx->parsed->settings_count; i++) {
        if (ctx->parsed->settings[i].option == option && index-- == 0) {
            return ctx->parsed->settings[i].value.text;
        }
    }
    return NULL;
}

const char *cli_argument(const struct cli_context *ctx, size_t index)
{
    return index < ctx->parsed->arguments_count ? ctx->parsed->arguments[index].text : NULL;
}

int64_t cli_argument_number(const struct cli_context *ctx, size_t index)
{
    return index < ctx->parsed->arguments_count ? ctx->parsed->arguments[index].number : 0;
}

const char *cli_style(bool color, enum cli_style style)
{
    static const char *const escapes[] = {
        [CLI_PLAIN] = "\033[0m",  [CLI_HEADING] = "\033[1m", [CLI_NAME] = "\033[1;36m",
        [CLI_FAINT] = "\033[2m",  [CLI_GOOD] = "\033[32m",   [CLI_DOUBTFUL] = "\033[33m",
        [CLI_BAD] = "\033[1;31m",
    };

    return color ? escapes[style] : "";
}

void cli_out(struct cli_context *ctx, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vfprintf(ctx->out, fmt, args);
    va_end(args);
}

void cli_flush(struct cli_context *ctx)
{
    if (fflush(ctx->out) != 0 && ctx->out_errno == 0) {
        ctx->out_errno = errno;
    }
}

void cli_note(struct cli_context *ctx, const char *fmt, ...)
{
    va_list args;

    if (ctx->quiet) {
        return;
    }
    cli_flush(ctx); /* Where both go to one place, the order stays. */
    va_start(args, fmt);
    (void)vfprintf(ctx->err, fmt, args);
    va_end(args);
    (void)fputc('\n', ctx->err);
}

void cli_next(struct cli_context *ctx, const char *fmt, ...)
{
    va_list args;

    if (ctx->quiet || ctx->json) {
        return;
    }
    cli_flush(ctx);
    fprintf(ctx->err, "  %snext:%s ", cli_style(ctx->color_err, CLI_FAINT),
            cli_style(ctx->color_err, CLI_PLAIN));
    va_start(args, fmt);
    (void)vfprintf(ctx->err, fmt, args);
    va_end(args);
    (void)fputc('\n', ctx->err);
}

enum cli_exit cli_json(struct cli_context *ctx, json_t *object)
{
    json_t *whole = json_pack("{s:i}", "schema", CLI_JSON_SCHEMA);
    char *text = NULL;

    if (whole != NULL && object != NULL && json_object_update_missing(whole, object) == 0) {
        text = json_dumps(whole, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    }
    json_decref(object);
    json_decref(whole);
    if (text == NULL) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot write JSON: out of memory");
    }
    fprintf(ctx->out, "%s\n", text);
    free(text);
    return CLI_DONE;
}

/* {"schema":1,"error":{...}} on one line of stderr. */
static void context_error_json(struct cli_context *ctx, const struct cli_error *error,
                               const char *id, const char *next, const char *message)
{
    char page[32];
    char *text = NULL;
    json_t *object;

    (void)snprintf(page, sizeof(page), "strait help %s", id);
    object = json_pack("{s:i, s:{s:s, s:s, s:s+, s:i, s:s?, s:s}}", "schema", CLI_JSON_SCHEMA,
                       "error", "id", id, "title", error->title, "message", message, "", "exit",
                       (int)error->exit, "try", next, "help", page);
    if (object != NULL) {
        text = json_dumps(object, JSON_COMPACT);
    }
    fprintf(ctx->err, "%s\n", text != NULL ? text : "{\"schema\":1,\"error\":{}}");
    free(text);
    json_decref(object);
}

enum cli_exit cli_error(struct cli_context *ctx, enum cli_error_id id, const char *next,
                        const char *fmt, ...)
{
    const struct cli_error *error = cli_error_find(id);
    char name[CLI_ERROR_NAME_BYTES];
    char message[1024];
    va_list args;

    CHECK(error != NULL);
    cli_error_name(id, name);
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    cli_flush(ctx);
    if (ctx->json) {
        context_error_json(ctx, error, name, next, message);
        return error->exit;
    }
    fprintf(ctx->err, "%serror[%s]%s: %s\n", cli_style(ctx->color_err, CLI_BAD), name,
            cli_style(ctx->color_err, CLI_PLAIN), message);
    if (next != NULL && *next != '\0') {
        fprintf(ctx->err, "  %stry:%s  %s\n", cli_style(ctx->color_err, CLI_FAINT),
                cli_style(ctx->color_err, CLI_PLAIN), next);
    }
    fprintf(ctx->err, "  %s%s%s strait help %s\n", cli_style(ctx->color_err, CLI_FAINT),
            next != NULL && *next != '\0' ? "more:" : "try:", cli_style(ctx->color_err, CLI_PLAIN),
            name);
    return error->exit;
}

void cli_wrap(FILE *to, const char *text, int indent, int column, int width)
{
    bool first = true;

    for (size_t size; (size = value_next_word(&text)) > 0; text += size) {
        if (!first && column + 1 + (int)size > width) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            (void)fputc(' ', to);
            column++;
        } else if (column < indent) {
            fprintf(to, "%*s", indent - column, "");
            column = indent;
        }
        fprintf(to, "%.*s", (int)size, text);
        column += (int)size;
        first = false;
    }
    (void)fputc('\n', to);
}
