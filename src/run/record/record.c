#include "run/record/record.h"

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/cost/bill.h"
#include "run/cost/move.h"
#include "run/predict.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum {
    RECORD_LINE_BYTES = 64 * 1024,
    RECORD_WAITING_BYTES = 16 << 20, /* Of a stream, while the disk is full. */
    RECORD_PATH_BYTES = 1024,
    RECORD_JSON_BYTES_MAX = 16 << 20,
};

enum record_stream { RECORD_EVENTS, RECORD_SCALARS, RECORD_LINKS, RECORD_STREAMS };

static const char *const record_names[RECORD_STREAMS] = {
    [RECORD_EVENTS] = "events.jsonl",
    [RECORD_SCALARS] = "scalars.csv",
    [RECORD_LINKS] = "links.csv",
};

struct run_record {
    struct run_record_config config;
    char dir[RECORD_PATH_BYTES];
    int fds[RECORD_STREAMS];
    struct text waiting[RECORD_STREAMS]; /* Not written yet. */
    struct text line;
    int64_t linked_ns; /* When the links were written last. */
    enum err rc;       /* The first error. */
    struct err_text text;
};

/* Files. */

static enum err record_file_fail(const char *path, struct err_text *text)
{
    return err_text_set(text, errno == ENOSPC || errno == EDQUOT ? ERR_FULL : ERR_IO, "%.400s: %s",
                        path, strerror(errno));
}

static enum err record_folder_fail(const char *path, struct err_text *text)
{
    return err_text_set(text, errno == ENOSPC || errno == EDQUOT ? ERR_FULL : ERR_IO, "%.400s/: %s",
                        path, strerror(errno));
}

enum err run_folder_make(const char *dir, struct err_text *text)
{
    char path[RECORD_PATH_BYTES];

    if (dir[0] == '\0' || snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path)) {
        return err_text_set(text, ERR_INVALID, "the path of the record is empty or too long");
    }
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            if (mkdir(path, 0777) != 0 && errno != EEXIST) {
                return record_folder_fail(dir, text);
            }
            *at = '/';
        }
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST ? OK : record_folder_fail(dir, text);
}

enum err run_folder_put(const char *dir, const char *name, const char *chars, size_t size,
                        struct err_text *text)
{
    char path[RECORD_PATH_BYTES + 64], part[RECORD_PATH_BYTES + 80];
    bool good;
    int fd;

    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path)) {
        return err_text_set(text, ERR_INVALID, "the path of %s is too long", name);
    }
    (void)snprintf(part, sizeof(part), "%s.part", path);
    fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    good = fd >= 0 && fd_write_all(fd, chars, size);
    if (fd >= 0 && close(fd) != 0) {
        good = false;
    }
    if (!good || rename(part, path) != 0) {
        int why = errno;

        (void)unlink(part);
        errno = why;
        return record_file_fail(path, text);
    }
    return OK;
}

static enum err record_fail(struct run_record *r, const char *name)
{
    if (r->rc == OK) {
        r->rc = errno == ENOSPC || errno == EDQUOT ? ERR_FULL : ERR_IO;
        (void)err_text_set(&r->text, OK, "%.400s/%s: %s", r->dir, name, strerror(errno));
    }
    return r->rc;
}

/* Write what waits. What a full disk does not take waits for the next line, or the end. */
static void record_write(struct run_record *r, enum record_stream stream)
{
    struct text *t = &r->waiting[stream];
    size_t done = 0;
    ssize_t n = 0;

    while (done < t->size && r->fds[stream] >= 0 && n >= 0) {
        n = write(r->fds[stream], t->chars + done, t->size - done);
        done += n > 0 ? (size_t)n : 0;
        n = n < 0 && errno == EINTR ? 0 : n;
    }
    text_drop(t, done);
    if (n < 0 && errno != ENOSPC && errno != EDQUOT) {
        (void)record_fail(r, record_names[stream]);
        text_clear(t); /* No use in trying again. */
    }
}

static int record_open(struct run_record *r, const char *name)
{
    char path[RECORD_PATH_BYTES + 32];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", r->dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        (void)record_fail(r, name);
    }
    return fd;
}

static void record_close(struct run_record *r, int fd, const char *name)
{
    if (fd >= 0 && close(fd) != 0) {
        (void)record_fail(r, name);
    }
}

