/* Fuzz lists of detours: what is understood is within its limits, and leads somewhere. */

#include "net/detour.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct net_detours *d = NULL;
    struct err_text text = {""};
    struct net_address from;

    if (net_detours_parse("list", (const char *)data, size, &d, &text) == OK) {
        CHECK(net_detours_count(d) <= NET_DETOURS_MAX);
        CHECK(net_address_parse("tcp://a:1", &from, &text) == OK);
        CHECK(net_detours_find(d, &from)->host[0] != '\0');
        net_detours_free(d);
    } else {
        CHECK(text.text[0] != '\0');
    }
    return 0;
}
