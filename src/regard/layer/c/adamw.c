// AdamW over many tensors at once (Loshchilov 2019), as torch's fused kernel has it, and the norm of their gradients.
//
// Tensors are cut into pieces of whole rows, so that threads have as much to do; what comes out does not depend on how
// many there are. The gradient of an embedding may be of a few rows only: `rows` then says for each row of the weight
// where its gradient lies, or -1 where it has none.

#include "lanes.h"

#define PIECE 65536  // numbers

typedef struct {
    int tensor;
    long first, past;
} Piece;

static Piece *cut(int tensors, const int64_t *sizes, const int64_t *widths, long *many) {
    long count = 0;
    for (int t = 0; t < tensors; t++) count += 2 + sizes[t] / PIECE * 2;
    Piece *pieces = malloc(sizeof(Piece) * (count + 1)), *next = pieces;
    for (int t = 0; t < tensors; t++) {
        const long width = widths[t], each = width > PIECE ? width : PIECE / width * width;
        for (long first = 0; first < sizes[t]; first += each)
            *next++ = (Piece){t, first, first + each < sizes[t] ? first + each : sizes[t]};
    }
    *many = next - pieces;
    return pieces;
}

// The gradient of a few rows, of which some may stand more than once: each is summed where it stands first, and left
// zero elsewhere. `rows`, which comes as -1, then says where that is.
void merge(int threads, int count, int width, const int64_t *indices, float *values, int32_t *rows) {
    (void)threads;
    for (long number = 0; number < count; number++) {
        const int32_t first = rows[indices[number]];
        if (first < 0) {
            rows[indices[number]] = (int32_t)number;
            continue;
        }
        float *to = values + (long)first * width, *from = values + number * width;
        for (int at = 0; at < width; at++) {
            to[at] += from[at];
            from[at] = 0;
        }
    }
}

void norm(int threads, int tensors, const int64_t *sizes, const float **gradients, float *result) {
    long many;
    int64_t *ones = malloc(sizeof(int64_t) * (tensors + 1));
    for (int t = 0; t < tensors; t++) ones[t] = 1;
    Piece *pieces = cut(tensors, sizes, ones, &many);
    double *sums = malloc(sizeof(double) * (many + 1)), whole = 0;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (long number = 0; number < many; number++) {
        const float *x = gradients[pieces[number].tensor];
        const long past = pieces[number].past;
        long at = pieces[number].first;
        lanes sum[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
        for (; at + 64 <= past; at += 64)
            for (int k = 0; k < 4; k++) {
                lanes each = _mm512_loadu_ps(x + at + 16 * k);
                sum[k] = _mm512_fmadd_ps(each, each, sum[k]);
            }
        double total = 0;
        for (int k = 0; k < 4; k++) total += _mm512_reduce_add_ps(sum[k]);
        for (; at < past; at++) total += x[at] * x[at];
        sums[number] = total;
    }
    for (long number = 0; number < many; number++) whole += sums[number];
    *result = (float)sqrt(whole);
    free(sums);
    free(pieces);
    free(ones);
}

typedef struct {
    lanes scale, rise, keep, add, shrink, stride, root, epsilon;
} Rule;

// Sixteen numbers, or as many as `here` says.
INLINE void stride(const Rule rule, const __mmask16 here, const float *gradient, float *w, float *m, float *v) {
    lanes grad = _mm512_setzero_ps(), first = _mm512_maskz_loadu_ps(here, m), second = _mm512_maskz_loadu_ps(here, v);
    if (gradient) grad = _mm512_mul_ps(_mm512_maskz_loadu_ps(here, gradient), rule.scale);
    first = _mm512_fmadd_ps(rule.rise, _mm512_sub_ps(grad, first), first);
    second = _mm512_fmadd_ps(_mm512_mul_ps(rule.add, grad), grad, _mm512_mul_ps(rule.keep, second));
    lanes below = _mm512_fmadd_ps(_mm512_sqrt_ps(second), rule.root, rule.epsilon);
    lanes weight = _mm512_mul_ps(_mm512_maskz_loadu_ps(here, w), rule.shrink);
    weight = _mm512_fnmadd_ps(rule.stride, _mm512_div_ps(first, below), weight);
    _mm512_mask_storeu_ps(w, here, weight);
    _mm512_mask_storeu_ps(m, here, first);
    _mm512_mask_storeu_ps(v, here, second);
}

INLINE void descend(long count, const Rule rule, const float *gradient, float *w, float *m, float *v) {
    long at = 0;
    if (gradient)
        for (; at + 16 <= count; at += 16) stride(rule, 0xffff, gradient + at, w + at, m + at, v + at);
    else
        for (; at + 16 <= count; at += 16) stride(rule, 0xffff, 0, w + at, m + at, v + at);
    if (at < count)
        stride(rule, (__mmask16)((1u << (count - at)) - 1), gradient ? gradient + at : 0, w + at, m + at, v + at);
}

// Of each tensor: `shrinks` is 1 - rate · decay, `strides` rate / (1 - β₁ⁿ), `roots` 1 / √(1 - β₂ⁿ). Gradients are
// multiplied by `scale` as they are read.
void adamw(int threads, int tensors, const int64_t *sizes, const int64_t *widths, float **weights,
           const float **gradients, const int32_t **rows, float **firsts, float **seconds, const float *shrinks,
           const float *strides, const float *roots, float beta1, float beta2, float epsilon, float scale) {
    long many;
    Piece *pieces = cut(tensors, sizes, widths, &many);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (long number = 0; number < many; number++) {
        const Piece piece = pieces[number];
        const int t = piece.tensor;
        const long width = widths[t];
        const Rule rule = {all(scale),      all(1 - beta1),  all(beta2),    all(1 - beta2),
                           all(shrinks[t]), all(strides[t]), all(roots[t]), all(epsilon)};
        float *w = weights[t], *m = firsts[t], *v = seconds[t];
        if (!rows[t]) {
            const long at = piece.first;
            descend(piece.past - at, rule, gradients[t] + at, w + at, m + at, v + at);
            continue;
        }
        for (long at = piece.first; at < piece.past; at += width) {
            const int32_t found = rows[t][at / width];
            descend(width, rule, found < 0 ? 0 : gradients[t] + found * width, w + at, m + at, v + at);
        }
    }
    free(pieces);
}
