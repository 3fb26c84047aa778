/* The three messages differ in what follows the row numbers; one struct holds what each allows. */

#include "wire/rows.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "wire/pull.h"

enum { ROWS_HEAD_BYTES = 8 };

_Static_assert(ROWS_HEAD_BYTES + 4 * WIRE_ROWS_MAX == WIRE_ROWS_PULL_BODY_BYTES_MAX,
               "the limit is the longest list");

static bool rows_type_valid(uint8_t type)
{
    return type == WIRE_ROWS_PUSH || type == WIRE_ROWS_PULL || type == WIRE_ROWS_VALUES;
}

/* Where the values start, or a pull ends. */
static uint64_t rows_values_at(uint8_t type, uint32_t count)
{
    uint64_t at = ROWS_HEAD_BYTES + (uint64_t)4 * count;

    return type == WIRE_ROWS_PULL ? at : (at + BUF_ALIGN - 1) / BUF_ALIGN * BUF_ALIGN;
}

static uint64_t rows_tail_bytes(uint8_t type)
{
    return type == WIRE_ROWS_PUSH ? WIRE_CHUNK_TAIL_BYTES : 0;
}

static bool rows_counts_valid(const struct wire_rows *rows)
{
    return rows->count > 0 && rows->count <= WIRE_ROWS_MAX && rows->width > 0;
}

/* What the type allows besides the counts and the row numbers. */
static bool rows_suit(uint8_t type, const struct wire_rows *rows)
{
    uint64_t raw_bytes = (uint64_t)4 * rows->count * rows->width;

    if ((type == WIRE_ROWS_PUSH) != (rows->weight != 0)) {
        return false;
    }
    if (type == WIRE_ROWS_PULL) {
        return rows->codec == 0 && rows->values_bytes == 0;
    }
    if (rows->codec == WIRE_CODEC_F32) {
        return rows->values_bytes == raw_bytes;
    }
    return rows->values_bytes > 0 && rows->values_bytes <= raw_bytes;
}

uint32_t wire_rows_row(const struct wire_rows *rows, uint32_t index)
{
    CHECK(index < rows->count);
    return bytes_load32((const uint8_t *)rows->rows + (size_t)4 * index);
}

static void rows_write(uint8_t type, const struct wire_rows *rows, struct buf *frame)
{
    size_t rows_bytes = (size_t)4 * rows->count;
    size_t values_at = (size_t)rows_values_at(type, rows->count);
    uint8_t *body = buf_append(frame, values_at);

    bytes_store32(body, rows->count);
    bytes_store16(body + 4, rows->width);
    bytes_store16(body + 6, 0);
    memcpy(body + ROWS_HEAD_BYTES, rows->rows, rows_bytes);
    memset(body + ROWS_HEAD_BYTES + rows_bytes, 0, values_at - ROWS_HEAD_BYTES - rows_bytes);
    if (rows->values_bytes > 0) {
        memcpy(buf_append(frame, rows->values_bytes), rows->values, rows->values_bytes);
    }
    if (type == WIRE_ROWS_PUSH) {
        wire_update_id_write(&rows->id, buf_append(frame, WIRE_CHUNK_TAIL_BYTES));
    }
}

enum err wire_rows_encode(struct buf_pool *pool, enum wire_type type, const struct wire_rows *rows,
                          struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = (uint8_t)type,
        .table = rows->table,
        .chunk = rows->chunk,
        .codec = rows->codec,
        .epoch = rows->epoch,
        .clock = rows->clock,
        .origin = rows->origin,
        .weight = rows->weight,
    };
    struct buf *frame;
    uint64_t size;
    enum err rc;

    CHECK(rows_type_valid(header.type));
    if (!rows_counts_valid(rows) || !rows_suit(header.type, rows) ||
        !wire_ascending(rows->rows, rows->count) ||
        (type == WIRE_ROWS_PUSH && !wire_update_id_valid(&rows->id))) {
        return ERR_INVALID;
    }
    size = rows_values_at(header.type, rows->count) + rows->values_bytes +
           rows_tail_bytes(header.type);
    if (size > LIMIT_DATA_BODY_BYTES) {
        return ERR_TOO_BIG;
    }
    rc = wire_frame_take(pool, (size_t)size, &frame);
    if (rc != OK) {
        return rc;
    }
    rows_write(header.type, rows, frame);
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

/* Row numbers, padding and tail of a body whose sizes were found right. */
static enum err rows_read(uint8_t type, const uint8_t *body, struct wire_rows *rows)
{
    size_t rows_end = ROWS_HEAD_BYTES + (size_t)4 * rows->count;
    size_t values_at = (size_t)rows_values_at(type, rows->count);

    rows->rows = body + ROWS_HEAD_BYTES;
    rows->values = type == WIRE_ROWS_PULL ? NULL : body + values_at;
    for (size_t i = rows_end; i < values_at; i++) {
        if (body[i] != 0) {
            return ERR_MALFORMED;
        }
    }
    if (!wire_ascending(rows->rows, rows->count)) {
        return ERR_MALFORMED;
    }
    if (type == WIRE_ROWS_PUSH) {
        return wire_update_id_read(body + values_at + rows->values_bytes, &rows->id);
    }
    return OK;
}

enum err wire_rows_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                          struct wire_rows *out)
{
    struct wire_rows rows = {
        .table = header->table,
        .codec = header->codec,
        .epoch = header->epoch,
        .origin = header->origin,
        .weight = header->weight,
        .clock = header->clock,
        .chunk = header->chunk,
    };
    uint64_t around;
    enum err rc;

    CHECK(rows_type_valid(header->type));
    if (size != header->body_bytes || size < ROWS_HEAD_BYTES || size > LIMIT_DATA_BODY_BYTES ||
        bytes_load16(body + 6) != 0) {
        return ERR_MALFORMED;
    }
    rows.count = bytes_load32(body);
    rows.width = bytes_load16(body + 4);
    if (!rows_counts_valid(&rows)) {
        return ERR_MALFORMED;
    }
    around = rows_values_at(header->type, rows.count) + rows_tail_bytes(header->type);
    if (size < around) {
        return ERR_MALFORMED;
    }
    rows.values_bytes = (uint32_t)(size - around);
    if (!rows_suit(header->type, &rows)) {
        return ERR_MALFORMED;
    }
    rc = rows_read(header->type, body, &rows);
    if (rc == OK) {
        *out = rows;
    }
    return rc;
}
