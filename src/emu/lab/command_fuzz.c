/* Fuzz commands: what is understood is understood the same once printed; what is not is refused
 * with a text that stays on its line. */

#include "emu/lab/command.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_again(const struct lab_command *c)
{
    char first[LAB_COMMAND_BYTES_MAX], second[LAB_COMMAND_BYTES_MAX];
    struct lab_command again;
    struct text text;

    text_init_fixed(&text, first, sizeof(first));
    lab_command_print(c, &text);
    CHECK(!text.failed);
    CHECK(lab_command_parse(text.chars, text.size, &again, NULL) == OK);
    text_init_fixed(&text, second, sizeof(second));
    lab_command_print(&again, &text);
    CHECK(strcmp(first, second) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lab_command c;
    struct err_text why = {""};
    enum err rc = lab_command_parse((const char *)data, size, &c, &why);

    if (rc == OK) {
        fuzz_again(&c);
    } else {
        CHECK(rc == ERR_MALFORMED);
        CHECK(why.text[0] != '\0' && strpbrk(why.text, "\n\033") == NULL);
    }
    return 0;
}
