#include "run/backend/hosts.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "run/file/yaml.h"
#include "topo/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS_WORD_BYTES = 256, HOSTS_SLOTS_MAX = RUN_WORKERS_MAX + RUN_SERVERS_MAX };

static const char hosts_dir[] = "~/.cache/strait/runs";

static const char *const hosts_keys[] = {"name",   "ssh", "region", "address",
                                         "strait", "dir", "port",   "slots"};

struct hosts_reader {
    struct run_hosts *h;
    uint32_t index;
    const struct run_yaml *node; /* Of the host. */
    struct err_text *text;
};

static enum err hosts_fail(const struct hosts_reader *r, const struct run_yaml *at, const char *key,
                           const char *what)
{
    const struct topo_place *place = &(at == NULL ? r->node : at)->place;

    return err_text_set(r->text, ERR_MALFORMED, "%.200s:%u:%u: hosts[%u]%s%s: %s", r->h->path,
                        place->line, place->column, r->index, key[0] == '\0' ? "" : ".", key, what);
}

/* Words that are handed to commands of others: nothing that a shell, or ssh itself, would take for
 * something else. */
static bool hosts_word_good(const char *word)
{
    return word[0] != '\0' && word[0] != '-' && strlen(word) < HOSTS_WORD_BYTES &&
           strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                        "/._+-@%:[],=~") == strlen(word);
}

static enum err hosts_word(const struct hosts_reader *r, const char *key, const char **out)
{
    const struct run_yaml *node = run_yaml_get(r->node, key);

    if (node == NULL) {
        return OK;
    }
    if (node->kind != RUN_YAML_TEXT || !hosts_word_good(node->chars)) {
        return hosts_fail(r, node, key,
                          "has to be a word of letters, digits and /._+-@%:[],=~, which does not "
                          "begin with a dash");
    }
    *out = node->chars;
    return OK;
}

/* HOST or USER@HOST; NULL: this machine. */
static enum err hosts_ssh(const struct hosts_reader *r, const char **out)
{
    enum err rc = hosts_word(r, "ssh", out);

    if (rc == OK && *out != NULL && ((*out)[0] == '@' || (*out)[strlen(*out) - 1] == '@')) {
        rc = hosts_fail(r, run_yaml_get(r->node, "ssh"), "ssh", "has to be HOST or USER@HOST");
    }
    return rc;
}

static enum err hosts_number(const struct hosts_reader *r, const char *key, uint32_t max,
                             uint32_t *out)
{
    const struct run_yaml *node = run_yaml_get(r->node, key);
    char what[64];
    char *end = NULL;
    unsigned long value;

    if (node == NULL) {
        return OK;
    }
    value = node->kind == RUN_YAML_TEXT ? strtoul(node->chars, &end, 10) : 0;
    if (end == NULL || *end != '\0' || node->chars[0] < '0' || node->chars[0] > '9' || value < 1 ||
        value > max) {
        (void)snprintf(what, sizeof(what), "has to be a whole number from 1 to %u", max);
        return hosts_fail(r, node, key, what);
    }
    *out = (uint32_t)value;
    return OK;
}

static enum err hosts_known(const struct hosts_reader *r)
{
    if (r->node->kind != RUN_YAML_MAPPING) {
        return hosts_fail(r, NULL, "", "has to be a mapping, as {ssh: ada@eu1, region: eu}");
    }
    for (const struct run_yaml *n = r->node->first; n != NULL; n = n->next) {
        struct nearest near;
        char what[NEAREST_LIST_BYTES + NEAREST_WORD_BYTES + 32];
        bool known = false;

        nearest_init(&near, n->key);
        for (size_t i = 0; i < sizeof(hosts_keys) / sizeof(hosts_keys[0]); i++) {
            known = known || strcmp(hosts_keys[i], n->key) == 0;
            nearest_offer(&near, hosts_keys[i]);
        }
        if (!known) {
            (void)snprintf(what, sizeof(what), "no such key; %s", nearest_hint(&near, "there are"));
            return hosts_fail(r, n, n->key, what);
        }
    }
    return OK;
}

