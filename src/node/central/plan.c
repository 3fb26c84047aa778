/* Plans of rounds around a centre: what sites see of their links is flooded, and whoever's turn it
 * is (sync/links.h) makes another plan (plan/place_quick.h) when that is needed. */

#include "base/mem.h"
#include "net/probe/meter.h"
#include "node/central/json.h"
#include "node/central/state.h"
#include "plan/place_quick.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PLAN_RATE_UNKNOWN UINT64_C(125000000) /* Bytes per second: nothing is known of it. */
#define PLAN_GAIN_LEAST 0.05 /* Rounds that become shorter by less are not worth a new plan. */
#define PLAN_BEGIN_S 1.0     /* What beginning anew takes, beside a round that is done again. */

enum err node_central_plan_init(struct node_central *r)
{
    struct links_config config = links_config_default();

    config.away_ns = (uint64_t)r->between->away_ns;
    config.majority = r->between->majority;
    if (r->between->change_percent > 0) {
        config.change_percent = r->between->change_percent;
    }
    r->meters = mem_calloc((size_t)r->sites + 1, sizeof(*r->meters));
    r->inflows = mem_calloc((size_t)r->sites + 1, sizeof(*r->inflows));
    r->used = mem_calloc((size_t)r->sites + 1, sizeof(*r->used));
    r->broken = mem_calloc((size_t)r->sites + 1, sizeof(*r->broken));
    r->believes = mem_calloc((size_t)r->sites + 1, sizeof(*r->believes));
    if (r->meters == NULL || r->inflows == NULL || r->used == NULL || r->broken == NULL ||
        r->believes == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < r->sites; i++) {
        r->meters[i].paced = true;
    }
    return links_init(&r->links, r->sites, r->c.self, node_lane_life(r->lane), &config,
                      (uint64_t)node_central_now(r));
}

void node_central_plan_deinit(struct node_central *r)
{
    links_deinit(&r->links);
    mem_free(r->meters);
    mem_free(r->inflows);
    mem_free(r->used);
    mem_free(r->broken);
    mem_free(r->believes);
    r->meters = NULL;
    r->inflows = NULL;
    r->used = NULL;
    r->broken = NULL;
    r->believes = NULL;
}

static uint32_t plan_index(const struct node_central *r, const struct node_remote_site *f)
{
    return node_central_index(r, f->id);
}

/* What a link carries by what the operator says; zero: nothing is said. */
static uint64_t plan_said(const struct node_central *r, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < r->between->links_count; i++) {
        const struct site_link *l = &r->between->links[i];

        if ((l->a == a && l->b == b) || (l->a == b && l->b == a)) {
            return l->bytes_per_s;
        }
    }
    return 0;
}

static uint64_t plan_inflow(struct node_inflow *in, struct net_peer *peer, int64_t now_ns)
{
    struct net_peer_stats stats;

    net_peer_stats(peer, &stats);
    if (now_ns - in->at_ns >= (int64_t)NODE_INFLOW_MS * 1000000) {
        bool known = in->at_ns != 0 && stats.received_bytes >= in->bytes;

        in->bytes_per_s = known ? (uint64_t)((double)(stats.received_bytes - in->bytes) * 1e9 /
                                             (double)(now_ns - in->at_ns))
                                : 0;
        in->bytes = stats.received_bytes;
        in->at_ns = now_ns;
    }
    return in->bytes_per_s;
}

/* What was seen of a link that was busy: of all lanes' traffic this is one's, and where both
 * directions share a rate, it is what goes and what comes. */
static void plan_measure(struct node_central *r, struct node_remote_site *f, int64_t now_ns)
{
    struct net_meter *meter = &r->meters[f->index];
    uint64_t came = r->between->shared ? plan_inflow(&r->inflows[f->index], f->in, now_ns) : 0;
    struct net_meter_reading reading;

    if (net_meter_look(meter, f->out, now_ns) && net_meter_read(meter, now_ns, &reading) &&
        !reading.at_least) {
        believe_read(&r->believes[f->index],
                     (reading.bytes_per_s + came) * r->lane->config.site.lanes, (uint64_t)now_ns);
    }
}

