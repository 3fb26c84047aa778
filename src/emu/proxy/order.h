/* What one can tell a link while it works, a line of words each: how it is shaped, and what goes
 * wrong on it. Only the words are read here; emu/proxy/proxy.h does it.
 *
 *     rate RATE          delay TIME         jitter TIME
 *     cut                stall              drain RATE|off
 *     flip COUNT         flip every SIZE    flip off
 *     fragments on|off   reset              refuse
 *     heal               show               quit
 *
 * Behind the first three rows and `fragments` may stand `there` or `back`: only that direction.
 * Behind all faults may stand `for TIME`: then it ends by itself. */

#ifndef EMU_PROXY_ORDER_H
#define EMU_PROXY_ORDER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum emu_fault {
    EMU_FAULT_RATE,
    EMU_FAULT_DELAY,
    EMU_FAULT_JITTER,
    EMU_FAULT_CUT,       /* Nothing moves, in one direction or both. */
    EMU_FAULT_STALL,     /* Nothing more is sent; what is on the way arrives. */
    EMU_FAULT_DRAIN,     /* Receivers take little by little. */
    EMU_FAULT_FLIP,      /* A bit of a piece is flipped on the way. */
    EMU_FAULT_FRAGMENTS, /* Receivers get single bytes. */
    EMU_FAULT_RESET,     /* Connections are reset in the middle of what they carry. */
    EMU_FAULT_REFUSE,    /* New connections are reset. */
    EMU_FAULTS,
};

enum emu_verb { EMU_VERB_NONE, EMU_VERB_FAULT, EMU_VERB_HEAL, EMU_VERB_SHOW, EMU_VERB_QUIT };

enum { EMU_THERE = 0, EMU_BACK = 1, EMU_WAYS = 2 };

enum { EMU_ORDER_BYTES_MAX = 256 }; /* A longer line is refused. */

struct emu_order {
    enum emu_verb verb; /* NONE: an empty line, or a comment that starts with #. */
    enum emu_fault fault;
    uint32_t ways;   /* Bits 1 << EMU_THERE, 1 << EMU_BACK: at least one. */
    uint64_t amount; /* Bytes per second, nanoseconds, pieces or bytes; zero: off. */
    bool every;      /* Flip: .amount is bytes. */
    int64_t for_ns;  /* Zero: until it is healed. */
};

/* "rate", "cut": as in a line. */
const char *emu_fault_name(enum emu_fault fault);

/* "there", "back". */
const char *emu_way_name(uint32_t way);

/* Read a line of @size bytes, without its end. ERR_MALFORMED with @text: what is wrong with it and
 * how it should look. */
MUST_USE enum err emu_order_parse(const char *line, size_t size, struct emu_order *out,
                                  struct err_text *text);

#endif
