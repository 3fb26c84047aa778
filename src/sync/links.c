/* The network: words in and out, and what follows from them. What follows for plans is in
 * links_plan.c. */

#include "sync/links.h"

#include "base/mem.h"
#include "sync/links_state.h"

#include <string.h>

static uint64_t links_bit(uint32_t site)
{
    return UINT64_C(1) << site;
}

static uint64_t *links_rate_of(const struct links *l, uint32_t site, uint32_t neighbour)
{
    return &l->rates[(size_t)site * l->sites + neighbour];
}

static uint32_t *links_changed_of(const struct links *l, uint32_t site, uint32_t neighbour)
{
    return &l->changed[(size_t)site * l->sites + neighbour];
}

struct links_config links_config_default(void)
{
    return (struct links_config){
        .turn_ns = UINT64_C(300000000),
        .quiet_ns = UINT64_C(100000000),
        .batch_ns = UINT64_C(50000000),
        .forward_ns = UINT64_C(100000000),
        .late_ns = UINT64_C(5000000000),
        .settle_ns = UINT64_C(10000000000),
        .change_percent = 25,
        .majority = true,
    };
}

enum err links_init(struct links *l, uint32_t sites, uint32_t self, uint64_t life,
                    const struct links_config *config, uint64_t now)
{
    CHECK(sites > 0 && sites <= LINKS_SITES_MAX && self < sites && life < UINT64_MAX);
    CHECK(config->change_percent > 0 && config->change_percent <= 1000);
    *l = (struct links){
        .config = *config,
        .sites = sites,
        .self = self,
        .reached = links_bit(self),
        .late_ns = now + config->late_ns,
        .changed_ns = now,
        .due = true,
        .said_ns = LINKS_NEVER,
        .need_ns = LINKS_NEVER,
        .different_ns = LINKS_NEVER,
        .look_ns = now,
        .list = mem_calloc(sites, sizeof(*l->list)),
        .rates = mem_calloc((size_t)sites * sites, sizeof(*l->rates)),
        .changed = mem_calloc((size_t)sites * sites, sizeof(*l->changed)),
        .measured = mem_calloc(sites, sizeof(*l->measured)),
        .neighbours = mem_calloc(sites, sizeof(*l->neighbours)),
        .known = mem_calloc((size_t)sites * sites, sizeof(*l->known)),
        .paths = mem_calloc(sites, sizeof(*l->paths)),
        .planned = mem_calloc((size_t)sites * sites, sizeof(*l->planned)),
    };
    if (l->list == NULL || l->rates == NULL || l->changed == NULL || l->measured == NULL ||
        l->neighbours == NULL || l->known == NULL || l->paths == NULL || l->planned == NULL) {
        links_deinit(l);
        return ERR_NOMEM;
    }
    for (uint32_t s = 0; s < sites; s++) {
        l->list[s].since = s == self ? LINKS_NEVER : now;
    }
    l->list[self].life = life;
    return OK;
}

void links_deinit(struct links *l)
{
    mem_free(l->list);
    mem_free(l->rates);
    mem_free(l->changed);
    mem_free(l->measured);
    mem_free(l->neighbours);
    mem_free(l->known);
    mem_free(l->paths);
    mem_free(l->planned);
    *l = (struct links){0};
}

bool links_joined(const struct links *l, uint32_t a, uint32_t b)
{
    return (l->list[a].up & links_bit(b)) != 0 && (l->list[b].up & links_bit(a)) != 0;
}

uint64_t links_rate(const struct links *l, uint32_t a, uint32_t b)
{
    uint64_t there = *links_rate_of(l, a, b);
    uint64_t back = *links_rate_of(l, b, a);

    if (there == 0 || back == 0) {
        return there + back;
    }
    return there < back ? there : back;
}

/* Find who is reached, and since when the others are not. */
static void links_reach(struct links *l, uint64_t now)
{
    uint64_t reached = links_bit(l->self);
    uint64_t todo = reached;

    while (todo != 0) {
        uint32_t a = (uint32_t)__builtin_ctzll(todo);

        todo &= todo - 1;
        for (uint32_t b = 0; b < l->sites; b++) {
            if ((reached & links_bit(b)) == 0 && links_joined(l, a, b)) {
                reached |= links_bit(b);
                todo |= links_bit(b);
            }
        }
    }
    for (uint32_t s = 0; s < l->sites; s++) {
        if ((reached & links_bit(s)) != 0) {
            l->list[s].since = LINKS_NEVER;
        } else if ((l->reached & links_bit(s)) != 0) {
            l->list[s].since = now;
        }
    }
    l->reached = reached;
}