static void record_file(struct run_record *r, const char *name, const struct text *whole)
{
    struct err_text why = {""};
    enum err rc;

    if (whole->failed) {
        errno = ENOMEM;
        (void)record_fail(r, name);
        return;
    }
    rc = run_folder_put(r->dir, name, whole->chars, whole->size, &why);
    if (r->rc == OK && rc != OK) {
        r->rc = rc;
        r->text = why;
    }
}

static void record_json(struct run_record *r, const char *name, const json_t *object)
{
    char *chars =
        object == NULL ? NULL : json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    struct text text;

    if (chars == NULL || text_init(&text, RECORD_JSON_BYTES_MAX) != OK) {
        errno = ENOMEM;
        (void)record_fail(r, name);
        free(chars);
        return;
    }
    text_add(&text, chars);
    text_add(&text, "\n");
    record_file(r, name, &text);
    text_deinit(&text);
    free(chars);
}

bool run_record_waits(const struct run_record *r)
{
    bool waits = false;

    for (int i = 0; i < RECORD_STREAMS; i++) {
        waits = waits || r->waiting[i].size > 0;
    }
    return waits;
}

/* The disk is still full: there will be no more lines. */
static void record_end_waiting(struct run_record *r)
{
    for (int i = 0; i < RECORD_STREAMS; i++) {
        record_write(r, (enum record_stream)i);
        if (r->waiting[i].size > 0) {
            errno = ENOSPC;
            (void)record_fail(r, record_names[i]);
        }
    }
}

/* A line of one of the streams: what was added to .line since it was cleared. */
static void record_line(struct run_record *r, enum record_stream stream)
{
    if (r->line.failed) {
        errno = ENOMEM;
        (void)record_fail(r, record_names[stream]);
    } else {
        text_add_bytes(&r->waiting[stream], r->line.chars, r->line.size);
        if (r->waiting[stream].failed) {
            errno = ENOSPC;
            (void)record_fail(r, record_names[stream]);
        }
        record_write(r, stream);
    }
    text_clear(&r->line);
}

static void record_free(struct run_record *r)
{
    for (int i = 0; i < RECORD_STREAMS && r != NULL; i++) {
        text_deinit(&r->waiting[i]);
    }
    if (r != NULL) {
        text_deinit(&r->line);
    }
    mem_free(r);
}

/* The beginning. */

/* "2026-11-15T12:00:00Z" */
static void record_date(int64_t us, char *out, size_t size)
{
    struct tm tm;
    time_t s = (time_t)(us / 1000000);

    if (gmtime_r(&s, &tm) == NULL || strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0) {
        out[0] = '\0';
    }
}

/* What the kernel calls the processor; null where it does not say. */
static json_t *record_cpu(void)
{
    static const char key[] = "model name";
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];
    json_t *cpu = NULL;

    while (f != NULL && cpu == NULL && fgets(line, sizeof(line), f) != NULL) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, key, sizeof(key) - 1) == 0 && colon != NULL) {
            line[strcspn(line, "\n")] = '\0';
            cpu = json_string(colon + 1 + strspn(colon + 1, " "));
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return cpu != NULL ? cpu : json_null();
}

static json_t *record_machine(void)
{
    struct utsname name = {.sysname = ""};
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    (void)uname(&name);
    return json_pack("{s:o, s:s, s:I, s:I, s:s, s:s}", "cpu", record_cpu(), "architecture",
                     name.machine, "cores", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN),
                     "memory_bytes",
                     pages > 0 && page > 0 ? (json_int_t)pages * page : (json_int_t)0, "system",
                     name.sysname, "kernel", name.release);
}

/* JSON's numbers are signed here: a seed beyond that is a text. */
static json_t *record_seed(uint64_t seed)
{
    char digits[24];

    (void)snprintf(digits, sizeof(digits), "%" PRIu64, seed);
    return seed <= INT64_MAX ? json_integer((json_int_t)seed) : json_string(digits);
}

static void record_env(struct run_record *r)
{
    const struct run_record_config *c = &r->config;
    char date[32];
    json_t *env;

    record_date(c->started_us, date, sizeof(date));
    env = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "schema", RUN_RECORD_SCHEMA,
                    "strait", STRAIT_VERSION, "compiler", __VERSION__, "backend", c->backend,
                    "command", c->command, "started", date, "seed", record_seed(c->file->seed),
                    "machine", record_machine());
    record_json(r, "env.json", env);
    json_decref(env);
}

static void record_run(struct run_record *r)
{
    struct text text;

    if (text_init(&text, RUN_PRINT_BYTES_MAX) != OK) {
        errno = ENOMEM;
        (void)record_fail(r, "run.yaml");
        return;
    }
    run_file_print(r->config.file, &text);
    record_file(r, "run.yaml", &text);
    text_deinit(&text);
}

