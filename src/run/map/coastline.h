/* Coastlines of the world, as coarse as small maps need them. */

#ifndef RUN_MAP_COASTLINE_H
#define RUN_MAP_COASTLINE_H

#include <stdint.h>

/* In tenths of degrees; east and north are above zero. */
struct run_land_point {
    int16_t longitude;
    int16_t latitude;
};

/* Ring i is run_land_points[] up to run_land_ends[i] from where the one before it ends (the first
 * from zero), closed by its first point. Rings have no jumps: those that cross the meridian of 180
 * degrees go on beyond it. A ring inside of another one is water. */
extern const struct run_land_point run_land_points[];
extern const uint16_t run_land_ends[];
extern const uint32_t run_land_count;

#endif
