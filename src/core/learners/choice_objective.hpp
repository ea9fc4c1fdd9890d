// The likelihood of all documents at once, for batch optimisers.
//
//   f(w) = sum_n c_n loss_n(w) + l2 |w|^2 / 2          loss: softmax or sigmoid, see choice_loss.hpp
//   df/dw[f] = - sum over n with f of  c_n v_nf d_n  + l2 w[f]
//
// Directions d_n are computed row by row, gradients column by column from the transposed matrix: no two threads write
// the same weight, and the order of the sums does not depend on the number of threads.
#pragma once

#include "choice_loss.hpp"
#include "examples.hpp"

#include <cstddef>
#include <vector>

namespace chaffinch::learners {

class ChoiceObjective {
  public:
    ChoiceObjective(const features::Examples& x, std::span<const float> q, std::span<const float> c, std::int64_t Y,
                    ChoiceLoss loss, double l2, std::size_t threads);

    // f(w); its gradient into g. Both [F+1][S].
    double operator()(const float* w, float* g);

    std::int64_t size() const { return (x_.F + 1) * S_; }

  private:
    features::Examples x_;
    std::span<const float> q_, c_;
    std::int64_t Y_, S_;
    ChoiceLoss loss_;
    double l2_;
    std::size_t threads_;
    std::vector<std::int64_t> column_ptr_; // [F+2]  the bias is the last column
    std::vector<std::int32_t> documents_;  // [nnz]
    std::vector<float> column_values_;     // [nnz]
    machine::AlignedVector<float> directions_;      // [N][S]
};

} // namespace chaffinch::learners
