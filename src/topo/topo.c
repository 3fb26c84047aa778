#include "topo/topo.h"

#include "base/mem.h"

#include <string.h>

struct topo {
    char name[TOPO_NAME_BYTES];
    char *source; /* NULL: empty. */
    uint32_t regions_count;
    enum topo_duplex duplex;
    bool has_default;
    struct topo_link fallback; /* The default link. */
    struct topo_link lan;
    struct topo_region regions[TOPO_REGIONS_MAX];
    struct topo_link links[TOPO_REGIONS_MAX][TOPO_REGIONS_MAX]; /* No rate: no link. */
};

_Static_assert(TOPO_LINKS_MAX >= TOPO_REGIONS_MAX * (TOPO_REGIONS_MAX - 1), "a whole mesh fits");

enum err topo_create(struct topo **topo_out)
{
    struct topo *t = mem_zalloc(sizeof(*t));

    if (t == NULL) {
        return ERR_NOMEM;
    }
    t->duplex = TOPO_DUPLEX_FULL;
    t->lan = (struct topo_link){.bytes_per_s = TOPO_LAN_RATE, .delay_ns = TOPO_LAN_DELAY_NS};
    *topo_out = t;
    return OK;
}

void topo_destroy(struct topo *t)
{
    if (t != NULL) {
        mem_free(t->source);
        mem_free(t);
    }
}

