/* Fuzz requests: what becomes a plan is one that a lab can be; what does not is refused with a text
 * that stays on its line. */

#include "base/mem.h"
#include "emu/lab/request.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lab_plan *plan = NULL;
    struct err_text why = {""};

    if (lab_request_parse((const char *)data, size, &plan, &why) != OK) {
        CHECK(plan == NULL);
        CHECK(why.text[0] != '\0' && strpbrk(why.text, "\n\033") == NULL);
        return 0;
    }
    CHECK(plan->regions >= 1 && plan->regions <= LAB_REGIONS_MAX);
    CHECK(plan->mtu >= LAB_MTU_MIN && plan->mtu <= LAB_MTU_MAX);
    for (uint32_t i = 0; i < plan->regions * plan->regions; i++) {
        const struct lab_link *link = lab_plan_link(plan, i / plan->regions, i % plan->regions);

        CHECK(!link->joined || lab_link_check(link, NULL) == OK);
        CHECK(plan->hosts[i % plan->regions] <= LAB_HOSTS_MAX);
    }
    mem_free(plan);
    return 0;
}
