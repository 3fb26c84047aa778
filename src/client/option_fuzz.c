/* Fuzz the options of strait_open() and strait_table_create(). */

#include "client/option.h"

#include "base/mem.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct client_options options;
    struct table_schema schema;
    struct err_text text = {""};
    char *json = mem_zalloc(size + 1);

    if (json == NULL) {
        return 0;
    }
    memcpy(json, data, size);
    if (client_option_parse(json, &options, &text) != OK) {
        CHECK(text.text[0] != '\0');
    }
    text.text[0] = '\0';
    if (client_option_schema("w", 3, 4, json, &schema, &text) != OK) {
        CHECK(text.text[0] != '\0');
    }
    mem_free(json);
    return 0;
}
