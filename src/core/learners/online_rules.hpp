// Rules: how far the weights move on an example, independent of the search that found the mistake.
//
// A search hands over what it got wrong as a list of updates, one for each wrong answer y_hat considered:
//
//   d     = f(x, y) - f(x, y_hat)       as cells with coefficients, the same cell possibly several times
//   cost  = loss of y_hat against y
//
// If a rule's `augmented` is true, the search looks for argmax score + cost instead of argmax score, so that a right
// answer with too small a margin is a mistake as well.
#pragma once

#include "online_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace chaffinch::learners {

struct Cell {
    std::int64_t at;   // index into w
    float coefficient; // of d
};

struct Update {
    std::vector<Cell> d;
    double cost = 1;

    void clear() { d.clear(); }
    void add(std::int64_t at, float coefficient) { d.push_back({at, coefficient}); }
};

namespace online {

// Merges equal cells, in ascending order, and drops zeros.
inline void merge(std::vector<Cell>& d) {
    std::ranges::sort(d, {}, &Cell::at);
    std::size_t n = 0;
    for (std::size_t i = 0; i < d.size();) {
        Cell sum = d[i++];
        while (i < d.size() && d[i].at == sum.at) sum.coefficient += d[i++].coefficient;
        if (sum.coefficient != 0) d[n++] = sum;
    }
    d.resize(n);
}

inline double dot(const float* w, const std::vector<Cell>& d) {
    double sum = 0;
    for (const Cell& c : d) sum += static_cast<double>(w[c.at]) * static_cast<double>(c.coefficient);
    return sum;
}

inline double squared_length(const std::vector<Cell>& d) {
    double sum = 0;
    for (const Cell& c : d) sum += static_cast<double>(c.coefficient) * static_cast<double>(c.coefficient);
    return sum;
}

inline void move(OnlineWeights& weights, const std::vector<Cell>& d, float step) {
    for (const Cell& c : d) weights.add(c.at, step * c.coefficient);
}

} // namespace online

// w += step d, for the first update alone (Rosenblatt 1958; Collins 2002 for structures).
//
// With augmented search this is the perceptron with margin (Krauth and Mezard 1987): as if the step were 1 and the cost
// counted 1 / step times.
template <bool Augmented> struct StepRule {
    static constexpr bool augmented = Augmented;
    static constexpr bool confident = false;

    float step = 1;

    void operator()(OnlineWeights& weights, std::span<Update> updates) const {
        constexpr std::size_t ahead = 8;
        const std::vector<Cell>& d = updates.front().d;
        for (std::size_t i = 0; i < d.size(); ++i) {
            if (i + ahead < d.size()) weights.prefetch(d[i + ahead].at);
            weights.add(d[i].at, step * d[i].coefficient);
        }
    }
};

using PerceptronRule = StepRule<false>;
using MarginPerceptronRule = StepRule<true>;

// The smallest change of w that puts every y_hat below y by its cost, no multiplier above C:
//
//   one update:  tau = min(C, max(0, cost - w.d) / |d|^2),  w += tau d         (PA-I, Crammer et al. 2006)
//   several:     the same in turns, each tau_i kept in [0, C], until nothing moves     (Hildreth 1957)
//
// With augmented search this is MIRA (Crammer and Singer 2003; k-best: McDonald et al. 2005).
template <bool Augmented> struct MarginRule {
    static constexpr bool augmented = Augmented;
    static constexpr bool confident = false;

    double C = 1;
    int turns = 50;
    std::vector<double> tau, length;

    void operator()(OnlineWeights& weights, std::span<Update> updates) {
        tau.assign(updates.size(), 0.0);
        length.resize(updates.size());
        for (std::size_t i = 0; i < updates.size(); ++i) {
            online::merge(updates[i].d);
            length[i] = online::squared_length(updates[i].d);
        }
        double moved = 1;
        for (int turn = 0; turn < (updates.size() == 1 ? 1 : turns) && moved > 1e-6; ++turn) {
            moved = 0;
            for (std::size_t i = 0; i < updates.size(); ++i) {
                if (length[i] == 0) continue;
                const double missing = updates[i].cost - online::dot(weights.w(), updates[i].d);
                const double next = std::clamp(tau[i] + missing / length[i], 0.0, C);
                if (next == tau[i]) continue;
                online::move(weights, updates[i].d, static_cast<float>(next - tau[i]));
                moved += std::abs(next - tau[i]);
                tau[i] = next;
            }
        }
    }
};

using PassiveAggressiveRule = MarginRule<false>;
using MiraRule = MarginRule<true>;

// Adaptive regularisation of weights, with a variance sigma for each cell (Crammer, Kulesza and Dredze 2009):
//
//   beta  = 1 / (sum_c sigma_c d_c^2 + r),   alpha = beta max(0, cost - w.d)
//   w_c  += alpha sigma_c d_c,               sigma_c -= beta (sigma_c d_c)^2
struct ArowRule {
    static constexpr bool augmented = true;
    static constexpr bool confident = true;

    double r = 1;

    void operator()(OnlineWeights& weights, std::span<Update> updates) const {
        std::vector<Cell>& d = updates.front().d;
        online::merge(d);
        const double missing = updates.front().cost - online::dot(weights.w(), d);
        if (missing <= 0) return;
        float* sigma = weights.sigma();
        double variance = 0;
        for (const Cell& c : d)
            variance += static_cast<double>(sigma[c.at]) * static_cast<double>(c.coefficient * c.coefficient);
        const double beta = 1 / (variance + r);
        const auto alpha = static_cast<float>(beta * missing);
        for (const Cell& c : d) {
            const float s = sigma[c.at] * c.coefficient;
            weights.add(c.at, alpha * s);
            sigma[c.at] -= static_cast<float>(beta) * s * s;
        }
    }
};

using AnyRule = std::variant<PerceptronRule, MarginPerceptronRule, PassiveAggressiveRule, MiraRule, ArowRule>;

inline bool is_confident(const AnyRule& rule) {
    return std::visit([](const auto& r) { return r.confident; }, rule);
}

} // namespace chaffinch::learners
