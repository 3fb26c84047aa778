#include "sim/echo/ledger.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "sim/disk.h"

#include <stdio.h>
#include <string.h>

enum {
    LEDGER_NAME_BYTES = LIMIT_NAME_BYTES,
    LEDGER_RECORD_BYTES = LEDGER_NAME_BYTES + 4 * 8 + 8,
    LEDGER_CLIENT_BYTES = LEDGER_NAME_BYTES + 4 * 8 + WIRE_WINDOW_WORDS * 8,
    LEDGER_HEAD_BYTES = 16,
    LEDGER_JOURNAL_MAX = 256, /* Records, then a snapshot is taken. */
};

#define LEDGER_MAGIC UINT64_C(0x5245474445525453) /* "STREDGER" */

struct sim_ledger {
    struct sim_disk *disk;
    struct sim_ledger_client *clients[SIM_LEDGER_CLIENTS_MAX];
    uint32_t clients_count;
    uint32_t records; /* In the journal. */
    bool damaged;     /* The journal cannot be trusted to go on. */
};

static struct sim_ledger_client *ledger_get(const struct sim_ledger *l, const char *name)
{
    for (uint32_t i = 0; i < l->clients_count; i++) {
        if (strcmp(l->clients[i]->name, name) == 0) {
            return l->clients[i];
        }
    }
    return NULL;
}

const struct sim_ledger_client *sim_ledger_find(const struct sim_ledger *l, const char *name)
{
    return ledger_get(l, name);
}

static enum err ledger_client(struct sim_ledger *l, const char *name,
                              struct sim_ledger_client **client_out)
{
    struct sim_ledger_client *c = ledger_get(l, name);

    if (c == NULL) {
        if (l->clients_count == SIM_LEDGER_CLIENTS_MAX) {
            return ERR_TOO_BIG;
        }
        c = mem_zalloc(sizeof(*c));
        if (c == NULL) {
            return ERR_NOMEM;
        }
        (void)snprintf(c->name, sizeof(c->name), "%s", name);
        l->clients[l->clients_count++] = c;
    }
    *client_out = c;
    return OK;
}

/* Would it count? */
static enum err ledger_judge(const struct sim_ledger_client *c, const struct sim_ledger_entry *e)
{
    if (e->incarnation < c->incarnation) {
        return ERR_REFUSED;
    }
    if (e->incarnation > c->incarnation) {
        return OK;
    }
    switch (net_window_judge(&c->window, e->sequence)) {
    case NET_WINDOW_DUPLICATE:
        return ERR_EXISTS;
    case NET_WINDOW_BEYOND:
        return ERR_INVALID;
    case NET_WINDOW_NEW:
        break;
    }
    return OK;
}

static void ledger_apply(struct sim_ledger_client *c, const struct sim_ledger_entry *e)
{
    if (e->incarnation > c->incarnation) {
        c->incarnation = e->incarnation;
        net_window_init(&c->window, 0);
    }
    (void)net_window_add(&c->window, e->sequence);
    c->count++;
    c->sum += e->value;
}

static void ledger_record(const struct sim_ledger_entry *e, uint8_t out[LEDGER_RECORD_BYTES])
{
    struct bytes_writer w;
    char name[LEDGER_NAME_BYTES] = {0};

    memcpy(name, e->client, strnlen(e->client, sizeof(name)));
    bytes_writer_init(&w, out, LEDGER_RECORD_BYTES);
    bytes_write(&w, name, sizeof(name));
    bytes_write64(&w, e->incarnation);
    bytes_write64(&w, e->sequence);
    bytes_write64(&w, e->value);
    bytes_write64(&w, (uint64_t)e->wall_us);
    bytes_write64(&w, hash_bytes(out, LEDGER_RECORD_BYTES - 8));
    CHECK(!w.failed && w.left == 0);
}

static bool ledger_parse(const uint8_t *bytes, struct sim_ledger_entry *out)
{
    struct bytes_reader r;

    if (bytes_load64(bytes + LEDGER_RECORD_BYTES - 8) !=
        hash_bytes(bytes, LEDGER_RECORD_BYTES - 8)) {
        return false;
    }
    *out = (struct sim_ledger_entry){0};
    memcpy(out->client, bytes, LEDGER_NAME_BYTES);
    bytes_reader_init(&r, bytes + LEDGER_NAME_BYTES, LEDGER_RECORD_BYTES - LEDGER_NAME_BYTES);
    out->incarnation = bytes_read64(&r);
    out->sequence = bytes_read64(&r);
    out->value = bytes_read64(&r);
    out->wall_us = (int64_t)bytes_read64(&r);
    return true;
}

static void ledger_write_client(struct bytes_writer *w, const struct sim_ledger_client *c)
{
    struct wire_window window;
    char name[LEDGER_NAME_BYTES] = {0};

    memcpy(name, c->name, strnlen(c->name, sizeof(name)));
    net_window_to_wire(&c->window, &window);
    bytes_write(w, name, sizeof(name));
    bytes_write64(w, c->incarnation);
    bytes_write64(w, c->count);
    bytes_write64(w, c->sum);
    bytes_write64(w, window.base);
    bytes_write(w, window.bits, sizeof(window.bits));
}

/* Replace snapshot and journal by a snapshot of now. */
static enum err ledger_snapshot(struct sim_ledger *l)
{
    size_t size = LEDGER_HEAD_BYTES + (size_t)l->clients_count * LEDGER_CLIENT_BYTES + 8;
    uint8_t *bytes = mem_zalloc(size);
    struct bytes_writer w;
    enum err rc;

