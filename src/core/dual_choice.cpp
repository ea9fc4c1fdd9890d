#include "dual_choice.hpp"

#include "choice_loss.hpp"
#include "clones.hpp"
#include "log.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace chaffinch {

namespace {

constexpr float minus_infinity = -3e38f;
constexpr float least = 1e-9f; // probabilities are not read below this

std::vector<float> norms(const Examples& x) {
    std::vector<float> out;
    for (std::int64_t n = 0; n < x.N(); ++n) out.push_back(std::max(squared_norm(x, n), 1e-12f));
    return out;
}

// The block of one example:  min over a of  sum_y A a_y^2 / 2 + B_y a_y,   a_y <= C [y = gold],  sum_y a_y = 0.
// Its solution is a_y = min(C [y = gold], (beta - B_y) / A); beta follows from the sum, labels taken by falling D_y =
// B_y + A C [y = gold] (Crammer and Singer 2001, algorithm 2; LIBLINEAR's form).
CHAFFINCH_INLINE void solve_block(std::int64_t Y, std::int64_t gold, float A, float C, const float* B,
                                  std::vector<float>& D, float* a) {
    D.assign(B, B + Y);
    D[gold] += A * C;
    std::sort(D.begin(), D.end(), std::greater<>());
    float beta = D[0] - A * C;
    std::int64_t r = 1;
    for (; r < Y && beta < static_cast<float>(r) * D[r]; ++r) beta += D[r];
    beta /= static_cast<float>(r);
    for (std::int64_t y = 0; y < Y; ++y) {
        const float most = y == gold ? C : 0.0f;
        a[y] = std::min(most, (beta - B[y]) / A);
    }
}

} // namespace

DualCrammerSinger::DualCrammerSinger(const Examples& examples, std::span<const std::int32_t> y,
                                     std::span<const float> C, std::int64_t Y, bool shrinking)
    : x_(examples), y_(y.begin(), y.end()), C_(C.begin(), C.end()), norm_(norms(examples)), Y_(Y), shrinking_(shrinking),
      alpha_(static_cast<std::size_t>(examples.N() * padded(Y))), resting_(static_cast<std::size_t>(examples.N())) {}

void DualCrammerSinger::wake() {
    std::ranges::fill(resting_, std::uint8_t{0});
    bound_ = 0;
}

CHAFFINCH_HOT static float crammer_singer_pass(const Examples& x, std::span<const std::int64_t> order,
                                               std::span<const std::int32_t> gold, const float* C, const float* norm,
                                               std::int64_t Y, bool shrinking, float bound, std::uint8_t* resting,
                                               float* alpha, std::vector<float>& sorted, float* w) {
    const std::int64_t S = padded(Y);
    AlignedVector<float> score(static_cast<std::size_t>(S)), d(static_cast<std::size_t>(S));
    std::vector<float> a(static_cast<std::size_t>(Y));
    float worst = 0;
    for (const std::int64_t n : order) {
        if (resting[n]) continue;
        float* held = alpha + n * S;
        gather(x, n, w, S, score.data());
        // G_y = s_y + [y != gold]; optimal where max_y G_y over all y does not exceed min over y with a_y < its bound.
        float high = minus_infinity, low = -minus_infinity;
        for (std::int64_t y = 0; y < Y; ++y) {
            const float G = score[y] + (y == gold[n] ? 0.0f : 1.0f);
            const float most = y == gold[n] ? C[n] : 0.0f;
            high = G > high ? G : high;
            low = held[y] < most && G < low ? G : low;
            score[y] = G - norm[n] * held[y];
        }
        const float violation = high - low;
        worst = std::max(worst, violation);
        if (violation <= 1e-6f) {
            // At zero and right by more than the pass before was wrong anywhere: nothing will move soon.
            if (shrinking && bound > 0 && -violation > bound) resting[n] = 1;
            continue;
        }
        solve_block(Y, gold[n], norm[n], C[n], score.data(), sorted, a.data());
        float moved = 0;
        for (std::int64_t y = 0; y < Y; ++y) {
            d[y] = a[y] - held[y];
            held[y] = a[y];
            moved = std::max(moved, std::abs(d[y]));
        }
        if (moved > 1e-12f) scatter(x, n, d.data(), S, w);
    }
    return worst;
}

float DualCrammerSinger::pass(std::span<const std::int64_t> order, float* w) {
    bound_ = crammer_singer_pass(x_, order, y_, C_.data(), norm_.data(), Y_, shrinking_, bound_, resting_.data(),
                                 alpha_.data(), sorted_, w);
    return bound_;
}

DualObjective DualCrammerSinger::objective(const float* w, std::size_t threads) const {
    return dual_objective(x_, w, S(), threads, [&](std::int64_t n, const float* scores, DualObjective& sum) {
        const std::int64_t gold = y_[n];
        double high = scores[gold];
        for (std::int64_t y = 0; y < Y_; ++y)
            if (y != gold) high = std::max(high, 1.0 + static_cast<double>(scores[y]));
        sum.primal += C_[n] * (high - scores[gold]);
        sum.dual += alpha_[n * S() + gold];
    });
}

DualObjective DualLogistic::objective(const float* w, std::size_t threads) const {
    return dual_objective(x_, w, S(), threads, [&](std::int64_t n, const float* scores, DualObjective& sum) {
        const float* q = q_.data() + n * Y_;
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
    });
}

DualLogistic::DualLogistic(const Examples& examples, std::span<const float> q, std::span<const float> C, std::int64_t Y)
    : x_(examples), C_(C.begin(), C.end()), norm_(norms(examples)), Y_(Y),
      m_(static_cast<std::size_t>(examples.N() * padded(Y))), q_(q.begin(), q.end()) {
    for (std::int64_t n = 0; n < x_.N(); ++n) std::copy_n(q.data() + n * Y, Y, m_.data() + n * S());
}

// Along m + g d, d = p - m, p = softmax(s), the dual's derivative divided by C is
//   h(g) = d.s - g C |d|^2 |x|^2 - d.log(m + g d),   falling; h(0) >= 0 >= h(1).
// Its root by Newton's method, kept within the bracket by bisection.
CHAFFINCH_HOT static double logistic_pass(const Examples& x, std::span<const std::int64_t> order, const float* C,
                                          const float* norm, std::int64_t Y, float* m, float* w) {
    const std::int64_t S = padded(Y);
    AlignedVector<float> score(static_cast<std::size_t>(S)), d(static_cast<std::size_t>(S));
    double gap = 0;
    for (const std::int64_t n : order) {
        float* held = m + n * S;
        gather(x, n, w, S, score.data());
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
            const float q = held[y] > least ? held[y] : least, p = held[y] + d[y];
            apart += held[y] * row_log(q / (p > least ? p : least));
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
                h -= d[y] * row_log(kept);
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
        scatter(x, n, d.data(), S, w);
    }
    return gap;
}

double DualLogistic::pass(std::span<const std::int64_t> order, float* w) {
    return logistic_pass(x_, order, C_.data(), norm_.data(), Y_, m_.data(), w);
}

} // namespace chaffinch
