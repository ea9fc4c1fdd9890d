// Exact search for the online loop: the chain's best labelling, or its k best.
//
// The weights are rows of stride S = padded(Y): unary [F], then pair [Y], start and end, at the cells ChainCells says.
#pragma once

#include "chain.hpp"
#include "linear_chain.hpp"
#include "online.hpp"
#include "score.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::learners {

// Where the blocks begin in w; unary begins at 0.
struct ChainCells {
    std::int64_t Y = 0;
    std::int64_t S = 0;
    std::int64_t pair = 0;  // [Y][S]
    std::int64_t start = 0; // [S]
    std::int64_t end = 0;   // [S]
};

// Allowed transitions, first and last labels. A null pointer: all.
struct ChainMasks {
    const std::uint8_t* transitions = nullptr; // [Y][Y]
    const std::uint8_t* start = nullptr;       // [Y]
    const std::uint8_t* end = nullptr;         // [Y]
};

class ChainSearch {
  public:
    // k: how many wrong answers the rule gets.
    ChainSearch(const scorers::SentenceRows& examples, std::span<const std::int32_t> gold, const ChainCells& cells,
                const ChainMasks& masks, std::int64_t k)
        : examples_(examples), gold_(gold), cells_(cells), masks_(masks), k_(k) {}

    const scorers::SentenceRows& examples() const { return examples_; }

    // Other sentences to learn from.
    void take(const scorers::SentenceRows& examples, std::span<const std::int32_t> gold) { examples_ = examples, gold_ = gold; }

    // The weights were replaced.
    void forget_weights() { stale_ = true; }

    template <class Rule> Tally learn(std::int64_t n, OnlineWeights& weights, Rule& rule) {
        const std::int64_t from = examples_.sentences[n];
        const std::int64_t T = examples_.sentences[n + 1] - from;
        Tally tally{.decisions = T};
        if (T > 0) {
            const std::int32_t* y = gold_.data() + from;
            score(weights, from, T);
            if constexpr (Rule::augmented) add_cost(y, T);
            const std::int64_t found = search(weights, T);
            tally.mistakes = found == 0 ? 0 : wrong(y, labels_.data(), T);
            std::size_t several = 0;
            for (std::int64_t i = 0; i < found; ++i) {
                const std::int32_t* y_hat = labels_.data() + i * T;
                const std::int64_t cost = wrong(y, y_hat, T);
                if (cost == 0) continue;
                if (updates_.size() == several) updates_.emplace_back();
                difference(y, y_hat, from, T, updates_[several]);
                updates_[several++].cost = static_cast<double>(cost);
            }
            if (several > 0) {
                rule(weights, std::span(updates_.data(), several));
                stale_ = true;
                tally.updates = 1;
            }
        }
        weights.tick();
        return tally;
    }

  private:
    static std::int64_t wrong(const std::int32_t* y, const std::int32_t* y_hat, std::int64_t T) {
        std::int64_t n = 0;
        for (std::int64_t t = 0; t < T; ++t) n += y[t] != y_hat[t];
        return n;
    }

    void score(const OnlineWeights& weights, std::int64_t from, std::int64_t T) {
        scorers::score_rows(examples_.ptr.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(T + 1)),
                   examples_.ids, weights.w(), cells_.S, machine::room(unary_, T * cells_.S), examples_.values);
    }

    // Hamming cost as potentials: one for every wrong label.
    void add_cost(const std::int32_t* y, std::int64_t T) {
        for (std::int64_t t = 0; t < T; ++t) {
            float* row = unary_.data() + t * cells_.S;
            for (std::int64_t a = 0; a < cells_.Y; ++a) row[a] += a == y[t] ? 0.0f : 1.0f;
        }
    }

    // Writes the best labellings to labels_ [found][T]; none if the masks allow none.
    std::int64_t search(const OnlineWeights& weights, std::int64_t T) {
        if (stale_) {
            const float* w = weights.w();
            viterbi_.prepare({.Y = cells_.Y,
                              .pair = w + cells_.pair,
                              .pair_stride = cells_.S,
                              .start = w + cells_.start,
                              .end = w + cells_.end,
                              .transitions = masks_.transitions,
                              .start_allowed = masks_.start,
                              .end_allowed = masks_.end});
            stale_ = false;
        }
        const structures::ChainSentence<float> x{.unary = unary_.data(), .T = T, .stride = cells_.S};
        if (static_cast<std::int64_t>(labels_.size()) < k_ * T) labels_.resize(static_cast<std::size_t>(k_ * T));
        if (k_ == 1) return viterbi_(x, labels_.data()).blocked >= 0 ? 0 : 1;
        scores_.resize(static_cast<std::size_t>(k_));
        std::int64_t blocked = -1;
        return viterbi_.best(x, k_, labels_.data(), scores_.data(), blocked);
    }

    // d = f(x, y) - f(x, y_hat): only where they differ.
    void difference(const std::int32_t* y, const std::int32_t* y_hat, std::int64_t from, std::int64_t T, Update& out) {
        const std::int64_t S = cells_.S;
        out.clear();
        for (std::int64_t t = 0; t < T; ++t) {
            const bool same = y[t] == y_hat[t];
            if (!same)
                for (std::int64_t k = examples_.ptr[from + t]; k < examples_.ptr[from + t + 1]; ++k) {
                    const std::int64_t row = examples_.ids[k] * S;
                    const float value = examples_.value(k);
                    out.add(row + y[t], value);
                    out.add(row + y_hat[t], -value);
                }
            if (t > 0 && !(same && y[t - 1] == y_hat[t - 1])) {
                out.add(cells_.pair + y[t - 1] * S + y[t], 1);
                out.add(cells_.pair + y_hat[t - 1] * S + y_hat[t], -1);
            }
        }
        if (y[0] != y_hat[0]) {
            out.add(cells_.start + y[0], 1);
            out.add(cells_.start + y_hat[0], -1);
        }
        if (y[T - 1] != y_hat[T - 1]) {
            out.add(cells_.end + y[T - 1], 1);
            out.add(cells_.end + y_hat[T - 1], -1);
        }
    }

    scorers::SentenceRows examples_;
    std::span<const std::int32_t> gold_;
    ChainCells cells_;
    ChainMasks masks_;
    std::int64_t k_;
    structures::ChainViterbi<float> viterbi_;
    bool stale_ = true;
    machine::AlignedVector<float> unary_;
    std::vector<std::int32_t> labels_;
    std::vector<double> scores_;
    std::vector<Update> updates_;
};

// One pass over the examples in this order.
Tally online_epoch(ChainSearch& search, AnyRule& rule, OnlineWeights& weights, std::span<const std::int64_t> order);

} // namespace chaffinch::learners
