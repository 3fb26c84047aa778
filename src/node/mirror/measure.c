/* A lane's dealings with other sites as metrics. Names are stable. */

#include "base/mem.h"
#include "node/mirror/state.h"
#include "obs/metric.h"

/* Of one other site. */
struct measure_remote {
    struct obs_gauge *up;
    struct obs_gauge *behind;
    struct obs_gauge *waiting;
    struct obs_gauge *drain;
    struct obs_gauge *rtt;
    struct obs_counter *sent;
};

struct node_measure {
    struct measure_remote *remotes; /* As those of the mirror. */
    struct obs_counter *made;
    struct obs_counter *taken;
    struct obs_counter *dropped;
    struct obs_counter *relayed;
    struct obs_counter *raised;
    struct obs_counter *met;
    struct obs_counter *passed;
    struct obs_counter *copies;
    struct obs_counter *waited[NODE_WAITS]; /* Nanoseconds; by reason. */
    struct obs_gauge *log;
    struct obs_gauge *soft;
};

static enum err measure_gauge(struct node_mirror *r, const struct obs_label *label,
                              enum obs_merge merge, const char *name, const char *help,
                              struct obs_gauge **out)
{
    struct obs_desc desc = {.name = name,
                            .help = help,
                            .labels = label,
                            .labels_count = label == NULL ? 0 : 1,
                            .merge = merge};

    return obs_gauge_create(r->lane->config.registry, &desc, out);
}

static enum err measure_counter(struct node_mirror *r, const struct obs_label *label,
                                uint32_t divisor, const char *name, const char *help,
                                struct obs_counter **out)
{
    struct obs_desc desc = {.name = name,
                            .help = help,
                            .labels = label,
                            .labels_count = label == NULL ? 0 : 1,
                            .divisor = divisor};

    return obs_counter_create(r->lane->config.registry, &desc, out);
}

static enum err measure_open_remote(struct node_mirror *r, uint32_t index)
{
    struct measure_remote *m = &r->measure->remotes[index];
    const struct obs_label site = {"site", r->remotes.list[index].site.name};
    const struct {
        struct obs_gauge **gauge;
        enum obs_merge merge;
        const char *name;
        const char *help;
    } rows[] = {
        {&m->up, OBS_MERGE_SUM, "strait_site_lanes_up", "Lanes that share with the site."},
        {&m->behind, OBS_MERGE_LAST, "strait_site_behind_clocks",
         "Clocks of this site for which the other has not shared all."},
        {&m->waiting, OBS_MERGE_SUM, "strait_site_waiting_bytes",
         "Pieces that have not gone yet to the site, or by it."},
        {&m->drain, OBS_MERGE_SUM, "strait_site_drain_bytes_per_second",
         "What the link to the site carries when it is busy."},
        {&m->rtt, OBS_MERGE_LAST, "strait_site_rtt_seconds", "Round trip to the site."},
    };
    enum err rc = measure_counter(r, &site, 0, "strait_site_sent_bytes_total",
                                  "Bytes that went to the site.", &m->sent);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && rc == OK; i++) {
        rc = measure_gauge(r, &site, rows[i].merge, rows[i].name, rows[i].help, rows[i].gauge);
    }
    return rc;
}

static enum err measure_open_all(struct node_mirror *r)
{
    static const char *const reasons[] = {NULL, "clock", "barrier", "fresh", "room"};
    struct node_measure *m = r->measure;
    const struct {
        struct obs_counter **counter;
        const char *name;
        const char *help;
    } rows[] = {
        {&m->made, "strait_pieces_made_total", "Pieces made for other sites."},
        {&m->taken, "strait_pieces_taken_total", "Pieces of other sites that were added."},
        {&m->dropped, "strait_pieces_dropped_total", "Pieces of other sites that were known."},
        {&m->relayed, "strait_pieces_relayed_total", "Pieces passed on as a hub."},
        {&m->raised, "strait_barriers_raised_total", "Selective barriers sent to other sites."},
        {&m->met, "strait_barriers_met_total", "Selective barriers of other sites."},
        {&m->passed, "strait_barriers_passed_total", "Selective barriers passed on as a hub."},
        {&m->copies, "strait_site_copies_total", "Copies given to other sites."},
    };
    enum err rc = OK;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && rc == OK; i++) {
        rc = measure_counter(r, NULL, 0, rows[i].name, rows[i].help, rows[i].counter);
    }
    for (int i = NODE_WAIT_CLOCK; i < NODE_WAITS && rc == OK; i++) {
        const struct obs_label reason = {"reason", reasons[i]};

        rc = measure_counter(r, &reason, OBS_NS, "strait_site_wait_seconds_total",
                             "How long readers waited because of other sites.", &m->waited[i]);
    }
    if (rc == OK) {
        rc = measure_gauge(r, NULL, OBS_MERGE_SUM, "strait_pieces_kept_bytes",
                           "Pieces that some site does not have yet.", &m->log);
    }
    return rc == OK ? measure_gauge(r, NULL, OBS_MERGE_LAST, "strait_soft_threshold_ratio",
                                    "The soft threshold, as a part of the hard one.", &m->soft)
                    : rc;
}

