#include "node/sparsify/look.h"

#include "net/probe/probe.h"

enum {
    LOOK_IDLE = 5,        /* So many heartbeats nothing was sent: then a link may be probed, */
    LOOK_AGAIN = 30,      /* and after a probe not so soon again. */
    LOOK_RATE_MIN = 1024, /* Bytes per second; the least that is probed. */
};

static int64_t look_now(const struct node_look *k)
{
    return loop_now_ns(k->loop);
}

/* While something waits. */
static void look_soon(struct node_look *k)
{
    loop_timer_start_in(&k->timer, (int64_t)NET_METER_LOOK_MS * 1000000);
}

static void look_later(struct node_look *k, int64_t heartbeats)
{
    loop_timer_start_in(&k->timer, heartbeats * k->heartbeat_ns);
}

/* What is known of all links; the slowest goes to the sender. */
static uint32_t look_read(struct node_look *k, struct enough_link *out)
{
    struct node_look_link links[NODE_LOOK_LINKS_MAX];
    uint32_t count = k->links(links, k->user);
    uint64_t slowest = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct net_meter_reading r;

        out[i] = (struct enough_link){.known = net_meter_read(links[i].meter, look_now(k), &r),
                                      .at_least = r.at_least,
                                      .bytes_per_s = r.bytes_per_s};
        if (out[i].known && (slowest == 0 || r.bytes_per_s < slowest)) {
            slowest = r.bytes_per_s;
        }
    }
    k->sparsifier->link_rate = slowest;
    return count;
}

static void look_judge(struct node_look *k)
{
    struct enough_link links[NODE_LOOK_LINKS_MAX];
    uint32_t count = look_read(k, links);

    if (k->moves) {
        (void)enough_step(&k->enough, links, count);
        k->sparsifier->up = enough_up(&k->enough);
    }
}

static void look_probed(struct net_peer *peer, enum err rc, const struct net_probe_result *result,
                        void *user)
{
    struct node_look *k = user;
    struct node_look_link links[NODE_LOOK_LINKS_MAX];
    uint32_t count = k->links(links, k->user);

    for (uint32_t i = 0; i < count && rc == OK; i++) {
        if (links[i].peer == peer) {
            net_meter_probed(links[i].meter, result, look_now(k));
            look_judge(k);
            return;
        }
    }
}

/* Nothing has been sent for a while. The search ends well above what is of interest: a probe loads
 * the link. */
static void look_idle(struct node_look *k)
{
    struct net_probe_config config = {
        .rate_min = k->required / 8 > LOOK_RATE_MIN ? k->required / 8 : LOOK_RATE_MIN,
        .rate_max = k->required < UINT64_MAX / 2 ? k->required * 2 : UINT64_MAX};
    struct enough_link known[NODE_LOOK_LINKS_MAX];
    struct node_look_link links[NODE_LOOK_LINKS_MAX];
    uint32_t count = look_read(k, known);
    uint32_t wanted = enough_wanted(&k->enough, known, count);
    enum err rc;

    if (wanted == ENOUGH_NO_LINK) {
        look_later(k, LOOK_AGAIN);
        return;
    }
    (void)k->links(links, k->user);
    rc = net_probe_start(links[wanted].peer, &config, look_probed, k);
    if (rc == ERR_INVALID) {
        rc = net_probe_start(links[wanted].peer, NULL, look_probed, k); /* Beyond what it can. */
    }
    look_later(k, rc == OK ? LOOK_AGAIN : LOOK_IDLE);
}

static void look_look(struct node_look *k)
{
    struct node_look_link links[NODE_LOOK_LINKS_MAX];
    uint32_t count = k->links(links, k->user);
    bool news = false;

    k->busy = false;
    for (uint32_t i = 0; i < count; i++) {
        news = net_meter_look(links[i].meter, links[i].peer, look_now(k)) || news;
        k->busy = net_meter_busy(links[i].meter) || k->busy;
    }
    if (news) {
        look_judge(k);
    }
    if (k->busy) {
        look_soon(k);
    } else if (k->moves) {
        look_later(k, LOOK_IDLE);
    }
}

static void look_timer(struct loop_timer *timer, void *user)
{
    struct node_look *k = user;

    (void)timer;
    if (k->busy) {
        look_look(k);
    } else {
        look_idle(k);
    }
}

enum err node_look_open(struct node_look *k, struct loop *loop, struct node_sparsifier *sparsify,
                        uint64_t required, int64_t heartbeat_ns,
                        uint32_t (*links)(struct node_look_link *out, void *user), void *user)
{
    enum err rc = OK;

    *k = (struct node_look){
        .sparsifier = sparsify,
        .links = links,
        .user = user,
        .required = required,
        .heartbeat_ns = heartbeat_ns > 0 ? heartbeat_ns : (int64_t)LIMIT_HEARTBEAT_MS * 1000000,
        .moves = required > 0 && node_sparsify_is_adaptive(sparsify->how)};
    k->on = k->moves || node_sparsify_is_auto(sparsify->how);
    if (k->on) {
        rc = loop_timer_init(&k->timer, loop, look_timer, k);
    }
    if (rc != OK) {
        return rc;
    }
    k->loop = loop;
    enough_init(&k->enough, &(struct enough_config){.required = required});
    sparsify->up = k->moves && enough_up(&k->enough);
    return OK;
}

void node_look_close(struct node_look *k)
{
    if (k->on && node_look_opened(k)) {
        loop_timer_deinit(&k->timer);
    }
    *k = (struct node_look){0};
}

void node_look_sent(struct node_look *k)
{
    if (k->on && !k->busy) {
        look_look(k);
        k->busy = true; /* One look is enough for all that is sent in this turn. */
        look_soon(k);
    }
}
