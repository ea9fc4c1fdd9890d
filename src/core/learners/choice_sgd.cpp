#include "choice_sgd.hpp"

#include "clones.hpp"
#include "may_throw.hpp"
#include "parallel.hpp"
#include "stop.hpp"

#include <algorithm>
#include <cmath>

namespace chaffinch::learners {

// The parts of a step, with the state at hand.
struct SgdStep {
    ChoiceSgd& sgd;
    const features::Examples& x;
    float* w;
    bool lazy; // rows are updated lazily: there is a penalty or an average

    CHAFFINCH_INLINE void settle(std::int64_t f) const {
        if (!sgd.settings_.average) return penalise(f);
        if (!sgd.shrink_at_.empty()) return replay(f);
        float* __restrict row = w + f * sgd.S_;
        const auto held = static_cast<float>(sgd.steps_ - sgd.step_at_[f]);
        sgd.step_at_[f] = sgd.steps_;
        float* __restrict sum = sgd.sums_.data() + f * sgd.S_;
        if (held > 0)
            for (std::int64_t y = 0; y < sgd.S_; ++y) sum[y] += held * row[y];
    }

    // The mean of weights that shrink at each step has no closed form: a row's missed steps are replayed one by one,
    // until it is zero.
    void replay(std::int64_t f) const {
        float* __restrict row = w + f * sgd.S_;
        float* __restrict sum = sgd.sums_.data() + f * sgd.S_;
        const std::int64_t penalised = sgd.penalised_at_[f];
        bool any = false;
        for (std::int64_t y = 0; y < sgd.S_; ++y) any = any || row[y] != 0;
        for (std::int64_t step = sgd.step_at_[f]; any && step < sgd.steps_; ++step) {
            any = false;
            for (std::int64_t y = 0; y < sgd.S_; ++y) {
                if (step >= penalised) row[y] = penalised_once(f, y, row[y], sgd.rates_[step]);
                sum[y] += row[y];
                any = any || row[y] != 0;
            }
        }
        sgd.step_at_[f] = sgd.penalised_at_[f] = sgd.steps_;
        sgd.decay_at_[f] = sgd.decay_sum_, sgd.shrink_at_[f] = sgd.shrink_sum_;
    }

    float penalised_once(std::int64_t f, std::int64_t y, float weight, float e) const {
        const auto l1 = static_cast<float>(sgd.settings_.l1) * e, l2 = static_cast<float>(sgd.settings_.l2) * e;
        if (!sgd.settings_.adaptive) return shrunk(weight * (1 - std::min(0.999999f, l2)), l1);
        const float h = 1.0f / std::sqrt(sgd.squares_[f * sgd.S_ + y] + tiny), keep = std::exp(-l2 * h);
        return shrunk(weight * keep, l1 * h * mean_kept(l2 * h, keep));
    }

    CHAFFINCH_INLINE void penalise(std::int64_t f) const {
        if (sgd.shrink_at_.empty()) return;
        float* __restrict row = w + f * sgd.S_;
        if (sgd.shrink_sum_ == sgd.shrink_at_[f] && sgd.decay_sum_ == sgd.decay_at_[f]) return;
        if (sgd.settings_.adaptive) {
            const double missed = sgd.shrink_sum_ - sgd.shrink_at_[f];
            const auto l1 = static_cast<float>(sgd.settings_.l1 * missed), l2 = static_cast<float>(sgd.settings_.l2 * missed);
            const float* __restrict G = sgd.squares_.data() + f * sgd.S_;
            for (std::int64_t y = 0; y < sgd.S_; y += machine::lanes) {
                float h[machine::lanes], keep[machine::lanes];
                for (std::int64_t l = 0; l < machine::lanes; ++l) h[l] = 1.0f / std::sqrt(G[y + l] + tiny), keep[l] = -l2 * h[l];
                losses::exp_row(machine::lanes, keep, 0.0f, keep);
                for (std::int64_t l = 0; l < machine::lanes; ++l)
                    row[y + l] = shrunk(row[y + l] * keep[l], l1 * h[l] * mean_kept(l2 * h[l], keep[l]));
            }
        } else {
            const double keep = std::exp(sgd.decay_sum_ - sgd.decay_at_[f]);
            const auto by = static_cast<float>(sgd.settings_.l1 * (sgd.shrink_sum_ - keep * sgd.shrink_at_[f]));
            for (std::int64_t y = 0; y < sgd.S_; ++y) row[y] = shrunk(row[y] * static_cast<float>(keep), by);
            sgd.decay_at_[f] = sgd.decay_sum_;
        }
        sgd.shrink_at_[f] = sgd.shrink_sum_;
        if (sgd.settings_.average) sgd.penalised_at_[f] = sgd.steps_;
    }

