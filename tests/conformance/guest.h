/* A member made by hand: a raw stream that greets an endpoint with frames of the test's making. */

#ifndef CONFORMANCE_GUEST_H
#define CONFORMANCE_GUEST_H

#include "link.h"
#include "node.h"
#include "wire/hello.h"

/* A frame that the endpoint sent to a raw stream. */
struct conf_answer {
    struct wire_header header;
    const uint8_t *body;
};

/* A hello that the endpoint of @node will take from side a. */
struct wire_hello conf_hello(const struct conf_node *node);

/* Say hello; with @extra, a field of that tag is added to it. */
void conf_guest_say_hello(struct conf_raw *raw, const struct wire_hello *hello, uint16_t extra);

/* Answer a hello as a process of that incarnation would, for a session of @streams. */
void conf_guest_welcome(struct conf_raw *raw, uint64_t incarnation, uint16_t streams);

/* Dial @node and say hello. */
struct conf_raw *conf_guest_dial(struct conf_node *node, const struct wire_hello *hello,
                                 uint16_t extra);

/* Wait for the @index-th frame that came back. */
struct conf_answer conf_guest_answer(struct conf_raw *raw, uint32_t index);

/* Send a frame of @type with that sequence number and flags, and a body of 8 bytes. */
void conf_guest_send(struct conf_raw *raw, enum wire_type type, uint64_t sequence, uint16_t flags);

#endif
