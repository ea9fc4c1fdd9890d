// The chain recursion, written once for every semiring and both orders.
//
// A state at position t is a pair (b, c): the label c = y_t inside block b. First order has one block; second order
// has a block for each previous label b = y_{t-1}. Cell (b, c) lies at b S + c, and block b is fed by the cells
// i Q + b of the position before (first order Q = 1, b = 0: all labels; second order Q = S: the pairs (i, b)):
//
//   forward   alpha_t(b, c) = u_t(c) (x)  (+)_i alpha_{t-1}(i Q + b) (x) W[i Q + b][c]
//   backward  beta_{t-1}(i Q + b)     =   (+)_c W[i Q + b][c] (x) u_t(c) (x) beta_t(b, c)
//
// Each state feeds exactly one block, so W has one row per state. In second order, pairs that the transition mask makes
// unreachable are pruned (each block lists its sources and its targets), position 0 is a single block, and position 1
// is reached by the rows of `opening`.
#pragma once

#include "chain.hpp"
#include "semiring.hpp"
#include "stop.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace chaffinch::structures {

inline constexpr std::int64_t positions_between_checks = 64; // whether to stop

template <class Ring> class ChainProgramme {
  public:
    using Real = typename Ring::Real;

    Ring ring;
    std::int64_t Y = 0, S = 0, T = 0;
    std::int64_t blocks = 1, hop = 1; // B and Q above

    // Potentials that all positions share, into the ring.
    template <class In> CHAFFINCH_INLINE void prepare(const ChainPotentials<In>& p);

    // Transposes W for the backward pass; call it once after prepare(). column(c): first order, W[.][c] of all sources,
    // [S].
    CHAFFINCH_INLINE void transpose();
    bool is_transposed() const { return transposed_; }
    const Real* column(std::int64_t c) const { return w_t_.data() + c * S; }

    // The rows of one sentence, with start and end, into the ring.
    template <class In> CHAFFINCH_INLINE void lift(const ChainSentence<In>& x, bool ends = true);

    // Fills alpha. The first position that no labelling reaches, or -1.
    template <class In> CHAFFINCH_INLINE std::int64_t forward(const ChainSentence<In>& x);

    // Walks from the last position to the first; alpha must be filled. Calls visit(t, beta_t) for t = T-1 .. 0, and
    // after each t >= 0 but the last step(t + 1, g, W) with g = u_{t+1} (x) beta_{t+1} on the scale of that beta_t.
    template <class In, class Visit, class Step>
    CHAFFINCH_INLINE void backward(const ChainSentence<In>& x, Visit&& visit, Step&& step);

    std::int64_t width(std::int64_t t) const { return t == 0 ? S : blocks * S; }
    std::int64_t fan(std::int64_t t) const { return second_ && t == 1 ? 1 : Y; } // sources of a block
    bool second() const { return second_; }
    Real* alpha(std::int64_t t) { return alpha_.data() + t * blocks * S; }
    const Real* unary(std::int64_t t) const { return lifted_.data() + t * S; }
    const Real* closing() const { return has_last_ ? last_.data() : nullptr; }
    double log_total() { return log_scale_ + ring.log_total(alpha(T - 1), width(T - 1)); } // best score or log Z
    Real divisor(std::int64_t t) const { return divisors_[t]; } // what alpha_t was rescaled by

    // For callers that fill alpha themselves: its rows, uninitialised, and the W that all positions share.
    void open_rows() { machine::room(alpha_, T * blocks * S); }
    const Real* shared_weights() const { return w_.data(); }

    // W into position t; for potentials by position it is made anew in a scratch buffer.
    template <class In> CHAFFINCH_INLINE const Real* weights(const ChainSentence<In>& x, std::int64_t t);

  private:
    template <class In> CHAFFINCH_INLINE const Real* transposed(const ChainSentence<In>& x, const Real* w);
    template <class In> CHAFFINCH_INLINE void lift_row(const ChainSentence<In>& x, std::int64_t t, Real* row) const;

    // Which labels may come before b (after b), for every b: labels of b at [bounds[b], bounds[b + 1]).
    struct Lists {
        std::vector<std::int32_t> labels, bounds;
    };
    CHAFFINCH_INLINE static ListedSources<Real> listed(const Lists& lists, std::int64_t b, const Sources<Real>& all) {
        return {lists.bounds[b + 1] - lists.bounds[b], lists.labels.data() + lists.bounds[b], all};
    }

    Lists sources_, targets_; // second order
    bool second_ = false, has_last_ = false, transposed_ = false;
    machine::AlignedVector<Real> start_, end_;      // [S]  potentials, not lifted
    machine::AlignedVector<Real> log_pair_;         // [Y][S]  first order: for potentials by position
    machine::AlignedVector<Real> w_, w_t_;          // [states][S], [blocks S][S]
    machine::AlignedVector<Real> opening_, last_;   // [Y][S]  second order
    machine::AlignedVector<Real> scratch_, scratch_t_, lifted_; // [Y][S], [S][S], [T][S]
    machine::AlignedVector<Real> alpha_, beta_, before_;
    machine::AlignedVector<Real> divisors_; // [T]
    double pair_shift_ = 0, opening_shift_ = 0, last_shift_ = 0, unary_shift_ = 0, log_scale_ = 0; // logs of divisors
    double step_shift_ = 0; // of the weights last asked for
};

