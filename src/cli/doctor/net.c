/* Checks of the network as this machine sees it: TCP settings of the kernel, interfaces, and which
 * address others would be told. */

#include "cli/doctor/doctor.h"
#include "cli/doctor/machine.h"
#include "cli/member/advertise.h"

#include <inttypes.h>
#include <string.h>
#include <uv.h>

enum {
    NET_BUFFER_WANTED = 16 * 1024 * 1024, /* For 1 Gbit/s over 100 ms, with the kernel's share. */
    NET_MTU_WANTED = 1500,
    NET_MTU_LEAST = 1280, /* IPv6 needs it. */
};

/* What one stream can carry over a round trip of 100 ms with a window of @bytes, in Mbit/s. */
static double net_mbit_at_100ms(int64_t bytes)
{
    return (double)bytes * 8 / 0.1 / 1e6;
}

static void net_congestion(struct doctor *d)
{
    char current[64], available[256];

    if (!machine_read("/proc/sys/net/ipv4/tcp_congestion_control", current, sizeof(current)) ||
        !machine_read("/proc/sys/net/ipv4/tcp_available_congestion_control", available,
                      sizeof(available))) {
        doctor_report(d, DOCTOR_WARN, "congestion", NULL, "not known: /proc/sys cannot be read");
        return;
    }
    if (strcmp(current, "cubic") != 0 && strcmp(current, "bbr") != 0) {
        doctor_report(d, DOCTOR_WARN, "congestion",
                      "sysctl -w net.ipv4.tcp_congestion_control=cubic (or bbr)",
                      "%s; available: %s", current, available);
        return;
    }
    doctor_report(
        d, DOCTOR_OK, "congestion", NULL, "%s; available: %s%s", current, available,
        machine_has_word(available, "bbr") ? "" : " (modprobe tcp_bbr adds bbr, for lossy links)");
}

/* The third number of tcp_rmem or tcp_wmem, or -1. */
static int64_t net_buffer_max(const char *path)
{
    int64_t max;
    char line[96];

    return machine_read(path, line, sizeof(line)) && sscanf(line, "%*d %*d %" SCNd64, &max) == 1
               ? max
               : -1;
}

static void net_buffers(struct doctor *d)
{
    static const struct {
        const char *check, *path, *remedy;
    } sides[] = {
        {"receive buffer", "/proc/sys/net/ipv4/tcp_rmem",
         "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 33554432\""},
        {"send buffer", "/proc/sys/net/ipv4/tcp_wmem",
         "sysctl -w net.ipv4.tcp_wmem=\"4096 65536 33554432\""},
    };
    int64_t fixed;

    for (size_t i = 0; i < 2; i++) {
        int64_t max = net_buffer_max(sides[i].path);

        if (max < 0) {
            doctor_report(d, DOCTOR_WARN, sides[i].check, NULL, "not known: %s cannot be read",
                          sides[i].path);
            continue;
        }
        doctor_report(d, max >= NET_BUFFER_WANTED ? DOCTOR_OK : DOCTOR_WARN, sides[i].check,
                      max >= NET_BUFFER_WANTED ? NULL : sides[i].remedy,
                      "grows to %.1f MiB: about %.0f Mbit/s per stream over 100 ms",
                      (double)max / 0x1p20, net_mbit_at_100ms(max / 2));
    }
    if (machine_read_number("/proc/sys/net/core/rmem_max", &fixed)) {
        doctor_report(
            d, DOCTOR_OK, "fixed buffers", NULL,
            "at most %.1f MiB when set by hand (net.core.rmem_max); Strait leaves them to "
            "the kernel by default",
            (double)fixed / 0x1p20);
    }
}

static void net_ktls(struct doctor *d)
{
    if (!machine_ktls_library()) {
        doctor_report(d, DOCTOR_WARN, "kTLS", NULL, "OpenSSL was built without it");
    } else if (!machine_ktls_kernel()) {
        doctor_report(d, DOCTOR_WARN, "kTLS", "modprobe tls (as root)",
                      "the kernel has no module \"tls\": encryption takes more processor time");
    } else {
        doctor_report(d, DOCTOR_OK, "kTLS", NULL, "there");
    }
}

