#include "client/data.h"

#include "table/kernel.h"

#include <inttypes.h>
#include <math.h>

/* Elements that are looked at in one go. */
enum { DATA_BLOCK = 1 << 20 };

int client_data_refuse(struct client_call *call, int code)
{
    client_unpin(call);
    return code;
}

int client_data_pin(const void *handle, int table, struct client_call *call,
                    const struct client_shape **shape_out)
{
    int code = client_pin(handle, CLIENT_HANDLE_KIND_WORKER, call);

    if (code != STRAIT_OK) {
        return code;
    }
    *shape_out = client_shape(call, table, &code);
    return *shape_out == NULL ? client_data_refuse(call, code) : STRAIT_OK;
}

static int data_array(const void *handle, uint64_t count, const void *array)
{
    return count == 0 || array != NULL
               ? STRAIT_OK
               : client_error(handle, STRAIT_E_INVALID, "the array of floats is NULL");
}

int client_data_range(const void *handle, const struct client_shape *shape, uint64_t first,
                      uint64_t count, const void *array)
{
    if (first > shape->elements || count > shape->elements - first) {
        return client_error(handle, STRAIT_E_INVALID,
                            "elements %" PRIu64 " and %" PRIu64 " more are beyond the end of the "
                            "table, which has %" PRIu64,
                            first, count, shape->elements);
    }
    return data_array(handle, count, array);
}

int client_data_rows(const void *handle, const struct client_shape *shape, const void *rows,
                     uint64_t count, const void *array)
{
    if (!shape->rows_named) {
        return client_error(handle, STRAIT_E_INVALID,
                            "rows of %" PRIu32 " elements cannot be named by number: use ranges of "
                            "elements",
                            shape->width);
    }
    if (count > 0 && rows == NULL) {
        return client_error(handle, STRAIT_E_INVALID, "the array of rows is NULL");
    }
    return data_array(handle, count, array);
}

int client_data_finite(const void *handle, const float *values, uint64_t count)
{
    for (uint64_t at = 0; at < count; at += DATA_BLOCK) {
        uint32_t some = (uint32_t)(count - at < DATA_BLOCK ? count - at : DATA_BLOCK);

        if (!table_finite(values + at, some)) {
            while (isfinite(values[at])) {
                at++;
            }
            return client_error(handle, STRAIT_E_INVALID, "element %" PRIu64 " of the update is %s",
                                at, isnan(values[at]) ? "not a number (NaN)" : "infinite");
        }
    }
    return STRAIT_OK;
}