void node_central_seen(struct node_central *r, struct node_remote_site *f, bool up)
{
    uint32_t other = plan_index(r, f);
    int64_t now_ns = node_central_now(r);

    if (f->site.indirect) {
        return; /* There is no link that could be up. */
    }
    links_set_up(&r->links, other, up, (uint64_t)now_ns);
    if (up) {
        plan_measure(r, f, now_ns);
        links_set_rate(
            &r->links, other,
            believe_rate(&r->believes[f->index], plan_said(r, r->c.self, other), (uint64_t)now_ns));
    }
}

/* Words. */

/* What finds no room is made up for when the session is another one: so end it. */
static void plan_tell(struct node_central *r, struct node_remote_site *f, uint16_t operation,
                      json_t *fields)
{
    if (node_control_send(f->out, r->lane->pool, operation, 0, fields) != OK) {
        net_peer_close(f->out, "no room to tell what the network is like");
    }
    json_decref(fields);
}

static void plan_tell_word(struct node_central *r, uint32_t neighbour, uint32_t site,
                           uint64_t now_ns)
{
    struct links_word word;

    links_pending_get(&r->links, neighbour, site, now_ns, &word);
    plan_tell(r, r->remote_at[neighbour], word.since == 0 ? NODE_OP_WORD : NODE_OP_CHANGES,
              node_word_to_json(&word));
    r->stats.words_sent++;
}

/* Send all neighbours what they do not have. */
static void plan_tell_all(struct node_central *r, uint64_t now_ns)
{
    for (uint32_t i = 0; i < r->sites; i++) {
        struct node_remote_site *f = r->remote_at[i];
        uint64_t pending = f != NULL && f->up ? links_pending(&r->links, i, now_ns) : 0;

        for (; pending != 0 && f->up; pending &= pending - 1) {
            plan_tell_word(r, i, (uint32_t)__builtin_ctzll(pending), now_ns);
        }
        if (f != NULL && f->up && links_plan_is_pending(&r->links, i)) {
            links_plan_known(&r->links, i, r->plan.epoch);
            plan_tell(r, f, NODE_OP_PLAN, node_plan_to_json(&r->plan, r->sites));
            r->stats.plans_sent++;
        }
    }
}

enum err node_central_word(struct node_central *r, struct node_remote_site *f, uint16_t operation,
                           const json_t *fields)
{
    struct links_word word;

    if (!node_word_from_json(fields, r->sites, &word) ||
        (word.since != 0) != (operation == NODE_OP_CHANGES)) {
        return ERR_PEER;
    }
    if (links_take(&r->links, plan_index(r, f), &word, (uint64_t)node_central_now(r)) ==
        LINKS_WRONG) {
        return ERR_PEER;
    }
    node_central_links(r);
    return OK;
}

/* Plans. */

/* As the machine that watches links has it. */
enum links_verdict node_central_plan_set(struct node_central *r, const struct node_plan *plan)
{
    struct links_path paths[CENTRAL_SITES_MAX] = {0};

    for (uint32_t i = 0; i < r->sites; i++) {
        const struct node_path *path = &plan->paths[i];

        paths[i].life = path->life;
        paths[i].count = path->count == 0 ? 1 : path->count;
        paths[i].sites[0] = i;
        for (uint32_t k = 0; k < path->count; k++) {
            paths[i].sites[k] = path->sites[k];
            if (k + 1 < path->count) {
                paths[i].rates[k] = path->rates[k];
            }
        }
    }
    return links_plan_set(&r->links, plan->epoch, plan->centre, plan->active, paths);
}

enum err node_central_plan(struct node_central *r, struct node_remote_site *f, const json_t *fields)
{
    struct node_plan plan;

    if (!node_plan_from_json(fields, r->sites, &plan)) {
        return ERR_PEER;
    }
    links_plan_known(&r->links, plan_index(r, f), plan.epoch);
    switch (node_central_plan_set(r, &plan)) {
    case LINKS_NEW:
        node_central_adopted(r, &plan);
        break;
    case LINKS_WRONG:
        return ERR_PEER;
    case LINKS_OLD:
        break;
    }
    node_central_links(r);
    return OK;
}

/* Making one. */

/* As both ends believe, or a guess. */
static double plan_rate(const struct node_central *r, uint32_t a, uint32_t b)
{
    uint64_t rate = links_rate(&r->links, a, b);

    return (double)(rate == 0 ? PLAN_RATE_UNKNOWN : rate);
}

