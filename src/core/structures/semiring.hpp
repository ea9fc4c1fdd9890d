// Semirings that absorb a row at a time: row[y] = (+)_i v[i] (x) w[i][y] for a whole row of labels y, contiguous and
// elementwise, so that the loop becomes vector code and its result does not depend on the width of the vectors.
//
//   ring        (+)          (x)   zero   gives
//   MaxPlus     max          +     -inf   Viterbi, k-best, max-marginals
//   SumProduct  +            *     0      log Z, marginals, samples; rows rescaled at each position
//   LogSum      log(e^+e^)   +     -inf   the same, exact for any range of potentials, an order slower
//
// S is the padded row length: a whole number of lanes.
#pragma once

#include "aligned.hpp"
#include "exp.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace chaffinch::structures {

// The largest of a row; -inf if there is none.
template <class Real> CHAFFINCH_INLINE Real row_max(const Real* x, std::int64_t S) {
    machine::Pack<Real> most, next;
    machine::get<Real>(most, x);
    for (std::int64_t k = machine::lanes; k < S; k += machine::lanes) {
        machine::get<Real>(next, x + k);
        most = machine::larger(next, most);
    }
    return machine::largest(most);
}

template <class Real> CHAFFINCH_INLINE Real row_sum(const Real* x, std::int64_t S) {
    machine::Pack<Real> sum, next;
    machine::get<Real>(sum, x);
    for (std::int64_t k = machine::lanes; k < S; k += machine::lanes) {
        machine::get<Real>(next, x + k);
        sum += next;
    }
    return machine::total(sum);
}

// The sum over y of x[y] z[y].
template <class Real> CHAFFINCH_INLINE Real row_dot(const Real* x, const Real* z, std::int64_t S) {
    machine::Pack<Real> sum = {}, a, b;
    for (std::int64_t k = 0; k < S; k += machine::lanes) {
        machine::get<Real>(a, x + k);
        machine::get<Real>(b, z + k);
        sum += a * b;
    }
    return machine::total(sum);
}

inline constexpr double impossible = -std::numeric_limits<double>::infinity();

// The logarithm of the sum of exponentials of a row; -inf for a row of -inf.
template <class Real> inline double row_logsum(const Real* x, std::int64_t S) {
    const Real m = row_max(x, S);
    if (m == -std::numeric_limits<Real>::infinity()) return impossible;
    double sum = 0;
    for (std::int64_t y = 0; y < S; ++y) sum += std::exp(static_cast<double>(x[y] - m));
    return static_cast<double>(m) + std::log(sum);
}

// The cells that feed one row: value i comes with the weights of row i.
template <class Real> struct Sources {
    std::int64_t count;
    const Real* v; // [count], v_stride apart
    std::int64_t v_stride;
    const Real* w; // [count][S], w_stride apart
    std::int64_t w_stride;

    CHAFFINCH_INLINE Real value(std::int64_t i) const { return v[i * v_stride]; }
    CHAFFINCH_INLINE const Real* weights(std::int64_t i) const { return w + i * w_stride; }
};

// The same for the sources on a list.
template <class Real> struct ListedSources {
    std::int64_t count;
    const std::int32_t* list; // [count]
    Sources<Real> all;

    CHAFFINCH_INLINE Real value(std::int64_t i) const { return all.value(list[i]); }
    CHAFFINCH_INLINE const Real* weights(std::int64_t i) const { return all.weights(list[i]); }
};

