// All steps of a recurrent layer, ahead and back; see layer/scan.py and encode/loops.py.

#include "cell.h"
#include "product.h"
#include "rows.h"

// Where one direction stands among several: what it reads begins at `known` of each place's `knowns` numbers, what it
// tells at `told` of `tolds`. With lengths, a row is read from its last real place to its first; padding stays.
#define DIRECTION const int64_t *lengths, int known_at, int knowns, int told_at, int tolds

INLINE long place(const int64_t *lengths, long row, int steps, int step) {
    return row * steps + (lengths && step < lengths[row] ? lengths[row] - 1 - step : step);
}

// `states` has the state before the first step, and the one after each, in the order of the steps; `told` those after
// each where they belong.
void layer_ahead(int threads, int rows, int steps, int width, int gated, DIRECTION, const half *known,
                 const uint32_t *own, const float *shift, const float *hidden, const float *cell, half *states,
                 half *told, float *kept) {
    const int gates = (gated ? 4 : 3) * width, keeps = (gated ? 6 : 5) * width;
    const long apart = (long)(steps + 1) * width;
    EACH_BLOCK {
        THIS_BLOCK
        float *inner = space((long)many * width), *owned = space((long)many * gates);
        memcpy(inner, (gated ? cell : hidden) + first * width, sizeof(float) * many * width);
        for (long row = first; row < past; row++) narrow(width, states + row * apart, hidden + row * width);
        for (int step = 0; step < steps; step++) {
            product(many, states + first * apart + (long)step * width, apart, own, width, gates, owned, gates, shift,
                    0);
            for (long row = first; row < past; row++) {
                const long here = place(lengths, row, steps, step);
                half *after = states + row * apart + (long)(step + 1) * width;
                cell_ahead(gated, width, known + here * knowns + known_at, 0, owned + (row - first) * gates,
                           inner + (row - first) * width, after, kept + (row * steps + step) * keeps);
                if (told) memcpy(told + here * tolds + told_at, after, sizeof(half) * width);
            }
        }
        free(inner);
        free(owned);
    }
}

// `hidden` and `cell` come as the gradients of the last state and go as those of the first.
void layer_back(int threads, int rows, int steps, int width, int gated, DIRECTION, const half *told,
                const uint32_t *own, const float *kept, half *known, half *owned, float *hidden, float *cell) {
    const int gates = (gated ? 4 : 3) * width, keeps = (gated ? 6 : 5) * width;
    EACH_BLOCK {
        THIS_BLOCK
        for (int step = steps - 1; step >= 0; step--) {
            for (long row = first; row < past; row++) {
                const long at = row * steps + step, here = place(lengths, row, steps, step);
                add_half(width, hidden + row * width, told + here * tolds + told_at);
                cell_back(gated, width, hidden + row * width, cell + row * width, kept + at * keeps,
                          known + here * knowns + known_at, owned + at * gates);
            }
            product(many, owned + (first * steps + step) * gates, (long)steps * gates, own, gates, width,
                    hidden + first * width, width, 0, 1);
        }
    }
}
