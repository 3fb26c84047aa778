/* A site in a simulated world: servers with their lanes, workers, all of them the real node code on
 * simulated hosts. What the workers do is the business of a brain: drills (sim/stress/drill.h) for
 * invariants, training (run/) for results. */

#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include "node/lane/lane.h"
#include "node/worker/worker.h"
#include "sim/world.h"

struct sim_cluster;
struct sim_worker;

enum { SIM_CLUSTER_SERVERS_MAX = 64, SIM_CLUSTER_WORKERS_MAX = 256 };

struct sim_cluster_config {
    struct node_site site;              /* .lanes is counted from the servers. */
    const struct node_between *between; /* Other sites; outlives the cluster. May be NULL. */
    int64_t commit_ns; /* How long a disk takes to make a checkpoint durable; zero: 2 ms. */
    int64_t grace_ns;  /* As in struct node_lane_config. */
    int64_t restore_ns;
    int64_t heartbeat_ns;                    /* Of all members; zero: the default. */
    const struct node_lane_witness *witness; /* May be NULL. */
    void *witness_user;
    /* May be NULL. Its user is the struct sim_worker. */
    const struct node_worker_witness *worker_witness;
    const struct codec_costs *costs; /* Of all members; outlive the cluster. NULL: the default. */
    uint64_t relay_bytes;            /* As in struct node_worker_config. */
};

/* What a worker does. Called on the host. */
struct sim_brain {
    /* The worker was made; it has not joined. */
    enum err (*start)(struct sim_worker *w, void *user);
    /* The host crashes: operations end without a word. */
    void (*stop)(struct sim_worker *w, void *user);
};

struct sim_worker {
    struct sim_cluster *cluster;
    struct sim_host *host;
    struct node_worker *node; /* While it is on, as is */
    struct obs_registry *registry;
    uint32_t rank;
    uint64_t incarnation;
    void *user; /* The brain's. */
};

MUST_USE enum err sim_cluster_create(struct sim_world *w, const struct sim_cluster_config *config,
                                     struct sim_cluster **cluster_out);

/* Before the world. NULL is allowed. */
void sim_cluster_destroy(struct sim_cluster *c);

/* A server on a new host of that name. All servers before sim_cluster_start(). */
MUST_USE enum err sim_cluster_add_server(struct sim_cluster *c, const char *name,
                                         struct sim_region *region, uint32_t lanes);

/* Where a site is whose first server has that name: for others that want to reach it. */
void sim_cluster_place(const char *server, struct net_address *out);

/* A worker on a new host; its rank is its number. */
MUST_USE enum err sim_cluster_add_worker(struct sim_cluster *c, const char *name,
                                         struct sim_region *region, uint16_t streams,
                                         const struct sim_brain *brain, void *user);

/* The brain's operation failed with @rc. True if the program of a worker ends for that, and its
 * operator starts it again a moment later: the tables do not fit its memory or the servers'. */
bool sim_cluster_worker_ends(struct sim_worker *w, enum err rc);

/* Where the last server or worker that was added is, for trees: text that outlives the cluster, or
 * NULL. */
void sim_cluster_rack_server(struct sim_cluster *c, const char *agg, const char *edge);
void sim_cluster_rack_worker(struct sim_cluster *c, const char *agg, const char *edge);

/* Who sees what the lanes do; before the start. */
void sim_cluster_set_witness(struct sim_cluster *c, void *user);

/* Switch all hosts on. ERR_INVALID if the site's settings do not go together. */
MUST_USE enum err sim_cluster_start(struct sim_cluster *c, struct err_text *text);

struct sim_world *sim_cluster_world(const struct sim_cluster *c);
const struct node_site *sim_cluster_site(const struct sim_cluster *c);
uint32_t sim_cluster_workers(const struct sim_cluster *c);
struct sim_worker *sim_cluster_worker(struct sim_cluster *c, uint32_t index);

/* Lane @number, or NULL while its server is off. */
struct node_lane *sim_cluster_lane(struct sim_cluster *c, uint32_t number);

/* What does not hold in some lane, or NULL. */
const char *sim_cluster_broken(struct sim_cluster *c);

/* Write what each lane says of itself to the transcript. */
void sim_cluster_trace_status(struct sim_cluster *c);

#endif