// Every ring: absorb overwrites row[y] with (+)_i v[i] (x) w[i][y]. lift turns a row of potentials into weights, in
// place, and returns the logarithm of what it divided by. rescale keeps a row within range, in place, and returns the
// divisor, `zero` if every cell is zero; log_of is its logarithm.
template <class R> struct MaxPlus {
    using Real = R;
    static constexpr Real zero = -std::numeric_limits<Real>::infinity();
    static constexpr Real one = 0;

    CHAFFINCH_INLINE void begin_pairs() {}
    CHAFFINCH_INLINE void begin() {}
    CHAFFINCH_INLINE double lift(Real*, std::int64_t) { return 0; }
    CHAFFINCH_INLINE double lift_pairs(Real*, std::int64_t) { return 0; }
    template <class From> CHAFFINCH_INLINE void absorb(const From& from, Real* row, std::int64_t S) const {
        machine::in_packs(S, [&]<std::int64_t P>(std::int64_t k) CHAFFINCH_INLINE_LAMBDA { absorb_packs<P>(from, row, k); });
    }
    CHAFFINCH_INLINE void times(Real* row, const Real* u, std::int64_t S) const {
        machine::Pack<Real> a, b;
        for (std::int64_t k = 0; k < S; k += machine::lanes) machine::get<Real>(a, row + k), machine::get<Real>(b, u + k), machine::put<Real>(row + k, a + b);
    }
    CHAFFINCH_INLINE Real rescale(Real* row, std::int64_t S) {
        const Real m = row_max(row, S);
        if (m == zero) return zero;
        machine::Pack<Real> a;
        for (std::int64_t k = 0; k < S; k += machine::lanes) machine::get<Real>(a, row + k), machine::put<Real>(row + k, a - m);
        return m;
    }
    CHAFFINCH_INLINE static double log_of(Real divisor) { return static_cast<double>(divisor); }
    // (+) over a rescaled row, as a logarithm.
    double log_total(const Real*, std::int64_t) const { return 0; }

    static Real plus(Real a, Real b) { return a > b ? a : b; }
    static Real times(Real a, Real b) { return a + b; }

  private:
    // Two maxima in parallel, over the even and the odd sources: a maximum does not depend on the order, and the chain
    // of dependent operations is half as long.
    template <std::int64_t P, class From> CHAFFINCH_INLINE static void absorb_packs(const From& from, Real* row, std::int64_t k) {
        machine::Pack<Real> best[P], other[P], score;
        for (std::int64_t p = 0; p < P; ++p) best[p] = other[p] = machine::Pack<Real>{} + zero;
        const auto take = [&](std::int64_t i, machine::Pack<Real>* most) CHAFFINCH_INLINE_LAMBDA {
            const Real value = from.value(i);
            const Real* w = from.weights(i) + k;
            for (std::int64_t p = 0; p < P; ++p) {
                machine::get<Real>(score, w + p * machine::lanes);
                score += value;
                most[p] = machine::larger(score, most[p]);
            }
        };
        std::int64_t i = 0;
        for (; i + 2 <= from.count; i += 2) take(i, best), take(i + 1, other);
        if (i < from.count) take(i, best);
        for (std::int64_t p = 0; p < P; ++p) {
            best[p] = machine::larger(other[p], best[p]);
            machine::put<Real>(row + k + p * machine::lanes, best[p]);
        }
    }
};

