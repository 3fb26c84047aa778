#include "table/loops.h"

const struct table_loops *table_loops_at(uint32_t index)
{
    switch (index) {
    case 0:
        return &table_loops_plain;
#if defined(__x86_64__)
    case 1:
        return __builtin_cpu_supports("avx2") ? &table_loops_avx2 : NULL;
    case 2:
        return __builtin_cpu_supports("avx512f") ? &table_loops_avx512 : NULL;
#endif
    default:
        return NULL;
    }
}

const struct table_loops *table_loops_best(void)
{
    for (uint32_t i = TABLE_LOOPS_MAX; i-- > 1;) {
        if (table_loops_at(i) != NULL) {
            return table_loops_at(i);
        }
    }
    return &table_loops_plain;
}
