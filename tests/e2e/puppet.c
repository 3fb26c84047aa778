/* A worker on strings, for end-to-end tests: does what the lines on its standard input say, one
 * after the other, and answers each with one line: "ok ..." or "error ...". Between commands its
 * sessions live on. The end of the input ends it as a crash would. */

#include "base/buf.h"
#include "loop/loop.h"
#include "net/entropy.h"
#include "net/stream/socket.h"
#include "net/stream/tls.h"
#include "node/worker/worker.h"
#include "obs/metric.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 1024, WORDS_MAX = 8 };

struct puppet {
    struct loop *loop;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_socket_transport plain;
    struct net_tls_transport *tls;
    struct node_worker *worker;
    struct loop_poll *input;
    char buffer[4 * LINE_BYTES];
    size_t buffered;
    bool ended;
    struct node_op later; /* Of "tick". */
    float *values;
    uint64_t values_count;
};

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "puppet: %s: %s\n", what, why);
    exit(1);
}

static void must(enum err rc, const char *what)
{
    if (rc != OK) {
        die(what, err_string(rc));
    }
}

static void puppet_readable(int events, void *user)
{
    struct puppet *p = user;
    ssize_t n = read(STDIN_FILENO, p->buffer + p->buffered, sizeof(p->buffer) - p->buffered);

    (void)events;
    if (n <= 0) {
        p->ended = true;
        loop_poll_want(p->input, 0);
        return;
    }
    p->buffered += (size_t)n;
}

/* The next line, with the loop going on meanwhile; false at the end. */
static bool puppet_line(struct puppet *p, char *line)
{
    char *newline;

    while ((newline = memchr(p->buffer, '\n', p->buffered)) == NULL) {
        if (p->ended || p->buffered == sizeof(p->buffer)) {
            return false;
        }
        loop_turn(p->loop, LOOP_NEVER);
    }
    *newline = '\0';
    (void)snprintf(line, LINE_BYTES, "%.1000s", p->buffer);
    p->buffered -= (size_t)(newline + 1 - p->buffer);
    memmove(p->buffer, newline + 1, p->buffered);
    return true;
}

static void puppet_say(const struct node_op *op)
{
    if (op->rc == OK) {
        printf("ok %" PRIu64 "\n", op->value);
    } else {
        printf("error %s: %s\n", err_string(op->rc), op->text.text);
    }
}

static void puppet_drive(struct puppet *p, const struct node_op *op)
{
    while (!op->done && !p->ended) {
        loop_turn(p->loop, LOOP_NEVER);
    }
}

/* Room for a whole table, filled with @value. */
static uint64_t puppet_fill(struct puppet *p, const char *table, float value, int32_t *id_out)
{
    const struct table_schema *schema;

    *id_out = node_worker_find(p->worker, table);
    if (*id_out < 0) {
        return 0;
    }
    schema = node_worker_schema(p->worker, (uint16_t)*id_out);
    p->values_count = table_elements(schema);
    free(p->values);
    p->values = malloc(p->values_count * sizeof(float));
    if (p->values == NULL) {
        die("memory", "out of it");
    }
    for (uint64_t i = 0; i < p->values_count; i++) {
        p->values[i] = value;
    }
    return p->values_count;
}

static void do_table(struct puppet *p, char **words, struct node_op *op)
{
    struct table_schema_text in = {.name = words[1],
                                   .rows = strtoull(words[2], NULL, 10),
                                   .width = (uint32_t)strtoul(words[3], NULL, 10)};
    struct table_schema schema;

    must(table_schema_parse(&in, &schema, NULL), "table");
    node_worker_table(p->worker, &schema, op);
    puppet_drive(p, op);
}

static void do_push(struct puppet *p, const char *table, const char *value, struct node_op *op)
{
    int32_t id;
    uint64_t count = puppet_fill(p, table, strtof(value, NULL), &id);

    if (count == 0) {
        *op = (struct node_op){.done = true, .rc = ERR_NOT_FOUND};
        return;
    }
    node_worker_push(p->worker, (uint16_t)id, 0, count, p->values, 1, op);
    puppet_drive(p, op);
}

static void do_rounds(struct puppet *p, char **words, struct node_op *op)
{
    for (unsigned long n = strtoul(words[1], NULL, 10); n > 0 && !p->ended; n--) {
        *op = (struct node_op){0};
        do_push(p, words[2], words[3], op);
        if (op->rc == OK) {
            *op = (struct node_op){0};
            node_worker_clock(p->worker, 1, op);
            puppet_drive(p, op);
        }
        if (op->rc != OK) {
            return;
        }
    }
}

/* The smallest and the largest element. */
static void do_read(struct puppet *p, const char *table, struct node_op *op)
{
    float low, high;
    int32_t id;
    uint64_t count = puppet_fill(p, table, 0, &id);

    if (count == 0) {
        *op = (struct node_op){.done = true, .rc = ERR_NOT_FOUND};
        puppet_say(op);
        return;
    }
    node_worker_read(p->worker, (uint16_t)id, 0, count, p->values, op);
    puppet_drive(p, op);
    if (op->rc != OK) {
        puppet_say(op);
        return;
    }
    low = high = p->values[0];
    for (uint64_t i = 1; i < count; i++) {
        low = p->values[i] < low ? p->values[i] : low;
        high = p->values[i] > high ? p->values[i] : high;
    }
    printf("ok %.9g %.9g\n", (double)low, (double)high);
}

