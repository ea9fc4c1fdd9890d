#include "lbfgs.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace chaffinch::learners {

namespace {

constexpr std::int64_t block = 1 << 16;
constexpr double armijo = 1e-4, curvature = 0.9;

float sign(float v) { return v > 0 ? 1.0f : v < 0 ? -1.0f : 0.0f; }

} // namespace

Lbfgs::Lbfgs(Function f, std::span<const float> x, machine::AlignedVector<float> diagonal, const LbfgsSettings& settings)
    : f_(std::move(f)), settings_(settings), n_(static_cast<std::int64_t>(x.size())), x_(x.begin(), x.end()),
      g_(x.size()), direction_(x.size()), next_x_(x.size()), next_g_(x.size()), diagonal_(std::move(diagonal)) {
    if (settings_.c1 > 0) pseudo_.resize(x.size());
    value_ = evaluate(x_, g_);
}

bool Lbfgs::iterate() {
    if (gradient_norm() == 0) return false;
    find_direction();
    const machine::AlignedVector<float>& slope_of = settings_.c1 > 0 ? pseudo_ : g_;
    double slope = dot(direction_.data(), slope_of.data());
    if (!(slope < 0)) { // the stored pairs are stale: use steepest descent
        pairs_.clear();
        find_direction();
        slope = dot(direction_.data(), slope_of.data());
        if (!(slope < 0)) return false;
    }
    const bool found = settings_.c1 > 0 ? search_orthant() : search_wolfe(slope);
    if (!found) {
        if (pairs_.empty()) return false;
        pairs_.clear();
        return iterate();
    }
    remember_step();
    std::swap(x_, next_x_);
    std::swap(g_, next_g_);
    value_ = next_value_;
    return true;
}

double Lbfgs::evaluate(const machine::AlignedVector<float>& x, machine::AlignedVector<float>& g) {
    ++evaluations_;
    double value = f_(x.data(), g.data());
    if (settings_.c1 == 0) return value;
    double sum = 0;
    for (const float v : x) sum += static_cast<double>(std::abs(v));
    return value + settings_.c1 * sum;
}

// direction = -H g, and for c1 > 0 the pseudo-gradient: the smallest of the subgradients.
void Lbfgs::find_direction() {
    const auto c1 = static_cast<float>(settings_.c1);
    const float* g = g_.data();
    if (c1 > 0) {
        blocks([&](std::int64_t from, std::int64_t to) {
            for (std::int64_t k = from; k < to; ++k) {
                const float v = g_[k], right = v + c1, left = v - c1;
                pseudo_[k] = x_[k] > 0 ? right : x_[k] < 0 ? left : right < 0 ? right : left > 0 ? left : 0.0f;
            }
        });
        g = pseudo_.data();
    }
    float* q = direction_.data();
    std::copy_n(g, n_, q);
    std::vector<double> alpha(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
        const Pair& p = pairs_[i];
        alpha[i] = dot(p.s.data(), q) / p.sy;
        const auto a = static_cast<float>(alpha[i]);
        blocks([&](std::int64_t from, std::int64_t to) {
            for (std::int64_t k = from; k < to; ++k) q[k] -= a * p.y[k];
        });
    }
    double gamma = diagonal_.empty() ? 1 / std::sqrt(std::max(dot(g, g), 1e-300)) : 1;
    if (!pairs_.empty()) {
        const Pair& newest = pairs_.back();
        double yDy = dot(newest.y.data(), newest.y.data());
        if (!diagonal_.empty()) {
            machine::AlignedVector<float>& Dy = next_x_; // free until the line search
            blocks([&](std::int64_t from, std::int64_t to) {
                for (std::int64_t k = from; k < to; ++k) Dy[k] = diagonal_[k] * newest.y[k];
            });
            yDy = dot(newest.y.data(), Dy.data());
        }
        gamma = newest.sy / yDy;
    }
    const auto scale = static_cast<float>(gamma);
    blocks([&](std::int64_t from, std::int64_t to) {
        for (std::int64_t k = from; k < to; ++k) q[k] *= diagonal_.empty() ? scale : scale * diagonal_[k];
    });
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
        const Pair& p = pairs_[i];
        const auto b = static_cast<float>(alpha[i] - dot(p.y.data(), q) / p.sy);
        blocks([&](std::int64_t from, std::int64_t to) {
            for (std::int64_t k = from; k < to; ++k) q[k] += b * p.s[k];
        });
    }
    blocks([&](std::int64_t from, std::int64_t to) {
        for (std::int64_t k = from; k < to; ++k) {
            q[k] = -q[k];
            if (c1 > 0 && q[k] * pseudo_[k] >= 0) q[k] = 0;
        }
    });
}

