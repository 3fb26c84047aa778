/* What a running lab is told is done here, one order after the other. Figures of the relay change
 * at once; those of the kernel by tools, which are child processes: neither the relay nor this
 * process waits for them. */

#include "base/log.h"
#include "base/mem.h"
#include "emu/lab/state.h"
#include "emu/lab/text.h"

#include <string.h>

enum {
    ORDERS_MAX = 64,
    ORDER_STEPS = 2 + LAB_HOSTS_MAX /* Of one direction: rate, rules, hosts. */
};

static struct lab_order *order_first(const struct lab *lab)
{
    struct list *first = list_first(&lab->orders);

    return first == NULL ? NULL : LIST_ENTRY(first, struct lab_order, link);
}

/* It is over, well or not. The next one begins in a turn of its own. */
static void order_end(struct lab *lab, json_t *answer)
{
    struct lab_order *order = order_first(lab);

    list_remove(&order->link);
    lab->busy = false;
    order->answered(answer, order->user);
    mem_free(order);
    if (!list_empty(&lab->orders)) {
        loop_task_post(&lab->begin);
    }
}

static json_t *order_done(const struct lab_order *order)
{
    char line[LAB_COMMAND_BYTES_MAX];
    struct text text;

    text_init_fixed(&text, line, sizeof(line));
    lab_command_print(&order->command, &text);
    return json_pack("{s:s, s:s}", "event", "done", "command", line);
}

/* Links. */

static void order_figures(const struct lab_command *c, struct lab_link *link)
{
    link->cut = c->kind == LAB_CUT || (c->kind == LAB_SET && link->cut);
    link->bytes_per_s = c->given & LAB_RATE ? c->bytes_per_s : link->bytes_per_s;
    link->delay_ns = c->given & LAB_DELAY ? c->delay_ns : link->delay_ns;
    link->jitter_ns = c->given & LAB_JITTER ? c->jitter_ns : link->jitter_ns;
    link->loss_ppm = c->given & LAB_LOSS ? c->loss_ppm : link->loss_ppm;
}

static void order_restore(struct lab *lab, const struct lab_order *order)
{
    *lab_plan_link_at(lab->plan, order->from, order->to) = order->old[0];
    *lab_plan_link_at(lab->plan, order->to, order->from) = order->old[1];
}

static enum err order_change(struct lab *lab, struct lab_order *order, struct err_text *text)
{
    const struct lab_command *c = &order->command;
    enum err rc = lab_plan_find(lab->plan, c->from, &order->from, text);

    if (rc == OK) {
        rc = lab_plan_find(lab->plan, c->to, &order->to, text);
    }
    if (rc != OK) {
        return rc;
    }
    for (uint32_t way = 0; rc == OK && way < (c->both ? 2U : 1U); way++) {
        uint32_t from = way == 0 ? order->from : order->to;
        uint32_t to = way == 0 ? order->to : order->from;
        struct lab_link *link = lab_plan_link_at(lab->plan, from, to);
        struct lab_link changed = *link;

        order->was_lossy[way] = lab_plan_lossy(lab->plan, from);
        order->old[way] = *link;
        order_figures(c, &changed);
        rc = link->joined
                 ? lab_link_check(&changed, text)
                 : err_text_set(text, ERR_INVALID, "the topology has no link from %s to %s",
                                lab->plan->names[from], lab->plan->names[to]);
    }
    for (uint32_t way = 0; rc == OK && way < (c->both ? 2U : 1U); way++) {
        order_figures(c, lab_plan_link_at(lab->plan, way == 0 ? order->from : order->to,
                                          way == 0 ? order->to : order->from));
    }
    if (rc == OK && !c->both) {
        order->old[1] = *lab_plan_link(lab->plan, order->to, order->from);
    }
    return rc;
}

/* What the @step-th thing of a direction is, if it is to be done: the tool, the place, the batch.
 */
static bool order_batch(struct lab *lab, const struct lab_order *order, uint32_t way, uint32_t step,
                        struct lab_tool_config *tool)
{
    uint32_t from = way == 0 ? order->from : order->to;
    uint32_t to = way == 0 ? order->to : order->from;
    const struct lab_link *old = &order->old[way];
    const struct lab_link *link = lab_plan_link(lab->plan, from, to);
    bool lossy = lab_plan_lossy(lab->plan, from);

    text_clear(&lab->batch);
    *tool = (struct lab_tool_config){.name = LAB_TC, .ns = lab->net.routers[from].ns};
    if (step == 0 && (old->bytes_per_s != link->bytes_per_s || old->delay_ns != link->delay_ns)) {
        lab_text_rate(lab->plan, from, to, &lab->batch); /* Queues depend on the delay. */
    } else if (step == 1 && (old->loss_ppm != link->loss_ppm || old->cut != link->cut)) {
        tool->name = LAB_NFT;
        lab_text_rules(lab->plan, from, &lab->batch);
    } else if (step >= 2 && step - 2 < lab->plan->hosts[from] && lossy != order->was_lossy[way]) {
        tool->name = LAB_IP;
        tool->ns = lab_net_hosts(&lab->net, from)[step - 2].ns;
        lab_text_segments(lossy, &lab->batch);
    }
    tool->batch = lab->batch.chars;
    return lab->batch.size > 0;
}

