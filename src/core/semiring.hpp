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

namespace chaffinch {

// The largest of a row; -inf if there is none.
template <class Real> CHAFFINCH_INLINE Real row_max(const Real* x, std::int64_t S) {
    Real lane[lanes];
    for (std::int64_t l = 0; l < lanes; ++l) lane[l] = x[l];
    for (std::int64_t k = lanes; k < S; k += lanes)
        for (std::int64_t l = 0; l < lanes; ++l) lane[l] = x[k + l] > lane[l] ? x[k + l] : lane[l];
    for (std::int64_t h = lanes / 2; h > 0; h /= 2)
        for (std::int64_t l = 0; l < h; ++l) lane[l] = lane[l + h] > lane[l] ? lane[l + h] : lane[l];
    return lane[0];
}

// The sum over y of x[y] * z[y], lane by lane and then across the lanes: one order on every machine.
template <class Real> CHAFFINCH_INLINE Real row_dot(const Real* x, const Real* z, std::int64_t S) {
    Real lane[lanes];
    for (std::int64_t l = 0; l < lanes; ++l) lane[l] = x[l] * z[l];
    for (std::int64_t k = lanes; k < S; k += lanes)
        for (std::int64_t l = 0; l < lanes; ++l) lane[l] += x[k + l] * z[k + l];
    for (std::int64_t h = lanes / 2; h > 0; h /= 2)
        for (std::int64_t l = 0; l < h; ++l) lane[l] += lane[l + h];
    return lane[0];
}

template <class Real> CHAFFINCH_INLINE Real row_sum(const Real* x, std::int64_t S) {
    Real lane[lanes];
    for (std::int64_t l = 0; l < lanes; ++l) lane[l] = x[l];
    for (std::int64_t k = lanes; k < S; k += lanes)
        for (std::int64_t l = 0; l < lanes; ++l) lane[l] += x[k + l];
    for (std::int64_t h = lanes / 2; h > 0; h /= 2)
        for (std::int64_t l = 0; l < h; ++l) lane[l] += lane[l + h];
    return lane[0];
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

// Every ring: absorb overwrites row[y] with (+)_i v[i] (x) w[i][y]; lift turns a row of potentials into weights, rescale keeps a row within range; both in place,
// both return the logarithm of what they divided by (rescale: -inf if every cell is zero).
template <class R> struct MaxPlus {
    using Real = R;
    static constexpr Real zero = -std::numeric_limits<Real>::infinity();
    static constexpr Real one = 0;

    CHAFFINCH_INLINE void begin_pairs() {}
    CHAFFINCH_INLINE void begin() {}
    CHAFFINCH_INLINE double lift(Real*, std::int64_t) { return 0; }
    CHAFFINCH_INLINE double lift_pairs(Real*, std::int64_t) { return 0; }
    CHAFFINCH_INLINE void absorb(const Sources<Real>& from, Real* row, std::int64_t S) const {
        for (std::int64_t k = 0; k < S; k += lanes) {
            Pack<Real> best = {};
            best += zero;
            for (std::int64_t i = 0; i < from.count; ++i) {
                Pack<Real> score;
                std::memcpy(&score, from.weights(i) + k, sizeof score);
                score += from.value(i);
                best = score > best ? score : best;
            }
            std::memcpy(row + k, &best, sizeof best);
        }
    }
    CHAFFINCH_INLINE void times(Real* row, const Real* u, std::int64_t S) const {
        for (std::int64_t y = 0; y < S; ++y) row[y] += u[y];
    }
    CHAFFINCH_INLINE double rescale(Real* row, std::int64_t S) {
        const Real m = row_max(row, S);
        if (m == zero) return impossible;
        for (std::int64_t y = 0; y < S; ++y) row[y] -= m;
        return static_cast<double>(m);
    }
    // (+) over a rescaled row, as a logarithm.
    double log_total(const Real*, std::int64_t) const { return 0; }

    static Real plus(Real a, Real b) { return a > b ? a : b; }
    static Real times(Real a, Real b) { return a + b; }
};

template <class R> struct SumProduct {
    using Real = R;
    static constexpr Real zero = 0;
    static constexpr Real one = 1;
    // Rows sum to 2^40 (float) rather than 1: most of the exponent's range then lies below the largest cell.
    static constexpr Real total = sizeof(Real) == 4 ? Real(1ULL << 40) : Real(1);

    CHAFFINCH_INLINE void begin_pairs() {
        for (std::int64_t l = 0; l < lanes; ++l) low_pair[l] = 0;
    }
    CHAFFINCH_INLINE void begin() {
        for (std::int64_t l = 0; l < lanes; ++l) low_unary[l] = 0, low_cell[l] = total;
    }
    CHAFFINCH_INLINE double lift(Real* row, std::int64_t S) { return lift_noting(row, S, low_unary); }
    CHAFFINCH_INLINE double lift_pairs(Real* row, std::int64_t S) { return lift_noting(row, S, low_pair); }
    CHAFFINCH_INLINE void absorb(const Sources<Real>& from, Real* row, std::int64_t S) const {
        for (std::int64_t k = 0; k < S; k += lanes) {
            Pack<Real> sum = {};
            for (std::int64_t i = 0; i < from.count; ++i) {
                Pack<Real> w;
                std::memcpy(&w, from.weights(i) + k, sizeof w);
                sum += from.value(i) * w;
            }
            std::memcpy(row + k, &sum, sizeof sum);
        }
    }
    CHAFFINCH_INLINE void times(Real* row, const Real* u, std::int64_t S) const {
        for (std::int64_t y = 0; y < S; ++y) row[y] *= u[y];
    }
    CHAFFINCH_INLINE double rescale(Real* row, std::int64_t S) {
        const Real sum = row_sum(row, S);
        if (!(sum > 0)) {
            low_cell[0] = 0;
            return impossible;
        }
        const Real scale = total / sum;
        for (std::int64_t k = 0; k < S; k += lanes)
            for (std::int64_t l = 0; l < lanes; ++l) {
                const Real cell = row[k + l] * scale;
                const Real seen = cell == 0 ? total : cell;
                low_cell[l] = seen < low_cell[l] ? seen : low_cell[l];
                row[k + l] = cell;
            }
        return std::log(static_cast<double>(sum) / static_cast<double>(total));
    }
    double log_total(const Real*, std::int64_t) const { return std::log(static_cast<double>(total)); }

    static Real plus(Real a, Real b) { return a + b; }
    static Real times(Real a, Real b) { return a * b; }

    // The weight of everything at one position, n = (+)_y a[y] (x) b[y], and probabilities read against it.
    CHAFFINCH_INLINE Real all(const Real* a, const Real* b, std::int64_t S) {
        const Real n = row_dot(a, b, S);
        if (!(n * n > 0)) low_cell[0] = 0; // 1 / n must stay in range
        return n;
    }
    // out[y] = a[y] (x) b[y] / n
    CHAFFINCH_INLINE void posterior(const Real* a, const Real* b, Real n, std::int64_t S, Real* out) const {
        const Real r = 1 / n;
        for (std::int64_t y = 0; y < S; ++y) out[y] = a[y] * b[y] * r;
    }
    // out[y] += v (x) w[y] (x) g[y] / n
    CHAFFINCH_INLINE void joint(Real v, const Real* w, const Real* g, Real n, std::int64_t S, Real* out) const {
        const Real r = v / n;
        for (std::int64_t y = 0; y < S; ++y) out[y] += r * (w[y] * g[y]);
    }

    // Could a product of a cell, a pair weight and a unary weight have vanished since begin()? While the smallest
    // of each multiply to a normal number none did, and every cell that is zero is forbidden, not forgotten.
    bool exact() const {
        Real unary = 0, pair = 0, cell = total;
        for (std::int64_t l = 0; l < lanes; ++l) {
            unary = low_unary[l] < unary ? low_unary[l] : unary;
            pair = low_pair[l] < pair ? low_pair[l] : pair;
            cell = low_cell[l] < cell ? low_cell[l] : cell;
        }
        const double smallest = std::log(static_cast<double>(std::numeric_limits<Real>::min())) + 8;
        return std::log(static_cast<double>(cell)) + static_cast<double>(unary) + static_cast<double>(pair) > smallest;
    }

  private:
    // row = exp(row - max), and the lowest finite exponent met goes to `low`, lane by lane.
    CHAFFINCH_INLINE static double lift_noting(Real* row, std::int64_t S, Real* low) {
        constexpr Real minus_infinity = -std::numeric_limits<Real>::infinity();
        const Real m = row_max(row, S);
        if (m == minus_infinity) {
            for (std::int64_t y = 0; y < S; ++y) row[y] = 0;
            return 0;
        }
        for (std::int64_t k = 0; k < S; k += lanes)
            for (std::int64_t l = 0; l < lanes; ++l) {
                const Real x = row[k + l] - m;
                const Real seen = x == minus_infinity ? 0 : x;
                low[l] = seen < low[l] ? seen : low[l];
                row[k + l] = row_exp(x);
            }
        return static_cast<double>(m);
    }

    Real low_unary[lanes] = {}, low_pair[lanes] = {}, low_cell[lanes] = {};
};

template <class R> struct LogSum {
    using Real = R;
    static constexpr Real zero = -std::numeric_limits<Real>::infinity();
    static constexpr Real one = 0;

    void begin_pairs() {}
    void begin() {}
    double lift(Real*, std::int64_t) { return 0; }
    double lift_pairs(Real*, std::int64_t) { return 0; }
    void absorb(const Sources<Real>& from, Real* row, std::int64_t S) const {
        for (std::int64_t y = 0; y < S; ++y) {
            row[y] = zero;
            for (std::int64_t i = 0; i < from.count; ++i)
                row[y] = plus(row[y], from.value(i) + from.weights(i)[y]);
        }
    }
    void times(Real* row, const Real* u, std::int64_t S) const {
        for (std::int64_t y = 0; y < S; ++y) row[y] += u[y];
    }
    double rescale(Real* row, std::int64_t S) { return MaxPlus<Real>().rescale(row, S); }
    Real all(const Real* a, const Real* b, std::int64_t S) const {
        Real n = zero;
        for (std::int64_t y = 0; y < S; ++y) n = plus(n, a[y] + b[y]);
        return n;
    }
    void posterior(const Real* a, const Real* b, Real n, std::int64_t S, Real* out) const {
        for (std::int64_t y = 0; y < S; ++y) out[y] = std::exp(a[y] + b[y] - n);
    }
    void joint(Real v, const Real* w, const Real* g, Real n, std::int64_t S, Real* out) const {
        for (std::int64_t y = 0; y < S; ++y) out[y] += std::exp(v + w[y] + g[y] - n);
    }
    bool exact() const { return true; }
    double log_total(const Real* row, std::int64_t S) const { return row_logsum(row, S); }

    static Real plus(Real a, Real b) {
        const Real hi = a > b ? a : b, lo = a > b ? b : a;
        return lo == zero ? hi : hi + std::log1p(std::exp(lo - hi));
    }
    static Real times(Real a, Real b) { return a + b; }
};

} // namespace chaffinch