bool Lbfgs::search_wolfe(double slope) {
    double step = 1, low = 0, high = std::numeric_limits<double>::infinity();
    for (int trial = 0; trial < settings_.most_trials; ++trial) {
        const auto a = static_cast<float>(step);
        blocks([&](std::int64_t from, std::int64_t to) {
            for (std::int64_t k = from; k < to; ++k) next_x_[k] = x_[k] + a * direction_[k];
        });
        next_value_ = evaluate(next_x_, next_g_);
        if (!(next_value_ <= value_ + armijo * step * slope))
            high = step;
        else if (dot(next_g_.data(), direction_.data()) < curvature * slope)
            low = step;
        else
            return next_value_ < value_;
        step = std::isinf(high) ? 2 * low : (low + high) / 2;
    }
    return next_value_ < value_;
}

bool Lbfgs::search_orthant() {
    double step = 1;
    for (int trial = 0; trial < settings_.most_trials; ++trial, step /= 2) {
        const auto a = static_cast<float>(step);
        blocks([&](std::int64_t from, std::int64_t to) {
            for (std::int64_t k = from; k < to; ++k) {
                const float orthant = x_[k] != 0 ? sign(x_[k]) : -sign(pseudo_[k]);
                const float moved = x_[k] + a * direction_[k];
                next_x_[k] = sign(moved) == orthant ? moved : 0.0f;
            }
        });
        next_value_ = evaluate(next_x_, next_g_);
        const double fall = dot(pseudo_.data(), next_x_.data()) - dot(pseudo_.data(), x_.data());
        if (next_value_ < value_ && next_value_ <= value_ + armijo * fall) return true;
    }
    return false;
}

// Stores the pair of the last step, unless its curvature is not positive: H would not be positive definite.
void Lbfgs::remember_step() {
    Pair p;
    if (pairs_.size() == settings_.memory) {
        p = std::move(pairs_.front());
        pairs_.pop_front();
    }
    p.s.resize(x_.size());
    p.y.resize(x_.size());
    blocks([&](std::int64_t from, std::int64_t to) {
        for (std::int64_t k = from; k < to; ++k) {
            p.s[k] = next_x_[k] - x_[k];
            p.y[k] = next_g_[k] - g_[k];
        }
    });
    p.sy = dot(p.s.data(), p.y.data());
    if (p.sy > 1e-10 * dot(p.y.data(), p.y.data())) pairs_.push_back(std::move(p));
}

void Lbfgs::memory(float* out) const {
    for (const Pair& p : pairs_) {
        out = std::copy(p.s.begin(), p.s.end(), out);
        out = std::copy(p.y.begin(), p.y.end(), out);
    }
}

void Lbfgs::remember(std::span<const float> memory) {
    pairs_.clear();
    const auto n = static_cast<std::size_t>(n_);
    for (std::size_t at = 0; at < memory.size(); at += 2 * n) {
        const auto s = memory.subspan(at, n), y = memory.subspan(at + n, n);
        Pair p{{s.begin(), s.end()}, {y.begin(), y.end()}, 0};
        p.sy = dot(p.s.data(), p.y.data());
        pairs_.push_back(std::move(p));
    }
}

double Lbfgs::gradient_norm() const {
    if (settings_.c1 == 0) return std::sqrt(dot(g_.data(), g_.data()));
    double sum = 0;
    const double c1 = settings_.c1;
    for (std::int64_t k = 0; k < n_; ++k) {
        const auto g = static_cast<double>(g_[k]);
        const double p = x_[k] > 0   ? g + c1
                         : x_[k] < 0 ? g - c1
                                     : std::max(0.0, std::abs(g) - c1);
        sum += p * p;
    }
    return std::sqrt(sum);
}

double Lbfgs::dot(const float* a, const float* b) const {
    std::vector<double> sums(static_cast<std::size_t>((n_ + block - 1) / block));
    blocks([&](std::int64_t from, std::int64_t to) {
        double lane[machine::lanes] = {};
        std::int64_t k = from;
        for (; k + machine::lanes <= to; k += machine::lanes)
            for (std::int64_t l = 0; l < machine::lanes; ++l)
                lane[l] += static_cast<double>(a[k + l]) * static_cast<double>(b[k + l]);
        double sum = 0;
        for (; k < to; ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
        for (const double s : lane) sum += s;
        sums[static_cast<std::size_t>(from / block)] = sum;
    });
    double sum = 0;
    for (const double s : sums) sum += s;
    return sum;
}

template <class Work> void Lbfgs::blocks(Work&& work) const {
    const auto count = static_cast<std::size_t>((n_ + block - 1) / block);
    machine::parallel_blocks(count, settings_.threads, [&](std::size_t b) {
        const std::int64_t from = static_cast<std::int64_t>(b) * block;
        work(from, std::min(n_, from + block));
    });
}

} // namespace chaffinch::learners
