/* Ending the session of a peer that breaks the rules: it is told why, the log and a counter say
 * who and why, and it must stay away for a while. */

#include "base/log.h"
#include "net/session/peer_state.h"

#include <stdio.h>

const char *net_expel_name(enum net_expel reason)
{
    static const char *const names[NET_EXPEL_FLOODS] = {"protocol", "ahead"};

    return reason < NET_EXPEL_FLOODS
               ? names[reason]
               : net_flood_name((enum net_flood_kind)(reason - NET_EXPEL_FLOODS));
}

/* Count it, and say who it was. */
void net_peer_blame(struct net_peer *p, enum net_expel reason, const char *text)
{
    struct net_endpoint *e = p->endpoint;
    int64_t wait_ns = net_cooldown_begin(&e->cooldown, &p->identity, loop_now_ns(e->config.loop));

    obs_counter_add(e->counters.expelled[reason], 1);
    LOG_WRN("net", "%s %s/%s%s%s broke the rules: %s; it may come back in %.0f s",
            wire_role_name(p->identity.role), p->identity.site, p->identity.name,
            p->source[0] == '\0' ? "" : " from ", p->source, text, (double)wait_ns / 1e9);
}

void net_peer_expel(struct net_peer *p, enum net_expel reason, const char *text)
{
    if (!p->closing) {
        net_peer_blame(p, reason, text);
        net_peer_part(p, ERR_PEER, text);
    }
}

bool net_peer_must_wait(const struct net_endpoint *e, const struct pki_identity *who,
                        char text[LIMIT_REASON_BYTES])
{
    int64_t left_ns = net_cooldown_left_ns(&e->cooldown, who, loop_now_ns(e->config.loop));

    (void)snprintf(text, LIMIT_REASON_BYTES,
                   "a session of yours was ended because it broke the rules: come back in %.1f s",
                   (double)left_ns / 1e9);
    return left_ns > 0;
}
