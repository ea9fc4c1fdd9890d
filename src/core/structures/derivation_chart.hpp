// The inside chart of derivations. A span is put together from one left part and one right part for each rule; the
// chart holds them so that all splits of a rule lie side by side and are absorbed as a row:
//
//   begun[i][B][k] = inside of B over [i, k)         ended[j][C][k] = inside of C over [k, j)
//   inside[ij][A]  = (+) over rules A -> B C of  rule (x) (+)_k begun[i][B][k] (x) ended[j][C][k]
//
// For each start (end) and label the splits that can be are known to lie in a range; most rules are out at a glance
// (Klein and Manning 2003, "A* parsing"; Bodenstab 2012).
#pragma once

#include "derivation.hpp"
#include "semiring.hpp"

#include <algorithm>
#include <limits>

namespace chaffinch {

struct SplitRange {
    std::int32_t first, last; // empty: first > last
};
inline constexpr SplitRange no_split{std::numeric_limits<std::int32_t>::max(), -1};

template <class Ring> class DerivationChart {
  public:
    using Real = typename Ring::Real;

    const Grammar* g;
    std::int64_t T, K; // K = padded(T + 1)
    Spans spans;
    Real *begun, *ended;       // [T][Y][K] by start, [T+1][Y][K] by end
    SplitRange *begins, *ends; // [T][Y], [T+1][Y]

    Real at(std::int64_t i, std::int64_t j, std::int64_t A) const { return begun[(i * g->Y + A) * K + j]; }

    // The splits of a rule over [i, j) that can be.
    CHAFFINCH_INLINE SplitRange splits(std::int64_t i, std::int64_t j, std::int32_t r) const {
        const SplitRange a = begins[i * g->Y + g->left[r]], b = ends[j * g->Y + g->right[r]];
        return {a.first > b.first ? a.first : b.first, a.last < b.last ? a.last : b.last};
    }
    CHAFFINCH_INLINE const Real* left_row(std::int64_t i, std::int32_t r) const { return begun + (i * g->Y + g->left[r]) * K; }
    CHAFFINCH_INLINE const Real* right_row(std::int64_t j, std::int32_t r) const { return ended + (j * g->Y + g->right[r]) * K; }

    // leaf(t, A), rule(r) and span(s, A) give weights of the ring; factor(i, j) is a row [K] of weights of the splits
    // of a span, or null where they have none; closed spans are left out.
    template <class Leaf, class Rule, class Span, class Factor, class Closed>
    CHAFFINCH_INLINE void fill(const Grammar& grammar, std::int64_t words, Leaf&& leaf, Rule&& rule, Span&& span,
                               Factor&& factor, Closed&& closed);

  private:
    AlignedVector<Real> begun_, ended_, row_;
    AlignedVector<SplitRange> begins_, ends_;
    std::vector<std::vector<std::int32_t>> starting_; // [T] labels that begin there
};

// (+)_k a[k] (x) b[k] (x) f[k] over a range, in whole packs: beyond the range one side is zero.
template <class Real>
CHAFFINCH_INLINE Real row_product(const MaxPlus<Real>&, const Real* a, const Real* b, const Real*, SplitRange k) {
    Pack<Real> best = {}, u, v;
    best += MaxPlus<Real>::zero;
    for (std::int64_t m = k.first / lanes * lanes; m <= k.last; m += lanes) {
        get<Real>(u, a + m), get<Real>(v, b + m);
        u += v;
        best = u > best ? u : best;
    }
    return across<Real>(best, [](Real x, Real y) { return x > y ? x : y; });
}
template <class Real>
CHAFFINCH_INLINE Real row_product(const SumProduct<Real>&, const Real* a, const Real* b, const Real* f, SplitRange k) {
    Pack<Real> sum = {}, u, v, w;
    for (std::int64_t m = k.first / lanes * lanes; m <= k.last; m += lanes) {
        get<Real>(u, a + m), get<Real>(v, b + m), get<Real>(w, f + m);
        sum += (u * v) * w;
    }
    return across<Real>(sum, [](Real x, Real y) { return x + y; });
}

template <class Ring>
template <class Leaf, class Rule, class Span, class Factor, class Closed>
void DerivationChart<Ring>::fill(const Grammar& grammar, std::int64_t words, Leaf&& leaf, Rule&& rule, Span&& span,
                                 Factor&& factor, Closed&& closed) {
    g = &grammar, T = words, K = padded(words + 1), spans = {words};
    const std::int64_t Y = g->Y;
    const Ring ring;
    begun = room(begun_, T * Y * K), ended = room(ended_, (T + 1) * Y * K);
    begins = room(begins_, T * Y), ends = room(ends_, (T + 1) * Y);
    std::fill_n(begun, T * Y * K, Ring::zero);
    std::fill_n(ended, (T + 1) * Y * K, Ring::zero);
    std::fill_n(begins, T * Y, no_split);
    std::fill_n(ends, (T + 1) * Y, no_split);
    starting_.assign(static_cast<std::size_t>(T), {});
    Real* row = room(row_, Y);

    for (std::int64_t length = 1; length <= T; ++length)
        for (std::int64_t i = 0, j = length; j <= T; ++i, ++j) {
            const std::int64_t s = spans.at(i, j);
            if (length > 1 && closed(s)) continue;
            std::fill_n(row, Y, Ring::zero);
            if (length == 1) {
                for (std::int64_t A = 0; A < Y; ++A) row[A] = leaf(i, A);
            } else {
                const Real* f = factor(i, j);
                for (const std::int32_t B : starting_[static_cast<std::size_t>(i)])
                    for (std::int64_t m = g->left_ptr[B]; m < g->left_ptr[B + 1]; ++m) {
                        const std::int32_t r = g->by_left[m];
                        const SplitRange k = splits(i, j, r);
                        if (k.first > k.last) continue;
                        const Real x = Ring::times(row_product(ring, left_row(i, r), right_row(j, r), f, k), rule(r));
                        Real& sum = row[g->parent[r]];
                        sum = Ring::plus(sum, x);
                    }
                for (std::int64_t A = 0; A < Y; ++A)
                    if (row[A] != Ring::zero) row[A] = Ring::times(row[A], span(s, A));
            }
            for (std::int64_t A = 0; A < Y; ++A) {
                if (row[A] == Ring::zero) continue;
                begun[(i * Y + A) * K + j] = row[A];
                ended[(j * Y + A) * K + i] = row[A];
                SplitRange &b = begins[i * Y + A], &e = ends[j * Y + A];
                if (b.last < 0) starting_[static_cast<std::size_t>(i)].push_back(static_cast<std::int32_t>(A));
                b.first = std::min(b.first, static_cast<std::int32_t>(j)), b.last = static_cast<std::int32_t>(j);
                e.first = static_cast<std::int32_t>(i), e.last = std::max(e.last, static_cast<std::int32_t>(i));
            }
        }
}

// The chart of best scores.
template <class Real> void fill_best(const DerivationPotentials<Real>& p, DerivationChart<MaxPlus<Real>>& chart);

} // namespace chaffinch
