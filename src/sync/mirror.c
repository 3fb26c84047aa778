/* Pieces and who has them; what came of other sites and what is missing; whom readers wait for. */

#include "sync/mirror.h"

#include "base/mem.h"
#include "sync/mirror_state.h"

#include <string.h>

enum { MIRROR_LOG_MIN = 64 };

enum err mirror_init(struct mirror *m, const struct mirror_config *config, uint32_t group,
                     struct err_text *text)
{
    uint32_t cells = config->groups * config->groups;

    *m = (struct mirror){0};
    if (config->staleness > MIRROR_STALENESS_MAX && config->staleness != MIRROR_UNBOUNDED) {
        return err_text_set(text, ERR_INVALID, "staleness between sites: 0 to %d clocks",
                            MIRROR_STALENESS_MAX);
    }
    if (config->groups > MIRROR_GROUPS_MAX || (config->groups > 0 && group >= config->groups)) {
        return err_text_set(text, ERR_INVALID, "group %u of %u: there may be %d", group,
                            config->groups, MIRROR_GROUPS_MAX);
    }
    m->config = *config;
    m->fresh = true;
    m->number = config->life << MIRROR_LIFE_SHIFT;
    m->floor = m->number;
    m->stored = config->durable ? m->number : UINT64_MAX;
    m->stored_clock = config->durable ? 0 : UINT64_MAX;
    list_init(&m->released);
    m->sites = mem_calloc(MIRROR_SITES_MAX, sizeof(*m->sites));
    m->log = mem_calloc(MIRROR_LOG_MIN, sizeof(struct mirror_piece *));
    m->log_capacity = MIRROR_LOG_MIN;
    if (config->groups > 0) {
        m->hubs = mem_calloc(cells, sizeof(*m->hubs));
        m->ways = mem_calloc(config->groups, sizeof(*m->ways));
    }
    if (m->sites == NULL || m->log == NULL ||
        (config->groups > 0 && (m->hubs == NULL || m->ways == NULL))) {
        mirror_deinit(m);
        return ERR_NOMEM;
    }
    for (uint32_t g = 0; g < config->groups; g++) {
        m->ways[g].near = MIRROR_NOBODY;
        m->ways[g].far = MIRROR_NOBODY;
    }
    m->sites[MIRROR_SELF] = (struct mirror_site){.group = group, .up = true, .greeted = true};
    list_init(&m->sites[MIRROR_SELF].relays);
    m->sites_count = 1;
    return OK;
}

static void mirror_free_all(struct list *payloads)
{
    struct list *link;

    while ((link = list_first(payloads)) != NULL) {
        list_remove(link);
        mem_free(LIST_ENTRY(link, struct mirror_payload, link));
    }
}

void mirror_deinit(struct mirror *m)
{
    for (uint32_t s = 0; m->sites != NULL && s < m->sites_count; s++) {
        mirror_free_all(&m->sites[s].relays);
        mem_free(m->sites[s].passing);
    }
    for (uint32_t c = 0; c < m->chunks_count; c++) {
        mirror_free_all(&m->pieces_of[c]);
    }
    if (m->sites != NULL) {
        mirror_free_all(&m->released);
    }
    mem_free(m->sites);
    mem_free(m->hubs);
    mem_free(m->ways);
    mem_free(m->log);
    mem_free(m->contained);
    mem_free(m->made);
    mem_free(m->pieces_of);
    *m = (struct mirror){0};
}

enum err mirror_add_site(struct mirror *m, uint32_t group, int64_t now_ns, uint32_t *site_out)
{
    struct mirror_site *s = &m->sites[m->sites_count];

    if (m->sites_count == MIRROR_SITES_MAX || (m->config.groups > 0 && group >= m->config.groups)) {
        return ERR_TOO_BIG;
    }
    *s = (struct mirror_site){
        .group = group,
        .down_ns = now_ns,
        .gone_ns = MIRROR_NEVER,
        .moved_ns = now_ns,
        .confirmed = m->floor,
        .direct = m->number,
        .from = m->floor,
        .marked = m->floor,
        .place = m->log_first,
        .waits_ns = MIRROR_NEVER,
    };
    list_init(&s->relays);
    if (m->config.groups > 0) {
        s->passing = mem_calloc(MIRROR_SITES_MAX, sizeof(*s->passing));
        if (s->passing == NULL) {
            return ERR_NOMEM;
        }
    }
    *site_out = m->sites_count++;
    return OK;
}

