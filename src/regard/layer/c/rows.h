// Rows know nothing of each other: a thread takes a block of them through all steps and waits for nobody. What a row
// gives does not depend on how many threads there are.

#pragma once
#include "lanes.h"

#define BLOCK 48  // rows at most: what they need stays near

INLINE void add_half(int width, float *to, const half *more) {
    for (int at = 0; at < width; at += 16)
        _mm512_storeu_ps(to + at, _mm512_add_ps(_mm512_loadu_ps(to + at), load(more + at)));
}

INLINE void narrow(int width, half *to, const float *from) {
    for (int at = 0; at < width; at += 16) store(to + at, _mm512_loadu_ps(from + at));
}

static float *space(long numbers) { return aligned_alloc(64, ((sizeof(float) * numbers + 63) / 64) * 64); }

// Rows in blocks, so that every thread has as many.
#define EACH_BLOCK                                                                                        \
    int share = (rows + threads - 1) / threads, blocks = threads * ((share + BLOCK - 1) / BLOCK);         \
    _Pragma("omp parallel for num_threads(threads) schedule(static)") for (int block = 0; block < blocks; block++)

#define THIS_BLOCK                                                                                        \
    const long first = (long)rows * block / blocks, past = (long)rows * (block + 1) / blocks;             \
    const int many = (int)(past - first);                                                                 \
    if (!many) continue;
