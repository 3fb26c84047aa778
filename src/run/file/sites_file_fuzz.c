/* Fuzz files of sites: what is read well can be used by a server; what is not is refused with a
 * place, and never by libcyaml after our own check found it good. */

#include "run/file/sites_file.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct run_sites_reader reader = {
        .site = "a", .lanes = 2, .tls = size > 0 && data[0] % 2 == 0};
    struct node_site site = {.name = "a"};
    struct run_sites *s = NULL;
    struct err_text why = {""};
    enum err rc = run_sites_parse("fuzz", (const char *)data, size, &reader, &s, &why);

    if (rc == OK) {
        CHECK(node_between_check(run_sites_between(s), &site, &why) == OK);
        run_sites_free(s);
    } else {
        CHECK(s == NULL);
        CHECK(strncmp(why.text, "fuzz:", 5) == 0);
        CHECK(why.text[5] >= '1' && why.text[5] <= '9');
        CHECK(strpbrk(why.text, "\n\033") == NULL);
        CHECK(rc == ERR_MALFORMED || rc == ERR_TOO_BIG);
    }
    return 0;
}
