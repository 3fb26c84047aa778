#include "emu/lab/relay.h"

#include "base/buf.h"
#include "base/mem.h"
#include "emu/lab/delay.h"
#include "loop/clock.h"

#include <errno.h>
#include <linux/virtio_net.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    RELAY_PACKET_BYTES = 65536 + sizeof(struct virtio_net_hdr),
    RELAY_COPY_BYTES = 16 * 1024, /* Up to this a packet moves to a smaller buffer. */
    RELAY_READ_MAX = 64,          /* Packets of one region before others have their turn. */
    RELAY_ITEMS_MAX = 1 << 18,
    RELAY_PRIORITY = 10,
    RELAY_SLEPT_NS = 20 * 1000, /* Waiting for longer was sleep: nothing was there before. */
    RELAY_IP_HEADER_BYTES = 20,
    RELAY_TIED = LAB_REGIONS_MAX, /* Among the regions, for epoll. */
};

struct relay {
    const struct relay_config *config;
    struct relay_shared *shared;
    struct delay *delay;
    struct buf_pool *pool;
    struct buf *spare; /* The next packet is read into it. */
    int epoll;
    int64_t now_ns;
    int64_t empty_ns[LAB_REGIONS_MAX]; /* When there was last nothing to read. */
    uint32_t changes;
    uint32_t resets;
    bool over;
};

struct relay_shared *relay_shared_create(void)
{
    struct relay_shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED) {
        return NULL;
    }
    obs_histogram_init(&shared->late);
    return shared;
}

void relay_shared_destroy(struct relay_shared *shared)
{
    if (shared != NULL) {
        (void)munmap(shared, sizeof(*shared));
    }
}

struct relay_link *relay_link(struct relay_shared *shared, uint32_t from, uint32_t to)
{
    CHECK(from < LAB_REGIONS_MAX && to < LAB_REGIONS_MAX);
    return &shared->links[from * LAB_REGIONS_MAX + to];
}

void relay_wire(const uint8_t *packet, size_t size, uint32_t *packets_out, uint32_t *bytes_out)
{
    struct virtio_net_hdr header;
    size_t bytes = size - sizeof(header);

    memcpy(&header, packet, sizeof(header));
    *packets_out = 1;
    *bytes_out = (uint32_t)bytes;
    if (header.gso_type != VIRTIO_NET_HDR_GSO_NONE && header.gso_size > 0 &&
        bytes > header.hdr_len) {
        size_t payload = bytes - header.hdr_len;
        size_t count = (payload + header.gso_size - 1) / header.gso_size;

        *packets_out = (uint32_t)count;
        *bytes_out = (uint32_t)(payload + count * header.hdr_len);
    }
}

