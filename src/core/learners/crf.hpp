// The linear-chain conditional random field over compressed feature rows.
//
//   s(x, y) = sum_t sum_{f at t} v unary[f][y_t]  +  the chain's start, end, pair (triple, first, last: second order)
//           + sum_t sum_l  bigram_l[o_l(t)][y_{t-1}][y_t]        l: templates that observe the input on a label pair
//   log p(y | x) = s(x, y) - log Z(x)
//
// With costs the sum of Z runs over s(x, y) + sum_t cost[gold_t][y_t]: a wrong labelling has to be worse by its cost
// (Gimpel and Smith 2010, "Softmax-margin CRFs").
//
// or, normalised locally (a maximum-entropy Markov model; no end weights), with the gold label before:
//
//   log p(y | x) = sum_t  s_t(y_{t-1}, y_t) - log sum_b exp s_t(y_{t-1}, b)
//
// All weights are one flat array w; CrfShape says where its blocks begin. The unary rows come first, with stride S =
// padded(Y), then the chain block, small and dense, then the bigram rows.
#pragma once

#include "aligned.hpp"
#include "chain.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::learners {

struct CrfShape {
    std::int64_t F = 0, Y = 0;
    int order = 1;
    bool local = false; // first order, hard labels
    std::vector<std::int64_t> observations; // [L]  how many rows each bigram template has

    std::int64_t S() const { return machine::padded(Y); }
    std::int64_t pair() const { return F * S(); }            // [Y][S]
    std::int64_t start() const { return pair() + Y * S(); }  // [S]
    std::int64_t end() const { return start() + S(); }       // [S]
    std::int64_t triple() const { return end() + S(); }      // [Y][Y][Y], second order
    std::int64_t first() const { return triple() + (order == 2 ? Y * Y * Y : 0); }           // [Y][Y]
    std::int64_t last() const { return first() + (order == 2 ? Y * Y : 0); }                 // [Y][Y]
    std::int64_t chain_end() const { return machine::padded(last() + (order == 2 ? Y * Y : 0)); }
    std::int64_t chain_size() const { return chain_end() - pair(); }
    std::int64_t bigram_stride() const { return machine::padded(Y * Y); }
    std::int64_t bigrams(std::size_t l) const { // [observations[l]][bigram_stride]
        std::int64_t at = chain_end();
        for (std::size_t k = 0; k < l; ++k) at += observations[k] * bigram_stride();
        return at;
    }
    std::int64_t size() const { return bigrams(observations.size()); }
};

// Labels split by their history, for rules that look back more than one label. A labelling has exactly one path of
// states, so sums over paths are sums over the allowed labellings. No labels: each label is its own state.
struct LabelStates {
    std::span<const std::int32_t> label;   // [Q]     of each state
    std::span<const std::uint8_t> follows; // [Q][Q]  may the second follow the first?
    std::span<const std::uint8_t> starts;  // [Q]     may a sentence begin there?

    std::int64_t Q() const { return static_cast<std::int64_t>(label.size()); }
};

// The training set. A null pointer: absent.
struct CrfData {
    std::span<const std::int64_t> sentences; // [N+1]  bounds in tokens
    std::span<const std::int64_t> ptr;       // [T+1]  bounds into ids
    std::span<const std::int32_t> ids;       // [nnz]  features of each token
    std::span<const std::int32_t> y;         // [T]    gold labels; ignored if soft or allowed is given
    const float* values = nullptr;           // [nnz]  the value v of each feature; absent: 1
    const float* soft = nullptr;             // [T][Y] a distribution over labels instead of y
    const std::uint8_t* allowed = nullptr;   // [T][Y] partial labels: the gold sum runs over all that are allowed
    const float* weight = nullptr;           // [N]    sentence weights
    const float* offset = nullptr;           // [T][Y] scores added to those of w
    const float* cost = nullptr;             // [Y][Y] of gold and answer, added to the scores: softmax margin, hard labels
    const std::int32_t* observed = nullptr;  // [T][L] what the bigram templates see, -1: nothing known
    const float* chain = nullptr;            // [chain_size] added to the chain block of w; minus infinity forbids
    LabelStates states = {};

