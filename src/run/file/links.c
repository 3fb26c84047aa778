/* What a run makes of the links of its map: the model of a run may be small, and a region may have
 * several machines. The map stays as it is written; the run goes over one with other rates. */

#include "base/units.h"
#include "run/file/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS_MACHINES_MAX = 1024 };

#define LINKS_SCALE_MIN 1e-6

/* A number, or "1/140". */
static bool links_read_scale(const char *chars, double *out)
{
    const char *slash = strchr(chars, '/');
    char above[16], *end = NULL;
    double below = 1;

    if (chars[0] == '\0' || strspn(chars, "0123456789.eE+-/") != strlen(chars)) {
        return false;
    }
    if (slash == NULL) {
        *out = strtod(chars, &end);
        return *end == '\0';
    }
    if (slash == chars || (size_t)(slash - chars) >= sizeof(above) || slash[1] == '\0' ||
        strspn(chars, "0123456789") != (size_t)(slash - chars) ||
        strspn(slash + 1, "0123456789") != strlen(slash + 1)) {
        return false;
    }
    (void)snprintf(above, sizeof(above), "%.*s", (int)(slash - chars), chars);
    below = strtod(slash + 1, NULL);
    *out = strtod(above, NULL) / below;
    return below > 0;
}

static enum err links_scale(struct file_reader *r)
{
    const struct run_yaml *node = file_find(r, "links.scale");
    double *scale = &r->f->links.scale;

    *scale = 1;
    if (node != NULL && (node->kind != RUN_YAML_TEXT || !links_read_scale(node->chars, scale) ||
                         !(*scale >= LINKS_SCALE_MIN && *scale <= 1))) {
        return file_fail(r, ERR_MALFORMED, "links.scale",
                         "has to be a number from %g to 1, or a fraction such as 1/140",
                         LINKS_SCALE_MIN);
    }
    return OK;
}

static enum err links_duplex(struct file_reader *r)
{
    const struct topo *map = r->f->map;
    enum topo_duplex *duplex = &r->f->links.duplex;
    uint32_t a, b;

    if (file_find(r, "links.duplex") == NULL) {
        *duplex = topo_duplex(map);
    }
    if (*duplex == TOPO_DUPLEX_SHARED && topo_link_uneven(map, &a, &b)) {
        return file_fail(r, ERR_MALFORMED, "links.duplex",
                         "there is no rate that both directions could share between %s and %s: the "
                         "map has two",
                         topo_region_at(map, a)->name, topo_region_at(map, b)->name);
    }
    return OK;
}

/* What is not said is as the map has it. */
static enum err links_lan(struct file_reader *r)
{
    struct run_lan *l = &r->f->links.lan;
    struct units_text most;
    struct err_text why = {""};

    l->link = *topo_lan(r->f->map);
    if (l->rate != NULL && units_rate_parse(l->rate, &l->link.bytes_per_s, &why) != OK) {
        return file_fail(r, ERR_MALFORMED, "links.lan.rate", "%.300s", why.text);
    }
    if (l->link.bytes_per_s == 0 || l->link.bytes_per_s > TOPO_RATE_MAX) {
        return file_fail(r, ERR_MALFORMED, "links.lan.rate",
                         "is out of range: write a rate above zero, up to %s",
                         units_rate_print(TOPO_RATE_MAX, &most));
    }
    return file_time(r, "links.lan.delay", &l->link.delay_ns, l->link.delay_ns, 0,
                     TOPO_TIME_MAX_NS);
}

/* A card that is faster than what it is plugged into would be one of two figures that nobody uses.
 */
static enum err links_card(struct file_reader *r)
{
    struct run_links *l = &r->f->links;
    struct units_text most;
    struct err_text why = {""};

