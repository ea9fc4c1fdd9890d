// One linear model over all labels at once, by dual coordinate ascent on one example's block at a time.
//
//   min over w of  |w|^2 / 2 + sum_n C_n loss(s_n),   s_ny = w_y.x_n
//
//   Crammer-Singer   loss = max_y (s_y + [y != y_n]) - s_{y_n}, or its square
//     w_y = sum_n a_ny x_n,   a_ny <= C_n [y = y_n],   sum_y a_ny = 0; the block is solved exactly
//     dual = sum_n a_n(y_n) - |w|^2 / 2
//     squared: a_n(y_n) has no bound, and a_n(y_n)^2 / 4 C_n is taken off the dual
//     (Crammer and Singer 2001; Keerthi et al. 2008, "A sequential dual method", with LIBLINEAR's shrinking)
//
//   logistic         loss = log sum_y exp s_y - sum_y q_ny s_y,   q_n a distribution over the labels
//     w_y = sum_n C_n (q_ny - m_ny) x_n,   m_n in the simplex; m_n moves towards softmax(s_n) by the exact line search
//     dual = sum_n C_n entropy(m_n) - |w|^2 / 2
//     (Shalev-Shwartz and Zhang 2013, "Stochastic dual coordinate ascent", option I along that direction)
#pragma once

#include "dual_solver.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace chaffinch::learners {

class DualCrammerSinger : public RestingSolver {
  public:
    DualCrammerSinger(const features::Examples& examples,
                      std::span<const std::int32_t> y, // [N]  the label of each example
                      std::span<const float> C,        // [N]  penalty of each example
                      std::int64_t Y, bool squared, bool shrinking, std::span<float> given = {});

    struct Pass {
        float violation = 0; // the largest violation of an example's optimality
        double met = 0;      // the duality gap: each example's share under the weights before its update
    };
    Pass pass(std::span<const std::int64_t> order);
    void wake() override;
    std::int64_t resting() const { return std::ranges::count(resting_, std::uint8_t{1}); }

  private:
    void coefficients(std::int64_t n, float* d) const override;
    void add_losses(std::int64_t begin, std::int64_t end, const float* scores, DualObjective& sum) const override;

    std::vector<std::int32_t> y_;
    std::vector<float> C_, norm_;
    bool squared_, shrinking_;
    std::vector<std::uint8_t> resting_; // [N]
    float bound_ = 0;                   // last pass's largest violation
};

class DualLogistic : public DualSolver {
  public:
    DualLogistic(const features::Examples& examples,
                 std::span<const float> q, // [N][Y]  target distributions
                 std::span<const float> C, // [N]
                 std::int64_t Y, bool whole = false, std::span<float> given = {}); // whole: of SharedRows

    // One pass in this order; returns the gap during the pass, sum_n C_n (loss_n + its conjugate's share).
    double pass(std::span<const std::int64_t> order);

    void restart() override;
    void resume(std::span<const float> duals) override { std::ranges::copy(duals, m_.begin()); }
    const float* alpha() const { return m_.data(); } // [N][S]  m

  private:
    void coefficients(std::int64_t n, float* d) const override;
    void add_losses(std::int64_t begin, std::int64_t end, const float* scores, DualObjective& sum) const override;

    std::vector<float> C_, norm_;
    machine::AlignedVector<float> m_, q_; // [N][S]
};

} // namespace chaffinch::learners
