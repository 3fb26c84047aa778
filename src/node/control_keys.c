/* Which keys requests have, and of what type their values are. A value of another type is refused
 * by the name of its key: read as absent it would mean something that nobody said. */

#include "node/control.h"

enum key_type {
    KEY_WHOLE,
    KEY_NUMBER,
    KEY_FLAG,
    KEY_TEXT,
    KEY_OBJECT,
    KEY_RANKS,
    KEY_TABLES,
    KEY_PLACES,
    KEY_TYPES
};

struct key {
    const char *name;
    enum key_type type;
};

enum { KEYS_MAX = 16 };

static const char *const key_wanted[KEY_TYPES] = {"a whole number, not negative",
                                                  "a number",
                                                  "true or false",
                                                  "a text",
                                                  "an object",
                                                  "a list of numbers",
                                                  "a list of objects",
                                                  "a list of objects"};

static const struct key keys_table[KEYS_MAX] = {
    {"name", KEY_TEXT},   {"rows", KEY_WHOLE}, {"width", KEY_WHOLE},
    {"init", KEY_TEXT},   {"apply", KEY_TEXT}, {"combine", KEY_TEXT},
    {"chunk", KEY_WHOLE}, {"id", KEY_WHOLE},   {"want", KEY_FLAG},
};

static const struct key keys_known[KEYS_MAX] = {{"known", KEY_TABLES}};

static const struct key keys_place[KEYS_MAX] = {{"lane", KEY_WHOLE}, {"address", KEY_TEXT}};

static const struct key keys_of[][KEYS_MAX] = {
    [NODE_OP_SITE] = {{"rank", KEY_WHOLE}},
    [NODE_OP_LANE] = {{"places", KEY_PLACES}, {"begun", KEY_FLAG}, {"history", KEY_TEXT}},
    [NODE_OP_JOIN] = {{"rank", KEY_WHOLE},
                      {"tables", KEY_TABLES},
                      {"entry", KEY_WHOLE},
                      {"clock", KEY_WHOLE},
                      {"acked", KEY_WHOLE},
                      {"resume", KEY_FLAG},
                      {"offers", KEY_WHOLE},
                      {"members", KEY_RANKS},
                      {"again", KEY_FLAG},
                      {"begun", KEY_FLAG},
                      {"pace", KEY_WHOLE},
                      {"relay", KEY_TEXT},
                      {"agg", KEY_TEXT},
                      {"edge", KEY_TEXT}},
    [NODE_OP_REPORT] = {{"clock", KEY_WHOLE},
                        {"loss_sum", KEY_NUMBER},
                        {"samples", KEY_NUMBER},
                        {"evaluated", KEY_FLAG},
                        {"objective_sum", KEY_NUMBER},
                        {"objective_count", KEY_NUMBER},
                        {"correct", KEY_NUMBER},
                        {"tested", KEY_NUMBER},
                        {"sparsified", KEY_OBJECT},
                        {"passed", KEY_OBJECT}},
    [NODE_OP_HANDSHAKE] = {{"site", KEY_TEXT},
                           {"lane", KEY_WHOLE},
                           {"shared_config", KEY_OBJECT},
                           {"tables", KEY_TABLES}},
    [NODE_OP_COPY] = {{"go", KEY_FLAG}},
    /* Words, plans and changes: node/central/json.c. */
    [NODE_OP_DROP] = {{"name", KEY_TEXT}, {"check", KEY_FLAG}},
};

static bool key_is_whole(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static enum err keys_check(const struct key *keys, const json_t *fields, struct err_text *text);

/* A list of @keys' objects, or of numbers if that is NULL. */
static enum err key_check_list(const char *name, const json_t *list, const struct key *keys,
                               struct err_text *text)
{
    struct err_text inner = {""};
    bool right = json_is_array(list);
    enum err rc = OK;

    for (size_t i = 0; right && rc == OK && i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);

        right = keys == NULL ? key_is_whole(value) : json_is_object(value);
        rc = right && keys != NULL ? keys_check(keys, value, &inner) : OK;
        if (rc != OK) {
            return err_text_set(text, rc, "%s: %.400s", name, inner.text);
        }
    }
    return right ? OK : ERR_INVALID;
}

static enum err key_check(const struct key *key, const json_t *value, struct err_text *text)
{
    bool right = true;

    switch (key->type) {
    case KEY_WHOLE:
        right = key_is_whole(value);
        break;
    case KEY_NUMBER:
        right = json_is_number(value);
        break;
    case KEY_FLAG:
        right = json_is_boolean(value);
        break;
    case KEY_TEXT:
        right = json_is_string(value);
        break;
    case KEY_OBJECT:
        right = json_is_object(value);
        break;
    case KEY_RANKS:
        return key_check_list(key->name, value, NULL, text);
    case KEY_TABLES:
        return key_check_list(key->name, value, keys_table, text);
    case KEY_PLACES:
        return key_check_list(key->name, value, keys_place, text);
    case KEY_TYPES:
        break;
    }
    return right ? OK : ERR_INVALID;
}

static enum err keys_check(const struct key *keys, const json_t *fields, struct err_text *text)
{
    for (uint32_t i = 0; i < KEYS_MAX && keys[i].name != NULL; i++) {
        const json_t *value = json_object_get(fields, keys[i].name);
        struct err_text inner = {""};
        enum err rc = value == NULL ? OK : key_check(&keys[i], value, &inner);

        if (rc != OK && inner.text[0] != '\0') {
            return err_text_set(text, rc, "%s", inner.text);
        }
        if (rc != OK) {
            return err_text_set(text, rc, "\"%s\" must be %s", keys[i].name,
                                key_wanted[keys[i].type]);
        }
    }
    return OK;
}

enum err node_control_check(uint16_t operation, const json_t *fields, struct err_text *text)
{
    if (operation == NODE_OP_TABLE) {
        enum err rc = keys_check(keys_table, fields, text);

        return rc == OK ? keys_check(keys_known, fields, text) : rc;
    }
    return operation < sizeof(keys_of) / sizeof(keys_of[0])
               ? keys_check(keys_of[operation], fields, text)
               : OK;
}
