/* Fuzzing what a site tells its workers: any text is read or refused with a reason, and what was
 * read is written and read as the same. */

#include "run/trainer/work.h"

#include <stddef.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run_work one, two;
    char chars[NODE_JOB_BYTES], again[NODE_JOB_BYTES];
    struct err_text text = {""};

    if (size >= sizeof(chars)) {
        return 0;
    }
    if (size > 0) {
        memcpy(chars, data, size);
    }
    chars[size] = '\0';
    if (run_work_parse(chars, &one, &text) != OK) {
        CHECK(text.text[0] != '\0');
        return 0;
    }
    if (run_work_print(&one, chars) == OK) {
        CHECK(run_work_parse(chars, &two, &text) == OK);
        CHECK(run_work_print(&two, again) == OK);
        CHECK(strcmp(chars, again) == 0);
    }
    return 0;
}