static enum topo_duplex plan_duplex(const struct node_central *r)
{
    return r->between->shared ? TOPO_DUPLEX_SHARED : TOPO_DUPLEX_FULL;
}

/* The network of the active sites; @site_of has the site of each node. */
static enum err plan_graph(const struct node_central *r, uint64_t active, uint32_t *site_of,
                           struct topo_graph **out, struct err_text *text)
{
    struct topo_node *nodes = mem_calloc(CENTRAL_SITES_MAX, sizeof(*nodes));
    struct topo_edge *edges =
        mem_calloc((size_t)CENTRAL_SITES_MAX * CENTRAL_SITES_MAX / 2, sizeof(*edges));
    struct topo_graph g = {.nodes = nodes, .edges = edges, .duplex = plan_duplex(r)};
    enum err rc = nodes == NULL || edges == NULL ? ERR_NOMEM : OK;

    for (uint32_t i = 0; i < r->sites && rc == OK; i++) {
        if ((active >> i & 1) != 0) {
            (void)snprintf(nodes[g.nodes_count].id, sizeof(nodes[0].id), "%" PRIu32, i);
            nodes[g.nodes_count].usd_per_hour = -1;
            site_of[g.nodes_count++] = i;
        }
    }
    for (uint32_t i = 0; i < g.nodes_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (links_joined(&r->links, site_of[i], site_of[k])) {
                edges[g.edges_count++] =
                    (struct topo_edge){.a = k,
                                       .b = i,
                                       .mbps = plan_rate(r, site_of[i], site_of[k]) / 125e3,
                                       .rtt_ms = -1,
                                       .usd_per_gb = -1};
            }
        }
    }
    if (rc == OK) {
        rc = topo_graph_create(&g, out, text);
    }
    mem_free(nodes);
    mem_free(edges);
    return rc;
}

double node_central_bytes(const struct node_central *r)
{
    double bytes = 0;

    for (uint32_t i = 0; i < r->chunks_count; i++) {
        bytes += (double)table_store_elements(r->lane->tables, i) * sizeof(float);
    }
    return bytes < 1 ? 1 : bytes * r->lane->config.site.lanes;
}

/* Flows over links of which nothing is said, or which are much slower than that, are not paced:
 * they are as fast as the link, and show what it carries. */
static bool plan_is_as_said(const struct node_central *r, uint32_t a, uint32_t b)
{
    uint64_t said = plan_said(r, a, b);

    return said > 0 && links_rate(&r->links, a, b) >= said / 2;
}

static void plan_fill(const struct node_central *r, const struct plan_quick *quick,
                      const uint32_t *site_of, struct node_plan *plan)
{
    bool paced;

    plan->centre = site_of[quick->server];
    for (uint32_t i = 0; i < r->sites; i++) {
        plan->paths[i].life = links_life(&r->links, i);
    }
    for (uint32_t f = 0; f < quick->flows_count; f++) {
        const struct plan_place_flow *flow = &quick->flows[f];
        struct node_path *path = &plan->paths[site_of[flow->from]];

        path->bytes_per_s = (uint64_t)(flow->mbps * 125e3 / (r->between->shared ? 2 : 1));
        paced = true;
        for (uint32_t k = 0; k <= flow->hops; k++) {
            path->sites[path->count++] = site_of[flow->nodes[k]];
            if (k < flow->hops) {
                path->rates[k] =
                    links_rate(&r->links, site_of[flow->nodes[k]], site_of[flow->nodes[k + 1]]);
                paced = paced && plan_is_as_said(r, path->sites[k], site_of[flow->nodes[k + 1]]);
            }
        }
        path->bytes_per_s = paced ? path->bytes_per_s : 0;
    }
}

/* The longest way fits into a frame. */
static bool plan_fits(const struct plan_quick *quick)
{
    for (uint32_t f = 0; f < quick->flows_count; f++) {
        if (quick->flows[f].hops >= NODE_PATH_SITES_MAX) {
            return false;
        }
    }
    return true;
}

