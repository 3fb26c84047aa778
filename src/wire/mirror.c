/* Lists of numbers and a chunk. Whoever decodes gets views into the body, nothing is copied. */

#include "wire/mirror.h"

#include "base/buf.h"
#include "base/bytes.h"

enum {
    MARK_ITEM_BYTES = 40,
    REPORT_HEAD_BYTES = 48,
    REPORT_FRESH = 1 << 0,
    REPORT_DONE = 1 << 1,
    REPORT_KNEW = 1 << 2,
};

_Static_assert(sizeof(struct wire_mark_item) == MARK_ITEM_BYTES, "the array is the wire");
_Static_assert(MARK_ITEM_BYTES *WIRE_MARK_ITEMS_MAX == WIRE_MARK_BODY_BYTES_MAX,
               "the limit is the longest list");
_Static_assert(REPORT_HEAD_BYTES + 4 * WIRE_REPORT_AWAY_MAX == WIRE_REPORT_BODY_BYTES_MAX,
               "the limit is the longest list");
_Static_assert(WIRE_BARRIER_INDEX_BYTES_MAX + WIRE_RANGES_BYTES_MAX == WIRE_BARRIER_BODY_BYTES_MAX,
               "the limit is the longest index with the longest list");

struct wire_mark_item wire_mark_item(const void *items, uint32_t index)
{
    struct wire_mark_item item;

    memcpy(&item, (const uint8_t *)items + (size_t)MARK_ITEM_BYTES * index, sizeof(item));
    return item;
}

static bool mark_valid(const struct wire_mark *mark)
{
    if (mark->stream >= LIMIT_STREAMS_PER_PEER || mark->serial == 0 || mark->count == 0 ||
        mark->count > WIRE_MARK_ITEMS_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < mark->count; i++) {
        struct wire_mark_item item = wire_mark_item(mark->items, i);

        if (item.site == 0 || (item.flags & ~(uint32_t)WIRE_MARK_WHOLE) != 0 ||
            item.from > item.number) {
            return false;
        }
    }
    return true;
}

enum err wire_mark_encode(struct buf_pool *pool, const struct wire_mark *mark,
                          struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = WIRE_MARK,
        .chunk = mark->stream,
        .clock = mark->serial,
    };
    struct buf *frame;
    size_t size;
    enum err rc;

    if (!mark_valid(mark)) {
        return ERR_INVALID;
    }
    size = (size_t)MARK_ITEM_BYTES * mark->count;
    rc = wire_frame_take(pool, size, &frame);
    if (rc != OK) {
        return rc;
    }
    memcpy(buf_append(frame, size), mark->items, size);
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

enum err wire_mark_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                          struct wire_mark *out)
{
    struct wire_mark mark = {
        .stream = (uint16_t)header->chunk,
        .serial = header->clock,
        .count = (uint32_t)(size / MARK_ITEM_BYTES),
        .items = body,
    };

    CHECK(header->type == WIRE_MARK);
    if (size != header->body_bytes || size % MARK_ITEM_BYTES != 0 || header->table != 0 ||
        header->codec != 0 || header->epoch != 0 || header->origin != 0 || header->weight != 0 ||
        header->chunk >= LIMIT_STREAMS_PER_PEER || !mark_valid(&mark)) {
        return ERR_MALFORMED;
    }
    *out = mark;
    return OK;
}

uint32_t wire_report_away(const struct wire_report *report, uint32_t index)
{
    CHECK(index < report->away_count);
    return bytes_load32((const uint8_t *)report->away + (size_t)4 * index);
}

static bool report_valid(const struct wire_report *report)
{
    uint32_t last = 0;

    if (report->floor > report->number || report->away_count > WIRE_REPORT_AWAY_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < report->away_count; i++) {
        uint32_t site = wire_report_away(report, i);

        if (site <= last) {
            return false;
        }
        last = site;
    }
    return true;
}

static void report_write(const struct wire_report *report, uint8_t *out, size_t size)
{
    uint32_t flags = (report->fresh ? REPORT_FRESH : 0) | (report->done ? REPORT_DONE : 0) |
                     (report->knew ? REPORT_KNEW : 0);
    struct bytes_writer w;

    bytes_writer_init(&w, out, size);
    bytes_write64(&w, report->number);
    bytes_write64(&w, report->floor);
    bytes_write64(&w, report->stable);
    bytes_write64(&w, report->before);
    bytes_write32(&w, report->request);
    bytes_write32(&w, flags);
    bytes_write32(&w, report->away_count);
    bytes_write32(&w, 0);
    bytes_write(&w, report->away, size - REPORT_HEAD_BYTES);
    CHECK(!w.failed && w.left == 0);
}

enum err wire_report_encode(struct buf_pool *pool, const struct wire_report *report,
                            struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = WIRE_REPORT,
        .clock = report->clock,
    };
    struct buf *frame;
    size_t size;
    enum err rc;

    if (!report_valid(report)) {
        return ERR_INVALID;
    }
    size = REPORT_HEAD_BYTES + (size_t)4 * report->away_count;
    rc = wire_frame_take(pool, size, &frame);
    if (rc != OK) {
        return rc;
    }
    report_write(report, buf_append(frame, size), size);
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

static bool report_header_valid(const struct wire_header *header)
{
    return header->table == 0 && header->codec == 0 && header->chunk == 0 && header->epoch == 0 &&
           header->origin == 0 && header->weight == 0;
}

enum err wire_report_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                            struct wire_report *out)
{
    struct wire_report report = {.clock = header->clock};
    struct bytes_reader r;
    uint32_t reserved;
    uint32_t flags;