static enum err hosts_name(const struct hosts_reader *r, struct run_host *host)
{
    const struct run_yaml *node = run_yaml_get(r->node, "name");
    const char *ssh = host->at == NULL ? "here" : host->at;
    const char *user = strrchr(ssh, '@');

    /* Without a name: the word for ssh, behind the user. */
    host->name = node != NULL && node->kind == RUN_YAML_TEXT ? node->chars
                 : user != NULL                              ? user + 1
                                                             : ssh;
    if ((node != NULL && node->kind != RUN_YAML_TEXT) || !topo_name_valid(host->name)) {
        return hosts_fail(r, node, "name",
                          "has to be 1 to 64 letters, digits, dots, dashes or underscores");
    }
    for (uint32_t i = 0; i < r->index; i++) {
        if (strcmp(r->h->items[i].name, host->name) == 0) {
            return hosts_fail(r, node, "name",
                              "an earlier host has that name: names have to "
                              "differ");
        }
    }
    return OK;
}

/* Where the others reach it: as said, or as ssh does. */
static enum err hosts_address(const struct hosts_reader *r, struct run_host *host)
{
    const char *user = host->at == NULL ? NULL : strrchr(host->at, '@');

    host->address = host->at == NULL ? "127.0.0.1" : user != NULL ? user + 1 : host->at;
    if (hosts_word(r, "address", &host->address) != OK) {
        return ERR_MALFORMED;
    }
    if (strlen(host->address) >= 254 || strpbrk(host->address, "/@[],=~") != NULL) {
        return hosts_fail(r, run_yaml_get(r->node, "address"), "address",
                          "has to be a host name or an address, without a port");
    }
    return OK;
}

static enum err hosts_dir_check(const struct hosts_reader *r, const struct run_host *host)
{
    bool rooted = host->dir[0] == '/' || strncmp(host->dir, "~/", 2) == 0;

    if (!rooted || strstr(host->dir, "..") != NULL || strchr(host->dir + 1, '~') != NULL) {
        return hosts_fail(r, run_yaml_get(r->node, "dir"), "dir",
                          "has to begin with / or ~/, and to be without ..");
    }
    return OK;
}

static enum err hosts_one(const struct hosts_reader *r, struct run_host *host)
{
    uint32_t port = 0;
    enum err rc = hosts_known(r);

    *host =
        (struct run_host){.dir = hosts_dir, .slots = HOSTS_SLOTS_MAX, .line = r->node->place.line};
    rc = rc == OK ? hosts_ssh(r, &host->at) : rc;
    if (rc == OK) {
        host->way = host->at == NULL ? RUN_HOST_HERE : RUN_HOST_SSH;
        host->strait = host->at == NULL ? NULL : "strait";
        rc = hosts_name(r, host);
    }
    rc = rc == OK ? hosts_word(r, "region", &host->region) : rc;
    if (rc == OK && host->region == NULL) {
        rc = hosts_fail(r, NULL, "region", "is missing: say in which region of the run file it is");
    }
    rc = rc == OK ? hosts_address(r, host) : rc;
    rc = rc == OK ? hosts_word(r, "strait", &host->strait) : rc;
    rc = rc == OK ? hosts_word(r, "dir", &host->dir) : rc;
    rc = rc == OK ? hosts_dir_check(r, host) : rc;
    rc = rc == OK ? hosts_number(r, "port", UINT16_MAX, &port) : rc;
    host->port = (uint16_t)port;
    return rc == OK ? hosts_number(r, "slots", HOSTS_SLOTS_MAX, &host->slots) : rc;
}

