#include "net/detour.h"

#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

enum { DETOUR_LINE_BYTES = 2 * NET_ADDRESS_BYTES + 64 };

struct net_detour {
    struct net_address from;
    struct net_address to;
};

struct net_detours {
    struct net_detour *items;
    uint32_t count;
    uint32_t room;
};

static bool detour_same(const struct net_address *a, const struct net_address *b)
{
    return a->scheme == b->scheme && strcmp(a->host, b->host) == 0 && strcmp(a->port, b->port) == 0;
}

static const struct net_detour *detour_from(const struct net_detours *d,
                                            const struct net_address *from)
{
    for (uint32_t i = 0; i < d->count; i++) {
        if (detour_same(&d->items[i].from, from)) {
            return &d->items[i];
        }
    }
    return NULL;
}

static enum err detour_add(struct net_detours *d, const struct net_detour *item)
{
    if (d->count == d->room) {
        uint32_t room = d->room == 0 ? 16 : d->room * 2;
        struct net_detour *items = mem_calloc(room, sizeof(*items));

        if (items == NULL) {
            return ERR_NOMEM;
        }
        if (d->count > 0) {
            memcpy(items, d->items, d->count * sizeof(*items));
        }
        mem_free(d->items);
        d->items = items;
        d->room = room;
    }
    d->items[d->count++] = *item;
    return OK;
}

static enum err detour_wrong(const char *name, uint32_t line, const char *what,
                             struct err_text *text)
{
    return err_text_set(text, ERR_MALFORMED, "%.200s:%u: %.200s", name, line, what);
}

/* The two words of a line without its comment. */
static enum err detour_words(char *line, char **from_out, char **to_out)
{
    char *rest = NULL;

    line[strcspn(line, "#")] = '\0';
    *from_out = strtok_r(line, " \t\r", &rest);
    *to_out = strtok_r(NULL, " \t\r", &rest);
    return *from_out == NULL                                           ? ERR_NOT_FOUND
           : *to_out == NULL || strtok_r(NULL, " \t\r", &rest) != NULL ? ERR_MALFORMED
                                                                       : OK;
}

static enum err detour_line(struct net_detours *d, const char *name, uint32_t number, char *line,
                            struct err_text *text)
{
    struct net_detour item;
    struct err_text why = {""};
    char *from, *to;
    enum err rc = detour_words(line, &from, &to);

    if (rc == ERR_NOT_FOUND) {
        return OK; /* Nothing but a comment. */
    }
    if (rc != OK) {
        return detour_wrong(name, number, "write two addresses: FROM TO", text);
    }
    if (net_address_parse(from, &item.from, &why) != OK ||
        net_address_parse(to, &item.to, &why) != OK) {
        return detour_wrong(name, number, why.text, text);
    }
    if (item.from.scheme != item.to.scheme) {
        return detour_wrong(name, number, "both addresses need the same scheme", text);
    }
    if (detour_from(d, &item.from) != NULL) {
        return detour_wrong(name, number, "this address has a detour already", text);
    }
    if (d->count == NET_DETOURS_MAX) {
        return detour_wrong(name, number, "more than 4096 detours", text);
    }
    return detour_add(d, &item) == OK ? OK : err_text_set(text, ERR_NOMEM, "no memory for detours");
}

static enum err detour_read(struct net_detours *d, const char *name, const char *bytes, size_t size,
                            struct err_text *text)
{
    const char *end = bytes + size;
    enum err rc = OK;

    for (uint32_t number = 1; bytes < end && rc == OK; number++) {
        const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t length = (size_t)((stop == NULL ? end : stop) - bytes);
        char line[DETOUR_LINE_BYTES];

        if (length >= sizeof(line) || memchr(bytes, '\0', length) != NULL) {
            return detour_wrong(name, number, "not a line with two addresses", text);
        }
        memcpy(line, bytes, length);
        line[length] = '\0';
        rc = detour_line(d, name, number, line, text);
        bytes += length + 1;
    }
    return rc;
}

enum err net_detours_parse(const char *name, const char *bytes, size_t size,
                           struct net_detours **detours_out, struct err_text *text)
{
    struct net_detours *d;
    enum err rc;

    if (size > NET_DETOURS_BYTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%.200s: larger than %d bytes", name,
                            NET_DETOURS_BYTES_MAX);
    }
    d = mem_zalloc(sizeof(*d));
    rc = d == NULL ? err_text_set(text, ERR_NOMEM, "no memory for detours")
                   : detour_read(d, name, bytes, size, text);
    if (rc != OK) {
        net_detours_free(d);
        return rc;
    }
    *detours_out = d;
    return OK;
}

void net_detours_free(struct net_detours *d)
{
    if (d != NULL) {
        mem_free(d->items);
        mem_free(d);
    }
}

uint32_t net_detours_count(const struct net_detours *d)
{
    return d->count;
}

const struct net_address *net_detours_find(const struct net_detours *d,
                                           const struct net_address *to)
{
    const struct net_detour *item = d == NULL ? NULL : detour_from(d, to);

    return item == NULL ? to : &item->to;
}
