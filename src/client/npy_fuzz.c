/* Fuzz the header of .npy files. */

#include "client/npy.h"

#include "base/mem.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err_text text = {""};
    struct client_npy npy;
    uint64_t header;
    uint8_t *copy;

    if (size < CLIENT_NPY_START_BYTES || client_npy_start(data, &header, &text) != OK ||
        header > size) {
        return 0;
    }
    copy = mem_zalloc(header); /* Just as long as it says, so that a step beyond is seen. */
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, header);
    if (client_npy_parse(copy, header, &npy, &text) == OK) {
        CHECK(npy.axes <= CLIENT_NPY_AXES_MAX);
        (void)!client_npy_fits(&npy, 3, 4, &text);
    } else {
        CHECK(text.text[0] != '\0');
    }
    mem_free(copy);
    return 0;
}
