// The inside chart of derivations. A span is put together from one left part and one right part for each pair of
// children; the chart holds them so that all splits of a pair lie side by side and are absorbed as a row:
//
//   begun[i][B][k] = inside of B over [i, k)         ended[j][C][k] = inside of C over [k, j)
//   inside[ij][A]  = (+) over rules A -> B C of  rule (x) (+)_k begun[i][B][k] (x) ended[j][C][k]
//
// For each start (end) and label the possible splits lie in a known range; most pairs are ruled out by these ranges
// (Klein and Manning 2003, "A* parsing"; Bodenstab 2012).
#pragma once

#include "derivation.hpp"
#include "semiring.hpp"
#include "stop.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

namespace chaffinch::structures {

struct SplitRange {
    std::int32_t first, last; // empty: first > last
};
inline constexpr SplitRange no_split{std::numeric_limits<std::int32_t>::max(), -1};

// Rows [K] of numbers, initially the ring's zero and allocated at the first write: most labels occur nowhere.
template <class Real> class LazyRows {
  public:
    void reset(std::int64_t count, std::int64_t K, Real zero) {
        K_ = K, zero_ = zero;
        number_.assign(static_cast<std::size_t>(count), 0);
        values_.assign(static_cast<std::size_t>(K), zero);
    }
    CHAFFINCH_INLINE const Real* read(std::int64_t n) const { return values_.data() + number_[n] * K_; }
    Real* write(std::int64_t n) {
        if (number_[n] == 0) {
            number_[n] = static_cast<std::int64_t>(values_.size()) / K_;
            values_.resize(values_.size() + static_cast<std::size_t>(K_), zero_);
        }
        return values_.data() + number_[n] * K_;
    }

  private:
    std::int64_t K_ = 0;
    Real zero_{};
    std::vector<std::int64_t> number_; // [count]; 0: the row of zeros
    machine::AlignedVector<Real> values_;       // [rows + 1][K]
};

template <class Ring> class DerivationChart {
  public:
    using Real = typename Ring::Real;

    const Grammar* g;
    std::int64_t T, K; // K = padded(T + 1)
    Spans spans;
    LazyRows<Real> begun, ended; // [T][Y] by start, [T+1][Y] by end
    SplitRange *begins, *ends;   // [T][Y], [T+1][Y]

    Real at(std::int64_t i, std::int64_t j, std::int64_t A) const { return begun.read(i * g->Y + A)[j]; }

    // The labels of [i, j) that have a derivation.
    std::span<const std::int32_t> labels(std::int64_t i, std::int64_t j) const {
        return labels_[static_cast<std::size_t>(spans.at(i, j))];
    }
    // The labels that begin at i.
    std::span<const std::int32_t> starting(std::int64_t i) const { return starting_[static_cast<std::size_t>(i)]; }

    // The splits of [i, j) that children B and C can have.
    CHAFFINCH_INLINE SplitRange splits(std::int64_t i, std::int64_t j, std::int32_t B, std::int32_t C) const {
        const SplitRange a = begins[i * g->Y + B], b = ends[j * g->Y + C];
        return {a.first > b.first ? a.first : b.first, a.last < b.last ? a.last : b.last};
    }
    CHAFFINCH_INLINE const Real* left_row(std::int64_t i, std::int32_t B) const { return begun.read(i * g->Y + B); }
    CHAFFINCH_INLINE const Real* right_row(std::int64_t j, std::int32_t C) const { return ended.read(j * g->Y + C); }

    // leaf(t, A), rule(r) and span(s, A) give weights of the ring; factor(i, j) is a row [K] of weights of the splits
    // of a span, or null if there are none; closed spans are skipped.
    template <class Leaf, class Rule, class Span, class Factor, class Closed>
    CHAFFINCH_INLINE void fill(const Grammar& grammar, std::int64_t words, Leaf&& leaf, Rule&& rule, Span&& span,
                               Factor&& factor, Closed&& closed);

    const Real* rule_weights() const { return rule_.data(); } // [W]

  private:
    machine::AlignedVector<Real> row_, rule_;
    machine::AlignedVector<SplitRange> begins_, ends_;
    std::vector<std::vector<std::int32_t>> starting_; // [T] labels that begin there
    std::vector<std::vector<std::int32_t>> labels_;   // [S]
};

// (+)_k a[k] (x) b[k] (x) f[k] over a range, in whole packs: beyond the range one side is zero.
template <class Real>
CHAFFINCH_INLINE Real row_product(const MaxPlus<Real>&, const Real* a, const Real* b, const Real*, SplitRange k) {
    machine::Pack<Real> best = {}, u, v;
    best += MaxPlus<Real>::zero;
    for (std::int64_t m = k.first / machine::lanes * machine::lanes; m <= k.last; m += machine::lanes) {
        machine::get<Real>(u, a + m), machine::get<Real>(v, b + m);
        u += v;
        best = machine::larger(u, best);
    }
    return machine::largest(best);
}
template <class Real>
CHAFFINCH_INLINE Real row_product(const SumProduct<Real>&, const Real* a, const Real* b, const Real* f, SplitRange k) {
    machine::Pack<Real> sum = {}, u, v, w;
    for (std::int64_t m = k.first / machine::lanes * machine::lanes; m <= k.last; m += machine::lanes) {
        machine::get<Real>(u, a + m), machine::get<Real>(v, b + m), machine::get<Real>(w, f + m);
        sum += (u * v) * w;
    }
    return machine::total(sum);
}

// row[A] (+)= x (x) w[A] for the parents of a run
template <class Ring>
CHAFFINCH_INLINE void offer(typename Ring::Real x, const Grammar::Run& run, const typename Ring::Real* rule,
                            typename Ring::Real* row) {
    using Real = typename Ring::Real;
    machine::Pack<Real> u, v;
    for (std::int64_t m = 0; m < run.packs * machine::lanes; m += machine::lanes) {
        machine::get<Real>(u, rule + run.first + m), machine::get<Real>(v, row + run.parent + m);
        if constexpr (Ring::zero == 0) {
            v += x * u;
        } else {
            u += x;
            v = machine::larger(u, v);
        }
        machine::put<Real>(row + run.parent + m, v);
    }
}

template <class Ring>
template <class Leaf, class Rule, class Span, class Factor, class Closed>
void DerivationChart<Ring>::fill(const Grammar& grammar, std::int64_t words, Leaf&& leaf, Rule&& rule, Span&& span,
                                 Factor&& factor, Closed&& closed) {
    g = &grammar, T = words, K = machine::padded(words + 1), spans = {words};
    const std::int64_t Y = g->Y;
    const Ring ring;
    begun.reset(T * Y, K, Ring::zero), ended.reset((T + 1) * Y, K, Ring::zero);
    begins = machine::room(begins_, T * Y), ends = machine::room(ends_, (T + 1) * Y);
    std::fill_n(begins, T * Y, no_split);
    std::fill_n(ends, (T + 1) * Y, no_split);
    starting_.assign(static_cast<std::size_t>(T), {});
    labels_.assign(static_cast<std::size_t>(spans.count()), {});
    rule_.assign(static_cast<std::size_t>(g->W), Ring::zero);
    for (std::int64_t r = 0; r < g->R; ++r) rule_[g->place[r]] = rule(r);
    Real* row = machine::room(row_, Y + machine::lanes);

    for (std::int64_t length = 1; length <= T; ++length)
        for (std::int64_t i = 0, j = length; j <= T; ++i, ++j) {
            machine::check_stop();
            const std::int64_t s = spans.at(i, j);
            if (length > 1 && closed(s)) continue;
            std::fill_n(row, Y + machine::lanes, Ring::zero);
            if (length == 1) {
                for (std::int64_t A = 0; A < Y; ++A) row[A] = leaf(i, A);
            } else {
                const Real* f = factor(i, j);
                for (const std::int32_t B : starting(i))
                    for (std::int64_t q = g->left_ptr[B]; q < g->left_ptr[B + 1]; ++q) {
                        const std::int32_t C = g->pair_right[q];
                        const SplitRange k = splits(i, j, B, C);
                        if (k.first > k.last) continue;
                        const Real x = row_product(ring, left_row(i, B), right_row(j, C), f, k);
                        if (x == Ring::zero) continue;
                        for (std::int64_t n = g->run_ptr[q]; n < g->run_ptr[q + 1]; ++n)
                            offer<Ring>(x, g->runs[n], rule_.data(), row);
                    }
            }
            auto& found = labels_[static_cast<std::size_t>(s)];
            for (std::int32_t A = 0; A < Y; ++A) {
                if (row[A] == Ring::zero) continue;
                const Real x = length == 1 ? row[A] : Ring::times(row[A], span(s, A));
                if (x == Ring::zero) continue;
                begun.write(i * Y + A)[j] = x;
                ended.write(j * Y + A)[i] = x;
                SplitRange &b = begins[i * Y + A], &e = ends[j * Y + A];
                if (b.last < 0) starting_[static_cast<std::size_t>(i)].push_back(A);
                b.first = std::min(b.first, static_cast<std::int32_t>(j)), b.last = static_cast<std::int32_t>(j);
                e.first = static_cast<std::int32_t>(i), e.last = std::max(e.last, static_cast<std::int32_t>(i));
                found.push_back(A);
            }
        }
}

// The chart of best scores.
template <class Real> void fill_best(const DerivationPotentials<Real>& p, DerivationChart<MaxPlus<Real>>& chart);

} // namespace chaffinch::structures
