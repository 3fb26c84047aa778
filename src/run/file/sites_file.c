#include "run/file/sites_file.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/units.h"
#include "run/file/state.h"
#include "topo/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SITES_CLOCKS_MAX = 1000000000 };

#define SITES_GB_MAX 1e9

/* Beside what a run file has of a site. */
struct sites_place {
    struct net_address address;
    uint64_t pace_bytes_per_s;
};

struct run_sites {
    struct run_file *f;
    struct sites_place *places;
    struct run_betweens *betweens;
    struct node_between own;
};

static const char *sites_path(struct file_path *path, uint32_t site, const char *key)
{
    (void)snprintf(path->chars, sizeof(path->chars), "sites[%u].%s", site, key);
    return path->chars;
}

/* Reading. */

static enum err sites_name(const struct file_reader *r, uint32_t index)
{
    const struct run_site *s = r->f->sites;
    struct file_path path;
    enum err rc = file_name(r, sites_path(&path, index, "name"), s[index].name);

    for (uint32_t i = 0; i < index && rc == OK; i++) {
        if (strcmp(s[i].name, s[index].name) == 0) {
            rc = file_fail(r, ERR_MALFORMED, path.chars,
                           "sites[%u] is called '%s' too: names have to differ", i, s[i].name);
        }
    }
    return rc;
}

/* An address that other machines can dial. */
static enum err sites_address(const struct file_reader *r, uint32_t index, bool tls,
                              struct sites_place *places)
{
    struct net_address *to = &places[index].address;
    struct err_text why = {""};
    struct file_path path;
    const struct run_yaml *node = file_find(r, sites_path(&path, index, "address"));

    if (node->kind != RUN_YAML_TEXT || node->chars[0] == '\0') {
        return file_fail(r, ERR_MALFORMED, path.chars,
                         "has to be where the site's first server listens, such as "
                         "tls://HOST:PORT");
    }
    if (net_address_parse(node->chars, to, &why) != OK) {
        return file_fail(r, ERR_MALFORMED, path.chars, "%.300s", why.text);
    }
    if (to->scheme != (tls ? NET_SCHEME_TLS : NET_SCHEME_TCP)) {
        return file_fail(r, ERR_MALFORMED, path.chars,
                         tls ? "this server has a certificate: write tls://, as for all sites"
                             : "this server has no certificate: write tcp://, or give it --cert");
    }
    if (strspn(to->port, "0") == strlen(to->port)) {
        return file_fail(r, ERR_MALFORMED, path.chars,
                         "a port is needed: that of the site's first server");
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(to->host, places[i].address.host) == 0 &&
            strcmp(to->port, places[i].address.port) == 0) {
            return file_fail(r, ERR_MALFORMED, path.chars,
                             "site '%s' is there: each site has servers of its own",
                             r->f->sites[i].name);
        }
    }
    return OK;
}

static enum err sites_pace(const struct file_reader *r, uint32_t index, struct sites_place *place)
{
    struct err_text why = {""};
    struct file_path path;
    const struct run_yaml *node = file_find(r, sites_path(&path, index, "pace"));

    if (node == NULL) {
        return OK;
    }
    if (node->kind != RUN_YAML_TEXT ||
        units_rate_parse(node->chars, &place->pace_bytes_per_s, &why) != OK ||
        place->pace_bytes_per_s == 0) {
        return file_fail(r, ERR_MALFORMED, path.chars, "%.300s",
                         why.text[0] == '\0' ? "has to be a rate above zero, such as 100mbit"
                                             : why.text);
    }
    return OK;
}

/* The site that reads it is one of them. */
static enum err sites_self(const struct file_reader *r, const char *site, uint32_t *index_out)
{
    const struct run_file *f = r->f;
    struct nearest near;

    nearest_init(&near, site);
    for (uint32_t i = 0; i < f->sites_count; i++) {
        if (strcmp(f->sites[i].name, site) == 0) {
            *index_out = i;
            return OK;
        }
        nearest_offer(&near, f->sites[i].name);
    }
    return file_fail(r, ERR_MALFORMED, "sites",
                     "this server is of site '%.64s', which is not among them: add it; %.200s",
                     site, nearest_hint(&near, "the sites are"));
}

static enum err sites_figures(const struct file_reader *r)
{
    struct run_file *f = r->f;
    enum err rc = file_number(r, "budget.max_gb", &f->budget.max_gb, 0, 1e-9, SITES_GB_MAX);

    return rc == OK ? file_whole(r, "stop.clocks", &f->stop.clocks, 0, 1, SITES_CLOCKS_MAX) : rc;
}

static enum err sites_read(struct file_reader *r, const struct run_sites_reader *reader,
                           struct sites_place **places_out, uint32_t *self_out)
{
    enum err rc = run_yaml_parse(r->arena, r->name, r->bytes, r->size, &r->root, r->text);

