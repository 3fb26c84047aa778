/* Fuzz the first line of `strait hold`: what is read well stays in its folder, and printed it is
 * read as the same again. */

#include "run/live/parcel.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run_parcel *p = NULL, *again = NULL;
    struct err_text why = {""};
    enum err rc = run_parcel_parse((const char *)data, size, &p, &why);
    char *line;

    if (rc != OK) {
        CHECK(p == NULL && why.text[0] != '\0');
        return 0;
    }
    CHECK(p->dir[0] == '/' || p->dir[0] == '~');
    CHECK(p->kind != RUN_PARCEL_HOLD || strcmp(p->argv[0], "strait") == 0);
    for (uint32_t i = 0; i < p->files_count; i++) {
        CHECK(strchr(p->files[i].name, '/') == NULL && p->files[i].name[0] != '.');
    }
    line = run_parcel_print(p);
    CHECK(line != NULL);
    CHECK(run_parcel_parse(line, strlen(line), &again, &why) == OK);
    CHECK(again->kind == p->kind && strcmp(again->dir, p->dir) == 0);
    CHECK(again->files_count == p->files_count && again->argv_count == p->argv_count);
    free(line);
    run_parcel_free(again);
    run_parcel_free(p);
    return 0;
}