void mirror_late_site(struct mirror *m, uint32_t site)
{
    m->sites[site].left_out = true;
}

void mirror_set_hubs(struct mirror *m, uint32_t group, uint32_t other,
                     const struct mirror_hubs *hubs)
{
    m->hubs[group * m->config.groups + other] = *hubs;
}

/* Chunks. */

enum err mirror_grow(struct mirror *m, uint32_t count)
{
    uint32_t chunks = m->chunks_count + count;
    uint64_t *contained = mem_calloc((size_t)chunks * MIRROR_SITES_MAX + 1, sizeof(*contained));
    uint64_t *made = mem_calloc((size_t)chunks + 1, sizeof(*made));
    struct list *pieces = mem_calloc((size_t)chunks + 1, sizeof(*pieces));

    if (contained == NULL || made == NULL || pieces == NULL) {
        mem_free(contained);
        mem_free(made);
        mem_free(pieces);
        return ERR_NOMEM;
    }
    for (uint32_t c = 0; c < chunks; c++) {
        bool old = c < m->chunks_count;

        made[c] = old ? m->made[c] : m->config.life << MIRROR_LIFE_SHIFT;
        list_init(&pieces[c]);
        if (old) {
            list_take(&pieces[c], &m->pieces_of[c]);
        }
    }
    if (m->chunks_count > 0) {
        memcpy(contained, m->contained,
               (size_t)m->chunks_count * MIRROR_SITES_MAX * sizeof(*contained));
    }
    mem_free(m->contained);
    mem_free(m->made);
    mem_free(m->pieces_of);
    m->contained = contained;
    m->made = made;
    m->pieces_of = pieces;
    m->chunks_count = chunks;
    return OK;
}

/* Our pieces. */

static enum err mirror_log_room(struct mirror *m)
{
    uint32_t capacity = m->log_capacity * 2;
    struct mirror_piece **log;

    if (m->log_end - m->log_first < m->log_capacity) {
        return OK;
    }
    log = mem_calloc(capacity, sizeof(struct mirror_piece *));
    if (log == NULL) {
        return ERR_NOMEM;
    }
    for (uint64_t p = m->log_first; p < m->log_end; p++) {
        log[p & (capacity - 1)] = mirror_at(m, p);
    }
    mem_free(m->log);
    m->log = log;
    m->log_capacity = capacity;
    return OK;
}

static enum err mirror_append(struct mirror *m, const struct mirror_piece *piece)
{
    struct mirror_piece *p = mem_zalloc(sizeof(*p));
    enum err rc = p == NULL ? ERR_NOMEM : mirror_log_room(m);

    if (rc != OK) {
        mem_free(p);
        return rc;
    }
    *p = *piece;
    p->place = m->log_end;
    list_init(&p->base.link);
    list_push_back(&m->pieces_of[p->chunk], &p->base.link);
    m->log[m->log_end++ & (m->log_capacity - 1)] = p;
    m->log_bytes += p->bytes;
    m->made[p->chunk] = p->number;
    m->number = p->number;
    return OK;
}

enum err mirror_make(struct mirror *m, uint32_t chunk, uint64_t clock, uint32_t bytes, void *token)
{
    struct mirror_piece piece = {
        .base = {.token = token},
        .chunk = chunk,
        .bytes = bytes,
        .prev = m->made[chunk],
        .number = m->number + 1,
        /* After a restart clocks are done again that others were told of. */
        .clock = clock > m->clock ? clock : m->clock + 1,
    };

    return mirror_append(m, &piece);
}

/* Everybody is to hear something new. */
static void mirror_tell(struct mirror *m)
{
    for (uint32_t i = 1; i < m->sites_count; i++) {
        m->sites[i].report_due = true;
    }
}

