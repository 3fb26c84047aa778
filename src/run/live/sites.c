/* Several sites in a run of processes: what their servers are told of each other, what their lanes
 * say, and what went between them. */

#include "base/fd.h"
#include "base/mem.h"
#include "node/control.h"
#include "run/file/sites_file.h"
#include "run/live/state.h"
#include "run/map/plan_news.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SITES_FILE_BYTES_MAX = RUN_FILE_BYTES_MAX };

static uint32_t sites_lanes(const struct live *l)
{
    return l->f->sites_count * l->f->lanes;
}

enum err live_sites_open(struct live *l)
{
    uint32_t lanes = sites_lanes(l), sites = l->f->sites_count;

    l->firsts = mem_calloc(sites, sizeof(*l->firsts));
    l->statuses = mem_calloc(lanes, sizeof(json_t *));
    l->sent = mem_calloc((size_t)lanes * sites, sizeof(*l->sent));
    l->shares = mem_calloc(sites, sizeof(*l->shares));
    return l->firsts == NULL || l->statuses == NULL || l->sent == NULL || l->shares == NULL
               ? ERR_NOMEM
               : OK;
}

void live_sites_close(struct live *l)
{
    for (uint32_t i = 0; l->statuses != NULL && i < sites_lanes(l); i++) {
        json_decref(l->statuses[i]);
    }
    mem_free(l->statuses);
    mem_free(l->firsts);
    mem_free(l->sent);
    mem_free(l->shares);
}

/* Files. */

void live_sites_path(const struct live *l, uint32_t site, char *out, size_t size)
{
    (void)snprintf(out, size, "%s/between-%s.yaml", l->options.dir, l->f->sites[site].name);
}

static void sites_at(const struct run_file *f, uint32_t site, struct net_address *out, void *user)
{
    const struct live *l = user;

    l->ground->place(&l->servers[f->sites[site].servers_first], 0, out);
}

static enum err sites_write_one(struct live *l, uint32_t site, struct text *text)
{
    char path[LIVE_PATH_BYTES];
    bool good;
    int fd;

    text->size = 0;
    run_sites_print(l->f, site, sites_at, l, text);
    live_sites_path(l, site, path, sizeof(path));
    fd = text->failed ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        return text->failed ? ERR_NOMEM : ERR_IO;
    }
    good = fd_write_all(fd, text->chars, text->size);
    return close(fd) == 0 && good ? OK : ERR_IO;
}

enum err live_sites_write(struct live *l)
{
    struct text text;
    enum err rc;

    if (l->f->sites_count == 1) {
        return OK;
    }
    rc = text_init(&text, SITES_FILE_BYTES_MAX);
    for (uint32_t i = 0; i < l->f->sites_count && rc == OK; i++) {
        rc = sites_write_one(l, i, &text);
    }
    text_deinit(&text);
    return rc;
}

/* Looking. */

static uint32_t sites_find(const struct run_file *f, const char *name)
{
    uint32_t i = 0;

    while (i < f->sites_count && (name == NULL || strcmp(f->sites[i].name, name) != 0)) {
        i++;
    }
    return i;
}

/* Less than before: it is another process. */
static void sites_count_sent(struct live_sent *s, const json_t *site)
{
    json_int_t bytes = json_integer_value(json_object_get(site, "sent_bytes"));
    uint64_t now = bytes < 0 ? 0 : (uint64_t)bytes;

    s->before += now < s->now ? s->now : 0;
    s->now = now;
}

void live_sites_seen(struct live *l, uint32_t lane, const json_t *status)
{
    const json_t *sites = json_object_get(json_object_get(status, "between"), "sites");
    char text[RUN_PLAN_NEWS_BYTES];

    if (lane % l->f->lanes == 0 &&
        run_plan_news(json_object_get(status, "between"), &l->planned, text, sizeof(text))) {
        live_event(l, "plan", "", "%s", text);
    }
    l->watched = true;
    json_decref(l->statuses[lane]);
    l->statuses[lane] = json_incref((json_t *)(uintptr_t)status);
    for (size_t i = 0; i < json_array_size(sites); i++) {
        const json_t *site = json_array_get(sites, i);
        uint32_t to = sites_find(l->f, json_string_value(json_object_get(site, "site")));

        if (to < l->f->sites_count) {
            sites_count_sent(&l->sent[lane * l->f->sites_count + to], site);
        }
    }
}

