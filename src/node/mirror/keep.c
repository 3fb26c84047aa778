/* What a lane must remember of its dealings with other sites when its process dies: a journal of
 * the pieces it made and took, beside the checkpoints of its chunks.
 *
 * A piece is sent when the journal has it, and what others sent is reported when the journal has
 * that. A chunk in a checkpoint says which pieces are in it. So a lane that starts again takes the
 * chunks of its checkpoint, adds the pieces that it took since, and takes out of what is held back
 * the pieces that it made since; its workers send the updates again that were in no checkpoint. */

#include "base/bytes.h"
#include "base/mem.h"
#include "node/mirror/state.h"
#include "store/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum keep_record {
    KEEP_TABLE = 1, /* u32 number, u32 zero; its schema as JSON. */
    KEEP_MADE = 2,  /* u16 table, u16 codec, u32 chunk, u64 prev, number, clock; payload. */
    KEEP_TOOK = 3,  /* u16 table, u16 codec, u32 chunk, u32 count, u32 zero; ranges; payload. */
    KEEP_STAND = 4, /* u64 clock, number, floor; per site u32 id, u32 zero, u64 stable, clock. */
    KEEP_COPY = 5,  /* u64 number of the last checkpoint: what follows builds on a copy. */
};

enum { KEEP_MADE_BYTES = 32, KEEP_TOOK_BYTES = 16, KEEP_RANGE_BYTES = 24, KEEP_STAND_BYTES = 24 };

static void keep_prefix(const struct node_mirror *r, char *out, size_t size)
{
    (void)snprintf(out, size, "%s/journal-%04u", r->lane->config.site.name, r->lane->config.number);
}

/* Writing. */

static void keep_committed(void *user)
{
    struct node_mirror *r = user;

    for (uint32_t i = 1; i < r->remotes.count && r->unsafe_until == 0; i++) {
        mirror_stored(&r->m, i, r->standing.stable[i]);
    }
    mirror_store(&r->m, r->standing.number, r->standing.clock);
    r->flushing_journal = false;
    node_mirror_release(r);
    node_mirror_journal(r);
    node_mirror_pump(r);
}

static enum err keep_standing(struct node_mirror *r)
{
    uint8_t bytes[KEEP_STAND_BYTES + MIRROR_SITES_MAX * KEEP_RANGE_BYTES];
    struct journal_part part = {bytes, KEEP_STAND_BYTES};
    enum err rc;

    r->standing.clock = r->m.clock;
    r->standing.number = r->m.number;
    bytes_store64(bytes, r->m.clock);
    bytes_store64(bytes + 8, r->m.number);
    bytes_store64(bytes + 16, r->m.floor);
    for (uint32_t i = 1; i < r->remotes.count; i++) {
        uint8_t *to = bytes + part.size;

        r->standing.stable[i] = r->m.sites[i].stable;
        bytes_store32(to, r->remotes.list[i].id);
        bytes_store32(to + 4, 0);
        bytes_store64(to + 8, r->m.sites[i].stable);
        bytes_store64(to + 16, r->m.sites[i].clock);
        part.size += KEEP_RANGE_BYTES;
    }
    rc = journal_room(r->journal, part.size);
    if (rc == OK) {
        journal_add(r->journal, KEEP_STAND, &part, 1);
    }
    return rc;
}

/* That journal has pieces up to the last one. */
static void keep_note(struct node_mirror *r, uint64_t journal)
{
    if (r->journals_count < NODE_JOURNALS_MAX) {
        r->journals[r->journals_count++].journal = journal;
    } /* Else two count as one. */
    r->journals[r->journals_count - 1].number = r->m.number;
}

/* The first journal that somebody may still need for its pieces. */
static uint64_t keep_needed(struct node_mirror *r)
{
    uint32_t gone = 0;

    while (gone < r->journals_count && r->journals[gone].number <= r->m.floor) {
        gone++;
    }
    if (gone > 0) {
        memmove(r->journals, r->journals + gone,
                (r->journals_count - gone) * sizeof(r->journals[0]));
        r->journals_count -= gone;
    }
    return r->journals_count > 0 ? r->journals[0].journal : journal_number(r->journal);
}

