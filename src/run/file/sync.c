/* How updates come together, in run files: the barrier, and what is held back on the way. */

#include "base/units.h"
#include "run/file/state.h"

#include <string.h>

#define FLOW_DEADLINE_NS INT64_C(120000000000)       /* 120 s (D3). */
#define FLOW_DEADLINE_MAX_NS INT64_C(86400000000000) /* A day. */

enum { FLOW_DEGREE = 5, FLOW_DEPTH = 3 }; /* Of trees, as the paper has them (F7). */

static enum err sync_barrier(struct file_reader *r)
{
    struct run_sync *s = &r->f->sync;
    const char *barrier = run_barrier_name(s->barrier);

    if (s->barrier != RUN_SSP && file_find(r, "sync.staleness") != NULL) {
        return file_fail(r, ERR_MALFORMED, "sync.staleness",
                         "belongs to the barrier ssp, and the barrier is %s: leave it out, or "
                         "write 'barrier: ssp'",
                         barrier);
    }
    if (s->order == RUN_FIXED && s->barrier != RUN_BSP) {
        return file_fail(r, ERR_MALFORMED, "sync.order",
                         "'fixed' belongs to the barrier bsp, and the barrier is %s: leave it out, "
                         "or write 'barrier: bsp'",
                         barrier);
    }
    if (s->barrier == RUN_SSP) {
        enum err rc = file_u32(r, "sync.staleness", &s->staleness, 2, 0, SYNC_STALENESS_MAX);

        if (rc != OK) {
            return rc;
        }
    }
    return file_time(r, "sync.deadline", &s->deadline_ns, FLOW_DEADLINE_NS, 0,
                     FLOW_DEADLINE_MAX_NS);
}

/* Parameter Flow, but for its thresholds: they are the job's. */
static enum err sync_preset(struct file_reader *r)
{
    struct run_sync *s = &r->f->sync;

    if (s->preset == RUN_FLOW_SAID) {
        return OK;
    }
    if (s->delivery != NODE_BROADCAST && file_find(r, "sync.delivery") != NULL) {
        return file_fail(r, ERR_MALFORMED, "sync.delivery",
                         "is broadcast with the preset parameter-flow: leave it out");
    }
    if (s->filter_said == NULL && s->push_said == NULL && s->broadcast_said == NULL) {
        return file_fail(r, ERR_MALFORMED, "sync.preset",
                         "'parameter-flow' wants to know what is small enough to be held back, "
                         "which depends on the job: write 'filter: \"dvf:delta=NUMBER\"'");
    }
    s->delivery = NODE_BROADCAST;
    if (file_find(r, "sync.tree") == NULL) {
        s->tree = (struct node_tree){.degree = FLOW_DEGREE, .depth = FLOW_DEPTH};
    }
    return OK;
}

static enum err sync_chain(const struct file_reader *r, const char *path, const char *chars,
                           struct node_sparsify_config *out)
{
    struct err_text why = {""};

    if (chars == NULL) {
        return OK;
    }
    if (codec_chain_parse(chars, &out->chain, &why) != OK) {
        return file_fail(r, ERR_MALFORMED, path, "%.400s", why.text);
    }
    out->on = true;
    return OK;
}

/* "filter" is short for both. */
static enum err sync_chains(struct file_reader *r)
{
    struct run_sync *s = &r->f->sync;
    const char *path = s->filter_said != NULL ? "sync.filter" : "sync.broadcast";
    const char *said = s->filter_said != NULL ? s->filter_said : s->broadcast_said;
    enum err rc;

    if (s->filter_said != NULL && (s->push_said != NULL || s->broadcast_said != NULL)) {
        return file_fail(r, ERR_MALFORMED, path,
                         "is push and broadcast at once: leave it out, or leave out %s",
                         s->push_said == NULL        ? "broadcast"
                         : s->broadcast_said == NULL ? "push"
                                                     : "both");
    }
    rc = sync_chain(r, path, said, &s->broadcast);
    if (rc == OK && said != NULL && s->delivery != NODE_BROADCAST) {
        return file_fail(r, ERR_MALFORMED, path,
                         "filters what servers broadcast, so it needs 'delivery: broadcast'%s",
                         s->filter_said != NULL ? ", or push instead of filter" : "");
    }
    return rc == OK ? sync_chain(r, s->filter_said != NULL ? path : "sync.push",
                                 s->filter_said != NULL ? s->filter_said : s->push_said, &s->push)
                    : rc;
}

static enum err sync_rate(struct file_reader *r)
{
    struct run_sync *s = &r->f->sync;
    struct err_text why = {""};
    struct units_text most;