/* All sites have it. */
static void mirror_let_go(struct mirror *m, struct mirror_piece *p)
{
    list_remove(&p->base.link);
    list_push_back(&m->released, &p->base.link);
    m->log[p->place & (m->log_capacity - 1)] = NULL;
    m->log_bytes -= p->bytes;
}

/* Let go what everybody has. */
static void mirror_settle(struct mirror *m)
{
    uint64_t floor = m->number;

    if (m->copying) {
        return;
    }
    for (uint32_t i = 1; i < m->sites_count; i++) {
        const struct mirror_site *s = &m->sites[i];
        /* One that is left out takes a copy when it is back. If everybody may leave out everybody,
         * there may be nobody to take it from. */
        bool forgotten = s->left_out && !s->up && m->config.majority;

        floor = !forgotten && s->confirmed < floor ? s->confirmed : floor;
    }
    if (floor > m->stored) {
        floor = m->stored; /* A site that forgot them would number others the same. */
    }
    while (m->log_first < m->log_end) {
        struct mirror_piece *p = mirror_at(m, m->log_first);

        if (p->number > floor) {
            break;
        }
        mirror_let_go(m, p);
        m->log_first++;
    }
    m->floor = floor > m->floor ? floor : m->floor;
}

void mirror_set_copying(struct mirror *m, bool copying)
{
    m->copying = copying;
    mirror_settle(m);
}

void *mirror_release(struct mirror *m)
{
    struct list *link = list_first(&m->released);
    struct mirror_payload *p;
    void *token;

    if (link == NULL) {
        return NULL;
    }
    p = LIST_ENTRY(link, struct mirror_payload, link);
    token = p->token;
    list_remove(link);
    mem_free(p);
    return token;
}

void mirror_advance(struct mirror *m, uint64_t clock)
{
    if (clock <= m->clock) {
        return;
    }
    m->clock = clock;
    mirror_tell(m);
    mirror_settle(m);
    mirror_gathered(m, MIRROR_SELF);
}

void mirror_store(struct mirror *m, uint64_t number, uint64_t clock)
{
    m->stored_clock = m->stored_clock < clock ? clock : m->stored_clock;
    if (m->stored < number) {
        m->stored = number;
        mirror_settle(m);
    }
}

void mirror_finish(struct mirror *m)
{
    m->done = true;
    mirror_tell(m);
    mirror_gathered(m, MIRROR_SELF);
}

void mirror_go_on(struct mirror *m)
{
    m->done = false;
    mirror_tell(m);
}

/* Reports. */

/* What we have of a site, chunk by chunk: equal if and only if it is the same. */
static uint64_t mirror_hash(const struct mirror *m, uint32_t site)
{
    uint64_t hash = UINT64_C(1469598103934665603);

    for (uint32_t c = 0; c < m->chunks_count; c++) {
        hash = (hash ^ mirror_contained(m, c, site)) * UINT64_C(1099511628211);
        hash ^= hash >> 29;
    }
    return hash;
}

/* Do we contain anything that the site made, in any life? */
static bool mirror_knew(const struct mirror *m, uint32_t site)
{
    for (uint32_t c = 0; c < m->chunks_count; c++) {
        if (mirror_contained(m, c, site) != 0) {
            return true;
        }
    }
    return false;
}

void mirror_say(struct mirror *m, uint32_t peer, struct mirror_report *out)
{
    struct mirror_site *s = &m->sites[peer];

    *out = (struct mirror_report){
        .clock = m->clock,
        .number = m->number,
        .floor = m->floor,
        .stable = s->safe,
        .request = s->request,
        .before = mirror_hash(m, MIRROR_SELF),
        .fresh = m->fresh,
        .knew = mirror_knew(m, peer),
        .done = m->done,
    };
    for (uint32_t i = 1; i < m->sites_count; i++) {
        out->away |= m->sites[i].up ? 0 : mirror_bit(i);
    }
    s->report_due = false;
}

bool mirror_say_due(const struct mirror *m, uint32_t peer)
{
    return m->sites[peer].report_due && m->sites[peer].up;
}

