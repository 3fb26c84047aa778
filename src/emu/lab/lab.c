#include "emu/lab/lab.h"

#include "base/log.h"
#include "base/mem.h"
#include "emu/lab/inside.h"
#include "emu/lab/queue.h"
#include "emu/lab/state.h"
#include "emu/lab/text.h"
#include "loop/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAB_PACKETS_BYTES_MAX (UINT64_C(1) << 30) /* On their way, but at most ... */

enum { LAB_MEMORY_PART = 4 }; /* ... this part of the machine. */

void lab_wake_relay(struct lab *lab)
{
    /* A full pipe will wake it too. */
    (void)!write(lab->tied, "w", 1);
}

void lab_links_changed(struct lab *lab)
{
    const struct lab_plan *plan = lab->plan;

    for (uint32_t i = 0; i < plan->regions * plan->regions; i++) {
        uint32_t from = i / plan->regions, to = i % plan->regions;
        const struct lab_link *link = lab_plan_link(plan, from, to);
        struct relay_link *out = relay_link(lab->shared, from, to);

        atomic_store(&out->delay_ns, link->delay_ns);
        atomic_store(&out->jitter_ns, link->jitter_ns);
        atomic_store(&out->bytes_per_s, link->bytes_per_s);
    }
    (void)atomic_fetch_add_explicit(&lab->shared->changes, 1, memory_order_release);
    lab_wake_relay(lab);
}

/* The relay's process. */

static uint64_t lab_packet_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t part = LAB_PACKETS_BYTES_MAX;

    if (pages > 0 && page > 0) {
        part = (uint64_t)pages * (uint64_t)page / LAB_MEMORY_PART;
    }
    return part < LAB_PACKETS_BYTES_MAX ? part : LAB_PACKETS_BYTES_MAX;
}

/* When the lab's process is gone, by whatever end, the relay is the one who can still end what runs
 * inside. */
_Noreturn static void lab_relay_process(struct lab *lab, int tied, int ready)
{
    int tuns[LAB_REGIONS_MAX];
    const struct relay_config config = {.plan = lab->plan,
                                        .tuns = tuns,
                                        .tied = tied,
                                        .ready = ready,
                                        .bytes_max = lab_packet_bytes(),
                                        .seed = (uint64_t)lab->since_us,
                                        .shared = lab->shared};
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    const struct lab_inside inside = {.numbers = lab->net.numbers, .count = lab->net.numbers_count};
    uint32_t left = 0;
    enum err rc;

    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)prctl(PR_SET_NAME, "strait-relay", 0, 0, 0);
    if (nothing >= 0) {
        (void)dup2(nothing, STDIN_FILENO);
        (void)dup2(nothing, STDOUT_FILENO);
    }
    for (uint32_t i = 0; i < lab->plan->regions; i++) {
        tuns[i] = lab->net.routers[i].tun;
    }
    rc = relay_run(&config);
    (void)lab_inside_end(&inside, LAB_PATIENCE_MS, &left);
    _exit(rc == OK && left == 0 ? 0 : 1);
}

static enum err lab_relay_bad(struct err_text *text)
{
    return err_text_set(text, ERR_IO, "the relay cannot be started: %s", strerror(errno));
}

/* Fork, and wait for its first byte. */
static enum err lab_relay_start(struct lab *lab, int tied[2], int ready[2], struct err_text *text)
{
    int8_t said = 0;

    lab->relay = fork();
    if (lab->relay == 0) {
        (void)close(tied[1]);
        (void)close(ready[0]);
        lab_relay_process(lab, tied[0], ready[1]);
    }
    if (lab->relay < 0) {
        return lab_relay_bad(text);
    }
    (void)close(ready[1]);
    ready[1] = -1;
    lab->relay_fd = (int)syscall(SYS_pidfd_open, lab->relay, 0);
    if (lab->relay_fd < 0) {
        return lab_relay_bad(text);
    }
    if (read(ready[0], &said, 1) != 1) {
        return err_text_set(text, ERR_IO, "the relay ended at once");
    }
    if (said == ERR_VERSION) {
        return err_text_set(text, ERR_REFUSED,
                            "this kernel cannot wait for less than a millisecond: a lab needs "
                            "Linux 5.11 or later");
    }
    return said == OK ? OK
                      : err_text_set(text, (enum err)said, "the relay cannot begin: %s",
                                     err_string((enum err)said));
}