template <class Ring>
template <class In>
CHAFFINCH_INLINE void ChainProgramme<Ring>::prepare(const ChainPotentials<In>& p) {
    constexpr Real never = -std::numeric_limits<Real>::infinity();
    Y = p.Y, S = machine::padded(p.Y), second_ = p.order == 2, has_last_ = second_ && p.last != nullptr;
    transposed_ = false;
    ring.begin_pairs();
    blocks = second_ ? Y : 1, hop = second_ ? S : 1;
    const auto allowed = [&](std::int64_t a, std::int64_t b) { return !p.transitions || p.transitions[a * Y + b]; };
    const auto pair = [&](std::int64_t a, std::int64_t b) {
        return p.pair ? static_cast<Real>(p.pair[a * p.pair_stride + b]) : Real(0);
    };
    const auto boundary = [&](machine::AlignedVector<Real>& row, const In* potential, const std::uint8_t* mask) {
        row.assign(static_cast<std::size_t>(S), never);
        for (std::int64_t y = 0; y < Y; ++y)
            if (!mask || mask[y]) row[y] = potential ? static_cast<Real>(potential[y]) : Real(0);
    };
    boundary(start_, p.start, p.start_allowed);
    boundary(end_, p.end, p.end_allowed);

    const std::int64_t states = second_ ? Y * S : Y;
    Real* w = machine::room(w_, states * S);
    std::fill_n(w, states * S, never);
    if (!second_) {
        for (std::int64_t a = 0; a < Y; ++a)
            for (std::int64_t b = 0; b < Y; ++b)
                if (allowed(a, b)) w[a * S + b] = pair(a, b);
        if constexpr (Ring::zero == 0) std::copy_n(w, Y * S, machine::room(log_pair_, Y * S));
    } else {
        const auto list = [&](Lists& lists, auto&& linked) {
            lists.labels.clear(), lists.bounds.assign(1, 0);
            for (std::int64_t b = 0; b < Y; ++b) {
                for (std::int64_t other = 0; other < Y; ++other)
                    if (linked(b, other)) lists.labels.push_back(static_cast<std::int32_t>(other));
                lists.bounds.push_back(static_cast<std::int32_t>(lists.labels.size()));
            }
        };
        list(sources_, [&](std::int64_t b, std::int64_t i) { return allowed(i, b); });
        list(targets_, [&](std::int64_t b, std::int64_t c) { return allowed(b, c); });
        opening_.assign(static_cast<std::size_t>(Y * S), never);
        last_.assign(static_cast<std::size_t>(has_last_ ? Y * S : 0), never);
        for (std::int64_t b = 0; b < Y; ++b)
            for (std::int64_t c = 0; c < Y; ++c) {
                if (!allowed(b, c)) continue;
                opening_[b * S + c] = pair(b, c) + (p.first ? static_cast<Real>(p.first[b * Y + c]) : Real(0));
                if (has_last_) last_[b * S + c] = static_cast<Real>(p.last[b * Y + c]);
                for (std::int64_t a = 0; a < Y; ++a)
                    if (allowed(a, b))
                        w[(a * S + b) * S + c] =
                            pair(b, c) + (p.triple ? static_cast<Real>(p.triple[(a * Y + b) * Y + c]) : Real(0));
            }
        opening_shift_ = ring.lift_pairs(opening_.data(), Y * S);
        if (has_last_) last_shift_ = ring.lift_pairs(last_.data(), Y * S);
    }
    pair_shift_ = ring.lift_pairs(w, states * S);
}