static void order_failed(struct lab *lab, enum err rc, const struct err_text *text)
{
    order_restore(lab, order_first(lab));
    order_end(lab, lab_say_error(rc, text->text));
}

static void order_next(struct lab *lab);

static void order_tool_ended(int events, void *user)
{
    struct lab *lab = user;
    struct err_text text = {""};
    enum err rc;

    (void)events;
    loop_poll_destroy(lab->tool_poll);
    lab->tool_poll = NULL;
    rc = lab_tool_end(&lab->tool, lab->batch.chars, &text);
    if (rc != OK) {
        LOG_WRN("lab", "%s", text.text);
        order_failed(lab, rc, &text);
        return;
    }
    order_next(lab);
}

static enum err order_tool(struct lab *lab, const struct lab_tool_config *config,
                           struct err_text *text)
{
    enum err rc = lab->batch.failed ? err_text_set(text, ERR_NOMEM, "no memory for a batch")
                                    : lab_tool_start(config, &lab->tool, text);

    if (rc != OK) {
        return rc;
    }
    rc = loop_poll_create(lab->config.loop, lab_tool_fd(&lab->tool), order_tool_ended, lab,
                          &lab->tool_poll);
    if (rc != OK) {
        /* It cannot be watched, so it is waited for. */
        return lab_tool_end(&lab->tool, config->batch, text);
    }
    loop_poll_want(lab->tool_poll, LOOP_READABLE);
    return OK;
}

/* Start the next tool; or all is done. */
static void order_next(struct lab *lab)
{
    struct lab_order *order = order_first(lab);
    uint32_t ways = order->command.both ? 2 : 1;

    while (order->step < ways * ORDER_STEPS) {
        uint32_t way = order->step / ORDER_STEPS, step = order->step % ORDER_STEPS;
        struct lab_tool_config config;
        struct err_text text = {""};
        enum err rc;

        order->step++;
        if (!order_batch(lab, order, way, step, &config)) {
            continue;
        }
        rc = order_tool(lab, &config, &text);
        if (rc != OK) {
            order_failed(lab, rc, &text);
            return;
        }
        if (lab->tool_poll != NULL) {
            return;
        }
    }
    lab_links_changed(lab);
    LOG_INF("lab", "%s %s %s", order->command.kind == LAB_SET ? "set" : "cut or healed",
            order->command.from, order->command.to);
    order_end(lab, order_done(order));
}

static void order_link(struct lab *lab, struct lab_order *order)
{
    struct err_text text = {""};
    enum err rc = order_change(lab, order, &text);

    if (rc != OK) {
        order_end(lab, lab_say_error(rc, text.text));
        return;
    }
    order_next(lab);
}

/* Beginning. */

static void order_begin(struct loop_task *task, void *user)
{
    struct lab *lab = user;
    struct lab_order *order = order_first(lab);

    (void)task;
    if (order == NULL || lab->busy) {
        return;
    }
    lab->busy = true;
    if (order->wrong) {
        order_end(lab, lab_say_error(ERR_MALFORMED, order->why.text));
        return;
    }
    switch (order->command.kind) {
    case LAB_SET:
    case LAB_CUT:
    case LAB_HEAL:
        order_link(lab, order);
        return;
    case LAB_SHOW:
        order_end(lab, lab_show(lab));
        return;
    case LAB_RESET:
        lab_drops_reset(lab);
        (void)atomic_fetch_add_explicit(&lab->shared->resets, 1, memory_order_release);
        lab_wake_relay(lab);
        order_end(lab, order_done(order));
        return;
    case LAB_QUIT:
        order_end(lab, order_done(order));
        lab->config.over(NULL, lab->config.user);
        return;
    }
}

void lab_tell(struct lab *lab, const char *line, size_t size,
              void (*answered)(json_t *answer, void *user), void *user)
{
    struct lab_order *order;
    uint32_t waiting = 0;

    LIST_FOREACH (link, &lab->orders) {
        waiting++;
    }
    order = waiting < ORDERS_MAX ? mem_zalloc(sizeof(*order)) : NULL;
    if (order == NULL) {
        answered(lab_say_error(ERR_AGAIN, "too much to do: try again"), user);
        return;
    }
    order->wrong = lab_command_parse(line, size, &order->command, &order->why) != OK;
    order->answered = answered;
    order->user = user;
    list_push_back(&lab->orders, &order->link);
    loop_task_post(&lab->begin);
}

void lab_orders_init(struct lab *lab)
{
    list_init(&lab->orders);
    loop_task_init(&lab->begin, lab->config.loop, order_begin, lab);
}

void lab_orders_deinit(struct lab *lab)
{
    loop_task_cancel(&lab->begin);
    if (lab->tool_poll != NULL) {
        loop_poll_destroy(lab->tool_poll);
        lab->tool_poll = NULL;
        (void)!lab_tool_end(&lab->tool, lab->batch.chars, NULL);
    }
    for (struct lab_order *o; (o = order_first(lab)) != NULL;) {
        list_remove(&o->link);
        o->answered(lab_say_error(ERR_CANCELLED, "the lab is going down"), o->user);
        mem_free(o);
    }
}
