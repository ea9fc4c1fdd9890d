// The part shared by Viterbi and k-best: the max programme and reading a path off its rows. No back-pointers are kept;
// the path recomputes the best source at each cell it passes: Y additions per position instead of a second row written
// in the inner loop.
#pragma once

#include "chain_programme.hpp"
#include "may_throw.hpp"

#include <limits>
#include <type_traits>

namespace chaffinch::structures {

inline constexpr std::int64_t most_lockstep_packs = 4; // of a row: see chain_lockstep.hpp

template <class Real> using MaxProgramme = ChainProgramme<MaxPlus<Real>>;

std::int64_t max_forward(MaxProgramme<float>& p, const ChainSentence<float>& x, bool ends);
std::int64_t max_forward(MaxProgramme<double>& p, const ChainSentence<double>& x, bool ends);
void max_trace(MaxProgramme<float>& p, std::int64_t last, std::int32_t* labels);
void max_trace(MaxProgramme<double>& p, std::int64_t last, std::int32_t* labels);

// A state (b, c): label c after label b (first order: b = 0).
struct ChainState {
    std::int64_t b = 0, c = 0;
};

template <class Real> struct ChainViterbi<Real>::State {
    MaxProgramme<Real> programme, other; // other: of a second sentence at the same time
    ChainPotentials<Real> potentials;
    bool other_prepared = false;

    // Whether lockstep can do it: first order, no potentials by position, rows that fit in registers. Rows of doubles do not.
    static constexpr bool has_lockstep = sizeof(Real) == 4;
    bool narrow(const ChainSentence<Real>& x) const {
        return !programme.second() && !x.pairs && programme.S <= most_lockstep_packs * machine::lanes;
    }

    // Runs the forward pass; returns Found.blocked.
    std::int64_t climbed(const ChainSentence<Real>& x) {
        const auto reached = [&](bool ends) { return machine::may_throw([&] { return max_forward(programme, x, ends); }); };
        const std::int64_t blocked = reached(true);
        return blocked == x.T - 1 && reached(false) < 0 ? x.T : blocked;
    }
};

// The state that source i of state s stands for.
template <class Real> ChainState before(const MaxProgramme<Real>& p, ChainState s, std::int64_t i) {
    return p.second() ? ChainState{i, s.b} : ChainState{0, i};
}

// The best final state; of equals, the smaller label, then the smaller label before it.
template <class Real> ChainState best_last(MaxProgramme<Real>& p) {
    const Real* last = p.alpha(p.T - 1);
    ChainState best;
    Real top = MaxPlus<Real>::zero;
    for (std::int64_t c = 0; c < p.Y; ++c)
        for (std::int64_t b = 0; b * p.S < p.width(p.T - 1); ++b)
            if (last[b * p.S + c] > top) top = last[b * p.S + c], best = {b, c};
    return best;
}

// Writes labels[0 .. t] of the best path into state s at t.
template <class Real>
void trace(MaxProgramme<Real>& p, const ChainSentence<Real>& x, std::int64_t t, ChainState s, std::int32_t* labels) {
    for (;; --t) {
        labels[t] = static_cast<std::int32_t>(s.c);
        if (t == 0) return;
        const Real* w = p.weights(x, t);
        const Real* source = p.alpha(t - 1);
        const std::int64_t fan = p.fan(t);
        std::int64_t best = 0;
        Real top = MaxPlus<Real>::zero;
        for (std::int64_t i = 0; i < fan; ++i) {
            const Real score = source[i * p.hop + s.b] + w[(i * p.hop + s.b) * p.S + s.c];
            best = score > top ? i : best;
            top = score > top ? score : top;
        }
        s = before(p, s, best);
    }
}

// The same for first order and potentials that all positions share: all sources of a state at once, by columns of W.
template <class Real>
CHAFFINCH_INLINE void trace_columns(MaxProgramme<Real>& p, std::int64_t c, std::int32_t* labels) {
    using Number = std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;
    const machine::Pack<Number> lanes = machine::numbered<Number>(), none = machine::Pack<Number>{} + std::numeric_limits<Number>::max();
    machine::Pack<Real> score, w, most;
    for (std::int64_t t = p.T - 1; t > 0; --t) {
        labels[t] = static_cast<std::int32_t>(c);
        const Real* source = p.alpha(t - 1);
        const Real* column = p.column(c);
        most = machine::Pack<Real>{} + MaxPlus<Real>::zero;
        for (std::int64_t k = 0; k < p.S; k += machine::lanes) {
            machine::get<Real>(score, source + k), machine::get<Real>(w, column + k);
            score += w;
            most = machine::larger(score, most);
        }
        const Real top = machine::largest(most);
        machine::Pack<Number> first = none; // of each lane, of the sources that reach the maximum
        for (std::int64_t k = p.S - machine::lanes; k >= 0; k -= machine::lanes) {
            machine::get<Real>(score, source + k), machine::get<Real>(w, column + k);
            score += w;
            first = machine::select(score == top, lanes + static_cast<Number>(k), first);
        }
        // As in trace: 0 if no source has a score, which happens when sums overflow a float.
        c = top > MaxPlus<Real>::zero ? static_cast<std::int64_t>(-machine::largest(-first)) : 0;
    }
    labels[0] = static_cast<std::int32_t>(c);
}

// s(y), added up in double.
template <class Real>
double path_score(MaxProgramme<Real>& p, const ChainSentence<Real>& x, const std::int32_t* labels) {
    double score = 0;
    for (std::int64_t t = 0; t < p.T; ++t) {
        score += static_cast<double>(p.unary(t)[labels[t]]);
        if (t == 0) continue;
        const std::int64_t b = p.second() ? labels[t - 1] : 0;
        const std::int64_t i = !p.second() ? labels[t - 1] : t == 1 ? 0 : labels[t - 2];
        score += static_cast<double>(p.weights(x, t)[(i * p.hop + b) * p.S + labels[t]]);
    }
    if (p.closing() && p.T > 1)
        score += static_cast<double>(p.closing()[labels[p.T - 2] * p.S + labels[p.T - 1]]);
    return score;
}

} // namespace chaffinch::structures
