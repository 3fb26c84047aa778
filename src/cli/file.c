#include "cli/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FILE_PIECE_BYTES = 16 * 1024 };

static enum err file_read_all(FILE *file, const char *path, struct text *out, struct err_text *text)
{
    char piece[FILE_PIECE_BYTES];
    size_t n;

    while (!out->failed && (n = fread(piece, 1, sizeof(piece), file)) > 0) {
        text_add_bytes(out, piece, n);
    }
    if (ferror(file)) {
        return err_text_set(text, ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (out->failed) {
        return err_text_set(text, ERR_TOO_BIG, "%s: larger than %zu bytes", path, out->limit);
    }
    return OK;
}

enum err cli_file_read(const char *path, size_t bytes_max, struct text *out, struct err_text *text)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    enum err rc;

    if (file == NULL) {
        return err_text_set(text, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                            strerror(errno));
    }
    rc = text_init(out, bytes_max);
    if (rc == OK) {
        rc = file_read_all(file, path, out, text);
        if (rc != OK) {
            text_deinit(out);
        }
    }
    if (!standard) {
        (void)fclose(file);
    }
    return rc;
}
