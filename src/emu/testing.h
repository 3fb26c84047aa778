/* What tests of pipes share: a pipe with sources that have so many bytes, sinks that take them, and
 * a record of what happened when. */

#ifndef EMU_TESTING_H
#define EMU_TESTING_H

#include "base/text.h"
#include "emu/proxy/pipe.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TESTING_MS INT64_C(1000000)
#define TESTING_S INT64_C(1000000000)

enum { TESTING_FLOWS = 16, TESTING_TEXT_BYTES = 1 << 20 };

struct testing_flow {
    struct emu_flow flow;
    uint32_t name;
    uint64_t waiting; /* With the source. */
    uint64_t sent;
    uint64_t taken;
    bool closed; /* The sink takes nothing. */
};

struct testing_rig {
    struct emu_pipe *pipe;
    struct testing_flow flows[TESTING_FLOWS];
    int64_t now_ns;
    struct text said; /* "0.500 a sends 1500", in milliseconds. */
};

static inline void testing_open(struct testing_rig *rig, const struct emu_shape *shape,
                                uint32_t flows)
{
    *rig = (struct testing_rig){0};
    assert_int_equal(text_init(&rig->said, TESTING_TEXT_BYTES), OK);
    assert_int_equal(emu_pipe_create(shape, TESTING_FLOWS, 1, &rig->pipe), OK);
    for (uint32_t i = 0; i < flows; i++) {
        rig->flows[i].name = i;
        assert_int_equal(emu_flow_add(rig->pipe, &rig->flows[i].flow, 0, &rig->flows[i]), OK);
    }
}

static inline void testing_close(struct testing_rig *rig)
{
    for (uint32_t i = 0; i < TESTING_FLOWS; i++) {
        emu_flow_remove(rig->pipe, &rig->flows[i].flow);
    }
    emu_pipe_destroy(rig->pipe);
    text_deinit(&rig->said);
}

static inline void testing_say(struct testing_rig *rig, const struct testing_flow *f,
                               const char *what, uint64_t bytes)
{
    text_addf(&rig->said, "%.3f %c %s %" PRIu64 "\n", (double)rig->now_ns * 1e-6,
              (char)('a' + f->name), what, bytes);
}

/* The source gets @bytes more. */
static inline void testing_give(struct testing_rig *rig, uint32_t flow, uint64_t bytes)
{
    rig->flows[flow].waiting += bytes;
    emu_flow_want(rig->pipe, &rig->flows[flow].flow, rig->now_ns);
}

static inline void testing_turns(struct testing_rig *rig)
{
    struct emu_flow *flow;
    uint32_t bytes;

    while ((flow = emu_pipe_turn(rig->pipe, rig->now_ns, &bytes)) != NULL) {
        struct testing_flow *f = flow->user;

        bytes = f->waiting < bytes ? (uint32_t)f->waiting : bytes;
        f->waiting -= bytes;
        f->sent += bytes;
        if (bytes > 0) {
            testing_say(rig, f, "sends", bytes);
        }
        emu_flow_sent(rig->pipe, flow, bytes, f->waiting > 0, rig->now_ns);
    }
}

static inline void testing_arrivals(struct testing_rig *rig)
{
    static const char *const marks[] = {"", "opens", "ends", "breaks"};
    struct emu_arrival arrival;
    struct emu_flow *flow;

    while ((flow = emu_pipe_arrival(rig->pipe, rig->now_ns, &arrival)) != NULL) {
        struct testing_flow *f = flow->user;

        if (arrival.kind != EMU_DATA) {
            testing_say(rig, f, marks[arrival.kind], 0);
        } else if (f->closed) {
            testing_say(rig, f, "blocks", arrival.bytes);
            emu_flow_taken(rig->pipe, flow, 0, true, rig->now_ns);
        } else {
            f->taken += arrival.bytes;
            testing_say(rig, f, "takes", arrival.bytes);
            emu_flow_taken(rig->pipe, flow, arrival.bytes, false, rig->now_ns);
        }
    }
}

static inline void testing_look(struct testing_rig *rig)
{
    testing_arrivals(rig);
    testing_turns(rig);
    testing_arrivals(rig);
}

/* Look whenever the pipe wants it, up to @until_ns; each time @late_ns later than it wants. */
static inline void testing_run_late(struct testing_rig *rig, int64_t until_ns, int64_t late_ns)
{
    testing_look(rig);
    for (;;) {
        int64_t next_ns = emu_pipe_next_ns(rig->pipe);

        if (next_ns > until_ns - late_ns) {
            break;
        }
        rig->now_ns = next_ns + late_ns > rig->now_ns ? next_ns + late_ns : rig->now_ns;
        testing_look(rig);
    }
    rig->now_ns = until_ns;
}

static inline void testing_run(struct testing_rig *rig, int64_t until_ns)
{
    testing_run_late(rig, until_ns, 0);
}

#endif
