/* What the tests of this module share: a step that collects all actions, and looks at everything
 * that must hold whatever the event was. */

#ifndef SYNC_TESTING_H
#define SYNC_TESTING_H

#include "sync/sync.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TESTING_ACTIONS_MAX = 8192 };

/* All actions of one event, those after SYNC_CONTINUE included. */
struct testing_actions {
    struct sync_action list[TESTING_ACTIONS_MAX];
    uint32_t count;
    uint32_t parts; /* In how many updates they came. */
};

/* A machine byte by byte. */
struct testing_image {
    struct sync sync;
    uint8_t *bytes; /* Its arrays; of malloc(), so that planned failures do not count it. */
    size_t size;
    size_t capacity;
};

static inline void testing_image_add(struct testing_image *image, const void *from, size_t size)
{
    if (size == 0) {
        return;
    }
    if (image->size + size > image->capacity) {
        image->capacity = 2 * (image->size + size);
        image->bytes = realloc(image->bytes, image->capacity);
        assert_non_null(image->bytes);
    }
    memcpy(image->bytes + image->size, from, size);
    image->size += size;
}

static inline void testing_image_take(struct testing_image *image, const struct sync *s)
{
    size_t cells = (size_t)s->chunks_count * s->members_capacity;

    memcpy(&image->sync, s, sizeof(*s));
    image->size = 0;
    testing_image_add(image, s->members, s->members_capacity * sizeof(*s->members));
    testing_image_add(image, s->versions, s->chunks_count * sizeof(*s->versions));
    testing_image_add(image, s->pushed, cells * sizeof(*s->pushed));
    testing_image_add(image, s->contained, cells * sizeof(*s->contained));
}

/* Nothing has changed since @before was taken. */
static inline void testing_image_same(const struct testing_image *before, const struct sync *s)
{
    static struct testing_image now; /* Kept for its memory. */

    testing_image_take(&now, s);
    assert_memory_equal(&before->sync, &now.sync, sizeof(now.sync));
    assert_int_equal(before->size, now.size);
    if (now.size > 0) {
        assert_memory_equal(before->bytes, now.bytes, now.size);
    }
}

static inline void testing_image_deinit(struct testing_image *image)
{
    free(image->bytes);
    *image = (struct testing_image){0};
}

/* Does this answer say that nothing has happened? */
static inline bool testing_is_idle(enum sync_action_type type)
{
    return type == SYNC_WAIT || type == SYNC_DROP || type == SYNC_REFUSE || type == SYNC_ANSWER;
}

static inline void testing_actions_add(struct testing_actions *all, const struct sync_update *part)
{
    assert_true(part->count <= SYNC_ACTIONS_MAX);
    assert_true(all->count + part->count <= TESTING_ACTIONS_MAX);
    memcpy(all->list + all->count, part->actions, part->count * sizeof(part->actions[0]));
    all->count += part->count;
    all->parts++;
}

/* An update that waits for its turn in a fixed order begins its round, and does nothing else. */
static inline void testing_image_begin(struct testing_image *before, const struct sync *s,
                                       const struct sync_event *event)
{
    if (!s->config.fixed_order || event->type != SYNC_PUSH ||
        event->clock != s->versions[event->chunk] + 1) {
        return;
    }
    if (before->sync.seen < event->clock && s->seen == event->clock) {
        before->sync.seen = s->seen;
    }
    if (before->sync.deadline_ns == SYNC_NEVER) {
        before->sync.deadline_ns = s->deadline_ns;
    }
}

/* Step, and go on until there are no more actions. The invariant holds after every part; an error
 * or an answer like "wait" leaves the machine as it was. */
static inline enum err testing_step(struct sync *s, const struct sync_event *event,
                                    struct testing_actions *all)
{
    static struct testing_image before; /* Kept for its memory. */
    static struct sync_update part;
    enum err rc;

    all->count = 0;
    all->parts = 0;
    testing_image_take(&before, s);
    rc = sync_step(s, event, &part);
    if (rc != OK) {
        testing_image_same(&before, s);
        return rc;
    }
    testing_actions_add(all, &part);
    assert_true(sync_invariant(s));
    while (part.more) {
        struct sync_event more = {.now_ns = event->now_ns, .type = SYNC_CONTINUE};

        assert_int_equal(sync_step(s, &more, &part), OK);
        assert_true(part.count > 0);
        testing_actions_add(all, &part);
        assert_true(sync_invariant(s));
    }
    if (all->count > 0 && testing_is_idle(all->list[0].type)) {
        assert_int_equal(all->count, 1);
        testing_image_begin(&before, s, event);
        testing_image_same(&before, s);
    }
    return OK;
}

#endif
