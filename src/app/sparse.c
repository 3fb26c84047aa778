#include "app/sparse.h"

#include "base/mem.h"

enum err sparse_set_init(struct sparse_set *s, uint32_t rows)
{
    *s = (struct sparse_set){.words = (uint32_t)(((uint64_t)rows + 63) / 64)};
    s->rows = mem_calloc(rows, sizeof(*s->rows));
    s->slots = mem_calloc(rows, sizeof(*s->slots));
    s->bits = mem_calloc(s->words, sizeof(*s->bits));
    if (s->rows == NULL || s->slots == NULL || s->bits == NULL) {
        sparse_set_deinit(s);
        return ERR_NOMEM;
    }
    return OK;
}

void sparse_set_deinit(struct sparse_set *s)
{
    mem_free(s->rows);
    mem_free(s->slots);
    mem_free(s->bits);
    *s = (struct sparse_set){0};
}

void sparse_set_list(struct sparse_set *s)
{
    s->count = 0;
    for (uint32_t word = 0; word < s->words; word++) {
        for (uint64_t bits = s->bits[word]; bits != 0; bits &= bits - 1) {
            uint32_t row = word * 64 + (uint32_t)__builtin_ctzll(bits);

            s->slots[row] = s->count;
            s->rows[s->count++] = row;
        }
        s->bits[word] = 0;
    }
}
