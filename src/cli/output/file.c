#include "cli/output/file.h"

#include "run/record/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_PIECE_BYTES = 16 * 1024, FILE_PATH_BYTES = 4096 };

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

static enum err file_write_straight(const char *path, const char *chars, size_t size,
                                    struct err_text *text)
{
    FILE *f = fopen(path, "we");
    bool good = f != NULL && fwrite(chars, 1, size, f) == size;

    good = f != NULL && fclose(f) == 0 && good;
    return good ? OK : err_text_set(text, ERR_IO, "%s: %s", path, strerror(errno));
}

enum err cli_file_write(const char *path, const char *chars, size_t size, struct err_text *text)
{
    const char *slash = strrchr(path, '/');
    char dir[FILE_PATH_BYTES];
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        return file_write_straight(path, chars, size, text);
    }
    if (slash == NULL) {
        return run_folder_put(".", path, chars, size, text);
    }
    if ((size_t)(slash - path) + 2 > sizeof(dir)) {
        return err_text_set(text, ERR_INVALID, "the path of the file is too long");
    }
    (void)snprintf(dir, sizeof(dir), "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return run_folder_put(dir, slash + 1, chars, size, text);
}