void mirror_rewind(struct mirror *m, uint32_t site, uint64_t stable)
{
    struct mirror_site *s = &m->sites[site];

    s->direct = m->number;
    s->from = stable;
    s->marked = stable;
    s->marked_clock = 0;
    s->place = m->log_first;
    s->unanswered = true;
    for (uint64_t p = m->log_first; p < m->log_end; p++) {
        struct mirror_piece *piece = mirror_at(m, p);

        if (piece->number > stable) {
            piece->sent &= ~mirror_bit(site);
        }
    }
}

/* Also if it was asked before: what is missing now may not be in the answer to that. */
void mirror_ask(struct mirror *m, uint32_t site)
{
    struct mirror_site *s = &m->sites[site];

    s->doubt = true;
    s->missed = 0;
    s->request++;
    s->report_due = true;
    s->early.number = 0;
}

void mirror_up(struct mirror *m, uint32_t peer, bool again, int64_t now_ns)
{
    struct mirror_site *s = &m->sites[peer];

    s->up = true;
    s->away = 0;
    s->moved_ns = now_ns;
    mirror_tell(m);
    if (again) {
        s->greeted = false;
        if (!m->fresh) {
            mirror_ask(m, peer);
        }
        mirror_relays_drop(m, peer);
        mirror_ways_look(m, peer);
    } else {
        if (s->confirmed < m->floor) {
            /* It was left out, and pieces were let go that it never got: no mark may be about
             * these. It will hear that they are gone. */
            s->confirmed = m->floor;
            mirror_rewind(m, peer, m->floor);
        }
        mirror_ways_look(m, MIRROR_NOBODY);
    }
}

void mirror_down(struct mirror *m, uint32_t peer, int64_t now_ns)
{
    struct mirror_site *s = &m->sites[peer];

    mirror_relays_drop(m, peer);
    if (s->up) {
        s->up = false;
        s->down_ns = now_ns;
        mirror_tell(m);
        mirror_ways_look(m, MIRROR_NOBODY);
    }
}

/* The site begins, or misses something: it says where to go on. That may be before what it had
 * once, if it took a copy of somebody who had less. */
static void mirror_resume(struct mirror *m, uint32_t peer, const struct mirror_report *r)
{
    struct mirror_site *s = &m->sites[peer];

    s->greeted = true;
    s->fresh = r->fresh;
    s->answered = r->request;
    /* Fresh: from now on all is kept for it. It may have got pieces of ours in somebody's copy. */
    s->confirmed = r->fresh || r->stable < m->floor ? m->floor : r->stable;
    s->sent = m->sent;
    for (uint64_t p = m->log_first; p < m->log_end; p++) {
        mirror_at(m, p)->known |= mirror_at(m, p)->known != 0 ? mirror_bit(peer) : 0;
    }
    s->report_due = true; /* It may have to know that we do not keep what it wants. */
    mirror_rewind(m, peer, s->confirmed);
    mirror_ways_look(m, MIRROR_NOBODY);
}

enum err mirror_hear(struct mirror *m, uint32_t peer, const struct mirror_report *r, int64_t now_ns)
{
    struct mirror_site *s = &m->sites[peer];

    if (r->stable > m->number || r->floor > r->number) {
        return ERR_PEER;
    }
    if (!s->greeted || (s->fresh && !r->fresh) || (r->request != s->answered && !r->fresh)) {
        mirror_resume(m, peer, r);
    }
    if (r->stable > s->confirmed) {
        s->confirmed = r->stable;
        s->moved_ns = now_ns;
    }
    if (!r->fresh && mirror_life(r->number) > s->life) {
        /* What it had made before and had not sent to all is lost: at least all must agree. */
        s->torn = !m->fresh && s->life > 0 && r->before != mirror_hash(m, peer);
        s->life = mirror_life(r->number);
        if (s->torn) {
            s->stable = s->safe = 0; /* Nobody may build on what we have of it. */
        }
    }
    s->reported = r->stable;
    s->knew = r->knew;
    s->away = r->away;
    if (r->clock > s->announced || mirror_life(r->number) > mirror_life(s->number)) {
        s->announced = r->clock;
    }
    s->number = r->number;
    s->floor = r->floor;
    s->done = r->done;
    mirror_settle(m);
    return OK;
}

