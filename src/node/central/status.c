/* How a lane stands in rounds around a centre: for `strait why` and `strait top`, and for planners.
 */

#include "node/central/state.h"

#include <jansson.h>

enum { STATUS_LINKS_MAX = 512 }; /* The answer must fit one frame. */

static const char *status_name(const struct node_central *r, uint32_t site)
{
    return r->remote_at[site] == NULL ? r->lane->config.site.name : r->remote_at[site]->site.name;
}

/* What is to go there and finds no room yet. */
static json_int_t status_waiting(const struct node_central *r, const struct node_remote_site *f)
{
    json_int_t bytes = 0;

    LIST_FOREACH (link, &r->passing[f->index]) {
        bytes += LIST_ENTRY(link, struct node_waiting, link)->header.body_bytes;
    }
    return bytes;
}

static json_t *status_remote(struct node_central *r, const struct node_remote_site *f)
{
    uint32_t site = node_central_index(r, f->id);
    bool linked = !f->site.indirect;
    bool up = linked ? f->up : (links_reached(&r->links) >> site & 1) != 0;
    json_t *out = node_remote_status(f, up);
    uint64_t rate = believe_rate(&r->believes[f->index], 0, (uint64_t)node_central_now(r));

    (void)json_object_update_new(
        out, json_pack("{s:b, s:b, s:I, s:I}", "linked", (int)linked, "left_out",
                       (int)(r->c.plan.epoch != 0 && !central_is_active(&r->c, site)),
                       "waiting_bytes", status_waiting(r, f), "delivery",
                       (json_int_t)(rate / r->lane->config.site.lanes)));
    return out;
}

/* Whom it waits for, and since when nothing has come. */
static void status_waits(const struct node_central *r, json_t *out)
{
    static const char *const names[] = {"nothing", "plan", "copy", "sum", "taken", "result"};
    uint32_t site;
    enum central_wait wait = central_waits(&r->c, &site);

    if (wait == CENTRAL_WAIT_NOBODY) {
        return;
    }
    (void)json_object_set_new(out, "waits", json_string(names[wait]));
    (void)json_object_set_new(out, "waits_s",
                              json_real((double)(node_central_now(r) - r->moved_ns) / 1e9));
    if (site < r->sites) {
        (void)json_object_set_new(out, "waits_for", json_string(status_name(r, site)));
    }
}

/* Nothing moves any more: our workers are gone, all that they added counts, and everybody has it.
 */
static bool status_settled(const struct node_central *r)
{
    return r->c.until != CENTRAL_EVER && !r->carrying && node_central_owed(r) == 0 &&
           r->early_count == 0 && r->passing_bytes == 0 && central_is_quiet(&r->c) &&
           links_is_content(&r->links);
}

/* The plan. */

static json_t *status_about(const struct node_central *r)
{
    json_t *about = json_array();

    for (uint32_t i = 0; i < r->plan.about.count; i++) {
        (void)json_array_append_new(about, json_string(status_name(r, r->plan.about.sites[i])));
    }
    return about;
}

static json_t *status_paths(const struct node_central *r)
{
    json_t *paths = json_array();

    for (uint32_t i = 0; i < r->sites; i++) {
        const struct node_path *path = &r->plan.paths[i];
        json_t *sites = json_array();

        if (!central_is_active(&r->c, i)) {
            json_decref(sites);
            continue;
        }
        for (uint32_t k = 0; k < path->count; k++) {
            (void)json_array_append_new(sites, json_integer(path->sites[k]));
        }
        (void)json_array_append_new(paths,
                                    json_pack("{s:i, s:o, s:I}", "site", (int)i, "sites", sites,
                                              "bytes_per_s", (json_int_t)path->bytes_per_s));
    }
    return paths;
}

/* Numbers of sites. */
static json_t *status_bits(const struct node_central *r, uint64_t bits)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < r->sites; i++) {
        if ((bits >> i & 1) != 0) {
            (void)json_array_append_new(list, json_integer(i));
        }
    }
    return list;
}

