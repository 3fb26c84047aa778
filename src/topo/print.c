/* Topologies as text: JSON with one region and one link a line, in the order of the regions. */

#include "base/units.h"
#include "topo/topo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct print {
    const struct topo *t;
    struct text *out;
    uint32_t indent;
};

static void print_line(const struct print *p, uint32_t deeper)
{
    text_addf(p->out, "\n%*s", (int)(p->indent + deeper), "");
}

void topo_print_number(double value, struct text *out)
{
    char chars[32];

    for (int digits = 6; digits <= 17; digits++) { /* Fewer would write 20 as 2e+01. */
        (void)snprintf(chars, sizeof(chars), "%.*g", digits, value);
        if (strtod(chars, NULL) == value) {
            break;
        }
    }
    text_add(out, chars);
}

/* Billionths as a decimal, without trailing zeros. */
static void print_price(struct text *out, uint64_t nusd)
{
    char decimals[16];
    size_t size = 9;

    (void)snprintf(decimals, sizeof(decimals), "%09" PRIu64, nusd % 1000000000);
    while (size > 1 && decimals[size - 1] == '0') {
        size--;
    }
    text_addf(out, "%" PRIu64 ".%.*s", nusd / 1000000000, (int)size, decimals);
}

static void print_figures(struct text *out, const struct topo_link *l)
{
    struct units_text rate = {""}, time = {""}, percent = {""};

    text_addf(out, "\"rate\": \"%s\", \"delay\": \"%s\"", units_rate_print(l->bytes_per_s, &rate),
              units_time_print(l->delay_ns, &time));
    if (l->jitter_ns > 0) {
        text_addf(out, ", \"jitter\": \"%s\"", units_time_print(l->jitter_ns, &time));
    }
    if (l->loss_ppm > 0) {
        text_addf(out, ", \"loss\": \"%s\"", units_percent_print(l->loss_ppm, &percent));
    }
    if (l->stream_bytes_per_s > 0) {
        text_addf(out, ", \"stream\": \"%s\"", units_rate_print(l->stream_bytes_per_s, &rate));
    }
    if (l->priced) {
        text_add(out, ", \"price\": ");
        print_price(out, l->price_nusd_per_gb);
    }
}

/* One text, or a list of the lines. */
static void print_source(const struct print *p)
{
    const char *line = topo_source(p->t);
    bool several = strchr(line, '\n') != NULL;
    char piece[TOPO_SOURCE_BYTES_MAX + 1];

    print_line(p, 2);
    text_add(p->out, several ? "\"source\": [" : "\"source\": ");
    for (;;) {
        size_t size = strcspn(line, "\n");

        memcpy(piece, line, size);
        piece[size] = '\0';
        if (several) {
            print_line(p, 4);
        }
        text_add_json(p->out, piece);
        if (line[size] == '\0') {
            break;
        }
        text_add(p->out, ",");
        line += size + 1;
    }
    if (several) {
        print_line(p, 2);
    }
    text_add(p->out, several ? "]," : ",");
}

/* One number for all classes, or an object with one for each. */
static void print_prices(struct text *out, const struct topo_region *r)
{
    bool classes = r->prices_count > 0 && r->prices[0].class[0] != '\0';

    text_add(out, r->prices_count > 0 ? ", \"usd_per_hour\": " : "");
    for (uint32_t i = 0; i < r->prices_count; i++) {
        if (classes) {
            text_addf(out, "%s\"%s\": ", i > 0 ? ", " : "{", r->prices[i].class);
        }
        print_price(out, r->prices[i].nusd_per_hour);
    }
    text_add(out, classes ? "}" : "");
}

static void print_regions(const struct print *p)
{
    print_line(p, 2);
    text_add(p->out, "\"regions\": [");
    for (uint32_t i = 0; i < topo_regions(p->t); i++) {
        const struct topo_region *r = topo_region_at(p->t, i);

        text_add(p->out, i > 0 ? "," : "");
        print_line(p, 4);
        text_addf(p->out, "{\"name\": \"%s\"", r->name);
        if (r->placed) {
            text_add(p->out, ", \"latitude\": ");
            topo_print_number(r->latitude, p->out);
            text_add(p->out, ", \"longitude\": ");
            topo_print_number(r->longitude, p->out);
        }
        print_prices(p->out, r);
        text_add(p->out, "}");
    }
    print_line(p, 2);
    text_add(p->out, "]");
}

/* One entry for both directions where they are alike. False if nothing was to be written. */
static bool print_pair(const struct print *p, uint32_t a, uint32_t b, bool first)
{
    const struct topo_link *there = topo_link_own(p->t, a, b);
    const struct topo_link *back = topo_link_own(p->t, b, a);
    bool both = there != NULL && back != NULL && topo_link_equal(there, back);

    if (there == NULL || (both && a > b)) {
        return false;
    }
    text_add(p->out, first ? "" : ",");
    print_line(p, 4);
    text_addf(p->out,
              both ? "{\"between\": [\"%s\", \"%s\"], " : "{\"from\": \"%s\", \"to\": \"%s\", ",
              topo_region_at(p->t, a)->name, topo_region_at(p->t, b)->name);
    print_figures(p->out, there);
    text_add(p->out, "}");
    return true;
}

static void print_links(const struct print *p)
{
    bool first = true;

    print_line(p, 2);
    text_add(p->out, "\"links\": [");
    for (uint32_t a = 0; a < topo_regions(p->t); a++) {
        for (uint32_t b = 0; b < topo_regions(p->t); b++) {
            first = !print_pair(p, a, b, first) && first;
        }
    }
    if (!first) {
        print_line(p, 2);
    }
    text_add(p->out, "]");
}

void topo_print(const struct topo *t, uint32_t indent, struct text *out)
{
    const struct print p = {.t = t, .out = out, .indent = indent};

    text_add(out, "{");
    print_line(&p, 2);
    text_add(out, "\"strait_topology\": 1,");
    if (topo_name(t)[0] != '\0') {
        print_line(&p, 2);
        text_add(out, "\"name\": ");
        text_add_json(out, topo_name(t));
        text_add(out, ",");
    }
    if (topo_source(t)[0] != '\0') {
        print_source(&p);
    }
    if (topo_duplex(t) == TOPO_DUPLEX_SHARED) {
        print_line(&p, 2);
        text_add(out, "\"duplex\": \"shared\",");
    }
    print_line(&p, 2);
    text_add(out, "\"lan\": {");
    print_figures(out, topo_lan(t));
    text_add(out, "},");
    print_regions(&p);
    text_add(out, ",");
    print_links(&p);
    if (topo_default(t) != NULL) {
        text_add(out, ",");
        print_line(&p, 2);
        text_add(out, "\"default_link\": {");
        print_figures(out, topo_default(t));
        text_add(out, "}");
    }
    print_line(&p, 0);
    text_add(out, "}");
}