    if (units_rate_parse(s->required_said, &s->required_full, &why) != OK) {
        return file_fail(r, ERR_MALFORMED, "sync.required", "%.300s", why.text);
    }
    s->required = s->required_full;
    if (s->required_full > TOPO_RATE_MAX || !file_links_rate(&s->required, r->f->links.scale)) {
        return file_fail(r, ERR_MALFORMED, "sync.required",
                         "is out of range: write a rate of at least 1 byte per second after "
                         "links.scale, up to %s",
                         units_rate_print(TOPO_RATE_MAX, &most));
    }
    return OK;
}

/* One of the two counts, whatever the network is like: then there is nothing to be chosen. */
static void sync_fix(struct run_sync *s)
{
    struct codec_chain *const chains[] = {&s->push.chain, &s->broadcast.chain};

    for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
        chains[i]->low = s->threshold == RUN_UP ? chains[i]->up : chains[i]->low;
        chains[i]->up = s->threshold == RUN_LOW ? chains[i]->low : chains[i]->up;
    }
    if (s->threshold != RUN_BOTH) {
        s->required = s->required_full = 0;
    }
}

/* Two thresholds, and what it takes to choose: one is of no use without the other. */
static enum err sync_required(struct file_reader *r)
{
    struct run_sync *s = &r->f->sync;
    bool pushed = node_sparsify_is_adaptive(&s->push),
         sent = node_sparsify_is_adaptive(&s->broadcast);

    if (!pushed && !sent && s->threshold != RUN_BOTH) {
        return file_fail(r, ERR_MALFORMED, "sync.threshold",
                         "is one of two thresholds, and no chain has two: write "
                         "low=NUMBER,up=NUMBER in it instead of delta=NUMBER, or leave threshold "
                         "out");
    }
    if (s->required_said == NULL) {
        return (!pushed && !sent) || s->threshold != RUN_BOTH
                   ? OK
                   : file_fail(r, ERR_MALFORMED,
                               s->filter_said != NULL ? "sync.filter"
                               : pushed               ? "sync.push"
                                                      : "sync.broadcast",
                               "has two thresholds, and nothing says when links are too slow for "
                               "the lower one: write 'required: RATE', or one threshold "
                               "(delta=NUMBER, or 'threshold: low')");
    }
    if (!pushed && !sent) {
        return file_fail(r, ERR_MALFORMED, "sync.required",
                         "chooses between two thresholds, and no chain has two: write "
                         "low=NUMBER,up=NUMBER in it instead of delta=NUMBER, or leave required "
                         "out");
    }
    return sync_rate(r);
}

static enum err sync_tree(struct file_reader *r)
{
    struct run_sync *s = &r->f->sync;
    double leaf = (double)s->tree.leaf_cost;
    enum err rc;

    if (file_find(r, "sync.tree") == NULL) {
        return OK;
    }
    if (s->delivery != NODE_BROADCAST) {
        return file_fail(r, ERR_MALFORMED, "sync.tree",
                         "is a way for sums, and with the delivery pull none are sent: write "
                         "'delivery: broadcast'");
    }
    rc = file_u32(r, "sync.tree.degree", &s->tree.degree, FLOW_DEGREE, 1, NODE_TREE_DEGREE_MAX);
    if (rc == OK) {
        rc = file_u32(r, "sync.tree.depth", &s->tree.depth, FLOW_DEPTH, 1, NODE_TREE_DEPTH_MAX);
    }
    if (rc == OK) {
        rc = file_number(r, "sync.tree.leaf_cost", &leaf, 0, 0, NODE_TREE_LEAF_COST_MAX);
        s->tree.leaf_cost = (float)leaf + 0.0F; /* No -0.0. */
    }
    return rc;
}

enum err file_sync(struct file_reader *r)
{
    enum err rc = sync_barrier(r);

    if (rc == OK) {
        rc = sync_preset(r);
    }
    if (rc == OK) {
        rc = sync_chains(r);
    }
    if (rc == OK) {
        rc = sync_required(r);
        sync_fix(&r->f->sync);
    }
    return rc == OK ? sync_tree(r) : rc;
}

static void sync_print_chain(const char *key, const struct node_sparsify_config *config,
                             struct text *out)
{
    char chain[CODEC_CHAIN_TEXT_BYTES];

    if (config->on) {
        codec_chain_print(&config->chain, chain, sizeof(chain));
        text_addf(out, ", %s: ", key);
        text_add_json(out, chain);
    }
}

void run_sync_print_sparsify(const struct run_sync *s, struct text *out)
{
    struct units_text rate;

    sync_print_chain("push", &s->push, out);
    sync_print_chain("broadcast", &s->broadcast, out);
    if (s->required_full > 0) {
        text_addf(out, ", required: %s", units_rate_print(s->required_full, &rate));
    }
    if (s->tree.degree > 0) {
        text_addf(out, ", tree: {degree: %u, depth: %u, leaf_cost: %.9g}", s->tree.degree,
                  s->tree.depth, (double)s->tree.leaf_cost);
    }
}
