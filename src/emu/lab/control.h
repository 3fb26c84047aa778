/* The way to a lab that runs in the background: a socket in a folder. Who connects says one line
 * (emu/lab/command.h), gets one line of JSON, and is done. */

#ifndef EMU_LAB_CONTROL_H
#define EMU_LAB_CONTROL_H

#include "emu/lab/lab.h"

struct lab_control;

/* Answer at @path, which must be free, for @lab. ERR_IO with @text, ERR_NOMEM. */
MUST_USE enum err lab_control_create(struct loop *loop, struct lab *lab, const char *path,
                                     struct lab_control **control_out, struct err_text *text);

/* Before the lab is destroyed lab_control_stop(), afterwards this. NULL is allowed. */
void lab_control_destroy(struct lab_control *control);

/* Take no more commands. What was taken is still answered. */
void lab_control_stop(struct lab_control *control);

/* Say @line at @path and wait for the answer, for at most @wait_s seconds. ERR_UNREACHABLE: nobody
 * is there; ERR_IO, ERR_TIMEOUT, ERR_MALFORMED; all with @text. */
MUST_USE enum err lab_control_ask(const char *path, const char *line, int wait_s,
                                  json_t **answer_out, struct err_text *text);

#endif
