#include "run/trainer/worker_state.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STATE_MAGIC "STRAITws"
#define STATE_AGAIN_NS INT64_C(2000000) /* The disk is behind. */

enum {
    STATE_MAGIC_BYTES = 8,
    STATE_JOB_AT = 64,
    STATE_CHECK_AT = RUN_STATE_HEAD_BYTES - 8,
    STATE_SLOTS = 2,
    STATE_PER_CLOCK_BYTES = 4 * 1024 * 1024,
};

struct state_slot {
    bool present;
    struct run_state_head head;
    uint64_t check; /* Of the head: the beginning of that of the state. */
    char name[STORE_NAME_BYTES];
};

struct run_state {
    struct run_state_config config;
    const struct app_state_ops *ops;
    uint64_t about; /* Takes its time to find out. */
    struct state_slot slots[STATE_SLOTS];
    uint32_t current; /* The one that holds what the job goes on from; STATE_SLOTS: none. */
    uint64_t serial;  /* The largest that is there. */
    uint32_t target;  /* Being written. */
    struct store_writer *writer;
    bool begun;      /* Its head is written. */
    uint64_t offset; /* Of the state, so far. */
    uint64_t check;
    struct loop_timer timer;
    void (*saved)(enum err rc, void *user);
    void *user;
    uint8_t block[RUN_STATE_BLOCK_BYTES];
};

/* Bytes. */

void run_state_head_encode(const struct run_state_head *head, uint8_t out[RUN_STATE_HEAD_BYTES])
{
    memset(out, 0, RUN_STATE_HEAD_BYTES);
    memcpy(out, STATE_MAGIC, STATE_MAGIC_BYTES);
    bytes_store32(out + 8, RUN_STATE_VERSION);
    bytes_store32(out + 12, head->rank);
    bytes_store32(out + 16, head->workers);
    bytes_store64(out + 24, head->serial);
    bytes_store64(out + 32, head->clock);
    bytes_store64(out + 40, head->before);
    bytes_store64(out + 48, head->about);
    bytes_store64(out + 56, head->size);
    memcpy(out + STATE_JOB_AT, head->job, strnlen(head->job, APP_NAME_BYTES - 1));
    bytes_store64(out + STATE_CHECK_AT, hash_bytes(out, STATE_CHECK_AT));
}

