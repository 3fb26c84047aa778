/* Operations between members: requests and answers as JSON in control frames. Not for the data
 * path. docs/PROTOCOL.md lists the fields of each. */

#ifndef NODE_CONTROL_H
#define NODE_CONTROL_H

#include "node/site/site.h"

#include <jansson.h>

struct buf;
struct buf_pool;
struct net_frame;
struct net_peer;

/* Never reuse a value. The answer has NODE_ANSWER added. */
enum node_operation {
    NODE_OP_SITE = 1,   /* Worker or operator to the first lane: what is this site? Gives a rank. */
    NODE_OP_LANE = 2,   /* Lane to the first lane: where I am. */
    NODE_OP_TABLE = 3,  /* Worker to a lane: make or find a table. */
    NODE_OP_JOIN = 4,   /* Worker to a lane: count me in. */
    NODE_OP_LEAVE = 5,  /* Worker to a lane: I am done. */
    NODE_OP_REPORT = 6, /* Worker to the first lane: how well it goes. */
    NODE_OP_STATUS = 7, /* Anybody to a lane: how are you? */
    NODE_OP_SAVE = 8,   /* Worker or operator to a lane: make a checkpoint now. */
    NODE_OP_HANDSHAKE = 9, /* Lane to its peer at another site: configuration and tables. */
    NODE_OP_COPY = 10,     /* The same: send me all that you have. */
    NODE_OP_WORD = 11,     /* The same: what a site sees of its links. */
    NODE_OP_PLAN = 12,     /* The same: who is the centre, and by which ways. */
    NODE_OP_DROP = 13, /* Operator to a lane: forget a table. Worker: take back one that it made. */
    NODE_OP_CHANGES = 14, /* The same: what a site sees of its links has changed. */
};

enum {
    NODE_ANSWER = 0x4000,
    NODE_FIELD_TEXT = 1, /* The field that holds the JSON. */
};

/* Make and send a control frame; the text is the compact JSON of @fields, which stays the
 * caller's. ERR_AGAIN, ERR_TOO_BIG, ERR_NOMEM. */
MUST_USE enum err node_control_send(struct net_peer *peer, struct buf_pool *pool,
                                    uint16_t operation, uint32_t call, const json_t *fields);

/* Answer with an error: code and text. */
MUST_USE enum err node_control_refuse(struct net_peer *peer, struct buf_pool *pool,
                                      uint16_t operation, uint32_t call, enum err rc,
                                      const char *text);

/* Read a control frame. The caller owns *fields_out, an object. ERR_MALFORMED. */
MUST_USE enum err node_control_read(const struct net_frame *frame, uint16_t *operation_out,
                                    uint32_t *call_out, json_t **fields_out);

/* Are the values that the request has of the types that its keys are for? ERR_INVALID with a text
 * that names the first key of which it is not so. Keys that are not known may be anything. */
MUST_USE enum err node_control_check(uint16_t operation, const json_t *fields,
                                     struct err_text *text);

/* Is it that operation? */
bool node_control_is(const struct net_frame *frame, uint16_t operation);

/* The error of an answer, or OK; its text goes to @text. */
enum err node_control_error(const json_t *fields, struct err_text *text);

/* Fields of several operations. */
json_t *node_site_to_json(const struct node_site *site); /* NULL: no memory. */
MUST_USE enum err node_site_from_json(const json_t *fields, struct node_site *out);
json_t *node_schema_to_json(const struct table_schema *schema);
MUST_USE enum err node_schema_from_json(const json_t *fields, struct table_schema *out,
                                        struct err_text *text);

/* A number of 0 to @max, or @fallback if absent; false if it is something else. */
/* What was sparsified, as an object; and back: false if it makes no sense. */
json_t *node_sparsify_totals_to_json(const struct node_sparsify_totals *totals);
bool node_sparsify_totals_from_json(const json_t *fields, struct node_sparsify_totals *out);

/* The same with how it was. */
json_t *node_sparsify_state_to_json(const struct node_sparsify_state *state);
bool node_sparsify_state_from_json(const json_t *fields, struct node_sparsify_state *out);

bool node_json_u64(const json_t *fields, const char *key, uint64_t max, uint64_t fallback,
                   uint64_t *out);

#endif
