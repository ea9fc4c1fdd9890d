// The steps of stochastic gradient descent on an L2-penalised loss, with a rate that falls linearly to zero:
//
//   w <- (1 - eta lambda) w - eta k g,     eta = rate (1 - t / (epochs N)),     lambda = 2 c2 / N
//
// t counts the examples seen, g is the gradient of an example's loss and k its weight. w is kept as s v with one scale
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
    // True if v should be multiplied by the scale now, before it overflows.
    bool worn() const { return scale_ < 1e-4; }
    // Call it after v has been multiplied by the scale.
    void renew() { scale_ = 1; }

    // Shrinks w; returns the factor of the gradient on v for example number t with this weight.
    float step(std::int64_t t, double importance = 1) {
        const double eta = rate_ * std::max(0.0, 1 - static_cast<double>(t) / total_);
        scale_ *= 1 - eta * lambda_;
        return static_cast<float>(-eta * importance / scale_);
    }

  private:
    double rate_, lambda_, total_, scale_;
};

} // namespace chaffinch::learners
