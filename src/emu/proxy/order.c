#include "emu/proxy/order.h"

#include "base/nearest.h"
#include "base/units.h"
#include "emu/proxy/pipe.h"

#include <stdlib.h>
#include <string.h>

enum { ORDER_WORDS_MAX = 8 };

#define ORDER_COUNT_MAX UINT64_C(1000000000)
#define ORDER_FOR_MAX_NS (INT64_C(86400) * 1000000000)

/* What stands behind the first word. */
enum order_value {
    ORDER_PLAIN,
    ORDER_RATE,
    ORDER_RATE_OR_OFF,
    ORDER_TIME,
    ORDER_SWITCH,
    ORDER_FLIP
};

struct order_form {
    const char *word;
    enum emu_verb verb;
    enum emu_fault fault;
    enum order_value value;
    bool one_way; /* May be for one direction. */
    const char *form;
};

static const struct order_form order_forms[] = {
    {"rate", EMU_VERB_FAULT, EMU_FAULT_RATE, ORDER_RATE, true, "rate 20mbit [there|back] [for 5s]"},
    {"delay", EMU_VERB_FAULT, EMU_FAULT_DELAY, ORDER_TIME, true,
     "delay 50ms [there|back] [for 5s]"},
    {"jitter", EMU_VERB_FAULT, EMU_FAULT_JITTER, ORDER_TIME, true,
     "jitter 5ms [there|back] [for 5s]"},
    {"cut", EMU_VERB_FAULT, EMU_FAULT_CUT, ORDER_PLAIN, true, "cut [there|back] [for 5s]"},
    {"stall", EMU_VERB_FAULT, EMU_FAULT_STALL, ORDER_PLAIN, true, "stall [there|back] [for 5s]"},
    {"drain", EMU_VERB_FAULT, EMU_FAULT_DRAIN, ORDER_RATE_OR_OFF, true,
     "drain 10kbit|off [there|back] [for 5s]"},
    {"flip", EMU_VERB_FAULT, EMU_FAULT_FLIP, ORDER_FLIP, true,
     "flip 3|every 1MB|off [there|back] [for 5s]"},
    {"fragments", EMU_VERB_FAULT, EMU_FAULT_FRAGMENTS, ORDER_SWITCH, true,
     "fragments on|off [there|back] [for 5s]"},
    {"reset", EMU_VERB_FAULT, EMU_FAULT_RESET, ORDER_PLAIN, false, "reset [for 5s]"},
    {"refuse", EMU_VERB_FAULT, EMU_FAULT_REFUSE, ORDER_PLAIN, false, "refuse [for 5s]"},
    {"heal", EMU_VERB_HEAL, EMU_FAULTS, ORDER_PLAIN, true, "heal [there|back]"},
    {"show", EMU_VERB_SHOW, EMU_FAULTS, ORDER_PLAIN, false, "show"},
    {"quit", EMU_VERB_QUIT, EMU_FAULTS, ORDER_PLAIN, false, "quit"},
};

enum { ORDER_FORMS = sizeof(order_forms) / sizeof(order_forms[0]) };

/* The words of one line, and the next one to be read. */
struct order_line {
    char chars[EMU_ORDER_BYTES_MAX + 1];
    char *words[ORDER_WORDS_MAX + 1]; /* Ends with NULL. */
    uint32_t next;
    const struct order_form *form;
    struct err_text *text;
};

const char *emu_fault_name(enum emu_fault fault)
{
    for (uint32_t i = 0; i < ORDER_FORMS; i++) {
        if (order_forms[i].verb == EMU_VERB_FAULT && order_forms[i].fault == fault) {
            return order_forms[i].word;
        }
    }
    return "";
}

const char *emu_way_name(uint32_t way)
{
    return way == EMU_THERE ? "there" : "back";
}

static enum err order_wrong(const struct order_line *l, const char *what)
{
    return err_text_set(l->text, ERR_MALFORMED, "%s; write: %s", what, l->form->form);
}

/* Cut the line into words. */
static enum err order_split(struct order_line *l, const char *line, size_t size)
{
    char *at = l->chars;

    if (size > EMU_ORDER_BYTES_MAX) {
        return err_text_set(l->text, ERR_MALFORMED, "a line has at most %d characters",
                            EMU_ORDER_BYTES_MAX);
    }
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)line[i] < ' ' && line[i] != '\t' && line[i] != '\r') {
            return err_text_set(l->text, ERR_MALFORMED, "a line holds text only");
        }
    }
    memcpy(l->chars, line, size);
    for (uint32_t i = 0;; i++) {
        at += strspn(at, " \t\r");
        if (*at == '\0' || (i == 0 && *at == '#')) {
            return OK;
        }
        if (i == ORDER_WORDS_MAX) {
            return err_text_set(l->text, ERR_MALFORMED, "too many words");
        }
        l->words[i] = at;
        at += strcspn(at, " \t\r");
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
}

static enum err order_find(struct order_line *l)
{
    struct nearest near;

