/* How a command may talk to other members: over TLS with a member's certificate, or in the clear if
 * somebody said so. The rule of --insecure is here and nowhere else. */

#ifndef CLI_MEMBER_SECURITY_H
#define CLI_MEMBER_SECURITY_H

#include "cli/command/context.h"
#include "net/pki/member.h"
#include "net/stream/tls.h"

/* Options that the functions below read; for the table of a command. */
#define SECURITY_OPTION_INSECURE                                                                   \
    {                                                                                              \
        .name = "insecure", .repeats = true,                                                       \
        .help = "no encryption and no certificates: anybody can read, change and pretend; give "   \
                "it twice for addresses that are not on this machine"                              \
    }
#define SECURITY_OPTION_NAME                                                                       \
    {                                                                                              \
        .name = "name", .placeholder = "NAME",                                                     \
        .help = "whose certificate in the folder of --cert; needed if there are several"           \
    }

/* Read the address @text of the option @option, and judge it: tls:// always; tcp:// and unix: only
 * with --insecure; and tcp:// to or at an address that is not loopback only if it is given twice. A
 * word without a scheme is tls, or tcp with --insecure. The error is printed. */
enum cli_exit security_address(struct cli_context *ctx, const char *option, const char *text,
                               struct net_address *out);

/* The same rule for an address that did not come from the command line: why it may not be used, or
 * NULL. */
const char *security_objection(const struct cli_context *ctx, const struct net_address *address);

/* The files of the member that --cert and --name choose. The error is printed. */
enum cli_exit security_find(struct cli_context *ctx, struct pki_member_files *out);

/* Call before a private key is read or made: this process, and those that it starts, write no core
 * dumps from now on. Keys are kept out of dumps anyway (net/pki/key.c); this is for their copies in
 * texts that are on the way to a file or another machine. Not PR_SET_DUMPABLE, which would take
 * /proc/self away from us and debuggers from those who may use them. */
void security_hold_keys(void);

/* How often --insecure was given. */
unsigned security_insecure(const struct cli_context *ctx);

/* True if the address cannot be reached from other machines, whatever the resolver says. */
bool security_is_local(const struct net_address *address);

#endif
