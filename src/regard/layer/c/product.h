// Products of bfloat16, summed in float32.
//
// A packed matrix lies in panels of 32 columns (the last one may have 16), in each of them pair after pair of rows, so
// that one instruction multiplies two rows of sixteen columns.

#pragma once
#include "lanes.h"

#define TILE 12  // rows of a tile: with two vectors of columns, its sums fill the registers

// What a product is for: to begin a sum (with the shift, where there is one), to add to one, or to give bfloat16.
typedef enum { FRESH, ADDED, NARROW } Use;

// `a` has the pairs of a row `next` apart, and its rows `apart`.
INLINE void tile(const int rows, const int wide, const Use use, const uint32_t *a, long apart, long next,
                 const uint32_t *b, int pairs, void *c, long ldc, const float *shift) {
    lanes sum[TILE][2];
    float *sums = c;
    half *halves = c;
#pragma GCC unroll 12
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++)
            sum[m][w] = use == ADDED ? _mm512_loadu_ps(sums + m * ldc + 16 * w)
                        : shift      ? _mm512_loadu_ps(shift + 16 * w)
                                     : _mm512_setzero_ps();
    for (int k = 0; k < pairs; k++, a += next, b += 16 * wide) {
        __m512i columns[2];
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++) columns[w] = _mm512_loadu_si512(b + 16 * w);
#pragma GCC unroll 12
        for (int m = 0; m < rows; m++) {
            const __m512i pair = _mm512_set1_epi32((int)a[m * apart]);
#pragma GCC unroll 2
            for (int w = 0; w < wide; w++)
                sum[m][w] = _mm512_dpbf16_ps(sum[m][w], (__m512bh)pair, (__m512bh)columns[w]);
        }
    }
#pragma GCC unroll 12
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++)
            if (use == NARROW) store(halves + m * ldc + 16 * w, sum[m][w]);
            else _mm512_storeu_ps(sums + m * ldc + 16 * w, sum[m][w]);
}

#define CASE(M)                                                                   \
    case M:                                                                       \
        if (wide) tile(M, 2, use, a, apart, 1, b, pairs, c, ldc, shift);          \
        else tile(M, 1, use, a, apart, 1, b, pairs, c, ldc, shift);               \
        break;

INLINE void tiles(int rows, int wide, const Use use, const uint32_t *a, long apart, const uint32_t *b, int pairs,
                  void *c, long ldc, const float *shift) {
    switch (rows) {
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
    }
}

// c = a · packed (+ shift), or c += a · packed; rows of a lie `lda` apart.
INLINE void multiply(int rows, const Use use, const half *a, long lda, const uint32_t *packed, int inputs, int columns,
                     void *c, long ldc, const float *shift) {
    const int pairs = inputs / 2, many = (rows + TILE - 1) / TILE;
    for (int at = 0; at < columns; at += 32)
        for (int number = 0; number < many; number++) {
            const int first = rows * number / many, past = rows * (number + 1) / many;
            void *to = use == NARROW ? (void *)((half *)c + first * ldc + at) : (void *)((float *)c + first * ldc + at);
            tiles(past - first, columns - at >= 32, use, (const uint32_t *)(a + first * lda), lda / 2,
                  packed + (long)at * pairs, pairs, to, ldc, shift ? shift + at : 0);
        }
}

__attribute__((visibility("hidden")))
void product(int rows, const half *a, long lda, const uint32_t *packed, int inputs, int columns, float *c, long ldc,
             const float *shift, int add);
