// What a dual solver has reached: the primal objective of its weights and the dual objective of its variables.
#pragma once

#include "examples.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace chaffinch {

struct DualObjective {
    double primal = 0, dual = 0; // the optimum of both lies between
};

// What one example adds: given its scores [S], its losses to `primal` and its variables' share to `dual`.
using ExampleObjective = std::function<void(std::int64_t n, const float* scores, DualObjective& sum)>;

//   primal = |w|^2 / 2 + sum_n losses,   dual = sum_n shares - |w|^2 / 2;   sums in blocks, in their order
DualObjective dual_objective(const Examples& x, const float* w, std::int64_t S, std::size_t threads,
                             const ExampleObjective& example);

} // namespace chaffinch
