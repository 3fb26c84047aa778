#include "run/trainer/work.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK_CLOCKS_MAX UINT64_C(1000000000)

void run_work_init(struct run_work *w)
{
    memset(w, 0, sizeof(*w));
    w->seed = 1;
    w->evaluate_every = 10;
}

enum err run_work_set_job(struct run_work *w, const char *job, struct err_text *text)
{
    if (strlen(job) >= sizeof(w->job)) {
        return err_text_set(text, ERR_INVALID, "'%.40s' is not the name of a job", job);
    }
    memcpy(w->job, job, strlen(job) + 1);
    return OK;
}

enum err run_work_set_data(struct run_work *w, const char *data, struct err_text *text)
{
    if (strlen(data) >= sizeof(w->data)) {
        return err_text_set(text, ERR_TOO_BIG, "the path of the data is longer than %zu bytes",
                            sizeof(w->data) - 1);
    }
    memcpy(w->data, data, strlen(data) + 1);
    return OK;
}

/* A copy that lives as long as the work; NULL: no room. */
static const char *work_keep(struct run_work *w, const char *chars, size_t size)
{
    char *kept = w->chars + w->chars_used;

    if (size >= sizeof(w->chars) - w->chars_used) {
        return NULL;
    }
    memcpy(kept, chars, size);
    kept[size] = '\0';
    w->chars_used += size + 1;
    return kept;
}

enum err run_work_set_option(struct run_work *w, const char *key, size_t size, const char *value,
                             struct err_text *text)
{
    struct app_option *option = NULL;

    if (size == 0) {
        return err_text_set(text, ERR_INVALID, "an option needs a name: write KEY=VALUE");
    }
    for (uint32_t i = 0; i < w->options_count; i++) {
        if (strncmp(w->options[i].key, key, size) == 0 && w->options[i].key[size] == '\0') {
            option = &w->options[i];
        }
    }
    if (option == NULL && w->options_count == APP_OPTIONS_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "more than %d options", APP_OPTIONS_MAX);
    }
    if (option == NULL) {
        option = &w->options[w->options_count];
        *option = (struct app_option){.key = work_keep(w, key, size)};
    }
    option->value = work_keep(w, value, strlen(value));
    if (option->key == NULL || option->value == NULL) {
        return err_text_set(text, ERR_TOO_BIG, "the options are longer than %d bytes in all",
                            NODE_JOB_BYTES);
    }
    w->options_count += option == &w->options[w->options_count];
    return OK;
}

/* Reading. */

static enum err work_wrong(struct err_text *text, const char *key, const char *wanted)
{
    return err_text_set(text, ERR_MALFORMED, "the job of the site: '%.40s' has to be %s", key,
                        wanted);
}

static enum err work_number(const char *key, const json_t *value, uint64_t max, uint64_t *out,
                            struct err_text *text)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > max) {
        return work_wrong(text, key, "a whole number within its limits");
    }
    *out = (uint64_t)json_integer_value(value);
    return OK;
}

/* A decimal in quotes: JSON's own numbers end below 2^63. */
static enum err work_seed(const json_t *value, uint64_t *out, struct err_text *text)
{
    const char *chars = json_string_value(value);

    if (chars == NULL || chars[0] == '\0' || strspn(chars, "0123456789") != strlen(chars)) {
        return work_wrong(text, "seed", "a whole number in quotes");
    }
    errno = 0;
    *out = strtoull(chars, NULL, 10);
    return errno == 0 ? OK : work_wrong(text, "seed", "below 2^64");
}

static enum err work_options(const json_t *options, struct run_work *w, struct err_text *text)
{
    const char *key;
    json_t *value;
    enum err rc = json_is_object(options) ? OK : work_wrong(text, "options", "an object");

    if (rc != OK) {
        return rc;
    }
    json_object_foreach((json_t *)(uintptr_t)options, key, value)
    {
        if (rc == OK) {
            rc = json_is_string(value)
                     ? run_work_set_option(w, key, strlen(key), json_string_value(value), text)
                     : work_wrong(text, key, "a text");
        }
    }
    return rc;
}

static enum err work_field(struct run_work *w, const char *key, const json_t *value,
                           struct err_text *text)
{
    uint64_t number = 0;
    enum err rc;

    if (strcmp(key, "job") == 0 || strcmp(key, "data") == 0) {
        if (!json_is_string(value)) {
            return work_wrong(text, key, "a text");
        }
        return key[0] == 'j' ? run_work_set_job(w, json_string_value(value), text)
                             : run_work_set_data(w, json_string_value(value), text);
    }
    if (strcmp(key, "seed") == 0) {
        return work_seed(value, &w->seed, text);
    }
    if (strcmp(key, "workers") == 0) {
        rc = work_number(key, value, SYNC_MEMBERS_MAX, &number, text);
        w->workers = (uint32_t)number;
        return rc;
    }
    if (strcmp(key, "clocks") == 0) {
        return work_number(key, value, WORK_CLOCKS_MAX, &w->clocks, text);
    }
    if (strcmp(key, "evaluate") == 0) {
        rc = work_number(key, value, WORK_CLOCKS_MAX, &number, text);
        w->evaluate_every = (uint32_t)number;
        return rc;
    }
    if (strcmp(key, "options") == 0) {
        return work_options(value, w, text);
    }
    return err_text_set(text, ERR_MALFORMED,
                        "the job of the site has a key that is not known here: '%.40s'; is this "
                        "worker older than the server?",
                        key);
}

enum err run_work_parse(const char *chars, struct run_work *out, struct err_text *text)
{
    json_t *fields = json_loads(chars, JSON_REJECT_DUPLICATES, NULL);
    const char *key;
    json_t *value;
    enum err rc = OK;

    run_work_init(out);
    if (!json_is_object(fields)) {
        rc = err_text_set(text, ERR_MALFORMED, "the job of the site is not an object in JSON");
    } else {
        json_object_foreach(fields, key, value)
        {
            rc = rc == OK ? work_field(out, key, value, text) : rc;
        }
    }
    json_decref(fields);
    return rc;
}

enum err run_work_print(const struct run_work *w, char out[NODE_JOB_BYTES])
{
    json_t *options = json_object();
    json_t *fields;
    char seed[24];
    size_t size;

    for (uint32_t i = 0; i < w->options_count; i++) {
        (void)json_object_set_new(options, w->options[i].key, json_string(w->options[i].value));
    }
    (void)snprintf(seed, sizeof(seed), "%" PRIu64, w->seed);
    fields =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:o}", "job", w->job, "data", w->data, "seed",
                  seed, "workers", (json_int_t)w->workers, "clocks", (json_int_t)w->clocks,
                  "evaluate", (json_int_t)w->evaluate_every, "options", options);
    if (fields == NULL) {
        return ERR_NOMEM;
    }
    size = json_dumpb(fields, out, NODE_JOB_BYTES - 1, JSON_COMPACT);
    json_decref(fields);
    if (size == 0 || size > NODE_JOB_BYTES - 1) {
        return ERR_TOO_BIG;
    }
    out[size] = '\0';
    return OK;
}

struct app_config run_work_app(const struct run_work *w, uint32_t rank, uint32_t workers)
{
    return (struct app_config){
        .job = w->job,
        .data = w->data,
        .rank = rank,
        .workers = workers,
        .seed = w->seed,
        .option_count = w->options_count,
        .options = w->options,
    };
}
