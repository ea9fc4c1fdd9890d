// The steps of stochastic gradient descent on an L2-penalised loss, with a rate that falls linearly to zero:
//
//   w <- (1 - eta lambda) w - eta k g,     eta = rate (1 - t / (epochs N)),     lambda = 2 c2 / N
//
// t counts the examples met, g is the gradient of an example's loss and k its importance. w is kept as s v with one scale
// s, so that shrinking costs nothing; a step on v is -eta k / s.
#pragma once

#include <algorithm>
#include <cstdint>

namespace chaffinch::learners {

class DecayingSteps {
  public:
    DecayingSteps(double rate, double c2, std::int64_t N, std::int64_t epochs, double scale = 1)
        : rate_(rate), lambda_(2 * c2 / static_cast<double>(N)),
          total_(static_cast<double>(N) * static_cast<double>(epochs)), scale_(scale) {}

    double scale() const { return scale_; }
    // Whether v should be multiplied by the scale, before its numbers grow too large.
    bool worn() const { return scale_ < 1e-4; }
    // v has been multiplied by it.
    void renew() { scale_ = 1; }

    // w shrinks; what the gradient of an example with this importance, met as number t, is multiplied by to move v.
    float step(std::int64_t t, double importance = 1) {
        const double eta = rate_ * std::max(0.0, 1 - static_cast<double>(t) / total_);
        scale_ *= 1 - eta * lambda_;
        return static_cast<float>(-eta * importance / scale_);
    }

  private:
    double rate_, lambda_, total_, scale_;
};

} // namespace chaffinch::learners
