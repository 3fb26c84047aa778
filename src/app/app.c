#include "app/app.h"

#include "app/jobs.h"
#include "app/option.h"
#include "base/limits.h"
#include "base/text.h"

#include <string.h>

static const struct app_ops *const app_list[] = {
    &app_lenet, &app_mlp, &app_mf, &app_logreg, &app_lda, &app_synthetic,
};

enum { APP_COUNT = sizeof(app_list) / sizeof(app_list[0]) };

const struct app_ops *const *app_all(uint32_t *count_out)
{
    *count_out = APP_COUNT;
    return app_list;
}

const struct app_ops *app_find(const char *name)
{
    for (uint32_t i = 0; i < APP_COUNT; i++) {
        if (strcmp(app_list[i]->name, name) == 0) {
            return app_list[i];
        }
    }
    return NULL;
}

static enum err app_unknown(const char *name, struct err_text *text)
{
    char names[ERR_TEXT_BYTES];
    struct text list;

    text_init_fixed(&list, names, sizeof(names));
    for (uint32_t i = 0; i < APP_COUNT; i++) {
        text_addf(&list, "%s%s", i == 0 ? "" : ", ", app_list[i]->name);
    }
    return err_text_set(text, ERR_NOT_FOUND, "there is no job '%.*s': choose one of %s",
                        APP_NAME_BYTES, name, names);
}

const char app_options_help[] = "chunk=65536 elements of a chunk at most; fewer spread a small "
                                "model over more lanes\n";

enum err app_create(const struct app_config *config, struct app **app_out, struct err_text *text)
{
    const struct app_ops *ops = app_find(config->job);
    uint32_t chunk;
    enum err rc;

    if (ops == NULL) {
        return app_unknown(config->job, text);
    }
    if (config->rank >= config->workers) {
        return err_text_set(text, ERR_INVALID,
                            "job %s: there is no worker %u of %u: they count from 0", ops->name,
                            config->rank, config->workers);
    }
    rc = app_option_u32(config, "chunk", LIMIT_CHUNK_ELEMENTS, 1, LIMIT_CHUNK_ELEMENTS, &chunk,
                        text);
    if (rc == OK) {
        rc = ops->create(config, app_out, text);
    }
    if (rc == OK) {
        CHECK((*app_out)->ops == ops);
        (*app_out)->chunk = chunk;
    }
    return rc;
}

void app_destroy(struct app *a)
{
    if (a != NULL) {
        a->ops->destroy(a);
    }
}
