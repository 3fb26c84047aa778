/* Whose sessions were ended because they broke the rules: for those who ask why. */

#include "node/lane/state.h"

#include <stdio.h>
#include <string.h>

enum { BLAME_FORGET_MS = 600 * 1000 };

static struct node_blame *blame_place(struct node_lane *l, const struct pki_identity *who)
{
    struct node_blame *place = &l->blames[0];

    for (uint32_t i = 0; i < NODE_BLAMES; i++) {
        struct node_blame *b = &l->blames[i];

        if (b->times > 0 && pki_identity_equal(&b->who, who)) {
            return b;
        }
        place = b->at_ns < place->at_ns ? b : place;
    }
    *place = (struct node_blame){.who = *who};
    return place;
}

void node_blame_add(struct node_lane *l, const struct pki_identity *who, const char *text)
{
    struct node_blame *b = blame_place(l, who);

    b->at_ns = loop_now_ns(l->config.loop);
    b->times++;
    (void)snprintf(b->text, sizeof(b->text), "%s", text);
}

const char *node_lane_expelled(const struct node_lane *l)
{
    for (uint32_t i = 0; i < NODE_BLAMES; i++) {
        if (l->blames[i].times > 0) {
            return l->blames[i].text;
        }
    }
    return NULL;
}

json_t *node_blame_status(const struct node_lane *l)
{
    json_t *out = json_array();

    for (uint32_t i = 0; i < NODE_BLAMES; i++) {
        const struct node_blame *b = &l->blames[i];
        int64_t ago_ns = loop_now_ns(l->config.loop) - b->at_ns;

        if (b->times > 0 && ago_ns < (int64_t)BLAME_FORGET_MS * 1000000) {
            (void)json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:s, s:I, s:f}", "role",
                                                       wire_role_name(b->who.role), "site",
                                                       b->who.site, "name", b->who.name, "text",
                                                       b->text, "times", (json_int_t)b->times,
                                                       "ago_s", (double)ago_ns / 1e9));
        }
    }
    if (json_array_size(out) == 0) {
        json_decref(out);
        out = NULL;
    }
    return out;
}