static void lab_close(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static enum err lab_relay_create(struct lab *lab, struct err_text *text)
{
    int tied[2] = {-1, -1}, ready[2] = {-1, -1};
    enum err rc;

    lab->shared = relay_shared_create();
    if (lab->shared == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for the relay");
    }
    if (pipe2(tied, O_CLOEXEC | O_NONBLOCK) != 0 || pipe2(ready, O_CLOEXEC) != 0) {
        rc = lab_relay_bad(text);
    } else {
        lab->tied = tied[1];
        lab_links_changed(lab);
        rc = lab_relay_start(lab, tied, ready, text);
    }
    if (lab->tied < 0) {
        lab_close(&tied[1]);
    }
    lab_close(&tied[0]);
    lab_close(&ready[0]);
    lab_close(&ready[1]);
    return rc;
}

static void lab_relay_ended(int events, void *user)
{
    struct lab *lab = user;

    (void)events;
    loop_poll_want(lab->relay_poll, 0);
    LOG_ERR("lab", "the relay has ended by itself");
    lab->config.over("the relay has ended by itself", lab->config.user);
}

/* Setting up. */

/* Sockets for questions belong to the namespace in which they were made. */
static enum err lab_queues_open(struct lab *lab, struct err_text *text)
{
    enum err rc = OK;

    for (uint32_t r = 0; rc == OK && r < lab->plan->regions; r++) {
        if (setns(lab->net.routers[r].ns, CLONE_NEWNET) == 0) {
            lab->queues[r] = lab_queue_open();
        }
        if (lab->queues[r] < 0) {
            rc = err_text_set(text, ERR_IO, "a router cannot be asked: %s", strerror(errno));
        }
    }
    if (setns(lab->net.home, CLONE_NEWNET) != 0) {
        rc =
            err_text_set(text, ERR_IO, "cannot return to the first namespace: %s", strerror(errno));
    }
    return rc;
}

static void lab_every(struct loop_timer *timer, void *user)
{
    struct lab *lab = user;
    json_t *status = lab_status(lab);

    if (status != NULL) {
        lab->config.said(status, lab->config.user);
    }
    loop_timer_start_in(timer, lab->config.every_ns);
}

static enum err lab_watch(struct lab *lab, struct err_text *text)
{
    enum err rc = text_init(&lab->batch, LAB_TEXT_BYTES_MAX);

    if (rc == OK) {
        rc = loop_timer_init(&lab->every, lab->config.loop, lab_every, lab);
    }
    if (rc == OK) {
        rc = loop_poll_create(lab->config.loop, lab->relay_fd, lab_relay_ended, lab,
                              &lab->relay_poll);
    }
    if (rc != OK) {
        return err_text_set(text, rc, "a lab cannot be watched: %s", err_string(rc));
    }
    loop_poll_want(lab->relay_poll, LOOP_READABLE);
    if (lab->config.every_ns > 0) {
        loop_timer_start_in(&lab->every, lab->config.every_ns);
    }
    return OK;
}

/* The plan is still the caller's if it fails. */
static void lab_release(struct lab *lab)
{
    const struct lab_inside inside = {.numbers = lab->net.numbers, .count = lab->net.numbers_count};
    uint32_t left = 0;

    lab_orders_deinit(lab);
    loop_timer_deinit(&lab->every);
    loop_poll_destroy(lab->relay_poll);
    if (inside.count > 0) {
        (void)lab_inside_end(&inside, LAB_PATIENCE_MS, &left);
    }
    if (left > 0) {
        LOG_WRN("lab", "%u processes inside cannot be ended", left);
    }
    lab_close(&lab->tied);
    if (lab->relay > 0) {
        (void)waitpid(lab->relay, NULL, 0);
    }
    lab_close(&lab->relay_fd);
    for (uint32_t r = 0; r < LAB_REGIONS_MAX; r++) {
        lab_close(&lab->queues[r]);
    }
    relay_shared_destroy(lab->shared);
    lab_net_destroy(&lab->net);
    text_deinit(&lab->batch);
    mem_free(lab);
}

enum err lab_create(const struct lab_config *config, struct lab **lab_out, struct err_text *text)
{
    struct lab *lab = mem_zalloc(sizeof(*lab));
    enum err rc;

    if (lab == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a lab");
    }
    lab->config = *config;
    lab->plan = config->plan;
    lab->relay_fd = -1;
    lab->tied = -1;
    lab->since_us = clock_wall_us();
    for (uint32_t r = 0; r < LAB_REGIONS_MAX; r++) {
        lab->queues[r] = -1;
    }
    lab_orders_init(lab);
    rc = lab_net_create(lab->plan, &lab->net, text);
    if (rc == OK) {
        rc = lab_queues_open(lab, text);
    }
    if (rc == OK) {
        rc = lab_relay_create(lab, text);
    }
    if (rc == OK) {
        rc = lab_watch(lab, text);
    }
    if (rc != OK) {
        lab_release(lab);
        return rc;
    }
    *lab_out = lab;
    return OK;
}

void lab_destroy(struct lab *lab)
{
    if (lab != NULL) {
        struct lab_plan *plan = lab->plan;

        lab_release(lab);
        mem_free(plan);
    }
}
