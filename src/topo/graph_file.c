/* Files of networks: which form one has. */

#include "topo/graph_read.h"

#include <string.h>

enum err topo_graph_parse(const char *name, const char *bytes, size_t size,
                          struct topo_graph **graph_out, struct err_text *text)
{
    static const char order_mark[] = "\xef\xbb\xbf"; /* Some editors begin UTF-8 with it. */

    if (size > TOPO_GRAPH_FILE_BYTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%.128s: larger than %d bytes", name,
                            TOPO_GRAPH_FILE_BYTES_MAX);
    }
    if (size >= strlen(order_mark) && memcmp(bytes, order_mark, strlen(order_mark)) == 0) {
        bytes += strlen(order_mark);
        size -= strlen(order_mark);
    }
    return topo_graph_json_parse(name, bytes, size, graph_out, text);
}
