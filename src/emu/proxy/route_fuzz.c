/* Fuzz target: files of routes. */

#include "emu/proxy/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct emu_routes routes = {0};
    struct err_text text;

    if (emu_routes_add_lines(&routes, "fuzz", (const char *)data, size, &text) == OK) {
        CHECK(routes.count <= EMU_ROUTES_MAX);
    }
    emu_routes_deinit(&routes);
    return 0;
}
