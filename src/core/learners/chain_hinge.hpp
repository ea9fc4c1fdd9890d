// The hinge of a sentence on a first-order chain, and the answer that attains it. The cost is the number of wrong
// labels.
//
//   H_n(w) = max over y of  cost(y) + s(y) - s(y_n)              margin rescaling
//   H_n(w) = max over y of  cost(y) (1 + s(y) - s(y_n))          slack rescaling
//
// Margin rescaling is Viterbi with the cost added to the scores. Slack rescaling is exact too: the best labelling of each
// cost is found by Viterbi over the label and the number of wrong labels so far,
//
//   best[t][c][y] = unary[t][y] + max over y' of best[t-1][c - (y != y_n[t])][y'] + pair[y'][y]
//
// which takes T times as long.
//
// An answer z is a plane below the hinge, loss - w . F d:   loss = cost(z),   d = k (parts(y_n) - parts(z)),
// k = 1, or cost(z) under slack rescaling.
#pragma once

#include "aligned.hpp"
#include "chain.hpp"
#include "observations.hpp"
#include "online_chain.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::learners {

struct WorstAnswer {
    double height = 0; // of the hinge
    double cost = 0;
};

template <class Observations> class ChainHinge {
  public:
    ChainHinge(Observations observations, std::span<const std::int64_t> sentences, // [N+1] bounds into tokens
               std::span<const std::int32_t> gold,                                 // [tokens]
               const ChainCells& cells, const ChainMasks& masks, bool slack);

    std::int64_t sentences() const { return static_cast<std::int64_t>(sentences_.size()) - 1; }
    std::int64_t from(std::int64_t n) const { return sentences_[static_cast<std::size_t>(n)]; }
    std::int64_t length(std::int64_t n) const { return from(n + 1) - from(n); }
    const std::int32_t* gold(std::int64_t n) const { return gold_.data() + from(n); }
    const ChainCells& cells() const { return cells_; }
    double scale(double cost) const { return slack_ ? cost : 1.0; } // k

    // The weights have changed since the last search.
    void changed() { stale_ = true; }

    // The worst answer of sentence n, T >= 1, in labels(); the scores of its tokens are kept for `over`.
    WorstAnswer search(const float* w, std::int64_t n);
    const std::int32_t* labels() const { return labels_.data(); }
    const float* unary() const { return unary_.data(); } // [T][S]

    // The scores alone.
    void score(const float* w, std::int64_t n);

    // s(z) - s(y_n) of sentence n, which was scored last.
    double over(const float* w, std::int64_t n, const std::int32_t* z) const;

    // phi_t . phi_s of the positions of sentence n: [T][T], until the next call.
    const float* inner_products(std::int64_t n);

    // w += the sum over answers z of step F (parts(y_n) - parts(z)); call changed() if searches use this w.
    void move(std::int64_t n, std::span<const std::int32_t* const> answers, std::span<const double> steps, float* w);

    double sq_norm(const float* w, std::int64_t size) const;

    Observations& observations() { return observations_; }

  private:
    void prepare(const float* w);
    bool search_margin(std::int64_t n);
    bool search_slack(const float* w, std::int64_t n);

    Observations observations_;
    std::span<const std::int64_t> sentences_;
    std::span<const std::int32_t> gold_;
    ChainCells cells_;
    ChainMasks masks_;
    bool slack_;

    std::vector<std::int64_t> gram_at_; // [N] where a sentence's inner products begin; -1: not kept
    std::vector<float> grams_, gram_;
    structures::ChainViterbi<float> viterbi_;
    bool stale_ = true;
    machine::AlignedVector<float> unary_, augmented_, nodes_;
    machine::AlignedVector<float> pair_, start_, end_, best_; // slack: potentials with what is forbidden at -inf; best
    std::vector<std::int32_t> labels_;
};

extern template class ChainHinge<scorers::SparseObservations>;
extern template class ChainHinge<scorers::DenseObservations>;
extern template class ChainHinge<scorers::MonomialObservations>;

} // namespace chaffinch::learners
