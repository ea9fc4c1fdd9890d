// Chains of hundreds of labels, pruned: each token keeps only the labels that its own features make likely.
//
//   own_t(y) = exp(u_t[y]) / sum_b exp(u_t[b])      u_t[y] = sum over the features f at t of  unary[f][y]
//   states of t: the labels with own_t(y) >= threshold, the `most` likeliest of them
//   s(x, y) = start[y_1] + sum_t u_t[y_t] + sum_t pair[y_{t-1}][y_t] + end[y_T]     over the states alone
//
// The cost of a sentence depends on its states, not on all labels: with three or four states per token, label pairs
// cost almost nothing. Each row of `unary` also holds only some labels. Mueller, Schmid and Schuetze 2013, "Efficient
// higher-order CRFs for morphological tagging", prune by models of rising order in this way.
#pragma once

#include "aligned.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::structures {

// Weights by feature, of the labels that a feature has a weight for.
struct LabelRows {
    std::span<const std::int64_t> ptr;     // [F+1]
    std::span<const std::uint16_t> labels; // [nnz]  rising within a row
    std::span<const float> weights;        // [nnz]
};

struct LatticeWeights {
    LabelRows rows;
    std::int64_t Y = 0;
    const float* start = nullptr; // [Y]
    const float* end = nullptr;   // [Y]
    const float* pair = nullptr;  // [Y][Y]; minus infinity forbids
    float scale = 1;              // of all of them
    const float* given = nullptr; // pair [Y][Y], start [Y], end [Y] in one: added, not scaled; null: nothing
};

struct Pruning {
    float threshold = 0;
    std::int64_t most = 1; // states of a token
};

// One sentence's states, their sums and best paths. A workspace, used again for the next sentence.
class Lattice {
  public:
    // ptr [T+1], need not start at 0; ids all below F; values [nnz] beside ids, null: all are 1.
    void build(const LatticeWeights& w, std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids,
               const Pruning& pruning, const float* values = nullptr);

    std::int64_t T() const { return T_; }
    std::int64_t labels() const { return w_.Y; }
    std::int64_t size(std::int64_t t) const { return ptr_[t + 1] - ptr_[t]; } // states of t
    std::int64_t place(std::int64_t t, std::int64_t i) const { return ptr_[t] + i; } // of state i of t among all
    const float* own(std::int64_t t) const { return own_.data() + t * S_; } // [Y]
    std::span<const std::uint16_t> states(std::int64_t t) const;
    std::int64_t find(std::int64_t t, std::int32_t label) const; // its place among the states of t, or -1

    // log Z over the states, minus infinity if no labelling is possible; then the marginals below.
    double sum();
    double node(std::int64_t t, std::int64_t i) const { return nodes_[ptr_[t] + i]; }
    double arc(std::int64_t t, std::int64_t i, std::int64_t j) const; // of state i at t-1 and j at t

    // The k best labellings; how many there are, 0 if none is possible.
    std::int64_t best(std::int64_t k, std::int32_t* labels /* [k][T] */, double* scores /* [k] */);

    void raise(std::int64_t t, std::int64_t i, double by) { scores_[ptr_[t] + i] += by; } // before sum() or best()
    double score(std::int64_t t, std::int64_t i) const { return scores_[ptr_[t] + i]; } // start and end included
    double pair(std::uint16_t a, std::uint16_t b) const;

  private:
    void choose(std::int64_t t, const Pruning& pruning);

    LatticeWeights w_;
    std::int64_t T_ = 0, S_ = 0;
    machine::AlignedVector<float> own_;           // [T][S]
    std::vector<std::int64_t> ptr_;      // [T+1]
    std::vector<std::uint16_t> states_;  // labels, rising within a token
    std::vector<double> scores_;         // by state
    std::vector<double> alpha_, beta_;   // by state, each token's scaled by its largest
    std::vector<double> nodes_, scale_;  // by state; [T]
    std::vector<std::int64_t> arcs_;     // [T]  where the arcs into t begin
    std::vector<double> exps_;           // exp(pair) by arc
};

} // namespace chaffinch::structures
