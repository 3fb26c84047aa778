/* The machines of a run: files that name them (`strait run --on hosts --hosts FILE`), who of the
 * members is on which, and how a command is started there. YAML; docs/RUNS.md has every key.
 *
 *     hosts:
 *       - {name: eu1, ssh: ada@10.0.0.4, region: frankfurt, address: 10.0.0.4}
 *       - {name: us1, ssh: us1, region: virginia, address: 10.9.0.4, port: 7500, slots: 8} */

#ifndef RUN_BACKEND_HOSTS_H
#define RUN_BACKEND_HOSTS_H

#include "run/file/file.h"

enum {
    RUN_HOSTS_MAX = 1024,
    RUN_HOSTS_PORT = 7400,      /* The first one, if the file says nothing. */
    RUN_HOSTS_COMMAND_MAX = 32, /* Words of a command in place of ssh. */
    RUN_HOSTS_WORDS_MAX = RUN_HOSTS_COMMAND_MAX + 24,
};

/* How a command is started there. */
enum run_host_way {
    RUN_HOST_HERE, /* It is this machine. */
    RUN_HOST_SSH,
    RUN_HOST_SRUN, /* A node of the Slurm job that we are in. */
};

struct run_host {
    const char *name;
    enum run_host_way way;
    const char *at;      /* What ssh or srun calls it; NULL if it is this machine. */
    const char *region;  /* Its members are of this region. */
    const char *address; /* Where members elsewhere reach it. */
    const char *strait;  /* The program there; NULL: our own. */
    const char *dir;     /* For files of runs; "~/" is the home folder there. */
    uint16_t port;       /* The first of its servers; zero: not said. */
    uint32_t slots;      /* Members at most. */
    uint32_t line;
};

struct run_hosts {
    const char *path; /* Of the file, for messages. */
    uint16_t first;   /* Port of hosts that say none. */
    struct run_host *items;
    uint32_t count;
    struct run_arena *arena; /* Holds all of this. */
};

/* Read a file, or the @size bytes of one called @name. ERR_NOT_FOUND, ERR_IO, ERR_TOO_BIG,
 * ERR_MALFORMED, ERR_NOMEM; @text then says "FILE:LINE:COLUMN: KEY: " what is wrong and what is
 * allowed. The caller releases the result. */
MUST_USE enum err run_hosts_load(const char *path, struct run_hosts **out, struct err_text *text);
MUST_USE enum err run_hosts_parse(const char *name, const char *bytes, size_t size,
                                  struct run_hosts **out, struct err_text *text);

/* @count hosts with nothing filled in, for who makes them without a file. ERR_NOMEM. */
MUST_USE enum err run_hosts_create(const char *name, uint32_t count, struct run_hosts **out);

/* NULL is allowed. */
void run_hosts_free(struct run_hosts *h);

/* Who is where: indices of hosts, by server and by worker of a run file. */
struct run_deal {
    uint32_t *servers;
    uint32_t *workers;
};

/* Deal the members of each region to its hosts: to the one with the fewest, the first of those. No
 * host gets more than its slots. ERR_INVALID with @text if a region has no host, or not enough
 * slots, or if servers would share a port; ERR_NOMEM. The caller releases the deal. */
MUST_USE enum err run_hosts_deal(const struct run_hosts *h, const struct run_file *f,
                                 struct run_deal *out, struct err_text *text);
void run_deal_free(struct run_deal *deal);

/* The first port of a server: those of a host count up from its own. Where none was said, hosts of
 * the same address, and nodes of a job, share a count, and with each of @tries it begins behind the
 * last one; where one was said, tries change nothing. Zero: there are not enough. */
uint16_t run_hosts_port(const struct run_hosts *h, const struct run_file *f,
                        const struct run_deal *deal, uint32_t server, uint32_t tries);

/* The words that start `strait hold` there, NULL-terminated, at most RUN_HOSTS_WORDS_MAX.
 * @program is our own; @command are the words in place of ssh, NULL-terminated, or NULL; @pid is
 * that of this process, with which ssh ends. All are borrowed by the result. */
struct run_hosts_start {
    const char *program;
    const char *const *command;
    char pid[16];
    char node[80];
    const char *words[RUN_HOSTS_WORDS_MAX + 1];
};
void run_hosts_start(const struct run_host *host, const char *program, const char *const *command,
                     int pid, struct run_hosts_start *out);

#endif
