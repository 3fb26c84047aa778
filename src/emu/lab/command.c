#include "emu/lab/command.h"

#include "base/nearest.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

enum { COMMAND_WORDS_MAX = 16 };

static const char *const command_names[] = {
    [LAB_SET] = "set",   [LAB_CUT] = "cut",     [LAB_HEAL] = "heal",
    [LAB_SHOW] = "show", [LAB_RESET] = "reset", [LAB_QUIT] = "quit",
};

enum { COMMAND_KINDS = sizeof(command_names) / sizeof(command_names[0]) };

/* The line, cut into words. */
struct command_words {
    char chars[LAB_COMMAND_BYTES_MAX + 1];
    char *list[COMMAND_WORDS_MAX];
    uint32_t count;
};

/* What people typed, fit to be shown. */
struct command_shown {
    char chars[96];
};

static const char *command_shown(const char *word, struct command_shown *out)
{
    struct text t;

    text_init_fixed(&t, out->chars, sizeof(out->chars));
    text_add_printable(&t, word);
    return t.failed ? "(too long)" : out->chars;
}

static enum err command_split(const char *line, size_t size, struct command_words *words,
                              struct err_text *text)
{
    char *at = words->chars;

    if (size > LAB_COMMAND_BYTES_MAX || memchr(line, '\0', size) != NULL) {
        return err_text_set(text, ERR_MALFORMED, "a command has at most %d characters, all of text",
                            LAB_COMMAND_BYTES_MAX);
    }
    memcpy(words->chars, line, size);
    words->chars[size] = '\0';
    for (;;) {
        at += strspn(at, " \t\r");
        if (*at == '\0') {
            return OK;
        }
        if (words->count == COMMAND_WORDS_MAX) {
            return err_text_set(text, ERR_MALFORMED, "more than %d words", COMMAND_WORDS_MAX);
        }
        words->list[words->count++] = at;
        at += strcspn(at, " \t\r");
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
}

static enum err command_kind(const char *word, enum lab_command_kind *kind_out,
                             struct err_text *text)
{
    struct command_shown shown;
    struct nearest nearest;

    nearest_init(&nearest, word);
    for (uint32_t i = 0; i < COMMAND_KINDS; i++) {
        if (strcmp(command_names[i], word) == 0) {
            *kind_out = (enum lab_command_kind)i;
            return OK;
        }
        nearest_offer(&nearest, command_names[i]);
    }
    return err_text_set(text, ERR_MALFORMED, "no command '%s': %s", command_shown(word, &shown),
                        nearest_hint(&nearest, "there are"));
}

static enum err command_figure(struct lab_command *c, uint32_t which, const char *value,
                               struct err_text *text)
{
    switch (which) {
    case LAB_RATE:
        return units_rate_parse(value, &c->bytes_per_s, text);
    case LAB_DELAY:
        return units_time_parse(value, &c->delay_ns, text);
    case LAB_JITTER:
        return units_time_parse(value, &c->jitter_ns, text);
    default:
        return units_percent_parse(value, &c->loss_ppm, text);
    }
}

/* "rate=50mbit". */
static enum err command_setting(struct lab_command *c, char *word, struct err_text *text)
{
    static const char *const names[] = {"rate", "delay", "jitter", "loss"};
    char *equals = strchr(word, '=');
    struct command_shown shown;
    struct nearest nearest;
    struct err_text why = {""};

    if (equals == NULL) {
        return err_text_set(text, ERR_MALFORMED,
                            "'%s': wanted is rate=, delay=, jitter= or loss= with a value",
                            command_shown(word, &shown));
    }
    *equals = '\0';
    nearest_init(&nearest, word);
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint32_t which = 1U << i;

        nearest_offer(&nearest, names[i]);
        if (strcmp(names[i], word) != 0) {
            continue;
        }
        if (c->given & which) {
            return err_text_set(text, ERR_MALFORMED, "%s= is there twice", word);
        }
        c->given |= which;
        return command_figure(c, which, equals + 1, &why) == OK
                   ? OK
                   : err_text_set(text, ERR_MALFORMED, "%s: %s", word, why.text);
    }
    return err_text_set(text, ERR_MALFORMED, "no figure '%s': %s", command_shown(word, &shown),
                        nearest_hint(&nearest, "there are"));
}