/* What the site sees has changed. */
static void links_meet(struct links *l, uint32_t site)
{
    for (uint32_t n = 0; n < l->sites; n++) {
        if (links_joined(l, site, n)) {
            l->list[site].met |= links_bit(n);
            l->list[n].met |= links_bit(site);
        }
    }
}

void links_set_up(struct links *l, uint32_t neighbour, bool up, uint64_t now)
{
    struct links_site *own = &l->list[l->self];
    uint64_t bit = links_bit(neighbour);

    CHECK(neighbour < l->sites && neighbour != l->self);
    if ((own->named & bit) != 0 && ((own->up & bit) != 0) == up) {
        return;
    }
    own->named |= bit;
    own->up = up ? own->up | bit : own->up & ~bit;
    *links_changed_of(l, l->self, neighbour) = own->number + 1;
    l->neighbours[neighbour].forward_ns = now + l->config.forward_ns;
    l->due = true;
    l->changed_ns = now;
    links_meet(l, l->self);
    links_reach(l, now);
}

void links_set_rate(struct links *l, uint32_t neighbour, uint64_t bytes_per_s)
{
    CHECK(neighbour < l->sites && neighbour != l->self);
    l->measured[neighbour] = bytes_per_s < LINKS_RATE_MAX ? bytes_per_s : LINKS_RATE_MAX;
}

void links_set_memory(struct links *l, bool remembers, uint64_t now)
{
    struct links_site *own = &l->list[l->self];

    if (own->remembers == remembers) {
        return;
    }
    own->remembers = remembers;
    l->lost |= remembers ? 0 : links_bit(l->self);
    l->due = true;
    l->changed_ns = now;
}

void links_set_top(struct links *l, uint32_t epoch)
{
    CHECK(epoch <= LINKS_EPOCH_LAST);
    if (epoch > l->list[l->self].top) {
        l->list[l->self].top = epoch;
        l->due = true;
    }
}

/* Words. */

/* Is some rate worth saying? Of links that were never up nothing is said. */
static bool links_rates_differ(const struct links *l)
{
    for (uint32_t s = 0; s < l->sites; s++) {
        uint64_t said = *links_rate_of(l, l->self, s);
        uint64_t is = l->measured[s];
        uint64_t apart = is > said ? is - said : said - is;

        if ((l->list[l->self].named & links_bit(s)) != 0 && apart > said / 10) {
            return true;
        }
    }
    return false;
}

static uint64_t links_rates_due_ns(const struct links *l)
{
    if (l->due || l->said_ns == LINKS_NEVER || !links_rates_differ(l)) {
        return LINKS_NEVER;
    }
    return l->said_ns + LINKS_RATE_TURN_NS;
}

bool links_due(const struct links *l, uint64_t now)
{
    return l->due || now >= links_rates_due_ns(l);
}

uint64_t links_deadline(const struct links *l)
{
    uint64_t rates_ns = links_rates_due_ns(l);

    return l->look_ns < rates_ns ? l->look_ns : rates_ns;
}

void links_word_make(const struct links *l, uint32_t site, uint32_t since, struct links_word *out)
{
    const struct links_site *s = &l->list[site];

    *out = (struct links_word){
        .site = site,
        .life = s->life,
        .number = s->number,
        .epoch = s->epoch,
        .top = s->top,
        .since = since,
        .remembers = s->remembers,
    };
    for (uint32_t n = 0; n < l->sites; n++) {
        if ((s->named & links_bit(n)) != 0 && *links_changed_of(l, site, n) > since) {
            out->entries[out->count++] = (struct links_entry){
                .neighbour = n,
                .up = (s->up & links_bit(n)) != 0,
                .bytes_per_s = *links_rate_of(l, site, n),
            };
        }
    }
}

