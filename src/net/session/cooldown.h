/* Members whose sessions were ended because they broke the rules: how long each must stay away. A
 * pure machine. The wait doubles each time, and is forgotten when the member behaved for long
 * enough. Memory is fixed: with more offenders than fit, the one whose wait ends first is
 * forgotten. */

#ifndef NET_SESSION_COOLDOWN_H
#define NET_SESSION_COOLDOWN_H

#include "net/pki/pki.h"

enum { NET_COOLDOWN_MEMBERS = 64 };

/* Fields are private to net/session/cooldown.c. */
struct net_cooldown_member {
    struct pki_identity who;
    int64_t wait_ns; /* Zero: a free place. */
    int64_t until_ns;
};

struct net_cooldown {
    struct net_cooldown_member members[NET_COOLDOWN_MEMBERS];
};

/* Its session was ended. Returns how long it must stay away. */
int64_t net_cooldown_begin(struct net_cooldown *c, const struct pki_identity *who, int64_t now_ns);

/* How much longer; zero: it may come. */
int64_t net_cooldown_left_ns(const struct net_cooldown *c, const struct pki_identity *who,
                             int64_t now_ns);

#endif