    if (rc == OK) {
        rc = file_check(r);
    }
    if (rc == OK && file_find(r, "sites") == NULL) {
        rc = file_fail(r, ERR_MALFORMED, "",
                       "'sites' is missing: write sites: [{name: NAME, address: tls://HOST:PORT}, "
                       "...], all of them");
    }
    if (rc == OK) {
        rc = file_load(r);
    }
    if (rc == OK) {
        r->f->arena = r->arena;
        r->f->parts = r->f->sites;
        r->f->parts_count = r->f->sites_count;
        *places_out = run_arena_alloc(r->arena, r->f->sites_count, sizeof(**places_out));
        rc = *places_out == NULL ? ERR_NOMEM : sites_figures(r);
    }
    for (uint32_t i = 0; rc == OK && i < r->f->sites_count; i++) {
        rc = sites_name(r, i);
        if (rc == OK) {
            rc = sites_address(r, i, reader->tls, *places_out);
        }
        if (rc == OK) {
            rc = sites_pace(r, i, &(*places_out)[i]);
        }
    }
    if (rc == OK) {
        rc = sites_self(r, reader->site, self_out);
    }
    return rc == OK ? file_between_terms(r) : rc;
}

/* Making. */

static void sites_at(const struct run_file *f, uint32_t site, struct net_address *out, void *user)
{
    const struct sites_place *places = user;

    (void)f;
    *out = places[site].address;
}

static enum err sites_make(struct run_sites *s, const struct run_sites_reader *reader,
                           uint32_t self, struct err_text *text)
{
    double lanes = (double)s->f->sites_count * reader->lanes;
    double bytes = s->f->budget.max_gb * 1e9 / lanes;
    enum err rc = run_betweens_create(s->f, sites_at, s->places, &s->betweens, text);

    if (rc != OK) {
        return rc;
    }
    s->own = *run_between_at(s->betweens, self);
    s->own.budget_bytes = bytes <= 0 ? 0 : bytes < 1 ? 1 : (uint64_t)(bytes + 0.5);
    for (uint32_t i = 0, k = 0; i < s->f->sites_count; i++) {
        if (i != self) {
            s->own.others[k++].pace_bytes_per_s = s->places[i].pace_bytes_per_s;
        }
    }
    return OK;
}

enum err run_sites_parse(const char *name, const char *bytes, size_t size,
                         const struct run_sites_reader *reader, struct run_sites **out,
                         struct err_text *text)
{
    struct file_reader r = {
        .name = name, .bytes = bytes, .size = size, .places = true, .text = text};
    struct run_sites *s;
    uint32_t self = 0;
    enum err rc;

    if (size > RUN_FILE_BYTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%.128s: larger than %d bytes", name,
                            RUN_FILE_BYTES_MAX);
    }
    s = mem_zalloc(sizeof(*s));
    rc = s == NULL ? ERR_NOMEM : run_arena_create(&r.arena);
    if (rc == OK) {
        rc = sites_read(&r, reader, &s->places, &self);
    }
    if (rc == OK) {
        s->f = r.f;
        rc = sites_make(s, reader, self, text);
    }
    if (rc != OK) {
        if (s != NULL) {
            run_betweens_destroy(s->betweens);
        }
        run_arena_destroy(r.arena);
        mem_free(s);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "%.128s: out of memory", name) : rc;
    }
    *out = s;
    return OK;
}

enum err run_sites_load(const char *path, const struct run_sites_reader *reader,
                        struct run_sites **out, struct err_text *text)
{
    struct text bytes = {0};
    enum err rc = topo_file_read(path, RUN_FILE_BYTES_MAX, &bytes, text);

    if (rc == OK) {
        rc = run_sites_parse(path, bytes.chars, bytes.size, reader, out, text);
        text_deinit(&bytes);
    }
    return rc;
}

void run_sites_free(struct run_sites *s)
{
    if (s != NULL) {
        run_betweens_destroy(s->betweens);
        run_file_free(s->f);
        mem_free(s);
    }
}

const struct node_between *run_sites_between(const struct run_sites *s)
{
    return &s->own;
}

/* Printing. */

static void sites_print_links(const struct run_file *f, struct text *out)
{
    const struct run_central *c = &f->between.central;
    struct units_text rate;

    text_add(out, "links:\n");
    for (uint32_t i = 0; i < c->joins_count; i++) {
        text_add(out, "  - {a: ");
        text_add_json(out, f->sites[c->joins[i].a].name);
        text_add(out, ", b: ");
        text_add_json(out, f->sites[c->joins[i].b].name);
        if (c->joins[i].bytes_per_s > 0) {
            text_addf(out, ", rate: %s", units_rate_print(c->joins[i].bytes_per_s, &rate));
        }
        text_add(out, "}\n");
    }
    text_add(out, c->shared ? "shared: true\n" : "");
}

void run_sites_print(const struct run_file *f, uint32_t site, run_between_place *place, void *user,
                     struct text *out)
{
    uint64_t budget = run_between_budget(f, site);

    text_add(out, "sites:\n");
    for (uint32_t i = 0; i < f->sites_count; i++) {
        char address[NET_ADDRESS_BYTES];
        struct net_address at;

        place(f, i, &at, user);
        text_add(out, "  - {name: ");
        text_add_json(out, f->sites[i].name);
        text_add(out, ", address: ");
        text_add_json(out, net_address_format(&at, address));
        text_add(out, "}\n");
    }
    if (f->between.preset == RUN_CENTRAL) {
        sites_print_links(f, out);
    }
    file_print_between(f, run_between_factor(f), out);
    if (budget > 0) {
        text_add(out, "budget: {max_gb: ");
        topo_print_number((double)budget * f->sites_count * f->lanes / 1e9, out);
        text_add(out, "}\n");
    }
    if (f->stop.clocks > 0) {
        text_addf(out, "stop: {clocks: %" PRIu64 "}\n", f->stop.clocks);
    }
}
