/* One global log per process: a process has one place where lines go, and passing it to every
 * function that may have to say something would make each of them longer. It is set before threads
 * start and only read afterwards; what changes while running is per thread, but for who we are.
 *
 * A line is built on the stack, in a buffer that fits the longest one, so it is never cut in the
 * middle of its structure. */

#include "base/log.h"

#include "base/limits.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    LOG_RULES_MAX = 32,       /* Subsystems with a level of their own. */
    LOG_SUBSYSTEM_BYTES = 32, /* A subsystem's name, with terminator. */
    LOG_MESSAGE_BYTES = 1024, /* A message, before it is escaped. */
    LOG_ESCAPE_BYTES = 6,     /* One byte becomes \u0001 at worst. */
    LOG_PREFIX_BYTES = 1536,  /* All of a line but the message. */
    LOG_LINE_BYTES = LOG_MESSAGE_BYTES * LOG_ESCAPE_BYTES + LOG_PREFIX_BYTES,
};

_Static_assert(LOG_PREFIX_BYTES >=
                   (2 * LIMIT_NAME_BYTES + LOG_SUBSYSTEM_BYTES) * LOG_ESCAPE_BYTES + 256,
               "names, and the rest of a line around them");

struct log_rule {
    char subsystem[LOG_SUBSYSTEM_BYTES];
    enum log_level level;
};

struct log_filter {
    enum log_level level; /* Of subsystems without a rule. */
    enum log_level level_max;
    uint32_t rules_count;
    struct log_rule rules[LOG_RULES_MAX];
};

static struct log_state {
    struct log_config config;
    struct log_filter filter;
} log_state;

/* Places are filled one after the other and not changed then, so readers need no lock. */
struct log_origin {
    char site[LIMIT_NAME_BYTES + 1];
    char member[LIMIT_NAME_BYTES + 1];
};

static struct log_origin log_origins[1 + LOG_ORIGINS_MAX]; /* The first one is nobody. */
static _Atomic uint32_t log_origin_at;

static _Thread_local int64_t log_clock = -1;

static const char *const log_level_names[] = {"off", "error", "warn", "info", "debug", "trace"};

static bool log_level_parse(const char *word, size_t size, enum log_level *level_out)
{
    for (enum log_level level = LOG_OFF; level <= LOG_TRACE; level++) {
        if (strlen(log_level_names[level]) == size &&
            strncasecmp(log_level_names[level], word, size) == 0) {
            *level_out = level;
            return true;
        }
    }
    return false;
}

/* Set the level of a subsystem; the last word about it counts. */
static bool log_filter_set(struct log_filter *f, const char *name, size_t size,
                           enum log_level level)
{
    struct log_rule *rule = f->rules;

    while (rule < f->rules + f->rules_count &&
           (strlen(rule->subsystem) != size || memcmp(rule->subsystem, name, size) != 0)) {
        rule++;
    }
    if (rule == f->rules + LOG_RULES_MAX) {
        return false;
    }
    f->rules_count += rule == f->rules + f->rules_count;
    memcpy(rule->subsystem, name, size);
    rule->level = level;
    return true;
}

/* Take one `level` or `subsystem=level`. */
static enum err log_filter_word(struct log_filter *f, const char *word, size_t size, bool first,
                                struct err_text *text)
{
    static const char levels[] = "levels are off, error, warn, info, debug, trace";
    const char *equals = memchr(word, '=', size);
    size_t name_size = equals == NULL ? 0 : (size_t)(equals - word);
    const char *name = equals == NULL ? word : equals + 1;
    size_t level_size = size - (size_t)(name - word);
    enum log_level level;

    if (first != (equals == NULL)) {
        return err_text_set(text, ERR_INVALID,
                            "log filter: '%.*s' is in the wrong place: first a level for all, then "
                            "subsystem=level, as in 'warn,net=debug'; %s",
                            (int)size, word, levels);
    }
    if (!log_level_parse(name, level_size, &level)) {
        return err_text_set(text, ERR_INVALID, "log filter: '%.*s' is not a level; %s",
                            (int)level_size, name, levels);
    }
    if (first) {
        f->level = level;
        return OK;
    }
    if (name_size == 0 || name_size >= LOG_SUBSYSTEM_BYTES ||
        strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-") != name_size) {
        return err_text_set(text, ERR_INVALID,
                            "log filter: '%.*s' names no subsystem: 1 to %d small letters, digits, "
                            "'_' and '-'",
                            (int)size, word, LOG_SUBSYSTEM_BYTES - 1);
    }
    if (!log_filter_set(f, word, name_size, level)) {
        return err_text_set(text, ERR_INVALID,
                            "log filter: '%.*s' is one too many; %d subsystems may have a level",
                            (int)size, word, LOG_RULES_MAX);
    }
    return OK;
}