static void relay_add(_Atomic uint64_t *counter, uint64_t more)
{
    /* Nobody else writes it. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

/* A buffer of the right size for what is in the spare one. NULL: there is no memory. */
static struct buf *relay_keep(struct relay *r, size_t size)
{
    struct buf *b = NULL;

    if (size > RELAY_COPY_BYTES) {
        b = r->spare;
        if (buf_take(r->pool, 0, RELAY_PACKET_BYTES, &r->spare) != OK) {
            r->spare = b;
            return NULL;
        }
        (void)buf_append(b, size);
    } else if (buf_take(r->pool, 0, size, &b) == OK) {
        memcpy(buf_append(b, size), buf_bytes(r->spare), size);
    }
    return b;
}

/* A packet of region @from is in the spare buffer. */
static void relay_packet(struct relay *r, uint32_t from, size_t size)
{
    const uint8_t *ip = buf_bytes(r->spare) + sizeof(struct virtio_net_hdr);
    struct delay_item item = {.from = from};
    struct relay_link *link;
    uint32_t packets;

    if (size < sizeof(struct virtio_net_hdr) + RELAY_IP_HEADER_BYTES || ip[0] >> 4 != 4 ||
        !lab_plan_region_of(r->config->plan, ip + 16, &item.to) || item.to == from ||
        !lab_plan_link(r->config->plan, from, item.to)->joined) {
        relay_add(&r->shared->strays, 1);
        return;
    }
    link = relay_link(r->shared, from, item.to);
    relay_wire(buf_bytes(r->spare), size, &packets, &item.bytes);
    /* It came after the last look at an empty queue; when, is not known: in the middle. */
    item.waited_ns = (r->now_ns - r->empty_ns[from]) / 2;
    item.what = relay_keep(r, size);
    if (item.what == NULL || delay_push(r->delay, &item, r->now_ns) != OK) {
        buf_unref(item.what);
        relay_add(&link->dropped, packets);
        return;
    }
    relay_add(&link->bytes, item.bytes);
    relay_add(&link->packets, packets);
}

/* Read what a region sends; what is left comes in the next turn. */
static void relay_read(struct relay *r, uint32_t region)
{
    for (int i = 0; i < RELAY_READ_MAX; i++) {
        ssize_t n = read(r->config->tuns[region], buf_bytes(r->spare), RELAY_PACKET_BYTES);

        r->now_ns = clock_mono_ns();
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            r->empty_ns[region] = r->now_ns;
            return;
        }
        relay_packet(r, region, (size_t)n);
    }
}

/* Let go what is due. */
static void relay_write(struct relay *r)
{
    struct delay_item item;

    for (int i = 0; i < RELAY_READ_MAX && delay_pop(r->delay, r->now_ns, &item); i++) {
        struct buf *b = item.what;

        obs_histogram_record(&r->shared->late, delay_item_late_ns(&item, r->now_ns));
        if (write(r->config->tuns[item.to], buf_bytes(b), buf_size(b)) < 0) {
            relay_add(&relay_link(r->shared, item.from, item.to)->dropped, 1);
        }
        buf_unref(b);
        r->now_ns = clock_mono_ns();
    }
}

static void relay_links(struct relay *r)
{
    const struct lab_plan *plan = r->config->plan;

    for (uint32_t i = 0; i < plan->regions * plan->regions; i++) {
        uint32_t from = i / plan->regions, to = i % plan->regions;
        struct relay_link *link = relay_link(r->shared, from, to);
        const struct delay_link now = {.delay_ns = atomic_load(&link->delay_ns),
                                       .jitter_ns = atomic_load(&link->jitter_ns),
                                       .bytes_per_s = atomic_load(&link->bytes_per_s)};

        delay_link_set(r->delay, from, to, &now);
    }
}

static void relay_reset(struct relay *r)
{
    obs_histogram_init(&r->shared->late);
    atomic_store(&r->shared->strays, 0);
    for (uint32_t i = 0; i < LAB_REGIONS_MAX * LAB_REGIONS_MAX; i++) {
        atomic_store(&r->shared->links[i].bytes, 0);
        atomic_store(&r->shared->links[i].packets, 0);
        atomic_store(&r->shared->links[i].dropped, 0);
    }
}

/* What the lab wants. */
static void relay_obey(struct relay *r)
{
    uint32_t changes = atomic_load_explicit(&r->shared->changes, memory_order_acquire);
    uint32_t resets = atomic_load_explicit(&r->shared->resets, memory_order_acquire);

    if (changes != r->changes) {
        r->changes = changes;
        relay_links(r);
    }
    if (resets != r->resets) {
        r->resets = resets;
        relay_reset(r);
        atomic_store_explicit(&r->shared->resets_done, resets, memory_order_release);
    }
}

