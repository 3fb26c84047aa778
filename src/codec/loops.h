/* The loops over floats, compiled once for each kind of processor, and the functions of this module
 * with the kind as a parameter, for its tests and the benchmark. Others use codec/sparse.h and
 * codec/filter.h, which take the widest that the processor has. Each gives the same bits. */

#ifndef CODEC_LOOPS_H
#define CODEC_LOOPS_H

#include "codec/filter.h"
#include "codec/sparse.h"

/* Floats on their way out. They start behind room for a bitmap, which is where they stay if it
 * becomes one. When the end of the room comes near they move to the front (.base is zero then), so
 * that vectors may be stored whole without leaving it; so many are hardly ever sent as a bitmap. */
struct codec_out {
    float *floats;
    uint32_t elements; /* Floats that there is room for, and elements of the chunk. */
    uint32_t base;     /* Where the first float is. */
    uint32_t count;
};

/* How values are written. */
enum codec_values { CODEC_VALUES_F32, CODEC_VALUES_F16, CODEC_VALUES_I8, CODEC_VALUES };

struct codec_loops {
    const char *name;
    /* Of @count floats, or halves, at any address. */
    bool (*finite)(const uint8_t *floats, uint32_t count);
    bool (*finite_halves)(const uint8_t *halves, uint32_t count);
    /* How many bits are set in @words 64-bit words at any address. */
    uint32_t (*bits)(const uint8_t *bitmap, uint32_t words);
    /* Of @size bytes that are distances (CODEC_GAPS): their sum, and how many name no element. */
    uint32_t (*gaps)(const uint8_t *gaps, uint32_t size, uint32_t *skips);
    /* values += a payload's, of all elements (no bytes) or of those in the index part; returns how
     * many kept their value because the sum would not have been finite. */
    uint32_t (*add[CODEC_VALUES])(float *values, const uint8_t *from, uint32_t elements);
    uint32_t (*add_bitmap[CODEC_VALUES])(float *values, const uint8_t *bitmap, const uint8_t *from,
                                         uint32_t elements);
    uint32_t (*add_list[CODEC_VALUES])(float *values, const uint8_t *list, const uint8_t *from,
                                       uint32_t count);
    uint32_t (*add_gaps[CODEC_VALUES])(float *values, const uint8_t *gaps, uint32_t size,
                                       const uint8_t *from);
    /* Floats as halves, rounded to nearest even, and what is missing then. Returns the bits of the
     * largest of these, without sign: those of infinity if a float is too large. */
    uint32_t (*halve)(const float *floats, uint32_t count, uint16_t *halves, float *errors);
    /* Can each float be a byte: is it a whole number from -127 to 127, and not -0.0? Looks no
     * further than a word beyond the first that cannot. */
    bool (*whole)(const float *floats, uint32_t count);
    /* Floats that can become bytes, at the start of where they are. */
    void (*narrow)(float *floats, uint32_t count);
    /* Is none of the bytes -128? */
    bool (*whole_bytes)(const uint8_t *bytes, uint32_t count);
    /* The numbers of the bits that are set, ascending; up to CODEC_LIST_SPILL more are written.
     * Returns how many there are. */
    uint32_t (*list)(const uint64_t *bitmap, uint32_t words, uint16_t *out);
    /* Append the elements of @from that the bitmap names. take() also makes them zero there. */
    void (*gather)(const float *from, const uint64_t *bitmap, struct codec_out *out);
    void (*take)(float *from, const uint64_t *bitmap, struct codec_out *out);
    /* Fill the bitmap with what is significant. */
    void (*mark_relative)(const float *values, const float *held, uint32_t elements,
                          float threshold, uint64_t *bitmap);
    void (*mark_absolute)(const float *held, uint32_t elements, float threshold, uint64_t *bitmap);
    void (*mark_product)(const struct codec_chunk *chunk, float threshold, uint64_t *bitmap);
    void (*mark_measured)(const float *significance, const float *held, uint32_t elements,
                          float threshold, uint64_t *bitmap);
    /* mark_ and take() in one pass. */
    void (*select_relative)(const float *values, float *held, float threshold, uint64_t *bitmap,
                            struct codec_out *out);
    void (*select_absolute)(float *held, float threshold, uint64_t *bitmap, struct codec_out *out);
    /* Is sum(held^2) > threshold^2 * sum(values^2)? In double, where squares of floats are exact.
     * So that a processor can do many at once, a sum is made of eight, of every eighth element in
     * order, which are added up as ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). */
    bool (*row_above)(const float *values, const float *held, uint32_t count, float threshold);
    /* The sum of the squares of those that are not above @limit in magnitude, made in that order.
     */
    double (*squares)(const float *x, uint32_t count, float limit);
};

enum { CODEC_LOOPS_MAX = 3, CODEC_LIST_SPILL = 7 };

/* The @index-th kind, from the plainest on, below CODEC_LOOPS_MAX; NULL if this processor or this
 * build has none. */
const struct codec_loops *codec_loops_at(uint32_t index);

/* The widest. */
const struct codec_loops *codec_loops_best(void);

bool codec_payload_valid_by(const struct codec_loops *loops, uint32_t codec, const void *bytes,
                            size_t size, uint32_t elements);
/* As far as lengths, elements and unused bytes go; floats and halves may be anything. */
bool codec_payload_shaped_by(const struct codec_loops *loops, uint32_t codec, const void *bytes,
                             size_t size, uint32_t elements);
uint32_t codec_add_by(const struct codec_loops *loops, uint32_t codec, const void *payload,
                      uint32_t elements, float *values);
void codec_pack_by(const struct codec_loops *loops, uint32_t elements, const uint64_t *bitmap,
                   const float *dense, void *out, struct codec_packed *packed);
void codec_select_by(const struct codec_loops *loops, const struct codec_filter *filter,
                     const struct codec_chunk *chunk, float threshold, void *out,
                     struct codec_packed *packed);

struct codec_coder;
void codec_coder_use(struct codec_coder *coder, const struct codec_loops *loops);

/* For sparse.c and select.c. The room for a payload at @out, and what comes of it: the encoding for
 * the floats that are there now, of the elements that the bitmap names. */
struct codec_out codec_out_open(void *out, uint32_t elements);
void codec_out_close(const struct codec_loops *loops, struct codec_out *out, const uint64_t *bitmap,
                     struct codec_packed *packed);

/* For sparse.c and form.c. Of a kind: the one with floats that has the same index part (CODEC_F32,
 * CODEC_BITMAP, CODEC_LIST or CODEC_GAPS), how its values are written, and their bytes, with those
 * that fill them up. */
uint32_t codec_kind_index(uint32_t kind);
enum codec_values codec_kind_values(uint32_t kind);
uint32_t codec_values_bytes(uint32_t kind, uint32_t count);

/* Of an index part that is a list or gaps, with the bytes that fill it up. */
uint32_t codec_list_bytes(uint32_t count);
uint32_t codec_gaps_bytes(uint32_t distances);

/* For filter.c: v / sqrt(clock), in a file of its own (see codec/rounding.h). */
float codec_decay(float v, uint64_t clock);

/* For loops.c. */
extern const struct codec_loops codec_loops_plain;
extern const struct codec_loops codec_loops_avx2;
extern const struct codec_loops codec_loops_avx512;

#endif
