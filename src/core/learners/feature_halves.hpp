// The features in two halves, for two threads: each reads and updates only the rows of its own half, so these stay in
// its core's cache, and no row is written by both.
//
//   scores[t][y] = (sum over f of the first half at t of v w[f][y]) + (the same of the second)
//
// score_halved_rows gives one thread the same floats.
#pragma once

#include "aligned.hpp"
#include "crf.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::learners {

// One half of the features of a few sentences.
class FeatureHalf {
  public:
    explicit FeatureHalf(int half) : half_(half) {}

    void take(const CrfData& data, std::span<const std::int64_t> sentences);

    void score(const float* w, std::int64_t S); // the half's part of the scores of all taken sentences
    const float* scores(std::size_t i) const { return scores_.data() + first_[i] * S_; } // of sentence i [T][S]

    // w += step * delta [T][S] at the tokens of sentence i. trainable: as in crf_update.hpp.
    void add(std::size_t i, const float* delta, float step, const std::uint8_t* trainable, float* w) const;

  private:
    std::span<const std::int64_t> ptr(std::size_t i) const;
    const float* values() const { return valued_ ? values_.data() : nullptr; }

    int half_;
    std::int64_t S_ = 0;
    std::vector<std::int64_t> first_;    // [sentences + 1]  bounds in tokens
    std::vector<std::int64_t> ptr_;      // [tokens + 1]     bounds into ids
    std::vector<std::int32_t> ids_;
    std::vector<float> values_;          // beside ids, if the data have values
    bool valued_ = false;
    machine::AlignedVector<float> scores_;        // [tokens][S]
};

} // namespace chaffinch::learners
