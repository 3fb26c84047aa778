/* strait lab set: change, cut or heal a link of a running lab. */

#include "base/text.h"
#include "cli/command/commands.h"
#include "cli/lab/lab.h"
#include "emu/lab/command.h"

#include <string.h>

/* The words as a line for the lab. It reads them itself, but a mistake here is one of usage. */
static enum cli_exit set_line(struct cli_context *ctx, struct text *line)
{
    const char *first = cli_argument(ctx, 2);
    const char *verb = strcmp(first, "cut") == 0 || strcmp(first, "heal") == 0 ? first : "set";
    struct lab_command command;
    struct err_text text = {""};

    text_addf(line, "%s %s %s %s", verb, cli_argument(ctx, 0), cli_argument(ctx, 1),
              cli_flag(ctx, "one-way") ? "there" : "both");
    for (size_t i = verb == first ? 3 : 2; cli_argument(ctx, i) != NULL; i++) {
        text_addf(line, " %s", cli_argument(ctx, i));
    }
    if (line->failed || strchr(line->chars, '\n') != NULL) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help lab set",
                         "lab set: too long for a command, or more than a line");
    }
    if (lab_command_parse(line->chars, line->size, &command, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help lab set", "lab set: %s", text.text);
    }
    return CLI_DONE;
}

static enum cli_exit set_run(struct cli_context *ctx)
{
    char chars[LAB_COMMAND_BYTES_MAX];
    struct lab_place place;
    json_t *answer = NULL;
    struct text line;
    enum cli_exit status;

    text_init_fixed(&line, chars, sizeof(chars));
    status = lab_place_given(ctx, &place);
    if (status == CLI_DONE) {
        status = set_line(ctx, &line);
    }
    if (status == CLI_DONE) {
        status = lab_ask(ctx, &place, chars, &answer);
    }
    if (status != CLI_DONE) {
        return status;
    }
    if (ctx->json) {
        return cli_json(ctx, answer);
    }
    cli_note(ctx, "done: %s", json_string_value(json_object_get(answer, "command")));
    json_decref(answer);
    return CLI_DONE;
}

const struct cli_command cli_command_lab_set = {
    .path = "lab set",
    .summary = "change a link of a running lab, or cut or heal it",
    .paragraphs =
        (const char *const[]){
            "Both ways, unless --one-way: then only what goes from the first region to the second. "
            "rate=50mbit, delay=20ms (one way, so a round trip takes twice that), jitter=1ms (on "
            "top, from nothing to this), loss=0.1%. What is not named stays as it is. Packets that "
            "are on their way keep their time.",
            "cut lets nothing pass, without telling anybody, as a broken cable does; heal lets it "
            "pass again.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "FROM", .help = "a region"},
            {.placeholder = "TO", .help = "another one"},
            {.placeholder = "WHAT",
             .help = "rate=, delay=, jitter= or loss= with a value; or cut, or heal",
             .repeats = true},
            {0}},
    .options = (const struct cli_option[]){LAB_OPTION_NAME,
                                           {.name = "one-way", .help = "from FROM to TO only"},
                                           {0}},
    .examples =
        (const struct cli_example[]){
            {"strait lab set frankfurt virginia rate=50mbit delay=45ms", "another link"},
            {"strait lab set frankfurt virginia loss=1% --one-way", "one packet in a hundred"},
            {"strait lab set frankfurt virginia cut", "nothing passes"},
            {0}},
    .run = set_run,
};
