// Stochastic gradient descent on the pruned chain, with a rate that falls linearly to zero (see crf_sgd.hpp).
//
// A sentence whose gold labels are all states moves the weights by the gradient of its log-likelihood over the states.
// If pruning removed a gold label, the sentence's tokens are first trained independently: the unary weights move by
//
//   own_t(y) - [y = gold_t]                 the gradient of  -sum_t log own_t(gold_t)
//
// until the gold labels survive. So one set of weights learns both to prune and to decide.
//
// At first a feature has weights for the labels it occurs with. After widen() it also has weights for labels that the
// model found likely at one of its tokens: only these pairs have a gradient worth learning from.
#pragma once

#include "crf.hpp"
#include "lattice.hpp"
#include "random.hpp"

namespace chaffinch::learners {

struct PrunedSettings {
    double c2 = 1;
    double rate = 0.2;
    std::int64_t epochs = 5;
    structures::Pruning pruning;
    std::uint64_t seed = 1;
};

class PrunedSgd {
  public:
    // Hard labels; uses costs, sentence weights and the given chain of CrfData and ignores its other fields.
    // held: [chain_size]  1: this weight of the chain is not trained; null: all are
    PrunedSgd(const CrfData& data, std::int64_t F, std::int64_t Y, const PrunedSettings& settings,
              const std::uint8_t* held = nullptr);

    // One shuffled epoch; returns the sum of the losses.
    double epoch();
    void widen();

    struct Weights {
        std::vector<std::int64_t> ptr;     // [F+1]
        std::vector<std::uint16_t> labels; // [nnz]
        std::vector<float> unary;          // [nnz]
        std::vector<float> chain;          // pair [Y][Y], start [Y], end [Y]
    };
    const Weights& weights() const { return w_; }
    void load(Weights w) { w_ = std::move(w); } // of the same F and Y

    // As CrfSgd's.
    std::vector<std::int64_t> state() const;
    void restore(std::span<const std::int64_t> state);

  private:
    structures::LatticeWeights lattice_weights(double scale) const;
    void build(std::int64_t n, double scale);
    double whole(std::int64_t n, float step);
    double apart(std::int64_t n, float step);
    void scatter(std::int64_t token, float step);
    void spread(const std::vector<std::int64_t>& at, const std::vector<std::uint16_t>& likely);

    const CrfData& data_;
    std::int64_t F_, Y_;
    PrunedSettings settings_;
    Weights w_;
    structures::Lattice lattice_;
    std::vector<float> given_;         // as Weights::chain, or empty
    std::vector<std::uint8_t> held_;   // as Weights::chain, or empty
    std::vector<float> delta_; // [Y] of one token
    std::vector<std::int64_t> order_;
    machine::Random random_;
    std::int64_t met_ = 0;
};

} // namespace chaffinch::learners
