/* Options of a job: key and value as text, read once, every key known. And what follows from the
 * configuration in the same way for several jobs: the seed of a table, a worker's part. */

#ifndef APP_OPTION_H
#define APP_OPTION_H

#include "app/app.h"

/* Read one option or take the default. ERR_INVALID with a text that says which option, what is
 * wrong and what is allowed. */
MUST_USE enum err app_option_u32(const struct app_config *c, const char *key, uint32_t fallback,
                                 uint32_t min, uint32_t max, uint32_t *out, struct err_text *text);
MUST_USE enum err app_option_double(const struct app_config *c, const char *key, double fallback,
                                    double min, double max, double *out, struct err_text *text);
const char *app_option_text(const struct app_config *c, const char *key, const char *fallback);

/* Every option must be one of @keys (NULL at the end), or one that every job has; the text suggests
 * the nearest. */
MUST_USE enum err app_option_check(const struct app_config *c, const char *const *keys,
                                   struct err_text *text);

/* None of @keys (NULL at the end) may be given if the data come from a file: they say what to
 * generate. ERR_INVALID. */
MUST_USE enum err app_option_generated(const struct app_config *c, const char *const *keys,
                                       struct err_text *text);

/* The file or folder that was named, or NULL: generate. */
const char *app_option_data(const struct app_config *c);

/* Add " seed=@seed" to table->init. Not if it is zero, which table/init.h does not take: the table
 * then starts by its name, the same on all machines too. */
void app_table_seed(struct app_table *table, uint64_t seed);

/* This worker's part [first, end) of @count things; parts differ by at most one. */
void app_part(uint64_t count, uint32_t rank, uint32_t workers, uint64_t *first, uint64_t *end);

#endif