/* Bytes are a wish to look; their end is ours. */
static void relay_tied(struct relay *r)
{
    char bytes[64];
    ssize_t n = read(r->config->tied, bytes, sizeof(bytes));

    r->over = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

static void relay_turn(struct relay *r)
{
    struct epoll_event events[LAB_REGIONS_MAX + 1];
    int64_t next_ns = delay_next_ns(r->delay);
    int64_t wait_ns = next_ns <= r->now_ns ? 0 : next_ns - r->now_ns;
    struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    int64_t before_ns = r->now_ns;
    int count = (int)syscall(SYS_epoll_pwait2, r->epoll, events, LAB_REGIONS_MAX + 1,
                             next_ns == DELAY_NEVER ? NULL : &wait, NULL, 0);

    r->now_ns = clock_mono_ns();
    if (r->now_ns - before_ns > RELAY_SLEPT_NS) {
        for (uint32_t i = 0; i < r->config->plan->regions; i++) {
            r->empty_ns[i] = r->now_ns;
        }
    }
    relay_obey(r);
    for (int i = 0; i < count; i++) {
        if (events[i].data.u32 == RELAY_TIED) {
            relay_tied(r);
        } else {
            relay_read(r, events[i].data.u32);
        }
        relay_write(r);
    }
    relay_write(r);
}

static enum err relay_watch(struct relay *r, int fd, uint32_t what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = what};

    return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? OK : ERR_IO;
}

/* Waiting for less than a millisecond came with Linux 5.11. */
static bool relay_can_wait(const struct relay *r)
{
    const struct timespec none = {0};
    struct epoll_event event;

    return syscall(SYS_epoll_pwait2, r->epoll, &event, 1, &none, NULL, 0) >= 0 || errno != ENOSYS;
}

/* Go before all others. */
static void relay_hurry(struct relay *r)
{
    const struct sched_param param = {.sched_priority = RELAY_PRIORITY};

    (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    atomic_store(&r->shared->realtime,
                 sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0);
}

static void relay_rest(void)
{
    const struct sched_param param = {.sched_priority = 0};

    (void)sched_setscheduler(0, SCHED_OTHER, &param);
}

static enum err relay_open(struct relay *r)
{
    const struct delay_config delay = {
        .ends = r->config->plan->regions, .items_max = RELAY_ITEMS_MAX, .seed = r->config->seed};
    enum err rc = delay_create(&delay, &r->delay);

    if (rc == OK) {
        rc = buf_pool_create(r->config->bytes_max, &r->pool);
    }
    if (rc == OK) {
        rc = buf_take(r->pool, 0, RELAY_PACKET_BYTES, &r->spare);
    }
    if (rc == OK) {
        r->epoll = epoll_create1(EPOLL_CLOEXEC);
        rc = r->epoll < 0 ? ERR_IO : relay_watch(r, r->config->tied, RELAY_TIED);
    }
    if (rc == OK && !relay_can_wait(r)) {
        rc = ERR_VERSION;
    }
    for (uint32_t i = 0; rc == OK && i < r->config->plan->regions; i++) {
        rc = relay_watch(r, r->config->tuns[i], i);
    }
    return rc;
}

static void relay_close(struct relay *r)
{
    struct delay_item item;

    while (r->delay != NULL && delay_pop(r->delay, DELAY_NEVER, &item)) {
        buf_unref(item.what);
    }
    buf_unref(r->spare);
    buf_pool_destroy(r->pool);
    delay_destroy(r->delay);
    if (r->epoll >= 0) {
        (void)close(r->epoll);
    }
}

enum err relay_run(const struct relay_config *config)
{
    struct relay r = {.config = config, .shared = config->shared, .epoll = -1};
    enum err rc = relay_open(&r);
    int8_t said = (int8_t)rc;

    if (rc == OK) {
        relay_links(&r);
        relay_hurry(&r);
        r.now_ns = clock_mono_ns();
        for (uint32_t i = 0; i < LAB_REGIONS_MAX; i++) {
            r.empty_ns[i] = r.now_ns; /* What came before nobody could have carried. */
        }
    }
    if (write(config->ready, &said, 1) != 1) {
        rc = ERR_IO;
    }
    while (rc == OK && !r.over) {
        relay_turn(&r);
    }
    relay_rest();
    relay_close(&r);
    return rc;
}
