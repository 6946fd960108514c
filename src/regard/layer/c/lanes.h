// Sixteen numbers at a time: bfloat16 as it is kept (`half`), float32 as it is computed with, and the curves.

#pragma once
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint16_t half;
typedef __m512 lanes;

#define INLINE static inline __attribute__((always_inline))

INLINE lanes load(const half *from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from)), 16));
}

INLINE void store(half *to, lanes x) { _mm256_storeu_si256((__m256i *)to, (__m256i)_mm512_cvtneps_pbh(x)); }

INLINE float wide(half x) {
    const uint32_t bits = (uint32_t)x << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

// Of two rows of sixteen, what stands one above the other in one number.
INLINE __m512i pairs_of(__m256i upper, __m256i lower) {
    return _mm512_or_si512(_mm512_cvtepu16_epi32(upper), _mm512_slli_epi32(_mm512_cvtepu16_epi32(lower), 16));
}

INLINE lanes all(float x) { return _mm512_set1_ps(x); }

INLINE lanes exponential(lanes x) {  // Cephes; 2 units in the last place
    x = _mm512_max_ps(all(-104.0f), _mm512_min_ps(all(88.0f), x));  // in this order what is no number stays none
    lanes n = _mm512_roundscale_ps(_mm512_mul_ps(x, all(1.44269504088896341f)), 0);
    x = _mm512_fnmadd_ps(n, all(0.693359375f), x);
    x = _mm512_fnmadd_ps(n, all(-2.12194440e-4f), x);
    lanes y = all(1.9875691500e-4f);
    y = _mm512_fmadd_ps(y, x, all(1.3981999507e-3f));
    y = _mm512_fmadd_ps(y, x, all(8.3334519073e-3f));
    y = _mm512_fmadd_ps(y, x, all(4.1665795894e-2f));
    y = _mm512_fmadd_ps(y, x, all(1.6666665459e-1f));
    y = _mm512_fmadd_ps(y, x, all(5.0000001201e-1f));
    y = _mm512_add_ps(_mm512_fmadd_ps(y, _mm512_mul_ps(x, x), x), all(1.0f));
    return _mm512_scalef_ps(y, n);
}

INLINE lanes tangent(lanes x) {  // a quotient of polynomials, as Eigen has it; 5 units in the last place
    x = _mm512_max_ps(all(-7.90531110763549805f), _mm512_min_ps(all(7.90531110763549805f), x));
    lanes s = _mm512_mul_ps(x, x);
    lanes p = all(-2.76076847742355e-16f);
    p = _mm512_fmadd_ps(p, s, all(2.00018790482477e-13f));
    p = _mm512_fmadd_ps(p, s, all(-8.60467152213735e-11f));
    p = _mm512_fmadd_ps(p, s, all(5.12229709037114e-08f));
    p = _mm512_fmadd_ps(p, s, all(1.48572235717979e-05f));
    p = _mm512_fmadd_ps(p, s, all(6.37261928875436e-04f));
    p = _mm512_fmadd_ps(p, s, all(4.89352455891786e-03f));
    lanes q = all(1.19825839466702e-06f);
    q = _mm512_fmadd_ps(q, s, all(1.18534705686654e-04f));
    q = _mm512_fmadd_ps(q, s, all(2.26843463243900e-03f));
    q = _mm512_fmadd_ps(q, s, all(4.89352518554385e-03f));
    return _mm512_div_ps(_mm512_mul_ps(x, p), q);
}

INLINE lanes logistic(lanes x) { return _mm512_fmadd_ps(tangent(_mm512_mul_ps(x, all(0.5f))), all(0.5f), all(0.5f)); }

INLINE lanes bump(lanes y) { return _mm512_fnmadd_ps(y, y, y); }             // y (1 - y)
INLINE lanes slope(lanes y) { return _mm512_fnmadd_ps(y, y, all(1.0f)); }    // 1 - y²
