/* Checks of the machine: processor, memory, limits, clock, randomness. Containers count: what the
 * control group allows is what there is. */

#include "cli/doctor/doctor.h"
#include "cli/doctor/machine.h"
#include "net/entropy.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>

enum { MACHINE_FILES_WANTED = 4096, MACHINE_FILES_LEAST = 256, MACHINE_MIB = 1024 * 1024 };

static void machine_open_files(struct doctor *d)
{
    struct rlimit limit;
    enum doctor_verdict verdict;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        doctor_report(d, DOCTOR_WARN, "open files", NULL, "not known: %s", strerror(errno));
        return;
    }
    verdict = limit.rlim_cur >= MACHINE_FILES_WANTED  ? DOCTOR_OK
              : limit.rlim_cur >= MACHINE_FILES_LEAST ? DOCTOR_WARN
                                                      : DOCTOR_FAIL;
    doctor_report(d, verdict, "open files",
                  verdict == DOCTOR_OK ? NULL
                                       : "ulimit -n 65536, or LimitNOFILE=65536 in a systemd unit",
                  "%" PRIu64 " (a peer takes one per stream)", (uint64_t)limit.rlim_cur);
}

static void machine_cores(struct doctor *d)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    int64_t quota = 0, period = 0;
    char line[64];

    if (machine_read("/sys/fs/cgroup/cpu.max", line, sizeof(line)) &&
        sscanf(line, "%" SCNd64 " %" SCNd64, &quota, &period) == 2 && period > 0 &&
        quota < cores * period) {
        doctor_report(d, DOCTOR_WARN, "cores",
                      "raise the processor limit of the container, or use fewer lanes",
                      "%d, but the control group allows %.1f", cores,
                      (double)quota / (double)period);
        return;
    }
    doctor_report(d, cores > 1 ? DOCTOR_OK : DOCTOR_WARN, "cores",
                  cores > 1 ? NULL : "network and training will share it: expect less of both",
                  "%d", cores);
}

/* Available memory in bytes, or -1. */
static int64_t machine_memory_available(void)
{
    int64_t kib = -1, max = 0, used = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];

    while (file != NULL && kib < 0 && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "MemAvailable: %" SCNd64, &kib) != 1) {
            kib = -1;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    /* "max" is no number: then there is no limit. */
    if (machine_read_number("/sys/fs/cgroup/memory.max", &max) &&
        machine_read_number("/sys/fs/cgroup/memory.current", &used) && kib >= 0 &&
        max - used < kib * 1024) {
        return max > used ? max - used : 0;
    }
    return kib < 0 ? -1 : kib * 1024;
}

static void machine_memory(struct doctor *d)
{
    int64_t bytes = machine_memory_available();
    enum doctor_verdict verdict = bytes >= INT64_C(1024) * MACHINE_MIB  ? DOCTOR_OK
                                  : bytes >= INT64_C(256) * MACHINE_MIB ? DOCTOR_WARN
                                                                        : DOCTOR_FAIL;

    if (bytes < 0) {
        doctor_report(d, DOCTOR_WARN, "memory", NULL, "not known: /proc/meminfo cannot be read");
        return;
    }
    doctor_report(d, verdict, "memory",
                  verdict == DOCTOR_OK ? NULL : "free some, or choose a larger machine",
                  "%.1f GiB available", (double)bytes / (1024.0 * MACHINE_MIB));
}

static void machine_huge_pages(struct doctor *d)
{
    char line[64];
    bool known = machine_read("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line));
    bool off = known && strstr(line, "[never]") != NULL;

    if (!known) {
        doctor_report(d, DOCTOR_OK, "huge pages", NULL, "not offered by this kernel");
        return;
    }
    doctor_report(
        d, off ? DOCTOR_WARN : DOCTOR_OK, "huge pages",
        off ? "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root); large "
              "models gain"
            : NULL,
        "%s", line);
}

static void machine_shared_memory(struct doctor *d)
{
    struct statvfs fs;
    uint64_t bytes;

    if (statvfs("/dev/shm", &fs) != 0) {
        doctor_report(d, DOCTOR_WARN, "/dev/shm", "mount a tmpfs there: data loaders use it",
                      "not there: %s", strerror(errno));
        return;
    }
    bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    doctor_report(d, bytes >= UINT64_C(256) * MACHINE_MIB ? DOCTOR_OK : DOCTOR_WARN, "/dev/shm",
                  bytes >= UINT64_C(256) * MACHINE_MIB
                      ? NULL
                      : "docker run --shm-size=1g: data loaders of training frameworks use it",
                  "%.2f GiB free", (double)bytes / (1024.0 * MACHINE_MIB));
}

static void machine_clock(struct doctor *d)
{
    struct timex tx = {.modes = 0};
    int state = adjtimex(&tx);

    if (state < 0) {
        doctor_report(d, DOCTOR_WARN, "clock", NULL, "not known: %s", strerror(errno));
        return;
    }
    if (state == TIME_ERROR || (tx.status & STA_UNSYNC) != 0) {
        doctor_report(d, DOCTOR_WARN, "clock",
                      "run chrony or systemd-timesyncd: certificates and logs need the right time",
                      "not synchronised, as far as the kernel knows");
        return;
    }
    doctor_report(d, DOCTOR_OK, "clock", NULL, "synchronised, at most %.1f ms off",
                  (double)tx.maxerror / 1000.0);
}

static void machine_random(struct doctor *d)
{
    uint64_t number;

    if (entropy_u64(&number) != OK) {
        doctor_report(d, DOCTOR_FAIL, "randomness",
                      "look at /dev/urandom and at the configuration of OpenSSL",
                      "the system gives none: no keys can be made");
        return;
    }
    doctor_report(d, DOCTOR_OK, "randomness", NULL, "there");
}

void doctor_machine(struct doctor *d)
{
    machine_cores(d);
    machine_memory(d);
    machine_open_files(d);
    machine_huge_pages(d);
    machine_shared_memory(d);
    machine_clock(d);
    machine_random(d);
}
