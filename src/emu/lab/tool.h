/* Running ip, tc and nft in a network namespace with a batch on their standard input. Their
 * complaints are told with the line of the batch that they are about. */

#ifndef EMU_LAB_TOOL_H
#define EMU_LAB_TOOL_H

#include "base/err.h"
#include "base/text.h"

#include <stdint.h>
#include <sys/types.h>

/* Which one, and how it is called to read a batch. */
enum lab_tool_name { LAB_IP, LAB_TC, LAB_NFT };

struct lab_tool_config {
    enum lab_tool_name name;
    int ns;            /* Descriptor of the namespace. */
    const char *batch; /* Read when it is started. */
    const int *keep;   /* Descriptors that the tool shall have too. */
    uint32_t keep_count;
};

/* A running tool. All fields are private. */
struct lab_tool {
    enum lab_tool_name name;
    pid_t pid;
    int pid_fd;
    int output;
};

/* Start it. ERR_IO with @text. Its end is seen by lab_tool_fd() becoming readable. */
MUST_USE enum err lab_tool_start(const struct lab_tool_config *config, struct lab_tool *tool_out,
                                 struct err_text *text);

int lab_tool_fd(const struct lab_tool *tool);

/* Wait for its end and release it. ERR_NOT_FOUND: not installed; ERR_IO: it failed. @batch is what
 * it was given. */
MUST_USE enum err lab_tool_end(struct lab_tool *tool, const char *batch, struct err_text *text);

/* Both at once. An empty batch is done without the tool. */
MUST_USE enum err lab_tool_run(const struct lab_tool_config *config, struct err_text *text);

/* What a tool means that has failed with this @output: the first complaint, and the line of the
 * batch. Pure. */
void lab_tool_complaint(enum lab_tool_name name, const char *batch, const char *output,
                        struct text *out);

#endif
