// One step of a cell for one row, and its derivative; see layer/cell.py for the equations.
//
// What a cell keeps of a step: 5 numbers a unit (GRU), 6 (LSTM); products of its gates that its derivative needs.

#pragma once
#include "lanes.h"

INLINE void gru_ahead(int width, const half *known, const float *fed, const float *own, float *state, half *after,
                      float *kept) {
    for (int at = 0; at < width; at += 16) {
        lanes gate[3];
        for (int g = 0; g < 3; g++) {
            gate[g] = load(known + g * width + at);
            if (fed) gate[g] = _mm512_add_ps(gate[g], _mm512_loadu_ps(fed + g * width + at));
        }
        lanes seen = _mm512_loadu_ps(own + 2 * width + at), before = _mm512_loadu_ps(state + at);
        lanes reset = logistic(_mm512_add_ps(gate[0], _mm512_loadu_ps(own + at)));
        lanes keep = logistic(_mm512_add_ps(gate[1], _mm512_loadu_ps(own + width + at)));
        lanes fresh = tangent(_mm512_fmadd_ps(reset, seen, gate[2]));
        lanes apart = _mm512_sub_ps(before, fresh), now = _mm512_fmadd_ps(keep, apart, fresh);
        _mm512_storeu_ps(state + at, now);
        store(after + at, now);
        _mm512_storeu_ps(kept + at, keep);
        _mm512_storeu_ps(kept + width + at, reset);
        _mm512_storeu_ps(kept + 2 * width + at, _mm512_mul_ps(_mm512_sub_ps(all(1.0f), keep), slope(fresh)));
        _mm512_storeu_ps(kept + 3 * width + at, _mm512_mul_ps(seen, bump(reset)));
        _mm512_storeu_ps(kept + 4 * width + at, _mm512_mul_ps(apart, bump(keep)));
    }
}

// From the gradient of the state after the step to those of the gates, of `own`, and (but for what goes through `own`)
// of the state before it.
INLINE void gru_back(int width, float *hidden, const float *kept, half *gates, half *own) {
    for (int at = 0; at < width; at += 16) {
        lanes after = _mm512_loadu_ps(hidden + at);
        lanes fresh = _mm512_mul_ps(after, _mm512_loadu_ps(kept + 2 * width + at));
        lanes reset = _mm512_mul_ps(fresh, _mm512_loadu_ps(kept + 3 * width + at));
        lanes keep = _mm512_mul_ps(after, _mm512_loadu_ps(kept + 4 * width + at));
        store(gates + at, reset);
        store(gates + width + at, keep);
        store(gates + 2 * width + at, fresh);
        store(own + at, reset);
        store(own + width + at, keep);
        store(own + 2 * width + at, _mm512_mul_ps(fresh, _mm512_loadu_ps(kept + width + at)));
        _mm512_storeu_ps(hidden + at, _mm512_mul_ps(after, _mm512_loadu_ps(kept + at)));
    }
}

INLINE void lstm_ahead(int width, const half *known, const float *fed, const float *own, float *cell, half *after,
                       float *kept) {
    for (int at = 0; at < width; at += 16) {
        lanes gate[4];
        for (int g = 0; g < 4; g++) {
            gate[g] = _mm512_add_ps(load(known + g * width + at), _mm512_loadu_ps(own + g * width + at));
            if (fed) gate[g] = _mm512_add_ps(gate[g], _mm512_loadu_ps(fed + g * width + at));
        }
        lanes into = logistic(gate[0]), keep = logistic(gate[1]), fresh = tangent(gate[2]), out = logistic(gate[3]);
        lanes before = _mm512_loadu_ps(cell + at);
        lanes now = _mm512_fmadd_ps(into, fresh, _mm512_mul_ps(keep, before)), shown = tangent(now);
        _mm512_storeu_ps(cell + at, now);
        store(after + at, _mm512_mul_ps(out, shown));
        _mm512_storeu_ps(kept + at, keep);
        _mm512_storeu_ps(kept + width + at, _mm512_mul_ps(out, slope(shown)));
        _mm512_storeu_ps(kept + 2 * width + at, _mm512_mul_ps(fresh, bump(into)));
        _mm512_storeu_ps(kept + 3 * width + at, _mm512_mul_ps(before, bump(keep)));
        _mm512_storeu_ps(kept + 4 * width + at, _mm512_mul_ps(into, slope(fresh)));
        _mm512_storeu_ps(kept + 5 * width + at, _mm512_mul_ps(shown, bump(out)));
    }
}

INLINE void lstm_back(int width, float *hidden, float *cell, const float *kept, half *gates) {
    for (int at = 0; at < width; at += 16) {
        lanes after = _mm512_loadu_ps(hidden + at);
        lanes whole = _mm512_fmadd_ps(after, _mm512_loadu_ps(kept + width + at), _mm512_loadu_ps(cell + at));
        store(gates + at, _mm512_mul_ps(whole, _mm512_loadu_ps(kept + 2 * width + at)));
        store(gates + width + at, _mm512_mul_ps(whole, _mm512_loadu_ps(kept + 3 * width + at)));
        store(gates + 2 * width + at, _mm512_mul_ps(whole, _mm512_loadu_ps(kept + 4 * width + at)));
        store(gates + 3 * width + at, _mm512_mul_ps(after, _mm512_loadu_ps(kept + 5 * width + at)));
        _mm512_storeu_ps(cell + at, _mm512_mul_ps(whole, _mm512_loadu_ps(kept + at)));
        _mm512_storeu_ps(hidden + at, _mm512_setzero_ps());
    }
}

// What a cell remembers in float32 is its state (GRU) or its cell (LSTM); `kept` has 5 or 6 widths a step.

INLINE void cell_ahead(int gated, int width, const half *known, const float *fed, const float *own, float *inner,
                       half *after, float *kept) {
    if (gated) lstm_ahead(width, known, fed, own, inner, after, kept);
    else gru_ahead(width, known, fed, own, inner, after, kept);
}

INLINE void cell_back(int gated, int width, float *hidden, float *cell, const float *kept, half *gates, half *own) {
    if (gated) {
        lstm_back(width, hidden, cell, kept, gates);
        memcpy(own, gates, sizeof(half) * 4 * width);
    } else gru_back(width, hidden, kept, gates, own);
}