double node_central_round_s(const struct node_central *r)
{
    const struct node_plan *plan = &r->plan;
    double bytes = node_central_bytes(r) * (r->between->shared ? 2 : 1), time_s = 0;
    uint8_t flows[CENTRAL_SITES_MAX][CENTRAL_SITES_MAX] = {{0}}; /* By link, both ways. */

    for (uint32_t f = 0; f < r->sites; f++) {
        const struct node_path *path = &plan->paths[f];

        for (uint32_t n = 1; n < path->count; n++) {
            uint32_t a = path->sites[n - 1], b = path->sites[n];
            uint8_t *count = a < b ? &flows[a][b] : &flows[b][a];
            double one_s = ++*count * bytes / (plan_rate(r, a, b) * (1 - r->between->reserve));

            time_s = one_s > time_s ? one_s : time_s;
        }
    }
    return time_s;
}

/* Is a plan that takes so long worth beginning anew, over the rest of the run? */
static bool plan_pays(const struct node_central *r, double time_s)
{
    double now_s = node_central_round_s(r), gain_s = now_s - time_s;
    uint64_t done = sync_version(&r->lane->sync), clocks = r->between->clocks;

    return gain_s > now_s * PLAN_GAIN_LEAST &&
           (clocks == 0 ||
            (clocks > done && gain_s * (double)(clocks - done) > now_s + PLAN_BEGIN_S));
}

static enum err plan_make(const struct node_central *r, const struct links_wish *wish,
                          struct node_plan *plan, double *time_s, struct err_text *text)
{
    uint32_t site_of[CENTRAL_SITES_MAX] = {0};
    bool no_server[CENTRAL_SITES_MAX] = {false};
    bool no_relay[CENTRAL_SITES_MAX] = {false};
    struct plan_place_problem problem = {.bytes = node_central_bytes(r),
                                         .model = PLAN_PLACE_PIPELINED,
                                         .duplex = plan_duplex(r),
                                         .reserve = r->between->reserve,
                                         .paths = PLAN_PLACE_AUTO,
                                         .server = PLAN_PLACE_NOWHERE,
                                         .no_server = no_server,
                                         .no_relay = no_relay};
    uint32_t stay = PLAN_PLACE_NOWHERE;
    struct topo_graph *graph = NULL;
    struct plan_quick quick;
    enum err rc = plan_graph(r, wish->active, site_of, &graph, text);

    *plan = (struct node_plan){
        .epoch = wish->epoch, .active = wish->active, .why = wish->why, .about = wish->about};
    for (uint32_t i = 0; rc == OK && i < graph->nodes_count; i++) {
        no_server[i] = (r->between->no_centre >> site_of[i] & 1) != 0 ||
                       (wish->why == LINKS_ASKED && (central_unfit(&r->c) >> site_of[i] & 1) != 0);
        no_relay[i] = (r->between->no_relay >> site_of[i] & 1) != 0;
        stay = r->c.plan.epoch != 0 && site_of[i] == r->c.plan.centre ? i : stay;
    }
    if (rc == OK) {
        problem.graph = graph;
        rc = plan_place_quick(&problem, stay, r->between->move_gain, &quick, text);
    }
    if (rc == OK) {
        rc = plan_fits(&quick) ? OK : err_text_set(text, ERR_TOO_BIG, "a way is too long");
        if (rc == OK) {
            plan_fill(r, &quick, site_of, plan);
            *time_s = quick.time_s;
        }
        plan_quick_deinit(&quick);
    }
    topo_graph_free(graph);
    return rc;
}

static void plan_propose(struct node_central *r, const struct links_wish *wish)
{
    struct err_text text = {""};
    struct node_plan plan;
    double time_s = 0;

    if (plan_make(r, wish, &plan, &time_s, &text) != OK) {
        LOG_WRN("node", "no plan can be made: %s", text.text);
        return;
    }
    if (wish->why == LINKS_CHANGED && !plan_pays(r, time_s)) {
        links_plan_keep(&r->links);
        return;
    }
    if (node_central_plan_set(r, &plan) == LINKS_NEW) {
        node_central_adopted(r, &plan);
        r->stats.plans++;
    }
}

void node_central_links(struct node_central *r)
{
    uint64_t now_ns = (uint64_t)node_central_now(r);
    struct links_wish wish;

    if (!r->started) {
        return;
    }
    if (links_look(&r->links, now_ns, &wish)) {
        plan_propose(r, &wish);
    }
    if (links_due(&r->links, now_ns)) {
        struct links_word word;

        links_say(&r->links, now_ns, &word); /* That it follows the plan, before that itself. */
    }
    plan_tell_all(r, now_ns);
}