    CHECK(header->type == WIRE_REPORT);
    bytes_reader_init(&r, body, size);
    report.number = bytes_read64(&r);
    report.floor = bytes_read64(&r);
    report.stable = bytes_read64(&r);
    report.before = bytes_read64(&r);
    report.request = bytes_read32(&r);
    flags = bytes_read32(&r);
    report.away_count = bytes_read32(&r);
    reserved = bytes_read32(&r);
    if (r.failed || size != header->body_bytes || !report_header_valid(header) || reserved != 0 ||
        (flags & ~(uint32_t)(REPORT_FRESH | REPORT_DONE | REPORT_KNEW)) != 0 ||
        r.left != (size_t)4 * report.away_count) {
        return ERR_MALFORMED;
    }
    report.fresh = (flags & REPORT_FRESH) != 0;
    report.done = (flags & REPORT_DONE) != 0;
    report.knew = (flags & REPORT_KNEW) != 0;
    report.away = r.at;
    if (!report_valid(&report)) {
        return ERR_MALFORMED;
    }
    *out = report;
    return OK;
}

static bool barrier_valid(const struct wire_barrier *barrier)
{
    return (barrier->table & WIRE_TABLE_PLANE) == 0 && barrier->origin != 0 &&
           barrier->codec < WIRE_CODECS_DELTA &&
           (barrier->codec == WIRE_CODEC_F32) == (barrier->index_bytes == 0) &&
           barrier->index_bytes <= WIRE_BARRIER_INDEX_BYTES_MAX &&
           wire_ranges_valid(barrier->ranges, barrier->range_count);
}

enum err wire_barrier_encode(struct buf_pool *pool, const struct wire_barrier *barrier,
                             struct buf **frame_out)
{
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = WIRE_BARRIER,
        .table = barrier->table,
        .codec = barrier->codec,
        .chunk = barrier->chunk,
        .epoch = barrier->groups,
        .clock = barrier->clock,
        .origin = barrier->origin,
    };
    uint32_t tail_bytes;
    struct buf *frame;
    enum err rc;

    if (!barrier_valid(barrier)) {
        return ERR_INVALID;
    }
    tail_bytes = wire_ranges_bytes(barrier->range_count);
    rc = wire_frame_take(pool, (size_t)barrier->index_bytes + tail_bytes, &frame);
    if (rc != OK) {
        return rc;
    }
    if (barrier->index_bytes > 0) {
        memcpy(buf_append(frame, barrier->index_bytes), barrier->index, barrier->index_bytes);
    }
    wire_ranges_write(barrier->ranges, barrier->range_count, buf_append(frame, tail_bytes));
    wire_frame_seal(frame, &header);
    *frame_out = frame;
    return OK;
}

enum err wire_barrier_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                             struct wire_barrier *out)
{
    struct wire_barrier barrier = {
        .table = header->table,
        .codec = header->codec,
        .chunk = header->chunk,
        .origin = header->origin,
        .groups = header->epoch,
        .clock = header->clock,
        .index = body,
    };

    CHECK(header->type == WIRE_BARRIER);
    if (size != header->body_bytes || size > WIRE_BARRIER_BODY_BYTES_MAX || header->weight != 0 ||
        wire_ranges_find(body, size, &barrier.ranges, &barrier.range_count) != OK) {
        return ERR_MALFORMED;
    }
    barrier.index_bytes = (uint32_t)size - wire_ranges_bytes(barrier.range_count);
    if (!barrier_valid(&barrier)) {
        return ERR_MALFORMED;
    }
    *out = barrier;
    return OK;
}

static bool copy_valid(const struct wire_copy *copy)
{
    return (copy->chunk.table & WIRE_TABLE_PLANE) == 0 && copy->chunk.origin != 0 &&
           copy->chunk.codec == WIRE_CODEC_F32 && copy->chunk.weight == 0 &&
           wire_ranges_contents_valid(copy->ranges, copy->range_count);
}

enum err wire_copy_encode(struct buf_pool *pool, const struct wire_copy *copy,
                          struct buf **frame_out)
{
    uint8_t tail[WIRE_RANGES_BYTES_MAX];

    if (!copy_valid(copy)) {
        return ERR_INVALID;
    }
    wire_ranges_write(copy->ranges, copy->range_count, tail);
    return wire_chunk_encode(pool, WIRE_COPY, &copy->chunk, tail,
                             wire_ranges_bytes(copy->range_count), frame_out);
}

void wire_copy_seal(struct buf *frame, const struct wire_copy *copy)
{
    uint8_t tail[WIRE_RANGES_BYTES_MAX];

    CHECK(copy_valid(copy));
    wire_ranges_write(copy->ranges, copy->range_count, tail);
    wire_chunk_seal(frame, WIRE_COPY, &copy->chunk, tail, wire_ranges_bytes(copy->range_count));
}

enum err wire_copy_decode(const struct wire_header *header, const uint8_t *body, size_t size,
                          struct wire_copy *out)
{
    struct wire_copy copy;
    enum err rc;

    CHECK(header->type == WIRE_COPY);
    rc = wire_ranges_find(body, size, &copy.ranges, &copy.range_count);
    if (rc != OK) {
        return rc;
    }
    rc = wire_chunk_decode(header, body, size, wire_ranges_bytes(copy.range_count), &copy.chunk);
    if (rc != OK) {
        return rc;
    }
    if (!copy_valid(&copy)) {
        return ERR_MALFORMED;
    }
    *out = copy;
    return OK;
}
