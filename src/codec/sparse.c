#include "codec/sparse.h"

#include "base/bytes.h"
#include "base/rounding.h"
#include "codec/loops.h"

#include <string.h>

enum {
    SPARSE_COUNT_BYTES = 4,                /* Before a list. */
    SPARSE_LIST_MAX = 4 * CODEC_WORDS_MAX, /* Longer ones are larger than a bitmap. */
};

uint32_t codec_bitmap_words(uint32_t elements)
{
    return (elements + 63) / 64;
}

uint32_t codec_bytes_max(uint32_t elements)
{
    return elements * (uint32_t)sizeof(float);
}

static bool sparse_elements_valid(uint32_t elements)
{
    return elements > 0 && elements <= LIMIT_CHUNK_ELEMENTS;
}

static uint32_t sparse_bitmap_bytes(uint32_t elements)
{
    return codec_bitmap_words(elements) * 8;
}

/* What the values are, and the kind with floats that has the same index part. */
static const struct {
    uint8_t index;
    uint8_t values;
} sparse_kinds[CODEC_KINDS] = {
    [CODEC_F32] = {CODEC_F32, CODEC_VALUES_F32},
    [CODEC_BITMAP] = {CODEC_BITMAP, CODEC_VALUES_F32},
    [CODEC_LIST] = {CODEC_LIST, CODEC_VALUES_F32},
    [CODEC_BITMAP_I8] = {CODEC_BITMAP, CODEC_VALUES_I8},
    [CODEC_LIST_I8] = {CODEC_LIST, CODEC_VALUES_I8},
    [CODEC_BITMAP_F16] = {CODEC_BITMAP, CODEC_VALUES_F16},
    [CODEC_LIST_F16] = {CODEC_LIST, CODEC_VALUES_F16},
    [CODEC_F16] = {CODEC_F32, CODEC_VALUES_F16},
    [CODEC_GAPS] = {CODEC_GAPS, CODEC_VALUES_F32},
    [CODEC_GAPS_F16] = {CODEC_GAPS, CODEC_VALUES_F16},
    [CODEC_GAPS_I8] = {CODEC_GAPS, CODEC_VALUES_I8},
};

const char *codec_kind_name(uint32_t kind)
{
    static const char *const names[CODEC_KINDS] = {
        [CODEC_F32] = "dense",         [CODEC_BITMAP] = "bitmap",
        [CODEC_LIST] = "list",         [CODEC_BITMAP_I8] = "bitmap i8",
        [CODEC_LIST_I8] = "list i8",   [CODEC_BITMAP_F16] = "bitmap f16",
        [CODEC_LIST_F16] = "list f16", [CODEC_F16] = "dense f16",
        [CODEC_GAPS] = "gaps",         [CODEC_GAPS_F16] = "gaps f16",
        [CODEC_GAPS_I8] = "gaps i8",
    };

    return names[kind];
}

uint32_t codec_kind_index(uint32_t kind)
{
    return sparse_kinds[kind].index;
}

enum codec_values codec_kind_values(uint32_t kind)
{
    return (enum codec_values)sparse_kinds[kind].values;
}

