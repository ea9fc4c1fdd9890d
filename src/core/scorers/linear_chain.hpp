// A trained linear chain: rows of feature ids in, labels out, many sentences at a time.
//
//   score(x, y) = start[y_0] + end[y_{T-1}] + sum_t sum_{f at t} v unary[f][y_t] + sum_t pair[y_{t-1}][y_t]
//
// v: the value of f at t, 1 where there are no values; and, for the second order, the terms of chain.hpp. A weight of -inf forbids. A sentence that no labelling can
// produce gets label 0 from the first position that cannot be reached, and before it the best way to get there:
// what the plain algorithm gives when it compares minus infinity with itself.
#pragma once

#include "aligned.hpp"
#include "chain.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::scorers {

// Sentences as rows of features.
struct SentenceRows {
    std::span<const std::int64_t> sentences; // [N+1] bounds into tokens
    std::span<const std::int64_t> ptr;       // [tokens+1] bounds into ids
    std::span<const std::int32_t> ids;       // [nnz] feature ids, all below F
    const float* values = nullptr;           // [nnz] or null: all are 1

    float value(std::int64_t k) const { return values ? values[k] : 1.0f; }
    std::size_t size() const { return sentences.size() - 1; }
};

class LinearChain {
  public:
    // All arrays are copied; unary rows are padded to whole vectors. triple, first and last are null for order 1.
    LinearChain(const float* unary, std::int64_t F, std::int64_t Y, const float* start, const float* end,
                const float* pair, const float* triple, const float* first, const float* last);

    std::int64_t features() const { return F_; }
    std::int64_t labels() const { return Y_; }

    void tag(const SentenceRows& x, std::size_t threads,
             std::span<std::int32_t> labels) const; // [tokens]

    // The k best of each sentence. Sentence n has its k rows of length T_n at k * sentences[n].
    void kbest(const SentenceRows& x, std::int64_t k, std::size_t threads,
               std::span<std::int32_t> labels,       // [k * tokens]
               std::span<double> scores,             // [N * k]
               std::span<std::int64_t> found) const; // [N] how many there are

    void marginals(const SentenceRows& x, std::size_t threads,
                   std::span<float> out,            // [tokens][Y]
                   std::span<double> log_z) const;  // [N]

    // The same with every score divided by a temperature; a sentence without a labelling has log_z = -inf and zeros.
    void marginals_at(const SentenceRows& x, float temperature, std::size_t threads,
                      std::span<float> out,            // [tokens][Y]
                      std::span<double> log_z) const;  // [N]

  private:
    structures::ChainPotentials<float> potentials() const;
    void broken(const structures::ChainSentence<float>& x, std::int64_t blocked, std::int32_t* labels) const;

    std::int64_t F_, Y_, S_;
    bool second_;
    machine::AlignedVector<float> unary_; // [F][S]
    machine::AlignedVector<float> pair_;  // [Y][S]
    std::vector<float> start_, end_, triple_, first_, last_;
};

} // namespace chaffinch::scorers
