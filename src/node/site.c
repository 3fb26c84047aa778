/* Checks and words of a site. */

#include "node/site.h"

#include <string.h>

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
    if (site->broadcast.on && site->delivery != NODE_BROADCAST) {
        return err_text_set(text, ERR_INVALID,
                            "sums are sifted where they are broadcast: use delivery broadcast");
    }
    if (site->tree.degree > 0 && (site->delivery != NODE_BROADCAST || site->tree.depth == 0)) {
        return err_text_set(text, ERR_INVALID,
                            "a tree is for what is broadcast, and has a depth of at least one");
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
