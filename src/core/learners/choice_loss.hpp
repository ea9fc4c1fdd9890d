// Losses of one example as a function of its scores s [Y], and the direction d = -gradient in which scores should move.
//
//   softmax     log sum_y exp s_y - sum_y q_y s_y                      d = q - softmax(s)
//   sigmoid     sum_y log(1 + exp s_y) - q_y s_y                       d = q - 1 / (1 + exp(-s))
//   hinge       max_y (s_y + [y != g]) - s_g,  g = argmax q            d = [g] - [that y]
//   perceptron  max_y s_y - s_g; a tie at the top counts against g     d = [g] - [that y]
#pragma once

#include "aligned.hpp"
#include "exp.hpp"

#include <cmath>
#include <cstdint>

namespace chaffinch::learners {

enum class ChoiceLoss { softmax, sigmoid, hinge, perceptron };

namespace losses {

// out[i] = exp(x[i] - shift) for whole packs; x and out may be the same.
CHAFFINCH_INLINE void exp_row(std::int64_t S, const float* x, float shift, float* out) {
    for (std::int64_t y = 0; y < S; y += machine::lanes) {
        machine::Pack<float> pack;
        machine::get(pack, x + y);
        pack -= shift;
        machine::exp_in_place(pack);
        machine::put(out + y, pack);
    }
}

CHAFFINCH_INLINE double softmax(std::int64_t Y, std::int64_t S, const float* s, const float* q, float* d) {
    float top = s[0];
    for (std::int64_t y = 1; y < Y; ++y) top = s[y] > top ? s[y] : top;
    exp_row(S, s, top, d);
    float total = 0, gold = 0, mass = 0;
    for (std::int64_t y = 0; y < Y; ++y) total += d[y], gold += q[y] * (s[y] - top), mass += q[y];
    const float scale = mass / total;
    for (std::int64_t y = 0; y < Y; ++y) d[y] = q[y] - scale * d[y];
    for (std::int64_t y = Y; y < S; ++y) d[y] = 0;
    return static_cast<double>(mass * std::log(total) - gold);
}

CHAFFINCH_INLINE double sigmoid(std::int64_t Y, std::int64_t S, const float* s, const float* q, float* d) {
    double loss = 0;
    for (std::int64_t y = 0; y < S; ++y) d[y] = s[y] < 0 ? s[y] : -s[y];
    exp_row(S, d, 0.0f, d);
    for (std::int64_t y = 0; y < Y; ++y) {
        const float e = d[y], p = (s[y] < 0 ? e : 1.0f) / (1.0f + e);
        loss += static_cast<double>((s[y] > 0 ? s[y] : 0.0f) + std::log1p(e) - q[y] * s[y]);
        d[y] = q[y] - p;
    }
    for (std::int64_t y = Y; y < S; ++y) d[y] = 0;
    return loss;
}

CHAFFINCH_INLINE double margin(std::int64_t Y, std::int64_t S, const float* s, const float* q, float cost, float* d) {
    std::int64_t gold = 0;
    for (std::int64_t y = 1; y < Y; ++y) gold = q[y] > q[gold] ? y : gold;
    std::int64_t worst = -1;
    float most = 0;
    for (std::int64_t y = 0; y < Y; ++y)
        if (y != gold && (worst < 0 || s[y] > most)) worst = y, most = s[y];
    for (std::int64_t y = 0; y < S; ++y) d[y] = 0;
    if (worst < 0) return 0;
    const float loss = most + cost - s[gold];
    if (loss < 0 || (cost > 0 && loss == 0)) return 0;
    d[gold] = 1, d[worst] = -1;
    return static_cast<double>(loss);
}

} // namespace losses

// The loss; d [S] is overwritten, zero beyond Y.
CHAFFINCH_INLINE double choice_loss(ChoiceLoss loss, std::int64_t Y, std::int64_t S, const float* s, const float* q,
                                    float* d) {
    switch (loss) {
    case ChoiceLoss::softmax: return losses::softmax(Y, S, s, q, d);
    case ChoiceLoss::sigmoid: return losses::sigmoid(Y, S, s, q, d);
    case ChoiceLoss::hinge: return losses::margin(Y, S, s, q, 1.0f, d);
    case ChoiceLoss::perceptron: return losses::margin(Y, S, s, q, 0.0f, d);
    }
    return 0;
}

} // namespace chaffinch::learners
