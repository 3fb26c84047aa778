#include "node/site/remote.h"

#include "base/mem.h"
#include "node/lane/state.h"
#include "wire/ranges.h"

#include <stdio.h>
#include <string.h>

/* Making. */

enum err node_remotes_init(struct node_remote_sites *set, struct node_lane *l,
                           const struct node_remote_events *events, void *user)
{
    *set = (struct node_remote_sites){.lane = l,
                                      .between = l->config.between,
                                      .id = wire_site_id(l->config.site.name),
                                      .count = 1,
                                      .events = events,
                                      .user = user};
    set->list = mem_calloc((size_t)l->config.between->others_count + 1, sizeof(*set->list));
    return set->list == NULL ? ERR_NOMEM : OK;
}

void node_remotes_deinit(struct node_remote_sites *set)
{
    for (uint32_t i = 1; i < set->count && set->list != NULL; i++) {
        json_decref(set->list[i].said);
    }
    mem_free(set->list);
    *set = (struct node_remote_sites){0};
}

static void remote_add(struct node_remote_sites *set, const struct node_other_site *site)
{
    struct node_lane *l = set->lane;
    struct node_remote_site *f = &set->list[set->count];

    f->set = set;
    f->index = set->count++;
    f->site = *site;
    f->id = wire_site_id(site->name);
    f->anew = true;
    memset(f->tables, 0xff, sizeof(f->tables));
    /* Room for what is on its way from there. */
    buf_pool_raise(l->pool, NODE_REMOTE_WINDOW_BYTES + NODE_REMOTE_WINDOW_BYTES / 4);
    l->coming_bytes += NODE_REMOTE_WINDOW_BYTES + NODE_REMOTE_WINDOW_BYTES / 4;
}

/* Two names with one number would be taken for each other. */
static enum err remote_check_ids(const struct node_remote_sites *set, struct err_text *text)
{
    for (uint32_t i = 1; i < set->count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            uint32_t other = k == 0 ? set->id : set->list[k].id;

            if (set->list[i].id == other) {
                return err_text_set(text, ERR_INVALID,
                                    "the names of sites %s and %s have the same hash: rename one",
                                    set->list[i].site.name,
                                    k == 0 ? set->lane->config.site.name : set->list[k].site.name);
            }
        }
    }
    return OK;
}

enum err node_remotes_fill(struct node_remote_sites *set, struct err_text *text)
{
    for (uint32_t i = 0; i < set->between->others_count; i++) {
        remote_add(set, &set->between->others[i]);
    }
    return remote_check_ids(set, text);
}

/* Finding. */

struct node_remote_site *node_remote_of(const struct node_remote_sites *set, uint32_t id)
{
    for (uint32_t i = 1; i < set->count; i++) {
        if (set->list[i].id == id) {
            return &set->list[i];
        }
    }
    return NULL;
}

struct node_remote_site *node_remote_named(const struct node_remote_sites *set, const char *name)
{
    for (uint32_t i = 1; i < set->count; i++) {
        if (strcmp(set->list[i].site.name, name) == 0) {
            return &set->list[i];
        }
    }
    return NULL;
}

struct node_remote_site *node_remote_of_peer(const struct node_remote_sites *set,
                                             const struct net_peer *peer)
{
    for (uint32_t i = 1; i < set->count; i++) {
        struct node_remote_site *f = &set->list[i];

        if (f->out == peer || f->in == peer || f->locator == peer) {
            return f;
        }
    }
    return NULL;
}

/* Lanes of other sites also ask the first one where the others are, as workers do. */
bool node_remotes_is_handshake(const struct node_remote_sites *set, struct net_peer *peer,
                               const struct net_frame *frame)
{
    const struct pki_identity *who = net_peer_identity(peer);

    return !net_peer_dialled(peer) && net_peer_user(peer) == NULL &&
           who->role == WIRE_ROLE_SERVER && strcmp(who->site, set->lane->config.site.name) != 0 &&
           frame->header.type == WIRE_CONTROL && node_control_is(frame, NODE_OP_HANDSHAKE);
}

