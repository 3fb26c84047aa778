#include "client/option.h"

#include "base/nearest.h"
#include "base/units.h"
#include "net/pki/pki.h"
#include "node/site/site.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum {
    OPTION_POOL_MB = 1024,
    OPTION_POOL_MB_MIN = 16,
    OPTION_CACHE_MB = 256,
    OPTION_MB_MAX = 1024 * 1024 * 1024,
};

#define OPTION_MB UINT64_C(1048576)

static const char *const option_open_keys[] = {"join",    "cert",     "name",    "site",     "rank",
                                               "streams", "insecure", "pool_mb", "cache_mb", "pace",
                                               "relay",   "agg",      "edge",    NULL};
static const char *const option_table_keys[] = {"apply", "init", "combine", "chunk", NULL};

/* How often "insecure" was said. */
enum option_insecure { OPTION_SECURE, OPTION_ONCE, OPTION_TWICE };

/* The object, with known keys only. */
static enum err option_load(const char *json, const char *what, const char *const *keys,
                            json_t **root_out, struct err_text *text)
{
    size_t size = json == NULL ? 0 : strnlen(json, CLIENT_OPTION_BYTES_MAX + 1);
    json_error_t error;
    const char *key;
    json_t *value;
    json_t *root;

    if (json == NULL || size > CLIENT_OPTION_BYTES_MAX) {
        return err_text_set(text, ERR_INVALID, "%s: %s", what,
                            json == NULL ? "there are none" : "the text is longer than 64 KiB");
    }
    root = json_loadb(json, size, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        return err_text_set(text, ERR_INVALID, "%s: line %d, column %d: %s", what, error.line,
                            error.column, error.text);
    }
    if (!json_is_object(root)) {
        json_decref(root);
        return err_text_set(text, ERR_INVALID, "%s: not an object: write {\"%s\": ...}", what,
                            keys[0]);
    }
    json_object_foreach(root, key, value)
    {
        struct nearest near;
        bool known = false;

        nearest_init(&near, key);
        for (int i = 0; keys[i] != NULL; i++) {
            known = known || strcmp(keys[i], key) == 0;
            nearest_offer(&near, keys[i]);
        }
        if (!known) {
            (void)err_text_set(text, ERR_INVALID, "%s: unknown key \"%.60s\": %s", what, key,
                               nearest_hint(&near, "there are"));
            json_decref(root);
            return ERR_INVALID;
        }
    }
    *root_out = root;
    return OK;
}

/* A text into @size bytes at @out, which stay as they are if there is none. */
static enum err option_text(const json_t *root, const char *key, char *out, size_t size,
                            struct err_text *text)
{
    const json_t *value = json_object_get(root, key);

    if (value == NULL) {
        return OK;
    }
    if (!json_is_string(value)) {
        return err_text_set(text, ERR_INVALID, "option \"%s\": a text is wanted", key);
    }
    if (json_string_length(value) == 0 || json_string_length(value) >= size) {
        return err_text_set(text, ERR_INVALID, "option \"%s\": 1 to %zu characters are wanted", key,
                            size - 1);
    }
    memcpy(out, json_string_value(value), json_string_length(value) + 1);
    return OK;
}

static enum err option_number(const json_t *root, const char *key, uint64_t min, uint64_t max,
                              uint64_t *out, struct err_text *text)
{
    const json_t *value = json_object_get(root, key);
    json_int_t number = json_integer_value(value);

    if (value == NULL) {
        return OK;
    }
    if (!json_is_integer(value) || number < 0 || (uint64_t)number < min || (uint64_t)number > max) {
        return err_text_set(text, ERR_INVALID,
                            "option \"%s\": a whole number from %llu to %llu is wanted", key,
                            (unsigned long long)min, (unsigned long long)max);
    }
    *out = (uint64_t)number;
    return OK;
}

static enum err option_numbers(const json_t *root, struct client_options *out,
                               struct err_text *text)
{
    uint64_t rank = NODE_RANK_ANY, streams = 1, pool = OPTION_POOL_MB, cache = OPTION_CACHE_MB;
    enum err rc = option_number(root, "rank", 0, SYNC_MEMBERS_MAX - 1, &rank, text);

