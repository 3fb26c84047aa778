#include "store/checkpoint.h"

#include "store/grow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void checkpoint_name(const char *site, uint32_t shard, uint64_t number, char *out, size_t size)
{
    int n = snprintf(out, size, "%s/shard-%04" PRIu32 "/%020" PRIu64 ".ckpt", site, shard, number);

    CHECK(n > 0 && (size_t)n < size);
}

/* Read digits; the caller judges their form. */
static bool name_digits(const char **at, uint64_t max, uint64_t *value_out)
{
    uint64_t value = 0;
    const char *c = *at;

    for (; *c >= '0' && *c <= '9'; c++) {
        uint64_t digit = (uint64_t)(*c - '0');

        if (value > (max - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *value_out = value;
    *at = c;
    return true;
}

enum err checkpoint_name_parse(const char *name, uint32_t *shard_out, uint64_t *number_out)
{
    static const char middle[] = "/shard-";
    const char *slash = strchr(name, '/');
    char site[LIMIT_NAME_BYTES + 1];
    char again[STORE_NAME_BYTES];
    uint64_t shard, number;
    const char *at;

    if (!store_name_valid(name) || slash == NULL || slash - name > LIMIT_NAME_BYTES ||
        strncmp(slash, middle, strlen(middle)) != 0) {
        return ERR_INVALID;
    }
    at = slash + strlen(middle);
    if (!name_digits(&at, UINT32_MAX, &shard) || *at++ != '/' ||
        !name_digits(&at, UINT64_MAX, &number)) {
        return ERR_INVALID;
    }
    /* One checkpoint has one spelling. */
    (void)snprintf(site, sizeof(site), "%.*s", (int)(slash - name), name);
    checkpoint_name(site, (uint32_t)shard, number, again, sizeof(again));
    if (strcmp(again, name) != 0) {
        return ERR_INVALID;
    }
    *shard_out = (uint32_t)shard;
    *number_out = number;
    return OK;
}

/* The numbers of a shard's checkpoints, newest first. */
struct numbers {
    struct grow bytes;
    size_t count;
    enum err rc;
};

static void numbers_object(const char *name, uint64_t size, void *user)
{
    struct numbers *n = user;
    uint32_t shard;
    uint64_t number;

    (void)size;
    if (n->rc == OK && checkpoint_name_parse(name, &shard, &number) == OK) {
        n->rc = grow_add(&n->bytes, &number, sizeof(number), UINT64_MAX);
        n->count += n->rc == OK;
    }
}

static int numbers_descend(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? 1 : x > y ? -1 : 0;
}

static uint64_t numbers_at(const struct numbers *n, size_t i)
{
    uint64_t number;

    memcpy(&number, n->bytes.bytes + i * sizeof(number), sizeof(number));
    return number;
}

static enum err numbers_find(struct store *s, const char *site, uint32_t shard, struct numbers *out)
{
    struct numbers n = {0};
    char prefix[STORE_NAME_BYTES];
    enum err rc;

    if (strnlen(site, LIMIT_NAME_BYTES + 1) > LIMIT_NAME_BYTES) {
        return ERR_INVALID;
    }
    (void)snprintf(prefix, sizeof(prefix), "%s/shard-%04" PRIu32 "/", site, shard);
    rc = store_list(s, prefix, numbers_object, &n);
    if (rc == OK) {
        rc = n.rc;
    }
    if (rc != OK) {
        grow_deinit(&n.bytes);
        return rc;
    }
    if (n.count > 0) {
        qsort(n.bytes.bytes, n.count, sizeof(uint64_t), numbers_descend);
    }
    *out = n;
    return OK;
}

enum err checkpoint_newest(struct store *s, const char *site, uint32_t shard, char *name,
                           size_t size, uint64_t *number_out, uint32_t *skipped_out,
                           struct err_text *text)
{
    struct err_text why = {0};
    struct numbers n;
    uint32_t skipped = 0;
    enum err rc = numbers_find(s, site, shard, &n);

    if (rc != OK) {
        return err_text_set(text, rc, "cannot list the checkpoints of shard %" PRIu32 " of %s: %s",
                            shard, site, err_string(rc));
    }
    (void)err_text_set(text, OK, "%s", "");
    rc = ERR_NOT_FOUND;
    for (size_t i = 0; i < n.count; i++) {
        char candidate[STORE_NAME_BYTES];

        checkpoint_name(site, shard, numbers_at(&n, i), candidate, sizeof(candidate));
        rc = checkpoint_check(s, candidate, &why);
        if (rc == OK) {
            CHECK(strlen(candidate) < size);
            memcpy(name, candidate, strlen(candidate) + 1);
            *number_out = numbers_at(&n, i);
            break;
        }
        if (rc != ERR_CORRUPT || skipped == 0) {
            (void)err_text_set(text, rc, "%s", why.text);
        }
        if (rc != ERR_CORRUPT) {
            break;
        }
        skipped++;
        rc = ERR_NOT_FOUND;
    }
    grow_deinit(&n.bytes);
    *skipped_out = skipped;
    return rc;
}

enum err checkpoint_last(struct store *s, const char *site, uint32_t shard, uint64_t *number_out,
                         struct err_text *text)
{
    struct numbers n;
    enum err rc = numbers_find(s, site, shard, &n);

    if (rc != OK) {
        return err_text_set(text, rc, "cannot list the checkpoints of shard %" PRIu32 " of %s: %s",
                            shard, site, err_string(rc));
    }
    *number_out = n.count == 0 ? 0 : numbers_at(&n, 0);
    grow_deinit(&n.bytes);
    return OK;
}

static bool prune_spares(const uint64_t *keep, uint32_t count, uint64_t number)
{
    bool below = false, kept = false;

    for (uint32_t i = 0; i < count; i++) {
        below = below || number < keep[i];
        kept = kept || number == keep[i];
    }
    return kept || !below;
}

enum err checkpoint_prune(struct store *s, const char *site, uint32_t shard, const uint64_t *keep,
                          uint32_t count)
{
    struct numbers n;
    enum err rc = numbers_find(s, site, shard, &n);

    if (rc != OK) {
        return rc;
    }
    for (size_t i = 0; i < n.count && rc == OK; i++) {
        char name[STORE_NAME_BYTES];

        if (!prune_spares(keep, count, numbers_at(&n, i))) {
            checkpoint_name(site, shard, numbers_at(&n, i), name, sizeof(name));
            rc = store_remove(s, name);
            rc = rc == ERR_NOT_FOUND ? OK : rc; /* Somebody else was quicker. */
        }
    }
    grow_deinit(&n.bytes);
    return rc;
}
