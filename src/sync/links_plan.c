/* What follows from the network for plans: whether another one is needed, whether one can be made,
 * and whose turn it is. */

#include "sync/links.h"

#include <string.h>

/* So many times .quiet_ns is waited for the network to come to rest: a link that goes up and down
 * all the time must not keep all others from a plan. */
enum { LINKS_UNQUIET = 10 };

static uint64_t plan_bit(uint32_t site)
{
    return UINT64_C(1) << site;
}

static uint64_t plan_all(const struct links *l)
{
    return UINT64_MAX >> (64 - l->sites);
}

static uint32_t plan_count(uint64_t bits)
{
    return (uint32_t)__builtin_popcountll(bits);
}

static bool plan_path_possible(const struct links *l, uint32_t site, uint32_t centre,
                               const struct links_path *path)
{
    uint64_t seen = 0;

    if (path->count == 0 || path->count > LINKS_PATH_MAX || path->sites[0] != site ||
        path->sites[path->count - 1] != centre) {
        return false;
    }
    for (uint32_t i = 0; i < path->count; i++) {
        if (path->sites[i] >= l->sites || (seen & plan_bit(path->sites[i])) != 0 ||
            (i > 0 && path->rates[i - 1] > LINKS_RATE_MAX)) {
            return false;
        }
        seen |= plan_bit(path->sites[i]);
    }
    return true;
}

static bool plan_possible(const struct links *l, uint32_t epoch, uint32_t centre, uint64_t active,
                          const struct links_path *paths)
{
    if (epoch == 0 || epoch > LINKS_EPOCH_LAST || centre >= l->sites ||
        (active & plan_bit(centre)) == 0 || (active & ~plan_all(l)) != 0) {
        return false;
    }
    for (uint32_t s = 0; s < l->sites; s++) {
        if ((active & plan_bit(s)) != 0 && !plan_path_possible(l, s, centre, &paths[s])) {
            return false;
        }
    }
    return true;
}

/* A link as plans know it: not there, there, or of that rate. */
enum { PLAN_LINK_DOWN = 0, PLAN_LINK_UP = 1 };

static uint64_t plan_link(const struct links *l, uint32_t a, uint32_t b)
{
    uint64_t rate = links_rate(l, a, b);

    return !links_joined(l, a, b) ? PLAN_LINK_DOWN : rate == 0 ? PLAN_LINK_UP : rate;
}

static uint64_t *plan_link_then(const struct links *l, uint32_t a, uint32_t b)
{
    return a < b ? &l->planned[a * l->sites + b] : &l->planned[b * l->sites + a];
}

/* Those of the paths are as whoever made the plan knew them. */
static void plan_note_links(struct links *l)
{
    for (uint32_t a = 0; a < l->sites; a++) {
        for (uint32_t b = a + 1; b < l->sites; b++) {
            *plan_link_then(l, a, b) = plan_link(l, a, b);
        }
    }
    for (uint32_t s = 0; s < l->sites; s++) {
        const struct links_path *path = &l->paths[s];

        for (uint32_t i = 1; (l->active & plan_bit(s)) != 0 && i < path->count; i++) {
            uint64_t rate = path->rates[i - 1];

            *plan_link_then(l, path->sites[i - 1], path->sites[i]) =
                rate == 0 ? PLAN_LINK_UP : rate;
        }
    }
}

static void plan_satisfy(struct links *l)
{
    l->asked = false;
    l->need_ns = LINKS_NEVER;
    l->again_ns = 0;
    l->different_ns = LINKS_NEVER;
}

enum links_verdict links_plan_set(struct links *l, uint32_t epoch, uint32_t centre, uint64_t active,
                                  const struct links_path *paths)
{
    struct links_site *own = &l->list[l->self];

    if (!plan_possible(l, epoch, centre, active, paths)) {
        return LINKS_WRONG;
    }
    if (epoch <= l->epoch) {
        return LINKS_OLD;
    }
    l->due = true;
    l->epoch = epoch;
    l->centre = centre;
    l->active = active;
    memcpy(l->paths, paths, l->sites * sizeof(*paths));
    for (uint32_t s = 0; s < l->sites; s++) {
        l->paths[s].life = l->paths[s].life == 0 ? l->list[s].life : l->paths[s].life;
    }
    l->lost = 0;
    plan_note_links(l);
    plan_satisfy(l);
    own->epoch = epoch;
    own->top = own->top > epoch ? own->top : epoch;
    return LINKS_NEW;
}

void links_plan_keep(struct links *l)
{
    for (uint32_t s = 0; s < l->sites; s++) {
        struct links_path *path = &l->paths[s];

        for (uint32_t i = 1; (l->active & plan_bit(s)) != 0 && i < path->count; i++) {
            path->rates[i - 1] = links_rate(l, path->sites[i - 1], path->sites[i]);
        }
    }
    plan_note_links(l);
    plan_satisfy(l);
}

void links_ask(struct links *l)
{
    l->asked = true;
}