void links_say(struct links *l, uint64_t now, struct links_word *out)
{
    struct links_site *own = &l->list[l->self];

    own->number++;
    for (uint32_t s = 0; s < l->sites; s++) {
        uint64_t *rate = links_rate_of(l, l->self, s);

        if ((own->named & links_bit(s)) != 0 && *rate != l->measured[s]) {
            *rate = l->measured[s];
            *links_changed_of(l, l->self, s) = own->number;
        }
    }
    l->due = false;
    l->said_ns = now;
    links_word_make(l, l->self, 0, out);
}

bool links_word_get(const struct links *l, uint32_t site, struct links_word *out)
{
    CHECK(site < l->sites);
    if (l->list[site].number == 0 || (site == l->self && l->due)) {
        return false;
    }
    links_word_make(l, site, 0, out);
    return true;
}

static bool links_word_possible(const struct links *l, const struct links_word *word)
{
    uint64_t named = 0;

    if (word->site >= l->sites || word->count >= l->sites || word->number == 0 ||
        word->since >= word->number || word->life == UINT64_MAX || word->top > LINKS_EPOCH_LAST ||
        word->epoch > word->top) {
        return false;
    }
    for (uint32_t i = 0; i < word->count; i++) {
        const struct links_entry *e = &word->entries[i];

        if (e->neighbour >= l->sites || e->neighbour == word->site ||
            (named & links_bit(e->neighbour)) != 0 || e->bytes_per_s > LINKS_RATE_MAX) {
            return false;
        }
        named |= links_bit(e->neighbour);
    }
    return true;
}

/* A word of an earlier life is answered. If it would win it was a later one, by whatever clock
 * lives were counted before: then this is a later one still, and seen to be another. */
static void links_take_own(struct links *l, const struct links_word *word)
{
    struct links_site *own = &l->list[l->self];

    if (word->life > own->life || (word->life == own->life && word->number > own->number)) {
        own->life = word->life + 1;
        own->number = 0;
        for (uint32_t n = 0; n < l->sites; n++) {
            *links_changed_of(l, l->self, n) = 1;
        }
        l->due = true;
    } else if (word->life < own->life) {
        l->due = true;
    }
    links_set_top(l, word->top);
}

static void links_keep(struct links *l, const struct links_word *word, uint64_t now)
{
    struct links_site *s = &l->list[word->site];
    struct links_site before = *s;

    s->life = word->life;
    s->number = word->number;
    s->epoch = word->epoch;
    s->top = word->top;
    s->remembers = word->remembers;
    if (word->since == 0) { /* What changed between the last word and this one is not known. */
        s->floor = word->number;
        s->named = 0;
        s->up = 0;
        memset(links_rate_of(l, word->site, 0), 0, l->sites * sizeof(*l->rates));
    }
    for (uint32_t i = 0; i < word->count; i++) {
        const struct links_entry *e = &word->entries[i];

        s->named |= links_bit(e->neighbour);
        s->up = e->up ? s->up | links_bit(e->neighbour) : s->up & ~links_bit(e->neighbour);
        *links_rate_of(l, word->site, e->neighbour) = e->bytes_per_s;
        *links_changed_of(l, word->site, e->neighbour) = word->number;
    }
    if (l->paths[word->site].life == 0) {
        l->paths[word->site].life = s->life; /* It is the one that the plan is for. */
    }
    if (before.life == s->life && before.remembers && !s->remembers) {
        l->lost |= links_bit(word->site);
    }
    if (before.life != s->life || before.up != s->up || before.remembers != s->remembers) {
        l->changed_ns = now;
    }
}

enum links_verdict links_take(struct links *l, uint32_t from, const struct links_word *word,
                              uint64_t now)
{
    const struct links_site *s;

    CHECK(from < l->sites && from != l->self);
    if (!links_word_possible(l, word)) {
        return LINKS_WRONG;
    }
    links_known(l, from, word->site, word->life, word->number);
    if (word->site == l->self) {
        links_take_own(l, word);
        return LINKS_OLD;
    }
    s = &l->list[word->site];
    if (word->life < s->life || (word->life == s->life && word->number <= s->number)) {
        return LINKS_OLD;
    }
    if (word->since != 0 && (word->life != s->life || word->since > s->number)) {
        return LINKS_WRONG;
    }
    links_keep(l, word, now);
    links_meet(l, word->site);
    links_reach(l, now);
    return LINKS_NEW;
}
