// What a dual solver has reached: the primal objective of its weights and the dual objective of its variables.
#pragma once

#include "shared_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace chaffinch {

struct DualObjective {
    double primal = 0, dual = 0; // the optimum of both lies between
};

// The coefficients d_n [S] of an example, w = sum_n d_n x_n.
using Coefficients = std::function<void(std::int64_t n, float* d)>;

// What the examples of a block add: given their scores [end - begin][S], their losses to `primal` and their variables'
// shares to `dual`.
using BlockObjective = std::function<void(std::int64_t begin, std::int64_t end, const float* scores, DualObjective& sum)>;

//   primal = |w|^2 / 2 + sum_n losses,   dual = sum_n shares - |w|^2 / 2;   sums in blocks, in their order
DualObjective dual_objective(const SharedRows& x, const float* w, std::int64_t S, std::size_t threads,
                             const Coefficients& coefficients, const BlockObjective& losses);

// The scores of some examples, [which][S].
void dual_scores(const SharedRows& x, const float* w, std::int64_t S, const Coefficients& coefficients,
                 std::span<const std::int64_t> which, float* scores);

} // namespace chaffinch