/* Whatever is not said must be zero, and a job's name has an end. */
static bool state_head_sound(const uint8_t *bytes)
{
    const uint8_t *job = bytes + STATE_JOB_AT;
    size_t used = strnlen((const char *)job, APP_NAME_BYTES);

    for (size_t i = STATE_JOB_AT + used; i < STATE_CHECK_AT; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return used > 0 && used < APP_NAME_BYTES && bytes_load32(bytes + 20) == 0;
}

enum err run_state_head_decode(const uint8_t bytes[RUN_STATE_HEAD_BYTES],
                               struct run_state_head *out, const char **why_out)
{
    if (memcmp(bytes, STATE_MAGIC, STATE_MAGIC_BYTES) != 0) {
        *why_out = "it is no state of a worker";
        return ERR_CORRUPT;
    }
    if (bytes_load32(bytes + 8) != RUN_STATE_VERSION) {
        *why_out = "another version of Strait wrote it";
        return ERR_VERSION;
    }
    if (bytes_load64(bytes + STATE_CHECK_AT) != hash_bytes(bytes, STATE_CHECK_AT) ||
        !state_head_sound(bytes)) {
        *why_out = "its head was changed";
        return ERR_CORRUPT;
    }
    *out = (struct run_state_head){
        .rank = bytes_load32(bytes + 12),
        .workers = bytes_load32(bytes + 16),
        .serial = bytes_load64(bytes + 24),
        .clock = bytes_load64(bytes + 32),
        .before = bytes_load64(bytes + 40),
        .about = bytes_load64(bytes + 48),
        .size = bytes_load64(bytes + 56),
    };
    memcpy(out->job, bytes + STATE_JOB_AT, APP_NAME_BYTES - 1);
    return OK;
}

static uint64_t state_check_more(uint64_t check, const void *block, size_t size)
{
    uint8_t both[16];

    bytes_store64(both, check);
    bytes_store64(both + 8, hash_bytes(block, size));
    return hash_bytes(both, sizeof(both));
}

/* Reading. */

static enum err state_unreadable(const struct run_state *s, const struct state_slot *slot,
                                 enum err rc, const char *why, struct err_text *text)
{
    if (rc == ERR_NOMEM || rc == ERR_IO || rc == ERR_DENIED) {
        return err_text_set(text, rc, "%.180s/%s cannot be read: %s", s->config.place, slot->name,
                            err_string(rc));
    }
    return err_text_set(
        text, rc,
        "%.180s/%s cannot be used: %s. Bring it back from a copy; or remove it, and "
        "the worker goes on from the state before it, if there is one",
        s->config.place, slot->name, why);
}

/* @size bytes, all of them. */
static enum err state_read(struct run_state *s, const struct state_slot *slot, uint64_t offset,
                           void *bytes, size_t size, const char **why_out)
{
    size_t done = 0;
    enum err rc = store_read(s->config.store, slot->name, offset, bytes, size, &done);

    *why_out = rc == ERR_CORRUPT ? "the disk no longer has its bytes" : "it ends too early";
    return rc == OK && done != size ? ERR_CORRUPT : rc;
}

static size_t state_block_size(uint64_t size, uint64_t offset)
{
    return size - offset < RUN_STATE_BLOCK_BYTES ? (size_t)(size - offset) : RUN_STATE_BLOCK_BYTES;
}

/* Read all of it; with @give the job gets it, block by block. */
static enum err state_walk(struct run_state *s, const struct state_slot *slot, bool give,
                           const char **why_out)
{
    uint64_t check = slot->check;
    uint8_t end[RUN_STATE_END_BYTES];
    enum err rc = OK;

    for (uint64_t at = 0; at < slot->head.size && rc == OK;) {
        size_t size = state_block_size(slot->head.size, at);

        rc = state_read(s, slot, RUN_STATE_HEAD_BYTES + at, s->block, size, why_out);
        if (rc == OK) {
            check = state_check_more(check, s->block, size);
            *why_out = "the job does not know what is in it";
            rc = give ? s->ops->load(s->config.app, at, s->block, size) : OK;
        }
        at += size;
    }
    if (rc == OK) {
        rc = state_read(s, slot, RUN_STATE_HEAD_BYTES + slot->head.size, end, sizeof(end), why_out);
    }
    if (rc == OK && bytes_load64(end) != check) {
        *why_out = "its bytes were changed";
        rc = ERR_CORRUPT;
    }
    return rc;
}

/* Is it ours? */
static enum err state_fits(const struct run_state *s, const struct state_slot *slot,
                           struct err_text *text)
{
    const struct run_state_config *c = &s->config;
    const struct run_state_head *h = &slot->head;

    if (strcmp(h->job, c->app->ops->name) != 0) {
        return err_text_set(text, ERR_INVALID,
                            "%.180s/%s is the state of job %s, and this is job %s: name another "
                            "folder, or remove what is in this one",
                            c->place, slot->name, h->job, c->app->ops->name);
    }
    if (h->rank != c->rank || h->workers != c->workers) {
        return err_text_set(text, ERR_INVALID,
                            "%.180s/%s is the state of worker %u of %u, and this is worker %u of "
                            "%u, who has other data: start as many as before, or name another "
                            "folder to begin anew",
                            c->place, slot->name, h->rank, h->workers, c->rank, c->workers);
    }
    if (h->about != s->about || h->size != s->ops->size(c->app)) {
        return err_text_set(text, ERR_INVALID,
                            "%.180s/%s was made with other data, or with other options of the job: "
                            "give it what it had, or name another folder to begin anew",
                            c->place, slot->name);
    }
    return OK;
}

static enum err state_look(struct run_state *s, uint32_t index, struct err_text *text)
{
    struct state_slot *slot = &s->slots[index];
    uint8_t head[RUN_STATE_HEAD_BYTES];
    const char *why = "";
    uint64_t bytes = 0;
    enum err rc;

    (void)snprintf(slot->name, sizeof(slot->name), "worker-%u-%c", s->config.rank,
                   index == 0 ? 'a' : 'b');
    rc = store_size(s->config.store, slot->name, &bytes);
    if (rc == ERR_NOT_FOUND) {
        return OK;
    }
    if (rc == OK) {
        rc = state_read(s, slot, 0, head, sizeof(head), &why);
    }
    if (rc == OK) {
        rc = run_state_head_decode(head, &slot->head, &why);
    }
    if (rc != OK) {
        return state_unreadable(s, slot, rc, why, text);
    }
    rc = state_fits(s, slot, text);
    if (rc != OK) {
        return rc;
    }
    slot->check = bytes_load64(head + STATE_CHECK_AT);
    rc = state_walk(s, slot, false, &why);
    if (rc == OK && bytes != RUN_STATE_HEAD_BYTES + slot->head.size + RUN_STATE_END_BYTES) {
        why = "there are bytes behind its end";
        rc = ERR_CORRUPT;
    }
    if (rc != OK) {
        return state_unreadable(s, slot, rc, why, text);
    }
    slot->present = true;
    s->serial = slot->head.serial > s->serial ? slot->head.serial : s->serial;
    return OK;
}

/* The newest, or STATE_SLOTS. */
static uint32_t state_newest(const struct run_state *s)
{
    uint32_t newest = STATE_SLOTS;

    for (uint32_t i = 0; i < STATE_SLOTS; i++) {
        if (s->slots[i].present &&
            (newest == STATE_SLOTS || s->slots[i].head.serial > s->slots[newest].head.serial)) {
            newest = i;
        }
    }
    return newest;
}

/* The site is at or before the newest state's clock: nothing of that was counted. Choose the one
 * before it, if that fits. */
static enum err state_step_back(struct run_state *s, uint64_t entry, uint32_t newest,
                                struct err_text *text)
{
    const struct run_state_head *last = &s->slots[newest].head;
    const struct state_slot *other = &s->slots[1 - newest];

    if (last->before == 0) {
        (void)err_text_set(text, OK, "clock %" PRIu64 " was not counted: begins with a fresh state",
                           last->clock);
        s->current = STATE_SLOTS;
        return OK;
    }
    s->current = other->present && other->head.clock == last->before ? 1 - newest : newest;
    if (s->slots[s->current].head.clock < entry) {
        (void)err_text_set(text, OK,
                           "clock %" PRIu64 " was not counted: goes on from the state of clock "
                           "%" PRIu64,
                           last->clock, s->slots[s->current].head.clock);
        return OK;
    }
    if (!s->ops->exact) {
        /* Servers without a checkpoint begin at clock 1, and so does another run: who knows? */
        (void)err_text_set(text, OK,
                           "the state of clock %" PRIu64 " is ahead of the site, which is at clock "
                           "%" PRIu64 ": goes on from it%s",
                           s->slots[s->current].head.clock, entry,
                           entry == 1 ? " (if this is another run, name another folder)" : "");
        return OK;
    }
    return err_text_set(text, ERR_INVALID,
                        "the state in %.180s is of clock %" PRIu64 ", and the site is at clock "
                        "%" PRIu64 ": it is of another run, or the servers have lost what came "
                        "after. Name another folder, or remove worker-%u-* there; what the tables "
                        "hold of this worker is then counted anew",
                        s->config.place, last->clock, entry, s->config.rank);
}

enum err run_state_load(struct run_state *s, uint64_t entry, uint64_t *clock_out,
                        struct err_text *text)
{
    const char *why = "";
    uint32_t newest = state_newest(s);
    enum err rc = OK;

    *text = (struct err_text){""};
    *clock_out = 0;
    s->current = newest;
    if (newest < STATE_SLOTS && s->slots[newest].head.clock >= entry) {
        rc = state_step_back(s, entry, newest, text);
    }
    if (rc != OK || s->current == STATE_SLOTS) {
        s->target = newest == STATE_SLOTS ? 0 : newest;
        return rc;
    }
    s->target = 1 - s->current;
    rc = state_walk(s, &s->slots[s->current], true, &why);
    if (rc != OK) {
        return state_unreadable(s, &s->slots[s->current], rc, why, text);
    }
    *clock_out = s->slots[s->current].head.clock;
    return OK;
}

/* Writing. */

static void state_finish(enum err rc, void *user)
{
    struct run_state *s = user;

    if (rc == OK) {
        s->serial = s->slots[s->target].head.serial;
        s->slots[s->target].present = true;
        s->current = s->target;
        s->target = 1 - s->target;
    }
    s->saved(rc, s->user);
}

/* The next piece; ERR_AGAIN: later. */
static enum err state_append(struct run_state *s)
{
    const struct run_state_head *h = &s->slots[s->target].head;
    uint8_t head[RUN_STATE_HEAD_BYTES];
    size_t size;
    enum err rc;

    if (!s->begun) {
        run_state_head_encode(h, head);
        s->check = bytes_load64(head + STATE_CHECK_AT);
        rc = store_append(s->writer, head, sizeof(head));
        s->begun = rc == OK;
        return rc;
    }
    size = state_block_size(h->size, s->offset);
    s->ops->save(s->config.app, s->offset, s->block, size);
    rc = store_append(s->writer, s->block, size);
    if (rc == OK) {
        s->offset += size;
        s->check = state_check_more(s->check, s->block, size);
    }
    return rc;
}

static enum err state_write(struct run_state *s)
{
    const struct state_slot *slot = &s->slots[s->target];
    uint8_t end[RUN_STATE_END_BYTES];
    enum err rc = s->writer != NULL ? OK : store_begin(s->config.store, slot->name, &s->writer);

    while (rc == OK && (!s->begun || s->offset < slot->head.size)) {
        rc = state_append(s);
    }
    if (rc == OK) {
        bytes_store64(end, s->check);
        rc = store_append(s->writer, end, sizeof(end));
    }
    return rc;
}

static void state_timer(struct loop_timer *timer, void *user)
{
    struct run_state *s = user;
    struct store_writer *writer;
    enum err rc = state_write(s);

    (void)timer;
    if (rc == ERR_AGAIN) {
        loop_timer_start_in(&s->timer, STATE_AGAIN_NS);
        return;
    }
    writer = s->writer;
    s->writer = NULL;
    if (rc == OK) {
        store_commit(writer, state_finish, s);
    } else {
        store_abort(writer);
        state_finish(rc, s);
    }
}

void run_state_save(struct run_state *s, uint64_t clock, void (*saved)(enum err rc, void *user),
                    void *user)
{
    struct run_state_head *h = &s->slots[s->target].head;

    CHECK(s->writer == NULL);
    s->slots[s->target].present = false;
    *h = (struct run_state_head){
        .rank = s->config.rank,
        .workers = s->config.workers,
        .serial = s->serial + 1,
        .clock = clock,
        .before = s->current < STATE_SLOTS ? s->slots[s->current].head.clock : 0,
        .about = s->about,
        .size = s->ops->size(s->config.app),
    };
    (void)snprintf(h->job, sizeof(h->job), "%s", s->config.app->ops->name);
    s->begun = false;
    s->offset = 0;
    s->saved = saved;
    s->user = user;
    loop_timer_start_in(&s->timer, 0);
}

uint32_t run_state_every(const struct app *app, uint32_t wanted)
{
    uint64_t clocks;

    if (wanted != 0 || app->ops->state->exact) {
        return wanted != 0 ? wanted : 1;
    }
    clocks = (app->ops->state->size(app) + STATE_PER_CLOCK_BYTES - 1) / STATE_PER_CLOCK_BYTES;
    return clocks == 0 ? 1 : clocks > UINT32_MAX ? UINT32_MAX : (uint32_t)clocks;
}

/* Making and ending. */

enum err run_state_create(const struct run_state_config *config, struct run_state **state_out,
                          struct err_text *text)
{
    struct run_state *s = mem_zalloc(sizeof(*s));
    enum err rc = s == NULL ? ERR_NOMEM : OK;

    CHECK(config->app->ops->state != NULL);
    if (rc == OK) {
        s->config = *config;
        s->ops = config->app->ops->state;
        s->about = s->ops->about(config->app);
        s->current = STATE_SLOTS;
        rc = loop_timer_init(&s->timer, config->loop, state_timer, s);
    }
    if (rc != OK) {
        mem_free(s);
        return err_text_set(text, rc, "no memory for the worker's state");
    }
    for (uint32_t i = 0; i < STATE_SLOTS && rc == OK; i++) {
        rc = state_look(s, i, text);
    }
    if (rc != OK) {
        loop_timer_deinit(&s->timer);
        mem_free(s);
        return rc;
    }
    *state_out = s;
    return OK;
}

void run_state_destroy(struct run_state *s)
{
    if (s == NULL) {
        return;
    }
    store_abort(s->writer);
    loop_timer_deinit(&s->timer);
    store_destroy(s->config.store);
    mem_free(s);
}