void node_mirror_journal(struct node_mirror *r)
{
    if (r->journal == NULL || r->m.fresh) {
        return;
    }
    if (r->flushing_journal) {
        journal_flush(r->journal); /* If it failed before. */
        return;
    }
    if (!r->journal_due || keep_standing(r) != OK) {
        return;
    }
    r->journal_due = false;
    r->flushing_journal = true;
    r->journal_last = journal_number(r->journal);
    keep_note(r, r->journal_last);
    journal_flush(r->journal);
}

void node_mirror_changed(struct node_mirror *r)
{
    if (r->journal != NULL) {
        r->journal_due = true;
        node_mirror_pump(r);
    }
}

enum err node_mirror_keep_room(struct node_mirror *r, uint32_t payload_bytes)
{
    if (r->journal == NULL) {
        return OK;
    }
    node_mirror_keep_tables(r); /* One that was just made, before the first piece of it. */
    return r->tables_kept < r->lane->next_table
               ? ERR_NOMEM
               : journal_room(r->journal, KEEP_TOOK_BYTES + KEEP_MADE_BYTES +
                                              WIRE_RANGES_MAX * KEEP_RANGE_BYTES + payload_bytes);
}

void node_mirror_keep_made(struct node_mirror *r, const struct wire_header *header,
                           const struct wire_range *range, const void *payload, uint32_t size)
{
    uint8_t head[KEEP_MADE_BYTES];
    struct journal_part parts[2] = {{head, sizeof(head)}, {payload, size}};

    if (r->journal == NULL) {
        return;
    }
    bytes_store16(head, header->table);
    bytes_store16(head + 2, header->codec);
    bytes_store32(head + 4, header->chunk);
    bytes_store64(head + 8, range->prev);
    bytes_store64(head + 16, range->number);
    bytes_store64(head + 24, header->clock);
    journal_add(r->journal, KEEP_MADE, parts, 2);
    node_mirror_changed(r);
}

void node_mirror_keep_took(struct node_mirror *r, uint16_t table, uint32_t chunk,
                           const struct wire_delta *delta)
{
    uint8_t head[KEEP_TOOK_BYTES + WIRE_RANGES_MAX * KEEP_RANGE_BYTES];
    struct journal_part parts[2] = {
        {head, KEEP_TOOK_BYTES + (size_t)delta->range_count * KEEP_RANGE_BYTES},
        {delta->chunk.payload, delta->chunk.payload_bytes}};

    if (r->journal == NULL) {
        return;
    }
    bytes_store16(head, table);
    bytes_store16(head + 2, delta->chunk.codec);
    bytes_store32(head + 4, chunk);
    bytes_store32(head + 8, delta->range_count);
    bytes_store32(head + 12, 0);
    for (uint32_t i = 0; i < delta->range_count; i++) {
        struct wire_range range = wire_range(delta->ranges, i);
        uint8_t *to = head + KEEP_TOOK_BYTES + (size_t)i * KEEP_RANGE_BYTES;

        bytes_store32(to, range.site);
        bytes_store32(to + 4, 0);
        bytes_store64(to + 8, range.prev);
        bytes_store64(to + 16, range.number);
    }
    journal_add(r->journal, KEEP_TOOK, parts, 2);
    node_mirror_changed(r);
}

/* So that pieces have a place before any checkpoint. */
static void keep_table(struct node_mirror *r, uint16_t id)
{
    json_t *schema = node_schema_to_json(table_store_schema(r->lane->tables, id));
    char *chars = schema == NULL ? NULL : json_dumps(schema, JSON_COMPACT);
    uint8_t head[8];
    struct journal_part parts[2] = {{head, sizeof(head)}, {chars, 0}};

    json_decref(schema);
    if (chars == NULL) {
        return; /* Once more, with the next table or piece. */
    }
    parts[1].size = strlen(chars);
    bytes_store32(head, id);
    bytes_store32(head + 4, 0);
    if (journal_room(r->journal, sizeof(head) + parts[1].size) == OK) {
        journal_add(r->journal, KEEP_TABLE, parts, 2);
        r->tables_kept = (uint16_t)(id + 1);
    }
    free(chars);
}

