/* The all-knowing witness of an echo cluster: remembers every update that was sent, counted,
 * acknowledged and echoed, and says at once when something cannot be right. It sees what no real
 * node can see, and tells the nodes nothing. */

#ifndef SIM_ECHO_ORACLE_H
#define SIM_ECHO_ORACLE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct sim_oracle;

MUST_USE enum err sim_oracle_create(uint32_t clients, struct sim_oracle **oracle_out);
void sim_oracle_destroy(struct sim_oracle *o);

/* A client sent update @number (from 1, without gaps) of this incarnation (never smaller than
 * before). */
void sim_oracle_sent(struct sim_oracle *o, uint32_t client, uint64_t incarnation, uint64_t number,
                     uint64_t value);

/* The server counted it for good. */
void sim_oracle_counted(struct sim_oracle *o, uint32_t client, uint64_t incarnation,
                        uint64_t number, uint64_t value);

/* A session gave its owner a frame that it had given it before. */
void sim_oracle_delivered_twice(struct sim_oracle *o, uint32_t client, uint64_t incarnation,
                                uint64_t number);

/* A server that restarted found it on its disk: counted from now on, if it was not before. */
void sim_oracle_recovered(struct sim_oracle *o, uint32_t client, uint64_t incarnation,
                          uint64_t number, uint64_t value);

/* The client knows that everything up to @number was counted. */
void sim_oracle_acked(struct sim_oracle *o, uint32_t client, uint64_t incarnation, uint64_t number);

/* The echo reached the client. */
void sim_oracle_echoed(struct sim_oracle *o, uint32_t client, uint64_t incarnation, uint64_t number,
                       uint64_t value);

/* The server lost its memory of echoes that were under way: they may stay out. */
void sim_oracle_excuse_echoes(struct sim_oracle *o);

/* How much of it has been acknowledged so far. */
uint64_t sim_oracle_acked_count(const struct sim_oracle *o, uint32_t client);
uint64_t sim_oracle_counted_count(const struct sim_oracle *o, uint32_t client);
uint64_t sim_oracle_counted_sum(const struct sim_oracle *o, uint32_t client);

/* Echoes of the newest incarnation that are due and neither came nor are excused. */
uint64_t sim_oracle_echoes_missing(const struct sim_oracle *o, uint32_t client);

/* What is wrong, or NULL. */
const char *sim_oracle_broken(const struct sim_oracle *o);

#endif