    if (rc == OK) {
        rc = option_number(root, "streams", 1, LIMIT_STREAMS_PER_PEER, &streams, text);
    }
    if (rc == OK) {
        rc = option_number(root, "pool_mb", OPTION_POOL_MB_MIN, OPTION_MB_MAX, &pool, text);
    }
    if (rc == OK) {
        rc = option_number(root, "cache_mb", 1, OPTION_MB_MAX, &cache, text);
    }
    out->rank = (uint32_t)rank;
    out->streams = (uint16_t)streams;
    out->pool_bytes = pool * OPTION_MB;
    out->cache_bytes = cache * OPTION_MB;
    return rc;
}

static enum err option_pace(const json_t *root, struct client_options *out, struct err_text *text)
{
    char rate[64] = "";
    struct err_text why = {""};
    enum err rc = option_text(root, "pace", rate, sizeof(rate), text);

    if (rc == OK && rate[0] != '\0' && units_rate_parse(rate, &out->pace_bytes_per_s, &why) != OK) {
        rc = err_text_set(text, ERR_INVALID, "option \"pace\": %.400s", why.text);
    }
    return rc;
}

static enum err option_read_insecure(const json_t *root, enum option_insecure *out,
                                     struct err_text *text)
{
    const json_t *value = json_object_get(root, "insecure");

    *out = json_is_true(value) ? OPTION_ONCE : OPTION_SECURE;
    if (json_is_string(value) && strcmp(json_string_value(value), "twice") == 0) {
        *out = OPTION_TWICE;
    } else if (value != NULL && !json_is_boolean(value)) {
        return err_text_set(text, ERR_INVALID,
                            "option \"insecure\": true, false or \"twice\" is wanted");
    }
    return OK;
}

static bool option_is_loopback(const struct net_address *address)
{
    const char *host = address->host;

    return address->scheme == NET_SCHEME_UNIX || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0 || strncmp(host, "::ffff:127.", 11) == 0 ||
           strcmp(host, "localhost") == 0;
}

/* The rule of the command line (--insecure), in the words of this interface. */
static enum err option_judge(const struct client_options *o, enum option_insecure insecure,
                             struct err_text *text)
{
    char address[NET_ADDRESS_BYTES];

    (void)net_address_format(&o->join, address);
    if (o->join.scheme == NET_SCHEME_TLS && insecure != OPTION_SECURE) {
        return err_text_set(text, ERR_INVALID,
                            "join %s: \"insecure\" is for tcp:// addresses; leave it away, or "
                            "write tcp://",
                            address);
    }
    if (o->join.scheme == NET_SCHEME_TLS && o->cert[0] == '\0') {
        return err_text_set(text, ERR_INVALID,
                            "join %s: a member's certificate is needed: \"cert\": \"DIR\" (strait "
                            "cert issue makes one)",
                            address);
    }
    if (o->join.scheme == NET_SCHEME_TLS) {
        return OK;
    }
    if (o->cert[0] != '\0') {
        return err_text_set(text, ERR_INVALID,
                            "join %s: \"cert\" is for tls:// addresses; leave it away, or write "
                            "tls://",
                            address);
    }
    if (insecure == OPTION_SECURE) {
        return err_text_set(text, ERR_INVALID,
                            "join %s: not encrypted; use tls:// with \"cert\", or say "
                            "\"insecure\": true",
                            address);
    }
    if (insecure == OPTION_ONCE && !option_is_loopback(&o->join)) {
        return err_text_set(text, ERR_INVALID,
                            "join %s: not encrypted, and not on this machine; if that is really "
                            "wanted, say \"insecure\": \"twice\"",
                            address);
    }
    return OK;
}

/* A word without a scheme is tls, or tcp with "insecure". */
static enum err option_join(const json_t *root, enum option_insecure insecure,
                            struct net_address *out, struct err_text *text)
{
    char word[NET_ADDRESS_BYTES] = "";
    char full[NET_ADDRESS_BYTES + 8];
    struct err_text why = {""};
    enum err rc = option_text(root, "join", word, sizeof(word), text);
    bool bare = strstr(word, "://") == NULL && strncmp(word, "unix:", 5) != 0;

    if (rc != OK) {
        return rc;
    }
    if (word[0] == '\0') {
        return err_text_set(text, ERR_INVALID,
                            "option \"join\" is missing: where is the site's first server?");
    }
    (void)snprintf(full, sizeof(full), "%s%s", bare && insecure != OPTION_SECURE ? "tcp://" : "",
                   word);
    if (net_address_parse(full, out, &why) != OK || out->scheme == NET_SCHEME_SIM) {
        return err_text_set(text, ERR_INVALID, "option \"join\": %.400s",
                            why.text[0] != '\0' ? why.text : "not an address of a real machine");
    }
    return OK;
}

