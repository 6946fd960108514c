// The surprise of symbols and its gradient; see model/likelihood.py. The exponentials are made again on the way back:
// that is as quick as to keep them, and the gradient is rounded once.

#include "lanes.h"

INLINE lanes some(const half *from, int count) {
    half sixteen[16] = {0};
    memcpy(sixteen, from, sizeof(half) * count);
    return load(sixteen);
}

// `whole` are the logarithms of the sums of exponentials, `each` the smoothed surprise.
void surprise_ahead(int threads, int rows, int symbols, float smoothing, const half *logits, const int64_t *gold,
                    float *whole, float *each) {
    const int full = symbols & ~15, rest = symbols - full;
    const __mmask16 left = (__mmask16)((1u << rest) - 1);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int row = 0; row < rows; row++) {
        const half *from = logits + (long)row * symbols;
        lanes greatest = all(-INFINITY), mean = _mm512_setzero_ps(), total = _mm512_setzero_ps();
        for (int at = 0; at < full; at += 16) {
            lanes x = load(from + at);
            greatest = _mm512_max_ps(greatest, x);
            mean = _mm512_add_ps(mean, x);
        }
        const lanes end = some(from + full, rest);
        greatest = _mm512_mask_max_ps(greatest, left, greatest, end);
        mean = _mm512_mask_add_ps(mean, left, mean, end);
        const float top = _mm512_reduce_max_ps(greatest);
        for (int at = 0; at < full; at += 16)
            total = _mm512_add_ps(total, exponential(_mm512_sub_ps(load(from + at), all(top))));
        total = _mm512_mask_add_ps(total, left, total, exponential(_mm512_sub_ps(end, all(top))));
        const float chosen = wide(from[gold[row]]), log_sum = top + logf(_mm512_reduce_add_ps(total));
        whole[row] = log_sum;
        each[row] = (1 - smoothing) * (log_sum - chosen);
        if (smoothing != 0) each[row] += smoothing * (log_sum - _mm512_reduce_add_ps(mean) / (float)symbols);
    }
}

// From the gradients of each surprise to those of the logits.
void surprise_back(int threads, int rows, int symbols, float smoothing, const half *logits, const int64_t *gold,
                   const float *whole, const float *each, half *found) {
    const int full = symbols & ~15, rest = symbols - full;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int row = 0; row < rows; row++) {
        const half *from = logits + (long)row * symbols;
        half *to = found + (long)row * symbols;
        if (each[row] == 0) {
            memset(to, 0, sizeof(half) * symbols);
            continue;
        }
        const float base = smoothing / (float)symbols * each[row];
        const lanes scale = all(each[row]), less = all(base), log_sum = all(whole[row]);
        for (int at = 0; at < full; at += 16)
            store(to + at, _mm512_fmsub_ps(exponential(_mm512_sub_ps(load(from + at), log_sum)), scale, less));
        half sixteen[16];
        store(sixteen, _mm512_fmsub_ps(exponential(_mm512_sub_ps(some(from + full, rest), log_sum)), scale, less));
        memcpy(to + full, sixteen, sizeof(half) * rest);
        const float odds = expf(wide(from[gold[row]]) - whole[row]);
        store(sixteen, all((odds - (1 - smoothing)) * each[row] - base));
        to[gold[row]] = sixteen[0];
    }
}
