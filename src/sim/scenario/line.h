/* One line of a script being read: its words, and words as values; for sim/scenario*.c only. */

#ifndef SIM_SCENARIO_LINE_H
#define SIM_SCENARIO_LINE_H

#include "sim/scenario/state.h"

enum { SCENARIO_WORDS_MAX = 32 };

struct scenario_line {
    struct sim_scenario *s;
    const char *name;
    uint32_t number;
    struct err_text *text;
    char chars[SIM_SCENARIO_LINE_BYTES];
    char *words[SCENARIO_WORDS_MAX];
    uint32_t words_count;
};

/* ERR_MALFORMED with "name:LINE: ..." */
enum err scenario_fail(struct scenario_line *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* "write: @form" if the line has fewer words. */
enum err scenario_need(struct scenario_line *l, uint32_t words, const char *form);

/* The value of "key=value" if @word is of that key, else NULL. */
const char *scenario_value(const char *word, const char *key);

enum err scenario_time(struct scenario_line *l, const char *word, int64_t *ns_out);
enum err scenario_rate(struct scenario_line *l, const char *word, uint64_t *rate_out);
enum err scenario_percent(struct scenario_line *l, const char *word, uint32_t *ppm_out);
enum err scenario_count(struct scenario_line *l, const char *word, uint64_t least, uint64_t most,
                        uint64_t *count_out);

/* Dollars per gigabyte, up to nine decimals. */
enum err scenario_price(struct scenario_line *l, const char *word, uint64_t *nusd_out);

enum err scenario_region(struct scenario_line *l, const char *word, uint32_t *region_out);
enum err scenario_name(struct scenario_line *l, const char *word, char *out);

/* Name and region of a host, words two and three, into @n; the host of that name must be new. */
enum err scenario_node_begin(struct scenario_line *l, struct scenario_node *n);
void scenario_node_add(struct sim_scenario *s, const struct scenario_node *n);
const struct scenario_node *scenario_find(const struct sim_scenario *s, const char *name);

/* scenario/site.c: statements of sites. */

enum err scenario_do_site(struct scenario_line *l);
enum err scenario_do_worker(struct scenario_line *l);
enum err scenario_do_expect(struct scenario_line *l);
enum err scenario_server_option(struct scenario_line *l, const char *word, struct scenario_node *n);

/* All lines are read: does the site go together, and with the rest of the script? */
enum err scenario_check_site(struct scenario_line *l);

#endif