static enum err option_names(const json_t *root, struct client_options *out, struct err_text *text)
{
    static const char *const keys[] = {"name", "site", "agg", "edge"};
    char *places[] = {out->name, out->site, out->agg, out->edge};

    for (int i = 0; i < 4; i++) {
        enum err rc = option_text(root, keys[i], places[i], LIMIT_NAME_BYTES + 1, text);

        if (rc != OK) {
            return rc;
        }
        if (places[i][0] != '\0' && !pki_name_valid(places[i])) {
            return err_text_set(text, ERR_INVALID,
                                "option \"%s\": letters, digits, '.', '_' and '-' are wanted",
                                keys[i]);
        }
    }
    if (out->site[0] != '\0' && out->join.scheme == NET_SCHEME_TLS) {
        return err_text_set(text, ERR_INVALID,
                            "option \"site\": with TLS the certificate says the site; leave it "
                            "away");
    }
    return OK;
}

static enum err option_relay(const json_t *root, struct client_options *out, struct err_text *text)
{
    char word[NET_ADDRESS_BYTES] = "";
    struct err_text why = {""};
    enum err rc = option_text(root, "relay", word, sizeof(word), text);

    out->relay_off = strcmp(word, "off") == 0;
    if (rc != OK || word[0] == '\0' || out->relay_off) {
        return rc;
    }
    if (net_address_parse(word, &out->relay, &why) != OK) {
        return err_text_set(text, ERR_INVALID, "option \"relay\": %.400s; or \"off\"", why.text);
    }
    if (out->relay.scheme != out->join.scheme) {
        return err_text_set(text, ERR_INVALID,
                            "option \"relay\": it speaks as \"join\" does, with TLS or without");
    }
    return OK;
}

enum err client_option_parse(const char *json, struct client_options *out, struct err_text *text)
{
    struct client_options o = {.rank = NODE_RANK_ANY};
    enum option_insecure insecure;
    json_t *root = NULL;
    enum err rc = option_load(json, "options", option_open_keys, &root, text);

    if (rc != OK) {
        return rc;
    }
    rc = option_read_insecure(root, &insecure, text);
    if (rc == OK) {
        rc = option_join(root, insecure, &o.join, text);
    }
    if (rc == OK) {
        rc = option_names(root, &o, text);
    }
    if (rc == OK) {
        rc = option_text(root, "cert", o.cert, sizeof(o.cert), text);
    }
    if (rc == OK) {
        rc = option_numbers(root, &o, text);
    }
    if (rc == OK) {
        rc = option_pace(root, &o, text);
    }
    if (rc == OK) {
        rc = option_relay(root, &o, text);
    }
    if (rc == OK) {
        rc = option_judge(&o, insecure, text);
    }
    json_decref(root);
    if (rc == OK) {
        *out = o;
    }
    return rc;
}

enum err client_option_schema(const char *name, uint64_t rows, uint32_t width, const char *json,
                              struct table_schema *out, struct err_text *text)
{
    char apply[TABLE_APPLY_TEXT_BYTES] = "add";
    char init[TABLE_INIT_TEXT_BYTES] = "zeros";
    char combine[16] = "sum";
    struct table_schema_text in = {.name = name,
                                   .rows = rows,
                                   .width = width,
                                   .init = init,
                                   .apply = apply,
                                   .combine = combine};
    uint64_t chunk = LIMIT_CHUNK_ELEMENTS;
    json_t *root = NULL;
    enum err rc;

    if (json != NULL) {
        rc = option_load(json, "options of the table", option_table_keys, &root, text);
        if (rc != OK) {
            return rc;
        }
        rc = option_text(root, "apply", apply, sizeof(apply), text);
        if (rc == OK) {
            rc = option_text(root, "init", init, sizeof(init), text);
        }
        if (rc == OK) {
            rc = option_text(root, "combine", combine, sizeof(combine), text);
        }
        if (rc == OK) {
            rc = option_number(root, "chunk", 1, LIMIT_CHUNK_ELEMENTS, &chunk, text);
        }
        json_decref(root);
        if (rc != OK) {
            return rc;
        }
    }
    in.chunk = (uint32_t)chunk;
    return table_schema_parse(&in, out, text);
}