    CHAFFINCH_INLINE void settle_features(std::int64_t n) const {
        for (std::int64_t k = x.ptr[n]; k < x.ptr[n + 1]; ++k) settle(x.ids[k]);
        if (x.bias != 0) settle(x.F);
    }

    CHAFFINCH_INLINE void penalise_features(std::int64_t n) const {
        for (std::int64_t k = x.ptr[n]; k < x.ptr[n + 1]; ++k) penalise(x.ids[k]);
        if (x.bias != 0) penalise(x.F);
    }

    // w[f] moves by e v d, or by AdaGrad's share of it.
    CHAFFINCH_INLINE void move(std::int64_t f, float v, const float* __restrict d, float e) const {
        float* __restrict row = w + f * sgd.S_;
        float* __restrict G = sgd.squares_.data() + f * sgd.S_;
        for (std::int64_t y = 0; y < sgd.S_; ++y) {
            const float g = v * d[y];
            G[y] += g * g;
            row[y] += e * g / std::sqrt(G[y] + tiny);
        }
    }

    CHAFFINCH_INLINE void count(float e) const {
        ++sgd.steps_;
        if (sgd.settings_.average && !sgd.shrink_at_.empty()) sgd.rates_.push_back(e);
        const double lost = std::min(0.999999, static_cast<double>(e) * sgd.settings_.l2);
        sgd.shrink_sum_ = (sgd.settings_.adaptive ? 1 : 1 - lost) * sgd.shrink_sum_ + static_cast<double>(e);
        if (!sgd.settings_.adaptive) sgd.decay_sum_ += std::log1p(-lost);
    }

    static constexpr float tiny = 1e-10f;

    // (1 - exp(-x)) / x, given exp(-x)
    CHAFFINCH_INLINE static float mean_kept(float x, float kept) {
        return x < 0.05f ? 1 - x / 2 * (1 - x / 3 * (1 - x / 4)) : (1 - kept) / x;
    }

    CHAFFINCH_INLINE static float shrunk(float a, float by) {
        const float size = (a < 0 ? -a : a) - by;
        return size <= 0 ? 0.0f : (a < 0 ? -size : size);
    }
};

ChoiceSgd::ChoiceSgd(std::int64_t F, std::int64_t Y, const ChoiceSgdSettings& settings)
    : F_(F), Y_(Y), S_(machine::padded(Y)), settings_(settings) {
    const auto rows = static_cast<std::size_t>(F + 1), cells = rows * static_cast<std::size_t>(S_);
    if (settings.l1 > 0 || settings.l2 > 0) shrink_at_.assign(rows, 0.0), decay_at_.assign(rows, 0.0);
    if (settings.average) step_at_.assign(rows, 0), penalised_at_.assign(rows, 0), sums_.assign(cells, 0.0f);
    if (settings.adaptive) squares_.assign(cells, 0.0f);
}

CHAFFINCH_HOT static double sgd_by_sample(const SgdStep& step, const ChoiceSgdSettings& settings, std::int64_t Y,
                                          std::span<const float> q, std::span<const float> c,
                                          std::span<const std::int64_t> order, std::span<const float> rates) {
    const std::int64_t S = machine::padded(Y);
    machine::AlignedVector<float> s(static_cast<std::size_t>(S)), d(static_cast<std::size_t>(S));
    const features::Examples& x = step.x;
    double loss = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i % 64 == 0) machine::check_stop();
        const std::int64_t n = order[i];
        const float e = rates[i];
        if (step.lazy) step.settle_features(n);
        features::gather(x, n, step.w, S, s.data());
        const double one = choice_loss(settings.loss, Y, S, s.data(), q.data() + n * Y, d.data());
        loss += static_cast<double>(c[n]) * one;
        step.count(e);
        if (one == 0 && settings.loss == ChoiceLoss::hinge) continue;
        if (step.lazy) step.penalise_features(n);
        const float scale = settings.adaptive ? c[n] : e * c[n];
        for (std::int64_t y = 0; y < S; ++y) d[y] *= scale;
        if (!settings.adaptive) {
            features::scatter(x, n, d.data(), S, step.w);
            continue;
        }
        for (std::int64_t k = x.ptr[n]; k < x.ptr[n + 1]; ++k) step.move(x.ids[k], x.value(n, k), d.data(), e);
        if (x.bias != 0) step.move(x.F, x.bias, d.data(), e);
    }
    return loss;
}

