/* Fuzz run files: what is read well is read the same once printed; what is not is refused with a
 * place, and never by libcyaml after our own check found it good. */

#include "run/file/file.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_print(const struct run_file *f, struct text *out)
{
    CHECK(text_init(out, RUN_PRINT_BYTES_MAX) == OK);
    run_file_print(f, out);
    CHECK(!out->failed);
}

static void fuzz_again(const struct run_file *f)
{
    struct run_file *again = NULL;
    struct err_text why = {""};
    struct text first, second;

    fuzz_print(f, &first);
    CHECK(run_file_parse("again", NULL, first.chars, first.size, &again, &why) == OK);
    CHECK(topo_equal(f->map, again->map));
    CHECK(topo_equal(f->topo, again->topo));
    fuzz_print(again, &second);
    CHECK(strcmp(first.chars, second.chars) == 0);
    text_deinit(&first);
    text_deinit(&second);
    run_file_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run_file *f = NULL;
    struct err_text why = {""};
    enum err rc = run_file_parse("fuzz", NULL, (const char *)data, size, &f, &why);

    if (rc == OK) {
        fuzz_again(f);
        run_file_free(f);
    } else {
        CHECK(f == NULL);
        CHECK(strncmp(why.text, "fuzz:", 5) == 0);
        CHECK(why.text[5] >= '1' && why.text[5] <= '9');
        CHECK(strpbrk(why.text, "\n\033") == NULL);
        CHECK(rc == ERR_MALFORMED || rc == ERR_TOO_BIG);
    }
    return 0;
}
