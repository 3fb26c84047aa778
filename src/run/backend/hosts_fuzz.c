/* Fuzz hosts files: what is read well has words that are safe to hand on; what is not is refused
 * with a place. */

#include "run/backend/hosts.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run_hosts *h = NULL;
    struct err_text why = {""};
    enum err rc = run_hosts_parse("fuzz", (const char *)data, size, &h, &why);

    if (rc != OK) {
        CHECK(h == NULL);
        CHECK(strncmp(why.text, "fuzz:", 5) == 0);
        CHECK(why.text[5] >= '1' && why.text[5] <= '9');
        CHECK(rc == ERR_MALFORMED || rc == ERR_TOO_BIG);
        return 0;
    }
    for (uint32_t i = 0; i < h->count; i++) {
        const struct run_host *host = &h->items[i];
        struct run_hosts_start start;

        CHECK(topo_name_valid(host->name));
        CHECK(host->at == NULL || host->at[0] != '-');
        CHECK(host->strait == NULL || strpbrk(host->strait, " ;&|$`'\"\\\n") == NULL);
        CHECK(host->region != NULL && host->address[0] != '\0' && host->slots > 0);
        run_hosts_start(host, "strait", NULL, 1, &start);
        CHECK(start.words[0] != NULL);
    }
    run_hosts_free(h);
    return 0;
}