/* Pieces that came. */

enum mirror_fit { MIRROR_FITS, MIRROR_KNOWN, MIRROR_EARLY, MIRROR_ACROSS };

static enum mirror_fit mirror_fit(uint64_t has, const struct mirror_range *r)
{
    if (r->number <= has) {
        return MIRROR_KNOWN;
    }
    if (r->prev == has || (mirror_is_base(r->prev) && mirror_life(r->prev) > mirror_life(has))) {
        return MIRROR_FITS;
    }
    return r->prev > has ? MIRROR_EARLY : MIRROR_ACROSS;
}

/* The sites with parts that are not known are asked to send them directly. One that was asked will
 * send most of it anyhow: it is asked again when its answer is there, and for what is not in it.
 * But what comes straight from it is the answer, and that has a hole now. */
static void mirror_miss(struct mirror *m, const struct mirror_range *ranges, uint32_t count,
                        bool straight)
{
    for (uint32_t i = 0; i < count; i++) {
        struct mirror_site *s = &m->sites[ranges[i].site];

        if (ranges[i].site == MIRROR_SELF || ranges[i].number <= s->stable) {
            continue;
        }
        if (s->doubt && !straight) {
            s->missed = ranges[i].number > s->missed ? ranges[i].number : s->missed;
        } else {
            mirror_ask(m, ranges[i].site);
        }
    }
}

/* A mark that counts: it may end the doubt, or show that the answer was given too early. */
static void mirror_answered(struct mirror *m, uint32_t site, const struct mirror_mark *mark)
{
    struct mirror_site *s = &m->sites[site];

    if (s->doubt && mark->whole) {
        s->doubt = false;
        if (s->missed > mark->number) {
            mirror_ask(m, site);
        }
    }
}

static enum mirror_verdict mirror_verdict(struct mirror *m, uint32_t chunk,
                                          const struct mirror_range *ranges, uint32_t count)
{
    const uint64_t *has = m->contained + (size_t)chunk * MIRROR_SITES_MAX;
    uint32_t counts[4] = {0};

    for (uint32_t i = 0; i < count; i++) {
        /* What comes late of a life that is over counts no more: all have agreed without it. */
        bool over = mirror_life(ranges[i].number) < m->sites[ranges[i].site].life;
        enum mirror_fit fit = ranges[i].site == MIRROR_SELF || over
                                  ? MIRROR_KNOWN
                                  : mirror_fit(has[ranges[i].site], &ranges[i]);

        counts[fit]++;
    }
    if (counts[MIRROR_KNOWN] == count) {
        return MIRROR_DROP;
    }
    if (counts[MIRROR_KNOWN] > 0 || counts[MIRROR_ACROSS] > 0) {
        return MIRROR_REFUSE;
    }
    return counts[MIRROR_EARLY] > 0 ? MIRROR_HOLD : MIRROR_TAKE;
}

/* A mark that had to wait may count now. */
static void mirror_settle_mark(struct mirror *m, uint32_t site);

static void mirror_unhold(struct mirror *m, const struct mirror_range *ranges, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        m->sites[ranges[i].site].holding--;
    }
    for (uint32_t i = 0; i < count; i++) {
        mirror_settle_mark(m, ranges[i].site);
    }
}

void mirror_hold(struct mirror *m, const struct mirror_range *ranges, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        m->sites[ranges[i].site].holding++;
    }
}

void mirror_lose(struct mirror *m, const struct mirror_range *ranges, uint32_t count)
{
    mirror_miss(m, ranges, count, true);
    mirror_unhold(m, ranges, count);
}

enum mirror_verdict mirror_judge(struct mirror *m, uint32_t chunk,
                                 const struct mirror_range *ranges, uint32_t count, bool held,
                                 bool straight)
{
    enum mirror_verdict verdict = mirror_verdict(m, chunk, ranges, count);
    uint64_t *has = m->contained + (size_t)chunk * MIRROR_SITES_MAX;

    for (uint32_t i = 0; i < count; i++) {
        if (verdict == MIRROR_TAKE) {
            has[ranges[i].site] = ranges[i].number;
        } else if (verdict == MIRROR_HOLD && !held) {
            m->sites[ranges[i].site].holding++;
        }
    }
    if (verdict == MIRROR_REFUSE) {
        mirror_miss(m, ranges, count, straight);
    }
    if (held && verdict != MIRROR_HOLD) {
        mirror_unhold(m, ranges, count);
    }
    return verdict;
}

