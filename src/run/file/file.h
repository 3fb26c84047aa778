/* Run files: what is trained, on which map, by whom, and when it is over. YAML; docs/RUNFILE.md has
 * every key. What was read is complete: every default is filled in, every name is looked up, and
 * what does not go together was refused with the line at which it stands. */

#ifndef RUN_FILE_FILE_H
#define RUN_FILE_FILE_H

#include "app/app.h"
#include "codec/filter.h"
#include "node/site/site.h"
#include "sync/asp.h"
#include "topo/topo.h"

enum {
    RUN_FILE_BYTES_MAX = 1 << 20,
    RUN_SERVERS_MAX = 64, /* Of all sites together. */
    RUN_SERVER_LANES_MAX = 16,
    RUN_WORKERS_MAX = SYNC_MEMBERS_MAX, /* Of all groups of all sites together. */
    RUN_FAULTS_MAX = 1024,
    RUN_BACKGROUNDS_MAX = 16,
    RUN_BACKGROUND_FLOWS_MAX = 4096, /* Of one of them. */
    RUN_PRINT_BYTES_MAX = TOPO_PRINT_BYTES_MAX + 4 * RUN_FILE_BYTES_MAX,
};

enum run_barrier { RUN_BSP, RUN_SSP, RUN_TAP };
enum run_order { RUN_ARRIVAL, RUN_FIXED };
enum run_preset { RUN_GAIA, RUN_ASYNC, RUN_CENTRAL };
enum run_flow { RUN_FLOW_SAID, RUN_FLOW_PARAMETER }; /* Preset of a site: none, parameter-flow. */
enum run_threshold { RUN_BOTH, RUN_LOW, RUN_UP };    /* Which of a chain's two counts. */
enum run_weight { RUN_MEAN, RUN_SUM };
enum run_leave_out { RUN_MAJORITY, RUN_ANY };
enum run_layout {
    RUN_SITES,       /* Each site for itself. */
    RUN_PLAIN,       /* One site, each member where it is. */
    RUN_LAN,         /* One site, all of it in one region. */
    RUN_CENTRALISED, /* The same, after the data has been moved there. */
};

enum run_among { RUN_AMONG_ALL, RUN_AMONG_WORKERS, RUN_AMONG_SERVERS };

struct run_server {
    const char *name;        /* Given, or s0, s1, ... by its place in the list, behind "SITE-". */
    const char *region_name; /* ... */
    uint32_t region;         /* ... and its index in the topology. */
    uint32_t lanes;
    const char *edge; /* The switch of its rack, ... */
    const char *agg;  /* ... and the one above that; NULL: not said. */
    uint32_t line;    /* In the run file, as in all the others. */
};

/* Workers that are alike. All workers have ranks in the order of the groups, and are called w0,
 * w1, ... by rank. */
struct run_group {
    const char *region_name;
    uint32_t region;
    uint32_t count;
    uint32_t streams; /* Connections to each lane. */
    double slowdown;  /* Simulated compute time is multiplied by this. */
    const char *edge; /* Of all of them, as of a server. */
    const char *agg;
    uint32_t line;
};

/* Its servers, groups and workers are those of the file from the first on. */
struct run_site {
    const char *name;        /* Given, or that of its region; of a file without sites: the run's. */
    const char *region_name; /* NULL: it may be in several. */
    uint32_t region;
    uint32_t circle; /* Index in .between.circles; zero if there are none. */
    uint32_t servers_first;
    uint32_t servers_count;
    uint32_t groups_first;
    uint32_t groups_count;
    uint32_t workers_first;
    uint32_t workers;
    uint32_t lanes;   /* Of all its servers. */
    uint32_t streams; /* Unless a group says otherwise, as the next. */
    double slowdown;
    uint32_t line;
};

/* A circle talks to circle .to through these of its sites, best first. */
struct run_hubs {
    uint32_t to;
    uint32_t count;
    uint32_t *sites;
};

/* Sites that all send to each other; files call it a group, as workers' are called too. */
struct run_circle {
    const char *name;
    const char **site_names;
    uint32_t sites_count;
    struct run_hubs *hubs;
    uint32_t hubs_count;
};

/* A link between two sites, by their indices. */
struct run_join {
    uint32_t a;
    uint32_t b;
    uint64_t bytes_per_s; /* In this run; zero: not known. */
};

/* A site's way to the centre. */
struct run_way {
    uint32_t *sites; /* From the site on, the centre included. */
    uint32_t count;  /* Zero: it is the centre. */
    double mbps;     /* At the rates of the map; zero: no limit. */
};