static void net_address_text(const uv_interface_address_t *a, char *out, size_t size)
{
    if (a->address.address4.sin_family == AF_INET) {
        (void)uv_ip4_name(&a->address.address4, out, size);
    } else {
        (void)uv_ip6_name(&a->address.address6, out, size);
    }
}

static bool net_is_ipv4(const uv_interface_address_t *a)
{
    return a->address.address4.sin_family == AF_INET;
}

static void net_mtu(struct doctor *d, const char *interface)
{
    char path[128], check[80];
    int64_t mtu;

    (void)snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", interface);
    (void)snprintf(check, sizeof(check), "MTU %s", interface);
    if (!machine_read_number(path, &mtu)) {
        doctor_report(d, DOCTOR_WARN, check, NULL, "not known: %s cannot be read", path);
        return;
    }
    doctor_report(d,
                  mtu >= NET_MTU_WANTED  ? DOCTOR_OK
                  : mtu >= NET_MTU_LEAST ? DOCTOR_WARN
                                         : DOCTOR_FAIL,
                  check,
                  mtu >= NET_MTU_WANTED
                      ? NULL
                      : "a tunnel? Make sure that the far end is told (MSS clamping, or path MTU "
                        "discovery not blocked)",
                  "%" PRId64 " bytes", mtu);
}

static void net_interfaces(struct doctor *d, const uv_interface_address_t *list, int count)
{
    bool ipv6 = false;
    char text[64];

    for (int i = 0; i < count; i++) {
        bool seen = false;

        net_address_text(&list[i], text, sizeof(text));
        ipv6 = ipv6 ||
               (!list[i].is_internal && !net_is_ipv4(&list[i]) && strncmp(text, "fe80", 4) != 0);
        for (int j = 0; j < i; j++) {
            seen = seen || strcmp(list[i].name, list[j].name) == 0;
        }
        if (!seen && !list[i].is_internal) {
            net_mtu(d, list[i].name);
        }
    }
    doctor_report(d, DOCTOR_OK, "IPv6", NULL,
                  ipv6 ? "there" : "no global address: peers must be reached by IPv4");
}

static bool net_is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 ||
           strcmp(address, "localhost") == 0 || strcmp(address, "0.0.0.0") == 0 ||
           strcmp(address, "::") == 0;
}

static void net_advertised(struct doctor *d, const uv_interface_address_t *chosen,
                           const char *wanted)
{
    char text[64] = "";

    if (wanted != NULL && net_is_loopback(wanted)) {
        doctor_report(d, DOCTOR_FAIL, "own address", "name an address that others can reach",
                      "%s means another machine to everybody else: it is never advertised", wanted);
        return;
    }
    if (wanted == NULL && chosen == NULL) {
        doctor_report(d, DOCTOR_WARN, "own address",
                      "fine on one machine; otherwise bring up an interface, or use --address",
                      "only loopback: nobody else can reach this machine");
        return;
    }
    if (wanted == NULL) {
        net_address_text(chosen, text, sizeof(text));
        doctor_report(d, DOCTOR_OK, "own address", NULL,
                      "%s (%s): what others would be told; --address names another", text,
                      chosen->name);
    }
    doctor_reach(d, "reachable", wanted != NULL ? wanted : text);
}

void doctor_net(struct doctor *d, const char *address)
{
    uv_interface_address_t *list = NULL;
    int count = 0;

    net_congestion(d);
    net_buffers(d);
    net_ktls(d);
    if (uv_interface_addresses(&list, &count) != 0) {
        doctor_report(d, DOCTOR_WARN, "interfaces", NULL, "the system does not list them");
        return;
    }
    net_interfaces(d, list, count);
    doctor_reach(d, "loopback", "127.0.0.1");
    net_advertised(d, advertise_best(list, count, false), address);
    uv_free_interface_addresses(list, count);
}
