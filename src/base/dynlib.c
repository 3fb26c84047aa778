#include "base/dynlib.h"

#include <dlfcn.h>
#include <string.h>

enum err dynlib_load(const char *soname, const char *purpose, const char *package,
                     const struct dynlib_function *functions, size_t count, struct err_text *text)
{
    void *handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL) {
        return err_text_set(text, ERR_IO,
                            "%s needs a library that cannot be loaded: %.300s; install %s", purpose,
                            dlerror(), package);
    }
    for (size_t i = 0; i < count; i++) {
        if (dlsym(handle, functions[i].name) == NULL) {
            (void)dlclose(handle);
            return err_text_set(text, ERR_IO,
                                "%s needs the function %s, which %s does not have; install another "
                                "version of %s",
                                purpose, functions[i].name, soname, package);
        }
    }
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(handle, functions[i].name);

        memcpy(functions[i].pointer, &function, sizeof(function));
    }
    return OK;
}