#define RUN_NO_SITE UINT32_MAX

/* Rounds around a centre; node/site/between.h and docs/RUNFILE.md say what each is. */
struct run_central {
    const char *centre_name; /* NULL: any. */
    char **no_centre_names;
    uint32_t no_centre_count;
    char **no_relay_names;
    uint32_t no_relay_count;
    uint64_t no_centre; /* Bits of sites: all but the one that was named, or those that are. */
    uint64_t no_relay;
    double reserve; /* Part of each link that plans leave to others. */
    double move_gain;
    double replan;
    struct run_join *joins;
    uint32_t joins_count;
    bool shared;     /* Both directions of a link share its rate. */
    uint32_t centre; /* Of the plan that was given; RUN_NO_SITE: none was. */
    struct run_way *ways;
};

/* How sites share; node/site/between.h says what each is. */
struct run_between {
    enum run_preset preset;
    const char *significance; /* As written, as the next; both are in .filter. */
    const char *grain;
    const char *library; /* Of a custom significance: a path; else empty. */
    struct codec_filter filter;
    double threshold;
    enum asp_goal goal;
    uint64_t staleness; /* MIRROR_UNBOUNDED: none. */
    bool barrier;
    double fresh;
    enum run_weight weight;
    uint32_t streams;
    int64_t away_ns;
    enum run_leave_out leave_out;
    struct run_circle *circles;
    uint32_t circles_count;
    struct run_central central;
};

/* The inside of regions, at full size. */
struct run_lan {
    const char *rate; /* As written; NULL: that of the map. It is in .link too. */
    struct topo_link link;
};

/* What the run makes of the links of its map. */
struct run_links {
    double scale;            /* Of the model by the real one: all rates are so much smaller. */
    uint32_t machines;       /* In each region: rates between regions are so many times larger. */
    enum topo_duplex duplex; /* Of the run; said only if the map's is another one. */
    struct run_lan lan;
    const char *card;   /* As written; NULL: as fast as the LAN. */
    uint64_t card_full; /* Bytes per second of a member's network card, each way, at full size, */
    uint64_t card_rate; /* and in this run. */
};

/* Of transfer between regions, at full size. Zero: no limit. */
struct run_budget {
    double max_usd;
    double max_gb;
};

struct run_job {
    const char *name;
    const char *data; /* A path that is good in the working directory; empty: generated. */
    double data_gb;   /* All workers' data at full size; zero: not said. */
    struct app_option *options;
    uint32_t options_count;
    uint32_t line;
};

struct run_sync {
    enum run_barrier barrier;
    uint32_t staleness; /* Zero unless the barrier is ssp. */
    enum node_delivery delivery;
    enum run_order order;
    int64_t deadline_ns; /* Zero: none. */
    enum run_flow preset;
    const char *filter_said; /* As written, as the next three; NULL: not said. */
    const char *push_said;
    const char *broadcast_said;
    const char *required_said;
    enum run_threshold threshold;          /* Of one that is fixed the chains have only that. */
    struct node_sparsify_config push;      /* What workers hold back, ... */
    struct node_sparsify_config broadcast; /* ... and lanes. */
    uint64_t required_full;                /* Bytes per second, at full size, ... */
    uint64_t required;                     /* ... and in this run; zero: not said. */
    struct node_tree tree;
};

struct run_checkpoint {
    uint32_t every; /* Clocks; zero: never. */
    uint32_t keep;
};

struct run_evaluate {
    uint32_t every; /* Clocks; zero: never. */
};

/* What a job keeps of its own, as run/trainer/worker_state.h saves it. */
struct run_keep {
    uint32_t every; /* Clocks; zero: as the job needs it. */
};

/* The objective has changed by less than this part of itself over so many clocks. */
struct run_converged {
    uint32_t clocks; /* Zero: not a reason. */
    double change;
    uint32_t after; /* Clocks that do not count: some trainings begin slowly. */
};

/* The run is over when one of these is reached. */
struct run_stop {
    struct run_converged converged;
    uint64_t clocks; /* Zero: not a reason, as with the others. */
    bool has_objective;
    double objective;
    double accuracy;
    int64_t time_ns;
};

/* A line of a scenario: "at 3s kill s0 for 500ms". Time, kind and target were checked, the amount
 * and the duration were not. */
struct run_fault {
    const char *chars;
    uint32_t line;
};

