// Examples without the features that only one of them has, for solvers that keep dual coefficients d_n.
//
//   w_f = sum_n x_nf d_n = x_nf d_n if only n has the feature f;   so the sum over these f of  x_nf w_f = own_n d_n,
//   own_n = sum over them of x_nf^2
//
// Two thirds of the words and word pairs of a collection occur in one document only. Their weights need not be kept
// during training; the rows of the others are packed together, the most frequent first. If every feature is shared,
// nothing is copied.
#pragma once

#include "aligned.hpp"
#include "examples.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace chaffinch::learners {

class SharedRows {
  public:
    // whole: keep every feature, for weights that other examples update as well
    explicit SharedRows(const features::Examples& all, bool whole = false);
    SharedRows(SharedRows&&) = default;
    SharedRows& operator=(SharedRows&&) = default;

    bool whole() const { return place_.empty(); }       // every feature is shared
    const features::Examples& rows() const { return rows_; }      // features renumbered; row rows().F of w is the bias
    const float* own() const { return own_.data(); }    // [N]
    const float* norm() const { return norm_.data(); }  // [N]  |x_n|^2, features of its own and the bias included
    std::int64_t N() const { return rows_.N(); }

    // The weights of all features from those of the shared ones; coefficients(n, d) gives d_n [S].
    void spread(const float* shared,                                                 // [shared features + 1][S]
                std::int64_t S, const std::function<void(std::int64_t, float*)>& coefficients,
                float* w) const;                                                     // [all features + 1][S]

    // The same, consuming the shared weights: they are the answer if every feature is shared.
    machine::AlignedVector<float> spread(machine::AlignedVector<float>&& shared, std::int64_t S,
                                const std::function<void(std::int64_t, float*)>& coefficients) const;

  private:
    features::Examples all_;
    std::vector<std::int32_t> place_; // [all features]  row among the shared ones, or -1; empty if all are shared
    struct Cell {
        std::int32_t feature;
        float value;
    };
    std::vector<std::int64_t> ptr_, own_ptr_; // [N+1]  of the shared cells; of those that are one example's own
    std::vector<std::int32_t> ids_;
    std::vector<Cell> own_cells_;
    std::vector<float> values_, own_, norm_;
    features::Examples rows_;
};

} // namespace chaffinch::learners
