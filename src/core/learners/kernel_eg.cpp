#include "kernel_eg.hpp"

#include "clones.hpp"
#include "stop.hpp"

#include <algorithm>
#include <cmath>

namespace chaffinch::learners {

namespace {

constexpr double least = 1e-30;   // lower bound of a probability, so that every label can come back
constexpr double nothing = 1e-9;  // smaller changes of mu count as none
constexpr double boldest = 1e9;   // upper bound of eta C k

} // namespace

// F[y] = sum_m row[m] beta[m][y], a pack of labels after the other.
CHAFFINCH_HOT static void expanded(const float* row, std::int64_t N, std::int64_t S, const double* beta, double* F) {
    for (std::int64_t y = 0; y < S; y += machine::lanes) {
        machine::Pack<double> even{}, odd{}, b;
        std::int64_t m = 0;
        for (; m + 1 < N; m += 2) {
            machine::get<double>(b, beta + m * S + y);
            even += static_cast<double>(row[m]) * b;
            machine::get<double>(b, beta + (m + 1) * S + y);
            odd += static_cast<double>(row[m + 1]) * b;
        }
        if (m < N) {
            machine::get<double>(b, beta + m * S + y);
            even += static_cast<double>(row[m]) * b;
        }
        machine::put<double>(F + y, even + odd);
    }
}

// mu' of one example, and by how much the dual rises.
static double moved(const double* mu, const double* g, std::int64_t Y, double C, double k, double eta, double* to) {
    const double top = *std::max_element(g, g + Y);
    double total = 0;
    for (std::int64_t y = 0; y < Y; ++y) total += to[y] = std::max(mu[y], least) * std::exp(eta * (g[y] - top));
    double along = 0, square = 0;
    for (std::int64_t y = 0; y < Y; ++y) {
        to[y] /= total;
        const double step = to[y] - mu[y];
        along += step * g[y];
        square += step * step;
    }
    return C * along - 0.5 * k * C * C * square;
}

void eg_steps(const EgProblem& problem, std::span<const std::int64_t> which, const float* rows, const EgState& state) {
    const std::int64_t N = static_cast<std::int64_t>(problem.y.size()), Y = problem.Y, S = machine::padded(Y);
    machine::AlignedVector<double> g(static_cast<std::size_t>(S)), to(static_cast<std::size_t>(S));
    for (std::size_t i = 0; i < which.size(); ++i) {
        machine::check_stop();
        const std::int64_t n = which[i], gold = problem.y[n];
        const double C = problem.C[n], k = problem.k[n];
        double* mu = state.mu + n * S;
        double& eta = state.eta[n];
        expanded(rows + static_cast<std::int64_t>(i) * N, N, S, state.beta, g.data());
        for (std::int64_t y = 0; y < Y; ++y) g[y] += y == gold ? 0.0 : 1.0;
        double rise = moved(mu, g.data(), Y, C, k, eta, to.data());
        while (rise < 0 && eta * C * k > 1) {
            eta /= 2;
            rise = moved(mu, g.data(), Y, C, k, eta, to.data());
        }
        eta = std::min(eta * 1.5, boldest / (C * k));
        double furthest = 0;
        for (std::int64_t y = 0; y < Y; ++y) furthest = std::max(furthest, std::abs(to[y] - mu[y]));
        if (furthest <= nothing) continue;
        for (std::int64_t y = 0; y < Y; ++y) {
            mu[y] = to[y];
            state.beta[n * S + y] = C * ((y == gold ? 1.0 : 0.0) - to[y]);
        }
    }
}

void eg_scores(std::int64_t count, const float* rows, std::int64_t N, std::int64_t S, const double* beta, double* F) {
    for (std::int64_t i = 0; i < count; ++i) machine::check_stop(), expanded(rows + i * N, N, S, beta, F + i * S);
}

} // namespace chaffinch::learners