/* Names of regions become names of sites in certificates: the same characters. */
bool topo_name_valid(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "._-";
    size_t size = strnlen(name, TOPO_NAME_BYTES);

    return size > 0 && size < TOPO_NAME_BYTES && strspn(name, allowed) == size &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool topo_class_valid(const char *class)
{
    size_t size = strnlen(class, TOPO_CLASS_BYTES);

    return size > 0 && size < TOPO_CLASS_BYTES &&
           strspn(class, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

/* The bytes of a character that breaks a line, moves the cursor or is no character, at @s. */
static bool topo_is_control(const uint8_t *s)
{
    bool c1 = s[0] == 0xc2 && s[1] < 0xa0;                            /* U+0080 to U+009F */
    bool breaks = s[0] == 0xe2 && s[1] == 0x80 && (s[2] | 1) == 0xa9; /* U+2028, U+2029 */
    bool none = s[0] == 0xef && s[1] == 0xbf && (s[2] | 1) == 0xbf;   /* U+FFFE, U+FFFF */
    bool order_mark = s[0] == 0xef && s[1] == 0xbb && s[2] == 0xbf;   /* U+FEFF */

    return s[0] < 0x20 || s[0] == 0x7f || c1 || breaks || none || order_mark;
}

bool topo_text_valid(const char *chars)
{
    if (!text_is_utf8(chars)) {
        return false;
    }
    for (const uint8_t *s = (const uint8_t *)chars; *s != '\0'; s++) {
        if (topo_is_control(s)) {
            return false;
        }
    }
    return true;
}

/* One price for all, or one for each of several classes. */
static bool topo_prices_valid(const struct topo_region *r)
{
    if (r->prices_count > TOPO_CLASSES_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < r->prices_count; i++) {
        const struct topo_price *p = &r->prices[i];
        bool all = p->class[0] == '\0' && r->prices_count == 1;

        if (p->nusd_per_hour > TOPO_HOUR_MAX_NUSD || !(all || topo_class_valid(p->class))) {
            return false;
        }
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(r->prices[k].class, p->class) == 0) {
                return false;
            }
        }
    }
    return true;
}

enum err topo_region_add(struct topo *t, const struct topo_region *region)
{
    uint32_t index;

    /* Written so that NaN is refused too. */
    bool on_map = region->latitude >= -90 && region->latitude <= 90 && region->longitude >= -180 &&
                  region->longitude <= 180;

    if (!topo_name_valid(region->name) || (region->placed && !on_map) ||
        !topo_prices_valid(region)) {
        return ERR_INVALID;
    }
    if (topo_region_find(t, region->name, &index)) {
        return ERR_EXISTS;
    }
    if (t->regions_count == TOPO_REGIONS_MAX) {
        return ERR_TOO_BIG;
    }
    t->regions[t->regions_count] = *region;
    if (!region->placed) {
        t->regions[t->regions_count].latitude = 0;
        t->regions[t->regions_count].longitude = 0;
    }
    t->regions_count++;
    return OK;
}

static bool topo_link_valid(const struct topo_link *l)
{
    return l->bytes_per_s > 0 && l->bytes_per_s <= TOPO_RATE_MAX &&
           l->stream_bytes_per_s <= TOPO_RATE_MAX && l->delay_ns >= 0 &&
           l->delay_ns <= TOPO_TIME_MAX_NS && l->jitter_ns >= 0 &&
           l->jitter_ns <= TOPO_TIME_MAX_NS && l->loss_ppm <= 1000 * 1000 &&
           l->price_nusd_per_gb <= (l->priced ? TOPO_PRICE_MAX_NUSD : 0);
}

enum err topo_link_set(struct topo *t, uint32_t from, uint32_t to, const struct topo_link *link)
{
    CHECK(from < t->regions_count && to < t->regions_count);
    if (from == to || !topo_link_valid(link)) {
        return ERR_INVALID;
    }
    t->links[from][to] = *link;
    return OK;
}

enum err topo_default_set(struct topo *t, const struct topo_link *link)
{
    if (link != NULL && !topo_link_valid(link)) {
        return ERR_INVALID;
    }
    t->has_default = link != NULL;
    t->fallback = link != NULL ? *link : (struct topo_link){0};
    return OK;
}

enum err topo_lan_set(struct topo *t, const struct topo_link *link)
{
    bool plain = link->stream_bytes_per_s == 0 && link->jitter_ns == 0 && link->loss_ppm == 0 &&
                 !link->priced;

    if (!plain || !topo_link_valid(link)) {
        return ERR_INVALID;
    }
    t->lan = *link;
    return OK;
}

/* Lines of valid text. */
static bool topo_source_valid(const char *source)
{
    char lines[TOPO_SOURCE_BYTES_MAX + 1];

    (void)strcpy(lines, source);
    for (char *c = lines; *c != '\0'; c++) {
        *c = *c == '\n' ? ' ' : *c;
    }
    return topo_text_valid(lines);
}

enum err topo_describe(struct topo *t, const char *name, const char *source)
{
    char *copy = NULL;

    if (strlen(name) >= sizeof(t->name) || strlen(source) > TOPO_SOURCE_BYTES_MAX) {
        return ERR_TOO_BIG;
    }
    if (!topo_text_valid(name) || !topo_source_valid(source)) {
        return ERR_INVALID;
    }
    if (source[0] != '\0') {
        copy = mem_strdup(source);
        if (copy == NULL) {
            return ERR_NOMEM;
        }
    }
    mem_free(t->source);
    t->source = copy;
    (void)strcpy(t->name, name);
    return OK;
}

void topo_duplex_set(struct topo *t, enum topo_duplex duplex)
{
    t->duplex = duplex;
}

enum topo_duplex topo_duplex(const struct topo *t)
{
    return t->duplex;
}

const char *topo_name(const struct topo *t)
{
    return t->name;
}

const char *topo_source(const struct topo *t)
{
    return t->source == NULL ? "" : t->source;
}

uint32_t topo_regions(const struct topo *t)
{
    return t->regions_count;
}

const struct topo_region *topo_region_at(const struct topo *t, uint32_t index)
{
    CHECK(index < t->regions_count);
    return &t->regions[index];
}

bool topo_region_find(const struct topo *t, const char *name, uint32_t *index_out)
{
    for (uint32_t i = 0; i < t->regions_count; i++) {
        if (strcmp(t->regions[i].name, name) == 0) {
            *index_out = i;
            return true;
        }
    }
    return false;
}

bool topo_region_price(const struct topo *t, uint32_t region, const char *class,
                       uint64_t *nusd_per_hour_out)
{
    const struct topo_region *r = topo_region_at(t, region);

    for (uint32_t i = 0; i < r->prices_count; i++) {
        const struct topo_price *p = &r->prices[i];

        if (p->class[0] == '\0' || strcmp(p->class, class) == 0) {
            *nusd_per_hour_out = p->nusd_per_hour;
            return true;
        }
    }
    return false;
}

const struct topo_link *topo_link_own(const struct topo *t, uint32_t from, uint32_t to)
{
    CHECK(from < t->regions_count && to < t->regions_count);
    return t->links[from][to].bytes_per_s > 0 ? &t->links[from][to] : NULL;
}

const struct topo_link *topo_link_between(const struct topo *t, uint32_t from, uint32_t to)
{
    const struct topo_link *own = topo_link_own(t, from, to);

    if (from == to) {
        return &t->lan;
    }
    return own != NULL ? own : topo_default(t);
}

bool topo_link_uneven(const struct topo *t, uint32_t *a_out, uint32_t *b_out)
{
    for (uint32_t a = 0; a < t->regions_count; a++) {
        for (uint32_t b = a + 1; b < t->regions_count; b++) {
            const struct topo_link *there = topo_link_between(t, a, b);
            const struct topo_link *back = topo_link_between(t, b, a);

            if (there != NULL && back != NULL && there->bytes_per_s != back->bytes_per_s) {
                *a_out = a;
                *b_out = b;
                return true;
            }
        }
    }
    return false;
}

const struct topo_link *topo_default(const struct topo *t)
{
    return t->has_default ? &t->fallback : NULL;
}

const struct topo_link *topo_lan(const struct topo *t)
{
    return &t->lan;
}

bool topo_link_equal(const struct topo_link *a, const struct topo_link *b)
{
    return a->bytes_per_s == b->bytes_per_s && a->stream_bytes_per_s == b->stream_bytes_per_s &&
           a->delay_ns == b->delay_ns && a->jitter_ns == b->jitter_ns &&
           a->loss_ppm == b->loss_ppm && a->priced == b->priced &&
           a->price_nusd_per_gb == b->price_nusd_per_gb;
}

static bool topo_region_equal(const struct topo_region *a, const struct topo_region *b)
{
    bool equal = strcmp(a->name, b->name) == 0 && a->placed == b->placed &&
                 a->latitude == b->latitude && a->longitude == b->longitude &&
                 a->prices_count == b->prices_count;

    for (uint32_t i = 0; i < a->prices_count && equal; i++) {
        equal = strcmp(a->prices[i].class, b->prices[i].class) == 0 &&
                a->prices[i].nusd_per_hour == b->prices[i].nusd_per_hour;
    }
    return equal;
}

bool topo_equal(const struct topo *a, const struct topo *b)
{
    bool equal = strcmp(a->name, b->name) == 0 && strcmp(topo_source(a), topo_source(b)) == 0 &&
                 a->duplex == b->duplex && a->regions_count == b->regions_count &&
                 a->has_default == b->has_default && topo_link_equal(&a->fallback, &b->fallback) &&
                 topo_link_equal(&a->lan, &b->lan);

    for (uint32_t i = 0; i < a->regions_count && equal; i++) {
        equal = topo_region_equal(&a->regions[i], &b->regions[i]);
        for (uint32_t k = 0; k < a->regions_count && equal; k++) {
            equal = topo_link_equal(&a->links[i][k], &b->links[i][k]);
        }
    }
    return equal;
}