/* Marks that came. */

static bool mirror_follows(const struct mirror_site *s, const struct mirror_mark *mark)
{
    return s->holding == 0 &&
           (mark->from <= s->stable ||
            (mirror_is_base(mark->from) && mirror_life(mark->from) > mirror_life(s->stable)));
}

static void mirror_stabilise(struct mirror *m, uint32_t site, const struct mirror_mark *mark)
{
    struct mirror_site *s = &m->sites[site];
    bool new_life = mirror_life(mark->number) > mirror_life(s->stable);
    bool moved = mark->number > s->stable;

    s->stable = moved ? mark->number : s->stable;
    if (new_life || mark->clock > s->clock) {
        s->clock = mark->clock;
        moved = true;
    }
    if (!m->config.durable) {
        s->safe = s->stable;
        s->report_due = s->report_due || moved;
    }
    m->moved = m->moved || moved;
}

static void mirror_settle_mark(struct mirror *m, uint32_t site)
{
    struct mirror_site *s = &m->sites[site];

    if (s->early.number > 0 && (!s->doubt || s->early.answer == s->request) &&
        mirror_follows(s, &s->early)) {
        struct mirror_mark mark = s->early;

        s->early.number = 0;
        mirror_stabilise(m, site, &mark);
        mirror_answered(m, site, &mark);
    }
}

void mirror_marked(struct mirror *m, uint32_t peer, const struct mirror_mark *mark)
{
    struct mirror_site *s = &m->sites[mark->site];

    if (mirror_life(mark->number) < s->life || mirror_life(mark->number) < mirror_life(s->stable)) {
        return; /* It comes late, of a life that is over: its clock is not the new one's. */
    }
    if (mark->groups != 0 && m->config.groups > 0) {
        mirror_pass_mark(m, peer, mark);
    }
    if (mark->site == MIRROR_SELF) {
        return;
    }
    mirror_gathered(m, mark->site);
    if (s->torn || (s->doubt && (peer != mark->site || mark->answer != s->request))) {
        return;
    }
    if (mirror_follows(s, mark)) {
        mirror_stabilise(m, mark->site, mark);
        mirror_answered(m, mark->site, mark);
        mirror_settle_mark(m, mark->site);
    } else if (mark->number > s->early.number ||
               (mark->number == s->early.number && mark->clock > s->early.clock)) {
        s->early = *mark;
    }
}

bool mirror_moved(struct mirror *m)
{
    bool moved = m->moved;

    m->moved = false;
    return moved;
}

void mirror_stored(struct mirror *m, uint32_t site, uint64_t number)
{
    struct mirror_site *s = &m->sites[site];

    if (number > s->safe) {
        s->safe = number;
        s->report_due = true;
    }
}

/* Readers. */

bool mirror_may_read(const struct mirror *m, uint64_t clock, uint32_t *for_out)
{
    uint64_t slowest = UINT64_MAX;

    if (m->config.staleness == MIRROR_UNBOUNDED) {
        return true;
    }
    for (uint32_t i = 1; i < m->sites_count; i++) {
        const struct mirror_site *s = &m->sites[i];
        bool over = s->done && s->stable >= s->number;

        if (!s->left_out && !over && s->clock + s->offset < slowest) {
            slowest = s->clock + s->offset;
            *for_out = i;
        }
    }
    return slowest == UINT64_MAX || clock <= slowest + 1 + m->config.staleness;
}

/* Nobody that we see sees it; with .majority these must be more than half of all sites. */
static bool mirror_is_gone(const struct mirror *m, uint32_t site)
{
    uint32_t seen = 0;

    /* One that was never here is waited for; one whose next process died at once is gone. */
    if (m->sites[site].up || (!m->sites[site].greeted && m->sites[site].life == 0)) {
        return false;
    }
    for (uint32_t i = 0; i < m->sites_count; i++) {
        const struct mirror_site *s = &m->sites[i];

        if (i != MIRROR_SELF && s->up && (s->away & mirror_bit(site)) == 0 && m->config.majority) {
            return false;
        }
        seen += s->up;
    }
    return !m->config.majority || seen * 2 > m->sites_count;
}

