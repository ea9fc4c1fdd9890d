// A small quadratic programme over the simplex, such as the dual of cutting planes:
//
//   minimise  a' G a / 2 - b . a     over a >= 0, sum a = 1
//
// The coordinate with the steepest gradient takes mass from another, choosing the pair with the largest expected gain;
// the step along a pair is in closed form. (Platt 1998; Fan, Chen and Lin 2005.)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::learners {

class SimplexProgramme {
  public:
    // Moves a [K] from its current value until no pair of coordinates differs by more than the tolerance in the
    // gradient.
    void minimise(const double* G, std::int64_t stride,  // [K][stride], symmetric
                  std::span<const double> b,             // [K]
                  double tolerance, std::span<double> a); // [K] on the simplex

  private:
    std::vector<double> up_; // b - G a
};

} // namespace chaffinch::learners
