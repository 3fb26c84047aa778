#include "node/site/far.h"

#include "base/mem.h"
#include "node/lane/state.h"
#include "wire/ranges.h"

#include <stdio.h>
#include <string.h>

/* Making. */

enum err node_fars_init(struct node_fars *set, struct node_lane *l,
                        const struct node_fars_events *events, void *user)
{
    *set = (struct node_fars){.lane = l,
                              .between = l->config.between,
                              .id = wire_site_id(l->config.site.name),
                              .count = 1,
                              .events = events,
                              .user = user};
    set->list = mem_calloc((size_t)l->config.between->others_count + 1, sizeof(*set->list));
    return set->list == NULL ? ERR_NOMEM : OK;
}

void node_fars_deinit(struct node_fars *set)
{
    for (uint32_t i = 1; i < set->count && set->list != NULL; i++) {
        json_decref(set->list[i].said);
    }
    mem_free(set->list);
    *set = (struct node_fars){0};
}

static void far_add(struct node_fars *set, const struct node_other_site *site)
{
    struct node_lane *l = set->lane;
    struct node_far *f = &set->list[set->count];

    f->set = set;
    f->index = set->count++;
    f->site = *site;
    f->id = wire_site_id(site->name);
    f->anew = true;
    memset(f->tables, 0xff, sizeof(f->tables));
    /* Room for what is on its way from there. */
    buf_pool_raise(l->pool, NODE_FAR_WINDOW_BYTES + NODE_FAR_WINDOW_BYTES / 4);
    l->coming_bytes += NODE_FAR_WINDOW_BYTES + NODE_FAR_WINDOW_BYTES / 4;
}

/* Two names with one number would be taken for each other. */
static enum err far_check_ids(const struct node_fars *set, struct err_text *text)
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

enum err node_fars_fill(struct node_fars *set, struct err_text *text)
{
    for (uint32_t i = 0; i < set->between->others_count; i++) {
        far_add(set, &set->between->others[i]);
    }
    return far_check_ids(set, text);
}

/* Finding. */

struct node_far *node_far_of(const struct node_fars *set, uint32_t id)
{
    for (uint32_t i = 1; i < set->count; i++) {
        if (set->list[i].id == id) {
            return &set->list[i];
        }
    }
    return NULL;
}

struct node_far *node_far_named(const struct node_fars *set, const char *name)
{
    for (uint32_t i = 1; i < set->count; i++) {
        if (strcmp(set->list[i].site.name, name) == 0) {
            return &set->list[i];
        }
    }
    return NULL;
}

struct node_far *node_far_of_peer(const struct node_fars *set, const struct net_peer *peer)
{
    for (uint32_t i = 1; i < set->count; i++) {
        struct node_far *f = &set->list[i];

        if (f->out == peer || f->in == peer || f->scout == peer) {
            return f;
        }
    }
    return NULL;
}

/* Lanes of other sites also ask the first one where the others are, as workers do. */
bool node_fars_greeting(const struct node_fars *set, struct net_peer *peer,
                        const struct net_frame *frame)
{
    const struct pki_identity *who = net_peer_identity(peer);

    return !net_peer_dialled(peer) && net_peer_user(peer) == NULL &&
           who->role == WIRE_ROLE_SERVER && strcmp(who->site, set->lane->config.site.name) != 0 &&
           frame->header.type == WIRE_CONTROL && node_control_is(frame, NODE_OP_MEET);
}

/* Sessions. */

static int64_t far_now(const struct node_far *f)
{
    return loop_now_ns(f->set->lane->config.loop);
}

/* Later, so that somebody who refuses is not asked all the time; a new process is at once. */
static void far_retry(struct node_far *f)
{
    f->retry_ns = far_now(f) + (f->restarted ? 0 : (int64_t)NODE_FAR_RETRY_MS * 1000000);
    f->restarted = false;
}

void node_far_restarted(struct node_far *f)
{
    /* What is on its way is for somebody who is no more. */
    f->restarted = true;
    net_peer_close(f->out, "you have restarted: a new session follows");
}

void node_far_dialled(struct node_far *f)
{
    uint64_t pace = f->site.pace_bytes_per_s / f->set->lane->config.site.lanes;

    net_peer_limit(f->out, f->set->between->central ? LIMIT_WINDOW_BYTES : NODE_FAR_WINDOW_BYTES);
    if (f->site.pace_bytes_per_s > 0 && net_peer_pace(f->out, pace == 0 ? 1 : pace) != OK) {
        LOG_WRN("node", "site %s cannot be paced: this kind of connection has no limit",
                f->site.name);
    }
}

