/* Fuzz target: orders. What is understood is within the limits. */

#include "emu/proxy/order.h"
#include "emu/proxy/pipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct emu_order order;
    struct err_text text;

    if (emu_order_parse((const char *)data, size, &order, &text) == OK) {
        CHECK(order.ways != 0 && order.ways < 4 && order.for_ns >= 0);
        CHECK(order.verb != EMU_VERB_FAULT || order.fault < EMU_FAULTS);
        CHECK(order.verb != EMU_VERB_FAULT || order.fault != EMU_FAULT_RATE ||
              (order.amount > 0 && order.amount <= EMU_RATE_MAX));
        CHECK(order.verb != EMU_VERB_FAULT || order.fault != EMU_FAULT_DELAY ||
              order.amount <= (uint64_t)EMU_DELAY_MAX_NS);
    }
    return 0;
}