static void do_report(struct puppet *p, char **words, int count, struct node_op *op)
{
    struct node_report report = {
        .clock = strtoull(words[1], NULL, 10), .loss_sum = strtod(words[2], NULL), .samples = 1};

    if (count > 4) {
        report.evaluated = true;
        report.objective_sum = strtod(words[3], NULL);
        report.objective_count = 1;
        report.correct = strtod(words[4], NULL);
        report.tested = 1;
    }
    node_worker_report(p->worker, &report, op);
    puppet_drive(p, op);
}

/* Returns false for "quit". */
static bool puppet_do(struct puppet *p, char **words, int count)
{
    struct node_op op = {0};
    const char *verb = words[0];

    if (strcmp(verb, "quit") == 0) {
        return false;
    }
    if (strcmp(verb, "read") == 0 && count == 2) {
        do_read(p, words[1], &op);
        return true;
    }
    if (strcmp(verb, "lost") == 0) {
        printf("ok %" PRIu64 "\n", node_worker_lost_from(p->worker));
        return true;
    }
    if (strcmp(verb, "table") == 0 && count == 4) {
        do_table(p, words, &op);
    } else if (strcmp(verb, "join") == 0) {
        node_worker_join(p->worker, &op);
        puppet_drive(p, &op);
    } else if (strcmp(verb, "push") == 0 && count == 3) {
        do_push(p, words[1], words[2], &op);
    } else if (strcmp(verb, "clock") == 0) {
        node_worker_clock(p->worker, 1, &op);
        puppet_drive(p, &op);
    } else if (strcmp(verb, "tick") == 0) {
        p->later = (struct node_op){0};
        node_worker_clock(p->worker, 1, &p->later); /* Whoever waits does so elsewhere. */
        op.done = true;
    } else if (strcmp(verb, "tock") == 0) {
        puppet_drive(p, &p->later);
        op = p->later;
    } else if (strcmp(verb, "rounds") == 0 && count == 4) {
        do_rounds(p, words, &op);
    } else if (strcmp(verb, "report") == 0 && count >= 3) {
        do_report(p, words, count, &op);
    } else if (strcmp(verb, "save") == 0) {
        node_worker_save(p->worker, &op);
        puppet_drive(p, &op);
    } else if (strcmp(verb, "leave") == 0) {
        node_worker_leave(p->worker, &op);
        puppet_drive(p, &op);
    } else {
        die("what is that", verb);
    }
    puppet_say(&op);
    return true;
}

static void puppet_run(struct puppet *p)
{
    char line[LINE_BYTES];
    bool going = true;

    while (going && puppet_line(p, line)) {
        char *words[WORDS_MAX] = {NULL};
        char *rest = line;
        int count = 0;

        while (count < WORDS_MAX && (words[count] = strsep(&rest, " ")) != NULL) {
            count++;
        }
        going = puppet_do(p, words, count);
        (void)fflush(stdout);
    }
}

/* ADDRESS SITE NAME RANK [CERTIFICATES]; a rank of -1: any. */
static void puppet_open(struct puppet *p, int argc, char **argv)
{
    char cert[LINE_BYTES], key[LINE_BYTES], ca[LINE_BYTES];
    struct net_tls_config tls = {
        .cert_path = cert, .key_path = key, .ca_path = ca, .roles_dialled = WIRE_ROLE_SERVER};
    struct node_worker_config config = {.rank = (uint32_t)strtol(argv[4], NULL, 10)};
    struct err_text text = {""};

    must(loop_create(&p->loop), "loop");
    must(buf_pool_create(UINT64_C(1) << 30, &p->pool), "pool");
    must(obs_registry_create(512, &p->registry), "registry");
    must(net_address_parse(argv[1], &config.first, NULL), "address");
    must(pki_identity_make(WIRE_ROLE_WORKER, argv[2], argv[3], &config.identity, NULL), "name");
    net_socket_transport_init(&p->plain, p->loop, NULL);
    config.transport = &p->plain.base;
    config.insecure = argc < 6;
    if (argc > 5) {
        (void)snprintf(cert, sizeof(cert), "%s/%s.crt", argv[5], argv[3]);
        (void)snprintf(key, sizeof(key), "%s/%s.key", argv[5], argv[3]);
        (void)snprintf(ca, sizeof(ca), "%s/ca.crt", argv[5]);
        if (net_tls_transport_create(p->loop, &tls, &p->tls, &text) != OK) {
            die("certificate", text.text);
        }
        config.transport = net_tls_transport_base(p->tls);
    }
    must(entropy_u64(&config.seed), "randomness");
    config.incarnation = config.seed | 1;
    config.loop = p->loop;
    config.pool = p->pool;
    config.registry = p->registry;
    must(node_worker_create(&config, &p->worker), "worker");
    must(loop_poll_create(p->loop, STDIN_FILENO, puppet_readable, p, &p->input), "input");
    loop_poll_want(p->input, LOOP_READABLE);
}

int main(int argc, char **argv)
{
    static struct puppet p;

    if (argc < 5) {
        die("usage", "ADDRESS SITE NAME RANK [CERTIFICATES]");
    }
    puppet_open(&p, argc, argv);
    puppet_run(&p);
    loop_poll_destroy(p.input);
    node_worker_destroy(p.worker);
    net_tls_transport_destroy(p.tls);
    obs_registry_destroy(p.registry);
    loop_destroy(p.loop);
    buf_pool_destroy(p.pool);
    free(p.values);
    return 0;
}