template <class Ring> CHAFFINCH_INLINE void ChainProgramme<Ring>::transpose() {
    transposed_ = true;
    const Real* w = w_.data();
    Real* w_t = machine::room(w_t_, blocks * S * S);
    std::fill_n(w_t, blocks * S * S, Ring::zero);
    for (std::int64_t b = 0; b < blocks; ++b)
        for (std::int64_t i = 0; i < Y; ++i)
            for (std::int64_t c = 0; c < Y; ++c) w_t[(b * S + c) * S + i] = w[(i * hop + b) * S + c];
}

template <class Ring>
template <class In>
CHAFFINCH_INLINE void ChainProgramme<Ring>::lift(const ChainSentence<In>& x, bool ends) {
    constexpr Real never = -std::numeric_limits<Real>::infinity();
    T = x.T;
    ring.begin();
    if (x.pairs) ring.begin_pairs();
    unary_shift_ = 0;
    Real* rows = machine::room(lifted_, T * S);
    for (std::int64_t t = 0; t < T; ++t) {
        Real* row = rows + t * S;
        lift_row(x, t, row);
        if (x.allowed)
            for (std::int64_t y = 0; y < Y; ++y) row[y] = x.allowed[t * Y + y] ? row[y] : never;
        if (t == 0)
            for (std::int64_t y = 0; y < S; ++y) row[y] += start_[y];
        if (t == T - 1 && ends)
            for (std::int64_t y = 0; y < S; ++y) row[y] += end_[y];
        unary_shift_ += ring.lift(row, S);
    }
}

// row[y] = unary_t(y), -inf in the lanes behind the labels.
template <class Ring>
template <class In>
CHAFFINCH_INLINE void ChainProgramme<Ring>::lift_row(const ChainSentence<In>& x, std::int64_t t, Real* row) const {
    constexpr Real never = -std::numeric_limits<Real>::infinity();
    const In* from = x.unary + t * x.stride;
    if constexpr (std::is_same_v<In, Real>) {
        if (t * x.stride + S <= (T - 1) * x.stride + Y) { // whole packs can be read: other rows follow
            using Number = machine::Flag<Real>;
            machine::Pack<Real> u;
            std::int64_t k = 0;
            for (; k + machine::lanes <= Y; k += machine::lanes) machine::get<Real>(u, from + k), machine::put<Real>(row + k, u);
            if (k == S) return;
            machine::get<Real>(u, from + k);
            const auto label = machine::numbered<Number>() < static_cast<Number>(Y - k);
            machine::put<Real>(row + k, machine::select(label, u, machine::Pack<Real>{} + never));
            return;
        }
    }
    for (std::int64_t y = Y; y < S; ++y) row[y] = never;
    for (std::int64_t y = 0; y < Y; ++y) row[y] = static_cast<Real>(from[y]);
}

template <class Ring>
template <class In>
CHAFFINCH_INLINE std::int64_t ChainProgramme<Ring>::forward(const ChainSentence<In>& x) {
    machine::room(alpha_, T * blocks * S);
    std::copy_n(unary(0), S, alpha(0));
    Real* divisors = machine::room(divisors_, T);
    log_scale_ = unary_shift_;
    for (std::int64_t t = 0; t < T; ++t) {
        if (t % positions_between_checks == 0) machine::check_stop();
        Real* here = alpha(t);
        if (t > 0) {
            const Real* w = weights(x, t);
            const Real* before = alpha(t - 1);
            log_scale_ += step_shift_;
            for (std::int64_t b = 0; b < blocks; ++b) {
                Real* row = here + b * S;
                const Sources<Real> from{fan(t), before + b, hop, w + b * S, hop * S};
                if (second_ && t > 1)
                    ring.absorb(listed(sources_, b, from), row, S);
                else
                    ring.absorb(from, row, S);
                ring.times(row, unary(t), S);
                if (has_last_ && t == T - 1) ring.times(row, last_.data() + b * S, S);
            }
        }
        divisors[t] = ring.rescale(here, width(t));
        if (divisors[t] == Ring::zero) return t;
        log_scale_ += Ring::log_of(divisors[t]);
    }
    if (T > 1 && has_last_) log_scale_ += last_shift_;
    return -1;
}

