// The sum programme: log Z, marginals, samples.
#include "chain.hpp"
#include "chain_programme.hpp"
#include "clones.hpp"
#include "may_throw.hpp"

#include <optional>

namespace chaffinch::structures {

namespace {

template <class Real> using Sum = ChainProgramme<SumProduct<Real>>;
using Log = ChainProgramme<LogSum<double>>;

enum class Outcome { exact, inexact, blocked };

// Expectations gathered in the programme's own layout and precision.
template <class Real> struct Gathered {
    machine::AlignedVector<Real> unary, joint, pair, first, last; // [T][S]; joint [states][S]; the others [Y][S], second order
    machine::AlignedVector<Real> cells;                           // one position's states
};

// Runs the forward pass; returns the first position that no labelling reaches, or -1. The loops of floats are compiled
// into their callers for the machine's vectors; the others are compiled once for all callers, which halves the time to
// compile this file.
CHAFFINCH_INLINE std::int64_t forward(Sum<float>& p, const ChainSentence<float>& x) {
    p.lift(x);
    return p.forward(x);
}
template <class Ring, class In>
[[gnu::noinline]] std::int64_t forward(ChainProgramme<Ring>& p, const ChainSentence<In>& x, bool ends = true) {
    p.lift(x, ends);
    return p.forward(x);
}

template <class Ring, class In>
CHAFFINCH_INLINE Outcome forward_only(ChainProgramme<Ring>& p, const ChainSentence<In>& x) {
    if (forward(p, x) >= 0) return Outcome::blocked;
    return p.ring.exact() ? Outcome::exact : Outcome::inexact;
}

template <class Ring, class In>
CHAFFINCH_INLINE Outcome forward_backward(ChainProgramme<Ring>& p, const ChainSentence<In>& x,
                                          Gathered<typename Ring::Real>& e, const ChainExpectations<In>& out) {
    using Real = typename Ring::Real;
    if (forward(p, x) >= 0) return Outcome::blocked;
    const std::int64_t S = p.S, Y = p.Y, T = p.T;
    const std::int64_t states = p.second() ? Y * S : Y;
    Real* gamma = machine::room(e.unary, T * S);
    Real* joint = machine::room(e.joint, states * S);
    Real* cells = machine::room(e.cells, p.blocks * S);
    Real* pair = machine::room(e.pair, Y * S);
    std::fill_n(joint, states * S, Real(0));
    if (p.second()) std::fill_n(pair, Y * S, Real(0));
    Real r = 0; // the inverse of the weight of everything, on the scale of the position visited last
    p.backward(
        x,
        [&](std::int64_t t, const Real* beta) __attribute__((always_inline)) {
            const std::int64_t width = p.width(t);
            r = p.ring.inverse(p.alpha(t), beta, width);
            Real* row = gamma + t * S;
            if (!p.second()) {
                p.ring.posterior(p.alpha(t), beta, r, S, row);
                return;
            }
            std::fill_n(row, S, Real(0));
            p.ring.posterior(p.alpha(t), beta, r, width, cells);
            for (std::int64_t k = 0; k < width; k += S)
                for (std::int64_t y = 0; y < S; ++y) row[y] += cells[k + y];
            if (t == 0) return;
            for (std::int64_t k = 0; k < width; ++k) pair[k] += cells[k];
            if (t == 1 && out.first) std::copy_n(cells, width, machine::room(e.first, width));
            if (t == T - 1 && out.last) std::copy_n(cells, width, machine::room(e.last, width));
        },
        [&](std::int64_t t, const Real* g, const Real* w) __attribute__((always_inline)) {
            if (p.second() && t == 1) return;
            const Real* alpha = p.alpha(t - 1);
            for (std::int64_t b = 0; b < p.blocks; ++b)
                p.ring.joint({Y, alpha + b, p.hop, w + b * S, p.hop * S}, g + b * S, r, S, joint + b * S);
            if (out.pairs) {
                In* to = out.pairs + (t - 1) * Y * Y;
                for (std::int64_t a = 0; a < Y; ++a)
                    for (std::int64_t b = 0; b < Y; ++b) to[a * Y + b] = static_cast<In>(joint[a * S + b]);
                std::fill_n(joint, Y * S, Real(0));
            }
        });
    return p.ring.exact() ? Outcome::exact : Outcome::inexact;
}

// to[a][b] += from[a][b], from padded rows to the caller's.
template <class In, class Real>
void add_rows(const Real* from, std::int64_t rows, std::int64_t Y, std::int64_t S, std::int64_t stride, In* to) {
    for (std::int64_t a = 0; a < rows; ++a)
        for (std::int64_t b = 0; b < Y; ++b) to[a * stride + b] += static_cast<In>(from[a * S + b]);
}

template <class Ring, class In>
void hand_over(const ChainProgramme<Ring>& p, const Gathered<typename Ring::Real>& e, const ChainExpectations<In>& out) {
    const std::int64_t Y = p.Y, S = p.S, T = p.T;
    if (out.unary)
        for (std::int64_t t = 0; t < T; ++t)
            for (std::int64_t y = 0; y < Y; ++y)
                out.unary[t * out.unary_stride + y] = static_cast<In>(e.unary[t * S + y]);
    if (!p.second()) {
        if (!out.pair) return;
        if (out.pairs)
            for (std::int64_t t = 1; t < T; ++t)
                add_rows(out.pairs + (t - 1) * Y * Y, Y, Y, Y, out.pair_stride, out.pair);
        else
            add_rows(e.joint.data(), Y, Y, S, out.pair_stride, out.pair);
        return;
    }
    if (out.pair) add_rows(e.pair.data(), Y, Y, S, out.pair_stride, out.pair);
    if (out.first && T > 1) add_rows(e.first.data(), Y, Y, S, Y, out.first);
    if (out.last && T > 1) add_rows(e.last.data(), Y, Y, S, Y, out.last);
    if (out.triple)
        for (std::int64_t a = 0; a < Y; ++a)
            add_rows(e.joint.data() + a * S * S, Y, Y, S, Y, out.triple + a * Y * Y);
}

// y_{T-1} from the last row, then each y_{t-1} from  alpha_{t-1} (x) W into the state just drawn.
template <class Ring, class In>
[[gnu::noinline]] void draw(ChainProgramme<Ring>& p, const ChainSentence<In>& x, machine::Random& random, std::vector<double>& mass,
          std::int32_t* labels) {
    const auto weight = [](typename Ring::Real v) {
        if constexpr (Ring::zero == 0)
            return static_cast<double>(v);
        else
            return std::exp(static_cast<double>(v)); // rows are rescaled: the largest is about 0
    };
    const auto pick = [&](std::int64_t n) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += mass[i];
        double left = random.uniform() * sum;
        std::int64_t chosen = -1;
        for (std::int64_t i = 0; i < n; ++i) {
            if (mass[i] <= 0) continue;
            chosen = i;
            left -= mass[i];
            if (left < 0) break;
        }
        return chosen;
    };
    mass.resize(static_cast<std::size_t>(std::max(p.width(p.T - 1), p.Y)));
    for (std::int64_t k = 0; k < p.width(p.T - 1); ++k) mass[k] = weight(p.alpha(p.T - 1)[k]);
    const std::int64_t last = pick(p.width(p.T - 1));
    std::int64_t b = last / p.S, c = last % p.S;
    for (std::int64_t t = p.T - 1;; --t) {
        labels[t] = static_cast<std::int32_t>(c);
        if (t == 0) return;
        const auto* w = p.weights(x, t);
        const auto* before = p.alpha(t - 1);
        double top = impossible;
        for (std::int64_t i = 0; i < p.fan(t); ++i) {
            const std::int64_t s = i * p.hop + b;
            mass[i] = static_cast<double>(Ring::times(before[s], w[s * p.S + c]));
            top = std::max(top, mass[i]);
        }
        if constexpr (Ring::zero != 0)
            for (std::int64_t i = 0; i < p.fan(t); ++i) mass[i] = std::exp(mass[i] - top);
        const std::int64_t i = pick(p.fan(t));
        c = p.second() ? b : i;
        b = p.second() ? i : 0;
    }
}

} // namespace

