/* What a running lab is told, one command a line:
 *
 *     set A B [there] rate=50mbit delay=20ms jitter=1ms loss=1%    what is named changes
 *     cut A B [there]          nothing passes any more
 *     heal A B [there]         ... and passes again
 *     show                     everything
 *     reset                    lateness and counts begin anew
 *     quit                     the end
 *
 * Both ways unless "there" says: only from A to B ("both" may be said too). Pure. */

#ifndef EMU_LAB_COMMAND_H
#define EMU_LAB_COMMAND_H

#include "topo/topo.h"

enum { LAB_COMMAND_BYTES_MAX = 1024 };

enum lab_command_kind {
    LAB_SET,
    LAB_CUT,
    LAB_HEAL,
    LAB_SHOW,
    LAB_RESET,
    LAB_QUIT,
};

/* Which figures a command sets. */
enum { LAB_RATE = 1, LAB_DELAY = 2, LAB_JITTER = 4, LAB_LOSS = 8 };

struct lab_command {
    enum lab_command_kind kind;
    char from[TOPO_NAME_BYTES]; /* Of set, cut and heal; the regions may not be there. */
    char to[TOPO_NAME_BYTES];
    bool both;
    uint32_t given; /* Of set: not zero. */
    uint64_t bytes_per_s;
    int64_t delay_ns;
    int64_t jitter_ns;
    uint32_t loss_ppm;
};

/* Read a line of @size characters, without its end. ERR_MALFORMED with @text: what is wrong, and
 * what is allowed. */
MUST_USE enum err lab_command_parse(const char *line, size_t size, struct lab_command *command_out,
                                    struct err_text *text);

/* Add the line that is read as the same command. */
void lab_command_print(const struct lab_command *command, struct text *out);

#endif
