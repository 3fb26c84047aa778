#include "net/counters.h"

struct net_counter_row {
    struct obs_counter **counter;
    const char *name;
    const char *help;
    const char *label;
    const char *value;
};

static enum err net_counters_add(struct obs_registry *registry, const struct net_counter_row *row)
{
    struct obs_label label = {row->label, row->value};
    struct obs_desc desc = {.name = row->name,
                            .help = row->help,
                            .labels = row->label == NULL ? NULL : &label,
                            .labels_count = row->label == NULL ? 0 : 1};

    return obs_counter_create(registry, &desc, row->counter);
}

static enum err net_counters_add_refused(struct net_counters *c, struct obs_registry *registry)
{
    enum err rc = OK;

    for (int i = 1; i < WIRE_REASON_COUNT && rc == OK; i++) {
        struct net_counter_row row = {&c->refused[i], "strait_refused_total",
                                      "Frames refused, by reason.", "reason",
                                      wire_reason_name((enum wire_reason)i)};

        rc = net_counters_add(registry, &row);
    }
    return rc;
}

static enum err net_counters_add_expelled(struct net_counters *c, struct obs_registry *registry)
{
    enum err rc = OK;

    for (int i = 0; i < NET_EXPELS && rc == OK; i++) {
        struct net_counter_row row = {&c->expelled[i], "strait_sessions_expelled_total",
                                      "Sessions ended because the peer broke the rules, by reason.",
                                      "reason", net_expel_name((enum net_expel)i)};

        rc = net_counters_add(registry, &row);
    }
    return rc;
}

enum err net_counters_init(struct net_counters *c, struct obs_registry *registry)
{
    const struct net_counter_row rows[] = {
        {&c->sent_bytes[NET_CONTROL], "strait_sent_bytes_total", "Bytes sent.", "class", "control"},
        {&c->sent_bytes[NET_DATA], "strait_sent_bytes_total", "Bytes sent.", "class", "data"},
        {&c->sent_frames[NET_CONTROL], "strait_sent_frames_total", "Frames sent.", "class",
         "control"},
        {&c->sent_frames[NET_DATA], "strait_sent_frames_total", "Frames sent.", "class", "data"},
        {&c->received_bytes, "strait_received_bytes_total", "Bytes received.", NULL, NULL},
        {&c->received_frames, "strait_received_frames_total", "Frames received.", NULL, NULL},
        {&c->strangers_refused, "strait_strangers_refused_total",
         "Connections refused before authentication.", NULL, NULL},
        {&c->hellos_refused, "strait_hellos_refused_total", "Hellos answered by a refusal.", NULL,
         NULL},
        {&c->connections, "strait_connections_total", "Connections opened.", NULL, NULL},
        {&c->silent, "strait_silent_total", "Connections ended because the peer was silent.", NULL,
         NULL},
        {&c->resent, "strait_resent_frames_total", "Frames sent again after a reconnect.", NULL,
         NULL},
        {&c->duplicates, "strait_duplicate_frames_total", "Frames recognised as seen before.", NULL,
         NULL},
        {&c->probe_trains, "strait_probe_trains_total", "Trains of probes answered.", NULL, NULL},
        {&c->probes_ignored, "strait_probes_ignored_total",
         "Probes and reports that were late, foreign or over the limit.", NULL, NULL},
        {&c->queue_full, "strait_queue_full_total", "Sends held back by a full queue.", NULL, NULL},
    };
    struct obs_desc rtt = {
        .name = "strait_link_rtt_seconds", .help = "Round trips of heartbeats.", .divisor = OBS_NS};
    enum err rc = OK;

    *c = (struct net_counters){0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && rc == OK; i++) {
        rc = net_counters_add(registry, &rows[i]);
    }
    if (rc == OK) {
        rc = net_counters_add_refused(c, registry);
    }
    if (rc == OK) {
        rc = net_counters_add_expelled(c, registry);
    }
    if (rc == OK) {
        rc = obs_histogram_create(registry, &rtt, &c->rtt);
    }
    return rc;
}
