#include "net/session/cooldown.h"

static int64_t cooldown_ns(int64_t ms)
{
    return ms * 1000000;
}

static struct net_cooldown_member *cooldown_find(struct net_cooldown *c,
                                                 const struct pki_identity *who)
{
    for (uint32_t i = 0; i < NET_COOLDOWN_MEMBERS; i++) {
        if (c->members[i].wait_ns > 0 && pki_identity_equal(&c->members[i].who, who)) {
            return &c->members[i];
        }
    }
    return NULL;
}

/* A free place, or that of whoever may come first. */
static struct net_cooldown_member *cooldown_place(struct net_cooldown *c)
{
    struct net_cooldown_member *place = &c->members[0];

    for (uint32_t i = 0; i < NET_COOLDOWN_MEMBERS && place->wait_ns > 0; i++) {
        struct net_cooldown_member *m = &c->members[i];

        place = m->wait_ns == 0 || m->until_ns < place->until_ns ? m : place;
    }
    return place;
}

int64_t net_cooldown_begin(struct net_cooldown *c, const struct pki_identity *who, int64_t now_ns)
{
    struct net_cooldown_member *m = cooldown_find(c, who);
    int64_t longest_ns = cooldown_ns(LIMIT_COOLDOWN_MAX_MS);
    int64_t wait_ns = cooldown_ns(LIMIT_COOLDOWN_MS);

    if (m != NULL && now_ns - m->until_ns < cooldown_ns(LIMIT_COOLDOWN_FORGET_MS)) {
        wait_ns = m->wait_ns * 2 < longest_ns ? m->wait_ns * 2 : longest_ns;
    }
    if (m == NULL) {
        m = cooldown_place(c);
    }
    *m = (struct net_cooldown_member){*who, wait_ns, now_ns + wait_ns};
    return wait_ns;
}

int64_t net_cooldown_left_ns(const struct net_cooldown *c, const struct pki_identity *who,
                             int64_t now_ns)
{
    const struct net_cooldown_member *m = cooldown_find((struct net_cooldown *)c, who);

    return m != NULL && m->until_ns > now_ns ? m->until_ns - now_ns : 0;
}