static void record_headers(struct run_record *r)
{
    text_add(&r->line,
             "clock,time_s,workers,rebased,samples,loss,objective,accuracy,read_s,compute_s,"
             "end_s,wan_bytes,wan_usd,upper\n");
    record_line(r, RECORD_SCALARS);
    text_add(&r->line, "time_s,from,to,bytes,usd\n");
    record_line(r, RECORD_LINKS);
}

static enum err record_begin(struct run_record *r)
{
    char path[RECORD_PATH_BYTES + 32];
    enum err rc = run_folder_make(r->dir, &r->text);

    (void)snprintf(path, sizeof(path), "%s/run.yaml", r->dir);
    r->rc = rc;
    if (rc == OK && access(path, F_OK) == 0) {
        r->rc =
            err_text_set(&r->text, ERR_EXISTS,
                         "%.400s holds the record of another run: choose another folder", r->dir);
    }
    if (r->rc != OK) {
        return r->rc;
    }
    for (int i = 0; i < RECORD_STREAMS; i++) {
        r->fds[i] = record_open(r, record_names[i]);
    }
    record_run(r);
    record_env(r);
    record_headers(r);
    record_end_waiting(r); /* A run does not begin on a full disk. */
    return r->rc;
}

enum err run_record_create(const struct run_record_config *config, struct run_record **record_out,
                           struct err_text *text)
{
    struct run_record *r = mem_zalloc(sizeof(*r));
    enum err rc = r == NULL ? ERR_NOMEM : text_init(&r->line, RECORD_LINE_BYTES);

    for (int i = 0; i < RECORD_STREAMS && rc == OK; i++) {
        rc = text_init(&r->waiting[i], RECORD_WAITING_BYTES);
    }
    if (rc != OK) {
        record_free(r);
        return err_text_set(text, rc, "no memory for the record of the run");
    }
    r->config = *config;
    memset(r->fds, 0xff, sizeof(r->fds));
    if (strlen(config->dir) >= sizeof(r->dir)) {
        rc = err_text_set(&r->text, ERR_INVALID, "the path of the record is too long");
    } else {
        memcpy(r->dir, config->dir, strlen(config->dir) + 1);
        rc = record_begin(r);
    }
    if (rc != OK) {
        *text = r->text;
        run_record_destroy(r);
        return rc;
    }
    *record_out = r;
    return OK;
}

const char *run_record_dir(const struct run_record *r)
{
    return r->dir;
}

/* Meanwhile. */

/* Seconds, to the microsecond. */
static void record_time(struct text *line, int64_t ns)
{
    text_addf(line, "%" PRId64 ".%06" PRId64, ns / 1000000000, ns % 1000000000 / 1000);
}

/* A field of a table; what is not there is empty. */
static void record_number(struct text *line, double value)
{
    text_add(line, ",");
    if (isfinite(value)) {
        topo_print_number(value, line);
    }
}

/* Dollars, exactly. */
static void record_dollars(struct text *line, uint64_t nusd)
{
    text_addf(line, "%" PRIu64 ".%09" PRIu64, nusd / 1000000000, nusd % 1000000000);
}

static void record_links(struct run_record *r, int64_t now_ns, const struct run_traffic *traffic)
{
    const struct topo *topo = r->config.file->topo;
    uint32_t n = traffic->regions;

    for (uint32_t i = 0; i < n * n; i++) {
        uint64_t nusd;

        if (i / n == i % n || traffic->bytes[i] == 0) {
            continue;
        }
        record_time(&r->line, now_ns);
        text_addf(&r->line, ",%s,%s,%" PRIu64 ",", topo_region_at(topo, i / n)->name,
                  topo_region_at(topo, i % n)->name, traffic->bytes[i]);
        if (run_cost_transfer(topo, traffic, i / n, i % n, &nusd)) {
            record_dollars(&r->line, nusd);
        }
        text_add(&r->line, "\n");
        record_line(r, RECORD_LINKS);
    }
    r->linked_ns = now_ns;
}

