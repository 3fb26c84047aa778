#include "run/wan/library.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <strait.h>

struct run_library {
    void *handle;
    strait_significance_fn *function;
};

static void library_measure(const float *values, const float *held, uint32_t count, uint32_t width,
                            float *significance, void *user)
{
    const struct run_library *library = user;

    library->function(values, held, count, width, significance);
}

static enum err library_load(struct run_library *library, const char *path, const char *name,
                             struct err_text *text)
{
    char symbol[64];
    const int *version;

    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL) {
        return err_text_set(text, ERR_NOT_FOUND, "significance '%s': %.300s", name, dlerror());
    }
    version = dlsym(library->handle, "strait_significance_version");
    if (version == NULL || *version != STRAIT_SIGNIFICANCE_VERSION) {
        return err_text_set(text, ERR_INVALID,
                            "significance '%s': %.200s is not made for version %d of significance "
                            "functions: write STRAIT_SIGNIFICANCE_LIBRARY in it once, and build it "
                            "with this Strait's strait.h",
                            name, path, STRAIT_SIGNIFICANCE_VERSION);
    }
    (void)snprintf(symbol, sizeof(symbol), "strait_significance_%s", name);
    *(void **)&library->function = dlsym(library->handle, symbol);
    if (library->function == NULL) {
        return err_text_set(text, ERR_NOT_FOUND,
                            "significance '%s': %.200s has no function %s: write "
                            "STRAIT_SIGNIFICANCE(%s) in it",
                            name, path, symbol, name);
    }
    return OK;
}

enum err run_library_open(const char *path, struct codec_filter *filter,
                          struct run_library **library_out, struct err_text *text)
{
    struct run_library *library = mem_zalloc(sizeof(*library));
    enum err rc = library == NULL ? ERR_NOMEM : library_load(library, path, filter->name, text);

    if (rc != OK) {
        run_library_close(library);
        return rc;
    }
    filter->custom = library_measure;
    filter->user = library;
    *library_out = library;
    return OK;
}

void run_library_close(struct run_library *library)
{
    if (library != NULL && library->handle != NULL) {
        (void)dlclose(library->handle);
    }
    mem_free(library);
}
