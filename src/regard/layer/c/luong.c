// All steps of Luong's decoder with input feeding and a score that is a product, ahead and back; see decode/luong.py.

#include "cell.h"
#include "look.h"
#include "product.h"
#include "rows.h"

// `states` and `features` have what there is before the first step, and after each. `weights` come as zeros.
void luong_ahead(int threads, int rows, int steps, int slots, int width, int gated, int seen, int wide, float scale,
                 const half *known, const half *keys, const half *values, const uint8_t *mask, const uint32_t *own,
                 const float *own_shift, const uint32_t *fed, const uint32_t *of_context, const uint32_t *of_state,
                 const float *shift, const float *hidden, const float *cell, half *states, half *contexts,
                 half *features, float *weights, float *kept) {
    const int gates = (gated ? 4 : 3) * width, keeps = (gated ? 6 : 5) * width;
    const long apart = (long)(steps + 1) * width, wider = (long)(steps + 1) * wide;
    EACH_BLOCK {
        THIS_BLOCK
        float *inner = space((long)many * width), *owned = space((long)many * gates);
        float *read = space((long)many * gates), *made = space((long)many * wide);
        memcpy(inner, (gated ? cell : hidden) + first * width, sizeof(float) * many * width);
        for (long row = first; row < past; row++) {
            narrow(width, states + row * apart, hidden + row * width);
            memset(features + row * wider, 0, sizeof(half) * wide);
        }
        for (int step = 0; step < steps; step++) {
            product(many, states + first * apart + (long)step * width, apart, own, width, gates, owned, gates,
                    own_shift, 0);
            product(many, features + first * wider + (long)step * wide, wider, fed, wide, gates, read, gates, 0, 0);
            for (long row = first; row < past; row++) {
                const long at = row * steps + step, here = row - first;
                half *after = states + row * apart + (long)(step + 1) * width;
                cell_ahead(gated, width, known + at * gates, read + here * gates, owned + here * gates,
                           inner + here * width, after, kept + at * keeps);
                for (int slot = 0; slot < slots; slot++) {
                    lanes sum = _mm512_setzero_ps();
                    const half *key = keys + (row * slots + slot) * width;
                    if (!mask[row * slots + slot]) continue;
                    for (int k = 0; k < width; k += 16) sum = _mm512_fmadd_ps(load(after + k), load(key + k), sum);
                    weights[at * slots + slot] = scale * _mm512_reduce_add_ps(sum);
                }
                softmax(slots, mask + row * slots, weights + at * slots);
                gather(slots, seen, values + row * slots * seen, mask + row * slots, weights + at * slots,
                       contexts + at * seen);
            }
            product(many, contexts + (first * steps + step) * seen, (long)steps * seen, of_context, seen, wide, made,
                    wide, shift, 0);
            product(many, states + first * apart + (long)(step + 1) * width, apart, of_state, width, wide, made, wide,
                    0, 1);
            for (long row = first; row < past; row++)
                for (int at = 0; at < wide; at += 16)
                    store(features + row * wider + (long)(step + 1) * wide + at,
                          tangent(_mm512_loadu_ps(made + (row - first) * wide + at)));
        }
        free(inner);
        free(owned);
        free(read);
        free(made);
    }
}

// What a query's energies make of its own gradient and of the keys'.
INLINE void ask_back(int slots, int width, float scale, const half *keys, const uint8_t *mask, const half *query,
                     const float *energies, float *of_keys, float *of_query) {
    for (int at = 0; at < width; at += 16) {
        const lanes asked = load(query + at);
        lanes whole = _mm512_loadu_ps(of_query + at);
        for (int slot = 0; slot < slots; slot++) {
            if (!mask[slot]) continue;
            const lanes grad = all(scale * energies[slot]);
            float *of_key = of_keys + (long)slot * width + at;
            whole = _mm512_fmadd_ps(grad, load(keys + (long)slot * width + at), whole);
            _mm512_storeu_ps(of_key, _mm512_fmadd_ps(grad, asked, _mm512_loadu_ps(of_key)));
        }
        _mm512_storeu_ps(of_query + at, whole);
    }
}

// `before` gets the gradients of what the features are the tanh of; the matrices are packed the other way.
void luong_back(int threads, int rows, int steps, int slots, int width, int gated, int seen, int wide, float scale,
                const half *of_features, const half *keys, const half *values, const uint8_t *mask,
                const uint32_t *own, const uint32_t *fed, const uint32_t *of_context, const uint32_t *of_state,
                const half *states, const half *features, const float *weights, const float *kept, half *known,
                half *owned, half *before, float *of_keys, float *of_values, float *hidden, float *cell) {
    const int gates = (gated ? 4 : 3) * width, keeps = (gated ? 6 : 5) * width;
    const long apart = (long)(steps + 1) * width, wider = (long)(steps + 1) * wide;
    EACH_BLOCK {
        THIS_BLOCK
        float *later = space((long)many * wide), *context = space((long)many * seen), *energies = space(slots);
        memset(later, 0, sizeof(float) * many * wide);
        for (int step = steps - 1; step >= 0; step--) {
            for (long row = first; row < past; row++) {
                const long from = (row * steps + step) * wide;
                for (int at = 0; at < wide; at += 16) {
                    lanes grad = _mm512_loadu_ps(later + (row - first) * wide + at);
                    grad = _mm512_add_ps(grad, load(of_features + from + at));
                    lanes made = load(features + row * wider + (long)(step + 1) * wide + at);
                    store(before + from + at, _mm512_mul_ps(grad, slope(made)));
                }
            }
            const half *here = before + (first * steps + step) * wide;
            product(many, here, (long)steps * wide, of_context, wide, seen, context, seen, 0, 0);
            product(many, here, (long)steps * wide, of_state, wide, width, hidden + first * width, width, 0, 1);
            for (long row = first; row < past; row++) {
                const long at = row * steps + step;
                of_energies(slots, seen, values + row * slots * seen, mask + row * slots, weights + at * slots,
                            context + (row - first) * seen, energies, of_values + row * slots * seen);
                ask_back(slots, width, scale, keys + row * slots * width, mask + row * slots,
                         states + row * apart + (long)(step + 1) * width, energies, of_keys + row * slots * width,
                         hidden + row * width);
                cell_back(gated, width, hidden + row * width, cell + row * width, kept + at * keeps, known + at * gates,
                          owned + at * gates);
            }
            product(many, owned + (first * steps + step) * gates, (long)steps * gates, own, gates, width,
                    hidden + first * width, width, 0, 1);
            product(many, known + (first * steps + step) * gates, (long)steps * gates, fed, gates, wide, later, wide, 0,
                    0);
        }
        free(later);
        free(context);
        free(energies);
    }
}
