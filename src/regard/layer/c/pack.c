// Matrices of float32 packed as product.h wants them. What is padded up to a multiple of 16 becomes zeros.

#include "lanes.h"

INLINE __m256i narrowed(const float *from) { return (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(from)); }

// Sixteen rows of sixteen numbers become columns.
INLINE void turn(__m512i *rows) {
    __m512i fours[16];
#pragma GCC unroll 4
    for (int g = 0; g < 16; g += 4) {
        const __m512i low = _mm512_unpacklo_epi32(rows[g], rows[g + 1]);
        const __m512i high = _mm512_unpackhi_epi32(rows[g], rows[g + 1]);
        const __m512i lower = _mm512_unpacklo_epi32(rows[g + 2], rows[g + 3]);
        const __m512i higher = _mm512_unpackhi_epi32(rows[g + 2], rows[g + 3]);
        fours[g] = _mm512_unpacklo_epi64(low, lower);
        fours[g + 1] = _mm512_unpackhi_epi64(low, lower);
        fours[g + 2] = _mm512_unpacklo_epi64(high, higher);
        fours[g + 3] = _mm512_unpackhi_epi64(high, higher);
    }
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {  // quarter q of each has column 4q + c
        const __m512i even = _mm512_shuffle_i32x4(fours[c], fours[4 + c], 0x88);
        const __m512i odd = _mm512_shuffle_i32x4(fours[c], fours[4 + c], 0xdd);
        const __m512i evens = _mm512_shuffle_i32x4(fours[8 + c], fours[12 + c], 0x88);
        const __m512i odds = _mm512_shuffle_i32x4(fours[8 + c], fours[12 + c], 0xdd);
        rows[c] = _mm512_shuffle_i32x4(even, evens, 0x88);
        rows[4 + c] = _mm512_shuffle_i32x4(odd, odds, 0x88);
        rows[8 + c] = _mm512_shuffle_i32x4(even, evens, 0xdd);
        rows[12 + c] = _mm512_shuffle_i32x4(odd, odds, 0xdd);
    }
}

// Of a matrix with `columns` rows of `inputs`, for x · matrixᵀ.
void pack_turned(int threads, int inputs, int columns, const float *matrix, uint32_t *packed) {
    const long pairs = inputs / 2;
    const int padded = (columns + 15) & ~15;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int column = 0; column < padded; column += 16) {
        const int at = column & ~31, width = padded - at >= 32 ? 32 : 16;
        uint32_t *to = packed + at * pairs + (column - at);
        for (int k = 0; k < inputs; k += 32) {
            const int more = inputs - k > 16;
            __m512i rows[16];
#pragma GCC unroll 16
            for (int row = 0; row < 16; row++) {
                rows[row] = _mm512_setzero_si512();
                if (column + row >= columns) continue;
                const float *from = matrix + (long)(column + row) * inputs + k;
                const lanes high = more ? _mm512_loadu_ps(from + 16) : _mm512_setzero_ps();
                rows[row] = (__m512i)_mm512_cvtne2ps_pbh(high, _mm512_loadu_ps(from));
            }
            turn(rows);
#pragma GCC unroll 16
            for (int pair = 0; pair < 16; pair++)
                if (pair < 8 || more) _mm512_storeu_si512(to + (long)(k / 2 + pair) * width, rows[pair]);
        }
    }
}

// Of a matrix with `inputs` rows of `columns`, for x · matrix.
void pack(int threads, int inputs, int columns, const float *matrix, uint32_t *packed) {
    const long pairs = ((inputs + 15) & ~15) / 2;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int at = 0; at < columns; at += 16) {
        const int panel = at & ~31, width = columns - panel >= 32 ? 32 : 16;
        uint32_t *to = packed + panel * pairs + (at - panel);
        for (int k = 0; k < pairs; k++) {
            const float *from = matrix + (long)(2 * k) * columns + at;
            const __m256i upper = 2 * k < inputs ? narrowed(from) : _mm256_setzero_si256();
            const __m256i lower = 2 * k + 1 < inputs ? narrowed(from + columns) : _mm256_setzero_si256();
            _mm512_storeu_si512(to + (long)k * width, pairs_of(upper, lower));
        }
    }
}
