/* Fuzz the JSON of control frames as members take it in: the site, a table, numbers, errors. */

#include "node/control.h"

#include "net/session/conn.h"
#include "wire/control.h"
#include "wire/fuzzing.h"

#include <string.h>

/* What is taken once must be what it says, and be taken again. */
static void fuzz_site(const json_t *fields)
{
    struct node_site site, again;
    json_t *back;

    if (node_site_from_json(fields, &site) != OK) {
        return;
    }
    CHECK(node_site_check(&site, NULL) == OK);
    back = node_site_to_json(&site);
    CHECK(back != NULL && node_site_from_json(back, &again) == OK);
    CHECK(again.lanes == site.lanes && again.shards == site.shards &&
          again.delivery == site.delivery && again.sync.policy == site.sync.policy);
    json_decref(back);
}

static void fuzz_schema(const json_t *fields)
{
    struct table_schema schema, again;
    struct err_text text;
    json_t *back;

    if (node_schema_from_json(fields, &schema, &text) != OK) {
        return;
    }
    back = node_schema_to_json(&schema);
    CHECK(back != NULL && node_schema_from_json(back, &again, &text) == OK);
    CHECK(table_schema_equal(&schema, &again));
    json_decref(back);
}

static void fuzz_fields(const json_t *fields)
{
    struct err_text text = {{0}};
    uint64_t number;

    CHECK(json_is_object(fields));
    (void)node_control_error(fields, &text);
    CHECK(strnlen(text.text, sizeof(text.text)) < sizeof(text.text));
    CHECK(!node_json_u64(fields, "rank", 255, 7, &number) || number <= 255);
    fuzz_site(fields);
    fuzz_schema(fields);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input is the text; the frame around it is right. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_control control = {.operation = NODE_OP_JOIN, .field_count = 1, .call = 1};
    struct wire_field field = {.tag = NODE_FIELD_TEXT | WIRE_FIELD_CRITICAL, .bytes = data};
    struct net_frame frame = {0};
    enum wire_reason reason;
    uint16_t operation;
    uint32_t call;
    json_t *fields;
    struct buf *buf;

    if (size > NODE_JSON_BYTES_MAX) {
        return 0;
    }
    field.size = (uint16_t)size;
    if (wire_control_encode(fuzzing_pool(), &control, &field, &buf) != OK) {
        return 0;
    }
    CHECK(wire_header_decode(buf_bytes(buf), &frame.header, &reason) == OK);
    frame.body = buf_bytes(buf) + WIRE_HEADER_BYTES;
    if (node_control_read(&frame, &operation, &call, &fields) == OK) {
        CHECK(operation == NODE_OP_JOIN && call == 1);
        fuzz_fields(fields);
        json_decref(fields);
    }
    buf_unref(buf);
    return 0;
}
