/* Who of a run's members is on which host, at which port, and how one gets there. */

#include "base/mem.h"
#include "run/backend/hosts.h"

#include <stdio.h>
#include <string.h>

struct dealer {
    const struct run_hosts *h;
    const struct run_file *f;
    uint32_t *loads; /* Members, by host. */
    struct err_text *text;
};

static enum err deal_one(const struct dealer *d, const char *who, uint32_t region, uint32_t *out)
{
    const char *name = topo_region_at(d->f->topo, region)->name;
    uint32_t best = d->h->count, slots = 0;

    for (uint32_t i = 0; i < d->h->count; i++) {
        const struct run_host *host = &d->h->items[i];

        if (strcmp(host->region, name) != 0) {
            continue;
        }
        slots += host->slots;
        if (d->loads[i] < host->slots && (best == d->h->count || d->loads[i] < d->loads[best])) {
            best = i;
        }
    }
    if (best == d->h->count && slots == 0) {
        return err_text_set(d->text, ERR_INVALID,
                            "%.200s: no host is in region %s, where %s is to be: add one, as "
                            "{ssh: USER@MACHINE, region: %s}",
                            d->h->path, name, who, name);
    }
    if (best == d->h->count) {
        return err_text_set(d->text, ERR_INVALID,
                            "%.200s: the hosts of region %s have %u slots, and there is none for "
                            "%s: add hosts, or raise slots",
                            d->h->path, name, slots, who);
    }
    d->loads[best]++;
    *out = best;
    return OK;
}

/* Do two servers meet at a port of the same address? */
static enum err deal_check_ports(const struct dealer *d, const struct run_deal *deal)
{
    const struct run_server *s = d->f->servers;

    for (uint32_t i = 0; i < d->f->servers_count; i++) {
        const struct run_host *host = &d->h->items[deal->servers[i]];
        uint32_t port = run_hosts_port(d->h, d->f, deal, i, 0);

        if (port == 0) {
            return err_text_set(d->text, ERR_INVALID,
                                "%.200s:%u: port: there are not enough ports behind it for the "
                                "lanes of %s: choose a lower one",
                                d->h->path, host->line, s[i].name);
        }
        for (uint32_t k = 0; k < i; k++) {
            const struct run_host *other = &d->h->items[deal->servers[k]];
            uint32_t there = run_hosts_port(d->h, d->f, deal, k, 0);

            if (strcmp(host->address, other->address) == 0 && port < there + s[k].lanes &&
                there < port + s[i].lanes) {
                return err_text_set(d->text, ERR_INVALID,
                                    "%.200s:%u: port: %s would be at port %u of %s, and so would "
                                    "%s of host %s: give the hosts ports that are further apart",
                                    d->h->path, host->line, s[i].name, port, host->address,
                                    s[k].name, other->name);
            }
        }
    }
    return OK;
}

static enum err deal_all(const struct dealer *d, struct run_deal *deal)
{
    const struct run_file *f = d->f;
    enum err rc = OK;

    for (uint32_t i = 0; i < f->servers_count && rc == OK; i++) {
        rc = deal_one(d, f->servers[i].name, f->servers[i].region, &deal->servers[i]);
    }
    for (uint32_t i = 0, worker = 0; i < f->groups_count && rc == OK; i++) {
        for (uint32_t k = 0; k < f->groups[i].count && rc == OK; k++, worker++) {
            char name[16];

            (void)snprintf(name, sizeof(name), "w%u", worker);
            rc = deal_one(d, name, f->groups[i].region, &deal->workers[worker]);
        }
    }
    return rc == OK ? deal_check_ports(d, deal) : rc;
}

enum err run_hosts_deal(const struct run_hosts *h, const struct run_file *f, struct run_deal *out,
                        struct err_text *text)
{
    struct dealer d = {
        .h = h, .f = f, .loads = mem_calloc(h->count, sizeof(*d.loads)), .text = text};
    struct run_deal deal = {.servers = mem_calloc(f->servers_count, sizeof(*deal.servers)),
                            .workers = mem_calloc(f->workers, sizeof(*deal.workers))};
    enum err rc = d.loads == NULL || deal.servers == NULL || deal.workers == NULL
                      ? err_text_set(text, ERR_NOMEM, "no memory for the run")
                      : deal_all(&d, &deal);