static const char *const plan_whys[] = {
    [LINKS_CONTENT] = "content", [LINKS_FIRST] = "first",     [LINKS_LOST] = "lost",
    [LINKS_GONE] = "gone",       [LINKS_BACK] = "back",       [LINKS_BROKEN] = "broken",
    [LINKS_ASKED] = "asked",     [LINKS_CHANGED] = "changed",
};

const char *links_why_name(enum links_why why)
{
    return plan_whys[why];
}

bool links_why_find(const char *name, enum links_why *out)
{
    for (size_t i = 0; i < sizeof(plan_whys) / sizeof(plan_whys[0]); i++) {
        if (strcmp(plan_whys[i], name) == 0) {
            *out = (enum links_why)i;
            return true;
        }
    }
    return false;
}

/* Can one be made? */

/* Somebody who is there follows a later plan: it is on its way. */
static bool plan_is_coming(const struct links *l)
{
    for (uint32_t s = 0; s < l->sites; s++) {
        if ((l->reached & plan_bit(s)) != 0 && l->list[s].epoch > l->epoch) {
            return true;
        }
    }
    return false;
}

/* When all who are missing are away: nobody is left out before. */
static uint64_t plan_patience_ns(const struct links *l)
{
    uint64_t missing = (l->epoch == 0 ? plan_all(l) : l->active) & ~l->reached;
    uint64_t at = 0;

    for (uint32_t s = 0; s < l->sites; s++) {
        if ((missing & plan_bit(s)) != 0) {
            uint64_t away_ns = l->list[s].since + l->config.away_ns;

            at = at > away_ns ? at : away_ns;
        }
    }
    return missing != 0 && l->config.away_ns == 0 ? LINKS_NEVER : at;
}

/* Who was never heard of may remember: it is not known what. */
static uint64_t plan_remembering(const struct links *l, bool perhaps)
{
    uint64_t bits = 0;

    for (uint32_t s = 0; s < l->sites; s++) {
        bool unknown = s != l->self && l->list[s].number == 0;

        bits |= l->list[s].remembers || (unknown && perhaps) ? plan_bit(s) : 0;
    }
    return bits;
}

static bool plan_has_majority(const struct links *l)
{
    uint64_t remembering = plan_remembering(l, true);

    return !l->config.majority || (2 * plan_count(l->reached) > l->sites &&
                                   (remembering == 0 || 2 * plan_count(remembering & l->reached) >
                                                            plan_count(remembering)));
}

/* Is one needed? */

/* The first of these sites. */
static struct links_about plan_about_site(uint64_t sites)
{
    return (struct links_about){.count = 1, .sites = {(uint32_t)__builtin_ctzll(sites)}};
}

static struct links_about plan_about_link(uint32_t a, uint32_t b)
{
    return (struct links_about){.count = 2, .sites = {a, b}};
}

/* A link of a path that is down; @late: those that never were up count too. A plan that was given
 * is there before its links are. */
static bool plan_is_broken(const struct links *l, bool late, struct links_about *about)
{
    for (uint32_t s = 0; s < l->sites; s++) {
        const struct links_path *path = &l->paths[s];

        for (uint32_t i = 1; (l->active & plan_bit(s)) != 0 && i < path->count; i++) {
            uint32_t a = path->sites[i - 1];
            uint32_t b = path->sites[i];

            if (!links_joined(l, a, b) && (late || (l->list[a].met & plan_bit(b)) != 0)) {
                *about = plan_about_link(a, b);
                return true;
            }
        }
    }
    return false;
}

/* Those who are there and not in the plan, or not as they were. */
static uint64_t plan_back(const struct links *l)
{
    uint64_t back = 0;

    for (uint32_t s = 0; s < l->sites; s++) {
        uint64_t bit = plan_bit(s);

        /* The plan may know of a life that is not known here yet. */
        if ((l->reached & bit) != 0 && ((l->active & bit) == 0 || (l->lost & bit) != 0 ||
                                        l->list[s].life > l->paths[s].life)) {
            back |= bit;
        }
    }
    return back;
}

/* What nobody has measured now does not differ, nor does what is down: if that matters, the plan is
 * broken. */
static bool plan_link_differs(const struct links *l, uint64_t then, uint64_t is)
{
    uint64_t apart = is > then ? is - then : then - is;

    if (is == PLAN_LINK_DOWN || is == PLAN_LINK_UP) {
        return is == PLAN_LINK_UP && then == PLAN_LINK_DOWN;
    }
    return apart * 100 > then * l->config.change_percent;
}

static bool plan_links_differ(const struct links *l, struct links_about *about)
{
    for (uint32_t a = 0; a < l->sites; a++) {
        for (uint32_t b = a + 1; b < l->sites; b++) {
            if (plan_link_differs(l, *plan_link_then(l, a, b), plan_link(l, a, b))) {
                *about = plan_about_link(a, b);
                return true;
            }
        }
    }
    return false;
}

static bool plan_has_changed(struct links *l, uint64_t now, struct links_about *about)
{
    if (l->epoch == 0 || l->centre != l->self || !plan_links_differ(l, about)) {
        l->different_ns = LINKS_NEVER;
        return false;
    }
    if (l->different_ns == LINKS_NEVER) {
        l->different_ns = now;
    }
    if (now - l->different_ns < l->config.settle_ns) {
        l->look_ns = l->different_ns + l->config.settle_ns;
        return false;
    }
    return true;
}

