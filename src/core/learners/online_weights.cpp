#include "online_weights.hpp"

#include "clones.hpp"

#include <algorithm>

namespace chaffinch::learners {

namespace {

CHAFFINCH_HOT void mean(const float* w, const float* u, float per_step, std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = w[i] - u[i] * per_step;
}

} // namespace

void OnlineWeights::averaged(std::span<float> out) const {
    if (time_ == 0) {
        std::ranges::copy(w_, out.begin());
    } else {
        mean(w_.data(), u_.data(), static_cast<float>(1.0 / static_cast<double>(time_)), w_.size(), out.data());
    }
}

} // namespace chaffinch::learners