void run_record_row(struct run_record *r, const struct run_row *row,
                    const struct run_traffic *traffic)
{
    uint64_t nusd;

    text_addf(&r->line, "%" PRIu64 ",", row->clock);
    record_time(&r->line, row->now_ns);
    text_addf(&r->line, ",%u,%u", row->workers, row->rebased);
    record_number(&r->line, row->samples);
    record_number(&r->line, row->loss);
    record_number(&r->line, row->objective);
    record_number(&r->line, row->accuracy);
    text_addf(&r->line, ",%.9f,%.9f,%.9f,%" PRIu64 ",", row->read_s, row->compute_s, row->end_s,
              run_traffic_total(traffic));
    if (run_cost_transfer_total(r->config.file->topo, traffic, &nusd)) {
        record_dollars(&r->line, nusd);
    }
    text_add(&r->line, ",");
    if (run_sparsifies(r->config.file)) {
        text_addf(&r->line, "%u", row->upper);
    }
    text_add(&r->line, "\n");
    record_line(r, RECORD_SCALARS);
    if (row->evaluated) {
        record_links(r, row->now_ns, traffic);
    }
}

void run_record_event(struct run_record *r, int64_t now_ns, const char *kind, const char *who,
                      const char *text)
{
    text_add(&r->line, "{\"time_s\":");
    record_time(&r->line, now_ns);
    text_add(&r->line, ",\"event\":");
    text_add_json(&r->line, kind);
    if (who[0] != '\0') {
        text_add(&r->line, ",\"who\":");
        text_add_json(&r->line, who);
    }
    if (text[0] != '\0') {
        text_add(&r->line, ",\"text\":");
        text_add_json(&r->line, text);
    }
    text_add(&r->line, "}\n");
    record_line(r, RECORD_EVENTS);
}

/* The end. */

/* JSON has no number for what is not finite. */
static json_t *record_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *record_usd(uint64_t nusd)
{
    return json_real((double)nusd * 1e-9);
}

static json_t *record_workers(const struct run_picture *p)
{
    json_t *workers = json_array();

    for (uint32_t i = 0; i < run_tally_workers(p->tally); i++) {
        const struct run_tally_worker *w = run_tally_worker(p->tally, i);

        (void)json_array_append_new(
            workers,
            json_pack("{s:i, s:s, s:s, s:I, s:I, s:i, s:f, s:f, s:f, s:f}", "rank", (int)i, "site",
                      run_worker_site(p->file, i)->name, "region",
                      run_worker_group(p->file, i)->region_name, "clocks", (json_int_t)w->clocks,
                      "rebased", (json_int_t)w->rebased, "lives", (int)w->lives, "samples",
                      w->samples, "read_s", (double)w->read_ns * 1e-9, "compute_s",
                      (double)w->compute_ns * 1e-9, "end_s", (double)w->end_ns * 1e-9));
    }
    return workers;
}

/* The part of all single changes of workers that were small; null: not known. */
static json_t *record_insignificant(const struct run_picture *p, uint32_t part)
{
    uint64_t elements = 0, large = 0;

    for (uint32_t i = 0; i < run_tally_workers(p->tally); i++) {
        elements += run_tally_worker(p->tally, i)->elements;
        large += run_tally_worker(p->tally, i)->large[part];
    }
    return elements == 0 ? json_null() : json_real(1 - (double)large / (double)elements);
}

static json_t *record_insignificant_at(const struct run_picture *p)
{
    json_t *parts = json_object();

    for (uint32_t i = 0; i < RUN_PARTS; i++) {
        (void)json_object_set_new(parts, run_part_names[i], record_insignificant(p, i));
    }
    return parts;
}

static json_t *record_traffic(const struct run_picture *p)
{
    const struct topo *topo = p->file->topo;
    uint32_t n = p->traffic->regions;
    json_t *links = json_array();

    for (uint32_t i = 0; i < n * n; i++) {
        uint64_t nusd;
        bool known;

        if (i / n == i % n || p->traffic->bytes[i] == 0) {
            continue;
        }
        known = run_cost_transfer(topo, p->traffic, i / n, i % n, &nusd);
        (void)json_array_append_new(links, json_pack("{s:s, s:s, s:I, s:o}", "from",
                                                     topo_region_at(topo, i / n)->name, "to",
                                                     topo_region_at(topo, i % n)->name, "bytes",
                                                     (json_int_t)p->traffic->bytes[i], "usd",
                                                     known ? record_usd(nusd) : json_null()));
    }
    return links;
}

/* Computing, waiting, transfer; and their sum. */
static json_t *record_part(const struct run_cost_part *part)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "compute_usd", record_usd(part->compute_nusd),
                     "waiting_usd", record_usd(part->wait_nusd), "transfer_usd",
                     record_usd(part->transfer_nusd), "total_usd",
                     record_usd(part->compute_nusd + part->wait_nusd + part->transfer_nusd));
}

