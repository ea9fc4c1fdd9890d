#include "dual_solver.hpp"

#include "clones.hpp"
#include "parallel.hpp"
#include "stop.hpp"

#include <algorithm>
#include <vector>

namespace chaffinch::learners {

namespace {

constexpr std::int64_t block = 512;

}

CHAFFINCH_HOT static double squares(const float* w, std::int64_t n) {
    machine::Pack<double> sum{};
    machine::Pack<float> here;
    for (std::int64_t k = 0; k < n; k += machine::lanes) {
        machine::get<float>(here, w + k);
        const machine::Pack<double> wide = machine::converted<double, float>(here);
        sum += wide * wide;
    }
    double total = 0;
    for (std::int64_t l = 0; l < machine::lanes; ++l) total += sum[l];
    return total;
}

// scores += own_n d_n, the part of the example's own features, which have the weight d_n x_nf. Returns the squared norm
// of their weights.
CHAFFINCH_HOT static double score(const SharedRows& x, std::int64_t n, const float* w, std::int64_t S, const float* d,
                                  float* scores) {
    features::gather(x.rows(), n, w, S, scores);
    const float own = x.own()[n];
    machine::Pack<float> square{}, here, at;
    for (std::int64_t y = 0; y < S; y += machine::lanes) {
        machine::get<float>(here, d + y);
        machine::get<float>(at, scores + y);
        at += own * here;
        square += here * here;
        machine::put<float>(scores + y, at);
    }
    return static_cast<double>(own * machine::total(square));
}

DualObjective DualSolver::objective(std::size_t threads) const {
    const std::int64_t N = x_.N(), blocks = (N + block - 1) / block;
    struct Sum {
        DualObjective examples;
        double length = 0; // squared norm of the weights of features that only one example has
    };
    std::vector<Sum> sums(static_cast<std::size_t>(blocks));
    machine::parallel_blocks(static_cast<std::size_t>(blocks), threads, [&](std::size_t b) {
        const std::int64_t begin = static_cast<std::int64_t>(b) * block, end = std::min(N, begin + block);
        machine::AlignedVector<float> scores(static_cast<std::size_t>((end - begin) * S())), d(static_cast<std::size_t>(S()));
        for (std::int64_t n = begin; n < end; ++n) {
            if (n % 64 == 0) machine::check_stop();
            coefficients(n, d.data());
            sums[b].length += score(x_, n, w_.data(), S(), d.data(), scores.data() + (n - begin) * S());
        }
        add_losses(begin, end, scores.data(), sums[b].examples);
    });
    double length = squares(w_.data(), (x_.rows().F + 1) * S());
    for (const Sum& sum : sums) length += sum.length;
    DualObjective total{length / 2, -length / 2};
    for (const Sum& sum : sums) total.primal += sum.examples.primal, total.dual += sum.examples.dual;
    return total;
}

void DualSolver::scores(std::span<const std::int64_t> which, float* out) const {
    machine::AlignedVector<float> d(static_cast<std::size_t>(S()));
    for (std::size_t i = 0; i < which.size(); ++i) {
        coefficients(which[i], d.data());
        score(x_, which[i], w_.data(), S(), d.data(), out + static_cast<std::int64_t>(i) * S());
    }
}

void DualSolver::weights(float* w) const {
    x_.spread(w_.data(), S(), [&](std::int64_t n, float* d) { coefficients(n, d); }, w);
}

machine::AlignedVector<float> DualSolver::release() {
    return x_.spread(std::move(held_), S(), [&](std::int64_t n, float* d) { coefficients(n, d); });
}

void DualSolver::take_out(std::span<const std::int64_t> which) {
    machine::AlignedVector<float> d(static_cast<std::size_t>(S()));
    for (const std::int64_t n : which) {
        coefficients(n, d.data());
        for (float& one : d) one = -one;
        features::scatter(x_.rows(), n, d.data(), S(), w_.data());
    }
}

void RestingSolver::forget(std::span<const std::int64_t> which) {
    take_out(which);
    for (const std::int64_t n : which) std::fill_n(alpha_.data() + n * S(), S(), 0.0f);
    wake();
}

void RestingSolver::restart() {
    DualSolver::restart();
    std::ranges::fill(alpha_, 0.0f);
    wake();
}

} // namespace chaffinch::learners