static void far_dial(struct node_far *f)
{
    struct node_lane *l = f->set->lane;
    bool first = l->config.number == 0;
    struct net_peer **peer = first ? &f->out : &f->scout;
    uint16_t streams = first ? f->set->between->streams : 1;

    if (net_endpoint_dial(l->endpoint, l->config.transport, &f->site.first, streams, peer) != OK) {
        *peer = NULL;
        far_retry(f);
    } else if (first) {
        node_far_dialled(f);
    }
}

void node_fars_start(struct node_fars *set)
{
    for (uint32_t i = 1; i < set->count; i++) {
        if (!set->list[i].site.far) {
            far_dial(&set->list[i]);
        }
    }
}

/* Both sides can speak and have agreed: the owner may go on. */
void node_far_look(struct node_far *f)
{
    bool up = f->out != NULL && f->in != NULL && f->out_agreed && f->in_agreed;
    bool anew = f->anew;

    if (up && !f->up) {
        f->up = true;
        f->anew = false;
        f->trouble[0] = '\0';
        node_lane_trace(f->set->lane, "site %s is up", f->site.name);
        f->set->events->up(f, anew, f->set->user);
    } else if (!up && f->up) {
        f->up = false;
        node_lane_trace(f->set->lane, "site %s is down", f->site.name);
        f->set->events->down(f, f->set->user);
    }
}

void node_fars_up(struct node_fars *set, struct net_peer *peer, bool restarted)
{
    struct node_far *f = node_far_of_peer(set, peer);

    if (peer != f->in && !node_meet_is_it(f, peer)) {
        return;
    }
    if (peer == f->scout) {
        json_t *fields = json_object();

        if (node_control_send(peer, set->lane->pool, NODE_OP_SITE, 1, fields) != OK) {
            net_peer_close(peer, "no room for a question");
        }
        json_decref(fields);
        return;
    }
    if (restarted && peer == f->out) {
        node_far_restarted(f);
        return;
    }
    if (peer == f->out && !f->out_agreed) {
        node_meet_say(f);
    }
    node_far_look(f);
}

void node_far_troubled(struct node_far *f, const char *text)
{
    size_t size = sizeof(f->trouble) - 1;

    if (strncmp(f->trouble, text, size) != 0) {
        (void)snprintf(f->trouble, sizeof(f->trouble), "%.*s", (int)size, text);
        LOG_INF("node", "site %s: %s", f->site.name, text);
    }
}

void node_fars_lost(struct node_fars *set, struct net_peer *peer, const char *text)
{
    struct node_far *f = node_far_of_peer(set, peer);
    struct net_peer_stats stats;

    if (f == NULL) {
        return;
    }
    if (peer == f->scout) {
        f->scout = NULL;
        if (f->out == NULL) {
            far_retry(f);
            node_far_troubled(f, text);
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
        far_retry(f);
        node_far_troubled(f, text);
    }
    node_far_look(f);
}

/* It cannot be reached. A session belongs to one member: if another answers, it needs a new one. */
void node_fars_trouble(struct node_fars *set, struct net_peer *peer, enum err why, const char *text)
{
    struct node_far *f = node_far_of_peer(set, peer);

    if (f != NULL && peer != f->in) {
        node_far_troubled(f, text);
        if (why == ERR_REFUSED) {
            net_peer_close(peer, text);
        }
    }
}

enum err node_fars_frame(struct node_fars *set, struct net_peer *peer,
                         const struct net_frame *frame)
{
    struct node_far *f = node_far_of_peer(set, peer);
    enum err rc;

    if (f == NULL) {
        f = node_meet_stranger(set, peer);
        if (f == NULL) {
            net_peer_ack(peer, frame->header.sequence);
            return OK; /* It was told that it is not known here. */
        }
    }
    rc = frame->header.type == WIRE_CONTROL ? node_meet_control(f, frame, peer == f->in)
         : peer == f->in && f->in_agreed    ? set->events->frame(f, frame, set->user)
                                            : ERR_PEER;
    if (rc == OK) {
        net_peer_ack(peer, frame->header.sequence);
        node_far_look(f);
    }
    return rc;
}

bool node_far_tick(struct node_far *f, int64_t now_ns, int64_t down_ns)
{
    bool silent = f->up && !(net_peer_is_up(f->out) && net_peer_is_up(f->in));

    f->silent_ns = !silent ? 0 : f->silent_ns == 0 ? now_ns : f->silent_ns;
    if (f->retry_ns != 0 && now_ns >= f->retry_ns && !f->set->lane->shut) {
        f->retry_ns = 0;
        if (f->out == NULL && f->scout == NULL) {
            far_dial(f);
        }
    }
    return f->silent_ns == 0 || now_ns - f->silent_ns <= down_ns;
}

json_t *node_far_status(const struct node_far *f, bool up)
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
    if (f->trouble[0] != '\0' && !up) {
        (void)json_object_set_new(out, "trouble", json_string(f->trouble));
    }
    return out;
}
