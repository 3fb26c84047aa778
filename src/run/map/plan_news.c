#include "run/map/plan_news.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Whom it is about is between the words: nobody, a site, or two that a link joins. */
struct news_why {
    const char *why;
    const char *head;
    const char *tail;
};

static const struct news_why news_whys[] = {
    {"lost", "because the centre, ", ", is away"},
    {"gone", "because site ", " is away"},
    {"back", "because site ", " is back"},
    {"broken", "because the link ", " is down"},
    {"changed", "because the link ", " has changed"},
    {"asked", "because rounds could not go on", ""},
};

static const char *news_name(const json_t *list, size_t index)
{
    const char *name = json_string_value(json_array_get(list, index));

    return name == NULL ? "" : name;
}

void run_plan_why(const json_t *central, char *out, size_t size)
{
    const char *why = json_string_value(json_object_get(central, "why"));
    const json_t *about = json_object_get(central, "about");

    out[0] = '\0';
    for (size_t i = 0; why != NULL && i < sizeof(news_whys) / sizeof(news_whys[0]); i++) {
        if (strcmp(news_whys[i].why, why) == 0) {
            (void)snprintf(out, size, "%s%.64s%s%.64s%s", news_whys[i].head, news_name(about, 0),
                           json_array_size(about) == 2 ? " - " : "", news_name(about, 1),
                           news_whys[i].tail);
        }
    }
}

bool run_plan_news(const json_t *between, uint32_t *epoch, char *out, size_t size)
{
    const json_t *central = json_object_get(between, "central");
    const char *centre = json_string_value(json_object_get(central, "centre"));
    json_int_t now = json_integer_value(json_object_get(central, "epoch"));
    char why[RUN_PLAN_NEWS_BYTES];

    if (centre == NULL || now <= *epoch || now > UINT32_MAX ||
        !json_is_true(json_object_get(central, "begun"))) {
        return false;
    }
    *epoch = (uint32_t)now;
    run_plan_why(central, why, sizeof(why));
    (void)snprintf(out, size, "plan %" PRIu32 ": centre %.64s%s%.250s", *epoch, centre,
                   why[0] == '\0' ? "" : ", ", why);
    return true;
}