void node_mirror_keep_tables(struct node_mirror *r)
{
    while (r->journal != NULL && r->tables_kept < r->lane->next_table) {
        uint16_t id = r->tables_kept;

        if (table_store_schema(r->lane->tables, id) == NULL) {
            r->tables_kept++;
            continue;
        }
        keep_table(r, id);
        if (r->tables_kept == id) {
            return;
        }
        node_mirror_changed(r);
    }
}

/* What follows counts when a checkpoint has it. */
void node_mirror_keep_copy(struct node_mirror *r)
{
    uint8_t bytes[8];
    struct journal_part part = {bytes, sizeof(bytes)};

    if (r->journal == NULL) {
        return;
    }
    bytes_store64(bytes, r->lane->save_number);
    if (journal_room(r->journal, sizeof(bytes)) == OK) {
        journal_add(r->journal, KEEP_COPY, &part, 1);
    }
    r->unsafe_until = r->lane->save_number + 1;
    node_keep_start(r->lane);
}

/* Checkpoints. */

bool node_mirror_keep_ready(const struct node_mirror *r, uint32_t chunk)
{
    return r == NULL || r->journal == NULL || r->m.made[chunk] <= r->m.stored;
}

uint32_t node_mirror_keep_members(const struct node_mirror *r, uint32_t chunk,
                                  struct checkpoint_member *out)
{
    if (r == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < r->remotes.count; i++) {
        out[i] = (struct checkpoint_member){
            .rank = NODE_RANK_SITES + i,
            .incarnation = i == MIRROR_SELF ? r->remotes.id : r->remotes.list[i].id,
            .clock = i == MIRROR_SELF ? r->m.made[chunk] : mirror_contained(&r->m, chunk, i)};
    }
    return r->remotes.count;
}

void node_mirror_keep_begin(struct node_mirror *r)
{
    if (r != NULL && r->journal != NULL) {
        memmove(r->kept_from + 1, r->kept_from, sizeof(r->kept_from) - sizeof(r->kept_from[0]));
        r->kept_from[0] = r->flushing_journal ? r->journal_last : journal_number(r->journal);
    }
}

/* A checkpoint is whole: journals before the oldest that is kept have had their day, as far as all
 * sites have their pieces. */
void node_mirror_keep_done(struct node_mirror *r, bool ok)
{
    uint32_t keep = r == NULL ? 0 : r->lane->config.site.checkpoint_keep;

    if (r == NULL || r->journal == NULL) {
        return;
    }
    if (!ok) {
        memmove(r->kept_from, r->kept_from + 1, sizeof(r->kept_from) - sizeof(r->kept_from[0]));
        return;
    }
    if (r->unsafe_until != 0 && r->lane->save_number >= r->unsafe_until) {
        r->unsafe_until = 0;
        node_mirror_changed(r);
    }
    keep = keep == 0 ? 2 : keep;
    if (keep < NODE_KEPT_MAX && r->kept_from[keep] > 0) {
        uint64_t needed = keep_needed(r);

        journal_prune(r->journal, needed < r->kept_from[keep] ? needed : r->kept_from[keep]);
    }
}

/* Reading. */

void node_mirror_restore_member(struct node_mirror *r, uint32_t chunk,
                                const struct checkpoint_member *m)
{
    const struct node_remote_site *f = node_remote_of(&r->remotes, (uint32_t)m->incarnation);

    if (f != NULL) {
        mirror_adopt(&r->m, chunk, f->index, m->clock);
    } else if (m->incarnation == r->remotes.id) {
        mirror_restore_chunk(&r->m, chunk, m->clock);
        r->standing.number = m->clock > r->standing.number ? m->clock : r->standing.number;
        r->found = true;
    }
}

