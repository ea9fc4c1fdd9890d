// Gather and scatter between CSR examples and rows of weights.
//
//   gather   out[t][y]   = sum over the features f at position t of  v w[f][y]
//   scatter  w[f][y]    += step * sum over the positions t with f of  v delta[t][y]
//
// v is the value of the feature at the position: values[k] beside ids[k], or 1 if values is null.
// Rows have stride S >= Y; with S = padded(Y) and w on a cache line each row is read in whole vectors. Ids must lie in
// [0, F): check once where they are made (all_below), not here.
#pragma once

#include "aligned.hpp"

#include <cstdint>
#include <span>

namespace chaffinch::scorers {

// The half that a feature belongs to if two threads share the features. Runs of 16 rows alternate between the halves; a
// run is a whole number of cache lines for any stride.
inline constexpr int half_bit = 4;
inline int half_of(std::int32_t f) { return f >> half_bit & 1; }

void score_rows(std::span<const std::int64_t> ptr, // [T+1]  row bounds into ids; need not start at 0
                std::span<const std::int32_t> ids, // [nnz]  feature ids
                const float* w,                    // [F][S]
                std::int64_t S,                    //
                float* out,                        // [T][S] overwritten
                const float* values = nullptr);    // [nnz]

// The same, with each half of the features summed separately and then added: the same floats as with two threads.
void score_halved_rows(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* w,
                       std::int64_t S, // whole lanes
                       float* out, const float* values = nullptr);

// The same for the weights soft(u, shrink) = sign(u) max(0, |u| - shrink) of u, and the sum of v^2 over the features at t
// with |u[f][y]| > least.
void score_shrunk_rows(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids,
                       const float* u, // [F][S]  S: whole lanes
                       std::int64_t S, float shrink, float least,
                       float* out,                     // [T][S] overwritten
                       float* active,                  // [T][S] overwritten
                       const float* values = nullptr); // [nnz]

void add_rows(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids,
              const float* delta, // [T][S]
              float step, std::int64_t S,
              float* w,                       // [F][S]
              const float* values = nullptr); // [nnz]

// |F' delta|^2 = sum over f, y of (sum over t with f of v delta[t][y])^2: how far add_rows would move w.
double squared_length(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* delta,
                      std::int64_t Y, std::int64_t S, const float* values = nullptr);

bool all_below(std::span<const std::int32_t> ids, std::int64_t F);

} // namespace chaffinch::scorers