/* The list, which is all that such a file has. */
static enum err hosts_list(const char *name, const struct run_yaml *root,
                           const struct run_yaml **list_out, struct err_text *text)
{
    const struct run_yaml *list = run_yaml_get(root, "hosts");
    const struct run_yaml *other = root;

    if (root->kind == RUN_YAML_MAPPING) {
        other = root->first;
        while (other != NULL && strcmp(other->key, "hosts") == 0) {
            other = other->next;
        }
    }
    if (other != NULL) {
        return err_text_set(text, ERR_MALFORMED,
                            "%.200s:%u:%u: a hosts file has one key, and that is 'hosts'", name,
                            other->place.line, other->place.column);
    }
    if (list == NULL || list->kind != RUN_YAML_LIST || list->count == 0 ||
        list->count > RUN_HOSTS_MAX) {
        const struct topo_place *at = &(list == NULL ? root : list)->place;

        return err_text_set(text, ERR_MALFORMED,
                            "%.200s:%u:%u: hosts: has to be a list of 1 to %d machines, as "
                            "hosts: [{ssh: ada@eu1, region: eu}]",
                            name, at->line, at->column, RUN_HOSTS_MAX);
    }
    *list_out = list;
    return OK;
}

static enum err hosts_read(struct run_hosts *h, const char *bytes, size_t size,
                           struct err_text *text)
{
    const struct run_yaml *list = NULL;
    struct run_yaml *root = NULL;
    enum err rc = run_yaml_parse(h->arena, h->path, bytes, size, &root, text);

    if (rc == OK) {
        rc = hosts_list(h->path, root, &list, text);
    }
    if (rc != OK) {
        return rc;
    }
    CHECK(list != NULL);
    h->items = run_arena_alloc(h->arena, list->count, sizeof(*h->items));
    if (h->items == NULL) {
        return ERR_NOMEM;
    }
    for (const struct run_yaml *n = list->first; n != NULL && rc == OK; n = n->next) {
        struct hosts_reader r = {.h = h, .index = h->count, .node = n, .text = text};

        rc = hosts_one(&r, &h->items[h->count]);
        h->count++;
    }
    return rc;
}

static enum err hosts_begin(const char *name, struct run_hosts **out)
{
    struct run_hosts *h = mem_zalloc(sizeof(*h));
    enum err rc = h == NULL ? ERR_NOMEM : run_arena_create(&h->arena);

    if (rc == OK) {
        h->first = RUN_HOSTS_PORT;
        h->path = run_arena_strdup(h->arena, name);
        rc = h->path == NULL ? ERR_NOMEM : OK;
    }
    if (rc != OK) {
        run_hosts_free(h);
        return rc;
    }
    *out = h;
    return OK;
}

enum err run_hosts_create(const char *name, uint32_t count, struct run_hosts **out)
{
    struct run_hosts *h = NULL;
    enum err rc = hosts_begin(name, &h);

    if (rc != OK) {
        return rc;
    }
    h->items = run_arena_alloc(h->arena, count, sizeof(*h->items));
    if (h->items == NULL) {
        run_hosts_free(h);
        return ERR_NOMEM;
    }
    h->count = count;
    *out = h;
    return OK;
}

enum err run_hosts_parse(const char *name, const char *bytes, size_t size, struct run_hosts **out,
                         struct err_text *text)
{
    struct run_hosts *h = NULL;
    enum err rc;

    if (size > RUN_FILE_BYTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%.128s: larger than %d bytes", name,
                            RUN_FILE_BYTES_MAX);
    }
    rc = hosts_begin(name, &h);
    if (rc == OK) {
        rc = hosts_read(h, bytes, size, text);
    }
    if (rc != OK) {
        run_hosts_free(h);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "%.128s: out of memory", name) : rc;
    }
    *out = h;
    return OK;
}

enum err run_hosts_load(const char *path, struct run_hosts **out, struct err_text *text)
{
    struct text bytes = {0};
    enum err rc = topo_file_read(path, RUN_FILE_BYTES_MAX, &bytes, text);

    if (rc == OK) {
        rc = run_hosts_parse(path, bytes.chars, bytes.size, out, text);
        text_deinit(&bytes);
    }
    return rc;
}

void run_hosts_free(struct run_hosts *h)
{
    if (h != NULL) {
        run_arena_destroy(h->arena);
        mem_free(h);
    }
}