static enum err load_table(struct node_mirror *r, const uint8_t *bytes, size_t size)
{
    struct node_lane *l = r->lane;
    json_t *about;
    struct table_schema schema;
    uint32_t id;
    enum err rc;

    if (size < 8) {
        return ERR_CORRUPT;
    }
    id = bytes_load32(bytes);
    about = json_loadb((const char *)bytes + 8, size - 8, 0, NULL);
    rc = id < TABLE_COUNT_MAX && about != NULL ? node_schema_from_json(about, &schema, NULL)
                                               : ERR_CORRUPT;
    json_decref(about);
    if (rc == OK && table_store_schema(l->tables, (uint16_t)id) == NULL) {
        rc = node_lane_add_table(l, (uint16_t)id, &schema, NULL);
    }
    return rc;
}

/* A piece that others may miss, and that is not in what is held back any more. */
static enum err load_made(struct node_mirror *r, const uint8_t *bytes, size_t size)
{
    struct node_lane *l = r->lane;
    struct wire_header header = {.type = WIRE_DELTA};
    struct wire_range range = {.site = r->remotes.id};
    struct codec_packed packed;
    uint32_t index, elements;
    uint64_t made;

    if (size <= KEEP_MADE_BYTES) {
        return ERR_CORRUPT;
    }
    header.table = bytes_load16(bytes);
    header.codec = bytes_load16(bytes + 2);
    header.chunk = bytes_load32(bytes + 4);
    range.prev = bytes_load64(bytes + 8);
    range.number = bytes_load64(bytes + 16);
    header.clock = bytes_load64(bytes + 24);
    index = table_store_find(l->tables, header.table, header.chunk);
    elements = index == TABLE_STORE_NONE ? 0 : table_store_elements(l->tables, index);
    if (elements == 0 || size - KEEP_MADE_BYTES > codec_bytes_max(elements) ||
        !codec_payload_valid(header.codec, bytes + KEEP_MADE_BYTES, size - KEEP_MADE_BYTES,
                             elements)) {
        return ERR_CORRUPT;
    }
    made = r->m.made[index];
    if (mirror_life(made) != mirror_life(range.number) || range.number > made) {
        memset(r->scratch, 0, elements * sizeof(float));
        (void)codec_add(header.codec, bytes + KEEP_MADE_BYTES, elements, r->scratch);
        for (uint32_t i = 0; i < elements; i++) {
            r->chunks[index].held[i] -= r->scratch[i];
        }
        mirror_restore_chunk(&r->m, index, range.number);
    }
    packed =
        (struct codec_packed){.codec = header.codec, .bytes = (uint32_t)(size - KEEP_MADE_BYTES)};
    memcpy(r->scratch, bytes + KEEP_MADE_BYTES, packed.bytes);
    r->standing.number = range.number > r->standing.number ? range.number : r->standing.number;
    r->found = true;
    return node_mirror_restore_piece(r, index, &range, header.clock, &packed);
}

static enum err load_took(struct node_mirror *r, const uint8_t *bytes, size_t size)
{
    struct node_lane *l = r->lane;
    struct mirror_range ranges[WIRE_RANGES_MAX];
    uint32_t count, index, elements, known = 0;
    uint16_t codec;
    size_t head;

