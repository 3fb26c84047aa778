/* Where in a JSON text something is. The parser keeps no places, so they are looked up by path when
 * a complaint needs one. */

#ifndef TOPO_LOCATE_H
#define TOPO_LOCATE_H

#include <stddef.h>
#include <stdint.h>

/* Both count from one; columns are characters, not bytes. */
struct topo_place {
    uint32_t line;
    uint32_t column;
};

/* Find the value at @path, such as "links[3].rate"; empty: the whole. If @key is not NULL, find
 * that key of the object there. What is not found has the place of the last part that is. The text
 * should be JSON that was parsed well; for any other bytes the answer is some place in it. */
struct topo_place topo_locate(const char *json, size_t size, const char *path, const char *key);

#endif
