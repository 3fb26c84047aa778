/* What the files of a lab share; private to src/emu/lab*.c. */

#ifndef EMU_LAB_STATE_H
#define EMU_LAB_STATE_H

#include "base/list.h"
#include "emu/lab/command.h"
#include "emu/lab/lab.h"
#include "emu/lab/net.h"
#include "emu/lab/queue.h"
#include "emu/lab/relay.h"
#include "emu/lab/tool.h"

/* Something that was told and is to be done. */
struct lab_order {
    struct list link;
    bool wrong; /* It cannot be understood; it is answered when it is its turn. */
    struct err_text why;
    struct lab_command command;
    uint32_t from;
    uint32_t to;
    struct lab_link old[2]; /* There and back, before. */
    bool was_lossy[2];
    uint32_t step; /* The next thing to do; see lab/order.c. */
    void (*answered)(json_t *answer, void *user);
    void *user;
};

struct lab {
    struct lab_config config;
    struct lab_plan *plan;
    struct lab_net net;
    struct relay_shared *shared;
    pid_t relay;
    int relay_fd; /* Readable when the relay has ended. */
    int tied;     /* Its end is the relay's end. */
    struct loop_poll *relay_poll;
    struct loop_timer every;
    int64_t since_us; /* UTC. */
    int queues[LAB_REGIONS_MAX];
    struct lab_queue_counts before[LAB_REGIONS_MAX]; /* At the last reset. */

    /* Orders; the first one is under way. */
    struct list orders;
    struct loop_task begin; /* Posted when there is a first one. */
    bool busy;
    struct text batch;
    struct lab_tool tool;
    struct loop_poll *tool_poll;
};

/* The relay has other figures from now on. lab.c */
void lab_links_changed(struct lab *lab);
void lab_wake_relay(struct lab *lab);

/* lab/order.c */
void lab_orders_init(struct lab *lab);
void lab_orders_deinit(struct lab *lab);

/* Everything, for people who ask. lab/say.c */
json_t *lab_show(struct lab *lab);
/* "usage" is true if who told it made the mistake. */
json_t *lab_say_error(enum err rc, const char *text);

/* The kernel's drops become what is counted from. lab/say.c */
void lab_drops_reset(struct lab *lab);

#endif
