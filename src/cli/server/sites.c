/* What `strait server` tells of other sites. */

#include "cli/cert/cert.h"
#include "cli/server/server.h"

#include <string.h>

enum { SITES_AGAIN_MS = 10000 }; /* Between two errors of one site that are printed. */

json_t *server_sites_named(const struct server_plan *plan)
{
    json_t *out = json_array();
    const struct node_between *b = plan->sites == NULL ? NULL : run_sites_between(plan->sites);

    for (uint32_t i = 0; b != NULL && i < b->others_count; i++) {
        (void)json_array_append_new(out, json_string(b->others[i].name));
    }
    return out;
}

void server_sites_list(struct cli_context *ctx, const struct server_plan *plan)
{
    const struct node_between *b = plan->sites == NULL ? NULL : run_sites_between(plan->sites);

    for (uint32_t i = 0; b != NULL && i < b->others_count; i++) {
        char address[NET_ADDRESS_BYTES], line[NET_ADDRESS_BYTES + LIMIT_NAME_BYTES + 8];

        (void)snprintf(line, sizeof(line), "%s at %s", b->others[i].name,
                       net_address_format(&b->others[i].first, address));
        cert_row(ctx, i == 0 ? "shares with" : "", line);
    }
}

/* A site as all our lanes see it: it is there if all of them reach it. */
static json_t *sites_seen(const json_t *report, const char *name)
{
    const json_t *lanes = json_object_get(report, "lanes");
    const char *last_error = "";
    bool up = true, left_out = false;

    for (size_t i = 0; i < json_array_size(lanes); i++) {
        const json_t *status = json_object_get(json_array_get(lanes, i), "status");
        const json_t *sites = json_object_get(json_object_get(status, "between"), "sites");

        for (size_t k = 0; k < json_array_size(sites); k++) {
            const json_t *site = json_array_get(sites, k);
            const char *its = json_string_value(json_object_get(site, "site"));
            const char *said = json_string_value(json_object_get(site, "last_error"));

            if (its != NULL && strcmp(its, name) == 0) {
                up = up && json_is_true(json_object_get(site, "up"));
                left_out = left_out || json_is_true(json_object_get(site, "left_out"));
                last_error = last_error[0] == '\0' && said != NULL ? said : last_error;
            }
        }
    }
    return json_pack("{s:b, s:b, s:s}", "up", (int)up, "left_out", (int)left_out, "last_error",
                     up ? "" : last_error);
}

static bool sites_flag(const json_t *site, const char *key)
{
    return json_is_true(json_object_get(site, key));
}

static const char *sites_last_error(const json_t *site)
{
    const char *last_error = json_string_value(json_object_get(site, "last_error"));

    return last_error == NULL ? "" : last_error;
}

/* True: something was said. */
static bool sites_say(struct cli_context *ctx, const char *name, const json_t *before,
                      const json_t *now, bool may_repeat)
{
    const char *last_error = sites_last_error(now);
    bool was = sites_flag(before, "up"), is = sites_flag(now, "up");

    if (is && !was) {
        cli_note(ctx, "site %s is %s", name, sites_flag(before, "seen") ? "back" : "there");
    } else if (was && !is) {
        cli_note(ctx, "site %s is away%s%s", name, last_error[0] == '\0' ? "" : ": ", last_error);
    } else if (!sites_flag(before, "left_out") && sites_flag(now, "left_out")) {
        cli_note(ctx,
                 "site %s is left out: nobody waits for it, and it takes a copy when it is back",
                 name);
    } else if (!is && last_error[0] != '\0' && strcmp(last_error, sites_last_error(before)) != 0 &&
               may_repeat) {
        cli_note(ctx, "site %s is not there: %s", name, last_error);
    } else {
        return false;
    }
    return true;
}

void server_sites_news(struct cli_context *ctx, struct server_news *news, const json_t *report,
                       int64_t now_ns)
{
    const json_t *lane = json_array_get(json_object_get(report, "lanes"), 0);
    const json_t *between = json_object_get(json_object_get(lane, "status"), "between");
    const json_t *sites = json_object_get(between, "sites");

    if (news->sites == NULL) {
        news->sites = json_object();
    }
    for (size_t i = 0; i < json_array_size(sites); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(sites, i), "site"));
        const json_t *before = name == NULL ? NULL : json_object_get(news->sites, name);
        json_t *now = name == NULL ? NULL : sites_seen(report, name);
        int64_t said_ns = json_integer_value(json_object_get(before, "said_ns"));
        bool may_repeat = said_ns == 0 || now_ns - said_ns >= SITES_AGAIN_MS * INT64_C(1000000);

        if (now == NULL) {
            continue;
        }
        if (sites_say(ctx, name, before, now, may_repeat)) {
            said_ns = now_ns;
        } else if (!may_repeat) {
            /* What was not said is still news later. */
            (void)json_object_set_new(now, "last_error", json_string(sites_last_error(before)));
        }
        (void)json_object_set_new(now, "said_ns", json_integer(said_ns));
        (void)json_object_set_new(
            now, "seen", json_boolean(sites_flag(before, "seen") || sites_flag(now, "up")));
        (void)json_object_set_new(news->sites, name, now);
    }
}