static uint32_t sparse_fill_up(uint32_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

uint32_t codec_list_bytes(uint32_t count)
{
    return SPARSE_COUNT_BYTES + sparse_fill_up(count * 2);
}

uint32_t codec_gaps_bytes(uint32_t distances)
{
    return SPARSE_COUNT_BYTES + sparse_fill_up(distances);
}

uint32_t codec_values_bytes(uint32_t kind, uint32_t count)
{
    static const uint8_t bytes[CODEC_VALUES] = {
        [CODEC_VALUES_F32] = 4, [CODEC_VALUES_F16] = 2, [CODEC_VALUES_I8] = 1};

    return sparse_fill_up(count * bytes[codec_kind_values(kind)]);
}

static bool sparse_in_bytes(uint32_t kind)
{
    return codec_kind_values(kind) == CODEC_VALUES_I8;
}

/* Of an index part of CODEC_GAPS: elements that it names, and distances. */
static uint32_t sparse_gaps_count(const uint8_t *bytes)
{
    return bytes_load16(bytes) + 1u;
}

static uint32_t sparse_gaps_size(const uint8_t *bytes)
{
    return sparse_gaps_count(bytes) + bytes_load16(bytes + 2);
}

/* The bits of the last word of a bitmap. */
static uint64_t sparse_last_bits(uint32_t elements)
{
    return UINT64_MAX >> (63 - (elements - 1) % 64);
}

/* How many elements an index part at the start of @bytes names, if it is valid; else zero. */
static uint32_t sparse_bitmap_judge(const struct codec_loops *loops, const uint8_t *bytes,
                                    size_t size, uint32_t elements)
{
    uint32_t words = codec_bitmap_words(elements);

    if (size < sparse_bitmap_bytes(elements) ||
        (bytes_load64(bytes + (size_t)(words - 1) * 8) & ~sparse_last_bits(elements)) != 0) {
        return 0;
    }
    return loops->bits(bytes, words);
}

static uint32_t sparse_list_judge(const uint8_t *bytes, size_t size, uint32_t elements)
{
    const uint8_t *list = bytes + SPARSE_COUNT_BYTES;
    bool ascends = true;
    uint32_t count;

    if (size < SPARSE_COUNT_BYTES) {
        return 0;
    }
    count = bytes_load32(bytes);
    if (count == 0 || count > elements || size < codec_list_bytes(count)) {
        return 0;
    }
    for (uint32_t i = 1; i < count; i++) {
        ascends &= bytes_load16(list + (size_t)i * 2) > bytes_load16(list + (size_t)i * 2 - 2);
    }
    if (!ascends || bytes_load16(list + (size_t)count * 2 - 2) >= elements ||
        (count % 2 != 0 && bytes_load16(list + (size_t)count * 2) != 0)) {
        return 0;
    }
    return count;
}

/* The sum of all distances and one step for each element lead to behind the last one. */
static uint32_t sparse_gaps_judge(const struct codec_loops *loops, const uint8_t *bytes,
                                  size_t size, uint32_t elements)
{
    uint32_t count, gaps, skips, sum;

    if (size < SPARSE_COUNT_BYTES) {
        return 0;
    }
    count = sparse_gaps_count(bytes);
    gaps = sparse_gaps_size(bytes);
    if (size < codec_gaps_bytes(gaps)) {
        return 0;
    }
    bytes += SPARSE_COUNT_BYTES;
    sum = loops->gaps(bytes, gaps, &skips);
    if (skips != gaps - count || bytes[gaps - 1] == UINT8_MAX || sum + count > elements) {
        return 0;
    }
    for (uint32_t i = gaps; i % 4 != 0; i++) {
        count = bytes[i] == 0 ? count : 0;
    }
    return count;
}

/* Count and size of the index part; a count of zero: not valid. */
static uint32_t sparse_index_judge(const struct codec_loops *loops, uint32_t codec,
                                   const void *bytes, size_t size, uint32_t elements,
                                   uint32_t *index_bytes)
{
    uint32_t count = 0;

    if (codec >= CODEC_KINDS || !sparse_elements_valid(elements)) {
        return 0;
    }
    switch (codec_kind_index(codec)) {
    case CODEC_F32:
        *index_bytes = 0;
        return elements;
    case CODEC_BITMAP:
        count = sparse_bitmap_judge(loops, bytes, size, elements);
        *index_bytes = sparse_bitmap_bytes(elements);
        break;
    case CODEC_LIST:
        count = sparse_list_judge(bytes, size, elements);
        *index_bytes = codec_list_bytes(count);
        break;
    default:
        count = sparse_gaps_judge(loops, bytes, size, elements);
        *index_bytes = count > 0 ? codec_gaps_bytes(sparse_gaps_size(bytes)) : 0;
    }
    return count;
}

/* Of exactly the size that so many have: is what fills it up zero, and are bytes what they may be?
 */
static bool sparse_values_shaped(const struct codec_loops *loops, uint32_t codec,
                                 const uint8_t *values, uint32_t count)
{
    uint32_t used = count * (codec_kind_values(codec) == CODEC_VALUES_F16 ? 2 : 1);

    if (codec_kind_values(codec) == CODEC_VALUES_F32) {
        return true;
    }
    for (uint32_t i = used; i < codec_values_bytes(codec, count); i++) {
        if (values[i] != 0) {
            return false;
        }
    }
    return !sparse_in_bytes(codec) || loops->whole_bytes(values, count);
}

static bool sparse_values_finite(const struct codec_loops *loops, uint32_t codec,
                                 const uint8_t *values, uint32_t count)
{
    if (codec_kind_values(codec) == CODEC_VALUES_F32) {
        return loops->finite(values, count);
    }
    return sparse_in_bytes(codec) || loops->finite_halves(values, count);
}

static bool sparse_judge(const struct codec_loops *loops, uint32_t codec, const void *bytes,
                         size_t size, uint32_t elements, bool finite)
{
    uint32_t index_bytes = 0;
    uint32_t count = sparse_index_judge(loops, codec, bytes, size, elements, &index_bytes);
    const uint8_t *values = (const uint8_t *)bytes + index_bytes;

    return count > 0 && size == (size_t)index_bytes + codec_values_bytes(codec, count) &&
           sparse_values_shaped(loops, codec, values, count) &&
           (!finite || sparse_values_finite(loops, codec, values, count));
}

bool codec_payload_valid_by(const struct codec_loops *loops, uint32_t codec, const void *bytes,
                            size_t size, uint32_t elements)
{
    return sparse_judge(loops, codec, bytes, size, elements, true);
}

bool codec_payload_shaped_by(const struct codec_loops *loops, uint32_t codec, const void *bytes,
                             size_t size, uint32_t elements)
{
    return sparse_judge(loops, codec, bytes, size, elements, false);
}

bool codec_payload_valid(uint32_t codec, const void *bytes, size_t size, uint32_t elements)
{
    return codec_payload_valid_by(codec_loops_best(), codec, bytes, size, elements);
}

bool codec_index_valid(uint32_t codec, const void *bytes, size_t size, uint32_t elements)
{
    uint32_t index_bytes;

    return sparse_index_judge(codec_loops_best(), codec, bytes, size, elements, &index_bytes) > 0 &&
           size == index_bytes;
}

uint32_t codec_index_bytes(uint32_t codec, const void *bytes, uint32_t elements)
{
    CHECK(codec < CODEC_KINDS && sparse_elements_valid(elements));
    switch (codec_kind_index(codec)) {
    case CODEC_F32:
        return 0;
    case CODEC_BITMAP:
        return sparse_bitmap_bytes(elements);
    case CODEC_LIST:
        return codec_list_bytes(bytes_load32(bytes));
    default:
        return codec_gaps_bytes(sparse_gaps_size(bytes));
    }
}

uint32_t codec_index_count(uint32_t codec, const void *bytes, uint32_t elements)
{
    CHECK(codec < CODEC_KINDS && sparse_elements_valid(elements));
    switch (codec_kind_index(codec)) {
    case CODEC_F32:
        return elements;
    case CODEC_BITMAP:
        return codec_loops_best()->bits(bytes, codec_bitmap_words(elements));
    case CODEC_LIST:
        return bytes_load32(bytes);
    default:
        return sparse_gaps_count(bytes);
    }
}

/* The @w-th word of what an index part without numbers names. */
static uint64_t sparse_word(uint32_t index, const uint8_t *bytes, uint32_t elements, uint32_t w)
{
    if (index == CODEC_BITMAP) {
        return bytes_load64(bytes + (size_t)w * 8);
    }
    return w + 1 < codec_bitmap_words(elements) ? UINT64_MAX : sparse_last_bits(elements);
}

/* Walks over the elements that a list or gaps name. */
struct sparse_walk {
    const uint8_t *at;
    uint32_t left;
    uint32_t next; /* Of gaps: the element that a distance of zero names. */
};

static struct sparse_walk sparse_walk(uint32_t index, const uint8_t *bytes)
{
    return (struct sparse_walk){
        .at = bytes + SPARSE_COUNT_BYTES,
        .left = index == CODEC_LIST ? bytes_load32(bytes) : sparse_gaps_count(bytes),
    };
}

static uint32_t sparse_step(struct sparse_walk *walk, uint32_t index)
{
    uint32_t element;

    walk->left--;
    if (index == CODEC_LIST) {
        element = bytes_load16(walk->at);
        walk->at += 2;
        return element;
    }
    for (; *walk->at == UINT8_MAX; walk->at++) {
        walk->next += UINT8_MAX;
    }
    element = walk->next + *walk->at++;
    walk->next = element + 1;
    return element;
}

static void sparse_set(uint64_t *bitmap, uint32_t word, uint64_t bits, bool on)
{
    bitmap[word] = on ? bitmap[word] | bits : bitmap[word] & ~bits;
}

static void sparse_index_set(uint32_t codec, const void *bytes, uint32_t elements, uint64_t *bitmap,
                             bool on)
{
    uint32_t index;

    CHECK(codec < CODEC_KINDS && sparse_elements_valid(elements));
    index = codec_kind_index(codec);
    if (index == CODEC_F32 || index == CODEC_BITMAP) {
        for (uint32_t w = 0; w < codec_bitmap_words(elements); w++) {
            sparse_set(bitmap, w, sparse_word(index, bytes, elements, w), on);
        }
        return;
    }
    for (struct sparse_walk walk = sparse_walk(index, bytes); walk.left > 0;) {
        uint32_t element = sparse_step(&walk, index);

        sparse_set(bitmap, element / 64, UINT64_C(1) << (element % 64), on);
    }
}

void codec_index_or(uint32_t codec, const void *bytes, uint32_t elements, uint64_t *bitmap)
{
    sparse_index_set(codec, bytes, elements, bitmap, true);
}

void codec_index_clear(uint32_t codec, const void *bytes, uint32_t elements, uint64_t *bitmap)
{
    sparse_index_set(codec, bytes, elements, bitmap, false);
}

uint32_t codec_add_by(const struct codec_loops *loops, uint32_t codec, const void *payload,
                      uint32_t elements, float *values)
{
    const uint8_t *bytes = payload;
    const uint8_t *list = bytes + SPARSE_COUNT_BYTES;
    const uint8_t *added = bytes + codec_index_bytes(codec, payload, elements);
    enum codec_values how = codec_kind_values(codec);
    unsigned mode = rounding_enter();
    uint32_t kept;

    switch (codec_kind_index(codec)) {
    case CODEC_F32:
        kept = loops->add[how](values, added, elements);
        break;
    case CODEC_BITMAP:
        kept = loops->add_bitmap[how](values, bytes, added, elements);
        break;
    case CODEC_LIST:
        kept = loops->add_list[how](values, list, added, bytes_load32(bytes));
        break;
    default:
        kept = loops->add_gaps[how](values, list, sparse_gaps_size(bytes), added);
    }
    rounding_leave(mode);
    return kept;
}

uint32_t codec_add(uint32_t codec, const void *payload, uint32_t elements, float *values)
{
    return codec_add_by(codec_loops_best(), codec, payload, elements, values);
}

struct codec_out codec_out_open(void *out, uint32_t elements)
{
    uint32_t base = sparse_bitmap_bytes(elements) / (uint32_t)sizeof(float);

    CHECK(sparse_elements_valid(elements) && (uintptr_t)out % _Alignof(float) == 0);
    return (struct codec_out){
        .floats = out, .elements = elements, .base = base + 64 > elements ? 0 : base};
}

/* The values, @values_bytes of them, to behind an index part. */
static void sparse_move(struct codec_out *out, uint32_t index_bytes, uint32_t values_bytes)
{
    uint32_t base = index_bytes / (uint32_t)sizeof(float);

    if (out->base != base) {
        memmove(out->floats + base, out->floats + out->base, values_bytes);
        out->base = base;
    }
}

/* Each float to its own place, from the last on, so that none is overwritten before it moved. */
static void sparse_close_f32(struct codec_out *out, const uint64_t *bitmap)
{
    uint32_t left = out->count;

    sparse_move(out, 0, left * (uint32_t)sizeof(float));
    for (uint32_t i = out->elements; i-- > 0 && left <= i;) {
        bool named = (bitmap[i / 64] >> (i % 64) & 1) != 0;

        out->floats[i] = named ? out->floats[--left] : -0.0F;
    }
}

static void sparse_close_bitmap(struct codec_out *out, const uint64_t *bitmap,
                                uint32_t values_bytes)
{
    uint32_t bytes = sparse_bitmap_bytes(out->elements);

    sparse_move(out, bytes, values_bytes);
    memcpy(out->floats, bitmap, bytes);
}

static void sparse_close_list(const struct codec_loops *loops, struct codec_out *out,
                              const uint64_t *bitmap, uint32_t values_bytes)
{
    uint16_t list[SPARSE_LIST_MAX + CODEC_LIST_SPILL + 1];
    uint32_t bytes = codec_list_bytes(out->count);
    uint32_t count = loops->list(bitmap, codec_bitmap_words(out->elements), list);

    CHECK(count == out->count);
    list[count] = 0;
    sparse_move(out, bytes, values_bytes);
    memcpy(out->floats, &count, sizeof(count));
    memcpy(out->floats + 1, list, bytes - SPARSE_COUNT_BYTES);
}

/* Whether the floats can be bytes is asked only if that would make them fewer. */
static uint32_t sparse_best(const struct codec_loops *loops, const struct codec_out *out,
                            uint32_t *bytes)
{
    uint32_t index_bytes[CODEC_KINDS_PACKED] = {
        [CODEC_BITMAP] = sparse_bitmap_bytes(out->elements),
        [CODEC_LIST] = codec_list_bytes(out->count),
        [CODEC_BITMAP_I8] = sparse_bitmap_bytes(out->elements),
        [CODEC_LIST_I8] = codec_list_bytes(out->count),
    };
    bool known = false, whole = false;
    uint32_t best = CODEC_F32;

    *bytes = codec_bytes_max(out->elements);
    for (uint32_t codec = CODEC_BITMAP; codec < CODEC_KINDS_PACKED; codec++) {
        uint32_t size = index_bytes[codec] + codec_values_bytes(codec, out->count);

        if (size < *bytes && sparse_in_bytes(codec) && !known) {
            whole = loops->whole(out->floats + out->base, out->count);
            known = true;
        }
        if (size < *bytes && (whole || !sparse_in_bytes(codec))) {
            best = codec;
            *bytes = size;
        }
    }
    return best;
}

static void sparse_narrow(const struct codec_loops *loops, const struct codec_out *out,
                          uint32_t values_bytes)
{
    float *floats = out->floats + out->base;

    loops->narrow(floats, out->count);
    memset((uint8_t *)floats + out->count, 0, values_bytes - out->count);
}

void codec_out_close(const struct codec_loops *loops, struct codec_out *out, const uint64_t *bitmap,
                     struct codec_packed *packed)
{
    unsigned mode;
    uint32_t best, bytes, values_bytes;

    *packed = (struct codec_packed){0};
    if (out->count == 0) {
        return;
    }
    mode = rounding_enter();
    best = sparse_best(loops, out, &bytes);
    values_bytes = codec_values_bytes(best, out->count);
    if (sparse_in_bytes(best)) {
        sparse_narrow(loops, out, values_bytes);
    }
    rounding_leave(mode);
    if (best == CODEC_F32) {
        sparse_close_f32(out, bitmap);
    } else if (codec_kind_index(best) == CODEC_BITMAP) {
        sparse_close_bitmap(out, bitmap, values_bytes);
    } else {
        sparse_close_list(loops, out, bitmap, values_bytes);
    }
    *packed = (struct codec_packed){.codec = best, .bytes = bytes, .count = out->count};
}

void codec_pack_by(const struct codec_loops *loops, uint32_t elements, const uint64_t *bitmap,
                   const float *dense, void *out, struct codec_packed *packed)
{
    struct codec_out o = codec_out_open(out, elements);

    CHECK((bitmap[codec_bitmap_words(elements) - 1] & ~sparse_last_bits(elements)) == 0);
    loops->gather(dense, bitmap, &o);
    codec_out_close(loops, &o, bitmap, packed);
}

void codec_pack(uint32_t elements, const uint64_t *bitmap, const float *dense, void *out,
                struct codec_packed *packed)
{
    codec_pack_by(codec_loops_best(), elements, bitmap, dense, out, packed);
}