template <class R> struct SumProduct {
    using Real = R;
    static constexpr Real zero = 0;
    static constexpr Real one = 1;
    // Rows sum to 2^40 (float) rather than 1: most of the exponent's range then lies below the largest cell.
    static constexpr Real total = sizeof(Real) == 4 ? Real(1ULL << 40) : Real(1);

    CHAFFINCH_INLINE void begin_pairs() {
        low_pair = machine::Pack<Real>{};
    }
    CHAFFINCH_INLINE void begin() {
        low_unary = machine::Pack<Real>{}, low_cell = machine::Pack<Real>{} + total;
    }
    CHAFFINCH_INLINE double lift(Real* row, std::int64_t S) { return lift_noting(row, S, low_unary); }
    CHAFFINCH_INLINE double lift_pairs(Real* row, std::int64_t S) { return lift_noting(row, S, low_pair); }
    template <class From> CHAFFINCH_INLINE void absorb(const From& from, Real* row, std::int64_t S) const {
        machine::in_packs(S, [&]<std::int64_t P>(std::int64_t k) CHAFFINCH_INLINE_LAMBDA { absorb_packs<P>(from, row, k); });
    }
    CHAFFINCH_INLINE void times(Real* row, const Real* u, std::int64_t S) const {
        machine::Pack<Real> a, b;
        for (std::int64_t k = 0; k < S; k += machine::lanes) machine::get<Real>(a, row + k), machine::get<Real>(b, u + k), machine::put<Real>(row + k, a * b);
    }
    CHAFFINCH_INLINE Real rescale(Real* row, std::int64_t S) {
        const Real sum = row_sum(row, S);
        if (!(sum > 0)) {
            machine::set_lane<Real>(low_cell, 0, 0);
            return zero;
        }
        const Real scale = total / sum;
        machine::Pack<Real> low = low_cell, cell;
        for (std::int64_t k = 0; k < S; k += machine::lanes) {
            machine::get<Real>(cell, row + k);
            cell *= scale;
            low = machine::select(cell < low, machine::select(cell == 0, low, cell), low);
            machine::put<Real>(row + k, cell);
        }
        low_cell = low;
        return sum / total;
    }
    CHAFFINCH_INLINE static double log_of(Real divisor) { return std::log(static_cast<double>(divisor)); }
    double log_total(const Real*, std::int64_t) const { return std::log(static_cast<double>(total)); }

    static Real plus(Real a, Real b) { return a + b; }
    static Real times(Real a, Real b) { return a * b; }

    // The inverse of the weight of everything at one position, r = 1 / (+)_y a[y] (x) b[y], and probabilities by it.
    CHAFFINCH_INLINE Real inverse(const Real* a, const Real* b, std::int64_t S) {
        const Real n = row_dot(a, b, S);
        if (!(n * n > 0)) machine::set_lane<Real>(low_cell, 0, 0); // 1 / n must stay in range
        return 1 / n;
    }
    // out[y] = a[y] (x) b[y] (x) r
    CHAFFINCH_INLINE void posterior(const Real* a, const Real* b, Real r, std::int64_t S, Real* out) const {
        machine::Pack<Real> u, v;
        for (std::int64_t k = 0; k < S; k += machine::lanes) machine::get<Real>(u, a + k), machine::get<Real>(v, b + k), machine::put<Real>(out + k, u * v * r);
    }
    // out[i][y] += v[i] (x) w[i][y] (x) g[y] (x) r; the rows of out are as far apart as those of w
    CHAFFINCH_INLINE void joint(const Sources<Real>& from, const Real* g, Real r, std::int64_t S, Real* out) const {
        machine::in_packs(S, [&]<std::int64_t P>(std::int64_t k) CHAFFINCH_INLINE_LAMBDA { joint_packs<P>(from, g, r, out, k); });
    }

    // False if a product of a cell, a pair weight and a unary weight may have underflowed since begin(). If the product
    // of the smallest of each is a normal number none did, and every zero cell is a forbidden one.
    bool exact() const {
        Real unary = 0, pair = 0, cell = total;
        for (std::int64_t l = 0; l < machine::lanes; ++l) {
            unary = low_unary[l] < unary ? low_unary[l] : unary;
            pair = low_pair[l] < pair ? low_pair[l] : pair;
            cell = low_cell[l] < cell ? low_cell[l] : cell;
        }
        const double smallest = std::log(static_cast<double>(std::numeric_limits<Real>::min())) + 8;
        return std::log(static_cast<double>(cell)) + static_cast<double>(unary) + static_cast<double>(pair) > smallest;
    }

  private:
    template <std::int64_t P, class From> CHAFFINCH_INLINE static void absorb_packs(const From& from, Real* row, std::int64_t k) {
        machine::Pack<Real> sum[P] = {}, w;
        for (std::int64_t i = 0; i < from.count; ++i) {
            const Real value = from.value(i);
            const Real* weights = from.weights(i) + k;
            for (std::int64_t p = 0; p < P; ++p) {
                machine::get<Real>(w, weights + p * machine::lanes);
                sum[p] += value * w;
            }
        }
        for (std::int64_t p = 0; p < P; ++p) machine::put<Real>(row + k + p * machine::lanes, sum[p]);
    }

    template <std::int64_t P>
    CHAFFINCH_INLINE static void joint_packs(const Sources<Real>& from, const Real* g, Real r, Real* out, std::int64_t k) {
        machine::Pack<Real> right[P], w, sum;
        for (std::int64_t p = 0; p < P; ++p) machine::get<Real>(right[p], g + k + p * machine::lanes);
        for (std::int64_t i = 0; i < from.count; ++i) {
            if (from.value(i) == zero) continue;
            const Real value = from.value(i) * r;
            const Real* weights = from.weights(i) + k;
            Real* row = out + i * from.w_stride + k;
            for (std::int64_t p = 0; p < P; ++p) {
                machine::get<Real>(w, weights + p * machine::lanes), machine::get<Real>(sum, row + p * machine::lanes);
                machine::put<Real>(row + p * machine::lanes, sum + value * (w * right[p]));
            }
        }
    }

    // row = exp(row - max); `lowest` keeps the lowest finite exponent so far, lane by lane.
    CHAFFINCH_INLINE static double lift_noting(Real* row, std::int64_t S, machine::Pack<Real>& lowest) {
        constexpr Real minus_infinity = -std::numeric_limits<Real>::infinity();
        const Real m = row_max(row, S);
        if (m == minus_infinity) {
            for (std::int64_t y = 0; y < S; ++y) row[y] = 0;
            return 0;
        }
        machine::Pack<Real> low = lowest, x;
        for (std::int64_t k = 0; k < S; k += machine::lanes) {
            machine::get<Real>(x, row + k);
            x -= m;
            low = machine::select(x < low, machine::select(x == minus_infinity, low, x), low);
            machine::exp_in_place(x);
            machine::put<Real>(row + k, x);
        }
        lowest = low;
        return static_cast<double>(m);
    }

    machine::Pack<Real> low_unary = {}, low_pair = {}, low_cell = {};
};

