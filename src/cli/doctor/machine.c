#include "cli/doctor/machine.h"

#include <inttypes.h>
#include <openssl/opensslconf.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

bool machine_read(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    bool ok;

    if (file == NULL) {
        return false;
    }
    ok = fgets(out, (int)size, file) != NULL;
    (void)fclose(file);
    if (ok) {
        out[strcspn(out, "\n")] = '\0';
    }
    return ok;
}

bool machine_read_number(const char *path, int64_t *out)
{
    char line[64];

    return machine_read(path, line, sizeof(line)) && sscanf(line, "%" SCNd64, out) == 1;
}

/* Limits of the control group and of those above it; UINT64_MAX: there are none. */
static uint64_t machine_group_max(void)
{
    char path[512] = "", line[512], file[1100];
    FILE *groups = fopen("/proc/self/cgroup", "re");
    uint64_t least = UINT64_MAX;
    int64_t bytes;

    while (groups != NULL && fgets(line, sizeof(line), groups) != NULL) {
        if (sscanf(line, "0::%511s", path) != 1) {
            (void)sscanf(line, "%*d:memory:%511s", path);
        }
    }
    if (groups != NULL) {
        (void)fclose(groups);
    }
    for (char *slash = path; slash != NULL;) {
        static const char *const forms[][2] = {
            {"/sys/fs/cgroup", "memory.max"},
            {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
        };

        slash = strrchr(path, '/');
        for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
            (void)snprintf(file, sizeof(file), "%s%s/%s", forms[i][0], path, forms[i][1]);
            if (machine_read_number(file, &bytes) && bytes > 0 && (uint64_t)bytes < least) {
                least = (uint64_t)bytes;
            }
        }
        if (slash != NULL) {
            *slash = '\0';
        }
    }
    return least;
}

/* What a limit of the process leaves, whose use is the @field-th number of /proc/self/statm. */
static uint64_t machine_limit_left(__rlimit_resource_t resource, int field)
{
    uint64_t pages[6] = {0}, used;
    struct rlimit limit;
    char line[256];

    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        !machine_read("/proc/self/statm", line, sizeof(line)) ||
        sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5]) != 6) {
        return UINT64_MAX;
    }
    used = pages[field] * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

uint64_t machine_memory_max(bool *limited_out)
{
    enum { STATM_SIZE = 0, STATM_DATA = 5 };
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t all = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    uint64_t limits[] = {machine_group_max(), machine_limit_left(RLIMIT_AS, STATM_SIZE),
                         machine_limit_left(RLIMIT_DATA, STATM_DATA)};
    uint64_t least = all;

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        least = limits[i] < least ? limits[i] : least;
    }
    *limited_out = least < all;
    return least;
}

bool machine_has_word(const char *list, const char *word)
{
    size_t wanted = strlen(word);

    for (size_t size; *list != '\0'; list += size) {
        list += strspn(list, " \t");
        size = strcspn(list, " \t");
        if (size == wanted && size > 0 && strncmp(list, word, size) == 0) {
            return true;
        }
    }
    return false;
}

bool machine_ktls_library(void)
{
#ifdef OPENSSL_NO_KTLS
    return false;
#else
    return true;
#endif
}

bool machine_ktls_kernel(void)
{
    static const char *const suffixes[] = {"", ".xz", ".zst", ".gz"};
    struct utsname name;
    char line[256];

    if (machine_read("/proc/sys/net/ipv4/tcp_available_ulp", line, sizeof(line)) &&
        machine_has_word(line, "tls")) {
        return true;
    }
    if (uname(&name) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        (void)snprintf(line, sizeof(line), "/lib/modules/%s/kernel/net/tls/tls.ko%s", name.release,
                       suffixes[i]);
        if (access(line, R_OK) == 0) {
            return true;
        }
    }
    return false;
}
