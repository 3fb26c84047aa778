#include "topo/json.h"

#include "base/text.h"

#include <string.h>

/* NaN and infinities are written by programs that do not know better: what to do is worth saying.
 */
static const char *json_remedy(const char *bytes, size_t size, int position)
{
    static const char *const words[] = {"NaN", "nan", "Infinity", "inf"};
    size_t at = position > 0 && (size_t)position <= size ? (size_t)position : 0;

    /* The parser stops behind the word, or behind the sign before it. */
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i]);

        if ((at >= length && memcmp(bytes + at - length, words[i], length) == 0) ||
            (at > 0 && bytes[at - 1] == '-' && size - at >= length &&
             memcmp(bytes + at, words[i], length) == 0)) {
            return ": write a finite number, or leave the key out";
        }
    }
    return "";
}

enum err topo_json_parse(const char *name, const char *bytes, size_t size, json_t **root_out,
                         struct err_text *text)
{
    char shown[ERR_TEXT_BYTES / 2];
    json_error_t why;
    struct text t;
    json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);

    if (root != NULL) {
        *root_out = root;
        return OK;
    }
    if (json_error_code(&why) == json_error_out_of_memory) {
        return err_text_set(text, ERR_NOMEM, "%.128s: out of memory", name);
    }
    /* The parser quotes the text near the mistake, whatever it is. */
    text_init_fixed(&t, shown, sizeof(shown));
    text_add_printable(&t, why.text);
    return err_text_set(text, ERR_MALFORMED, "%.128s:%d:%d: not JSON: %s%s", name,
                        why.line > 0 ? why.line : 1, why.column > 0 ? why.column : 1, shown,
                        json_remedy(bytes, size, why.position));
}

const char *topo_json_kind(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        break;
    }
    return "nothing";
}

const char *topo_json_stranger(const json_t *object, const char *const *allowed,
                               struct nearest *near)
{
    const char *key;
    json_t *member;

    json_object_foreach((json_t *)object, key, member)
    {
        const char *const *a = allowed;

        nearest_init(near, key);
        while (*a != NULL && strcmp(*a, key) != 0) {
            nearest_offer(near, *a);
            a++;
        }
        if (*a == NULL) {
            return key;
        }
    }
    return NULL;
}