template <class R> struct LogSum {
    using Real = R;
    static constexpr Real zero = -std::numeric_limits<Real>::infinity();
    static constexpr Real one = 0;

    void begin_pairs() {}
    void begin() {}
    double lift(Real*, std::int64_t) { return 0; }
    double lift_pairs(Real*, std::int64_t) { return 0; }
    template <class From> void absorb(const From& from, Real* row, std::int64_t S) const {
        for (std::int64_t y = 0; y < S; ++y) {
            row[y] = zero;
            for (std::int64_t i = 0; i < from.count; ++i)
                row[y] = plus(row[y], from.value(i) + from.weights(i)[y]);
        }
    }
    void times(Real* row, const Real* u, std::int64_t S) const {
        for (std::int64_t y = 0; y < S; ++y) row[y] += u[y];
    }
    Real rescale(Real* row, std::int64_t S) { return MaxPlus<Real>().rescale(row, S); }
    static double log_of(Real divisor) { return divisor; }
    Real inverse(const Real* a, const Real* b, std::int64_t S) const {
        Real n = zero;
        for (std::int64_t y = 0; y < S; ++y) n = plus(n, a[y] + b[y]);
        return -n;
    }
    void posterior(const Real* a, const Real* b, Real r, std::int64_t S, Real* out) const {
        for (std::int64_t y = 0; y < S; ++y) out[y] = std::exp(a[y] + b[y] + r);
    }
    void joint(const Sources<Real>& from, const Real* g, Real r, std::int64_t S, Real* out) const {
        for (std::int64_t i = 0; i < from.count; ++i)
            for (std::int64_t y = 0; from.value(i) != zero && y < S; ++y)
                out[i * from.w_stride + y] += std::exp(from.value(i) + from.weights(i)[y] + g[y] + r);
    }
    bool exact() const { return true; }
    double log_total(const Real* row, std::int64_t S) const { return row_logsum(row, S); }

    static Real plus(Real a, Real b) {
        const Real hi = a > b ? a : b, lo = a > b ? b : a;
        return lo == zero ? hi : hi + std::log1p(std::exp(lo - hi));
    }
    static Real times(Real a, Real b) { return a + b; }
};

} // namespace chaffinch::structures
