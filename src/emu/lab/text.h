/* What iproute2 and nft are told, as the text of their batches. Pure.
 *
 *     router:  lan0 (bridge) <- h0, h1, ...       wan0 (tun): htb, one class for each region,
 *                                                 each with a queue; nft drops what is lost or cut
 *     host:    eth0 -> hN of its router           default route to the router
 *
 * Each function adds to @out; whether all fit is for the caller to see: out->failed. */

#ifndef EMU_LAB_TEXT_H
#define EMU_LAB_TEXT_H

#include "base/text.h"
#include "emu/lab/plan.h"

enum { LAB_TEXT_BYTES_MAX = 1 << 25 };

/* ip, in the router: all but what is on wan0's queue. @host_fds: of the hosts' namespaces, as the
 * process that runs ip has them. */
void lab_text_router(const struct lab_plan *plan, uint32_t region, const int *host_fds,
                     struct text *out);

/* ip, in a host: its address and its routes. */
void lab_text_host(const struct lab_plan *plan, uint32_t region, uint32_t host, struct text *out);

/* tc, in a host: the rate of the LAN, or of its card. Nothing if that is not held back. */
void lab_text_lan(const struct lab_plan *plan, struct text *out);

/* tc, in the router: what comes to each host, as its card holds it back; nothing if it does not. */
void lab_text_cards(const struct lab_plan *plan, uint32_t region, struct text *out);

/* tc, in the router: a class and a queue for each link. */
void lab_text_rates(const struct lab_plan *plan, uint32_t from, struct text *out);

/* tc, in the router: what has changed for one link. */
void lab_text_rate(const struct lab_plan *plan, uint32_t from, uint32_t to, struct text *out);

/* nft, in the router: all rules of loss and cuts anew, at once. */
void lab_text_rules(const struct lab_plan *plan, uint32_t from, struct text *out);

/* ip, in a host: packets go one by one where some get lost, so that each is lost for itself; else
 * the kernel hands over many at once. */
void lab_text_segments(bool one_by_one, struct text *out);

/* Batches that use whatever a lab needs, in a namespace with nothing but lo: do they work here? */
void lab_text_probe_rates(struct text *out);
void lab_text_probe_cards(struct text *out);
void lab_text_probe_rules(struct text *out);

/* The handle of the queue of the link to a region, as the kernel numbers it. */
uint32_t lab_text_queue_handle(uint32_t to);

#endif
