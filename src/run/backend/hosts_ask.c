#include "run/backend/hosts_ask.h"

#include "base/mem.h"
#include "run/live/child.h"
#include "run/live/parcel.h"
#include "wire/frame.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct asking;

struct asking_host {
    struct asking *asking;
    struct run_asked *answer;
    struct run_child child;
    bool answered;
};

struct asking {
    struct loop *loop;
    struct loop_timer limit;
    struct asking_host *hosts;
    uint32_t count;
    uint32_t due;
};

static void ask_judge(struct run_asked *a, const json_t *news)
{
    const char *version = json_string_value(json_object_get(news, "version"));
    const char *problem = json_string_value(json_object_get(news, "problem"));
    json_int_t min = 0, max = 0;

    (void)snprintf(a->version, sizeof(a->version), "%s", version == NULL ? "?" : version);
    if (json_unpack((json_t *)(uintptr_t)news, "{s:{s:I, s:I}}", "wire", "min", &min, "max",
                    &max) != 0 ||
        min > WIRE_VERSION_MAX || max < WIRE_VERSION_MIN) {
        a->as = RUN_ASKED_OTHER;
        (void)snprintf(a->why, sizeof(a->why),
                       "strait %s there speaks versions %" JSON_INTEGER_FORMAT
                       " to %" JSON_INTEGER_FORMAT " of the wire, and this one %d to %d: install "
                       "the same one",
                       a->version, min, max, WIRE_VERSION_MIN, WIRE_VERSION_MAX);
    } else if (problem != NULL) {
        a->as = RUN_ASKED_LACKS;
        (void)snprintf(a->why, sizeof(a->why), "%s", problem);
    } else {
        a->as = RUN_ASKED_GOOD;
    }
}

static void ask_said(struct run_child *c, const json_t *news, void *user)
{
    struct asking_host *h = user;
    const char *event = json_string_value(json_object_get(news, "event"));

    (void)c;
    if (event != NULL && strcmp(event, "host") == 0) {
        h->answered = true;
        ask_judge(h->answer, news);
    }
}

static void ask_ended(struct run_child *c, int64_t status, int signum, void *user)
{
    struct asking_host *h = user;
    struct run_asked *a = h->answer;

    if (!h->answered && a->why[0] == '\0') {
        run_child_last_words(c, a->why, sizeof(a->why));
    }
    if (!h->answered && a->why[0] == '\0') {
        (void)snprintf(a->why, sizeof(a->why), "no answer: status %" PRId64 ", signal %d", status,
                       signum);
    }
    if (--h->asking->due == 0) {
        loop_stop(h->asking->loop);
    }
}

static const struct run_child_events ask_events = {.said = ask_said, .ended = ask_ended};

static void ask_late(struct loop_timer *timer, void *user)
{
    struct asking *asking = user;

    (void)timer;
    for (uint32_t i = 0; i < asking->count; i++) {
        struct asking_host *h = &asking->hosts[i];

        if (run_child_runs(&h->child)) {
            (void)snprintf(h->answer->why, sizeof(h->answer->why), "no answer in %d s",
                           RUN_HOSTS_ASK_S);
            run_child_signal(&h->child, SIGKILL);
        }
    }
}

static enum err ask_one(struct asking *asking, const struct run_hosts_ask *ask, uint32_t index)
{
    const struct run_host *host = &ask->hosts->items[index];
    struct asking_host *h = &asking->hosts[index];
    struct run_parcel p = {.kind = RUN_PARCEL_ASK, .dir = host->dir};
    struct run_hosts_start start;
    char log[RUN_CHILD_PATH_BYTES];
    char *line;
    enum err rc;

    CHECK(ask->paths_count <= RUN_PARCEL_PATHS_MAX);
    for (uint32_t i = 0; i < ask->paths_count; i++) {
        p.paths[p.paths_count++] = ask->paths[i];
    }
    (void)snprintf(log, sizeof(log), "%.1000s/ask-%u.log", ask->dir, index);
    run_hosts_start(host, ask->program, ask->command, (int)getpid(), &start);
    rc = run_child_init(&h->child, asking->loop, log, &ask_events, h);
    if (rc == OK) {
        rc = run_child_start(&h->child, start.words, true);
    }
    if (rc != OK) {
        (void)snprintf(h->answer->why, sizeof(h->answer->why), "%s cannot be started: %s",
                       start.words[0], err_string(rc));
        return rc == ERR_NOMEM ? rc : OK;
    }
    asking->due++;
    line = run_parcel_print(&p);
    rc = line == NULL ? ERR_NOMEM : run_child_tell(&h->child, line);
    free(line);
    return rc;
}

static enum err ask_open(struct asking *asking, const struct run_hosts_ask *ask,
                         struct run_asked *answers)
{
    enum err rc = loop_create(&asking->loop);

    if (rc == OK) {
        rc = loop_timer_init(&asking->limit, asking->loop, ask_late, asking);
    }
    if (rc == OK) {
        asking->hosts = mem_calloc(ask->hosts->count, sizeof(*asking->hosts));
        rc = asking->hosts == NULL ? ERR_NOMEM : OK;
    }
    for (uint32_t i = 0; i < ask->hosts->count && rc == OK; i++) {
        answers[i] = (struct run_asked){.as = RUN_ASKED_SILENT};
        asking->hosts[i].asking = asking;
        asking->hosts[i].answer = &answers[i];
        asking->count++;
        rc = ask_one(asking, ask, i);
    }
    return rc;
}

enum err run_hosts_ask(const struct run_hosts_ask *ask, struct run_asked *answers)
{
    struct asking asking = {.loop = NULL};
    enum err rc = ask_open(&asking, ask, answers);

    if (rc == OK) {
        loop_timer_start_in(&asking.limit, RUN_HOSTS_ASK_S * INT64_C(1000000000));
        while (asking.due > 0) {
            loop_run(asking.loop);
        }
    }
    for (uint32_t i = 0; i < asking.count; i++) {
        run_child_release(&asking.hosts[i].child);
    }
    loop_timer_deinit(&asking.limit);
    loop_destroy(asking.loop);
    mem_free(asking.hosts);
    return rc;
}
