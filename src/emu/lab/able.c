/* Whether this machine can have a lab, by having a small one for a moment. In a child: a process
 * that visits namespaces must have one thread only. */

#include "emu/lab/lab.h"

#include "base/mem.h"
#include "emu/lab/net.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One region with one host. The answer is the error, and its words. */
_Noreturn static void able_try(int answer)
{
    struct lab_plan *plan = mem_zalloc(sizeof(*plan));
    struct lab_net net = {.plan = NULL};
    struct err_text text = {""};
    int8_t said = ERR_NOMEM;

    if (plan != NULL) {
        plan->regions = 1;
        plan->mtu = LAB_MTU;
        plan->hosts[0] = 1;
        plan->names[0][0] = 'a';
        said = (int8_t)lab_net_create(plan, &net, &text);
        if (said == OK) {
            lab_net_destroy(&net);
        }
    }
    mem_free(plan);
    _exit(write(answer, &said, 1) == 1 &&
                  write(answer, text.text, strlen(text.text)) == (ssize_t)strlen(text.text)
              ? 0
              : 1);
}

static enum err able_ask(int answers[2], struct err_text *text)
{
    char words[1 + ERR_TEXT_BYTES] = {0};
    size_t size = 0;
    ssize_t n = 0;
    pid_t child = fork();
    int why = errno;

    if (child == 0) {
        able_try(answers[1]);
    }
    (void)close(answers[1]);
    if (child > 0) {
        while (size < sizeof(words) - 1 &&
               (n = read(answers[0], words + size, sizeof(words) - 1 - size)) != 0) {
            if (n < 0 && errno != EINTR) {
                break;
            }
            size += n > 0 ? (size_t)n : 0;
        }
        (void)waitpid(child, NULL, 0);
    }
    (void)close(answers[0]);
    if (size == 0) {
        return err_text_set(text, ERR_IO, "a lab cannot be tried: %s",
                            child < 0 ? strerror(why) : "the process that tried it ended");
    }
    if (words[0] == OK) {
        return OK;
    }
    return err_text_set(text, (enum err)(int8_t)words[0], "%s",
                        words[1] != '\0' ? words + 1 : err_string((enum err)(int8_t)words[0]));
}

enum err lab_able(struct err_text *text)
{
    int answers[2];

    if (pipe2(answers, O_CLOEXEC) != 0) {
        return err_text_set(text, ERR_IO, "a lab cannot be tried: %s", strerror(errno));
    }
    return able_ask(answers, text);
}