    std::int64_t N() const { return static_cast<std::int64_t>(sentences.size()) - 1; }
    std::int64_t T() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
    std::int64_t begin(std::int64_t n) const { return sentences[n]; }
    std::int64_t length(std::int64_t n) const { return sentences[n + 1] - sentences[n]; }
    // How many sentences may be scored under the same w: fewer if there are few sentences, since each then weighs more.
    std::int64_t block(std::int64_t most) const { return block(most, N()); }
    static std::int64_t block(std::int64_t most, std::int64_t sentences) { return std::min(most, 1 + sentences / 64); }
    float importance(std::int64_t n) const { return weight ? weight[n] : 1.0f; }
};

// Expectations of one sentence's parts, in the layout of w: nodes by position, the chain block as it lies in w.
// The rows `start` and `end` of the chain block are the first and the last node row.
template <class Real> struct CrfParts {
    machine::AlignedVector<Real> nodes;   // [T][S]  padding is zero
    machine::AlignedVector<Real> chain;   // [chain_size]
    machine::AlignedVector<Real> bigrams; // [T-1][Y][Y]  only if there are bigram templates
};

// Scores and expectations of one sentence, for learners. One object per thread.
template <class Real> class CrfOracle {
  public:
    CrfOracle(const CrfShape& shape, const CrfData& data);

    // w, read as scale * w from here on; call again whenever the chain block has changed.
    void weigh(const Real* w, Real scale = 1);

    // The weights soft(u, shrink) of u from here on; see score_shrunk_rows.
    void weigh_shrunk(const Real* u, Real shrink, Real least)
        requires std::same_as<Real, float>;

    // Scores of sentence n. All methods below refer to the sentence scored last.
    void score(std::int64_t n);
    void choose(std::int64_t n); // sentence n without scores: gold() then gives its parts, and no value
    void score(std::int64_t n, const Real* first, const Real* second); // of unary sums [T][S] of the halves, made elsewhere
    void score_by_halves(std::int64_t n) // the same floats; see score_halved_rows
        requires std::same_as<Real, float>;
    double log_z(CrfParts<Real>* expected);    // null: the value alone
    double gold(CrfParts<Real>* expected);     // the score of the gold labels (soft: its mean; partial: their log sum)

    const CrfShape& shape() const { return shape_; }
    const CrfData& data() const { return data_; }
    const Real* scores() const { return scores_.data(); }
    const Real* active() const { return active_.data(); } // [T][S] of score_shrunk_rows, after weigh_shrunk

  private:
    void prepare();
    void score_rest();
    double hard_gold(CrfParts<Real>* expected);
    double soft_gold(CrfParts<Real>* expected);
    double summed(CrfParts<Real>* expected, const std::uint8_t* allowed);
    double summed_by_state(CrfParts<Real>* expected, const std::uint8_t* allowed);
    double summed_locally(CrfParts<Real>* expected);
    void weigh_states();
    void clear(CrfParts<Real>& parts);

    const CrfShape& shape_;
    const CrfData& data_;
    const Real* w_ = nullptr;
    Real scale_ = 1, shrink_ = 0, least_ = 0;
    std::int64_t n_ = 0;
    machine::AlignedVector<Real> chain_, scores_, active_, bigram_scores_, local_;
    machine::AlignedVector<Real> state_chain_, state_scores_, state_pairs_, state_nodes_, state_expected_; // by state
    std::vector<std::uint8_t> state_allowed_;
    structures::ChainMarginals<Real> marginals_;
};

extern template class CrfOracle<float>;
extern template class CrfOracle<double>;

} // namespace chaffinch::learners
