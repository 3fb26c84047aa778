#include "run/live/parcel.h"

#include "base/mem.h"

#include <jansson.h>
#include <string.h>

static const char *const parcel_kinds[] = {
    [RUN_PARCEL_HOLD] = "hold", [RUN_PARCEL_ASK] = "ask", [RUN_PARCEL_REMOVE] = "remove"};

static enum err parcel_fail(struct err_text *text, const char *key, const char *what)
{
    return err_text_set(text, ERR_MALFORMED, "the first line: %s: %s", key, what);
}

/* A name that stays in its folder and is not hidden. */
static bool parcel_name_good(const char *name)
{
    return name != NULL && name[0] != '\0' && name[0] != '.' && name[0] != '-' &&
           strlen(name) < RUN_PARCEL_NAME_BYTES &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
               strlen(name);
}

static bool parcel_printable(const char *chars)
{
    for (; *chars != '\0'; chars++) {
        if ((unsigned char)*chars < 0x20 || *chars == 0x7f) {
            return false;
        }
    }
    return true;
}

/* A text without a zero byte inside, or NULL. */
static const char *parcel_text(const json_t *value)
{
    const char *chars = json_string_value(value);

    return chars != NULL && strlen(chars) == json_string_length(value) ? chars : NULL;
}

static enum err parcel_dir(struct run_parcel *p, struct err_text *text)
{
    p->dir = parcel_text(json_object_get(p->json, "dir"));
    if (p->dir == NULL || (p->dir[0] != '/' && strncmp(p->dir, "~/", 2) != 0) ||
        strlen(p->dir) >= RUN_PARCEL_PATH_BYTES - RUN_PARCEL_NAME_BYTES ||
        strstr(p->dir, "..") != NULL || !parcel_printable(p->dir)) {
        return parcel_fail(text, "dir",
                           "has to be a path that begins with / or ~/ and is without ..");
    }
    return OK;
}

/* A list of texts; @names: of such as can be names of files. */
static enum err parcel_list(const struct run_parcel *p, const char *key, bool names, uint32_t max,
                            const char **out, uint32_t *count_out, struct err_text *text)
{
    const json_t *list = json_object_get(p->json, key);

    if ((list != NULL && !json_is_array(list)) || json_array_size(list) > max) {
        return parcel_fail(text, key, "has to be a list, and not so long");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        out[i] = parcel_text(json_array_get(list, i));
        if (out[i] == NULL || (names && !parcel_name_good(out[i]))) {
            return parcel_fail(text, key,
                               names ? "has to hold names of files" : "has to hold texts");
        }
    }
    *count_out = (uint32_t)json_array_size(list);
    return OK;
}

static enum err parcel_files(struct run_parcel *p, struct err_text *text)
{
    json_t *files = json_object_get(p->json, "files");
    const char *name;
    json_t *file;

    if ((files != NULL && !json_is_object(files)) ||
        json_object_size(files) > RUN_PARCEL_FILES_MAX) {
        return parcel_fail(text, "files", "has to be an object, and not so large");
    }
    json_object_foreach(files, name, file)
    {
        const char *mode = parcel_text(json_object_get(file, "mode"));
        struct run_parcel_file *f = &p->files[p->files_count++];

        f->name = name;
        f->text = parcel_text(json_object_get(file, "text"));
        f->secret = mode != NULL && strcmp(mode, "0600") == 0;
        if (!parcel_name_good(name) || f->text == NULL || mode == NULL ||
            (!f->secret && strcmp(mode, "0644") != 0)) {
            return parcel_fail(text, "files",
                               "each has a name without /, a text, and the mode 0600 or 0644");
        }
    }
    return OK;
}

static enum err parcel_hold(struct run_parcel *p, struct err_text *text)
{
    enum err rc = OK;

    p->member = parcel_text(json_object_get(p->json, "member"));
    if (!parcel_name_good(p->member)) {
        return parcel_fail(text, "member", "has to be a name");
    }
    rc = parcel_list(p, "folders", true, RUN_PARCEL_FOLDERS_MAX, p->folders, &p->folders_count,
                     text);
    if (rc == OK) {
        rc = parcel_files(p, text);
    }
    if (rc == OK) {
        rc = parcel_list(p, "argv", false, RUN_PARCEL_ARGS_MAX, p->argv, &p->argv_count, text);
    }
    if (rc == OK && (p->argv_count < 2 || strcmp(p->argv[0], "strait") != 0)) {
        rc = parcel_fail(text, "argv", "has to begin with strait and one of its commands");
    }
    return rc;
}

static enum err parcel_read(struct run_parcel *p, struct err_text *text)
{
    const char *kind = parcel_text(json_object_get(p->json, "do"));
    enum err rc;

    if (!json_is_object(p->json)) {
        return err_text_set(text, ERR_MALFORMED, "the first line has to be an object of JSON");
    }
    while (kind == NULL || strcmp(kind, parcel_kinds[p->kind]) != 0) {
        if (kind == NULL || p->kind == RUN_PARCEL_REMOVE) {
            return parcel_fail(text, "do", "has to be hold, ask or remove");
        }
        p->kind++;
    }
    rc = parcel_dir(p, text);
    if (rc == OK && p->kind == RUN_PARCEL_HOLD) {
        rc = parcel_hold(p, text);
    } else if (rc == OK && p->kind == RUN_PARCEL_ASK) {
        rc = parcel_list(p, "paths", false, RUN_PARCEL_PATHS_MAX, p->paths, &p->paths_count, text);
    }
    return rc;
}

enum err run_parcel_parse(const char *bytes, size_t size, struct run_parcel **out,
                          struct err_text *text)
{
    struct run_parcel *p;
    enum err rc;

    if (size > RUN_PARCEL_BYTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "the first line is longer than %d bytes",
                            RUN_PARCEL_BYTES_MAX);
    }
    p = mem_zalloc(sizeof(*p));
    if (p == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for the first line");
    }
    p->json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    rc = parcel_read(p, text);
    if (rc != OK) {
        run_parcel_free(p);
        return rc;
    }
    *out = p;
    return OK;
}

void run_parcel_free(struct run_parcel *p)
{
    if (p != NULL) {
        json_decref(p->json);
        mem_free(p);
    }
}

/* NULL: no memory, or a text that is not UTF-8. */
static json_t *parcel_texts(const char *const *items, uint32_t count)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++) {
        if (json_array_append_new(list, json_string(items[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

char *run_parcel_print(const struct run_parcel *p)
{
    json_t *files = json_object();
    json_t *whole;
    char *line;

    for (uint32_t i = 0; i < p->files_count; i++) {
        const struct run_parcel_file *f = &p->files[i];

        (void)json_object_set_new(
            files, f->name,
            json_pack("{s:s, s:s}", "text", f->text, "mode", f->secret ? "0600" : "0644"));
    }
    whole = json_pack("{s:s, s:s, s:s*, s:o, s:o, s:o, s:o}", "do", parcel_kinds[p->kind], "dir",
                      p->dir, "member", p->member, "folders",
                      parcel_texts(p->folders, p->folders_count), "files", files, "paths",
                      parcel_texts(p->paths, p->paths_count), "argv",
                      parcel_texts(p->argv, p->argv_count));
    line = whole == NULL ? NULL : json_dumps(whole, JSON_COMPACT);
    json_decref(whole);
    return line;
}