    l->card_full = l->lan.link.bytes_per_s;
    if (l->card != NULL && units_rate_parse(l->card, &l->card_full, &why) != OK) {
        return file_fail(r, ERR_MALFORMED, "links.card", "%.300s", why.text);
    }
    if (l->card_full == 0 || l->card_full > l->lan.link.bytes_per_s) {
        return file_fail(r, ERR_MALFORMED, "links.card",
                         "is out of range: write a rate above zero, up to that of the lan, which "
                         "is %s (links: {lan: {rate: ...}} changes it)",
                         units_rate_print(l->lan.link.bytes_per_s, &most));
    }
    return OK;
}

bool file_links_rate(uint64_t *rate, double factor)
{
    double value = floor((double)*rate * factor + 0.5);

    if (!(value >= 1 && value <= (double)TOPO_RATE_MAX)) {
        return false;
    }
    *rate = (uint64_t)value;
    return true;
}

/* The link as it is in this run. @from and @to are for complaints. */
static enum err links_make(const struct file_reader *r, const char *from, const char *to,
                           double factor, struct topo_link *link)
{
    struct units_text most;

    if (file_links_rate(&link->bytes_per_s, factor) &&
        (link->stream_bytes_per_s == 0 || file_links_rate(&link->stream_bytes_per_s, factor))) {
        return OK;
    }
    return file_fail(r, ERR_MALFORMED, "links",
                     "%s%s%s would have less than 1 byte per second or more than %s: change scale "
                     "or machines",
                     from, to[0] != '\0' ? " to " : "", to, units_rate_print(TOPO_RATE_MAX, &most));
}

static enum err links_pair(struct file_reader *r, uint32_t from, uint32_t to, double factor)
{
    const struct topo *map = r->f->map;
    const struct topo_link *own = from == to ? NULL : topo_link_own(map, from, to);
    struct topo_link link;
    enum err rc;

    if (own == NULL) {
        return OK;
    }
    link = *own;
    rc = links_make(r, topo_region_at(map, from)->name, topo_region_at(map, to)->name, factor,
                    &link);
    return rc == OK ? topo_link_set(r->f->topo, from, to, &link) : rc;
}

static enum err links_rest(struct file_reader *r, double factor)
{
    const struct topo_link *fallback = topo_default(r->f->map);
    struct topo_link lan = r->f->links.lan.link, link;
    enum err rc = links_make(r, "the lan", "", r->f->links.scale, &lan);

    if (rc == OK) {
        rc = topo_lan_set(r->f->topo, &lan);
    }
    if (rc == OK) {
        link = (struct topo_link){.bytes_per_s = r->f->links.card_full};
        rc = links_make(r, "a card", "", r->f->links.scale, &link);
        r->f->links.card_rate = link.bytes_per_s;
    }
    if (rc == OK && fallback != NULL) {
        link = *fallback;
        rc = links_make(r, "default_link", "", factor, &link);
        if (rc == OK) {
            rc = topo_default_set(r->f->topo, &link);
        }
    }
    return rc;
}

enum err file_links(struct file_reader *r)
{
    struct run_file *f = r->f;
    uint32_t n = topo_regions(f->map);
    enum err rc = links_scale(r);
    double factor;

    if (rc == OK) {
        rc = file_u32(r, "links.machines", &f->links.machines, 1, 1, LINKS_MACHINES_MAX);
    }
    if (rc == OK) {
        rc = links_duplex(r);
    }
    if (rc == OK) {
        rc = links_lan(r);
    }
    if (rc == OK) {
        rc = links_card(r);
    }
    if (rc == OK) {
        rc = topo_create(&f->topo);
    }
    if (rc == OK) {
        topo_duplex_set(f->topo, f->links.duplex);
    }
    factor = f->links.scale * f->links.machines;
    for (uint32_t i = 0; i < n && rc == OK; i++) {
        rc = topo_region_add(f->topo, topo_region_at(f->map, i));
    }
    for (uint32_t i = 0; i < n * n && rc == OK; i++) {
        rc = links_pair(r, i / n, i % n, factor);
    }
    if (rc == OK) {
        rc = links_rest(r, factor);
    }
    return rc == OK ? topo_describe(f->topo, topo_name(f->map), topo_source(f->map)) : rc;
}