static enum err command_region(const char *word, char *out, struct err_text *text)
{
    struct command_shown shown;

    if (!topo_name_valid(word)) {
        return err_text_set(text, ERR_MALFORMED, "'%s' cannot be a region's name",
                            command_shown(word, &shown));
    }
    (void)snprintf(out, TOPO_NAME_BYTES, "%s", word);
    return OK;
}

/* All behind the first word, of those that are about a link. */
static enum err command_link(struct lab_command *c, struct command_words *w, struct err_text *text)
{
    const char *name = command_names[c->kind];
    uint32_t next = 3;
    enum err rc;

    if (w->count < 3) {
        return err_text_set(text, ERR_MALFORMED, "%s: two regions are wanted, as in %s A B%s", name,
                            name, c->kind == LAB_SET ? " rate=50mbit" : "");
    }
    rc = command_region(w->list[1], c->from, text);
    if (rc == OK) {
        rc = command_region(w->list[2], c->to, text);
    }
    if (rc == OK && strcmp(c->from, c->to) == 0) {
        rc = err_text_set(text, ERR_MALFORMED,
                          "%s: from %s to itself there is no link; LANs stay as they are", name,
                          c->from);
    }
    c->both = true;
    if (w->count > 3 && (strcmp(w->list[3], "there") == 0 || strcmp(w->list[3], "both") == 0)) {
        c->both = strcmp(w->list[3], "both") == 0;
        next = 4;
    }
    for (; rc == OK && next < w->count; next++) {
        struct command_shown shown;

        rc = c->kind == LAB_SET ? command_setting(c, w->list[next], text)
                                : err_text_set(text, ERR_MALFORMED,
                                               "%s: '%s' is too much: there or both may "
                                               "follow the regions",
                                               name, command_shown(w->list[next], &shown));
    }
    if (rc == OK && c->kind == LAB_SET && c->given == 0) {
        rc = err_text_set(text, ERR_MALFORMED,
                          "set: nothing to set; rate=, delay=, jitter= or loss= is wanted");
    }
    return rc;
}

enum err lab_command_parse(const char *line, size_t size, struct lab_command *command_out,
                           struct err_text *text)
{
    struct lab_command c = {.kind = LAB_SHOW};
    struct command_words words = {.count = 0};
    enum err rc = command_split(line, size, &words, text);

    if (rc != OK) {
        return rc;
    }
    if (words.count == 0) {
        return err_text_set(text, ERR_MALFORMED, "a command is wanted, as in show");
    }
    rc = command_kind(words.list[0], &c.kind, text);
    if (rc == OK && c.kind <= LAB_HEAL) {
        rc = command_link(&c, &words, text);
    } else if (rc == OK && words.count > 1) {
        rc = err_text_set(text, ERR_MALFORMED, "%s stands alone", command_names[c.kind]);
    }
    if (rc == OK) {
        *command_out = c;
    }
    return rc;
}

void lab_command_print(const struct lab_command *c, struct text *out)
{
    struct units_text u;

    text_add(out, command_names[c->kind]);
    if (c->kind > LAB_HEAL) {
        return;
    }
    text_addf(out, " %s %s %s", c->from, c->to, c->both ? "both" : "there");
    if (c->given & LAB_RATE) {
        text_addf(out, " rate=%s", units_rate_print(c->bytes_per_s, &u));
    }
    if (c->given & LAB_DELAY) {
        text_addf(out, " delay=%s", units_time_print(c->delay_ns, &u));
    }
    if (c->given & LAB_JITTER) {
        text_addf(out, " jitter=%s", units_time_print(c->jitter_ns, &u));
    }
    if (c->given & LAB_LOSS) {
        text_addf(out, " loss=%s", units_percent_print(c->loss_ppm, &u));
    }
}
