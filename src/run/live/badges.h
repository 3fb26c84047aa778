/* Certificates for the members of one run: an authority that lives as long as it takes to issue
 * them. Its key is gone before anything starts; the members' keys are in memory only. What stays
 * in the folder of the run is DIR/ca/ca.crt with its list, and while the run goes on the key of an
 * operator in DIR/operator, so that somebody can look at it (`strait top --cert DIR/operator`). */

#ifndef RUN_LIVE_BADGES_H
#define RUN_LIVE_BADGES_H

#include "run/file/file.h"

struct run_badges;

struct run_badge {
    const char *cert; /* PEM, as the other. */
    const char *key;
};

/* For all servers and workers of @f; @now_s is the time of day. ERR_IO and others of net/pki/pki.h
 * with
 * @text. */
MUST_USE enum err run_badges_create(const struct run_file *f, const char *dir, int64_t now_s,
                                    struct run_badges **out, struct err_text *text);

/* Wiped; the operator's key is removed. NULL is allowed. */
void run_badges_destroy(struct run_badges *b);

/* They live as long as @b. */
const char *run_badges_ca(const struct run_badges *b);
struct run_badge run_badge_server(const struct run_badges *b, uint32_t server);
struct run_badge run_badge_worker(const struct run_badges *b, uint32_t worker);

#endif
