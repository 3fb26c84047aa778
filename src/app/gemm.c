#include "app/gemm.h"

#include <cblas.h>

void app_gemm_setup(void)
{
    openblas_set_num_threads(1);
}

void app_gemm(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float add,
              float *c)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f,
                a, (blasint)k, b, (blasint)n, add, c, (blasint)n);
}

void app_gemm_bt(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float add,
                 float *c)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f,
                a, (blasint)k, b, (blasint)k, add, c, (blasint)n);
}

void app_gemm_at(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float add,
                 float *c)
{
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f,
                a, (blasint)m, b, (blasint)n, add, c, (blasint)n);
}