    if (bytes == NULL) {
        return ERR_NOMEM;
    }
    bytes_writer_init(&w, bytes, size);
    bytes_write64(&w, LEDGER_MAGIC);
    bytes_write64(&w, l->clients_count);
    for (uint32_t i = 0; i < l->clients_count; i++) {
        ledger_write_client(&w, l->clients[i]);
    }
    bytes_write64(&w, hash_bytes(bytes, size - 8));
    CHECK(!w.failed && w.left == 0);
    rc = sim_disk_write_atomic(l->disk, "state", bytes, size);
    mem_free(bytes);
    if (rc != OK) {
        return rc;
    }
    rc = sim_disk_remove(l->disk, "journal");
    if (rc == OK || rc == ERR_NOT_FOUND) {
        l->records = 0;
        l->damaged = false;
        return OK;
    }
    return rc;
}

static enum err ledger_read_client(struct sim_ledger *l, struct bytes_reader *r)
{
    struct wire_window window = {0};
    char name[LEDGER_NAME_BYTES + 1] = {0};
    const uint8_t *chars = bytes_read(r, LEDGER_NAME_BYTES);
    struct sim_ledger_client *c;
    const uint8_t *bits;
    enum err rc;

    if (chars == NULL) {
        return ERR_MALFORMED;
    }
    memcpy(name, chars, LEDGER_NAME_BYTES);
    rc = ledger_client(l, name, &c);
    if (rc != OK) {
        return rc;
    }
    c->incarnation = bytes_read64(r);
    c->count = bytes_read64(r);
    c->sum = bytes_read64(r);
    window.base = bytes_read64(r);
    bits = bytes_read(r, sizeof(window.bits));
    if (bits == NULL) {
        return ERR_MALFORMED;
    }
    memcpy(window.bits, bits, sizeof(window.bits));
    net_window_from_wire(&c->window, &window);
    return OK;
}

static enum err ledger_load_state(struct sim_ledger *l)
{
    const uint8_t *bytes;
    struct bytes_reader r;
    size_t size;
    uint64_t count;
    enum err rc = sim_disk_read(l->disk, "state", &bytes, &size);

    if (rc == ERR_NOT_FOUND) {
        return OK;
    }
    if (rc != OK) {
        return rc;
    }
    if (size < LEDGER_HEAD_BYTES + 8 || bytes_load64(bytes) != LEDGER_MAGIC ||
        bytes_load64(bytes + size - 8) != hash_bytes(bytes, size - 8)) {
        return ERR_CORRUPT;
    }
    bytes_reader_init(&r, bytes + 8, size - 16);
    count = bytes_read64(&r);
    for (uint64_t i = 0; i < count && rc == OK; i++) {
        rc = ledger_read_client(l, &r);
    }
    return rc;
}

static enum err ledger_load_journal(struct sim_ledger *l,
                                    void (*found)(const struct sim_ledger_entry *entry, void *user),
                                    void *user)
{
    const uint8_t *bytes;
    size_t size, at = 0;
    enum err rc = sim_disk_read(l->disk, "journal", &bytes, &size);

    if (rc != OK) {
        return rc == ERR_NOT_FOUND ? OK : rc;
    }
    for (; at + LEDGER_RECORD_BYTES <= size; at += LEDGER_RECORD_BYTES) {
        struct sim_ledger_entry entry;
        struct sim_ledger_client *c;

        if (!ledger_parse(bytes + at, &entry)) {
            break;
        }
        rc = ledger_client(l, entry.client, &c);
        if (rc != OK) {
            return rc;
        }
        l->records++;
        if (ledger_judge(c, &entry) == OK) {
            ledger_apply(c, &entry);
            if (found != NULL) {
                found(&entry, user);
            }
        }
    }
    l->damaged = at != size;
    return OK;
}

enum err sim_ledger_open(struct sim_disk *disk,
                         void (*found)(const struct sim_ledger_entry *entry, void *user),
                         void *user, struct sim_ledger **ledger_out)
{
    struct sim_ledger *l = mem_zalloc(sizeof(*l));
    enum err rc;

    if (l == NULL) {
        return ERR_NOMEM;
    }
    l->disk = disk;
    rc = ledger_load_state(l);
    if (rc == OK) {
        rc = ledger_load_journal(l, found, user);
    }
    if (rc != OK) {
        sim_ledger_close(l);
        return rc;
    }
    *ledger_out = l;
    return OK;
}

void sim_ledger_close(struct sim_ledger *l)
{
    if (l != NULL) {
        for (uint32_t i = 0; i < l->clients_count; i++) {
            mem_free(l->clients[i]);
        }
        mem_free(l);
    }
}

enum err sim_ledger_commit(struct sim_ledger *l, const struct sim_ledger_entry *entry)
{
    uint8_t record[LEDGER_RECORD_BYTES];
    struct sim_ledger_client *c;
    enum err rc = ledger_client(l, entry->client, &c);

    if (rc == OK) {
        rc = ledger_judge(c, entry);
    }
    if (rc == OK && (l->damaged || l->records >= LEDGER_JOURNAL_MAX)) {
        enum err snapshot = ledger_snapshot(l);

        rc = l->damaged ? snapshot : OK; /* A journal that is only long can grow on. */
    }
    if (rc != OK) {
        return rc;
    }
    ledger_record(entry, record);
    rc = sim_disk_append(l->disk, "journal", record, sizeof(record));
    if (rc == OK) {
        rc = sim_disk_sync(l->disk, "journal");
    }
    if (rc != OK) {
        l->damaged = true;
        return rc;
    }
    l->records++;
    ledger_apply(c, entry);
    return OK;
}