/* Sessions. */

static int64_t remote_now(const struct node_remote_site *f)
{
    return loop_now_ns(f->set->lane->config.loop);
}

/* Later, so that somebody who refuses is not asked all the time; a new process is at once. */
static void remote_retry(struct node_remote_site *f)
{
    f->retry_ns = remote_now(f) + (f->restarted ? 0 : (int64_t)NODE_REMOTE_RETRY_MS * 1000000);
    f->restarted = false;
}

void node_remote_on_restarted(struct node_remote_site *f)
{
    /* What is on its way is for somebody who is no more. */
    f->restarted = true;
    net_peer_close(f->out, "you have restarted: a new session follows");
}

void node_remote_on_dialled(struct node_remote_site *f)
{
    uint64_t pace = f->site.pace_bytes_per_s / f->set->lane->config.site.lanes;

    net_peer_limit(f->out,
                   f->set->between->central ? LIMIT_WINDOW_BYTES : NODE_REMOTE_WINDOW_BYTES);
    if (f->site.pace_bytes_per_s > 0 && net_peer_pace(f->out, pace == 0 ? 1 : pace) != OK) {
        LOG_WRN("node", "site %s cannot be paced: this kind of connection has no limit",
                f->site.name);
    }
}

static void remote_dial(struct node_remote_site *f)
{
    struct node_lane *l = f->set->lane;
    bool first = l->config.number == 0;
    struct net_peer **peer = first ? &f->out : &f->locator;
    uint16_t streams = first ? f->set->between->streams : 1;

    if (net_endpoint_dial(l->endpoint, l->config.transport, &f->site.first, streams, peer) != OK) {
        *peer = NULL;
        remote_retry(f);
    } else if (first) {
        node_remote_on_dialled(f);
    }
}

void node_remotes_start(struct node_remote_sites *set)
{
    for (uint32_t i = 1; i < set->count; i++) {
        if (!set->list[i].site.indirect) {
            remote_dial(&set->list[i]);
        }
    }
}

/* Both sides can speak and have agreed: the owner may go on. */
void node_remote_recheck(struct node_remote_site *f)
{
    bool up = f->out != NULL && f->in != NULL && f->out_agreed && f->in_agreed;
    bool anew = f->anew;

    if (up && !f->up) {
        f->up = true;
        f->anew = false;
        f->last_error[0] = '\0';
        node_lane_trace(f->set->lane, "site %s is up", f->site.name);
        f->set->events->up(f, anew, f->set->user);
    } else if (!up && f->up) {
        f->up = false;
        node_lane_trace(f->set->lane, "site %s is down", f->site.name);
        f->set->events->down(f, f->set->user);
    }
}

void node_remotes_up(struct node_remote_sites *set, struct net_peer *peer, bool restarted)
{
    struct node_remote_site *f = node_remote_of_peer(set, peer);

    if (peer != f->in && !node_handshake_accepts(f, peer)) {
        return;
    }
    if (peer == f->locator) {
        json_t *fields = json_object();

        if (node_control_send(peer, set->lane->pool, NODE_OP_SITE, 1, fields) != OK) {
            net_peer_close(peer, "no room for a question");
        }
        json_decref(fields);
        return;
    }
    if (restarted && peer == f->out) {
        node_remote_on_restarted(f);
        return;
    }
    if (peer == f->out && !f->out_agreed) {
        node_handshake_send(f);
    }
    node_remote_recheck(f);
}

void node_remote_set_error(struct node_remote_site *f, const char *text)
{
    size_t size = sizeof(f->last_error) - 1;

    if (strncmp(f->last_error, text, size) != 0) {
        (void)snprintf(f->last_error, sizeof(f->last_error), "%.*s", (int)size, text);
        LOG_INF("node", "site %s: %s", f->site.name, text);
    }
}