    mem_free(d.loads);
    if (rc != OK) {
        run_deal_free(&deal);
        return rc;
    }
    *out = deal;
    return OK;
}

void run_deal_free(struct run_deal *deal)
{
    mem_free(deal->servers);
    mem_free(deal->workers);
    *deal = (struct run_deal){0};
}

/* Do they count ports together? Nodes of a job always do: several may be one machine. */
static bool deal_shares(const struct run_host *a, const struct run_host *b)
{
    return a == b || (a->port == 0 && b->port == 0 &&
                      (strcmp(a->address, b->address) == 0 ||
                       (a->way == RUN_HOST_SRUN && b->way == RUN_HOST_SRUN)));
}

uint16_t run_hosts_port(const struct run_hosts *h, const struct run_file *f,
                        const struct run_deal *deal, uint32_t server, uint32_t tries)
{
    const struct run_host *host = &h->items[deal->servers[server]];
    uint32_t port = host->port == 0 ? h->first : host->port, all = 0, before = 0;

    for (uint32_t i = 0; i < f->servers_count; i++) {
        if (deal_shares(host, &h->items[deal->servers[i]])) {
            before += i < server ? f->servers[i].lanes : 0;
            all += f->servers[i].lanes;
        }
    }
    port += before + (host->port == 0 ? tries * all : 0);
    return port + f->servers[server].lanes - 1 > UINT16_MAX ? 0 : (uint16_t)port;
}

static bool start_is_ssh(const char *word)
{
    const char *slash = strrchr(word, '/');

    return strcmp(slash == NULL ? word : slash + 1, "ssh") == 0;
}

/* It ends when we do, and Ctrl-C at the terminal is not for it. */
static size_t start_ssh(const struct run_host *host, struct run_hosts_start *s)
{
    static const char *const plain[] = {"ssh", NULL};
    static const char *const options[] = {"-T",
                                          "-o",
                                          "BatchMode=yes",
                                          "-o",
                                          "ConnectTimeout=10",
                                          "-o",
                                          "ServerAliveInterval=5",
                                          "-o",
                                          "ServerAliveCountMax=3"};
    const char *const *command = s->command == NULL ? plain : s->command;
    size_t n = 0;

    CHECK(command[0] != NULL);
    s->words[n++] = s->program;
    s->words[n++] = "tied";
    s->words[n++] = s->pid;
    s->words[n++] = "--";
    for (size_t i = 0; i < RUN_HOSTS_COMMAND_MAX && command[i] != NULL; i++) {
        s->words[n++] = command[i];
    }
    /* Those of the command come first, and ssh takes what comes first. */
    for (size_t i = 0; start_is_ssh(command[0]) && i < sizeof(options) / sizeof(options[0]); i++) {
        s->words[n++] = options[i];
    }
    s->words[n++] = host->at;
    return n;
}

static size_t start_srun(const struct run_host *host, struct run_hosts_start *s)
{
    static const char *const options[] = {"srun",         "--overlap", "--nodes=1",
                                          "--ntasks=1",   "--mem=0",   "--cpu-bind=none",
                                          "--unbuffered", "--quiet",   "--kill-on-bad-exit=0",
                                          "--export=ALL"};
    size_t n = 0;

    s->words[n++] = s->program;
    s->words[n++] = "tied";
    s->words[n++] = s->pid;
    s->words[n++] = "--";
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        s->words[n++] = options[i];
    }
    (void)snprintf(s->node, sizeof(s->node), "--nodelist=%.64s", host->at);
    s->words[n++] = s->node;
    return n;
}

void run_hosts_start(const struct run_host *host, const char *program, const char *const *command,
                     int pid, struct run_hosts_start *out)
{
    size_t n = 0;

    *out = (struct run_hosts_start){.program = program, .command = command};
    (void)snprintf(out->pid, sizeof(out->pid), "%d", pid);
    if (host->way == RUN_HOST_SSH) {
        n = start_ssh(host, out);
    } else if (host->way == RUN_HOST_SRUN) {
        n = start_srun(host, out);
    }
    out->words[n++] = host->strait == NULL ? program : host->strait;
    out->words[n++] = "hold";
    out->words[n] = NULL;
}