// Plain functions, so that each can be cloned for the machine's vectors.
CHAFFINCH_HOT void sum_prepare(Sum<float>& p, const ChainPotentials<float>& potentials) {
    p.prepare(potentials);
    p.transpose();
}
template <class Ring, class In> [[gnu::noinline]] void sum_prepare(ChainProgramme<Ring>& p, const ChainPotentials<In>& potentials) {
    p.prepare(potentials);
    p.transpose();
}
CHAFFINCH_HOT Outcome sum_forward(Sum<float>& p, const ChainSentence<float>& x) { return forward_only(p, x); }
CHAFFINCH_HOT Outcome sum_both(Sum<float>& p, const ChainSentence<float>& x, Gathered<float>& e,
                               const ChainExpectations<float>& out) {
    return forward_backward(p, x, e, out);
}
template <class Ring, class In> [[gnu::noinline]] Outcome sum_forward(ChainProgramme<Ring>& p, const ChainSentence<In>& x) {
    return forward_only(p, x);
}
template <class Ring, class In>
[[gnu::noinline]] Outcome sum_both(ChainProgramme<Ring>& p, const ChainSentence<In>& x, Gathered<typename Ring::Real>& e,
                 const ChainExpectations<In>& out) {
    return forward_backward(p, x, e, out);
}

