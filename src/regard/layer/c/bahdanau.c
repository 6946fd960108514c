// All steps of Bahdanau's decoder, ahead and back; see decode/unrolled.py for the equations.

#include "cell.h"
#include "look.h"
#include "product.h"
#include "rows.h"

// One query of one row: its weights, and the context as a bfloat16.
INLINE void look(int slots, int inner, int seen, const half *keys, const half *values, const uint8_t *mask,
                 const float *query, const float *energy, float *weights, half *context) {
    for (int slot = 0; slot < slots; slot++) {
        if (!mask[slot]) continue;
        lanes sum = _mm512_setzero_ps();
        for (int at = 0; at < inner; at += 16) {
            lanes curve = tangent(_mm512_add_ps(load(keys + (long)slot * inner + at), _mm512_loadu_ps(query + at)));
            sum = _mm512_fmadd_ps(curve, _mm512_loadu_ps(energy + at), sum);
        }
        weights[slot] = _mm512_reduce_add_ps(sum);
    }
    softmax(slots, mask, weights);
    gather(slots, seen, values, mask, weights, context);
}

void bahdanau_ahead(int threads, int rows, int steps, int slots, int width, int gated, int inner, int seen,
                   const half *known, const half *keys, const half *values, const uint8_t *mask, const uint32_t *both,
                   const float *shift, const float *energy, const uint32_t *fed, const float *hidden,
                   const float *cell, half *states, half *contexts, float *queries, float *weights, float *kept) {
    const int gates = (gated ? 4 : 3) * width, keeps = (gated ? 6 : 5) * width, asks = inner + gates;
    const long apart = (long)(steps + 1) * width;
    EACH_BLOCK {
        THIS_BLOCK
        float *within = space((long)many * width), *asked = space((long)many * asks), *read = space((long)many * gates);
        memcpy(within, (gated ? cell : hidden) + first * width, sizeof(float) * many * width);
        for (long row = first; row < past; row++) narrow(width, states + row * apart, hidden + row * width);
        for (int step = 0; step < steps; step++) {
            product(many, states + first * apart + (long)step * width, apart, both, width, asks, asked, asks, shift, 0);
            for (long row = first; row < past; row++) {
                const long at = row * steps + step;
                const float *query = asked + (row - first) * asks;
                memcpy(queries + at * inner, query, sizeof(float) * inner);
                look(slots, inner, seen, keys + row * slots * inner, values + row * slots * seen, mask + row * slots,
                     query, energy, weights + at * slots, contexts + at * seen);
            }
            product(many, contexts + (first * steps + step) * seen, (long)steps * seen, fed, seen, gates, read, gates,
                    0, 0);
            for (long row = first; row < past; row++) {
                const long at = row * steps + step, here = row - first;
                cell_ahead(gated, width, known + at * gates, read + here * gates, asked + here * asks + inner,
                           within + here * width, states + row * apart + (long)(step + 1) * width, kept + at * keeps);
            }
        }
        free(within);
        free(asked);
        free(read);
    }
}

// From the gradient of a context to those of values, keys, query and of v, which are summed over steps.
INLINE void look_back(int slots, int inner, int seen, const half *keys, const half *values, const uint8_t *mask,
                      const float *query, const float *energy, const float *weights, const float *context,
                      float *scratch, float *of_keys, float *of_values, float *of_energy, half *of_query) {
    of_energies(slots, seen, values, mask, weights, context, scratch, of_values);
    for (int at = 0; at < inner; at += 16) {
        lanes asked = _mm512_loadu_ps(query + at), scale = _mm512_loadu_ps(energy + at);
        lanes whole = _mm512_setzero_ps(), curves = _mm512_loadu_ps(of_energy + at);
        for (int slot = 0; slot < slots; slot++) {
            if (!mask[slot]) continue;
            lanes curve = tangent(_mm512_add_ps(load(keys + (long)slot * inner + at), asked));
            lanes grad = all(scratch[slot]);
            curves = _mm512_fmadd_ps(grad, curve, curves);
            grad = _mm512_mul_ps(_mm512_mul_ps(grad, scale), slope(curve));
            whole = _mm512_add_ps(whole, grad);
            float *of_key = of_keys + (long)slot * inner + at;
            _mm512_storeu_ps(of_key, _mm512_add_ps(_mm512_loadu_ps(of_key), grad));
        }
        _mm512_storeu_ps(of_energy + at, curves);
        store(of_query + at, whole);
    }
}

// `asked` gets the gradients of what the state went through: the query and the cell's own part, side by side.
void bahdanau_back(int threads, int rows, int steps, int slots, int width, int gated, int inner, int seen,
                  const half *tops, const half *contexts, const half *keys, const half *values, const uint8_t *mask,
                  const uint32_t *both, const float *energy, const uint32_t *fed, const float *queries,
                  const float *weights, const float *kept, half *known, half *asked, float *of_keys, float *of_values,
                  float *of_energy, float *hidden, float *cell) {
    const int gates = (gated ? 4 : 3) * width, keeps = (gated ? 6 : 5) * width, asks = inner + gates;
    EACH_BLOCK {
        THIS_BLOCK
        float *read = space((long)many * seen), *scratch = space(slots);
        for (int step = steps - 1; step >= 0; step--) {
            for (long row = first; row < past; row++) {
                const long at = row * steps + step;
                add_half(width, hidden + row * width, tops + at * width);
                cell_back(gated, width, hidden + row * width, cell + row * width, kept + at * keeps, known + at * gates,
                          asked + at * asks + inner);
            }
            product(many, known + (first * steps + step) * gates, (long)steps * gates, fed, gates, seen, read, seen, 0,
                    0);
            for (long row = first; row < past; row++) {
                const long at = row * steps + step;
                float *context = read + (row - first) * seen;
                add_half(seen, context, contexts + at * seen);
                look_back(slots, inner, seen, keys + row * slots * inner, values + row * slots * seen,
                          mask + row * slots, queries + at * inner, energy, weights + at * slots, context, scratch,
                          of_keys + row * slots * inner, of_values + row * slots * seen, of_energy + row * inner,
                          asked + at * asks);
            }
            product(many, asked + (first * steps + step) * asks, (long)steps * asks, both, asks, width,
                    hidden + first * width, width, 0, 1);
        }
        free(read);
        free(scratch);
    }
}
