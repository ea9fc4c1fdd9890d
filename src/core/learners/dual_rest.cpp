#include "dual_rest.hpp"

#include "clones.hpp"
#include "may_throw.hpp"
#include "parallel.hpp"
#include "stop.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <thread>

namespace chaffinch::learners {

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();

using Reals = machine::Pack<float>;
using Mask = machine::Pack<std::int32_t>;

constexpr std::uint32_t examples_between_checks = 64; // whether to stop

// The data of one stripe of lanes in one pass; pointers are at the stripe's first column.
struct Stripe {
    const features::Examples* x;
    std::span<const std::int64_t> order;
    const float *inverse, *D, *E, *C;
    float* signs; // [N][S]  0 in lanes that rest or are no label
    float* alpha;
    std::uint8_t* asleep; // [N]  every lane of the stripe rests
    std::int64_t S;
    float* w;
    float *most, *least; // [lanes] bounds of the last pass, replaced by this one's
    float* violation;    // [lanes]
    float* met;          // [lanes] the sum of the examples' shares of the duality gap
    bool clipped, linear, shrinking;
};

// The inputs of the examples' objective.
struct RestObjective {
    std::int64_t Y;
    bool clipped, linear;
    const float *C, *D;
    const float* alpha; // [N][S]
    const std::int64_t* label_ptr;
    const std::int32_t* labels;
};

// How many packs of labels one thread updates together: all at once if one thread reads a row of w.
std::int64_t packs_at_once(std::int64_t packs, std::size_t threads) {
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    const std::int64_t stripes = std::max((packs + 2) / 3, std::min(packs, static_cast<std::int64_t>(threads)));
    return (packs + stripes - 1) / stripes;
}

template <int P> CHAFFINCH_INLINE void descend(const Stripe& s) {
    constexpr std::int64_t L = P * machine::lanes;
    alignas(64) float score[L], d[L];
    Reals high[P], low[P], beyond_high[P], beyond_low[P], met[P] = {};
    for (int p = 0; p < P; ++p) {
        high[p] = Reals{} - infinite, low[p] = Reals{} + infinite;
        Reals most, least;
        machine::get<float>(most, s.most + p * machine::lanes);
        machine::get<float>(least, s.least + p * machine::lanes);
        beyond_high[p] = machine::select(most > 0.0f, most, Reals{} + infinite);
        beyond_low[p] = machine::select(least < 0.0f, least, Reals{} - infinite);
    }
    const Mask clipped = Mask{} - static_cast<std::int32_t>(s.clipped), linear = Mask{} - static_cast<std::int32_t>(s.linear),
               shrinking = Mask{} - static_cast<std::int32_t>(s.shrinking);
    std::uint32_t looked_at = 0;
    for (const std::int64_t n : s.order) {
        if (++looked_at % examples_between_checks == 0) machine::check_stop();
        if (s.asleep[n]) continue;
        features::rows::gather_packs<P>(*s.x, n, s.w, s.S, score);
        const float D = s.D[n], E = s.E[n], C = s.C[n], U = s.linear ? C : infinite, inverse = s.inverse[n];
        Mask moved{}, awake{};
        for (int p = 0; p < P; ++p) {
            const std::int64_t at = n * s.S + p * machine::lanes;
            Reals sign, a, z;
            machine::get<float>(sign, s.signs + at);
            machine::get<float>(a, s.alpha + at);
            machine::get<float>(z, score + p * machine::lanes);
            const Reals G = sign * z - 1.0f + E * a, margin = G - D * a;
            const Mask at_low = clipped & (a <= 0.0f), at_high = a >= U, live = sign != 0.0f;
            Reals PG = machine::select((at_low & (G > 0.0f)) | (at_high & (G < 0.0f)), Reals{}, G);
            const Mask rest = shrinking & ((at_low & (G > beyond_high[p])) | (at_high & (G < beyond_low[p])));
            const Reals kept = machine::select(rest, Reals{}, sign);
            awake |= kept != 0.0f;
            high[p] = machine::select(live & (PG > high[p]), PG, high[p]);
            low[p] = machine::select(live & (PG < low[p]), PG, low[p]);
            const Reals missed = machine::select(clipped & (margin > 0.0f), Reals{}, -margin);
            const Reals share = C * machine::select(linear, missed, missed * missed) + a * (margin + 0.5f * D * a);
            met[p] += machine::select(live, share, Reals{});
            Reals to = a - G * inverse;
            to = machine::select(clipped & (to < 0.0f), Reals{}, to);
            to = machine::select(to > U, Reals{} + U, to);
            const Reals step = machine::select(live, to - a, Reals{});
            moved |= step != 0.0f;
            machine::put<float>(s.alpha + at, a + step);
            machine::put<float>(s.signs + at, kept);
            machine::put<float>(d + p * machine::lanes, step * sign);
        }
        s.asleep[n] = !machine::any(awake);
        if (machine::any(moved)) features::rows::scatter_packs<P>(*s.x, n, d, s.S, s.w);
    }
    for (int p = 0; p < P; ++p) {
        machine::put<float>(s.most + p * machine::lanes, high[p]);
        machine::put<float>(s.least + p * machine::lanes, low[p]);
        machine::put<float>(s.met + p * machine::lanes, met[p]);
        for (std::int64_t l = 0; l < machine::lanes; ++l)
            s.violation[p * machine::lanes + l] = high[p][l] >= low[p][l] ? std::max(high[p][l], -low[p][l]) : 0.0f;
    }
}

} // namespace

