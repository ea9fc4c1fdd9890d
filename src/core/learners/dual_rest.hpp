// One linear model per label against the rest, by dual coordinate descent: labels are lanes.
//
//   min over w_y of  |w_y|^2 / 2 + sum_n C_n loss(t_ny w_y.x_n),   t_ny = +1 if n has the label y, else -1
//
//   hinge           max(0, 1 - z)       0 <= a_ny <= C_n     D_n = 0
//   squared hinge   max(0, 1 - z)^2     0 <= a_ny            D_n = 1 / (2 C_n)
//   squared         (1 - z)^2           a_ny free            D_n = 1 / (2 C_n)
//
//   w_y = sum_n a_ny t_ny x_n;   one step on a_ny:   G = t_ny w_y.x_n - 1 + D_n a_ny
//                                                    a_ny := clipped(a_ny - G / (|x_n|^2 + D_n))
//   dual = sum_n,y (a_ny - D_n a_ny^2 / 2) - sum_y |w_y|^2 / 2
//
// Hsieh et al. 2008, "A dual coordinate descent method for large-scale linear SVM", with shrinking of section 3.2 per
// lane: a lane at its bound whose gradient exceeds the last pass's largest violation is skipped until `wake`. A label's
// weights depend on that label alone, so lanes can be divided among threads in any way.
#pragma once

#include "dual_solver.hpp"

#include <cstdint>
#include <vector>

namespace chaffinch::learners {

enum class MarginLoss { hinge, squared_hinge, squared };

class DualRest : public RestingSolver {
  public:
    DualRest(const features::Examples& examples,
             std::span<const std::int64_t> label_ptr, // [N+1]  the labels of each example
             std::span<const std::int32_t> labels,    //        each in [0, Y)
             std::span<const float> C,                // [N]    penalty of each example
             std::int64_t Y, MarginLoss loss, bool shrinking, std::span<float> given = {});

    // One pass over the examples in this order; violation [Y] receives each label's largest violation of optimality.
    // Returns the duality gap during the pass: each example's share under the weights before its update.
    double pass(std::span<const std::int64_t> order, std::size_t threads, std::span<float> violation);

    void wake() override;

  private:
    void coefficients(std::int64_t n, float* d) const override;
    void add_losses(std::int64_t begin, std::int64_t end, const float* scores, DualObjective& sum) const override;

    MarginLoss loss_;
    bool shrinking_;
    std::vector<float> inverse_, D_, E_, C_; // [N]  1 / (|x|^2 + D); D; D + own; penalty
    std::vector<std::int64_t> label_ptr_; // [N+1]
    std::vector<std::int32_t> labels_;
    machine::AlignedVector<float> signs_; // [N][S]  +1, -1, 0 in lanes that rest or are no label
    std::vector<std::uint8_t> asleep_;   // [stripes][N]  every lane of the stripe rests
    std::vector<float> most_, least_;    // [S]     last pass's bounds for shrinking
};

} // namespace chaffinch::learners
