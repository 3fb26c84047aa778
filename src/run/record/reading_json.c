/* The JSON of a record: env.json, summary.json as it is, and the lines of events.jsonl. */

#include "run/record/reading.h"
#include "run/record/record.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

static enum err json_wrong(struct err_text *text, const char *name, int line, const char *what)
{
    char shown[JSON_ERROR_TEXT_LENGTH * 2];
    struct text t;

    text_init_fixed(&t, shown, sizeof(shown));
    text_add_printable(&t, what);
    return err_text_set(text, ERR_MALFORMED,
                        "%.280s:%d: %.120s: the record is damaged; run it again", name,
                        line > 0 ? line : 1, shown);
}

enum err run_reading_json(const struct run_reading_bytes *in, struct json_t **object_out,
                          struct err_text *text)
{
    const json_t *schema;
    json_error_t error;
    json_t *object = json_loadb(in->chars, in->size, JSON_REJECT_DUPLICATES, &error);
    enum err rc = OK;

    if (object == NULL) {
        return json_error_code(&error) == json_error_out_of_memory
                   ? err_text_set(text, ERR_NOMEM, "%.300s: out of memory", in->name)
                   : json_wrong(text, in->name, error.line, error.text);
    }
    schema = json_object_get(object, "schema");
    if (!json_is_object(object) || !json_is_integer(schema)) {
        rc = json_wrong(text, in->name, 1,
                        json_is_object(object) ? "'schema' is missing or is no whole number"
                                               : "it is no JSON object");
    } else if (json_integer_value(schema) != RUN_RECORD_SCHEMA) {
        rc = err_text_set(text, ERR_VERSION,
                          "%.280s: it is of schema %" JSON_INTEGER_FORMAT
                          ", and this Strait (%s) knows schema %d: use the Strait that wrote it, "
                          "or a newer one",
                          in->name, json_integer_value(schema), STRAIT_VERSION, RUN_RECORD_SCHEMA);
    }
    if (rc == OK) {
        *object_out = object;
    } else {
        json_decref(object);
    }
    return rc;
}

/* Nothing that is shown later may move the cursor. */
static void json_word(const json_t *object, const char *key, char *out, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));
    struct text t;

    text_init_fixed(&t, out, size);
    text_add_printable(&t, value == NULL ? "" : value);
}

static uint64_t json_count(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? (uint64_t)value : 0;
}

enum err run_reading_env(const struct run_reading_bytes *in, struct run_reading_env *out,
                         struct err_text *text)
{
    const json_t *machine;
    json_t *env = NULL;
    enum err rc = run_reading_json(in, &env, text);

    if (rc != OK) {
        return rc;
    }
    machine = json_object_get(env, "machine");
    *out = (struct run_reading_env){.cores = json_count(machine, "cores"),
                                    .memory_bytes = json_count(machine, "memory_bytes")};
    json_word(env, "strait", out->strait, sizeof(out->strait));
    json_word(env, "compiler", out->compiler, sizeof(out->compiler));
    json_word(env, "backend", out->backend, sizeof(out->backend));
    json_word(env, "command", out->command, sizeof(out->command));
    json_word(env, "started", out->started, sizeof(out->started));
    json_word(machine, "cpu", out->cpu, sizeof(out->cpu));
    json_word(machine, "architecture", out->architecture, sizeof(out->architecture));
    json_word(machine, "system", out->system, sizeof(out->system));
    json_word(machine, "kernel", out->kernel, sizeof(out->kernel));
    if (out->backend[0] == '\0') {
        rc = json_wrong(text, in->name, 1, "'backend' is missing or is no word");
    }
    json_decref(env);
    return rc;
}

/* events.jsonl. */

static const char *json_event(const char *line, size_t size,
                              const char *(*see)(const struct run_reading_event *event, void *user),
                              void *user)
{
    json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
    const json_t *time = json_object_get(object, "time_s");
    struct run_reading_event event = {
        .time_s = json_number_value(time),
        .kind = json_string_value(json_object_get(object, "event")),
        .who = json_string_value(json_object_get(object, "who")),
        .text = json_string_value(json_object_get(object, "text")),
    };
    const char *what = "it is no event of a run";

    if (json_is_number(time) && isfinite(event.time_s) && event.time_s >= 0 && event.kind != NULL) {
        event.who = event.who == NULL ? "" : event.who;
        event.text = event.text == NULL ? "" : event.text;
        what = see(&event, user);
    }
    json_decref(object);
    /* cppcheck-suppress returnDanglingLifetime ; what see() says is no part of the event */
    return what;
}

enum err run_reading_events(const struct run_reading_bytes *in,
                            const char *(*see)(const struct run_reading_event *event, void *user),
                            void *user, uint32_t *torn_out, struct err_text *text)
{
    const char *at = in->chars, *stop = in->chars + in->size;
    int line = 1;

    *torn_out = 0;
    for (const char *end; at < stop && (end = memchr(at, '\n', (size_t)(stop - at))) != NULL;
         line++) {
        const char *what = json_event(at, (size_t)(end - at), see, user);

        if (what != NULL) {
            return json_wrong(text, in->name, line, what);
        }
        at = end + 1;
    }
    *torn_out = at < stop ? (uint32_t)line : 0;
    return OK;
}