// Three ranges of numbers for one programme: float rows, double rows, logarithms. The first that provably lost
// nothing answers; the later ones are prepared only when asked for.
template <class Real> struct ChainMarginals<Real>::State {
    ChainPotentials<Real> potentials;
    Sum<Real> narrow;
    Gathered<Real> narrow_gathered;
    Sum<double> wide;
    Log logarithmic;
    Gathered<double> wide_gathered;
    bool wide_ready = false, log_ready = false;
    std::vector<double> mass;

    // Runs `pass` on the first programme that is exact and then `use` on the same.
    template <class Pass, class Use> Found run(const ChainSentence<Real>& x, Pass&& pass, Use&& use) {
        Outcome outcome = pass(narrow, narrow_gathered);
        if (outcome == Outcome::exact) return use(narrow, narrow_gathered), Found{narrow.log_total()};
        if constexpr (sizeof(Real) == 4) {
            if (!std::exchange(wide_ready, true)) sum_prepare(wide, potentials);
            outcome = pass(wide, wide_gathered);
            if (outcome == Outcome::exact) return use(wide, wide_gathered), Found{wide.log_total()};
        }
        if (!std::exchange(log_ready, true)) sum_prepare(logarithmic, potentials);
        outcome = pass(logarithmic, wide_gathered);
        if (outcome == Outcome::exact) return use(logarithmic, wide_gathered), Found{logarithmic.log_total()};
        return Found{impossible, blocked(x)};
    }

    // The first position that no labelling reaches; T if only the end is out of reach.
    std::int64_t blocked(const ChainSentence<Real>& x) {
        const std::int64_t position = forward(logarithmic, x);
        return position == x.T - 1 && forward(logarithmic, x, false) < 0 ? x.T : position;
    }
};

template <class Real> ChainMarginals<Real>::ChainMarginals() : state_(std::make_unique<State>()) {}
template <class Real> ChainMarginals<Real>::~ChainMarginals() = default;
template <class Real> ChainMarginals<Real>::ChainMarginals(ChainMarginals&&) noexcept = default;
template <class Real> ChainMarginals<Real>& ChainMarginals<Real>::operator=(ChainMarginals&&) noexcept = default;

template <class Real> void ChainMarginals<Real>::prepare(const ChainPotentials<Real>& potentials) {
    state_->potentials = potentials;
    machine::may_throw([&] { sum_prepare(state_->narrow, potentials); });
    state_->wide_ready = state_->log_ready = false;
}

template <class Real>
Found ChainMarginals<Real>::operator()(const ChainSentence<Real>& x, const ChainExpectations<Real>& out) {
    return state_->run(
        x, [&](auto& p, auto& gathered) { return machine::may_throw([&] { return sum_both(p, x, gathered, out); }); },
        [&](auto& p, auto& gathered) { hand_over(p, gathered, out); });
}

template <class Real> Found ChainMarginals<Real>::log_z(const ChainSentence<Real>& x) {
    return state_->run(x, [&](auto& p, auto&) { return machine::may_throw([&] { return sum_forward(p, x); }); },
                       [](auto&, auto&) {});
}

template <class Real>
Found ChainMarginals<Real>::sample(const ChainSentence<Real>& x, std::int64_t n, machine::Random& random, std::int32_t* labels) {
    return state_->run(
        x, [&](auto& p, auto&) { return machine::may_throw([&] { return sum_forward(p, x); }); },
        [&](auto& p, auto&) {
            for (std::int64_t k = 0; k < n; ++k) draw(p, x, random, state_->mass, labels + k * x.T);
        });
}

template class ChainMarginals<float>;
template class ChainMarginals<double>;

} // namespace chaffinch::structures
