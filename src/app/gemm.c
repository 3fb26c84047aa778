#include "app/gemm.h"

#include "base/dynlib.h"

#include <cblas.h>

static __typeof__(openblas_set_num_threads) *gemm_set_num_threads;
static __typeof__(cblas_sgemm) *gemm_sgemm;

enum err app_gemm_setup(struct err_text *text)
{
    static const struct dynlib_function functions[] = {
        {"openblas_set_num_threads", &gemm_set_num_threads}, {"cblas_sgemm", &gemm_sgemm}};
    enum err rc = OK;

    if (gemm_sgemm == NULL) {
        rc = dynlib_load(STRAIT_OPENBLAS_SONAME, "a job with products of matrices", "libopenblas0",
                         functions, sizeof(functions) / sizeof(functions[0]), text);
    }
    if (rc == OK) {
        gemm_set_num_threads(1);
    }
    return rc;
}

void app_gemm(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float add,
              float *c)
{
    gemm_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f,
               a, (blasint)k, b, (blasint)n, add, c, (blasint)n);
}

void app_gemm_bt(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float add,
                 float *c)
{
    gemm_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f, a,
               (blasint)k, b, (blasint)k, add, c, (blasint)n);
}

void app_gemm_at(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float add,
                 float *c)
{
    gemm_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f, a,
               (blasint)m, b, (blasint)n, add, c, (blasint)n);
}
