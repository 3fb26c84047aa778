/* Tests of the relay: a real process, with pairs of sockets in place of the routers' devices. */

#include "emu/lab/relay.h"

#include "emu/lab/testing.h"
#include "loop/clock.h"

#include <fcntl.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REGIONS = 3, PACKET_BYTES = 10 + 40, WAIT_MS = 60 * 1000 };

struct fixture {
    struct lab_plan *plan;
    struct relay_shared *shared;
    int ours[REGIONS]; /* The routers' side. */
    int theirs[REGIONS];
    int tied;
    pid_t pid;
};

static void start(struct fixture *f, uint64_t bytes_max)
{
    int tied[2], ready[2];
    int8_t said = -1;

    assert_int_equal(pipe2(tied, O_CLOEXEC), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    f->pid = fork();
    if (f->pid == 0) {
        const struct relay_config config = {.plan = f->plan,
                                            .tuns = f->theirs,
                                            .tied = tied[0],
                                            .ready = ready[1],
                                            .bytes_max = bytes_max,
                                            .shared = f->shared};

        (void)close(tied[1]);
        _exit(relay_run(&config) == OK ? 0 : 1);
    }
    (void)close(tied[0]);
    (void)close(ready[1]);
    f->tied = tied[1];
    assert_int_equal(read(ready[0], &said, 1), 1);
    assert_int_equal(said, OK);
    (void)close(ready[0]);
}

static void set_up(struct fixture *f)
{
    *f = (struct fixture){.plan = lab_testing_plan(), .shared = relay_shared_create()};
    assert_non_null(f->shared);
    for (int i = 0; i < REGIONS; i++) {
        int pair[2];

        assert_int_equal(
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        f->ours[i] = pair[0];
        f->theirs[i] = pair[1];
    }
}

static void release(struct fixture *f)
{
    for (int i = 0; i < REGIONS; i++) {
        (void)close(f->ours[i]);
        (void)close(f->theirs[i]);
    }
    relay_shared_destroy(f->shared);
    mem_free(f->plan);
}

static void tear_down(struct fixture *f)
{
    int status = -1;

    (void)close(f->tied);
    assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    release(f);
}

/* A packet of IPv4 to a region, with a number. */
static void packet_to(uint32_t region, uint32_t number, uint8_t out[PACKET_BYTES])
{
    memset(out, 0, PACKET_BYTES);
    out[10] = 0x45;
    out[10 + 16] = 10;
    out[10 + 17] = (uint8_t)(LAB_NET_FIRST + region);
    out[10 + 19] = 2;
    memcpy(out + 10 + 20, &number, sizeof(number));
}

static void send_to(struct fixture *f, uint32_t from, uint32_t to, uint32_t number)
{
    uint8_t packet[PACKET_BYTES];

    packet_to(to, number, packet);
    assert_int_equal(write(f->ours[from], packet, sizeof(packet)), sizeof(packet));
}

/* The number of the next packet at a region. */
static uint32_t receive(struct fixture *f, uint32_t region)
{
    struct pollfd wait = {.fd = f->ours[region], .events = POLLIN};
    uint8_t packet[PACKET_BYTES];
    uint32_t number;

    assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
    assert_int_equal(read(f->ours[region], packet, sizeof(packet)), sizeof(packet));
    memcpy(&number, packet + 10 + 20, sizeof(number));
    return number;
}

static void test_packets_arrive_in_order_and_not_before_their_time(void **state)
{
    const int64_t delay_ns = 20 * 1000 * 1000;
    struct fixture f;
    int64_t sent_ns;

    (void)state;
    set_up(&f);
    atomic_store(&relay_link(f.shared, 0, 1)->delay_ns, delay_ns);
    start(&f, 1 << 24);
    for (uint32_t i = 0; i < 100; i++) {
        send_to(&f, 0, 1, i);
    }
    sent_ns = clock_mono_ns();
    send_to(&f, 0, 1, 100);
    for (uint32_t i = 0; i <= 100; i++) {
        assert_int_equal(receive(&f, 1), i);
    }
    assert_true(clock_mono_ns() - sent_ns >= delay_ns);
    assert_int_equal(atomic_load(&relay_link(f.shared, 0, 1)->packets), 101);
    assert_int_equal(atomic_load(&relay_link(f.shared, 0, 1)->bytes), 101 * 40);
    tear_down(&f);
}

static void test_each_region_gets_its_own_and_strays_get_nowhere(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    start(&f, 1 << 24);
    send_to(&f, 0, 2, 1);  /* Not joined. */
    send_to(&f, 0, 0, 2);  /* To itself. */
    send_to(&f, 0, 50, 3); /* No such region. */
    send_to(&f, 1, 2, 4);
    send_to(&f, 1, 0, 5);
    send_to(&f, 0, 1, 6);
    assert_int_equal(write(f.ours[1], "short", 5), 5);
    send_to(&f, 1, 0, 7);
    assert_int_equal(receive(&f, 2), 4);
    assert_int_equal(receive(&f, 0), 5);
    assert_int_equal(receive(&f, 1), 6);
    assert_int_equal(receive(&f, 0), 7);
    assert_int_equal(atomic_load(&f.shared->strays), 4);
    tear_down(&f);
}

static void test_what_does_not_fit_in_memory_is_dropped_and_counted(void **state)
{
    static uint8_t large[60 * 1000];
    struct fixture f;

    (void)state;
    set_up(&f);
    atomic_store(&relay_link(f.shared, 0, 1)->delay_ns, INT64_C(60000000000));
    start(&f, 1 << 20); /* A few of the largest packets. */
    packet_to(1, 0, large);
    for (uint32_t i = 0; i < 64; i++) {
        struct pollfd wait = {.fd = f.ours[0], .events = POLLOUT};

        assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
        assert_int_equal(write(f.ours[0], large, sizeof(large)), sizeof(large));
    }
    send_to(&f, 1, 0, 9); /* When it is there, those before it were read. */
    assert_int_equal(receive(&f, 0), 9);
    while (atomic_load(&relay_link(f.shared, 0, 1)->packets) +
               atomic_load(&relay_link(f.shared, 0, 1)->dropped) <
           64) {
        (void)poll(NULL, 0, 1);
    }
    assert_true(atomic_load(&relay_link(f.shared, 0, 1)->dropped) >= 64 - 16);
    tear_down(&f);
}

static void test_changes_and_resets_reach_it(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    atomic_store(&relay_link(f.shared, 0, 1)->delay_ns, INT64_C(60000000000));
    start(&f, 1 << 24);
    send_to(&f, 1, 0, 1);
    assert_int_equal(receive(&f, 0), 1);
    atomic_store(&relay_link(f.shared, 0, 1)->delay_ns, 0);
    (void)atomic_fetch_add(&f.shared->changes, 1);
    (void)atomic_fetch_add(&f.shared->resets, 1);
    assert_int_equal(write(f.tied, "w", 1), 1);
    send_to(&f, 0, 1, 2);
    assert_int_equal(receive(&f, 1), 2);
    while (atomic_load(&f.shared->resets_done) != 1) {
        (void)poll(NULL, 0, 1);
    }
    assert_int_equal(atomic_load(&relay_link(f.shared, 1, 0)->packets), 0);
    tear_down(&f);
}

static void test_what_is_handed_over_at_once_counts_as_packets_on_the_wire(void **state)
{
    uint8_t packet[10] = {0};
    struct virtio_net_hdr header = {
        .gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .gso_size = 1448, .hdr_len = 52};
    uint32_t packets = 0, bytes = 0;

    (void)state;
    relay_wire(packet, sizeof(packet) + 100, &packets, &bytes);
    assert_int_equal(packets, 1);
    assert_int_equal(bytes, 100);
    memcpy(packet, &header, sizeof(header));
    relay_wire(packet, sizeof(packet) + 52 + 3 * 1448 + 1, &packets, &bytes);
    assert_int_equal(packets, 4);
    assert_int_equal(bytes, 3 * 1448 + 1 + 4 * 52);
    header.gso_size = 0;
    memcpy(packet, &header, sizeof(header));
    relay_wire(packet, sizeof(packet) + 52, &packets, &bytes);
    assert_int_equal(packets, 1);
}

static void test_without_memory_it_says_so_and_ends(void **state)
{
    int ready[2], tied[2];
    struct fixture f;
    int8_t said = 0;

    (void)state;
    set_up(&f);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(tied, O_CLOEXEC), 0);
    for (uint64_t k = 1; k <= 4; k++) {
        const struct relay_config config = {.plan = f.plan,
                                            .tuns = f.theirs,
                                            .tied = tied[0],
                                            .ready = ready[1],
                                            .bytes_max = 1 << 24,
                                            .shared = f.shared};

        mem_fail_at(k, 1);
        assert_int_equal(relay_run(&config), ERR_NOMEM);
        mem_fail_at(0, 0);
        assert_int_equal(read(ready[0], &said, 1), 1);
        assert_int_equal(said, ERR_NOMEM);
    }
    for (int i = 0; i < 2; i++) {
        (void)close(ready[i]);
        (void)close(tied[i]);
    }
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packets_arrive_in_order_and_not_before_their_time),
        cmocka_unit_test(test_each_region_gets_its_own_and_strays_get_nowhere),
        cmocka_unit_test(test_what_does_not_fit_in_memory_is_dropped_and_counted),
        cmocka_unit_test(test_changes_and_resets_reach_it),
        cmocka_unit_test(test_without_memory_it_says_so_and_ends),
        cmocka_unit_test(test_what_is_handed_over_at_once_counts_as_packets_on_the_wire),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
