// The conditional probabilities of a chain of first order, of one sentence at a time, in double precision.
//
//   q_t(y'|y) = E[y][y'] ub_{t+1}[y'] / b_t[y]        E = exp(pair),  ub_t = exp(unary_t) b_t
//   b_t[y]    = sum_y' E[y][y'] ub_{t+1}[y']          b_{T-1} = exp(end)
//
// Given the label at t, the label at t + 1 does not depend on earlier labels, so the probability of a run of labels is
// that of its first label times one q per further label. Each ub_t is scaled to sum to 1; the scale cancels in q.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::structures {

class ChainConditionals {
  public:
    // pair [Y][stride], start [Y], end [Y]: scores, all divided by the temperature.
    ChainConditionals(const float* pair, std::int64_t stride, const float* start, const float* end, std::int64_t Y,
                      double temperature);

    // The backward pass over a sentence; unary [T][stride].
    void prepare(const float* unary, std::int64_t T, std::int64_t stride);

    // p(y_t|x) [T][Y], by a forward pass.
    void marginals(double* p) const;

    // The probability that tokens begin .. end-1 have a label of opens first and labels of goes after it, and that no
    // label of goes follows; -1 in opens and goes stands for no label.
    double span(const double* p, // [Y] marginals of the token begin
                std::int64_t begin, std::int64_t end, std::span<const std::int32_t> opens,
                std::span<const std::int32_t> goes);

  private:
    double q(std::int64_t t, std::int64_t y, std::int64_t after) const;

    std::int64_t Y_, T_ = 0;
    double scale_;
    std::vector<double> E_, across_; // [Y][Y], and transposed
    std::vector<double> start_, end_; // [Y] exp, the largest is 1
    std::vector<double> b_, ub_;      // [T][Y]
    std::vector<double> mass_, next_; // probabilities of the labels in a span
};

} // namespace chaffinch::structures
