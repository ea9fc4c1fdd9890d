// Sums of sparse rows of weights in the order of the features and in the precision of the weights, so that they round
// as in the tool that trained the weights.
//
//   out[t][c] = sum over the features f of row t, in order, of  value * w[f][c]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::scorers {

template <class Weight> class OrderedSums {
  public:
    // columns: below C, rising within a row; bounds: of each row in columns and weights
    OrderedSums(std::vector<std::int64_t> bounds, std::vector<std::int32_t> columns, std::vector<Weight> weights,
                std::int64_t C)
        : bounds_(std::move(bounds)), columns_(std::move(columns)), weights_(std::move(weights)), C_(C) {}

    std::int64_t rows() const { return static_cast<std::int64_t>(bounds_.size()) - 1; }
    std::int64_t C() const { return C_; }

    void sum(std::span<const std::int64_t> ptr, // [T+1]  bounds into ids; need not start at 0
             std::span<const std::int32_t> ids, // [nnz]  features
             std::span<const double> values,    // [nnz], or empty: all are 1
             std::size_t threads,               //
             double* out) const;                // [T][C] overwritten

    // Row t alone; sums: a workspace.
    void add(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, std::span<const double> values,
             std::int64_t t, std::vector<Weight>& sums,
             double* out) const; // [C] overwritten

  private:
    std::vector<std::int64_t> bounds_;  // [F+1]
    std::vector<std::int32_t> columns_; // [n]
    std::vector<Weight> weights_;       // [n]
    std::int64_t C_;
};

} // namespace chaffinch::scorers
