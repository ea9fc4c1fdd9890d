// Parts that have a sparse feature vector each: rows of ids and values over one vector of weights.
//
//   gather   out[p] = sum over k in row p of  values[k] w[ids[k]]
//   scatter  w[ids[k]] += step delta[p] values[k]  for every k of every row p
//
// Ids must lie in [0, F): check once where they cross the border (all_below), not here.
#pragma once

#include <cstdint>
#include <span>

namespace chaffinch::scorers {

struct PartRows {
    std::span<const std::int64_t> ptr; // [P+1]  row bounds
    std::span<const std::int32_t> ids; // [nnz]
    std::span<const float> values;     // [nnz]

    std::int64_t parts() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
};

void score_parts(const PartRows& x,
                 std::span<const double> w, // [F]
                 std::span<double> out);    // [P]  overwritten

void add_parts(const PartRows& x,
               std::span<const double> delta, // [P]
               double step,
               std::span<double> w); // [F]

// |sum over parts p of delta[p] phi(p)|^2: how far add_parts would move w with step 1.
double parts_squared_length(const PartRows& x, std::span<const double> delta);

// sum over parts p of a[p] b[p]; a part of weight 0 on one side adds nothing even at -inf.
double parts_dot(std::span<const double> a, std::span<const double> b);

} // namespace chaffinch::scorers
