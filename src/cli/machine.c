#include "cli/machine.h"

#include <inttypes.h>
#include <openssl/opensslconf.h>
#include <stdio.h>
#include <string.h>
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
