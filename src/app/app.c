#include "app/app.h"

#include "app/jobs.h"
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

enum err app_create(const struct app_config *config, struct app **app_out, struct err_text *text)
{
    const struct app_ops *ops = app_find(config->job);
    enum err rc;

    if (ops == NULL) {
        return app_unknown(config->job, text);
    }
    if (config->rank >= config->workers) {
        return err_text_set(text, ERR_INVALID,
                            "job %s: there is no worker %u of %u: they count from 0", ops->name,
                            config->rank, config->workers);
    }
    rc = ops->create(config, app_out, text);
    CHECK(rc != OK || (*app_out)->ops == ops);
    return rc;
}

void app_destroy(struct app *a)
{
    if (a != NULL) {
        a->ops->destroy(a);
    }
}