template <class Ring>
template <class In, class Visit, class Step>
CHAFFINCH_INLINE void ChainProgramme<Ring>::backward(const ChainSentence<In>& x, Visit&& visit, Step&& step) {
    Real* g = machine::room(beta_, blocks * S);
    Real* before = machine::room(before_, blocks * S);
    for (std::int64_t k = 0; k < width(T - 1); ++k) g[k] = k % S < Y ? Ring::one : Ring::zero;
    visit(T - 1, static_cast<const Real*>(g));
    for (std::int64_t t = T - 1; t >= 1; --t) {
        if (t % positions_between_checks == 0) machine::check_stop();
        for (std::int64_t b = 0; b < blocks; ++b) {
            ring.times(g + b * S, unary(t), S);
            if (has_last_ && t == T - 1) ring.times(g + b * S, last_.data() + b * S, S);
        }
        const Real* w = weights(x, t);
        if (!second_) {
            ring.absorb(Sources<Real>{Y, g, 1, transposed(x, w), S}, before, S);
        } else if (t == 1) {
            std::fill_n(before, S, Ring::zero);
            for (std::int64_t b = 0; b < Y; ++b)
                for (std::int64_t c = 0; c < Y; ++c)
                    before[b] = Ring::plus(before[b], Ring::times(w[b * S + c], g[b * S + c]));
        } else {
            Real* column = machine::room(scratch_, S);
            std::fill_n(before, blocks * S, Ring::zero);
            for (std::int64_t b = 0; b < blocks; ++b) {
                const Sources<Real> from{Y, g + b * S, 1, w_t_.data() + b * S * S, S};
                ring.absorb(listed(targets_, b, from), column, S);
                for (std::int64_t i = 0; i < Y; ++i) before[i * S + b] = column[i];
            }
        }
        visit(t - 1, static_cast<const Real*>(before));
        step(t, static_cast<const Real*>(g), w);
        ring.rescale(before, width(t - 1));
        std::swap(g, before);
    }
}

template <class Ring>
template <class In>
CHAFFINCH_INLINE auto ChainProgramme<Ring>::weights(const ChainSentence<In>& x, std::int64_t t) -> const Real* {
    if (second_) {
        step_shift_ = t == 1 ? opening_shift_ : pair_shift_;
        return t == 1 ? opening_.data() : w_.data();
    }
    step_shift_ = pair_shift_;
    if (!x.pairs) return w_.data();
    const Real* shared = Ring::zero == 0 ? log_pair_.data() : w_.data();
    const In* here = x.pairs + (t - 1) * Y * Y;
    Real* w = machine::room(scratch_, Y * S);
    std::copy_n(shared, Y * S, w);
    for (std::int64_t a = 0; a < Y; ++a)
        for (std::int64_t b = 0; b < Y; ++b) w[a * S + b] += static_cast<Real>(here[a * Y + b]);
    step_shift_ = ring.lift_pairs(w, Y * S);
    return w;
}

template <class Ring>
template <class In>
CHAFFINCH_INLINE auto ChainProgramme<Ring>::transposed(const ChainSentence<In>& x, const Real* w) -> const Real* {
    if (!x.pairs) return w_t_.data();
    Real* w_t = machine::room(scratch_t_, S * S);
    std::fill_n(w_t, S * S, Ring::zero);
    for (std::int64_t a = 0; a < Y; ++a)
        for (std::int64_t b = 0; b < Y; ++b) w_t[b * S + a] = w[a * S + b];
    return w_t;
}

} // namespace chaffinch::structures