enum err node_measure_open(struct node_mirror *r)
{
    enum err rc;

    r->measure = mem_zalloc(sizeof(*r->measure));
    if (r->measure == NULL) {
        return ERR_NOMEM;
    }
    r->measure->remotes = mem_calloc(r->remotes.count, sizeof(*r->measure->remotes));
    rc = r->measure->remotes == NULL ? ERR_NOMEM : measure_open_all(r);
    for (uint32_t i = 1; i < r->remotes.count && rc == OK; i++) {
        rc = measure_open_remote(r, i);
    }
    return rc;
}

void node_measure_close(struct node_mirror *r)
{
    if (r->measure != NULL) {
        mem_free(r->measure->remotes);
        mem_free(r->measure);
        r->measure = NULL;
    }
}

/* A counter follows a number that only grows. */
static void measure_follow(struct obs_counter *c, uint64_t now)
{
    uint64_t before = obs_counter_value(c);

    obs_counter_add(c, now > before ? now - before : 0);
}

static void measure_look_remote(struct node_mirror *r, struct node_remote_site *f)
{
    const struct mirror_site *s = &r->m.sites[f->index];
    const struct measure_remote *m = &r->measure->remotes[f->index];
    uint64_t clock = s->clock + s->offset;
    struct net_peer_stats stats = {0};

    if (f->out != NULL) {
        net_peer_stats(f->out, &stats);
    }
    obs_gauge_set(m->up, f->up && s->up ? 1 : 0);
    obs_gauge_set(m->behind, clock < r->m.clock ? (double)(r->m.clock - clock) : 0);
    obs_gauge_set(m->waiting, (double)mirror_waiting_bytes(&r->m, f->index));
    obs_gauge_set(m->drain, (double)node_drain_of(f)->busy_bytes_per_s);
    obs_gauge_set(m->rtt, (double)stats.rtt_ns * 1e-9);
    measure_follow(m->sent, f->sent_before + stats.sent_bytes);
}

void node_measure_look(struct node_mirror *r)
{
    const struct node_measure *m = r->measure;
    struct node_mirror_stats stats;

    node_mirror_stats(r, &stats);
    measure_follow(m->made, stats.pieces_made);
    measure_follow(m->taken, stats.pieces_taken);
    measure_follow(m->dropped, stats.pieces_dropped);
    measure_follow(m->relayed, stats.relayed);
    measure_follow(m->raised, stats.barriers_raised);
    measure_follow(m->met, stats.barriers_met);
    measure_follow(m->passed, stats.barriers_passed);
    measure_follow(m->copies, stats.copies);
    measure_follow(m->waited[NODE_WAIT_CLOCK], (uint64_t)stats.waited_clock_ns);
    measure_follow(m->waited[NODE_WAIT_BARRIER], (uint64_t)stats.waited_barrier_ns);
    measure_follow(m->waited[NODE_WAIT_FRESH], (uint64_t)stats.waited_fresh_ns);
    measure_follow(m->waited[NODE_WAIT_ROOM], (uint64_t)stats.waited_room_ns);
    obs_gauge_set(m->log, (double)stats.log_bytes);
    obs_gauge_set(m->soft, stats.soft);
    for (uint32_t i = 1; i < r->remotes.count; i++) {
        measure_look_remote(r, &r->remotes.list[i]);
    }
}
