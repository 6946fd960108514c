// A linear layer of many rows: y = x Wᵀ + b, and what its gradient makes of x, W and b.

#include "product.h"
#include "rows.h"

// `weight` is padded with zeros where `outputs` fill no vector, and `shift` too.
void linear_ahead(int threads, int rows, int inputs, int outputs, const half *x, const uint32_t *weight,
                  const float *shift, half *y) {
    const int full = outputs & ~31, count = (outputs - full + 15) & ~15;  // the others take a detour
    EACH_BLOCK {
        THIS_BLOCK
        const half *from = x + first * inputs;
        multiply(many, NARROW, from, inputs, weight, inputs, full, y + first * outputs, outputs, shift);
        float rest[BLOCK * 32];
        if (!count) continue;
        product(many, from, inputs, weight + (long)full * (inputs / 2), inputs, count, rest, count,
                shift ? shift + full : 0, 0);
        for (int row = 0; row < many; row++) {
            half narrowed[32];
            narrow(count, narrowed, rest + row * count);
            memcpy(y + (first + row) * outputs + full, narrowed, sizeof(half) * (outputs - full));
        }
    }
}

// Rows 2k and 2k + 1 of some columns of a matrix, one above the other, in panels of `wide` columns (or 16); an odd last
// row has zeros below. `sums` gets the sums of the columns.
static void interleave(int rows, int apart, int columns, int wide, const half *matrix, uint32_t *to, float *sums) {
    const int pairs = (rows + 1) / 2;
    for (int at = 0; at < columns; at += 16) {
        const int begin = at / wide * wide, width = columns - begin >= wide ? wide : 16;
        uint32_t *panel = to + (long)begin * pairs + (at - begin);
        lanes sum = _mm512_setzero_ps();
        for (int k = 0; k < pairs; k++) {
            const half *from = matrix + (long)(2 * k) * apart + at;
            const __m256i upper = _mm256_loadu_si256((const __m256i *)from);
            __m256i lower = _mm256_setzero_si256();
            if (2 * k + 1 < rows) lower = _mm256_loadu_si256((const __m256i *)(from + apart));
            const __m512i both = pairs_of(upper, lower);
            _mm512_storeu_si512(panel + (long)k * width, both);
            sum = _mm512_add_ps(sum, _mm512_castsi512_ps(_mm512_slli_epi32(both, 16)));
            sum = _mm512_add_ps(sum, _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32((int)0xffff0000u))));
        }
        if (sums) _mm512_storeu_ps(sums + at, sum);
    }
}

#define STRIP 64  // outputs that are interleaved and multiplied while they are near

// `of_weight` [outputs, inputs] and `of_shift` in float32, over all rows.
void linear_back(int threads, int rows, int inputs, int outputs, const half *x, const half *y, float *of_weight,
                 float *of_shift) {
    const int pairs = (rows + 1) / 2;
    uint32_t *right = (uint32_t *)space((long)pairs * inputs);
    interleave(rows, inputs, inputs, 32, x, right, 0);
#pragma omp parallel num_threads(threads)
    {
        uint32_t *left = (uint32_t *)space((long)pairs * STRIP);
#pragma omp for schedule(static)
        for (int first = 0; first < outputs; first += STRIP) {
            const int count = outputs - first < STRIP ? outputs - first : STRIP;
            interleave(rows, outputs, count, 16, y + first, left, of_shift + first);
            for (int column = 0; column < inputs; column += 32)
                for (int at = 0; at < count; at += 8) {
                    const uint32_t *a = left + (long)(at & ~15) * pairs + (at & 15), *b = right + (long)column * pairs;
                    float *c = of_weight + (long)(first + at) * inputs + column;
                    if (inputs - column >= 32) tile(8, 2, FRESH, a, 1, 16, b, pairs, c, inputs, 0);
                    else tile(8, 1, FRESH, a, 1, 16, b, pairs, c, inputs, 0);
                }
        }
        free(left);
    }
    free(right);
}
