/* What a worker is to do: the job, its data and options, and for how long. A site's servers may
 * hold it for their workers (struct node_site.job), so that a worker needs only an address. As text
 * it is JSON:
 *
 *     {"job":"mf","data":"ratings.csv","seed":"7","workers":4,"clocks":100,"evaluate":10,
 *      "options":{"rank":"16"}}
 */

#ifndef RUN_TRAINER_WORK_H
#define RUN_TRAINER_WORK_H

#include "app/app.h"
#include "node/site/site.h"

enum { RUN_WORK_PATH_BYTES = 1024 };

/* Not to be copied: .options points into it. */
struct run_work {
    char job[APP_NAME_BYTES];       /* Empty: not said. */
    char data[RUN_WORK_PATH_BYTES]; /* Empty: generated. */
    uint64_t seed;
    uint32_t workers; /* Parts that the data are cut into; zero: as many as the site waits for. */
    uint64_t clocks;  /* The last to compute; zero: until the site says that it is over. */
    uint32_t evaluate_every; /* Clocks; zero: never. */
    uint32_t options_count;
    struct app_option options[APP_OPTIONS_MAX];
    char chars[NODE_JOB_BYTES]; /* Keys and values of the options. */
    size_t chars_used;
};

/* No job, seed 1, evaluated every 10 clocks. */
void run_work_init(struct run_work *w);

/* ERR_INVALID, ERR_TOO_BIG with @text. */
MUST_USE enum err run_work_set_job(struct run_work *w, const char *job, struct err_text *text);
MUST_USE enum err run_work_set_data(struct run_work *w, const char *data, struct err_text *text);

/* Set an option; the last value of a key counts. @size bytes of @key. */
MUST_USE enum err run_work_set_option(struct run_work *w, const char *key, size_t size,
                                      const char *value, struct err_text *text);

/* Read the text. Unknown keys are errors, so that a worker does not leave out what matters.
 * ERR_MALFORMED, ERR_TOO_BIG with @text. */
MUST_USE enum err run_work_parse(const char *chars, struct run_work *out, struct err_text *text);

/* ERR_TOO_BIG: it does not fit; ERR_NOMEM. */
MUST_USE enum err run_work_print(const struct run_work *w, char out[NODE_JOB_BYTES]);

/* The configuration of the job for one worker; borrows from @w. */
struct app_config run_work_app(const struct run_work *w, uint32_t rank, uint32_t workers);

#endif
