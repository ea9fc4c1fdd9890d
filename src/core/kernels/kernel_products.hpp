// Blocked products of dense tables, single precision, without fused multiply-adds: sums run in the order of k.
#pragma once

#include "aligned.hpp"

#include <cstdint>

namespace chaffinch::kernels {

// A table [d][n] cut into panels of `width` columns, so that one panel's row is two packs: [panels][d][width].
class Panels {
  public:
    static constexpr std::int64_t width = 2 * machine::lanes;

    // From a row-major table [n][d], transposed: column j of a panel is row j of the table.
    static Panels of_rows(const float* rows, std::int64_t n, std::int64_t d);
    // From a row-major table [d][n] as it is.
    static Panels of_columns(const float* table, std::int64_t d, std::int64_t n);

    std::int64_t n() const { return n_; }
    std::int64_t d() const { return d_; }
    std::int64_t count() const { return (n_ + width - 1) / width; }
    const float* panel(std::int64_t p) const { return values_.data() + p * d_ * width; }

  private:
    Panels(std::int64_t n, std::int64_t d);
    std::int64_t n_, d_;
    machine::AlignedVector<float> values_; // zeros beyond n
};

// out[i][j] (+)= sum_k a[i][k] B[k][j] for rows [0, rows) and every column j of B.
void multiply(const float* a, std::int64_t stride, std::int64_t rows, const Panels& B, bool add, float* out,
              std::int64_t out_stride);

} // namespace chaffinch::kernels
