// The product of all others but linear.c: compiled once.

#include "product.h"

void product(int rows, const half *a, long lda, const uint32_t *packed, int inputs, int columns, float *c, long ldc,
             const float *shift, int add) {
    if (add) multiply(rows, ADDED, a, lda, packed, inputs, columns, c, ldc, 0);
    else multiply(rows, FRESH, a, lda, packed, inputs, columns, c, ldc, shift);
}