/* @cost: NULL if it is not known. */
static json_t *record_sites(const struct run_picture *p, const struct run_cost *cost)
{
    const struct run_file *f = p->file;
    json_t *sites = json_array();

    for (uint32_t i = 0; i < f->sites_count; i++) {
        const struct run_share *share = p->shares == NULL ? NULL : &p->shares[i];
        bool around = share != NULL && share->around;
        struct run_cost_part part;

        if (cost != NULL) {
            run_bill_site(cost, f, i, &part);
        }
        (void)json_array_append_new(
            sites,
            json_pack(
                "{s:s, s:s?, s:i, s:o, s:o, s:o}", "name", f->sites[i].name, "region",
                f->sites[i].region_name, "workers", (int)f->sites[i].workers, "cost",
                cost != NULL ? record_part(&part) : json_null(), "shared",
                share != NULL && !around ? run_share_to_json(share, f->links.scale) : json_null(),
                "around", around ? run_share_around_to_json(share, f->links.scale) : json_null()));
    }
    return sites;
}

static json_t *record_budget(const struct run_picture *p, bool priced, uint64_t nusd)
{
    const struct run_budget *b = &p->file->budget;

    if (!run_bill_has_budget(p->file)) {
        return json_null();
    }
    return json_pack("{s:o, s:o, s:o, s:f, s:b, s:b}", "max_usd",
                     b->max_usd > 0 ? json_real(b->max_usd) : json_null(), "max_gb",
                     b->max_gb > 0 ? json_real(b->max_gb) : json_null(), "used_usd",
                     priced ? record_usd(nusd) : json_null(), "used_gb",
                     (double)run_traffic_total(p->traffic) * 1e-9, "bound", (int)run_bill_bound(p),
                     "holds", (int)run_bill_holds(p));
}

/* What it cost, or which price is missing. */
static void record_money(const struct run_picture *p, json_t *summary)
{
    struct run_cost *cost = NULL;
    struct err_text why = {""};
    json_t *whole = NULL;
    uint64_t nusd = 0;
    bool priced = run_cost_transfer_total(p->file->topo, p->traffic, &nusd);

    if (run_bill_create(p, &cost, &why) == OK) {
        whole = record_part(run_cost_parts(cost));
        (void)json_object_set_new(whole, "machine", json_string(p->file->machine));
    }
    (void)json_object_set_new(summary, "wan_usd", priced ? record_usd(nusd) : json_null());
    (void)json_object_set_new(summary, "cost", cost != NULL ? whole : json_null());
    (void)json_object_set_new(summary, "cost_note", json_string(why.text));
    (void)json_object_set_new(summary, "sites", record_sites(p, cost));
    (void)json_object_set_new(summary, "budget", record_budget(p, priced, nusd));
    run_cost_destroy(cost);
}

/* What was moved before, if it was: null in any other layout. */
static void record_move(const struct run_picture *p, json_t *summary)
{
    uint64_t machines = 0, transfer = 0;
    struct run_move m;
    bool priced;

    run_move_of(p->file, &m);
    priced = m.moves && run_move_cost(p->file, &m, &machines, &transfer);
    (void)json_object_set_new(summary, "move_s",
                              m.moves ? json_real((double)m.took_ns * 1e-9) : json_null());
    (void)json_object_set_new(summary, "move_bytes",
                              m.moves ? json_integer((json_int_t)m.bytes) : json_null());
    (void)json_object_set_new(summary, "move_usd",
                              priced ? record_usd(machines + transfer) : json_null());
}

/* Bytes are as at full size; so is time in the simulator. */
static json_t *record_sparsified_of(const struct run_file *f,
                                    const struct node_sparsify_totals *sparsified)
{
    return json_pack("{s:I, s:I, s:I}", "elements", (json_int_t)sparsified->elements,
                     "sent_elements", (json_int_t)sparsified->sent_elements, "bytes",
                     (json_int_t)run_bytes_full(sparsified->bytes, f));
}

static double record_codec_s(const struct node_sparsify_totals *sparsified)
{
    return (double)(sparsified->encode_ns + sparsified->decode_ns) * 1e-9;
}