void live_sites_gone(struct live *l, const struct live_member *server)
{
    const struct run_server *servers = l->f->servers;
    uint32_t lane = 0;

    if (l->phase >= LIVE_CLOSING) {
        return; /* What it said last counts. */
    }
    for (uint32_t i = 0; i < server->number; i++) {
        lane += servers[i].lanes;
    }
    for (uint32_t k = 0; k < servers[server->number].lanes; k++) {
        json_decref(l->statuses[lane + k]);
        l->statuses[lane + k] = NULL;
    }
}

bool live_sites_settled(const struct live *l)
{
    for (uint32_t i = 0; i < sites_lanes(l); i++) {
        const json_t *between = json_object_get(l->statuses[i], "between");

        if (!json_is_true(json_object_get(between, "settled"))) {
            return false;
        }
    }
    return true;
}

void live_sites_traffic(const struct live *l, struct run_traffic *traffic)
{
    const struct run_file *f = l->f;

    for (uint32_t i = 0; f->sites_count > 1 && i < sites_lanes(l) * f->sites_count; i++) {
        uint32_t from = f->sites[i / f->sites_count / f->lanes].region;
        uint32_t to = f->sites[i % f->sites_count].region;

        traffic->bytes[from * traffic->regions + to] += l->sent[i].before + l->sent[i].now;
    }
}

const struct run_share *live_sites_shares(struct live *l)
{
    if (l->f->sites_count == 1) {
        return NULL;
    }
    for (uint32_t i = 0; i < sites_lanes(l); i++) {
        const json_t *between = json_object_get(l->statuses[i], "between");

        if (between != NULL) {
            run_share_add_status(&l->shares[i / l->f->lanes], between);
        }
    }
    return l->shares;
}

struct node_sparsify_totals live_sites_sparsified(const struct live *l)
{
    struct node_sparsify_totals sum = {0}, one;

    for (uint32_t i = 0; i < sites_lanes(l); i++) {
        if (node_sparsify_totals_from_json(json_object_get(l->statuses[i], "sparsified"), &one)) {
            node_sparsify_totals_add(&sum, &one);
        }
    }
    return sum;
}

/* Who waits for whom: a site's readers for another site? */
static bool sites_wait(const json_t *between, const char *site, char *out, size_t size)
{
    const char *kind = json_string_value(json_object_get(between, "waits"));
    const char *whom = json_string_value(json_object_get(between, "waits_for"));

    if (kind == NULL) {
        return false;
    }
    if (whom == NULL) {
        (void)snprintf(out, size, "site %s waits%s", site,
                       strcmp(kind, "plan") == 0 ? " for a plan to begin"
                                                 : ": too much is under way to the others");
    } else {
        (void)snprintf(out, size, "site %s waits for site %.64s%s", site, whom,
                       strcmp(kind, "clock") == 0     ? ", which is behind"
                       : strcmp(kind, "barrier") == 0 ? ": what it announced is on its way"
                       : strcmp(kind, "plan") == 0    ? ": a plan is to begin"
                       : strcmp(kind, "sum") == 0     ? ": its sum of the round"
                       : strcmp(kind, "taken") == 0   ? ": it has not got the last result"
                       : strcmp(kind, "result") == 0  ? ", the centre: the result of the round"
                                                      : ": it takes a copy");
    }
    return true;
}

void live_sites_waits(const struct live *l, char *out, size_t size)
{
    bool several = l->f->sites_count > 1;

    out[0] = '\0';
    for (uint32_t i = 0; i < sites_lanes(l); i++) {
        const char *site = l->f->sites[i / l->f->lanes].name;
        int head = several ? snprintf(out, size, "%s: ", site) : 0;

        if (l->statuses[i] != NULL && run_waits(l->statuses[i], out + head, size - (size_t)head)) {
            return;
        }
        out[0] = '\0';
        if (sites_wait(json_object_get(l->statuses[i], "between"), site, out, size)) {
            return;
        }
    }
}