static json_t *status_stats(const struct node_central *r)
{
    const struct node_central_stats *s = &r->stats;

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
                     "sums_sent", (json_int_t)s->sums_sent, "sums_taken", (json_int_t)s->sums_taken,
                     "results_sent", (json_int_t)s->results_sent, "results_taken",
                     (json_int_t)s->results_taken, "wholes_sent", (json_int_t)s->wholes_sent,
                     "wholes_taken", (json_int_t)s->wholes_taken, "passed", (json_int_t)s->passed,
                     "passed_bytes", (json_int_t)s->passed_bytes, "stale", (json_int_t)s->stale,
                     "refused", (json_int_t)s->refused, "plans", (json_int_t)s->plans, "carried",
                     (json_int_t)s->carried, "words_sent", (json_int_t)s->words_sent, "plans_sent",
                     (json_int_t)s->plans_sent);
}

/* Links. */

static bool status_is_linked(const struct node_central *r, uint32_t a, uint32_t b)
{
    return a == r->c.self ? !r->remote_at[b]->site.indirect : links_is_named(&r->links, a, b);
}

/* [a, b, up, bytes per second], those of this site first. */
static void status_links(const struct node_central *r, json_t *out)
{
    json_t *links = json_array();
    json_int_t left_away = 0;

    for (int own = 1; own >= 0; own--) {
        for (uint32_t a = 0; a < r->sites; a++) {
            for (uint32_t b = a + 1; b < r->sites; b++) {
                uint32_t from = b == r->c.self ? b : a, to = b == r->c.self ? a : b;

                if ((from == r->c.self) != (own == 1) ||
                    (!status_is_linked(r, from, to) && !status_is_linked(r, to, from))) {
                    continue;
                }
                if (json_array_size(links) == STATUS_LINKS_MAX) {
                    left_away++;
                    continue;
                }
                (void)json_array_append_new(links,
                                            json_pack("[i, i, i, I]", (int)a, (int)b,
                                                      (int)links_joined(&r->links, a, b),
                                                      (json_int_t)links_rate(&r->links, a, b)));
            }
        }
    }
    (void)json_object_set_new(out, "links", links);
    if (left_away > 0) {
        (void)json_object_set_new(out, "links_left_away", json_integer(left_away));
    }
}

static json_t *status_central(struct node_central *r)
{
    bool planned = r->c.plan.epoch != 0;
    json_t *names = json_array();
    json_t *out;

    for (uint32_t i = 0; i < r->sites; i++) {
        (void)json_array_append_new(names, json_string(status_name(r, i)));
    }
    out = json_pack("{s:I, s:s?, s:b, s:s, s:o, s:o, s:o, s:b, s:f, s:f, s:o}", "epoch",
                    (json_int_t)r->c.plan.epoch, "centre",
                    planned ? status_name(r, r->c.plan.centre) : NULL, "begun", (int)r->c.begun,
                    "why", links_why_name(r->plan.why), "about", status_about(r), "names", names,
                    "paths", status_paths(r), "shared", (int)r->between->shared, "round_bytes",
                    node_central_bytes(r), "round_s", planned ? node_central_round_s(r) : 0.0,
                    "stats", status_stats(r));
    if (r->lane->config.number == 0) { /* All lanes know the same. */
        (void)json_object_set_new(out, "reserve", json_real(r->between->reserve));
        (void)json_object_set_new(out, "no_centre", status_bits(r, r->between->no_centre));
        (void)json_object_set_new(out, "no_relay", status_bits(r, r->between->no_relay));
        status_links(r, out);
    }
    return out;
}

struct json_t *node_central_status(struct node_central *r)
{
    json_t *sites = json_array();
    json_t *out;

    for (uint32_t i = 1; i < r->remotes.count; i++) {
        (void)json_array_append_new(sites, status_remote(r, &r->remotes.list[i]));
    }
    out = json_pack("{s:b, s:b, s:I, s:o, s:o}", "began", (int)central_is_whole(&r->c), "settled",
                    (int)status_settled(r), "clock", (json_int_t)sync_version(&r->lane->sync),
                    "sites", sites, "central", status_central(r));
    status_waits(r, out);
    return out;
}
