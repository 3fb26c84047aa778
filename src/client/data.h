/* What calls about a table's elements have in common: judging what the application passed. */

#ifndef CLIENT_DATA_H
#define CLIENT_DATA_H

#include "client/client.h"

/* Pin and find the table. The call is unpinned on failure. */
int client_data_pin(const void *handle, int table, struct client_call *call,
                    const struct client_shape **shape_out);

/* STRAIT_OK if the range is in the table and the array is there; else a code with its sentence. */
int client_data_range(const void *handle, const struct client_shape *shape, uint64_t first,
                      uint64_t count, const void *array);

/* The same for rows by number; which ones is judged by client_rows_init(). */
int client_data_rows(const void *handle, const struct client_shape *shape, const void *rows,
                     uint64_t count, const void *array);

/* STRAIT_OK if there is no NaN and no infinity. */
int client_data_finite(const void *handle, const float *values, uint64_t count);

/* Unpin and return @code. */
int client_data_refuse(struct client_call *call, int code);

#endif
