#include "dual_choice.hpp"

#include "choice_loss.hpp"
#include "clones.hpp"
#include "log.hpp"
#include "may_throw.hpp"
#include "stop.hpp"

#include <algorithm>
#include <cmath>

namespace chaffinch::learners {

namespace {

constexpr float minus_infinity = -3e38f;
constexpr float least = 1e-9f; // lower bound of probabilities

constexpr std::uint32_t examples_between_checks = 64; // whether to stop

using Reals = machine::Pack<float>;
using Mask = machine::Pack<std::int32_t>;

// |x_n|^2 as a divisor.
std::vector<float> norms(const SharedRows& x) {
    std::vector<float> out(x.norm(), x.norm() + x.N());
    for (float& norm : out) norm = std::max(norm, 1e-12f);
    return out;
}

// The block of one example:  min over a of  sum_y A a_y^2 / 2 + B_y a_y,   a_y <= C [y = gold],  sum_y a_y = 0.
//
//   D_y = B_y + A C [y = gold],   a_y = C [y = gold] - max(0, D_y - beta) / A,   sum_y max(0, D_y - beta) = A C
//
// (Crammer and Singer 2001.) The last sum falls in beta and is convex. Any set M of labels gives a lower bound of beta,
// (sum over M of D - A C) / |M|, and Newton's method ascends from there: each step takes M to be the labels above the
// last beta. The labels above beta at the example's last visit are mostly the answer.
//
// Squared, with d = 1 / 2C:  min over a of  sum_y A a_y^2 / 2 + B_y a_y  +  d a_gold^2 / 2,   a_y <= 0 except of gold.
//
//   a_gold = (beta - B_gold) / (A + d),   a_y = - max(0, B_y - beta) / A,   sum_y max(0, B_y - beta) = r (beta - B_gold)
//
// with r = A / (A + d), and the same steps: (sum over M of D + add) / (|M| + r), where the hinge has add = - A C and r = 0.
CHAFFINCH_INLINE float threshold(std::int64_t S, const float* D, float beta, float add, float r) {
    for (std::int64_t step = 0; step < S; ++step) {
        Reals count{}, heights{}, d;
        for (std::int64_t y = 0; y < S; y += machine::lanes) {
            machine::get<float>(d, D + y);
            count += machine::select(d > beta, Reals{} + 1.0f, Reals{});
            heights += machine::select(d > beta, d, Reals{});
        }
        const float next = (machine::total(heights) + add) / (machine::total(count) + r);
        if (!(next > beta)) break; // the same labels
        beta = next;
    }
    return beta;
}

} // namespace

DualCrammerSinger::DualCrammerSinger(const features::Examples& examples, std::span<const std::int32_t> y,
                                     std::span<const float> C, std::int64_t Y, bool squared, bool shrinking,
                                     std::span<float> given)
    : RestingSolver(examples, Y, given), y_(y.begin(), y.end()), C_(C.begin(), C.end()), norm_(norms(x_)), squared_(squared), shrinking_(shrinking),
      resting_(static_cast<std::size_t>(examples.N())) {}

void DualCrammerSinger::wake() {
    std::ranges::fill(resting_, std::uint8_t{0});
    bound_ = 0;
}

// What a pass works on.
struct CrammerSingerPass {
    const SharedRows& x;
    std::span<const std::int64_t> order;
    const std::int32_t* gold;
    const float *C, *norm;
    std::int64_t Y;
    float bound;
    std::uint8_t* resting;
    float *alpha, *w;
};

// Packs: of a row of labels, or 0 if not known at compile time.
template <int Packs, bool Squared> CHAFFINCH_INLINE DualCrammerSinger::Pass descend(const CrammerSingerPass& p) {
    const auto& [x, order, gold, C, norm, Y, bound, resting, alpha, w] = p;
    const std::int64_t S = Packs ? Packs * machine::lanes : machine::padded(Y);
    machine::AlignedVector<float> G(static_cast<std::size_t>(S)), D(static_cast<std::size_t>(S)), d(static_cast<std::size_t>(S));
    DualCrammerSinger::Pass found;
    std::uint32_t met = 0;
    for (const std::int64_t n : order) {
        if (resting[n]) continue;
        if (++met % examples_between_checks == 0) machine::check_stop();
        float* held = alpha + n * S;
        const std::int32_t y_n = gold[n];
        const float own = x.own()[n], A = norm[n], C_n = C[n];
        const float curve = Squared ? 0.5f / C_n : 0.0f, most_gold = Squared ? 0.0f : C_n, before_gold = held[y_n];
        features::gather(x.rows(), n, w, S, G.data());
        // G_y = s_y + [y != gold] (squared: + a_gold / 2C of gold); optimal if max_y G_y over all y does not exceed the
        // min over y with a_y < its bound. high: of all but gold.
        Reals high = Reals{} + minus_infinity, low = Reals{} - minus_infinity, product{}, count{}, heights{}, g, a;
        for (std::int64_t y = 0; y < S; y += machine::lanes) {
            const Mask label = machine::numbered<std::int32_t>() + static_cast<std::int32_t>(y), is_gold = label == y_n;
            machine::get<float>(g, G.data() + y);
            machine::get<float>(a, held + y);
            const Reals most = machine::select(is_gold, Reals{} + most_gold, Reals{});
            g += own * a + machine::select(is_gold, curve * a, Reals{} + 1.0f);
            g = machine::select(label < static_cast<std::int32_t>(Y), g, Reals{} + minus_infinity);
            Mask below = a < most;
            if constexpr (Squared) below = machine::select(is_gold, Mask{} - 1, below);
            high = machine::select(~is_gold & (g > high), g, high);
            low = machine::select(below & (g < low), g, low);
            product += a * machine::select(a != 0.0f, g, Reals{});
            machine::put<float>(G.data() + y, g);
            g += A * (most - a);
            if constexpr (Squared) below = machine::select(is_gold, Mask{}, below), g = machine::select(is_gold, Reals{} + minus_infinity, g);
            count += machine::select(below, Reals{} + 1.0f, Reals{});
            heights += machine::select(below, g, Reals{});
            machine::put<float>(D.data() + y, g);
        }
        const float other = machine::largest(high), gold_score = G[y_n] - curve * before_gold;
        const float best = other > G[y_n] ? other : G[y_n], violation = best + machine::largest(-low);
        const float short_by = other > gold_score ? other - gold_score : 0.0f;
        found.violation = violation > found.violation ? violation : found.violation;
        found.met += static_cast<double>(C_n * (Squared ? short_by * short_by : short_by) + machine::total(product) -
                                         0.5f * curve * before_gold * before_gold);
        if (violation <= 1e-6f) {
            // Shrinking: alpha is zero and the margin exceeds the last pass's largest violation, so the example is
            // skipped.
            if (bound > 0 && before_gold == 0 && G[y_n] - other > bound) resting[n] = 1;
            continue;
        }
        const float r = Squared ? A / (A + curve) : 0.0f, B_gold = gold_score - A * before_gold;
        const float add = Squared ? r * B_gold : -A * C_n, before = (machine::total(heights) + add) / (machine::total(count) + r);
        const float beta = threshold(S, D.data(), before, add, r), inverse = 1.0f / A;
        const float to_gold = Squared ? (beta - B_gold) / (A + curve) : C_n;
        for (std::int64_t y = 0; y < S; y += machine::lanes) {
            const Mask is_gold = machine::numbered<std::int32_t>() + static_cast<std::int32_t>(y) == y_n;
            machine::get<float>(g, D.data() + y);
            machine::get<float>(a, held + y);
            const Reals to = machine::select(is_gold, Reals{} + to_gold, Reals{}) - machine::select(g > beta, (g - beta) * inverse, Reals{});
            machine::put<float>(held + y, to);
            machine::put<float>(d.data() + y, to - a);
        }
        features::scatter(x.rows(), n, d.data(), S, w);
    }
    return found;
}

CHAFFINCH_HOT static DualCrammerSinger::Pass descend_one(const CrammerSingerPass& p) { return descend<1, false>(p); }
CHAFFINCH_HOT static DualCrammerSinger::Pass descend_two(const CrammerSingerPass& p) { return descend<2, false>(p); }
CHAFFINCH_HOT static DualCrammerSinger::Pass descend_three(const CrammerSingerPass& p) { return descend<3, false>(p); }
CHAFFINCH_HOT static DualCrammerSinger::Pass descend_many(const CrammerSingerPass& p) { return descend<0, false>(p); }
CHAFFINCH_HOT static DualCrammerSinger::Pass descend_squared(const CrammerSingerPass& p) { return descend<0, true>(p); }

DualCrammerSinger::Pass DualCrammerSinger::pass(std::span<const std::int64_t> order) {
    constexpr decltype(&descend_one) by_packs[] = {descend_many, descend_one, descend_two, descend_three};
    const std::int64_t packs = S() / machine::lanes;
    const auto descended = squared_ ? descend_squared : by_packs[packs < 4 ? packs : 0];
    const CrammerSingerPass pass{x_, order, y_.data(), C_.data(), norm_.data(), Y_, shrinking_ ? bound_ : 0.0f,
                                 resting_.data(), alpha_.data(), w_.data()};
    const Pass found = machine::may_throw([&] { return descended(pass); });
    bound_ = found.violation;
    return found;
}

CHAFFINCH_HOT static void add_margins(std::int64_t begin, std::int64_t end, const float* scores, const std::int32_t* gold,
                                      const float* C, std::int64_t Y, bool squared, const float* alpha,
                                      DualObjective& sum) {
    const std::int64_t S = machine::padded(Y);
    for (std::int64_t n = begin; n < end; ++n, scores += S) {
        Reals high = Reals{} + scores[gold[n]], s;
        for (std::int64_t y = 0; y < S; y += machine::lanes) {
            const Mask label = machine::numbered<std::int32_t>() + static_cast<std::int32_t>(y);
            machine::get<float>(s, scores + y);
            s = machine::select((label != gold[n]) & (label < static_cast<std::int32_t>(Y)), s + 1.0f, high);
            high = machine::larger(s, high);
        }
        const float loss = machine::largest(high) - scores[gold[n]], a = alpha[n * S + gold[n]];
        sum.primal += static_cast<double>(C[n] * (squared ? loss * loss : loss));
        sum.dual += static_cast<double>(squared ? a - a * a / (4.0f * C[n]) : a);
    }
}

void DualCrammerSinger::add_losses(std::int64_t begin, std::int64_t end, const float* scores, DualObjective& sum) const {
    add_margins(begin, end, scores, y_.data(), C_.data(), Y_, squared_, alpha_.data(), sum);
}

void DualCrammerSinger::coefficients(std::int64_t n, float* d) const { std::copy_n(alpha_.data() + n * S(), S(), d); }

void DualLogistic::add_losses(std::int64_t begin, std::int64_t end, const float* scores, DualObjective& sum) const {
    for (std::int64_t n = begin; n < end; ++n, scores += S()) {
        const float* q = q_.data() + n * S();
        const float* m = m_.data() + n * S();
        const double top = *std::max_element(scores, scores + Y_);
        double total = 0, gold = 0, entropy = 0;
        for (std::int64_t y = 0; y < Y_; ++y) {
            total += std::exp(scores[y] - top);
            gold += static_cast<double>(q[y]) * scores[y];
            if (m[y] > 0) entropy -= static_cast<double>(m[y]) * std::log(static_cast<double>(m[y]));
        }
        sum.primal += C_[n] * (std::log(total) + top - gold);
        sum.dual += C_[n] * entropy;
    }
}

DualLogistic::DualLogistic(const features::Examples& examples, std::span<const float> q, std::span<const float> C, std::int64_t Y,
                           bool whole, std::span<float> given)
    : DualSolver(examples, Y, whole, given), C_(C.begin(), C.end()), norm_(norms(x_)),
      q_(static_cast<std::size_t>(examples.N() * machine::padded(Y))) {
    for (std::int64_t n = 0; n < x_.N(); ++n) std::copy_n(q.data() + n * Y, Y, q_.data() + n * S());
    m_ = q_;
}

void DualLogistic::restart() {
    DualSolver::restart();
    m_ = q_;
}

void DualLogistic::coefficients(std::int64_t n, float* d) const {
    for (std::int64_t i = n * S(); i < (n + 1) * S(); ++i) *d++ = C_[n] * (q_[i] - m_[i]);
}

// Along m + g d, d = p - m, p = softmax(s), the dual's derivative divided by C is
//   h(g) = d.s - g C |d|^2 |x|^2 - d.log(m + g d),   falling; h(0) >= 0 >= h(1).
// Its root by Newton's method, kept within the bracket by bisection.
CHAFFINCH_HOT static double logistic_pass(const SharedRows& x, std::span<const std::int64_t> order, const float* C,
                                          const float* norm, std::int64_t Y, const float* q, float* m, float* w) {
    const std::int64_t S = machine::padded(Y);
    machine::AlignedVector<float> score(static_cast<std::size_t>(S)), d(static_cast<std::size_t>(S));
    double gap = 0;
    std::uint32_t met = 0;
    for (const std::int64_t n : order) {
        if (++met % examples_between_checks == 0) machine::check_stop();
        float* held = m + n * S;
        features::gather(x.rows(), n, w, S, score.data());
        const float own = x.own()[n] * C[n];
        for (std::int64_t y = 0; y < S; ++y) score[y] += own * (q[n * S + y] - held[y]);
        float top = score[0];
        for (std::int64_t y = 1; y < Y; ++y) top = score[y] > top ? score[y] : top;
        losses::exp_row(S, score.data(), top, d.data());
        for (std::int64_t y = Y; y < S; ++y) d[y] = 0;
        float total = 0;
        for (std::int64_t y = 0; y < Y; ++y) total += d[y];
        const float inverse = 1.0f / total;
        float along = 0, square = 0, apart = 0;
        for (std::int64_t y = 0; y < S; ++y) {
            const float p = d[y] * inverse;
            d[y] = p - held[y];
            along += d[y] * (y < Y ? score[y] : 0.0f);
            square += d[y] * d[y];
        }
        // The example's share of the duality gap: KL(m || p).
        for (std::int64_t y = 0; y < S; ++y) {
            const float kept = held[y] > least ? held[y] : least, p = held[y] + d[y];
            apart += held[y] * machine::row_log(kept / (p > least ? p : least));
        }
        gap += static_cast<double>(C[n]) * static_cast<double>(apart > 0 ? apart : 0.0f);
        if (square < 1e-12f) continue;
        const float curve = C[n] * square * norm[n];
        float low = 0, high = 1, g = 1.0f / (1.0f + curve);
        for (int step = 0; step < 6; ++step) {
            float h = along - g * curve, slope = -curve;
            for (std::int64_t y = 0; y < S; ++y) {
                const float at = held[y] + g * d[y];
                const float kept = at > least ? at : least;
                h -= d[y] * machine::row_log(kept);
                slope -= d[y] * d[y] / kept;
            }
            (h > 0 ? low : high) = g;
            float next = g - h / slope;
            if (!(next > low && next < high)) next = 0.5f * (low + high);
            const float change = next - g;
            g = next;
            if ((change < 0 ? -change : change) < 1e-3f * g) break;
        }
        for (std::int64_t y = 0; y < S; ++y) {
            const float step = g * d[y];
            held[y] += step;
            d[y] = -C[n] * step;
        }
        features::scatter(x.rows(), n, d.data(), S, w);
    }
    return gap;
}

double DualLogistic::pass(std::span<const std::int64_t> order) {
    return machine::may_throw(
        [&] { return logistic_pass(x_, order, C_.data(), norm_.data(), Y_, q_.data(), m_.data(), w_.data()); });
}

} // namespace chaffinch::learners
