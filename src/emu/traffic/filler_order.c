#include "emu/traffic/filler_order.h"

#include <stdlib.h>
#include <string.h>

enum { ORDER_WORDS_MAX = 5 };

/* A whole number from zero to @most. */
static bool order_number(const char *word, uint64_t most, uint64_t *out)
{
    size_t size = strlen(word);

    if (size == 0 || size > 12 || strspn(word, "0123456789") != size) {
        return false;
    }
    *out = strtoull(word, NULL, 10);
    return *out <= most;
}

/* The words of a line; the number of them, one too many if there are more. */
static size_t order_split(char *line, const char **words)
{
    char *rest = NULL;
    size_t count = 0;

    for (char *w = strtok_r(line, " ", &rest); w != NULL && count < ORDER_WORDS_MAX;
         w = strtok_r(NULL, " ", &rest)) {
        words[count++] = w;
    }
    return count;
}

enum err filler_order_parse(const char *line, size_t size, struct filler_order *out,
                            struct err_text *text)
{
    char copy[FILLER_ORDER_BYTES_MAX + 1];
    const char *words[ORDER_WORDS_MAX];
    uint64_t kind = 0;
    size_t count;

    if (size > FILLER_ORDER_BYTES_MAX || memchr(line, '\0', size) != NULL) {
        return err_text_set(text, ERR_MALFORMED, "an order is a line of at most %d bytes",
                            FILLER_ORDER_BYTES_MAX);
    }
    memcpy(copy, line, size);
    copy[size] = '\0';
    count = order_split(copy, words);
    *out = (struct filler_order){.begin = count > 0 && strcmp(words[0], "begin") == 0};
    if (count == 0 || count != (out->begin ? 4 : 2) ||
        (!out->begin && strcmp(words[0], "end") != 0) ||
        !order_number(words[1], FILLER_KINDS_MAX - 1, &kind) ||
        (out->begin && !order_number(words[2], FILLER_RATE_MAX, &out->bytes_per_s))) {
        return err_text_set(text, ERR_MALFORMED,
                            "write: begin KIND RATE ADDRESS, or: end KIND; kinds are 0 to %d",
                            FILLER_KINDS_MAX - 1);
    }
    out->kind = (uint32_t)kind;
    return !out->begin || net_address_parse(words[3], &out->to, text) == OK ? OK : ERR_MALFORMED;
}
