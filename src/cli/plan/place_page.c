/* The page of `strait plan place`. */

#include "base/mem.h"
#include "cli/output/file.h"
#include "cli/plan/place.h"
#include "run/map/plan_page.h"

#include <string.h>

static enum cli_exit page_put(struct cli_context *ctx, const char *path, const struct text *page)
{
    struct err_text text = {""};

    if (strcmp(path, "-") == 0) {
        cli_out(ctx, "%s", page->chars);
        return CLI_DONE;
    }
    return cli_file_write(path, page->chars, page->size, &text) == OK
               ? CLI_DONE
               : cli_error(ctx, CLI_ERROR_FILE, NULL, "the page was not written: %s", text.text);
}

enum cli_exit cli_place_page(const struct cli_place *p)
{
    const char *path = cli_text(p->ctx, "html");
    const char **names = mem_calloc(p->graph->nodes_count, sizeof(*names));
    struct run_plan_page page = {.file = p->file,
                                 .names = names,
                                 .problem = &p->problem,
                                 .effort = &p->effort,
                                 .answer = &p->answer};
    enum cli_exit status;
    struct text out = {0};

    for (uint32_t n = 0; n < p->graph->nodes_count && names != NULL; n++) {
        names[n] = p->labels[n].chars;
    }
    if (names == NULL || text_init(&out, RUN_PAGE_BYTES_MAX) != OK ||
        run_plan_page(&page, &out) != OK) {
        status = cli_error(p->ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot write the page");
    } else if (out.failed) {
        status = cli_error(p->ctx, CLI_ERROR_FILE, NULL,
                           "the page was not written: of %u regions it is larger than %d MiB",
                           p->graph->nodes_count, RUN_PAGE_BYTES_MAX >> 20);
    } else {
        status = page_put(p->ctx, path, &out);
    }
    text_deinit(&out);
    mem_free(names);
    return status;
}