CHAFFINCH_HOT static void descend_one(const Stripe& s) { descend<1>(s); }
CHAFFINCH_HOT static void descend_two(const Stripe& s) { descend<2>(s); }
CHAFFINCH_HOT static void descend_three(const Stripe& s) { descend<3>(s); }

DualRest::DualRest(const features::Examples& examples, std::span<const std::int64_t> label_ptr,
                   std::span<const std::int32_t> labels, std::span<const float> C, std::int64_t Y, MarginLoss loss,
                   bool shrinking, std::span<float> given)
    : RestingSolver(examples, Y, given), loss_(loss), shrinking_(shrinking && loss != MarginLoss::squared), C_(C.begin(), C.end()),
      label_ptr_(label_ptr.begin(), label_ptr.end()), labels_(labels.begin(), labels.end()) {
    const std::int64_t N = x_.N(), S = machine::padded(Y);
    signs_.assign(static_cast<std::size_t>(N * S), 0.0f);
    most_.assign(static_cast<std::size_t>(S), 0.0f);
    least_.assign(static_cast<std::size_t>(S), 0.0f);
    for (std::int64_t n = 0; n < N; ++n) {
        const float D = loss == MarginLoss::hinge ? 0.0f : 0.5f / C[n];
        D_.push_back(D);
        E_.push_back(D + x_.own()[n]);
        inverse_.push_back(1.0f / std::max(x_.norm()[n] + D, 1e-12f));
    }
    wake();
}

