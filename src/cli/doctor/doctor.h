/* What the checks of `strait doctor` share. Each check reports once: what was found, and what to do
 * if that is not good. */

#ifndef CLI_DOCTOR_DOCTOR_H
#define CLI_DOCTOR_DOCTOR_H

#include "cli/command/context.h"

enum doctor_verdict { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_VERDICTS };

struct doctor {
    struct cli_context *ctx;
    json_t *list; /* With --json. */
    unsigned counts[DOCTOR_VERDICTS];
};

/* @remedy: what to do, or NULL. @fmt: what was found. */
void doctor_report(struct doctor *d, enum doctor_verdict verdict, const char *check,
                   const char *remedy, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* Processor, memory, limits, clock: doctor/system.c. */
void doctor_machine(struct doctor *d);

/* Kernel settings of TCP, interfaces and addresses: doctor/net.c. @address: which one others shall
 * use; NULL: choose. */
void doctor_net(struct doctor *d, const char *address);

/* Connect to ourselves at @host, as a member would, and report as @check: doctor/reach.c. */
void doctor_reach(struct doctor *d, const char *check, const char *host);

/* Reach the member at @address and measure: doctor/peer.c. The error is printed. With --json what
 * was found, in numbers, goes to @peer_out. */
enum cli_exit doctor_peer(struct doctor *d, const char *address, json_t **peer_out);

/* Answer other doctors until told to stop: doctor/listen.c. The error is printed. */
enum cli_exit doctor_listen(struct cli_context *ctx, const char *address);

/* The certificates in a member's folder: doctor/cert.c. */
void doctor_certs(struct doctor *d, const char *dir);

#endif