/* Leave it out, or count it in again. */
static bool mirror_tick_site(struct mirror *m, uint32_t site, int64_t now_ns)
{
    struct mirror_site *s = &m->sites[site];

    if (!mirror_is_gone(m, site)) {
        s->gone_ns = MIRROR_NEVER;
    } else if (s->gone_ns == MIRROR_NEVER) {
        s->gone_ns = now_ns;
    } else if (!s->left_out && m->config.away_ns > 0 && now_ns - s->gone_ns >= m->config.away_ns) {
        s->left_out = true;
        mirror_settle(m);
        return true;
    }
    if (s->left_out && s->up && s->greeted && !s->fresh && !s->doubt && s->stable >= s->number) {
        s->left_out = false;
        s->offset = m->clock > s->clock ? m->clock - s->clock : 0;
        return true;
    }
    return false;
}

bool mirror_tick(struct mirror *m, int64_t now_ns)
{
    bool changed = false;

    for (uint32_t i = 1; i < m->sites_count; i++) {
        struct mirror_site *s = &m->sites[i];

        changed = mirror_tick_site(m, i, now_ns) || changed;
        if (s->confirmed >= s->sent) {
            s->moved_ns = now_ns;
        } else if (s->up && s->greeted && !s->fresh && !mirror_is_straight(m, i, s->sent) &&
                   m->config.stall_ns > 0 && now_ns - s->moved_ns >= m->config.stall_ns) {
            s->moved_ns = now_ns;
            mirror_rewind(m, i, s->confirmed);
        }
    }
    mirror_gather_tick(m, now_ns);
    return changed;
}

/* Copies. */

bool mirror_needs_copy(const struct mirror *m)
{
    for (uint32_t i = 1; i < m->sites_count; i++) {
        const struct mirror_site *s = &m->sites[i];

        if (s->greeted && !s->fresh &&
            (s->torn || (m->fresh && s->knew) ||
             (s->floor > s->stable && !mirror_is_base(s->floor)))) {
            return true;
        }
    }
    return false;
}

bool mirror_may_copy(const struct mirror *m, uint32_t site)
{
    const struct mirror_site *s = &m->sites[site];

    for (uint32_t i = 1; i < m->sites_count; i++) {
        if (m->sites[i].torn && !s->torn) {
            return false;
        }
    }
    return s->up && s->greeted && !s->fresh &&
           /* With something of a life before: others may have another part of it. */
           (s->reported >= m->floor || (mirror_is_base(m->floor) && !mirror_knew(m, MIRROR_SELF)));
}

bool mirror_copy_fits(const struct mirror *m, uint32_t from, const uint64_t *stable)
{
    for (uint32_t i = 1; i < m->sites_count; i++) {
        const struct mirror_site *s = &m->sites[i];

        if (i != from && s->greeted &&
            (mirror_life(stable[i]) < s->life ||
             (!mirror_is_base(s->floor) && stable[i] < s->floor))) {
            return false;
        }
    }
    return true;
}

bool mirror_all_greeted(const struct mirror *m)
{
    bool all = true;

    for (uint32_t i = 1; i < m->sites_count; i++) {
        all = all && m->sites[i].greeted;
    }
    return all;
}

void mirror_begin(struct mirror *m, uint64_t clock)
{
    m->fresh = false;
    m->clock = clock;
    for (uint32_t i = 1; i < m->sites_count; i++) {
        mirror_ask(m, i);
    }
    mirror_ways_look(m, MIRROR_NOBODY); /* We may be a hub now. */
}

void mirror_adopt(struct mirror *m, uint32_t chunk, uint32_t site, uint64_t number)
{
    m->contained[(size_t)chunk * MIRROR_SITES_MAX + site] = number;
}