double DualRest::pass(std::span<const std::int64_t> order, std::size_t threads, std::span<float> violation) {
    const std::int64_t packs = S() / machine::lanes, width = packs_at_once(packs, threads), stripes = (packs + width - 1) / width;
    if (asleep_.size() != static_cast<std::size_t>(stripes * x_.N()))
        asleep_.assign(static_cast<std::size_t>(stripes * x_.N()), 0);
    std::vector<float> found(static_cast<std::size_t>(S())), met(static_cast<std::size_t>(S()));
    machine::parallel_blocks(static_cast<std::size_t>(stripes), threads, [&](std::size_t stripe) {
        const std::int64_t y = static_cast<std::int64_t>(stripe) * width * machine::lanes;
        const Stripe s{&x_.rows(),
                 order,
                 inverse_.data(),
                 D_.data(),
                 E_.data(),
                 C_.data(),
                 signs_.data() + y,
                 alpha_.data() + y,
                 asleep_.data() + static_cast<std::int64_t>(stripe) * x_.N(),
                 S(),
                 w_.data() + y,
                 most_.data() + y,
                 least_.data() + y,
                 found.data() + y,
                 met.data() + y,
                 loss_ != MarginLoss::squared,
                 loss_ == MarginLoss::hinge,
                 shrinking_};
        switch (std::min(width, S() / machine::lanes - y / machine::lanes)) {
        case 1: machine::may_throw([&] { descend_one(s); }); break;
        case 2: machine::may_throw([&] { descend_two(s); }); break;
        default: machine::may_throw([&] { descend_three(s); }); break;
        }
    });
    std::copy_n(found.begin(), Y_, violation.begin());
    return std::accumulate(met.begin(), met.end(), 0.0);
}

// First as if every label were wrong (a padding lane scores 0 and adds 1), then corrected for the right labels.
CHAFFINCH_HOT static void add_margins(std::int64_t begin, std::int64_t end, const float* scores, const RestObjective& m,
                                      DualObjective& sum) {
    const std::int64_t S = machine::padded(m.Y);
    const Mask clipped = Mask{} - static_cast<std::int32_t>(m.clipped), linear = Mask{} - static_cast<std::int32_t>(m.linear);
    const auto loss_of = [&](float short_of) {
        const float missed = m.clipped && short_of < 0 ? 0.0f : short_of;
        return m.linear ? missed : missed * missed;
    };
    for (std::int64_t n = begin; n < end; ++n, scores += S) {
        Reals losses{}, shares{}, z, a;
        for (std::int64_t y = 0; y < S; y += machine::lanes) {
            machine::get<float>(z, scores + y);
            machine::get<float>(a, m.alpha + n * S + y);
            z = 1.0f + z;
            z = machine::select(clipped & (z < 0.0f), Reals{}, z);
            losses += machine::select(linear, z, z * z);
            shares += a * (1.0f - 0.5f * m.D[n] * a);
        }
        float loss = machine::total(losses) - static_cast<float>(S - m.Y);
        for (std::int64_t k = m.label_ptr[n]; k < m.label_ptr[n + 1]; ++k)
            loss += loss_of(1.0f - scores[m.labels[k]]) - loss_of(1.0f + scores[m.labels[k]]);
        sum.primal += static_cast<double>(m.C[n] * loss), sum.dual += static_cast<double>(machine::total(shares));
    }
}

void DualRest::add_losses(std::int64_t begin, std::int64_t end, const float* scores, DualObjective& sum) const {
    const RestObjective margins{Y_,           loss_ != MarginLoss::squared, loss_ == MarginLoss::hinge, C_.data(), D_.data(),
                          alpha_.data(), label_ptr_.data(),            labels_.data()};
    add_margins(begin, end, scores, margins, sum);
}

void DualRest::wake() {
    for (std::int64_t n = 0; n < x_.N(); ++n) {
        float* sign = signs_.data() + n * S();
        std::fill_n(sign, Y_, -1.0f);
        for (std::int64_t k = label_ptr_[n]; k < label_ptr_[n + 1]; ++k) sign[labels_[k]] = 1.0f;
    }
    std::ranges::fill(asleep_, std::uint8_t{0});
    std::ranges::fill(most_, 0.0f);
    std::ranges::fill(least_, 0.0f);
}

void DualRest::coefficients(std::int64_t n, float* d) const {
    const float* a = alpha_.data() + n * S();
    for (std::int64_t y = 0; y < S(); ++y) d[y] = -a[y];
    for (std::int64_t k = label_ptr_[n]; k < label_ptr_[n + 1]; ++k) d[labels_[k]] = a[labels_[k]];
}

} // namespace chaffinch::learners
