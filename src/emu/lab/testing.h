/* What the tests of labs share: plans of small topologies. */

#ifndef EMU_LAB_TESTING_H
#define EMU_LAB_TESTING_H

#include "base/mem.h"
#include "emu/lab/plan.h"
#include "topo/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* a and b are joined, b to c too; a and c are not. */
#define LAB_TEST_TOPOLOGY                                                                          \
    "{\"strait_topology\": 1, \"lan\": {\"rate\": \"10gbit\"}, \"regions\": [{\"name\": \"a\"}, "  \
    "{\"name\": \"b\"}, {\"name\": \"c\"}], \"links\": ["                                          \
    "{\"from\": \"a\", \"to\": \"b\", \"rate\": \"100mbit\", \"rtt\": \"80ms\"}, "                 \
    "{\"from\": \"b\", \"to\": \"a\", \"rate\": \"20mbit\", \"rtt\": \"80ms\", \"loss\": "         \
    "\"0.1%\"}, "                                                                                  \
    "{\"from\": \"b\", \"to\": \"c\", \"rate\": \"1gbit\", \"rtt\": \"10ms\", \"jitter\": "        \
    "\"1ms\"}]}"

static inline struct topo *lab_testing_topo(const char *chars)
{
    struct err_text text = {""};
    struct topo *topo = NULL;

    if (topo_file_parse("test", chars, strlen(chars), &topo, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return topo;
}

/* With 2, 1 and 0 hosts. The caller releases it with mem_free(). */
static inline struct lab_plan *lab_testing_plan(void)
{
    const uint32_t hosts[] = {2, 1, 0};
    struct topo *topo = lab_testing_topo(LAB_TEST_TOPOLOGY);
    struct err_text text = {""};
    struct lab_plan *plan = NULL;

    if (lab_plan_create(topo, hosts, LAB_MTU, &plan, &text) != OK) {
        fail_msg("%s", text.text);
    }
    topo_destroy(topo);
    return plan;
}

#endif