void mirror_adopt_site(struct mirror *m, uint32_t site, uint64_t stable, uint64_t clock)
{
    struct mirror_site *s = &m->sites[site];

    if (site == MIRROR_SELF) {
        return;
    }
    s->stable = stable;
    s->clock = clock;
    s->safe = m->config.durable && s->safe < stable ? s->safe : stable;
    s->early.number = 0;
    s->torn = false;
    s->doubt = false;
    mirror_ask(m, site);
}

void *mirror_above(struct mirror *m, uint32_t chunk, uint64_t number, uint32_t index)
{
    LIST_FOREACH (link, &m->pieces_of[chunk]) {
        struct mirror_piece *p = mirror_piece_of(link);

        if (p->number > number && index-- == 0) {
            return p->base.token;
        }
    }
    return NULL;
}

uint64_t mirror_piece_clock(const struct mirror *m, uint32_t chunk)
{
    return list_empty(&m->pieces_of[chunk]) ? 0 : mirror_piece_of(m->pieces_of[chunk].prev)->clock;
}

/* After a restart. */

void mirror_restore(struct mirror *m, uint64_t number, uint64_t clock)
{
    m->fresh = false;
    m->clock = clock;
    m->number = number;
    m->stored = m->config.durable ? number : UINT64_MAX;
    m->stored_clock = m->config.durable ? clock : UINT64_MAX;
    m->floor = m->log_first == m->log_end ? number : mirror_at(m, m->log_first)->number - 1;
    m->sent = number; /* As far as we know. */
    m->config.life = mirror_life(number);
    for (uint32_t c = 0; c < m->chunks_count; c++) {
        if (mirror_life(m->made[c]) != m->config.life) {
            m->made[c] = m->config.life << MIRROR_LIFE_SHIFT; /* None of it was made yet. */
        }
    }
    for (uint32_t i = 1; i < m->sites_count; i++) {
        m->sites[i].confirmed = m->floor;
        m->sites[i].sent = number;
        m->sites[i].direct = number;
    }
}

void mirror_settle_floor(struct mirror *m, uint64_t floor)
{
    for (uint32_t i = 1; i < m->sites_count; i++) {
        struct mirror_site *s = &m->sites[i];

        s->confirmed = floor > s->confirmed ? floor : s->confirmed;
    }
    mirror_settle(m);
}

void mirror_restore_site(struct mirror *m, uint32_t site, uint64_t stable, uint64_t clock)
{
    m->sites[site].stable = stable;
    m->sites[site].safe = stable;
    m->sites[site].clock = clock;
    m->sites[site].life = mirror_life(stable);
}

void mirror_restore_chunk(struct mirror *m, uint32_t chunk, uint64_t made)
{
    m->made[chunk] = made;
}

enum err mirror_restore_piece(struct mirror *m, uint32_t chunk, uint64_t prev, uint64_t number,
                              uint64_t clock, uint32_t bytes, void *token)
{
    struct mirror_piece piece = {
        .base = {.token = token},
        .chunk = chunk,
        .bytes = bytes,
        .prev = prev,
        .number = number,
        .clock = clock,
        .known = UINT64_MAX,
    };
    uint64_t made = m->made[chunk];
    enum err rc = mirror_append(m, &piece);

    if (rc == OK && mirror_life(made) == mirror_life(number) && made > number) {
        m->made[chunk] = made; /* Later ones are kept by nobody. */
    }
    return rc;
}

bool mirror_invariant(const struct mirror *m)
{
    uint64_t bytes = 0, last = 0;

    for (uint64_t p = m->log_first; p < m->log_end; p++) {
        const struct mirror_piece *piece = mirror_at(m, p);

        if (piece->number <= last || piece->place != p || piece->prev >= piece->number ||
            piece->number > m->number) {
            return false;
        }
        last = piece->number;
        bytes += piece->bytes;
    }
    for (uint32_t i = 1; i < m->sites_count; i++) {
        const struct mirror_site *s = &m->sites[i];

        if (s->safe > s->stable || s->confirmed > m->number ||
            (s->confirmed < m->floor && !s->left_out)) {
            return false;
        }
    }
    return bytes == m->log_bytes && m->floor <= m->number;
}