    nearest_init(&near, l->words[0]);
    for (uint32_t i = 0; i < ORDER_FORMS; i++) {
        if (strcmp(order_forms[i].word, l->words[0]) == 0) {
            l->form = &order_forms[i];
            l->next = 1;
            return OK;
        }
        nearest_offer(&near, order_forms[i].word);
    }
    return err_text_set(l->text, ERR_MALFORMED, "unknown command '%.64s': %s", l->words[0],
                        nearest_hint(&near, "there are"));
}

/* The next word; if there is none, that is what is wrong, and NULL is returned. */
static const char *order_word(struct order_line *l)
{
    if (l->words[l->next] == NULL) {
        (void)order_wrong(l, "there is no value");
        return NULL;
    }
    return l->words[l->next++];
}

static enum err order_rate(struct order_line *l, const char *word, uint64_t *rate_out)
{
    enum err rc = units_rate_parse(word, rate_out, l->text);

    if (rc == OK && (*rate_out == 0 || *rate_out > EMU_RATE_MAX)) {
        return order_wrong(l, *rate_out == 0 ? "a rate of zero is a cut"
                                             : "that is more than can be emulated");
    }
    return rc == OK ? OK : ERR_MALFORMED;
}

static enum err order_time(struct order_line *l, const char *word, int64_t most_ns, int64_t *ns_out)
{
    enum err rc = units_time_parse(word, ns_out, l->text);

    if (rc == OK && *ns_out > most_ns) {
        return order_wrong(l, "that is too long");
    }
    return rc == OK ? OK : ERR_MALFORMED;
}

static enum err order_flip(struct order_line *l, const char *word, struct emu_order *o)
{
    char *end = NULL;

    if (strcmp(word, "off") == 0) {
        return OK;
    }
    if (strcmp(word, "every") == 0) {
        o->every = true;
        word = order_word(l);
        if (word == NULL || units_size_parse(word, &o->amount, l->text) != OK) {
            return ERR_MALFORMED;
        }
        return o->amount == 0 ? order_wrong(l, "a size is above zero") : OK;
    }
    o->amount = strspn(word, "0123456789") == strlen(word) ? strtoull(word, &end, 10) : 0;
    if (o->amount == 0 || o->amount > ORDER_COUNT_MAX) {
        return order_wrong(l, "a count is from 1 to 1000000000");
    }
    return OK;
}

static enum err order_value(struct order_line *l, struct emu_order *o)
{
    const char *word;
    int64_t ns = 0;
    enum err rc;

    if (l->form->value == ORDER_PLAIN) {
        o->amount = 1;
        return OK;
    }
    word = order_word(l);
    if (word == NULL) {
        return ERR_MALFORMED;
    }
    switch (l->form->value) {
    case ORDER_RATE_OR_OFF:
        return strcmp(word, "off") == 0 ? OK : order_rate(l, word, &o->amount);
    case ORDER_RATE:
        return order_rate(l, word, &o->amount);
    case ORDER_TIME:
        rc = order_time(l, word, EMU_DELAY_MAX_NS, &ns);
        o->amount = (uint64_t)ns;
        return rc;
    case ORDER_FLIP:
        return order_flip(l, word, o);
    case ORDER_PLAIN:
    case ORDER_SWITCH:
        break;
    }
    o->amount = strcmp(word, "on") == 0;
    return o->amount == 0 && strcmp(word, "off") != 0 ? order_wrong(l, "it is on or off") : OK;
}

/* "there", "for 5s". */
static enum err order_rest(struct order_line *l, struct emu_order *o)
{
    const char *word;
    bool way_known = false;
    enum err rc = OK;

    while (rc == OK && (word = l->words[l->next]) != NULL) {
        bool there = strcmp(word, "there") == 0;

        l->next++;
        if ((there || strcmp(word, "back") == 0) && l->form->one_way && !way_known) {
            o->ways = 1U << (there ? EMU_THERE : EMU_BACK);
            way_known = true;
        } else if (strcmp(word, "for") == 0 && o->verb == EMU_VERB_FAULT && o->for_ns == 0) {
            word = order_word(l);
            rc = word == NULL ? ERR_MALFORMED : order_time(l, word, ORDER_FOR_MAX_NS, &o->for_ns);
            if (rc == OK && o->for_ns == 0) {
                rc = order_wrong(l, "a time is above zero");
            }
        } else {
            rc = err_text_set(l->text, ERR_MALFORMED, "'%.64s' does not belong there; write: %s",
                              word, l->form->form);
        }
    }
    return rc;
}

enum err emu_order_parse(const char *line, size_t size, struct emu_order *out,
                         struct err_text *text)
{
    struct order_line l = {.text = text};
    struct emu_order o = {.ways = 1U << EMU_THERE | 1U << EMU_BACK};
    enum err rc = order_split(&l, line, size);

    if (rc == OK && l.words[0] == NULL) {
        *out = o;
        return OK;
    }
    if (rc == OK) {
        rc = order_find(&l);
    }
    if (rc == OK) {
        o.verb = l.form->verb;
        o.fault = l.form->fault;
        rc = order_value(&l, &o);
    }
    if (rc == OK) {
        rc = order_rest(&l, &o);
    }
    if (rc == OK) {
        *out = o;
    }
    return rc;
}
