/* Checks and words of a site. */

#include "node/site/site.h"

#include <stdio.h>
#include <string.h>

/* What is held back, and the way of sums. */
static enum err site_check_flow(const struct node_site *site, struct err_text *text)
{
    const struct node_tree *t = &site->tree;

    if (site->broadcast.on && site->delivery != NODE_BROADCAST) {
        return err_text_set(text, ERR_INVALID, "a broadcast filter needs delivery: broadcast");
    }
    if (site->required > 0 && !node_sparsify_is_adaptive(&site->push) &&
        !node_sparsify_is_adaptive(&site->broadcast)) {
        return err_text_set(text, ERR_INVALID,
                            "a required rate chooses between two thresholds, and no chain has two: "
                            "write low=NUMBER,up=NUMBER instead of delta=NUMBER");
    }
    if (t->degree > 0 && site->delivery != NODE_BROADCAST) {
        return err_text_set(text, ERR_INVALID, "a broadcast tree needs delivery: broadcast");
    }
    if (t->degree > NODE_TREE_DEGREE_MAX || t->depth > NODE_TREE_DEPTH_MAX ||
        (t->degree == 0) != (t->depth == 0) ||
        !(t->leaf_cost >= 0 && t->leaf_cost <= (float)NODE_TREE_LEAF_COST_MAX)) {
        return err_text_set(text, ERR_INVALID,
                            "a tree has a degree of 1 to %d, a depth of 1 to %d and a cost of "
                            "leaves from 0 to %d",
                            NODE_TREE_DEGREE_MAX, NODE_TREE_DEPTH_MAX, NODE_TREE_LEAF_COST_MAX);
    }
    return OK;
}

enum err node_site_check(const struct node_site *site, struct err_text *text)
{
    struct sync probe;
    enum err rc;

    if (site->name[0] == '\0') {
        return err_text_set(text, ERR_INVALID, "a site needs a name");
    }
    if (site->lanes == 0 || site->lanes > NODE_LANES_MAX) {
        return err_text_set(text, ERR_INVALID, "%u lanes: 1 to %d are possible", site->lanes,
                            NODE_LANES_MAX);
    }
    if (site->shards < site->lanes || site->shards > NODE_SHARDS_MAX) {
        return err_text_set(text, ERR_INVALID,
                            "%u shards: at least one for each of %u lanes, at most %d",
                            site->shards, site->lanes, NODE_SHARDS_MAX);
    }
    if (site->sync.policy == NULL) {
        return err_text_set(text, ERR_INVALID, "a site needs a barrier: bsp, ssp or tap");
    }
    rc = site_check_flow(site, text);
    if (rc != OK) {
        return rc;
    }
    rc = sync_init(&probe, &site->sync, text);
    if (rc == OK) {
        sync_deinit(&probe);
    }
    return rc;
}

bool node_site_durable(const struct node_site *site)
{
    return site->delivery == NODE_PULL && site->checkpoint_every > 0;
}

enum err node_tree_parse(const char *chars, struct node_tree *out, struct err_text *text)
{
    unsigned degree = 0, depth = 0;
    double leaf = 0;
    int used = 0, size = (int)strnlen(chars, NODE_TREE_TEXT_BYTES), most = 0;

    /* The second reading is for what may be left out. */
    if (sscanf(chars, "degree=%4u,depth=%4u%n", &degree, &depth, &used) == 2) {
        most = used;
        if (sscanf(chars + used, ",leaf=%16lf%n", &leaf, &used) == 1) {
            most += used;
        }
    }
    if (most == 0 || most != size || degree == 0 || degree > NODE_TREE_DEGREE_MAX || depth == 0 ||
        depth > NODE_TREE_DEPTH_MAX || !(leaf >= 0 && leaf <= NODE_TREE_LEAF_COST_MAX)) {
        return err_text_set(text, ERR_INVALID,
                            "'%.64s' is not a tree: write degree=D,depth=H or "
                            "degree=D,depth=H,leaf=COST, with D from 1 to %d, H from 1 to %d and "
                            "COST from 0 to %d",
                            chars, NODE_TREE_DEGREE_MAX, NODE_TREE_DEPTH_MAX,
                            NODE_TREE_LEAF_COST_MAX);
    }
    *out = (struct node_tree){.degree = degree, .depth = depth, .leaf_cost = (float)leaf + 0.0F};
    return OK;
}

void node_tree_print(const struct node_tree *tree, char *out, size_t size)
{
    (void)snprintf(out, size, "degree=%u,depth=%u,leaf=%.9g", tree->degree, tree->depth,
                   (double)tree->leaf_cost);
}

const char *node_delivery_name(enum node_delivery delivery)
{
    return delivery == NODE_BROADCAST ? "broadcast" : "pull";
}

enum err node_delivery_parse(const char *name, enum node_delivery *out)
{
    if (strcmp(name, "pull") == 0) {
        *out = NODE_PULL;
    } else if (strcmp(name, "broadcast") == 0) {
        *out = NODE_BROADCAST;
    } else {
        return ERR_INVALID;
    }
    return OK;
}
