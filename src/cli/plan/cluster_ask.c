#include "cli/plan/cluster_ask.h"

#include "base/mem.h"
#include "cli/member/security.h"
#include "cli/status/status.h"

#include <string.h>

enum { ASK_TEXT_BYTES = 1024 };

/* A site that is asked. */
struct ask_call {
    struct ask *ask;
    struct status_site site;
    bool open;      /* .site has to be closed. */
    json_t *report; /* NULL: none yet, or no memory for it. */
};

struct ask {
    struct cli_context *ctx;
    struct cluster_links *links;
    struct ask_call first;
    struct ask_call *others; /* By their number in .links. */
    uint32_t waiting;        /* For so many answers. */
};

static void ask_done(struct status_site *s, json_t *report, void *user)
{
    struct ask_call *call = user;
    struct ask *a = call->ask;

    (void)s;
    call->report = report;
    a->waiting--;
    if (a->waiting == 0) {
        loop_stop(a->first.site.member.loop);
    }
}

static void ask_wait(struct ask *a)
{
    while (a->waiting > 0) {
        loop_run(a->first.site.member.loop);
    }
}

static int64_t ask_timeout_ns(const struct ask *a)
{
    return cli_number(a->ctx, "timeout") * 1000;
}

/* The first site. */

static enum cli_exit ask_no_memory(struct cli_context *ctx)
{
    return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot ask: out of memory");
}

static enum cli_exit ask_first(struct ask *a)
{
    struct status_config config = {.option = "join",
                                   .to = cli_text(a->ctx, "join"),
                                   .role = WIRE_ROLE_OPERATOR,
                                   .name = "links",
                                   .done = ask_done,
                                   .user = &a->first};
    enum cli_exit status = status_open(a->ctx, &a->first.site, &config);
    struct err_text text = {""};

    a->first.open = true;
    if (status != CLI_DONE) {
        return status;
    }
    cli_note(a->ctx, "Asking %s ...", config.to);
    a->waiting = 1;
    status_ask(&a->first.site, ask_timeout_ns(a));
    ask_wait(a);
    if (status_first(a->first.report) == NULL) {
        return status_unreached(&a->first.site);
    }
    if (cluster_links_add(a->links, 0, a->first.report, &text) != OK) {
        return cli_error(a->ctx, CLI_ERROR_NO_LINKS, NULL,
                         "%s: there are no links to plan with: %s", config.to, text.text);
    }
    return CLI_DONE;
}

/* The others. */

/* What came from elsewhere stays on its line. */
static void ask_note(struct ask *a, uint32_t site, const char *why)
{
    char chars[ASK_TEXT_BYTES];
    struct text line;

    text_init_fixed(&line, chars, sizeof(chars));
    text_addf(&line, "note: site %s", a->links->sites[site].name);
    if (a->links->sites[site].address[0] != '\0') {
        text_add(&line, " at ");
        text_add_printable(&line, a->links->sites[site].address);
    }
    text_add(&line, " could not be asked: ");
    text_add_printable(&line, why);
    cli_note(a->ctx, "%s", chars);
}

/* Where a site is, as another one says; or why it is not asked there. Nobody else may send us to a
 * socket of this machine that is no site's. */
static const char *ask_where(const struct ask *a, const char *chars, struct net_address *out)
{
    enum net_scheme joined = a->first.site.lanes[0]->address.scheme;
    enum net_scheme scheme = joined == NET_SCHEME_TLS ? NET_SCHEME_TLS : NET_SCHEME_TCP;
    bool bare = strstr(chars, "://") == NULL && strncmp(chars, "unix:", 5) != 0;
    char full[NET_ADDRESS_BYTES + 8];

    if (chars[0] == '\0') {
        return "nobody says where it is";
    }
    (void)snprintf(full, sizeof(full), "%s%s%s", bare ? net_scheme_name(scheme) : "",
                   bare ? "://" : "", chars);
    if (net_address_parse(full, out, NULL) != OK ||
        (out->scheme != scheme && out->scheme != joined)) {
        return "that is not an address of the kind of --join";
    }
    return security_objection(a->ctx, out);
}

static enum err ask_other(struct ask *a, uint32_t site)
{
    struct ask_call *call = &a->others[site];
    struct net_address to;
    const char *objection = ask_where(a, a->links->sites[site].address, &to);
    enum err rc;

    if (objection != NULL) {
        ask_note(a, site, objection);
        return OK;
    }
    call->ask = a;
    call->open = true;
    rc = status_open_beside(&call->site, &a->first.site, &to, ask_done, call);
    if (rc == OK) {
        a->waiting++;
        status_ask(&call->site, ask_timeout_ns(a));
    }
    return rc;
}

static void ask_take(struct ask *a, uint32_t site)
{
    struct ask_call *call = &a->others[site];
    struct err_text text = {""};

    if (!call->open) {
        return;
    }
    if (status_first(call->report) == NULL) {
        const char *last_error = call->site.lanes[0]->last_error.text;

        ask_note(a, site, last_error[0] != '\0' ? last_error : "no answer in time");
    } else if (cluster_links_add(a->links, site, call->report, &text) != OK) {
        ask_note(a, site, text.text);
    }
}

static enum cli_exit ask_others(struct ask *a)
{
    enum err rc = OK;

    a->others = mem_calloc(a->links->count, sizeof(*a->others));
    if (a->others == NULL) {
        return ask_no_memory(a->ctx);
    }
    for (uint32_t i = 0; i < a->links->count && rc == OK; i++) {
        rc = i == a->links->first ? OK : ask_other(a, i);
    }
    ask_wait(a);
    for (uint32_t i = 0; i < a->links->count && rc == OK; i++) {
        ask_take(a, i);
    }
    return rc == OK ? CLI_DONE : ask_no_memory(a->ctx);
}

/* The whole. */

static void ask_close(struct ask_call *call)
{
    if (call->open) {
        status_close(&call->site);
    }
    json_decref(call->report);
}

enum cli_exit cluster_ask(struct cli_context *ctx, struct cluster_links **links_out)
{
    struct ask a = {.ctx = ctx, .links = cluster_links_create()};
    enum cli_exit status;

    if (a.links == NULL) {
        return ask_no_memory(ctx);
    }
    a.first.ask = &a;
    status = ask_first(&a);
    if (status == CLI_DONE) {
        status = ask_others(&a);
    }
    for (uint32_t i = 0; a.others != NULL && i < a.links->count; i++) {
        ask_close(&a.others[i]);
    }
    ask_close(&a.first);
    mem_free(a.others);
    if (status == CLI_DONE) {
        *links_out = a.links;
    } else {
        cluster_links_destroy(a.links);
    }
    return status;
}

enum cli_exit cluster_ask_graph(struct cli_context *ctx, const struct cluster_links *links,
                                struct topo_graph **graph_out)
{
    const char *join = cli_text(ctx, "join");
    double assume_mbps = (double)cli_number(ctx, "assume") * 1e-6;
    struct err_text text = {""};
    enum err rc = cluster_links_graph(links, join, assume_mbps, graph_out, &text);

    if (rc == ERR_NOMEM) {
        return ask_no_memory(ctx);
    }
    return rc == OK ? CLI_DONE
                    : cli_error(ctx, CLI_ERROR_NO_LINKS, "strait plan links --help", "%s: %s", join,
                                text.text);
}
