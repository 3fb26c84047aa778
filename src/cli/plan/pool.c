#include "cli/plan/pool.h"

#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Before the bytes of an answer; if .rc is not OK they are a text for people. */
struct pool_head {
    uint32_t piece;
    int32_t rc;
    uint64_t size;
};

struct pool_child {
    pid_t pid;
    int orders;  /* We write numbers of pieces. */
    int answers; /* We read. */
    bool busy;
    uint32_t piece;
};

struct pool {
    const struct pool_work *w;
    struct pool_child child[POOL_JOBS_MAX];
    uint32_t children;
    uint32_t next; /* Piece that nobody has. */
    uint32_t done;
    struct err_text *text;
};

static volatile sig_atomic_t pool_caught;

static void pool_catch(int signum)
{
    pool_caught = signum;
}

int pool_signal(void)
{
    return pool_caught;
}

uint32_t pool_jobs_default(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : cores > POOL_JOBS_MAX ? POOL_JOBS_MAX : (uint32_t)cores;
}

/* All of it, or false: the other end is gone. */
static bool pool_write(int fd, const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        ssize_t n = write(fd, at, size);

        if (n < 0 && errno != EINTR) {
            return false;
        }
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool pool_read(int fd, void *bytes, size_t size)
{
    for (char *at = bytes; size > 0;) {
        ssize_t n = read(fd, at, size);

        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* A child's life. */

static bool pool_answer(const struct pool_work *w, uint32_t piece, int answers)
{
    struct pool_head head = {.piece = piece, .rc = ERR_NOMEM};
    struct err_text why = {"out of memory"};
    struct text out;
    bool sent;

    if (text_init(&out, POOL_ANSWER_BYTES_MAX) != OK) {
        return false;
    }
    head.rc = w->work(piece, &out, &why, w->user);
    if (head.rc == OK && out.failed) {
        head.rc = err_text_set(&why, ERR_TOO_BIG, "an answer of more than %d bytes",
                               POOL_ANSWER_BYTES_MAX);
    }
    head.size = head.rc == OK ? out.size : strlen(why.text);
    sent = pool_write(answers, &head, sizeof(head)) &&
           pool_write(answers, head.rc == OK ? out.chars : why.text, head.size);
    text_deinit(&out);
    return sent;
}

/* It ends with its orders, or with us. What the terminal sends to all is for us to see. */
_Noreturn static void pool_live(const struct pool *p, pid_t parent, int orders, int answers)
{
    uint32_t piece;

    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_DFL);
    for (uint32_t i = 0; i < p->children; i++) {
        (void)close(p->child[i].orders);
        (void)close(p->child[i].answers);
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        _exit(1);
    }
    while (pool_read(orders, &piece, sizeof(piece)) && pool_answer(p->w, piece, answers)) {
    }
    _exit(0);
}

static enum err pool_start_one(struct pool *p)
{
    struct pool_child *c = &p->child[p->children];
    pid_t parent = getpid();
    int orders[2], answers[2];

    if (pipe(orders) != 0) {
        return ERR_IO;
    }
    if (pipe(answers) != 0) {
        (void)close(orders[0]);
        (void)close(orders[1]);
        return ERR_IO;
    }
    c->pid = fork();
    if (c->pid == 0) {
        (void)close(orders[1]);
        (void)close(answers[0]);
        pool_live(p, parent, orders[0], answers[1]);
    }
    (void)close(orders[0]);
    (void)close(answers[1]);
    c->orders = orders[1];
    c->answers = answers[0];
    if (c->pid < 0) {
        (void)close(c->orders);
        (void)close(c->answers);
        return ERR_IO;
    }
    p->children++;
    return OK;
}

/* As many as there can be. */
static enum err pool_start(struct pool *p)
{
    uint32_t wanted = p->w->jobs < p->w->count ? p->w->jobs : p->w->count;

    while (p->children < wanted && pool_start_one(p) == OK) {
    }
    return p->children > 0 || wanted == 0
               ? OK
               : err_text_set(p->text, ERR_IO, "no process can be started: %s", strerror(errno));
}

/* Ours. */

/* What became of a child whose pipe broke. */
static enum err pool_died(struct pool *p, struct pool_child *c)
{
    const char *name = p->w->name(c->piece, p->w->user);
    int status = 0;

    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {
    }
    c->pid = -1;
    return WIFSIGNALED(status)
               ? err_text_set(p->text, ERR_CLOSED,
                              "the process that worked on %s was ended by signal %d (%s)", name,
                              WTERMSIG(status), strsignal(WTERMSIG(status)))
               : err_text_set(p->text, ERR_CLOSED,
                              "the process that worked on %s ended with status %d", name,
                              WEXITSTATUS(status));
}

static enum err pool_order(struct pool *p, struct pool_child *c)
{
    c->busy = p->next < p->w->count;
    if (!c->busy) {
        return OK;
    }
    c->piece = p->next++;
    return pool_write(c->orders, &c->piece, sizeof(c->piece)) ? OK : pool_died(p, c);
}

static enum err pool_take_bytes(struct pool *p, const struct pool_head *head, const char *bytes)
{
    enum err rc;

    if (head->rc != OK) {
        return err_text_set(p->text, (enum err)head->rc, "%.*s", (int)head->size, bytes);
    }
    rc = p->w->take(head->piece, bytes, head->size, p->w->user);
    return rc == OK ? OK
                    : err_text_set(p->text, rc, "what is said of %s cannot be used: %s",
                                   p->w->name(head->piece, p->w->user), err_string(rc));
}

/* An answer is there, or the child is gone. */
static enum err pool_take(struct pool *p, struct pool_child *c)
{
    struct pool_head head;
    char *bytes;
    enum err rc;

    if (!pool_read(c->answers, &head, sizeof(head))) {
        return pool_died(p, c);
    }
    if (head.piece != c->piece || head.size > POOL_ANSWER_BYTES_MAX) {
        return err_text_set(p->text, ERR_MALFORMED, "a process gave an answer to something else");
    }
    bytes = mem_zalloc(head.size + 1);
    if (bytes == NULL) {
        return err_text_set(p->text, ERR_NOMEM, "out of memory");
    }
    rc = pool_read(c->answers, bytes, head.size) ? pool_take_bytes(p, &head, bytes)
                                                 : pool_died(p, c);
    mem_free(bytes);
    p->done++;
    return rc == OK ? pool_order(p, c) : rc;
}

static enum err pool_wait(struct pool *p)
{
    struct pollfd polled[POOL_JOBS_MAX];
    enum err rc = OK;

    for (uint32_t i = 0; i < p->children; i++) {
        polled[i] =
            (struct pollfd){.fd = p->child[i].busy ? p->child[i].answers : -1, .events = POLLIN};
    }
    if (poll(polled, p->children, POOL_TICK_MS) < 0) {
        return errno == EINTR ? OK : err_text_set(p->text, ERR_IO, "poll: %s", strerror(errno));
    }
    for (uint32_t i = 0; i < p->children && rc == OK; i++) {
        rc = polled[i].fd >= 0 && polled[i].revents != 0 ? pool_take(p, &p->child[i]) : OK;
    }
    return rc;
}

static enum err pool_go(struct pool *p)
{
    enum err rc = pool_start(p);

    for (uint32_t i = 0; i < p->children && rc == OK; i++) {
        rc = pool_order(p, &p->child[i]);
    }
    while (rc == OK && p->done < p->w->count) {
        rc = pool_wait(p);
        if (pool_caught != 0) {
            rc = err_text_set(p->text, ERR_CANCELLED, "interrupted");
        }
        if (rc == OK && p->w->tick != NULL) {
            p->w->tick(p->done, p->w->user);
        }
    }
    return rc;
}

static void pool_end(struct pool *p, enum err rc)
{
    for (uint32_t i = 0; i < p->children; i++) {
        struct pool_child *c = &p->child[i];

        (void)close(c->orders);
        (void)close(c->answers);
        if (c->pid > 0 && rc != OK) {
            (void)kill(c->pid, SIGKILL);
        }
        while (c->pid > 0 && waitpid(c->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
}

enum err pool_run(const struct pool_work *w, struct err_text *text)
{
    struct sigaction action = {.sa_handler = pool_catch};
    struct sigaction interrupt, terminate;
    struct pool *p = mem_zalloc(sizeof(*p));
    enum err rc;

    if (p == NULL) {
        return err_text_set(text, ERR_NOMEM, "out of memory");
    }
    CHECK(w->jobs > 0 && w->jobs <= POOL_JOBS_MAX);
    *p = (struct pool){.w = w, .text = text};
    pool_caught = 0;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, &interrupt);
    (void)sigaction(SIGTERM, &action, &terminate);
    rc = pool_go(p);
    pool_end(p, rc);
    (void)sigaction(SIGINT, &interrupt, NULL);
    (void)sigaction(SIGTERM, &terminate, NULL);
    mem_free(p);
    return rc;
}
