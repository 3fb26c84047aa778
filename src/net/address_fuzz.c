/* Fuzz addresses: what is understood fits, and is understood the same once written. */

#include "net/address.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char written[NET_ADDRESS_BYTES];
    struct net_address a, b;
    struct err_text text = {""};
    char *chars = malloc(size + 1);

    CHECK(chars != NULL);
    if (size > 0) {
        memcpy(chars, data, size);
    }
    chars[size] = '\0';
    if (net_address_parse(chars, &a, &text) == OK) {
        CHECK(a.host[0] != '\0');
        CHECK((a.port[0] == '\0') == (a.scheme == NET_SCHEME_UNIX));
        CHECK(net_address_parse(net_address_format(&a, written), &b, &text) == OK);
        CHECK(a.scheme == b.scheme && strcmp(a.host, b.host) == 0 && strcmp(a.port, b.port) == 0);
    } else {
        CHECK(text.text[0] != '\0');
    }
    free(chars);
    return 0;
}
