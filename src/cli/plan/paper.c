/* strait plan paper: the tables and figures of the paper on APSP. */

#include "cli/plan/paper.h"

#include "cli/command/commands.h"
#include "run/record/record.h"
#include "run/report/page.h"

static void paper_progress(double part, void *user)
{
    struct cli_context *ctx = user;

    if (ctx->progress) {
        (void)fprintf(ctx->err, "\r\033[Kplacing servers: %.0f %%", part * 100);
        (void)fflush(ctx->err);
    }
}

static void paper_progress_end(struct cli_context *ctx)
{
    if (ctx->progress) {
        (void)fprintf(ctx->err, "\r\033[K");
        (void)fflush(ctx->err);
    }
}

/* Files. */

static const struct paper_file {
    const char *name;
    void (*print)(const struct cli_paper *p, struct text *out); /* NULL: the page. */
} paper_files[] = {
    {"table3.csv", cli_paper_table3},
    {"fig4.csv", cli_paper_fig4},
    {"fig5.csv", cli_paper_fig5},
    {"fig6.csv", cli_paper_fig6},
    {"fig5.svg", cli_paper_svg5},
    {"fig6.svg", cli_paper_svg6},
    {"index.html", NULL},
};

enum { PAPER_FILES = sizeof(paper_files) / sizeof(paper_files[0]) };

static enum err paper_write(const struct cli_paper *p, const char *dir, const struct paper_file *f,
                            struct err_text *text)
{
    struct text out;
    enum err rc = text_init(&out, RUN_PAGE_BYTES_MAX);

    if (rc == OK && f->print != NULL) {
        f->print(p, &out);
    } else if (rc == OK) {
        rc = cli_paper_page(p, &out);
    }
    rc = rc == OK && out.failed ? ERR_NOMEM : rc;
    rc = rc == OK ? run_folder_put(dir, f->name, out.chars, out.size, text)
                  : err_text_set(text, rc, "out of memory");
    text_deinit(&out);
    return rc;
}

static enum err paper_write_all(const struct cli_paper *p, const char *dir, struct err_text *text)
{
    enum err rc = OK;

    for (uint32_t i = 0; i < PAPER_FILES && rc == OK; i++) {
        rc = paper_write(p, dir, &paper_files[i], text);
    }
    return rc;
}

static enum cli_exit paper_told(struct cli_context *ctx, const struct cli_paper *p, const char *dir)
{
    json_t *all;

    if (ctx->json) {
        all = cli_paper_json(p);
        if (all != NULL && dir != NULL) {
            (void)json_object_set_new(all, "output", json_string(dir));
        }
        return cli_json(ctx, all);
    }
    cli_paper_view(ctx, p);
    if (dir != NULL) {
        cli_note(ctx, "wrote %s/index.html, with its tables as CSV beside it", dir);
    }
    return CLI_DONE;
}

static enum cli_exit paper_failed(struct cli_context *ctx, enum err rc, enum cli_error_id id,
                                  const struct err_text *text)
{
    return cli_error(ctx, rc == ERR_NOMEM ? CLI_ERROR_NO_MEMORY : id, NULL, "%s", text->text);
}

static enum cli_exit paper_run(struct cli_context *ctx)
{
    const char *dir = cli_text(ctx, "output");
    struct err_text text = {""};
    struct cli_paper paper;
    enum cli_exit status;
    enum err rc = dir == NULL ? OK : run_folder_make(dir, &text); /* Before any work. */

    if (rc != OK) {
        return paper_failed(ctx, rc, CLI_ERROR_FILE, &text);
    }
    rc = cli_paper_solve(&paper, paper_progress, ctx, &text);
    paper_progress_end(ctx);
    if (rc != OK) {
        status = paper_failed(ctx, rc, CLI_ERROR_BENCH, &text);
    } else {
        rc = dir == NULL ? OK : paper_write_all(&paper, dir, &text);
        status =
            rc == OK ? paper_told(ctx, &paper, dir) : paper_failed(ctx, rc, CLI_ERROR_FILE, &text);
    }
    cli_paper_deinit(&paper);
    return status;
}

const struct cli_command cli_command_plan_paper = {
    .path = "plan paper",
    .summary = "repeat the tables and figures of the paper on APSP",
    .paragraphs =
        (const char *const[]){
            "Where to put the server on B4 and Internet2, for four models: at random, where the "
            "most links are, by the paper's algorithm, and at the best place there is, proven; by "
            "the paper's model and by the one that relays really follow. Then the same for rates "
            "that differ less and less, and for paths instead of places. The paper's figures are "
            "beside ours, and what differs is said.",
            "With --output a folder gets table3.csv, fig4.csv, fig5.csv, fig6.csv, two of the "
            "figures as SVG and index.html with all of it. Nothing is random: every run writes the "
            "same files.",
            NULL},
    .options = (const struct cli_option[]){{.name = "output",
                                            .letter = 'o',
                                            .placeholder = "DIR",
                                            .kind = CLI_DIR,
                                            .help = "a folder for tables, figures and a page"},
                                           {0}},
    .examples = (const struct cli_example[]){{"strait plan paper", "the tables"},
                                             {"strait plan paper -o apsp",
                                              "and a page with maps and figures, apsp/index.html"},
                                             {0}},
    .run = paper_run,
};
