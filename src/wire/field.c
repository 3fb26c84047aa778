/* Fields are read in one pass; what a message knows is a short table of rules. */

#include "wire/field.h"

#include "base/bytes.h"

void wire_field_write(struct bytes_writer *w, const struct wire_field *field)
{
    bytes_write16(w, field->tag);
    bytes_write16(w, field->size);
    bytes_write(w, field->bytes, field->size);
}

/* Return the index of the rule for @tag, or @rule_count. */
static uint32_t field_rule_find(const struct wire_field_rule *rules, uint32_t rule_count,
                                uint16_t tag)
{
    uint32_t i = 0;

    while (i < rule_count && rules[i].tag != (tag & WIRE_FIELD_TAG_MAX)) {
        i++;
    }
    return i;
}

/* Decide on one field that was read whole. */
static enum err field_accept(const struct wire_field *field, const struct wire_field_rule *rules,
                             uint32_t rule_count, struct wire_field *fields_out)
{
    uint32_t i = field_rule_find(rules, rule_count, field->tag);

    if (i == rule_count) {
        return (field->tag & WIRE_FIELD_CRITICAL) != 0 ? ERR_VERSION : OK;
    }
    if (fields_out[i].bytes != NULL || field->size < rules[i].size_min ||
        field->size > rules[i].size_max) {
        return ERR_MALFORMED;
    }
    fields_out[i] = *field;
    return OK;
}

static bool fields_complete(const struct wire_field_rule *rules, uint32_t rule_count,
                            const struct wire_field *fields)
{
    for (uint32_t i = 0; i < rule_count; i++) {
        if (rules[i].required && fields[i].bytes == NULL) {
            return false;
        }
    }
    return true;
}

enum err wire_fields_decode(struct bytes_reader *r, uint32_t field_count,
                            const struct wire_field_rule *rules, uint32_t rule_count,
                            struct wire_field *fields_out, enum wire_reason *reason_out)
{
    bool unknown = false;
    enum err rc;

    CHECK(rule_count <= WIRE_FIELDS_KNOWN_MAX);
    *reason_out = WIRE_REASON_BODY;
    for (uint32_t i = 0; i < rule_count; i++) {
        fields_out[i] = (struct wire_field){.bytes = NULL};
    }
    for (uint32_t i = 0; i < field_count; i++) {
        struct wire_field field;

        field.tag = bytes_read16(r);
        field.size = bytes_read16(r);
        field.bytes = bytes_read(r, field.size);
        if (r->failed) {
            return ERR_MALFORMED;
        }
        rc = field_accept(&field, rules, rule_count, fields_out);
        if (rc == ERR_MALFORMED) {
            return rc;
        }
        unknown = unknown || rc == ERR_VERSION;
    }
    /* Only a message that is otherwise sound may blame its version. */
    if (r->left != 0) {
        return ERR_MALFORMED;
    }
    if (unknown) {
        *reason_out = WIRE_REASON_FIELD;
        return ERR_VERSION;
    }
    if (!fields_complete(rules, rule_count, fields_out)) {
        return ERR_MALFORMED;
    }
    *reason_out = WIRE_REASON_NONE;
    return OK;
}