static enum err log_filter_parse(struct log_filter *f, const char *chars, struct err_text *text)
{
    bool first = true;

    *f = (struct log_filter){0};
    for (;;) {
        size_t size;
        enum err rc;

        chars += strspn(chars, " ");
        size = strcspn(chars, ",");
        rc = log_filter_word(f, chars, size, first, text);
        if (rc != OK) {
            return rc;
        }
        if (chars[size] == '\0') {
            break;
        }
        chars += size + 1;
        first = false;
    }
    f->level_max = f->level;
    for (uint32_t i = 0; i < f->rules_count; i++) {
        f->level_max = f->rules[i].level > f->level_max ? f->rules[i].level : f->level_max;
    }
    return OK;
}

enum err log_setup(const struct log_config *config, struct err_text *text)
{
    struct log_state state = {.config = *config};
    const char *filter = config->filter == NULL ? "warn" : config->filter;
    enum err rc = log_filter_parse(&state.filter, filter, text);

    CHECK(config->write == NULL || config->wall_us != NULL);
    if (rc != OK) {
        return rc;
    }
    if (config->write == NULL) {
        state.filter.level_max = LOG_OFF;
    }
    state.config.filter = NULL; /* What it said was understood; the text is the caller's. */
    log_state = state;
    atomic_store_explicit(&log_origin_at, 0, memory_order_relaxed);
    return OK;
}

void log_teardown(void)
{
    log_state = (struct log_state){0};
    atomic_store_explicit(&log_origin_at, 0, memory_order_relaxed);
}

static void log_name_copy(char *copy, const char *name)
{
    size_t size = name == NULL ? 0 : strlen(name);

    CHECK(size <= LIMIT_NAME_BYTES);
    memcpy(copy, name == NULL ? "" : name, size + 1);
}

void log_set_origin(const char *site, const char *member)
{
    uint32_t at = atomic_load_explicit(&log_origin_at, memory_order_relaxed) + 1;

    CHECK(at <= LOG_ORIGINS_MAX);
    log_name_copy(log_origins[at].site, site);
    log_name_copy(log_origins[at].member, member);
    atomic_store_explicit(&log_origin_at, at, memory_order_release);
}

static const struct log_origin *log_origin_now(void)
{
    return &log_origins[atomic_load_explicit(&log_origin_at, memory_order_acquire)];
}

void log_set_clock(int64_t clock)
{
    log_clock = clock;
}

bool log_enabled(const char *subsystem, enum log_level level)
{
    const struct log_filter *f = &log_state.filter;

    if (level > f->level_max || level == LOG_OFF) {
        return false;
    }
    for (uint32_t i = 0; i < f->rules_count; i++) {
        if (strcmp(f->rules[i].subsystem, subsystem) == 0) {
            return level <= f->rules[i].level;
        }
    }
    return level <= f->level;
}

/* Count the line; true if it may be written. @suppressed_out is how many before it were not. */
static bool log_site_admit(struct log_site *site, int64_t second, uint32_t *suppressed_out)
{
    if (site->second != second) {
        site->second = second;
        site->count = 0;
    }
    if (log_state.config.repeats_per_s != 0 && site->count >= log_state.config.repeats_per_s) {
        site->suppressed += site->suppressed < UINT32_MAX;
        return false;
    }
    site->count++;
    *suppressed_out = site->suppressed;
    site->suppressed = 0;
    return true;
}

/* Put an ellipsis at the end of a full message, without cutting a character in two. */
static void log_message_cut(char *message)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    size_t size = LOG_MESSAGE_BYTES - sizeof(ellipsis);

    for (int i = 0; i < 3 && ((unsigned char)message[size] & 0xc0) == 0x80; i++) {
        size--;
    }
    memcpy(message + size, ellipsis, sizeof(ellipsis));
}

