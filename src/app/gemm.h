/* Products of matrices, row by row in memory and without gaps, by OpenBLAS.
 *
 * One thread per process: a run has many workers and gives each of them a core, and a product cut
 * up among threads may be added up in another order the next time. So the same call gives the same
 * bits again on the same machine. Another kind of processor gets another kernel of OpenBLAS and
 * other last bits; that is no harm, since an update is computed once, by its worker, and all copies
 * of a table enter the same bytes. */

#ifndef APP_GEMM_H
#define APP_GEMM_H

#include "base/err.h"

#include <stdint.h>

/* Load OpenBLAS: before the first product, by one thread; again is harmless. ERR_IO with @text. */
MUST_USE enum err app_gemm_setup(struct err_text *text);

/* C (m x n) = A (m x k) B (k x n), plus what C holds if @add is 1 (0: nothing is read of C). */
void app_gemm(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float add,
              float *c);

/* C (m x n) = A (m x k) B^T, where B is (n x k). */
void app_gemm_bt(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float add,
                 float *c);

/* C (m x n) = A^T B (k x n), where A is (k x m). */
void app_gemm_at(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b, float add,
                 float *c);

#endif
