#include "simplex.hpp"

#include <algorithm>

namespace chaffinch::learners {

namespace {

constexpr int most_steps = 20'000;
constexpr double least_curvature = 1e-12;

} // namespace

void SimplexProgramme::minimise(const double* G, std::int64_t stride, std::span<const double> b, double tolerance,
                                std::span<double> a) {
    const auto K = static_cast<std::int64_t>(b.size());
    up_.assign(b.begin(), b.end());
    for (std::int64_t j = 0; j < K; ++j)
        if (a[j] != 0)
            for (std::int64_t k = 0; k < K; ++k) up_[k] -= a[j] * G[j * stride + k];
    for (int step = 0; step < most_steps; ++step) {
        const std::int64_t i = std::ranges::max_element(up_) - up_.begin();
        double most = 0, widest = 0, length = 0;
        std::int64_t best = -1;
        for (std::int64_t j = 0; j < K; ++j) {
            const double lead = up_[i] - up_[j];
            if (a[j] <= 0 || lead <= 0) continue;
            widest = std::max(widest, lead);
            const double curvature = std::max(G[i * stride + i] + G[j * stride + j] - 2 * G[i * stride + j], least_curvature);
            const double moved = std::min(a[j], lead / curvature), promise = lead * moved;
            if (promise > most) most = promise, best = j, length = moved;
        }
        if (best < 0 || widest <= tolerance) return;
        a[i] += length;
        a[best] = length == a[best] ? 0.0 : a[best] - length;
        for (std::int64_t k = 0; k < K; ++k) up_[k] -= length * (G[i * stride + k] - G[best * stride + k]);
    }
}

} // namespace chaffinch::learners