void node_remotes_lost(struct node_remote_sites *set, struct net_peer *peer, const char *text)
{
    struct node_remote_site *f = node_remote_of_peer(set, peer);
    struct net_peer_stats stats;

    if (f == NULL) {
        return;
    }
    if (peer == f->locator) {
        f->locator = NULL;
        if (f->out == NULL) {
            remote_retry(f);
            node_remote_set_error(f, text);
        }
        return;
    }
    net_peer_stats(peer, &stats);
    f->sent_before += stats.sent_bytes;
    f->anew = true;
    if (peer == f->in) {
        f->in = NULL;
        f->in_agreed = false;
        set->events->lost(f, false, set->user);
    } else {
        f->out = NULL;
        f->out_agreed = false;
        set->events->lost(f, true, set->user);
        remote_retry(f);
        node_remote_set_error(f, text);
    }
    node_remote_recheck(f);
}

/* It cannot be reached. A session belongs to one member: if another answers, it needs a new one. */
void node_remotes_connect_failed(struct node_remote_sites *set, struct net_peer *peer, enum err why,
                                 const char *text)
{
    struct node_remote_site *f = node_remote_of_peer(set, peer);

    if (f != NULL && peer != f->in) {
        node_remote_set_error(f, text);
        if (why == ERR_REFUSED) {
            net_peer_close(peer, text);
        }
    }
}

enum err node_remotes_frame(struct node_remote_sites *set, struct net_peer *peer,
                            const struct net_frame *frame)
{
    struct node_remote_site *f = node_remote_of_peer(set, peer);
    enum err rc;

    if (f == NULL) {
        f = node_handshake_identify(set, peer);
        if (f == NULL) {
            net_peer_ack(peer, frame->header.sequence);
            return OK; /* It was told that it is not known here. */
        }
    }
    rc = frame->header.type == WIRE_CONTROL ? node_handshake_control(f, frame, peer == f->in)
         : peer == f->in && f->in_agreed    ? set->events->frame(f, frame, set->user)
                                            : ERR_PEER;
    if (rc == OK) {
        net_peer_ack(peer, frame->header.sequence);
        node_remote_recheck(f);
    }
    return rc;
}

bool node_remote_tick(struct node_remote_site *f, int64_t now_ns, int64_t down_ns)
{
    bool silent = f->up && !(net_peer_is_up(f->out) && net_peer_is_up(f->in));

    f->silent_ns = !silent ? 0 : f->silent_ns == 0 ? now_ns : f->silent_ns;
    if (f->retry_ns != 0 && now_ns >= f->retry_ns && !f->set->lane->shut) {
        f->retry_ns = 0;
        if (f->out == NULL && f->locator == NULL) {
            remote_dial(f);
        }
    }
    return f->silent_ns == 0 || now_ns - f->silent_ns <= down_ns;
}

json_t *node_remote_status(const struct node_remote_site *f, bool up)
{
    struct net_peer_stats stats = {0}, back = {0};
    char address[NET_ADDRESS_BYTES];
    uint64_t sent;
    json_t *out;

    if (f->out != NULL) {
        net_peer_stats(f->out, &stats);
    }
    if (f->in != NULL) {
        net_peer_stats(f->in, &back); /* Acknowledgements. */
    }
    sent = f->sent_before + stats.sent_bytes + back.sent_bytes;
    out = json_pack("{s:s, s:s, s:b, s:I, s:I, s:I}", "site", f->site.name, "address",
                    net_address_format(&f->site.first, address), "up", (int)up, "unacked_bytes",
                    (json_int_t)stats.unacked_bytes, "rtt_us", (json_int_t)(stats.rtt_ns / 1000),
                    "sent_bytes", (json_int_t)sent);
    if (f->last_error[0] != '\0' && !up) {
        (void)json_object_set_new(out, "last_error", json_string(f->last_error));
    }
    return out;
}
