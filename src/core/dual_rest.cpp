#include "dual_rest.hpp"

#include "clones.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <limits>

namespace chaffinch {

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();

// What one stripe of lanes of one pass works on; pointers are at the stripe's first column.
struct Stripe {
    const Examples* x;
    std::span<const std::int64_t> order;
    const float *Q, *D, *U;
    const float* signs;
    float* alpha;
    std::uint8_t* resting;
    std::int64_t S;
    float* w;
    float *most, *least; // [lanes] bounds of the last pass, replaced by this one's
    float* violation;    // [lanes]
    bool clipped, shrinking;
};

template <int P> CHAFFINCH_INLINE void descend(const Stripe& s) {
    constexpr std::int64_t L = P * lanes;
    alignas(64) float score[L], d[L];
    float high[L], low[L], beyond_high[L], beyond_low[L];
    for (std::int64_t y = 0; y < L; ++y) {
        high[y] = -infinite, low[y] = infinite;
        beyond_high[y] = s.most[y] > 0 ? s.most[y] : infinite;
        beyond_low[y] = s.least[y] < 0 ? s.least[y] : -infinite;
    }
    for (const std::int64_t n : s.order) {
        const float* sign = s.signs + n * s.S;
        float* a = s.alpha + n * s.S;
        std::uint8_t* rests = s.resting + n * s.S;
        if (s.shrinking) {
            bool all = true;
            for (std::int64_t y = 0; y < L; ++y) all &= rests[y] != 0;
            if (all) continue;
        }
        rows::gather_packs<P>(*s.x, n, s.w, s.S, score);
        const float D = s.D[n], U = s.U[n], inverse = 1.0f / s.Q[n];
        float moved = 0;
        for (std::int64_t y = 0; y < L; ++y) {
            const float G = sign[y] * score[y] - 1.0f + D * a[y];
            const bool at_low = s.clipped && a[y] <= 0, at_high = a[y] >= U;
            float PG = G;
            PG = at_low && G > 0 ? 0.0f : PG;
            PG = at_high && G < 0 ? 0.0f : PG;
            const bool live = rests[y] == 0 && sign[y] != 0;
            const bool rest = s.shrinking && ((at_low && G > beyond_high[y]) || (at_high && G < beyond_low[y]));
            rests[y] = static_cast<std::uint8_t>(rests[y] != 0 || rest || sign[y] == 0);
            high[y] = live && PG > high[y] ? PG : high[y];
            low[y] = live && PG < low[y] ? PG : low[y];
            float to = a[y] - G * inverse;
            to = s.clipped && to < 0 ? 0.0f : to;
            to = to > U ? U : to;
            const float step = live ? to - a[y] : 0.0f;
            a[y] += step;
            d[y] = step * sign[y];
            moved += step < 0 ? -step : step;
        }
        if (moved > 1e-12f) rows::scatter_packs<P>(*s.x, n, d, s.S, s.w);
    }
    for (std::int64_t y = 0; y < L; ++y) {
        s.most[y] = high[y], s.least[y] = low[y];
        s.violation[y] = high[y] >= low[y] ? std::max(high[y], -low[y]) : 0.0f;
    }
}

} // namespace

CHAFFINCH_HOT static void descend_one(const Stripe& s) { descend<1>(s); }
CHAFFINCH_HOT static void descend_two(const Stripe& s) { descend<2>(s); }

DualRest::DualRest(const Examples& examples, std::span<const std::int64_t> label_ptr,
                   std::span<const std::int32_t> labels, std::span<const float> C, std::int64_t Y, MarginLoss loss,
                   bool shrinking)
    : x_(examples), Y_(Y), loss_(loss), shrinking_(shrinking && loss != MarginLoss::squared) {
    const std::int64_t N = x_.N(), S = padded(Y);
    alpha_.assign(static_cast<std::size_t>(N * S), 0.0f);
    signs_.assign(static_cast<std::size_t>(N * S), 0.0f);
    resting_.assign(static_cast<std::size_t>(N * S), 0);
    most_.assign(static_cast<std::size_t>(S), 0.0f);
    least_.assign(static_cast<std::size_t>(S), 0.0f);
    for (std::int64_t n = 0; n < N; ++n) {
        const float D = loss == MarginLoss::hinge ? 0.0f : 0.5f / C[n];
        D_.push_back(D);
        U_.push_back(loss == MarginLoss::hinge ? C[n] : infinite);
        Q_.push_back(std::max(squared_norm(x_, n) + D, 1e-12f));
        float* sign = signs_.data() + n * S;
        std::fill_n(sign, Y, -1.0f);
        for (std::int64_t k = label_ptr[n]; k < label_ptr[n + 1]; ++k) sign[labels[k]] = 1.0f;
    }
    wake();
}

void DualRest::pass(std::span<const std::int64_t> order, std::size_t threads, float* w, std::span<float> violation) {
    const std::int64_t packs = S() / lanes, stripes = (packs + 1) / 2;
    std::vector<float> found(static_cast<std::size_t>(S()));
    parallel_blocks(static_cast<std::size_t>(stripes), threads, [&](std::size_t stripe) {
        const std::int64_t y = static_cast<std::int64_t>(stripe) * 2 * lanes;
        const Stripe s{&x_,
                       order,
                       Q_.data(),
                       D_.data(),
                       U_.data(),
                       signs_.data() + y,
                       alpha_.data() + y,
                       resting_.data() + y,
                       S(),
                       w + y,
                       most_.data() + y,
                       least_.data() + y,
                       found.data() + y,
                       loss_ != MarginLoss::squared,
                       shrinking_};
        if (S() - y > lanes)
            descend_two(s);
        else
            descend_one(s);
    });
    std::copy_n(found.begin(), Y_, violation.begin());
}

void DualRest::wake() {
    for (std::size_t i = 0; i < resting_.size(); ++i) resting_[i] = signs_[i] == 0;
    std::ranges::fill(most_, 0.0f);
    std::ranges::fill(least_, 0.0f);
}

} // namespace chaffinch
