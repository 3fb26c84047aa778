/* Handles as the application has them: numbers in the shape of pointers, looked up in a table that
 * is always there. So a handle that was closed, or is of another kind, is recognised and not
 * followed.
 *
 *     | kind: 8 | place: 8 | index: 16 | generation: 32 |
 *
 * A call pins the place of its handle for as long as it uses what is there; who closes waits until
 * nobody else does. No lock: a place is one atomic word and a pointer. */

#ifndef CLIENT_HANDLE_H
#define CLIENT_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

struct client;

enum {
    CLIENT_HANDLE_PLACES = 256,         /* Open at once in one process. */
    CLIENT_HANDLE_INDEX_MAX = 0xffff,   /* Of operations. */
    CLIENT_HANDLE_KIND_WORKER = 0x53,   /* No address of a program looks like these. */
    CLIENT_HANDLE_KIND_OPERATION = 0x4f /* The place is that of its worker. */
};

/* A handle, taken apart. */
struct client_handle {
    uint8_t kind;
    uint8_t place;
    uint16_t index;
    uint32_t generation;
};

struct client_handle client_handle_unpack(const void *pointer);
void *client_handle_pack(struct client_handle handle);

enum client_handle_state {
    CLIENT_HANDLE_OPEN,
    CLIENT_HANDLE_UNKNOWN, /* Never given out, or closed. */
    CLIENT_HANDLE_FORKED,  /* The parent's. */
    CLIENT_HANDLE_CLOSING, /* Being closed. */
};

/* Give @client a place. False: all are taken. */
bool client_handle_open(struct client *client, struct client_handle *handle_out);

/* Pin the place of a worker or of an operation (whose own generation is the caller's business). On
 * CLIENT_HANDLE_OPEN *@client_out stays until client_handle_unpin(). */
enum client_handle_state client_handle_pin(struct client_handle handle, struct client **client_out);

/* True if it was the last but that of the one who closes. Not to be followed by a look at what was
 * pinned, unless the caller knows otherwise that it stays. */
bool client_handle_unpin(uint8_t place);

/* From now on nobody can pin it. The caller has, and nobody closes it twice. True if no one else
 * has. */
bool client_handle_close(uint8_t place);

/* Free the place of what was closed. */
void client_handle_release(uint8_t place);

/* In the child of a fork: free the parent's place. Returns what was there, or NULL if another
 * thread did so before. */
struct client *client_handle_disown(struct client_handle handle);

/* How often the waits of a place were interrupted. */
uint32_t client_handle_interrupts(uint8_t place);

/* Interrupt the waits of a worker; a zeroed handle: of all. Async-signal-safe. */
void client_handle_interrupt(struct client_handle handle);

#endif
