/* Other people's traffic in a simulated run: what run/background.h draws, as flows of the world. */

#ifndef RUN_SIM_BACKGROUND_H
#define RUN_SIM_BACKGROUND_H

#include "run/background.h"
#include "sim/world.h"

struct run_sim_background;

/* It is on, with so many flows (fewer than it should have if the world is full); or off, @flows is
 * zero, after so many bytes, as they were counted. */
typedef void run_sim_background_told(const struct run_background *b, uint32_t flows, uint64_t bytes,
                                     void *user);

/* The world has a host for each member, and nothing has happened in it. ERR_NOMEM. */
MUST_USE enum err run_sim_background_create(struct sim_world *w, const struct run_file *f,
                                            run_sim_background_told *told, void *user,
                                            struct run_sim_background **out);

/* Before the world. NULL is allowed. */
void run_sim_background_destroy(struct run_sim_background *s);

/* Bytes that all of it has sent so far, as they were counted. */
uint64_t run_sim_background_bytes(const struct run_sim_background *s);

#endif
