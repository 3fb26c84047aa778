/* Log: levels, a filter per subsystem, text or JSON lines, repeats limited.
 *
 * The library never prints: without a sink nothing is written. The clock is injected, because base
 * knows none. Setting up (log_setup) happens once, before threads start; writing is thread-safe and
 * each line reaches the sink in one call. No secrets go into a log.
 *
 *     2026-11-15T08:01:02.345Z INFO  net[eu/worker-1@17]: up (12 similar lines suppressed)
 *
 * A line is one line: control characters are escaped, and a message above 1 KiB ends in an
 * ellipsis. The filter is `level[,subsystem=level]...`, the last word about a subsystem counts. */

#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_OFF, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };

enum log_format { LOG_TEXT, LOG_JSON };

enum { LOG_ORIGINS_MAX = 4 };

struct log_config {
    enum log_format format;
    const char *filter;             /* "info,net=debug,sim=trace"; NULL: "warn". */
    bool color;                     /* Text only. */
    uint32_t repeats_per_s;         /* Same call site and second; 0: no limit. */
    int64_t (*wall_us)(void *user); /* UTC, microseconds since 1970. */
    void (*write)(const char *line, size_t size, void *user); /* @line ends in a newline. */
    void *user;
};

/* Begin logging. The configuration is copied. ERR_INVALID with @text if the filter is malformed:
 * the log is then unchanged. */
MUST_USE enum err log_setup(const struct log_config *config, struct err_text *text);

/* Who writes, on each line from now on; NULL: not known. Copied; at most LIMIT_NAME_BYTES each. Not
 * before log_setup(), which forgets it, and by one thread only, but others may be writing: a worker
 * learns its site and rank when it meets the site. At most LOG_ORIGINS_MAX times. */
void log_set_origin(const char *site, const char *member);

/* Forget the sink: nothing is written from now on. */
void log_teardown(void);

/* The clock that log lines of this thread carry from now on; negative: none. */
void log_set_clock(int64_t clock);

/* True if a line of that level and subsystem would be written. */
bool log_enabled(const char *subsystem, enum log_level level);

/* One per call site; zero-initialised. Counts repeats. */
struct log_site {
    int64_t second;
    uint32_t count;
    uint32_t suppressed;
};

void log_write(struct log_site *site, const char *subsystem, enum log_level level, const char *fmt,
               ...) PRINTF_LIKE(4, 5);

/* The subsystem is a string literal, usually the module's name. */
#define LOG_AT(subsystem, level, ...)                                                              \
    do {                                                                                           \
        static _Thread_local struct log_site log_site_here;                                        \
        if (log_enabled((subsystem), (level))) {                                                   \
            log_write(&log_site_here, (subsystem), (level), __VA_ARGS__);                          \
        }                                                                                          \
    } while (0)

#define LOG_ERR(subsystem, ...) LOG_AT(subsystem, LOG_ERROR, __VA_ARGS__)
#define LOG_WRN(subsystem, ...) LOG_AT(subsystem, LOG_WARN, __VA_ARGS__)
#define LOG_INF(subsystem, ...) LOG_AT(subsystem, LOG_INFO, __VA_ARGS__)
#define LOG_DBG(subsystem, ...) LOG_AT(subsystem, LOG_DEBUG, __VA_ARGS__)
#define LOG_TRC(subsystem, ...) LOG_AT(subsystem, LOG_TRACE, __VA_ARGS__)

#endif
