// Stochastic gradient descent over documents: per sample or by true mini-batches, plain or AdaGrad, averaged or not.
//
//   one step at rate e on a batch B:   g = mean over n in B of c_n d_n x_n         (d_n: see choice_loss.hpp)
//   plain    w := shrunk((1 - e l2) w, e l1) + e g              shrunk(a, b): a moved towards 0 by b, at most to 0
//   AdaGrad  w := shrunk(exp(-e l2 / h) w, e l1 / h) + e g / h'   h = sqrt(G), G += g^2, h' = sqrt(G)
//
// Penalties act on every weight in every step, but a row is updated only when it is next read: first the missed l2
// steps, then the missed l1 steps (Tsuruoka et al. 2009; Duchi et al. 2011). This is exact with only one of the two.
// The average weighs each w by the number of steps it was current; between two reads a row counts with its value at the
// first.
#pragma once

#include "choice_loss.hpp"
#include "examples.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace chaffinch::learners {

struct ChoiceSgdSettings {
    ChoiceLoss loss = ChoiceLoss::softmax;
    bool adaptive = false, average = false;
    double l1 = 0, l2 = 0;
};

class ChoiceSgd {
  public:
    ChoiceSgd(std::int64_t F, std::int64_t Y, const ChoiceSgdSettings& settings);

    // One step per batch of `batch` examples in this order, at the given rates; returns the sum of c_n loss_n before
    // each update.
    double run(const features::Examples& x,
               std::span<const float> q,            // [N][Y]  targets
               std::span<const float> c,            // [N]     importance of each example
               std::span<const std::int64_t> order, //
               std::int64_t batch,                  //
               std::span<const float> rates,        // one per batch
               std::size_t threads, float* w);      // [F+1][S]

    // Brings every row up to date.
    void settle(float* w);

    // The mean of w over all steps; w must be settled.
    void average(const float* w, float* out) const;

    std::int64_t F() const { return F_; }
    std::int64_t Y() const { return Y_; }

  private:
    friend struct SgdStep;

    std::int64_t F_, Y_, S_;
    ChoiceSgdSettings settings_;
    std::int64_t steps_ = 0;
    // Over all steps: D, the sum of log(1 - e l2), and P <- (1 - e l2) P + e, so that steps a to b multiply a weight by
    // k = exp(D_b - D_a) and shrink it by l1 (P_b - k P_a), each step's shrinking decayed by the steps after it. AdaGrad,
    // whose decay differs by weight, has the flow of both penalties in its place: P is the sum of e, D stays 0.
    double decay_sum_ = 0, shrink_sum_ = 0;
    std::vector<double> decay_at_, shrink_at_; // [F+1]  D and P when the row was last brought up to date
    std::vector<std::int64_t> step_at_, penalised_at_; // [F+1]  for the average: steps summed up, steps penalised
    std::vector<float> rates_;             // of every step, if there are an average and a penalty
    machine::AlignedVector<float> squares_, sums_;  // [F+1][S]  G; sum of w over the steps
    machine::AlignedVector<float> gradient_;        // [F+1][S]  of a batch; zero between batches
    std::vector<std::int32_t> touched_;    // rows of gradient_ in use
    std::vector<std::uint8_t> in_use_;     // [F+1]
};

} // namespace chaffinch::learners
