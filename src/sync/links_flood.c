/* Flooding: which words, and which plan, a neighbour is to be sent.
 *
 * A word is not passed on because it came. Each site compares what it has with what each neighbour
 * is known to have, by what came from there and was sent there in this session, and sends the
 * difference, in batches. So a word that was lost with a session, a neighbour that restarted and
 * one that is there for the first time need no rules of their own.
 *
 * A site sends its own word to all neighbours. Another site's word it leaves to
 *
 *   1. that site itself, if it is joined with the neighbour;
 *   2. else, of the sites that are neighbours of both, the first one;
 *
 * and sends it if there is none, so that in a full mesh nothing is passed on, and in a dense
 * network hardly anything twice. Both rules read only the words of the two sites, and everybody
 * who could pass the word on has the latest of both: the word itself, and that of its own
 * neighbour. So all of them find the same sender, and it has the word, by rule 1. That needs the
 * word's site to be there; words of a site that is not reached go to all who are not known to have
 * them. The same holds for a plan and the site that made it, while that site says that it follows
 * it: it may have restarted without. So that all know that in time, words do not wait for their
 * batch where a plan does.
 *
 * When many links come up at the same time, each of them changes who is the first neighbour of two
 * sites. Over a link that has just come up, words of other sites therefore wait for a moment. */

#include "sync/links_state.h"

static uint64_t flood_bit(uint32_t site)
{
    return UINT64_C(1) << site;
}

static struct links_version *flood_known(const struct links *l, uint32_t neighbour, uint32_t site)
{
    return &l->known[(size_t)neighbour * l->sites + site];
}

static bool flood_is_later(uint64_t life, uint32_t number, const struct links_version *than)
{
    return life > than->life || (life == than->life && number > than->number);
}

void links_known(struct links *l, uint32_t neighbour, uint32_t site, uint64_t life, uint32_t number)
{
    struct links_version *known = flood_known(l, neighbour, site);

    if (flood_is_later(life, number, known)) {
        *known = (struct links_version){.life = life, .number = number};
    }
}

void links_neighbour_reset(struct links *l, uint32_t neighbour)
{
    CHECK(neighbour < l->sites && neighbour != l->self);
    l->neighbours[neighbour].batch_ns = 0;
    l->neighbours[neighbour].epoch = 0;
    for (uint32_t s = 0; s < l->sites; s++) {
        *flood_known(l, neighbour, s) = (struct links_version){0};
    }
}

/* Its own word has come: it is known who else sends to it. */
static bool flood_is_heard(const struct links *l, uint32_t neighbour)
{
    return flood_known(l, neighbour, neighbour)->number != 0;
}

/* Does another site send the neighbour what that site made? */
static bool flood_is_covered(const struct links *l, uint32_t neighbour, uint32_t site)
{
    uint64_t both = l->list[site].up & l->list[neighbour].up;

    if (site == l->self || site == neighbour || (l->reached & flood_bit(site)) == 0) {
        return false;
    }
    return links_joined(l, site, neighbour) ||
           (both != 0 && (uint32_t)__builtin_ctzll(both) != l->self);
}

/* The words that it is to be sent: this site's own, and @others. */
static uint64_t flood_missing(const struct links *l, uint32_t neighbour, bool others)
{
    uint64_t missing = 0;

    if ((l->list[l->self].up & flood_bit(neighbour)) == 0) {
        return 0;
    }
    others = others && flood_is_heard(l, neighbour);
    for (uint32_t s = 0; s < l->sites; s++) {
        const struct links_site *site = &l->list[s];

        if (site->number != 0 && (others || s == l->self) &&
            flood_is_later(site->life, site->number, flood_known(l, neighbour, s)) &&
            !flood_is_covered(l, neighbour, s)) {
            missing |= flood_bit(s);
        }
    }
    return missing;
}

uint64_t links_pending(const struct links *l, uint32_t neighbour, uint64_t now)
{
    const struct links_neighbour *n = &l->neighbours[neighbour];

    CHECK(neighbour < l->sites && neighbour != l->self);
    if (links_plan_is_pending(l, neighbour)) {
        return flood_missing(l, neighbour, true);
    }
    return now < n->batch_ns ? 0 : flood_missing(l, neighbour, now >= n->forward_ns);
}

void links_pending_get(struct links *l, uint32_t neighbour, uint32_t site, uint64_t now,
                       struct links_word *out)
{
    const struct links_site *s = &l->list[site];
    struct links_version *known = flood_known(l, neighbour, site);
    bool since = known->life == s->life && known->number != 0 && known->number >= s->floor;

    links_word_make(l, site, since ? known->number : 0, out);
    links_known(l, neighbour, site, s->life, s->number);
    l->neighbours[neighbour].batch_ns = now + l->config.batch_ns;
}

uint64_t links_pending_deadline(const struct links *l)
{
    uint64_t at = LINKS_NEVER;

    for (uint32_t i = 0; i < l->sites; i++) {
        const struct links_neighbour *n = &l->neighbours[i];

        if (i != l->self && flood_missing(l, i, false) != 0) {
            at = at < n->batch_ns ? at : n->batch_ns;
        } else if (i != l->self && flood_missing(l, i, true) != 0) {
            uint64_t both_ns = n->batch_ns > n->forward_ns ? n->batch_ns : n->forward_ns;

            at = at < both_ns ? at : both_ns;
        }
    }
    return at;
}

bool links_plan_is_pending(const struct links *l, uint32_t neighbour)
{
    uint32_t origin = l->epoch % l->sites; /* plan_next_epoch() */

    return (l->list[l->self].up & flood_bit(neighbour)) != 0 && flood_is_heard(l, neighbour) &&
           l->neighbours[neighbour].epoch < l->epoch && l->list[neighbour].epoch < l->epoch &&
           (l->list[origin].epoch < l->epoch || !flood_is_covered(l, neighbour, origin));
}

void links_plan_known(struct links *l, uint32_t neighbour, uint32_t epoch)
{
    struct links_neighbour *n = &l->neighbours[neighbour];

    n->epoch = n->epoch > epoch ? n->epoch : epoch;
}
