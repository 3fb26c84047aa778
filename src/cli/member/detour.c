#include "cli/member/detour.h"

#include "cli/output/file.h"
#include "net/detour.h"

enum cli_exit cli_detours_read(struct cli_context *ctx)
{
    const char *path = cli_text(ctx, "detours");
    struct net_detours *detours = NULL;
    struct err_text text = {""};
    struct text list;
    enum err rc;

    if (path == NULL) {
        return CLI_DONE;
    }
    rc = cli_file_read(path, NET_DETOURS_BYTES_MAX, &list, &text);
    if (rc != OK) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "--detours: %s", text.text);
    }
    rc = net_detours_parse(path, list.chars, list.size, &detours, &text);
    text_deinit(&list);
    ctx->detours = detours;
    return rc == OK ? CLI_DONE
                    : cli_error(ctx, rc == ERR_NOMEM ? CLI_ERROR_NO_MEMORY : CLI_ERROR_SETTINGS,
                                NULL, "--detours: %s", text.text);
}