/* All who are missing are away. */
static enum links_why plan_why(const struct links *l, bool late, struct links_about *about)
{
    uint64_t missing = l->active & ~l->reached;
    uint64_t back = plan_back(l);

    *about = (struct links_about){0};
    if (l->epoch == 0) {
        return LINKS_FIRST;
    }
    if ((missing & plan_bit(l->centre)) != 0) {
        *about = plan_about_site(plan_bit(l->centre));
        return LINKS_LOST;
    }
    if (missing != 0) {
        *about = plan_about_site(missing);
        return LINKS_GONE;
    }
    if (back != 0) {
        *about = plan_about_site(back);
        return LINKS_BACK;
    }
    if (plan_is_broken(l, late, about)) {
        return LINKS_BROKEN;
    }
    return l->asked ? LINKS_ASKED : LINKS_CONTENT;
}

bool links_is_content(const struct links *l)
{
    struct links_about about;

    return !plan_is_coming(l) && plan_why(l, true, &about) == LINKS_CONTENT;
}

static enum links_why plan_need(struct links *l, uint64_t now, struct links_about *about)
{
    struct links_about different = {0};
    bool changed = plan_has_changed(l, now, &different);
    uint64_t patience_ns = plan_patience_ns(l);
    enum links_why why;

    if (now < patience_ns) {
        l->look_ns = l->look_ns < patience_ns ? l->look_ns : patience_ns;
        return LINKS_CONTENT;
    }
    if (plan_is_coming(l) || !plan_has_majority(l)) {
        return LINKS_CONTENT;
    }
    why = plan_why(l, now >= l->late_ns, about);
    if (why == LINKS_CONTENT && now < l->late_ns && plan_is_broken(l, true, about)) {
        l->look_ns = l->look_ns < l->late_ns ? l->look_ns : l->late_ns;
    }
    if (why == LINKS_CONTENT && changed) {
        *about = different;
        return LINKS_CHANGED;
    }
    return why;
}

/* Whose turn is it? */

/* Those who may propose: who remembers nothing leaves it to others, if there are any. */
static uint64_t plan_proposers(const struct links *l)
{
    uint64_t remembering = plan_remembering(l, false) & l->reached;

    return remembering == 0 ? l->reached : remembering;
}

/* How many come before this site. What it knows alone it proposes at once. */
static uint32_t plan_rank(const struct links *l, enum links_why why)
{
    uint64_t before = plan_proposers(l) & (plan_bit(l->self) - 1);
    uint64_t centre = l->epoch == 0 ? 0 : plan_bit(l->centre) & plan_proposers(l);

    if (centre == plan_bit(l->self) || why == LINKS_ASKED || why == LINKS_CHANGED) {
        return 0;
    }
    return plan_count(before | centre);
}

static uint64_t plan_turn_ns(const struct links *l, enum links_why why)
{
    uint64_t turn_ns = l->need_ns + plan_rank(l, why) * l->config.turn_ns;
    uint64_t quiet_ns = l->changed_ns + l->config.quiet_ns;
    uint64_t latest_ns = turn_ns + LINKS_UNQUIET * l->config.quiet_ns;

    quiet_ns = quiet_ns < latest_ns ? quiet_ns : latest_ns;
    turn_ns = turn_ns > quiet_ns ? turn_ns : quiet_ns;
    return turn_ns > l->again_ns ? turn_ns : l->again_ns;
}

/* The next one that leaves this site's index when divided by how many there are. */
static uint32_t plan_next_epoch(const struct links *l)
{
    uint32_t epoch = 0;

    for (uint32_t s = 0; s < l->sites; s++) {
        epoch = epoch > l->list[s].top ? epoch : l->list[s].top;
    }
    epoch++;
    return epoch + (l->self + l->sites - epoch % l->sites) % l->sites;
}

bool links_look(struct links *l, uint64_t now, struct links_wish *out)
{
    struct links_about about = {0};
    enum links_why why;
    uint64_t turn_ns;

    l->look_ns = LINKS_NEVER;
    why = plan_need(l, now, &about);
    if (why == LINKS_CONTENT) {
        l->need_ns = LINKS_NEVER;
        l->again_ns = 0;
        return false;
    }
    l->need_ns = l->need_ns == LINKS_NEVER ? now : l->need_ns;
    if ((plan_proposers(l) & plan_bit(l->self)) == 0) {
        return false;
    }
    turn_ns = plan_turn_ns(l, why);
    if (now < turn_ns) {
        l->look_ns = l->look_ns < turn_ns ? l->look_ns : turn_ns;
        return false;
    }
    l->again_ns = now + plan_count(plan_proposers(l)) * l->config.turn_ns;
    l->look_ns = l->again_ns;
    *out = (struct links_wish){
        .why = why, .about = about, .epoch = plan_next_epoch(l), .active = l->reached};
    return true;
}