    if (size < KEEP_TOOK_BYTES) {
        return ERR_CORRUPT;
    }
    codec = bytes_load16(bytes + 2);
    count = bytes_load32(bytes + 8);
    head = KEEP_TOOK_BYTES + (size_t)count * KEEP_RANGE_BYTES;
    index = table_store_find(l->tables, bytes_load16(bytes), bytes_load32(bytes + 4));
    elements = index == TABLE_STORE_NONE ? 0 : table_store_elements(l->tables, index);
    if (count == 0 || count > WIRE_RANGES_MAX || head >= size || elements == 0 ||
        !codec_payload_valid(codec, bytes + head, size - head, elements)) {
        return ERR_CORRUPT;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *from = bytes + KEEP_TOOK_BYTES + (size_t)i * KEEP_RANGE_BYTES;
        const struct node_remote_site *f = node_remote_of(&r->remotes, bytes_load32(from));

        known += f != NULL;
        ranges[i] = (struct mirror_range){.site = f == NULL ? MIRROR_SELF : f->index,
                                          .prev = bytes_load64(from + 8),
                                          .number = bytes_load64(from + 16)};
    }
    if (known == count && !r->load_torn) {
        switch (mirror_judge(&r->m, index, ranges, count, false, true)) {
        case MIRROR_TAKE:
            (void)codec_add(codec, bytes + head, elements, table_store_values(l->tables, index));
            l->chunks[index]->changed = true;
            break;
        case MIRROR_HOLD:
            mirror_lose(&r->m, ranges, count);
            break;
        default:
            break;
        }
    }
    return OK;
}

static enum err load_stand(struct node_mirror *r, const uint8_t *bytes, size_t size)
{
    if (size < KEEP_STAND_BYTES || (size - KEEP_STAND_BYTES) % KEEP_RANGE_BYTES != 0) {
        return ERR_CORRUPT;
    }
    r->standing.clock = bytes_load64(bytes);
    r->standing.number = bytes_load64(bytes + 8);
    r->standing.floor = bytes_load64(bytes + 16);
    r->found = true;
    for (size_t at = KEEP_STAND_BYTES; at < size && !r->load_torn; at += KEEP_RANGE_BYTES) {
        const struct node_remote_site *f = node_remote_of(&r->remotes, bytes_load32(bytes + at));

        if (f != NULL) {
            mirror_restore_site(&r->m, f->index, bytes_load64(bytes + at + 8),
                                bytes_load64(bytes + at + 16));
        }
    }
    return OK;
}

static enum err load_record(uint64_t number, uint32_t type, const uint8_t *bytes, size_t size,
                            void *user)
{
    struct node_mirror *r = user;

    (void)number;
    switch (type) {
    case KEEP_TABLE:
        return load_table(r, bytes, size);
    case KEEP_MADE:
        return load_made(r, bytes, size);
    case KEEP_TOOK:
        return load_took(r, bytes, size);
    case KEEP_STAND:
        return load_stand(r, bytes, size);
    case KEEP_COPY:
        if (size != 8) {
            return ERR_CORRUPT;
        }
        r->load_torn = bytes_load64(bytes) >= r->lane->restored_number;
        return OK;
    default:
        return ERR_VERSION;
    }
}

enum err node_mirror_load(struct node_mirror *r, struct err_text *text)
{
    char prefix[STORE_NAME_BYTES];
    struct journal_config config = {
        .store = r->lane->config.store, .prefix = prefix, .committed = keep_committed, .user = r};
    enum err rc;

    if (!r->m.config.durable) {
        return OK;
    }
    keep_prefix(r, prefix, sizeof(prefix));
    rc = journal_read(config.store, prefix, load_record, r, &config.number, text);
    if (rc != OK) {
        return text->text[0] != '\0'
                   ? rc
                   : err_text_set(text, rc,
                                  "the journal %s does not fit the checkpoint: remove "
                                  "both, and the site takes a copy of another one",
                                  prefix);
    }
    if (r->found) {
        mirror_restore(&r->m, r->standing.number, r->standing.clock);
        mirror_settle_floor(&r->m, r->standing.floor);
        node_mirror_release(r);
        node_lane_trace(r->lane, "remembers %" PRIu64 " pieces",
                        (uint64_t)(r->m.log_end - r->m.log_first));
    }
    rc = journal_create(&config, &r->journal);
    if (rc == OK && r->found) {
        keep_note(r, 1); /* All that were there. */
    }
    if (rc == OK && r->found && !r->lane->restoring) {
        rc = node_restore_begin(r->lane); /* Before the first checkpoint: all comes again. */
    }
    return rc;
}

void node_mirror_keep_end(struct node_mirror *r)
{
    journal_destroy(r->journal);
    r->journal = NULL;
}
