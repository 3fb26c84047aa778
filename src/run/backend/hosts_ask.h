/* Before a run begins on other machines: all of them are asked at once whether they can be reached,
 * which version is there, and whether what the run needs is there. */

#ifndef RUN_BACKEND_HOSTS_ASK_H
#define RUN_BACKEND_HOSTS_ASK_H

#include "run/backend/hosts.h"

enum { RUN_HOSTS_ASK_S = 30 };

enum run_asked_as {
    RUN_ASKED_GOOD,
    RUN_ASKED_SILENT, /* No answer. */
    RUN_ASKED_OTHER,  /* No version of the wire in common. */
    RUN_ASKED_LACKS,  /* It lacks what the run needs. */
};

struct run_asked {
    enum run_asked_as as;
    char version[32]; /* Of the program there. */
    char why[320];    /* Unless it is good. */
};

struct run_hosts_ask {
    const struct run_hosts *hosts;
    const char *program;
    const char *const *command; /* As in run/live/live.h. */
    const char *dir;            /* A folder for what ssh says. */
    const char *const *paths;   /* That have to be on all of them. */
    uint32_t paths_count;
};

/* Ask all of them; @answers has one for each. ERR_NOMEM, ERR_IO: of this machine. */
MUST_USE enum err run_hosts_ask(const struct run_hosts_ask *ask, struct run_asked *answers);

#endif
