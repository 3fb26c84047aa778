#include "run/live/badges.h"

#include "base/mem.h"
#include "net/pki/ca.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct badge {
    char *cert;
    char *key;
};

struct run_badges {
    char dir[PKI_PATH_BYTES - 80];
    char *ca;
    struct badge *badges; /* Servers, then workers. */
    uint32_t count;
    uint32_t servers;
    bool operator; /* Its key is ours to remove. */
};

static enum err badges_issue(struct run_badges *b, struct pki_ca *ca, struct pki_order *order,
                             struct badge *out, struct err_text *text)
{
    struct pki_bundle *bundle = mem_zalloc(sizeof(*bundle));
    enum err rc = bundle == NULL ? ERR_NOMEM : pki_ca_issue(ca, order, bundle, text);

    if (rc == OK) {
        out->cert = mem_strdup(bundle->cert.chars);
        out->key = mem_strdup(bundle->key.chars);
        b->ca = b->ca == NULL ? mem_strdup(bundle->ca.chars) : b->ca;
        rc = out->cert == NULL || out->key == NULL || b->ca == NULL ? ERR_NOMEM : OK;
    }
    if (bundle != NULL) {
        pki_bundle_wipe(bundle);
    }
    mem_free(bundle);
    return rc;
}

/* Its site is the one that it is of. */
static enum err badges_member(const struct run_file *f, uint32_t index, struct pki_identity *out,
                              struct err_text *text)
{
    char name[16];
    uint32_t site = 0;

    if (index >= f->servers_count) {
        uint32_t worker = index - f->servers_count;

        (void)snprintf(name, sizeof(name), "w%u", worker);
        return pki_identity_make(WIRE_ROLE_WORKER, run_worker_site(f, worker)->name, name, out,
                                 text);
    }
    while (index >= f->sites[site].servers_first + f->sites[site].servers_count) {
        site++;
    }
    return pki_identity_make(WIRE_ROLE_SERVER, f->sites[site].name, f->servers[index].name, out,
                             text);
}

static enum err badges_operator(struct run_badges *b, struct pki_ca *ca, const struct run_file *f,
                                struct pki_order *order, struct err_text *text)
{
    char path[PKI_PATH_BYTES];
    enum err rc =
        pki_identity_make(WIRE_ROLE_OPERATOR, f->sites[0].name, "operator", &order->identity, text);

    (void)snprintf(path, sizeof(path), "%s/operator", b->dir);
    if (rc == OK) {
        rc = pki_ca_issue_to(ca, order, path, false, text);
        b->operator= rc != ERR_EXISTS;
    }
    return rc;
}

static enum err badges_issue_all(struct run_badges *b, const struct run_file *f, struct pki_ca *ca,
                                 int64_t now_s, struct err_text *text)
{
    struct pki_order order = {.now_s = now_s};
    enum err rc = OK;

    for (uint32_t i = 0; i < b->count && rc == OK; i++) {
        rc = badges_member(f, i, &order.identity, text);
        if (rc == OK) {
            rc = badges_issue(b, ca, &order, &b->badges[i], text);
        }
    }
    return rc == OK ? badges_operator(b, ca, f, &order, text) : rc;
}

/* Nobody shall ever issue more. */
static enum err badges_forget(const struct run_badges *b, struct err_text *text)
{
    char path[PKI_PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/ca/ca.key", b->dir);
    return unlink(path) == 0 || errno == ENOENT
               ? OK
               : err_text_set(text, ERR_IO, "%.400s: cannot be removed: %s", path, strerror(errno));
}

static enum err badges_make(struct run_badges *b, const struct run_file *f, int64_t now_s,
                            struct err_text *text)
{
    char path[PKI_PATH_BYTES];
    struct err_text why = {""};
    struct pki_ca *ca = NULL;
    enum err rc, forgot;

    (void)snprintf(path, sizeof(path), "%s/ca", b->dir);
    rc = pki_ca_create(path, f->name, now_s, 0, text);
    if (rc == ERR_EXISTS) {
        return rc; /* It is somebody else's. */
    }
    if (rc == OK) {
        rc = pki_ca_open(path, &ca, text);
    }
    if (rc == OK) {
        rc = badges_issue_all(b, f, ca, now_s, text);
    }
    pki_ca_close(ca);
    forgot = badges_forget(b, &why);
    if (rc == OK && forgot != OK) {
        *text = why;
    }
    return rc == OK ? forgot : rc;
}

enum err run_badges_create(const struct run_file *f, const char *dir, int64_t now_s,
                           struct run_badges **out, struct err_text *text)
{
    struct run_badges *b = mem_zalloc(sizeof(*b));
    enum err rc = OK;

    if (b == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for the run");
    }
    b->servers = f->servers_count;
    b->count = f->servers_count + f->workers;
    b->badges = mem_calloc(b->count, sizeof(*b->badges));
    if (b->badges == NULL) {
        b->count = 0;
        rc = ERR_NOMEM;
    } else if (snprintf(b->dir, sizeof(b->dir), "%s", dir) >= (int)sizeof(b->dir)) {
        rc = err_text_set(text, ERR_TOO_BIG, "the path of the record is too long");
    } else {
        rc = badges_make(b, f, now_s, text);
    }
    if (rc != OK) {
        run_badges_destroy(b);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "no memory for the run") : rc;
    }
    *out = b;
    return OK;
}

void run_badges_destroy(struct run_badges *b)
{
    char path[PKI_PATH_BYTES];

    if (b == NULL) {
        return;
    }
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->badges[i].key != NULL) {
            explicit_bzero(b->badges[i].key, strlen(b->badges[i].key));
        }
        mem_free(b->badges[i].key);
        mem_free(b->badges[i].cert);
    }
    if (b->operator) {
        (void)snprintf(path, sizeof(path), "%s/operator/operator.key", b->dir);
        (void)unlink(path);
    }
    mem_free(b->badges);
    mem_free(b->ca);
    mem_free(b);
}

const char *run_badges_ca(const struct run_badges *b)
{
    return b->ca;
}

struct run_badge run_badge_server(const struct run_badges *b, uint32_t server)
{
    return (struct run_badge){.cert = b->badges[server].cert, .key = b->badges[server].key};
}

struct run_badge run_badge_worker(const struct run_badges *b, uint32_t worker)
{
    return run_badge_server(b, b->servers + worker);
}
