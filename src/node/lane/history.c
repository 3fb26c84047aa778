/* Decides whether the lanes of a site belong together (I11).
 *
 * All lanes that found a history found the same one, and none is without if another one has it: a
 * lane that lost its files would begin at zero beside trained ones. Each lane knows its own shards
 * only. A server compares its lanes before it listens, and itself with the site's first server; the
 * first one, if it restarts while others serve, compares itself with what they say. A lane writes
 * its history before anybody is admitted, so one that crashed before its first checkpoint is not
 * taken for lost. */

#include "node/lane/history.h"

const char node_history_remedy[] =
    "put the missing files back, or discard the checkpoints of all servers of the site and begin "
    "anew: start each with --restore none";

/* A lane that found a history, best one with a checkpoint; NULL: there is none. */
static const struct node_lane_history *history_known(const struct node_server_history *s)
{
    const struct node_lane_history *known = NULL;

    for (uint32_t i = 0; i < s->lanes_count; i++) {
        const struct node_lane_history *h = &s->lanes[i];

        if (h->kept && h->found && (known == NULL || (h->complete && !known->complete))) {
            known = h;
        }
    }
    return known;
}

static uint32_t history_number(const struct node_server_history *s,
                               const struct node_lane_history *h)
{
    return s->first_number + (uint32_t)(h - s->lanes);
}

static enum err history_differs(const struct node_server_history *s,
                                const struct node_lane_history *a,
                                const struct node_lane_history *b, struct err_text *text)
{
    if (b->found) {
        return err_text_set(
            text, ERR_CORRUPT,
            "lanes %" PRIu32 " and %" PRIu32 " of site %s have checkpoints of two trainings: %s",
            history_number(s, a), history_number(s, b), s->site, node_history_remedy);
    }
    return err_text_set(text, ERR_CORRUPT,
                        "lane %" PRIu32 " of site %s has checkpoints, of clock %" PRIu64
                        ", and lane %" PRIu32 " has none: %s",
                        history_number(s, a), s->site, a->clock, history_number(s, b),
                        node_history_remedy);
}

/* May this server begin with nothing when the first one has parameters? Another site's copy can be
 * taken, and with broadcast delivery the workers' copies bring back what was lost. */
static bool history_may_be_lost(const struct node_server_history *s, bool kept)
{
    return s->others || (s->copies && (!kept || s->restore == NODE_RESTORE_NONE));
}

/* As the first server says. */
static enum err history_of_site(const struct node_server_history *s,
                                const struct node_lane_history *known, bool kept,
                                struct err_text *text)
{
    if (known != NULL && known->complete && known->history != s->history) {
        return err_text_set(text, ERR_CORRUPT,
                            "lane %" PRIu32 " of site %s has checkpoints, of clock %" PRIu64
                            ", of another training than the first server: %s",
                            history_number(s, known), s->site, known->clock, node_history_remedy);
    }
    if (known == NULL && s->begun && !history_may_be_lost(s, kept)) {
        return err_text_set(text, ERR_CORRUPT,
                            "site %s has parameters at its first server, and lane %" PRIu32
                            " has none: %s",
                            s->site, s->first_number, node_history_remedy);
    }
    return OK;
}

enum err node_history_check(const struct node_server_history *s, uint64_t *history_out,
                            struct err_text *text)
{
    const struct node_lane_history *known = history_known(s);
    bool kept = false;
    enum err rc = OK;

    for (uint32_t i = 0; i < s->lanes_count && rc == OK; i++) {
        const struct node_lane_history *h = &s->lanes[i];

        kept = kept || h->kept;
        if (known != NULL && known->complete && h->kept &&
            (!h->found || h->history != known->history)) {
            rc = history_differs(s, known, h, text);
        }
    }
    if (rc == OK && s->history != 0) {
        rc = history_of_site(s, known, kept, text);
    }
    *history_out = s->history != 0 ? s->history : known != NULL ? known->history : 0;
    return rc;
}

enum err node_history_meet(const struct node_server_history *s, uint64_t history,
                           const struct node_history_claim *other, struct err_text *text)
{
    const struct node_lane_history *h = &s->lanes[0];

    if (!other->begun || other->history == 0 || other->history == history ||
        (!h->kept && (s->others || s->copies))) {
        return OK;
    }
    if (h->found) {
        return err_text_set(text, ERR_CORRUPT,
                            "the first server of site %s has checkpoints of another training than "
                            "the server of lane %" PRIu32 ", which is at work: %s",
                            s->site, other->lane, node_history_remedy);
    }
    return err_text_set(text, ERR_CORRUPT,
                        "site %s has parameters at lane %" PRIu32
                        ", and its first server has none: %s",
                        s->site, other->lane,
                        h->kept ? node_history_remedy
                                : "stop all servers of the site and begin anew; with --store each "
                                  "would go on where it was");
}
