/* strait report: the page of a record. */

#include "run/report/report.h"

#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "run/record/record.h"
#include "run/report/page.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Where the page goes; "-" is standard output. */
static enum cli_exit report_write(struct cli_context *ctx, const char *path,
                                  const struct text *page)
{
    FILE *f;
    bool good;

    if (strcmp(path, "-") == 0) {
        cli_out(ctx, "%s", page->chars);
        return CLI_DONE;
    }
    f = fopen(path, "we");
    good = f != NULL && fwrite(page->chars, 1, page->size, f) == page->size;
    good = f != NULL && fclose(f) == 0 && good;
    return good ? CLI_DONE : cli_error(ctx, CLI_ERROR_FILE, NULL, "%s: %s", path, strerror(errno));
}

static enum cli_exit report_place(struct cli_context *ctx, const char *dir, const struct text *page)
{
    struct err_text text = {""};

    return run_folder_put(dir, "report.html", page->chars, page->size, &text) == OK
               ? CLI_DONE
               : cli_error(ctx, CLI_ERROR_FILE, "strait report RECORD -o page.html", "%s",
                           text.text);
}

/* What was read and written. */
static enum cli_exit report_told(struct cli_context *ctx, const struct run_reading *r,
                                 const char *path)
{
    json_t *torn = json_array();

    for (uint32_t i = 0; i < r->torn_count; i++) {
        cli_note(ctx, "%s", r->torn[i].text);
        (void)json_array_append_new(torn, json_string(r->torn[i].text));
    }
    if (!r->finished) {
        cli_note(ctx, "the run has not come to its end: the page shows how far it came");
    }
    if (ctx->json) {
        return cli_json(ctx, json_pack("{s:s, s:s, s:b, s:s?, s:o}", "record", cli_argument(ctx, 0),
                                       "report", path, "finished", (int)r->finished, "end",
                                       r->finished ? r->outcome.end : NULL, "torn", torn));
    }
    json_decref(torn);
    if (strcmp(path, "-") != 0) {
        cli_out(ctx, "%s\n", path);
    }
    return CLI_DONE;
}

static enum cli_exit report_page(struct cli_context *ctx, const struct run_reading *r)
{
    const char *dir = cli_argument(ctx, 0), *said = cli_text(ctx, "output");
    char path[RUN_READING_PATH_BYTES];
    enum cli_exit status;
    struct text page;

    if (text_init(&page, RUN_PAGE_BYTES_MAX) != OK || run_report_print(r, &page) != OK ||
        page.failed) {
        text_deinit(&page);
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot write the page");
    }
    (void)snprintf(path, sizeof(path), "%s/report.html", dir);
    status = said != NULL ? report_write(ctx, said, &page) : report_place(ctx, dir, &page);
    text_deinit(&page);
    return status == CLI_DONE ? report_told(ctx, r, said != NULL ? said : path) : status;
}

static enum cli_exit report_run(struct cli_context *ctx)
{
    const char *dir = cli_argument(ctx, 0), *said = cli_text(ctx, "output");
    struct run_reading *r = NULL;
    struct err_text text = {""};
    enum cli_exit status;
    struct stat st;
    enum err rc;

    if (ctx->json && said != NULL && strcmp(said, "-") == 0) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help report",
                         "--output: with --json the page cannot go to standard output too");
    }
    if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode)) {
        return cli_error(ctx, CLI_ERROR_FILE, "strait help report",
                         "%s is no folder: name the folder of a record", dir);
    }
    rc = run_reading_load(dir, &r, &text);
    if (rc == ERR_NOMEM) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "%s", text.text);
    }
    if (rc != OK) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "%s", text.text);
    }
    status = report_page(ctx, r);
    run_reading_free(r);
    return status;
}

const struct cli_command cli_command_report = {
    .path = "report",
    .summary = "make a page of the record of a run",
    .group = CLI_GROUP_RUN,
    .paragraphs =
        (const char *const[]){
            "Every run leaves report.html in its record: the objective against time, clocks, bytes "
            "and dollars, bytes and utilisation of every link, where each site's time went, and "
            "what happened. It is one file without scripts, light or dark as its reader likes it.",
            "This command writes it anew, from the other files of the record (docs/RECORD.md): for "
            "records of earlier versions, or of runs that still go on or were killed. A last line "
            "that was cut off is left out and named; whatever else is damaged is refused, with the "
            "file and the line.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "RECORD", .help = "the folder of a record", .kind = CLI_DIR}, {0}},
    .options = (const struct cli_option[]){{.name = "output",
                                            .letter = 'o',
                                            .placeholder = "FILE",
                                            .kind = CLI_FILE,
                                            .help = "where to write the page, - for standard "
                                                    "output; default: RECORD/report.html"},
                                           {0}},
    .examples = (const struct cli_example[]){{"strait report here", "write here/report.html"},
                                             {"strait report here -o page.html", "somewhere else"},
                                             {0}},
    .run = report_run,
};
