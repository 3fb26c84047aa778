#include "net/address.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NET_PATH_BYTES = 108 }; /* The kernel's limit, with the zero at the end. */

static const char *const net_scheme_names[] = {"tcp", "tls", "unix", "sim"};

const char *net_scheme_name(enum net_scheme scheme)
{
    return net_scheme_names[scheme];
}

/* Take the scheme off the front of *@chars. */
static enum err net_address_scheme(const char **chars, enum net_scheme *scheme_out)
{
    const char *mark = strstr(*chars, "://");

    *scheme_out = NET_SCHEME_TLS;
    if (strncmp(*chars, "unix:", 5) == 0) {
        *scheme_out = NET_SCHEME_UNIX;
        *chars += strncmp(*chars, "unix://", 7) == 0 ? 7 : 5;
        return OK;
    }
    if (mark == NULL) {
        return OK;
    }
    for (size_t i = 0; i < sizeof(net_scheme_names) / sizeof(net_scheme_names[0]); i++) {
        size_t size = strlen(net_scheme_names[i]);

        if ((size_t)(mark - *chars) == size && strncmp(*chars, net_scheme_names[i], size) == 0) {
            *scheme_out = (enum net_scheme)i;
            *chars = mark + 3;
            return OK;
        }
    }
    return ERR_INVALID;
}

static bool net_address_port_valid(const char *port)
{
    size_t size = strlen(port);

    return size > 0 && size < NET_PORT_BYTES && strspn(port, "0123456789") == size &&
           atoi(port) <= 65535;
}

static enum err net_address_path(const char *chars, const char *path, struct net_address *out,
                                 struct err_text *text)
{
    size_t size = strlen(path);

    if (size == 0 || size >= NET_PATH_BYTES) {
        return err_text_set(text, ERR_INVALID,
                            "address '%.200s': a unix path has 1 to 107 characters", chars);
    }
    memcpy(out->host, path, size);
    return OK;
}

/* Is there something in the host that belongs to other parts of a URL, or to nothing at all? */
static bool net_address_host_valid(const char *host)
{
    for (; *host != '\0'; host++) {
        if (*host == ' ' || iscntrl((unsigned char)*host) || strchr("[]/\\@?#", *host) != NULL) {
            return false;
        }
    }
    return true;
}

static enum err net_address_host(const char *chars, const char *host, size_t size,
                                 struct net_address *out, struct err_text *text)
{
    if (size >= 2 && host[0] == '[' && host[size - 1] == ']') {
        host++;
        size -= 2;
    } else if (memchr(host, ':', size) != NULL) {
        return err_text_set(text, ERR_INVALID,
                            "address '%.200s': write an IPv6 address in brackets: [::1]:PORT",
                            chars);
    }
    if (size == 0) {
        return err_text_set(text, ERR_INVALID,
                            "address '%.200s': no host before the port; write HOST:PORT", chars);
    }
    if (size >= sizeof(out->host)) {
        return err_text_set(text, ERR_INVALID, "address '%.200s': a host has 1 to %d characters",
                            chars, NET_HOST_BYTES - 1);
    }
    memcpy(out->host, host, size);
    if (!net_address_host_valid(out->host)) {
        return err_text_set(text, ERR_INVALID,
                            "address '%.200s': only HOST:PORT may follow the scheme, without "
                            "spaces, a user or a path",
                            chars);
    }
    return OK;
}

enum err net_address_parse(const char *chars, struct net_address *out, struct err_text *text)
{
    const char *rest = chars;
    struct net_address a = {0};
    const char *colon;
    enum err rc;

    if (net_address_scheme(&rest, &a.scheme) != OK) {
        return err_text_set(text, ERR_INVALID,
                            "address '%.200s': unknown scheme; use tls://, tcp:// or unix:", chars);
    }
    if (a.scheme == NET_SCHEME_UNIX) {
        rc = net_address_path(chars, rest, &a, text);
    } else {
        colon = strrchr(rest, ':');
        if (colon == NULL || !net_address_port_valid(colon + 1)) {
            return err_text_set(text, ERR_INVALID,
                                "address '%.200s': no port; write HOST:PORT with a port up to "
                                "65535",
                                chars);
        }
        memcpy(a.port, colon + 1, strlen(colon + 1));
        rc = net_address_host(chars, rest, (size_t)(colon - rest), &a, text);
    }
    if (rc == OK) {
        *out = a;
    }
    return rc;
}

char *net_address_format(const struct net_address *address, char *out)
{
    bool v6 = strchr(address->host, ':') != NULL;

    if (address->scheme == NET_SCHEME_UNIX) {
        /* Two slashes after the scheme are not part of the path, so such a path needs them twice.
         */
        (void)snprintf(out, NET_ADDRESS_BYTES, "unix:%s%s",
                       strncmp(address->host, "//", 2) == 0 ? "//" : "", address->host);
    } else {
        (void)snprintf(out, NET_ADDRESS_BYTES, "%s://%s%s%s:%s", net_scheme_name(address->scheme),
                       v6 ? "[" : "", address->host, v6 ? "]" : "", address->port);
    }
    return out;
}
