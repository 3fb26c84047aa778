/* strait version: what this program is made of, for people who report or compare. */

#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "cli/doctor/machine.h"
#include "wire/frame.h"

#include <openssl/crypto.h>
#include <uv.h>
#include <xxhash.h>

#ifdef __clang__
#define VERSION_COMPILER "clang " __clang_version__
#else
#define VERSION_COMPILER "gcc " __VERSION__
#endif

/* A library as it is now, which need not be the one we were built with. */
struct version_library {
    const char *name;
    char version[32];
};

enum { VERSION_LIBRARIES = 4 };

static void version_libraries(struct version_library libraries[VERSION_LIBRARIES])
{
    unsigned xxhash = XXH_versionNumber();

    libraries[0].name = "OpenSSL";
    (void)snprintf(libraries[0].version, sizeof(libraries[0].version), "%s",
                   OpenSSL_version(OPENSSL_VERSION_STRING));
    libraries[1].name = "libuv";
    (void)snprintf(libraries[1].version, sizeof(libraries[1].version), "%s", uv_version_string());
    libraries[2].name = "xxHash";
    (void)snprintf(libraries[2].version, sizeof(libraries[2].version), "%u.%u.%u", xxhash / 10000,
                   xxhash / 100 % 100, xxhash % 100);
    libraries[3].name = "jansson";
    (void)snprintf(libraries[3].version, sizeof(libraries[3].version), "%s", jansson_version_str());
}

static enum cli_exit version_json(struct cli_context *ctx,
                                  const struct version_library libraries[VERSION_LIBRARIES])
{
    json_t *list = json_object();

    for (size_t i = 0; i < VERSION_LIBRARIES; i++) {
        json_object_set_new(list, libraries[i].name, json_string(libraries[i].version));
    }
    return cli_json(ctx, json_pack("{s:s, s:{s:i, s:i}, s:s, s:s, s:s, s:o, s:{s:b, s:b}}",
                                   "version", STRAIT_VERSION, "wire", "min", WIRE_VERSION_MIN,
                                   "max", WIRE_VERSION_MAX, "compiler", VERSION_COMPILER, "build",
                                   STRAIT_BUILD_TYPE, "sanitizers", STRAIT_SANITIZERS, "libraries",
                                   list, "features", "ktls_library", (int)machine_ktls_library(),
                                   "ktls_kernel", (int)machine_ktls_kernel()));
}

static void version_row(struct cli_context *ctx, const char *name, const char *value)
{
    cli_out(ctx, "  %s%-11s%s %s\n", cli_style(ctx->color_out, CLI_FAINT), name,
            cli_style(ctx->color_out, CLI_PLAIN), value);
}

static const char *version_ktls(void)
{
    if (!machine_ktls_library()) {
        return "no: OpenSSL was built without it";
    }
    return machine_ktls_kernel() ? "yes" : "no: the kernel has no module \"tls\"";
}

static enum cli_exit version_run(struct cli_context *ctx)
{
    struct version_library libraries[VERSION_LIBRARIES];
    char wire[32];

    version_libraries(libraries);
    if (ctx->json) {
        return version_json(ctx, libraries);
    }
    (void)snprintf(wire, sizeof(wire), "versions %d to %d", WIRE_VERSION_MIN, WIRE_VERSION_MAX);
    cli_out(ctx, "strait " STRAIT_VERSION "\n");
    version_row(ctx, "wire", wire);
    version_row(ctx, "compiler", VERSION_COMPILER);
    version_row(ctx, "build", STRAIT_BUILD_TYPE);
    version_row(ctx, "sanitizers", *STRAIT_SANITIZERS == '\0' ? "none" : STRAIT_SANITIZERS);
    for (size_t i = 0; i < VERSION_LIBRARIES; i++) {
        version_row(ctx, libraries[i].name, libraries[i].version);
    }
    version_row(ctx, "kTLS", version_ktls());
    return CLI_DONE;
}

const struct cli_command cli_command_version = {
    .path = "version",
    .summary = "print versions: of Strait, of the wire, of the libraries",
    .group = CLI_GROUP_HELP,
    .paragraphs =
        (const char *const[]){
            "Two members can talk if they have a wire version in common, so regions may be "
            "upgraded "
            "at different times. Library versions are those found now, not at build time.",
            NULL},
    .examples =
        (const struct cli_example[]){{"strait version --json", "for a report or a script"}, {0}},
    .run = version_run,
};
