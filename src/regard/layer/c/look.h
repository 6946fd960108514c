// One query of one row: weights from energies, a context from weights, and back. Slots that are padding are not read.

#pragma once
#include "lanes.h"

INLINE __mmask16 real(int slots, int at, const uint8_t *mask) {
    const __mmask16 left = slots - at >= 16 ? 0xffff : (1u << (slots - at)) - 1;
    return _mm_test_epi8_mask(_mm_maskz_loadu_epi8(left, mask + at), _mm_set1_epi8(-1));
}

INLINE void softmax(int slots, const uint8_t *mask, float *weights) {
    lanes greatest = all(-INFINITY), whole = _mm512_setzero_ps();
    for (int at = 0; at < slots; at += 16) {
        __mmask16 here = real(slots, at, mask);
        greatest = _mm512_mask_max_ps(greatest, here, greatest, _mm512_maskz_loadu_ps(here, weights + at));
    }
    greatest = all(_mm512_reduce_max_ps(greatest));
    for (int at = 0; at < slots; at += 16) {
        __mmask16 here = real(slots, at, mask);
        lanes odds = exponential(_mm512_sub_ps(_mm512_maskz_loadu_ps(here, weights + at), greatest));
        whole = _mm512_mask_add_ps(whole, here, whole, odds);
        _mm512_mask_storeu_ps(weights + at, here, odds);
    }
    const float total = _mm512_reduce_add_ps(whole), share = total > 0 ? 1 / total : 0;
    for (int at = 0; at < slots; at++) weights[at] = mask[at] ? weights[at] * share : 0;
}

// The context as a bfloat16.
INLINE void gather(int slots, int seen, const half *values, const uint8_t *mask, const float *weights, half *context) {
    for (int at = 0; at < seen; at += 16) {
        lanes sum = _mm512_setzero_ps();
        for (int slot = 0; slot < slots; slot++)
            if (mask[slot]) sum = _mm512_fmadd_ps(all(weights[slot]), load(values + (long)slot * seen + at), sum);
        store(context + at, sum);
    }
}

// From the gradient of a context to those of the energies; those of the values are summed.
INLINE void of_energies(int slots, int seen, const half *values, const uint8_t *mask, const float *weights,
                        const float *context, float *energies, float *of_values) {
    float share = 0;
    for (int slot = 0; slot < slots; slot++) {
        if (!mask[slot]) continue;
        const half *value = values + (long)slot * seen;
        float *of_value = of_values + (long)slot * seen;
        lanes sum = _mm512_setzero_ps(), weight = all(weights[slot]);
        for (int at = 0; at < seen; at += 16) {
            lanes grad = _mm512_loadu_ps(context + at);
            sum = _mm512_fmadd_ps(load(value + at), grad, sum);
            _mm512_storeu_ps(of_value + at, _mm512_fmadd_ps(weight, grad, _mm512_loadu_ps(of_value + at)));
        }
        energies[slot] = _mm512_reduce_add_ps(sum);
        share += weights[slot] * energies[slot];
    }
    for (int slot = 0; slot < slots; slot++)
        if (mask[slot]) energies[slot] = weights[slot] * (energies[slot] - share);
}
