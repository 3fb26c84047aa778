#include "codec/loops.h"

const struct codec_loops *codec_loops_at(uint32_t index)
{
    switch (index) {
    case 0:
        return &codec_loops_plain;
#if defined(__x86_64__)
    case 1:
        return __builtin_cpu_supports("avx2") ? &codec_loops_avx2 : NULL;
    case 2:
        return __builtin_cpu_supports("avx512f") ? &codec_loops_avx512 : NULL;
#endif
    default:
        return NULL;
    }
}

const struct codec_loops *codec_loops_best(void)
{
    for (uint32_t i = CODEC_LOOPS_MAX; i-- > 1;) {
        if (codec_loops_at(i) != NULL) {
            return codec_loops_at(i);
        }
    }
    return &codec_loops_plain;
}