struct log_line {
    int64_t wall_us;
    const char *subsystem;
    enum log_level level;
    uint32_t suppressed;
    const char *message;
};

static void log_add_time(struct text *t, int64_t wall_us)
{
    time_t second = wall_us / 1000000 - (wall_us % 1000000 < 0);
    struct tm tm = {0};

    (void)gmtime_r(&second, &tm);
    text_addf(t, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
              tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
              (int)((wall_us - second * 1000000) / 1000));
}

/* "eu/worker-1@17", as far as it is known. */
static void log_add_origin(struct text *t)
{
    const struct log_origin *o = log_origin_now();
    const char *site = o->site, *member = o->member;

    if (site[0] == '\0' && member[0] == '\0' && log_clock < 0) {
        return;
    }
    text_add(t, "[");
    text_add_printable(t, site);
    text_add(t, site[0] != '\0' && member[0] != '\0' ? "/" : "");
    text_add_printable(t, member);
    if (log_clock >= 0) {
        text_addf(t, "@%" PRId64, log_clock);
    }
    text_add(t, "]");
}

static void log_add_text(struct text *t, const struct log_line *line)
{
    static const char *const words[] = {"", "ERROR", "WARN ", "INFO ", "DEBUG", "TRACE"};
    static const char *const colors[] = {"",         "\033[31m", "\033[33m",
                                         "\033[32m", "\033[2m",  "\033[2m"};
    bool color = log_state.config.color;

    log_add_time(t, line->wall_us);
    text_addf(t, " %s%s%s %s", color ? colors[line->level] : "", words[line->level],
              color ? "\033[0m" : "", line->subsystem);
    log_add_origin(t);
    text_add(t, ": ");
    text_add_printable(t, line->message);
    if (line->suppressed > 0) {
        text_addf(t, " (%" PRIu32 " similar line%s suppressed)", line->suppressed,
                  line->suppressed == 1 ? "" : "s");
    }
}

static void log_add_json_field(struct text *t, const char *key, const char *value)
{
    text_addf(t, ",\"%s\":", key);
    text_add_json(t, value);
}

static void log_add_json(struct text *t, const struct log_line *line)
{
    const struct log_origin *o = log_origin_now();

    text_add(t, "{\"time\":\"");
    log_add_time(t, line->wall_us);
    text_add(t, "\"");
    log_add_json_field(t, "level", log_level_names[line->level]);
    log_add_json_field(t, "subsystem", line->subsystem);
    if (o->site[0] != '\0') {
        log_add_json_field(t, "site", o->site);
    }
    if (o->member[0] != '\0') {
        log_add_json_field(t, "member", o->member);
    }
    if (log_clock >= 0) {
        text_addf(t, ",\"clock\":%" PRId64, log_clock);
    }
    if (line->suppressed > 0) {
        text_addf(t, ",\"suppressed\":%" PRIu32, line->suppressed);
    }
    log_add_json_field(t, "message", line->message);
    text_add(t, "}");
}

static void log_emit(const struct log_line *line)
{
    char storage[LOG_LINE_BYTES];
    struct text t;

    text_init_fixed(&t, storage, sizeof(storage));
    if (log_state.config.format == LOG_JSON) {
        log_add_json(&t, line);
    } else {
        log_add_text(&t, line);
    }
    text_add(&t, "\n");
    CHECK(!t.failed);
    log_state.config.write(t.chars, t.size, log_state.config.user);
}

void log_write(struct log_site *site, const char *subsystem, enum log_level level, const char *fmt,
               ...)
{
    char message[LOG_MESSAGE_BYTES];
    struct log_line line = {.subsystem = subsystem, .level = level, .message = message};
    int saved_errno = errno;
    va_list args;
    int size;

    if (!log_enabled(subsystem, level)) {
        return;
    }
    line.wall_us = log_state.config.wall_us(log_state.config.user);
    if (log_site_admit(site, line.wall_us / 1000000, &line.suppressed)) {
        va_start(args, fmt);
        size = vsnprintf(message, sizeof(message), fmt, args);
        va_end(args);
        if (size >= LOG_MESSAGE_BYTES) {
            log_message_cut(message);
        } else if (size < 0) {
            (void)snprintf(message, sizeof(message), "a message that cannot be formatted");
        }
        log_emit(&line);
    }
    errno = saved_errno;
}