CHAFFINCH_HOT static void sgd_directions(const features::Examples& x, ChoiceLoss loss, std::int64_t Y, std::span<const float> q,
                                         std::span<const float> c, std::span<const std::int64_t> order, const float* w,
                                         float* d, double* met) {
    const std::int64_t S = machine::padded(Y);
    machine::AlignedVector<float> s(static_cast<std::size_t>(S));
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::int64_t n = order[i];
        float* here = d + static_cast<std::int64_t>(i) * S;
        features::gather(x, n, w, S, s.data());
        met[i] = static_cast<double>(c[n]) * choice_loss(loss, Y, S, s.data(), q.data() + n * Y, here);
        for (std::int64_t y = 0; y < S; ++y) here[y] *= c[n];
    }
}

double ChoiceSgd::run(const features::Examples& x, std::span<const float> q, std::span<const float> c,
                      std::span<const std::int64_t> order, std::int64_t batch, std::span<const float> rates,
                      std::size_t threads, float* w) {
    const SgdStep step{*this, x, w, !shrink_at_.empty() || settings_.average};
    if (batch <= 1)
        return machine::may_throw([&] { return sgd_by_sample(step, settings_, Y_, q, c, order, rates); });

    const auto cells = static_cast<std::size_t>((F_ + 1) * S_);
    if (gradient_.empty()) gradient_.assign(cells, 0.0f), in_use_.assign(static_cast<std::size_t>(F_ + 1), 0);
    machine::AlignedVector<float> d(static_cast<std::size_t>(batch * S_));
    std::vector<double> met(static_cast<std::size_t>(batch));
    constexpr std::size_t share = 64; // examples a thread takes at a time
    double loss = 0;
    for (std::size_t begin = 0, b = 0; begin < order.size(); begin += static_cast<std::size_t>(batch), ++b) {
        machine::check_stop();
        const auto here = order.subspan(begin, std::min(static_cast<std::size_t>(batch), order.size() - begin));
        if (step.lazy)
            for (const std::int64_t n : here) step.settle_features(n);
        machine::parallel_blocks((here.size() + share - 1) / share, threads, [&](std::size_t k) {
            const auto part = here.subspan(k * share, std::min(share, here.size() - k * share));
            machine::may_throw([&] {
                sgd_directions(x, settings_.loss, Y_, q, c, part, w, d.data() + static_cast<std::int64_t>(k * share) * S_,
                               met.data() + k * share);
            });
        });
        touched_.clear();
        const auto use = [&](std::int64_t f) {
            if (!in_use_[f]) in_use_[f] = 1, touched_.push_back(static_cast<std::int32_t>(f));
        };
        for (std::size_t i = 0; i < here.size(); ++i) {
            const std::int64_t n = here[i];
            loss += met[i];
            for (std::int64_t k = x.ptr[n]; k < x.ptr[n + 1]; ++k) use(x.ids[k]);
            if (x.bias != 0) use(F_);
            features::scatter(x, n, d.data() + static_cast<std::int64_t>(i) * S_, S_, gradient_.data());
        }
        const float e = rates[b], mean = 1.0f / static_cast<float>(here.size());
        step.count(e);
        for (const std::int32_t f : touched_) {
            float* __restrict g = gradient_.data() + f * S_;
            float* __restrict row = w + f * S_;
            if (step.lazy) step.penalise(f);
            if (settings_.adaptive)
                step.move(f, mean, g, e);
            else
                for (std::int64_t y = 0; y < S_; ++y) row[y] += e * mean * g[y];
            std::fill_n(g, S_, 0.0f);
            in_use_[f] = 0;
        }
    }
    return loss;
}

void ChoiceSgd::settle(float* w) {
    const features::Examples none;
    const SgdStep step{*this, none, w, true};
    for (std::int64_t f = 0; f <= F_; ++f) step.settle(f);
}

void ChoiceSgd::average(const float* w, float* out) const {
    const auto cells = static_cast<std::size_t>((F_ + 1) * S_);
    const float scale = steps_ == 0 ? 0.0f : 1.0f / static_cast<float>(steps_);
    for (std::size_t i = 0; i < cells; ++i) out[i] = steps_ == 0 ? w[i] : sums_[i] * scale;
}

} // namespace chaffinch::learners
