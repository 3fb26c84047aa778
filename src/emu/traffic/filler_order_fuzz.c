/* Fuzz target: orders of fillers. What is understood is within the limits. */

#include "emu/traffic/filler_order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct filler_order order;
    struct err_text text;

    if (filler_order_parse((const char *)data, size, &order, &text) == OK) {
        CHECK(order.kind < FILLER_KINDS_MAX && order.bytes_per_s <= FILLER_RATE_MAX);
        CHECK(!order.begin || order.to.host[0] != '\0');
    }
    return 0;
}
