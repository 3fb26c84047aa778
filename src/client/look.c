/* Looking at a worker: what it is, why it waits, what it has counted. */

#include "base/text.h"
#include "client/client.h"
#include "obs/snapshot.h"

#include <stdio.h>
#include <string.h>

enum { LOOK_METRICS_BYTES_MAX = 16 * 1024 * 1024 };

int client_info_copy(const void *handle, void *info, void *now, size_t now_size)
{
    size_t size = 0;

    if (info != NULL) {
        memcpy(&size, info, sizeof(size));
    }
    if (size < 2 * sizeof(size)) {
        return client_error(handle, STRAIT_E_INVALID,
                            info == NULL
                                ? "there is no place for what is asked"
                                : "set .size of the structure to its sizeof before the call");
    }
    /* An older application has less room; a newer one gets zeroes for what is not known here. */
    if (size > now_size) {
        memset((char *)info + now_size, 0, size - now_size);
    }
    memcpy(now, &size, sizeof(size));
    memcpy(info, now, size < now_size ? size : now_size);
    return STRAIT_OK;
}

int strait_info(strait *s, struct strait_state *info)
{
    struct strait_state now = {.rank = UINT32_MAX};
    const struct node_site *site;
    struct client_call call;
    int code = client_begin(s, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    now.clock = node_worker_clock_now(call.client->worker);
    now.rebases = node_worker_rebases(call.client->worker);
    now.refused = node_worker_refused(call.client->worker);
    node_worker_lost(call.client->worker, &now.lost_from, &now.lost_to);
    site = node_worker_site(call.client->worker);
    if (site != NULL) {
        now.rank = node_worker_rank(call.client->worker);
        now.staleness = site->sync.staleness;
        now.lanes = site->lanes;
        now.broadcast = site->delivery == NODE_BROADCAST;
        (void)snprintf(now.barrier, sizeof(now.barrier), "%s", site->sync.policy->name);
        (void)snprintf(now.site, sizeof(now.site), "%s", site->name);
    }
    client_end(&call, false);
    return client_info_copy(s, info, &now, sizeof(now));
}

int strait_why(strait *s, char *out, size_t size)
{
    struct client_call call;
    int code;

    if (out == NULL || size == 0) {
        return client_error(s, STRAIT_E_INVALID, "there is no place for the sentence");
    }
    code = client_begin(s, &call);
    if (code != STRAIT_OK) {
        return code;
    }
    out[0] = '\0';
    code = node_worker_why(call.client->worker, out, size);
    client_end(&call, false);
    return code;
}

static int look_copy(const void *handle, const struct text *json, char *out, size_t *size)
{
    size_t needed = json->size + 1;
    bool fits = out != NULL && needed <= *size;

    if (json->failed) {
        return client_error_pass(handle, ERR_NOMEM, NULL);
    }
    if (fits) {
        memcpy(out, json->chars, needed);
    }
    *size = needed;
    return fits ? STRAIT_OK
                : client_error(handle, STRAIT_E_TOO_BIG, "%zu bytes are needed", needed);
}

int strait_metrics_json(strait *s, char *out, size_t *size)
{
    struct obs_snapshot *snapshot;
    struct client_call call;
    struct text json;
    enum err rc;
    int code;

    if (size == NULL) {
        return client_error(s, STRAIT_E_INVALID, "there is no size");
    }
    code = client_pin(s, CLIENT_HANDLE_KIND_WORKER, &call);
    if (code != STRAIT_OK) {
        return code;
    }
    rc = text_init(&json, LOOK_METRICS_BYTES_MAX);
    if (rc == OK) {
        rc = obs_snapshot_create(&call.client->registry, 1, &snapshot);
        if (rc == OK) {
            obs_snapshot_json(snapshot, &json);
            obs_snapshot_destroy(snapshot);
            code = look_copy(s, &json, out, size);
        }
        text_deinit(&json);
    }
    client_unpin(&call);
    return rc == OK ? code : client_error_pass(s, rc, NULL);
}

int strait_version(void)
{
    int part[3] = {0};

    (void)sscanf(STRAIT_VERSION, "%d.%d.%d", &part[0], &part[1], &part[2]);
    return part[0] * 10000 + part[1] * 100 + part[2];
}

const char *strait_version_text(void)
{
    return STRAIT_VERSION;
}
