/* What a keeper is asked for, on one line of JSON:
 *
 *     {"topology": {...}, "hosts": [2, 1, 1], "mtu": 9000, "card": "1gbit"}
 *
 * The topology is what a topology file holds; hosts has a count for each of its regions in their
 * order, or is one count for all (1); mtu is LAB_MTU unless it is given; card is what each host
 * sends and gets, unless only the LAN holds back what it sends. Pure. */

#ifndef EMU_LAB_REQUEST_H
#define EMU_LAB_REQUEST_H

#include "emu/lab/plan.h"

enum { LAB_REQUEST_BYTES_MAX = TOPO_PRINT_BYTES_MAX + 64 * 1024 };

/* ERR_MALFORMED, ERR_INVALID, ERR_TOO_BIG, ERR_NOMEM with @text. The caller releases the plan with
 * mem_free(). */
MUST_USE enum err lab_request_parse(const char *line, size_t size, struct lab_plan **plan_out,
                                    struct err_text *text);

/* Add the line for @topo with @hosts in each region. */
void lab_request_print(const struct topo *topo, uint32_t hosts, uint32_t mtu, struct text *out);

#endif