/* What workers and servers held back inside of their sites. */
static void record_sparsified(const struct run_picture *p, json_t *summary)
{
    struct node_sparsify_totals workers = run_tally_sparsified(p->tally);
    bool sparsifies = run_sparsifies(p->file);
    json_t *sparsified = json_null();

    if (sparsifies) {
        json_t *servers = record_sparsified_of(p->file, &p->served);

        sparsified = record_sparsified_of(p->file, &workers);
        (void)json_object_set_new(servers, "codec_seconds", json_real(record_codec_s(&p->served)));
        (void)json_object_set_new(sparsified, "servers", servers);
    }
    (void)json_object_set_new(summary, "codec_seconds",
                              sparsifies ? json_real(record_codec_s(&workers)) : json_null());
    (void)json_object_set_new(summary, "sparsified", sparsified);
}

/* The ground of a real run, and what the simulator says of it. */
static void record_ground(const struct run_picture *p, json_t *summary)
{
    const struct run_prediction *predicted = p->prediction;
    json_t *network = p->network == NULL ? json_null() : json_deep_copy(p->network);
    json_t *prediction =
        predicted == NULL || !predicted->known
            ? json_null()
            : json_pack("{s:f, s:I, s:I, s:f}", "time_s", predicted->time_s, "clocks",
                        (json_int_t)predicted->clocks, "wan_bytes",
                        (json_int_t)predicted->wan_bytes, "compute_s", predicted->compute_s);

    (void)json_object_set_new(summary, "network", network);
    (void)json_object_set_new(summary, "predicted", prediction);
}

/* What processes pass on to each other by trees is not counted anywhere. */
static json_t *record_bytes(const struct run_picture *p)
{
    return p->simulated || p->file->sync.tree.degree == 0
               ? json_integer((json_int_t)run_traffic_all(p->traffic))
               : json_null();
}

struct json_t *run_summary(const struct run_picture *p, const char *backend,
                           const struct run_result *result)
{
    const struct run_tally_score *score = run_tally_score(p->tally);
    json_t *summary = json_pack(
        "{s:i, s:s, s:s, s:s?, s:s, s:s, s:s, s:f, s:I, s:o, s:s, s:b, s:I, s:o, s:o, s:f, s:o, "
        "s:o, s:f, s:o, s:I, s:n, s:o, s:o}",
        "schema", RUN_RECORD_SCHEMA, "run", p->file->name, "job", p->file->job.name, "layout",
        p->file->parts_count > 0 ? run_layout_name(p->file->layout) : NULL, "backend", backend,
        "end", run_end_name(result->end), "why", result->text.text, "time_s",
        (double)result->took_ns * 1e-9, "clocks", (json_int_t)run_tally_clock_all(p->tally), "loss",
        record_real(run_tally_last(p->tally)->loss), "objective_is", p->job->objective, "rising",
        (int)p->job->rising, "evaluated", (json_int_t)score->clock, "objective",
        record_real(score->objective), "accuracy", record_real(score->accuracy), "waiting",
        run_tally_waiting(p->tally), "insignificant", record_insignificant(p, RUN_PART_ONE_PERCENT),
        "insignificant_at", record_insignificant_at(p), "scale", p->file->links.scale, "bytes",
        record_bytes(p), "wan_bytes", (json_int_t)run_traffic_total(p->traffic), "wan_usd",
        "workers", record_workers(p), "links", record_traffic(p));

    /* Null where there is none: zero would be a measurement. */
    (void)json_object_set_new(summary, "background_bytes",
                              p->file->backgrounds_count == 0
                                  ? json_null()
                                  : json_integer((json_int_t)p->background_bytes));
    if (summary != NULL) {
        record_sparsified(p, summary);
        record_move(p, summary);
        record_money(p, summary);
        record_ground(p, summary);
    }
    return summary;
}

enum err run_record_finish(struct run_record *r, const struct json_t *summary,
                           const struct run_picture *last, struct err_text *text)
{
    if (last != NULL && (r->linked_ns == 0 || last->now_ns > r->linked_ns)) {
        record_links(r, last->now_ns, last->traffic);
    }
    if (summary != NULL) {
        record_json(r, "summary.json", summary);
    }
    record_end_waiting(r);
    for (int i = 0; i < RECORD_STREAMS; i++) {
        record_close(r, r->fds[i], record_names[i]);
        r->fds[i] = -1;
    }
    if (r->rc != OK) {
        *text = r->text;
    }
    return r->rc;
}

void run_record_destroy(struct run_record *r)
{
    if (r == NULL) {
        return;
    }
    for (int i = 0; i < RECORD_STREAMS; i++) {
        if (r->fds[i] >= 0) {
            (void)close(r->fds[i]);
        }
    }
    record_free(r);
}
