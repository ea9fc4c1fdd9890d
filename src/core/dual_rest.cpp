#include "dual_rest.hpp"

#include "clones.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <limits>

namespace chaffinch {

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();

using Reals = Pack<float>;
using Mask = Pack<std::int32_t>;

// What one stripe of lanes of one pass works on; pointers are at the stripe's first column.
struct Stripe {
    const Examples* x;
    std::span<const std::int64_t> order;
    const float *Q, *D, *U;
    const float* signs;
    float* alpha;
    std::int32_t* resting;
    std::uint8_t* asleep; // [N]  every lane of the stripe rests
    std::int64_t S;
    float* w;
    float *most, *least; // [lanes] bounds of the last pass, replaced by this one's
    float* violation;    // [lanes]
    bool clipped, shrinking;
};

CHAFFINCH_INLINE bool any(const Mask& mask) {
    std::int32_t found = 0;
    for (std::int64_t l = 0; l < lanes; ++l) found |= mask[l];
    return found != 0;
}

template <int P> CHAFFINCH_INLINE void descend(const Stripe& s) {
    constexpr std::int64_t L = P * lanes;
    alignas(64) float score[L], d[L];
    Reals high[P], low[P], beyond_high[P], beyond_low[P];
    for (int p = 0; p < P; ++p) {
        high[p] = Reals{} - infinite, low[p] = Reals{} + infinite;
        Reals most, least;
        get<float>(most, s.most + p * lanes);
        get<float>(least, s.least + p * lanes);
        beyond_high[p] = most > 0.0f ? most : Reals{} + infinite;
        beyond_low[p] = least < 0.0f ? least : Reals{} - infinite;
    }
    const Mask clipped = Mask{} - static_cast<std::int32_t>(s.clipped), shrinking = Mask{} - static_cast<std::int32_t>(s.shrinking);
    for (const std::int64_t n : s.order) {
        if (s.asleep[n]) continue;
        rows::gather_packs<P>(*s.x, n, s.w, s.S, score);
        const float D = s.D[n], U = s.U[n], inverse = 1.0f / s.Q[n];
        Mask moved{}, awake{};
        for (int p = 0; p < P; ++p) {
            const std::int64_t at = n * s.S + p * lanes;
            Reals sign, a, z;
            Mask rests;
            get<float>(sign, s.signs + at);
            get<float>(a, s.alpha + at);
            get<float>(z, score + p * lanes);
            get<std::int32_t>(rests, s.resting + at);
            const Reals G = sign * z - 1.0f + D * a;
            const Mask at_low = clipped & (a <= 0.0f), at_high = a >= U, live = rests == 0;
            Reals PG = (at_low & (G > 0.0f)) | (at_high & (G < 0.0f)) ? Reals{} : G;
            const Mask rest = shrinking & ((at_low & (G > beyond_high[p])) | (at_high & (G < beyond_low[p])));
            rests |= rest;
            awake |= ~rests;
            high[p] = live & (PG > high[p]) ? PG : high[p];
            low[p] = live & (PG < low[p]) ? PG : low[p];
            Reals to = a - G * inverse;
            to = clipped & (to < 0.0f) ? Reals{} : to;
            to = to > U ? Reals{} + U : to;
            const Reals step = live ? to - a : Reals{};
            moved |= step != 0.0f;
            put<float>(s.alpha + at, a + step);
            put<std::int32_t>(s.resting + at, rests);
            put<float>(d + p * lanes, step * sign);
        }
        s.asleep[n] = !any(awake);
        if (any(moved)) rows::scatter_packs<P>(*s.x, n, d, s.S, s.w);
    }
    for (int p = 0; p < P; ++p) {
        put<float>(s.most + p * lanes, high[p]);
        put<float>(s.least + p * lanes, low[p]);
        for (std::int64_t l = 0; l < lanes; ++l)
            s.violation[p * lanes + l] = high[p][l] >= low[p][l] ? std::max(high[p][l], -low[p][l]) : 0.0f;
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
    asleep_.assign(static_cast<std::size_t>(N * ((S / lanes + 1) / 2)), 0);
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
                       asleep_.data() + static_cast<std::int64_t>(stripe) * x_.N(),
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

DualObjective DualRest::objective(const float* w, std::size_t threads) const {
    return dual_objective(x_, w, S(), threads, [&](std::int64_t n, const float* scores, DualObjective& sum) {
        const float* sign = signs_.data() + n * S();
        const float* a = alpha_.data() + n * S();
        const double C = loss_ == MarginLoss::hinge ? U_[n] : 0.5 / D_[n];
        double loss = 0, share = 0;
        for (std::int64_t y = 0; y < Y_; ++y) {
            const double short_of = 1.0 - static_cast<double>(sign[y]) * scores[y];
            const double missed = loss_ == MarginLoss::squared || short_of > 0 ? short_of : 0.0;
            loss += loss_ == MarginLoss::hinge ? missed : missed * missed;
            share += a[y] - 0.5 * static_cast<double>(D_[n]) * a[y] * a[y];
        }
        sum.primal += C * loss, sum.dual += share;
    });
}

void DualRest::wake() {
    for (std::size_t i = 0; i < resting_.size(); ++i) resting_[i] = signs_[i] == 0 ? -1 : 0;
    std::ranges::fill(asleep_, std::uint8_t{0});
    std::ranges::fill(most_, 0.0f);
    std::ranges::fill(least_, 0.0f);
}

} // namespace chaffinch
