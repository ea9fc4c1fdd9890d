#include "chain_conditionals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chaffinch::structures {

namespace {

// exp(scale (values - their maximum)); zeros if all are -inf.
void exponentials(const float* values, std::int64_t n, double scale, double* out) {
    const double top = *std::max_element(values, values + n) * scale;
    if (top == -std::numeric_limits<double>::infinity()) {
        std::fill_n(out, n, 0.0);
        return;
    }
    for (std::int64_t i = 0; i < n; ++i) out[i] = std::exp(values[i] * scale - top);
}

void normalise(double* values, std::int64_t n) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) sum += values[i];
    const double share = 1.0 / std::max(sum, std::numeric_limits<double>::min());
    for (std::int64_t i = 0; i < n; ++i) values[i] *= share;
}

} // namespace

ChainConditionals::ChainConditionals(const float* pair, std::int64_t stride, const float* start, const float* end,
                                     std::int64_t Y, double temperature)
    : Y_(Y), scale_(1.0 / temperature), E_(static_cast<std::size_t>(Y * Y)), across_(E_.size()),
      start_(static_cast<std::size_t>(Y)), end_(start_.size()) {
    std::vector<float> flat(E_.size());
    for (std::int64_t y = 0; y < Y; ++y) std::copy_n(pair + y * stride, Y, flat.data() + y * Y);
    exponentials(flat.data(), Y * Y, scale_, E_.data());
    for (std::int64_t y = 0; y < Y; ++y)
        for (std::int64_t after = 0; after < Y; ++after) across_[after * Y + y] = E_[y * Y + after];
    exponentials(start, Y, scale_, start_.data());
    exponentials(end, Y, scale_, end_.data());
}

void ChainConditionals::prepare(const float* unary, std::int64_t T, std::int64_t stride) {
    T_ = T;
    b_.resize(static_cast<std::size_t>(T * Y_));
    ub_.resize(b_.size());
    for (std::int64_t t = T - 1; t >= 0; --t) {
        double* b = b_.data() + t * Y_;
        if (t == T - 1) {
            std::ranges::copy(end_, b);
        } else {
            const double* later = ub_.data() + (t + 1) * Y_;
            std::fill_n(b, Y_, 0.0);
            for (std::int64_t after = 0; after < Y_; ++after) {
                const double* row = across_.data() + after * Y_;
                const double u = later[after];
                for (std::int64_t y = 0; y < Y_; ++y) b[y] += row[y] * u;
            }
        }
        double* ub = ub_.data() + t * Y_;
        exponentials(unary + t * stride, Y_, scale_, ub);
        for (std::int64_t y = 0; y < Y_; ++y) ub[y] *= b[y];
        normalise(ub, Y_);
    }
}

void ChainConditionals::marginals(double* p) const {
    if (T_ == 0) return;
    for (std::int64_t y = 0; y < Y_; ++y) p[y] = ub_[y] * start_[y];
    normalise(p, Y_);
    for (std::int64_t t = 1; t < T_; ++t) {
        const double *before = p + (t - 1) * Y_, *b = b_.data() + (t - 1) * Y_, *ub = ub_.data() + t * Y_;
        double* here = p + t * Y_;
        std::fill_n(here, Y_, 0.0);
        for (std::int64_t y = 0; y < Y_; ++y) {
            if (b[y] <= 0.0) continue;
            const double share = before[y] / b[y];
            const double* row = E_.data() + y * Y_;
            for (std::int64_t after = 0; after < Y_; ++after) here[after] += share * row[after];
        }
        for (std::int64_t y = 0; y < Y_; ++y) here[y] *= ub[y];
    }
}

double ChainConditionals::span(const double* p, std::int64_t begin, std::int64_t end,
                               std::span<const std::int32_t> opens, std::span<const std::int32_t> goes) {
    mass_.resize(opens.size());
    for (std::size_t i = 0; i < opens.size(); ++i) mass_[i] = opens[i] < 0 ? 0.0 : p[opens[i]];
    std::span<const std::int32_t> labels = opens;
    for (std::int64_t t = begin;; ++t) {
        double stays = 0.0; // nothing of goes follows
        next_.assign(goes.size(), 0.0);
        for (std::size_t i = 0; i < labels.size(); ++i) {
            double follows = 0.0;
            if (labels[i] >= 0 && t + 1 < T_)
                for (std::size_t j = 0; j < goes.size(); ++j) {
                    if (goes[j] < 0) continue;
                    const double chance = q(t, labels[i], goes[j]);
                    next_[j] += mass_[i] * chance;
                    follows += chance;
                }
            stays += mass_[i] * std::max(0.0, 1.0 - follows);
        }
        if (t + 1 == end) return std::min(stays, 1.0);
        mass_.swap(next_);
        labels = goes;
    }
}

double ChainConditionals::q(std::int64_t t, std::int64_t y, std::int64_t after) const {
    const double b = b_[t * Y_ + y];
    return b > 0.0 ? E_[y * Y_ + after] * ub_[(t + 1) * Y_ + after] / b : 0.0;
}

} // namespace chaffinch::structures
