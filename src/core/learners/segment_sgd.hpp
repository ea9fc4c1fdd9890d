// Stochastic gradient descent on the L2-penalised likelihood of segmentations; rate, shrinking and order as for the
// chain (crf_sgd.hpp).
//
//   per sentence:   w <- (1 - eta lambda) w  -  eta k_n F_n(expected - gold),     lambda = 2 c2 / N
//
// With a margin, each token in a wrong place costs `margin` during training (softmax margin, Gimpel and Smith 2010).
#pragma once

#include "random.hpp"
#include "segment_scores.hpp"

namespace chaffinch::learners {

struct SegmentSgdSettings {
    double c2, rate;
    std::int64_t epochs;
    float margin, recall; // cost of a wrong place; cost multiplier if the place is outside and the right one is not
    std::uint64_t seed;
};

class SegmentSgd {
  public:
    // gold: the segments of all sentences, those of sentence n from gold_ptr[n]; starts count from its first token.
    // weight: [N] sentence weights (k_n); empty: all 1
    SegmentSgd(const scorers::SegmentShape& shape, const scorers::SegmentRows& rows, std::span<const structures::Segment> gold,
               std::span<const std::int64_t> gold_ptr, std::span<const float> weight, const SegmentSgdSettings& settings);

    // One shuffled epoch; returns the sum of the losses. w [size] has scale 1 when it returns.
    double epoch(float* w);

  private:
    double sentence(std::int64_t n, float scale, float step, float* w);

    const scorers::SegmentShape& shape_;
    const scorers::SegmentRows& rows_;
    std::span<const structures::Segment> gold_;
    std::span<const std::int64_t> gold_ptr_;
    std::span<const float> weight_;
    SegmentSgdSettings settings_;
    std::vector<std::int64_t> order_;
    machine::Random random_;
    std::int64_t met_ = 0;

    scorers::SegmentWorkspace at_;
    machine::AlignedVector<float> cost_, place_delta_, span_delta_; // [T][S], [T][S], [T L][Z]
    std::vector<double> segment_, pair_, start_, end_;     // expected - gold
};

} // namespace chaffinch::learners
