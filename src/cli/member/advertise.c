#include "cli/member/advertise.h"

#include <stdio.h>
#include <string.h>
#include <uv.h>

bool advertise_is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strncmp(host, "::ffff:127.", 11) == 0 || strcmp(host, "localhost") == 0;
}

bool advertise_is_any(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

/* The interface of the default route, or "". */
static void advertise_route(char *out, size_t size)
{
    FILE *file = fopen("/proc/net/route", "re");
    char line[256], name[64], destination[16];

    out[0] = '\0';
    while (file != NULL && out[0] == '\0' && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "%63s %15s", name, destination) == 2 &&
            strcmp(destination, "00000000") == 0) {
            (void)snprintf(out, size, "%s", name);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void advertise_text(const uv_interface_address_t *a, char *out, size_t size)
{
    if (a->address.address4.sin_family == AF_INET) {
        (void)uv_ip4_name(&a->address.address4, out, size);
    } else {
        (void)uv_ip6_name(&a->address.address6, out, size);
    }
}

/* How good an address is for others; below zero: no good. */
static int advertise_score(const uv_interface_address_t *a, const char *route)
{
    char text[64];

    advertise_text(a, text, sizeof(text));
    if (a->is_internal || strncmp(text, "fe80", 4) == 0 || strncmp(text, "169.254.", 8) == 0) {
        return -1;
    }
    return (strcmp(a->name, route) == 0 ? 2 : 0) +
           (a->address.address4.sin_family == AF_INET ? 1 : 0);
}

const uv_interface_address_t *advertise_best(const uv_interface_address_t *list, int count,
                                             bool ipv4_only)
{
    const uv_interface_address_t *best = NULL;
    char route[64];
    int best_score = -1;

    advertise_route(route, sizeof(route));
    for (int i = 0; i < count; i++) {
        int score = advertise_score(&list[i], route);

        if (score > best_score && !(ipv4_only && list[i].address.address4.sin_family != AF_INET)) {
            best = &list[i];
            best_score = score;
        }
    }
    return best;
}

/* IPv6 addresses are of no use to others if only IPv4 is bound. */
static enum err advertise_interface(bool ipv4_only, struct net_address *out)
{
    uv_interface_address_t *list = NULL;
    const uv_interface_address_t *best;
    int count = 0;

    if (uv_interface_addresses(&list, &count) != 0) {
        return ERR_NOT_FOUND;
    }
    best = advertise_best(list, count, ipv4_only);
    if (best != NULL) {
        advertise_text(best, out->host, sizeof(out->host));
    }
    uv_free_interface_addresses(list, count);
    return best == NULL ? ERR_NOT_FOUND : OK;
}

static enum err advertise_wanted(const struct net_address *bound, const char *wanted,
                                 struct net_address *out, struct err_text *text)
{
    struct net_address address = *bound;
    char chars[NET_ADDRESS_BYTES];

    if (advertise_is_any(wanted) ||
        (advertise_is_loopback(wanted) && !advertise_is_loopback(bound->host))) {
        return err_text_set(text, ERR_INVALID,
                            "%.200s means another machine to everybody else: name an address that "
                            "others can reach",
                            wanted);
    }
    /* What can be written and read again is a host. */
    if (strlen(wanted) >= sizeof(address.host)) {
        return err_text_set(text, ERR_INVALID, "%.200s...: too long", wanted);
    }
    (void)snprintf(address.host, sizeof(address.host), "%s", wanted);
    return net_address_parse(net_address_format(&address, chars), out, text);
}

enum err advertise_choose(const struct net_address *bound, const char *wanted,
                          struct net_address *out, struct err_text *text)
{
    struct net_address address = *bound;
    enum err rc;

    if (wanted != NULL) {
        return advertise_wanted(bound, wanted, out, text);
    }
    if (advertise_is_any(bound->host)) {
        rc = advertise_interface(strcmp(bound->host, "0.0.0.0") == 0, &address);
        if (rc != OK) {
            return err_text_set(text, rc,
                                "this machine has no address that others could reach: bring up an "
                                "interface, or name one with --advertise");
        }
    }
    *out = address;
    return OK;
}
