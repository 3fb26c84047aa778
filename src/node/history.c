/* Which training a server's parameters are of, when its lanes have read their stores.
 *
 * Decides whether the server may start (I11): all lanes that found a history found the same one,
 * and none is without if another one has it. A lane that lost its files would otherwise begin at
 * zero beside trained ones. Each lane knows its own shards only, so this is the first place where
 * that shows; the site's first server tells the others what it found. A lane writes its history
 * before anybody is admitted, so one that crashed before its first checkpoint is not taken for
 * lost. */

#include "net/entropy.h"
#include "node/server_state.h"

#include <inttypes.h>

/* What an operator can do who wants neither to look for the files nor to begin anew. */
static const char history_remedy[] =
    "put the missing files back, or discard the checkpoints of all servers of the site and begin "
    "anew: start each with --restore none";

/* A lane that found a history, best one with a checkpoint; NULL: there is none. */
static const struct server_lane *history_known(const struct node_server *s)
{
    const struct server_lane *known = NULL;

    for (uint32_t i = 0; i < s->lanes_count; i++) {
        const struct node_lane_history *h = &s->lanes[i].history;

        if (h->kept && h->found && (known == NULL || (h->complete && !known->history.complete))) {
            known = &s->lanes[i];
        }
    }
    return known;
}

static enum err history_differs(const struct node_server *s, const struct server_lane *a,
                                const struct server_lane *b, struct err_text *text)
{
    const char *site = s->config.site.name;
    uint32_t first = s->config.first_number;

    if (b->history.found) {
        return err_text_set(text, ERR_CORRUPT,
                            "lanes %" PRIu32 " and %" PRIu32
                            " of site %s have checkpoints of two trainings: %s",
                            first + a->index, first + b->index, site, history_remedy);
    }
    return err_text_set(text, ERR_CORRUPT,
                        "lane %" PRIu32 " of site %s has checkpoints, of clock %" PRIu64
                        ", and lane %" PRIu32 " has none: %s",
                        first + a->index, site, a->history.clock, first + b->index, history_remedy);
}

/* May this server begin with nothing when the first one has parameters? Another site's copy can be
 * taken, and with broadcast delivery the workers' copies bring back what was lost. */
static bool history_may_be_lost(const struct node_server_config *c, bool kept)
{
    return c->between != NULL ||
           (c->site.delivery == NODE_BROADCAST && (!kept || c->restore == NODE_RESTORE_NONE));
}

/* As the first server says. */
static enum err history_of_site(const struct node_server *s, const struct server_lane *known,
                                bool kept, struct err_text *text)
{
    const struct node_server_config *c = &s->config;

    if (known != NULL && known->history.complete && known->history.history != c->history) {
        return err_text_set(text, ERR_CORRUPT,
                            "lane %" PRIu32 " of site %s has checkpoints, of clock %" PRIu64
                            ", of another training than the first server: %s",
                            c->first_number + known->index, c->site.name, known->history.clock,
                            history_remedy);
    }
    if (known == NULL && c->begun && !history_may_be_lost(c, kept)) {
        return err_text_set(text, ERR_CORRUPT,
                            "site %s has parameters at its first server, and lane %" PRIu32
                            " has none: %s",
                            c->site.name, c->first_number, history_remedy);
    }
    return OK;
}

enum err server_history_check(struct node_server *s, struct err_text *text)
{
    const struct server_lane *known = history_known(s);
    bool kept = false;
    enum err rc = OK;

    for (uint32_t i = 0; i < s->lanes_count && rc == OK; i++) {
        const struct server_lane *l = &s->lanes[i];

        kept = kept || l->history.kept;
        if (known != NULL && known->history.complete && l->history.kept &&
            (!l->history.found || l->history.history != known->history.history)) {
            rc = history_differs(s, known, l, text);
        }
    }
    if (rc == OK && s->config.history != 0) {
        rc = history_of_site(s, known, kept, text);
    }
    s->history = s->config.history != 0 ? s->config.history
                 : known != NULL        ? known->history.history
                                        : 0;
    if (rc == OK && s->history == 0) {
        rc = entropy_u64(&s->history);
        s->history |= 1; /* Not zero. */
    }
    return rc;
}
