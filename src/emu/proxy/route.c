#include "emu/proxy/route.h"

#include "base/mem.h"
#include "emu/proxy/order.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ROUTE_BYTES_MAX = 2 * NET_ADDRESS_BYTES + 16 };

static enum err route_address(const char *chars, size_t size, struct net_address *out,
                              struct err_text *text)
{
    char whole[ROUTE_BYTES_MAX + sizeof("tcp://")];

    (void)snprintf(whole, sizeof(whole), "tcp://%.*s", (int)size, chars);
    return net_address_parse(whole, out, text) == OK ? OK : ERR_MALFORMED;
}

static enum err route_parse(const char *chars, struct emu_route *out, struct err_text *text)
{
    const char *equals;
    struct emu_route route = {.way = EMU_THERE};

    if (strlen(chars) > ROUTE_BYTES_MAX) {
        return err_text_set(text, ERR_MALFORMED, "a route has at most %d characters",
                            ROUTE_BYTES_MAX);
    }
    if (strncmp(chars, "there:", 6) == 0) {
        chars += 6;
    } else if (strncmp(chars, "back:", 5) == 0) {
        chars += 5;
        route.way = EMU_BACK;
    }
    equals = strchr(chars, '=');
    if (equals == NULL) {
        return err_text_set(text, ERR_MALFORMED,
                            "a route is LISTEN=TARGET, as 127.0.0.1:0=127.0.0.1:7400");
    }
    if (route_address(chars, (size_t)(equals - chars), &route.listen, text) != OK ||
        route_address(equals + 1, strlen(equals + 1), &route.target, text) != OK) {
        return ERR_MALFORMED;
    }
    if (strspn(route.target.port, "0") == strlen(route.target.port)) {
        return err_text_set(text, ERR_MALFORMED, "the target's port cannot be 0");
    }
    *out = route;
    return OK;
}

static enum err route_room(struct emu_routes *r, struct err_text *text)
{
    uint32_t room = r->room == 0 ? 16 : r->room * 2;
    struct emu_route *more;

    if (r->count < r->room) {
        return OK;
    }
    if (r->count == EMU_ROUTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "a link has at most %d routes", EMU_ROUTES_MAX);
    }
    more = mem_calloc(room, sizeof(*more));
    if (more == NULL) {
        return err_text_set(text, ERR_NOMEM, "out of memory");
    }
    if (r->count > 0) {
        memcpy(more, r->list, r->count * sizeof(*more));
    }
    mem_free(r->list);
    r->list = more;
    r->room = room;
    return OK;
}

enum err emu_routes_add(struct emu_routes *r, const char *route, struct err_text *text)
{
    enum err rc = route_room(r, text);

    if (rc == OK) {
        rc = route_parse(route, &r->list[r->count], text);
    }
    r->count += rc == OK;
    return rc;
}

static bool route_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* One line, without its end. */
static enum err route_line(struct emu_routes *r, const char *chars, size_t size,
                           struct err_text *text)
{
    char line[ROUTE_BYTES_MAX + 1];
    const char *comment = memchr(chars, '#', size);

    size = comment == NULL ? size : (size_t)(comment - chars);
    while (size > 0 && route_blank(chars[size - 1])) {
        size--;
    }
    while (size > 0 && route_blank(*chars)) {
        chars++;
        size--;
    }
    if (size == 0) {
        return OK;
    }
    if (size > ROUTE_BYTES_MAX || memchr(chars, '\0', size) != NULL) {
        return err_text_set(text, ERR_MALFORMED, "this is no route");
    }
    memcpy(line, chars, size);
    line[size] = '\0';
    return emu_routes_add(r, line, text);
}

enum err emu_routes_add_lines(struct emu_routes *r, const char *name, const char *chars,
                              size_t size, struct err_text *text)
{
    struct err_text why = {""};

    for (uint32_t number = 1; size > 0; number++) {
        const char *end = memchr(chars, '\n', size);
        size_t line = end == NULL ? size : (size_t)(end - chars);
        enum err rc = route_line(r, chars, line, &why);

        if (rc != OK) {
            return err_text_set(text, rc, "%.128s:%u: %.300s", name, number, why.text);
        }
        line += end != NULL;
        chars += line;
        size -= line;
    }
    return OK;
}

void emu_routes_deinit(struct emu_routes *r)
{
    mem_free(r->list);
    *r = (struct emu_routes){0};
}
