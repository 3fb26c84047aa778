/* Files of networks: which form one has. */

#include "topo/graph_read.h"

#include <string.h>

enum err topo_graph_parse(const char *name, const char *bytes, size_t size,
                          struct topo_graph **graph_out, struct err_text *text)
{
    static const char order_mark[] = "\xef\xbb\xbf"; /* Some editors begin UTF-8 with it. */
    size_t start = 0;

    if (size > TOPO_GRAPH_FILE_BYTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%.128s: larger than %d bytes", name,
                            TOPO_GRAPH_FILE_BYTES_MAX);
    }
    if (size >= strlen(order_mark) && memcmp(bytes, order_mark, strlen(order_mark)) == 0) {
        bytes += strlen(order_mark);
        size -= strlen(order_mark);
    }
    while (start < size && strchr(" \t\r\n", bytes[start]) != NULL && bytes[start] != '\0') {
        start++;
    }
    return start < size && bytes[start] == '<'
               ? topo_graph_xml_parse(name, bytes, size, graph_out, text)
               : topo_graph_json_parse(name, bytes, size, graph_out, text);
}
