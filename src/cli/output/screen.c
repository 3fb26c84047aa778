#include "cli/output/screen.h"

#include "base/text.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { SCREEN_BYTES_MAX = 64 * 1024 };

int screen_width(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col - 1
                                                                            : CLI_WIDTH - 1;
}

void screen_clear(struct screen *s)
{
    if (s->lines > 0) {
        (void)fprintf(s->ctx->err, "\r\033[%dA\033[J", s->lines);
        (void)fflush(s->ctx->err);
        s->lines = 0;
    }
}

/* In one piece, so that it does not flicker. */
void screen_draw(struct screen *s, const char *lines)
{
    struct text out;
    int count = 0;

    if (text_init(&out, SCREEN_BYTES_MAX) != OK) {
        return;
    }
    if (s->lines > 0) {
        text_addf(&out, "\r\033[%dA", s->lines);
    }
    for (const char *at = lines; *at != '\0'; count++) {
        size_t size = strcspn(at, "\n");

        text_add_bytes(&out, at, size);
        text_add(&out, "\033[K\n");
        at += size + (at[size] == '\n');
    }
    text_add(&out, "\033[J");
    if (!out.failed) {
        (void)fwrite(out.chars, 1, out.size, s->ctx->err);
        (void)fflush(s->ctx->err);
        s->lines = count;
    }
    text_deinit(&out);
}