/* Other people's traffic among the members' hosts, on and off; run/background.h draws it. */
struct run_background {
    const char *name; /* Given, or b0, b1, ... by its place in the list. */
    uint32_t flows;   /* At once, while it is on. */
    int64_t on_ns;    /* How long it is on, on average, */
    int64_t off_ns;   /* and off; */
    bool steady;      /* exactly so long. */
    enum run_among among;
    const char *rate;   /* The most of a flow, as written; NULL: as fast as it can. */
    uint64_t rate_full; /* The same in bytes per second, at full size, */
    uint64_t rate_run;  /* and in this run; zero: no limit. */
    int64_t after_ns;
    int64_t until_ns; /* Zero: as long as the run. */
    uint32_t line;
};

struct run_compute {
    double gflops;   /* Of one simulated worker. */
    int64_t time_ns; /* That a step takes, simulated or not; zero: not said. */
};

/* Read-only for all but src/run/file*.c. */
struct run_file {
    const char *name;
    uint64_t seed;
    const char *topology; /* The path as it is written; NULL: the file holds it itself. */
    struct topo *map;     /* The topology as it is written, ... */
    struct topo *topo;    /* ... and with the rates that this run has, after .links. */
    struct run_links links;
    uint32_t shards;
    struct run_server *servers;
    uint32_t servers_count;
    uint32_t lanes; /* Of each site. */
    struct run_group *groups;
    uint32_t groups_count;
    uint32_t workers; /* Of all groups. */
    struct run_site *sites;
    uint32_t sites_count; /* At least one. */
    struct run_site *parts;
    uint32_t parts_count; /* The sites as they are written; zero: the file has none. They are as
                           * .sites unless the layout makes one of them. */
    struct run_between between;
    enum run_layout layout;
    const char *lan_region;
    bool lan_region_said; /* Else it is the default of the layout. */
    const char *machine;  /* Class, for prices. */
    bool machine_said;    /* Else it is the default, and prices may be missing. */
    struct run_budget budget;
    struct run_job job;
    struct run_sync sync;
    struct run_checkpoint checkpoint;
    struct run_evaluate evaluate;
    struct run_keep state;
    struct run_stop stop;
    struct run_fault *faults;
    uint32_t faults_count;
    struct run_background *backgrounds;
    uint32_t backgrounds_count;
    struct run_compute compute;
    struct run_arena *arena; /* Holds all of this but .map and .topo. */
};

/* Read the file. ERR_NOT_FOUND, ERR_IO, ERR_TOO_BIG, ERR_MALFORMED, ERR_NOMEM; @text then says
 * "FILE:LINE:COLUMN: KEY: " what is wrong and what is allowed. The caller releases the result. */
MUST_USE enum err run_file_load(const char *path, struct run_file **file_out,
                                struct err_text *text);

/* Read the @size bytes of a run file called @name. Relative paths in it start at @folder; NULL: it
 * may not name a topology, and the path of its data is left as it is. Errors as above. */
MUST_USE enum err run_file_parse(const char *name, const char *folder, const char *bytes,
                                 size_t size, struct run_file **file_out, struct err_text *text);

/* NULL is allowed. */
void run_file_free(struct run_file *f);

/* Add the run file to @out with all its defaults and with the topology inside, so that it needs no
 * other file but its data and reading it gives the same run. Whether it fit is for the caller to
 * see: out->failed; RUN_PRINT_BYTES_MAX always do. */
void run_file_print(const struct run_file *f, struct text *out);

/* What is said under "sync" of filters and trees, as run_file_print() has it: ", push: ...". */
void run_sync_print_sparsify(const struct run_sync *s, struct text *out);

/* As they are written. */
const char *run_barrier_name(enum run_barrier barrier);
const char *run_order_name(enum run_order order);
const char *run_preset_name(enum run_preset preset);
const char *run_weight_name(enum run_weight weight);
const char *run_leave_out_name(enum run_leave_out leave_out);
const char *run_layout_name(enum run_layout layout);
const char *run_goal_name(enum asp_goal goal);
const char *run_among_name(enum run_among among);

/* The site that a worker is of, by its index in the file. */
const struct run_site *run_worker_site(const struct run_file *f, uint32_t worker);

/* Does the line hit all of a site, as "at 3s kill site tokyo for 2s"? Then which (of .parts), how
 * many bytes are before "site", and what is behind its name. */
struct run_fault_site {
    const struct run_site *site;
    int head;
    const char *rest;
};
bool run_fault_site(const struct run_file *f, const char *line, struct run_fault_site *out);

#endif
