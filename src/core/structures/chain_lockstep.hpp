// Viterbi of first-order chains with shared potentials and few labels, N sentences in lockstep. The steps of one sentence
// wait for one another, those of two do not: the processor works on one while the other waits. A row of labels stays in
// registers from its maxima to its scale.
//
// The sums are those of ChainProgramme::forward; a maximum does not depend on the order. So alpha has the same bytes.
#pragma once

#include "chain_viterbi.hpp"

namespace chaffinch::structures {

template <class Real> using Lockstep = MaxProgramme<Real>* const*; // [N], prepared with the same potentials

// alpha_t of N sentences for from <= t < to. blocked[n]: the first position that no labelling reaches, else unchanged.
template <std::int64_t P, std::int64_t N, class Real>
CHAFFINCH_INLINE void lockstep_forward(Lockstep<Real> p, std::int64_t from, std::int64_t to, std::int64_t* blocked) {
    using Pack = machine::Pack<Real>;
    constexpr std::int64_t lanes = machine::lanes, S = P * lanes;
    constexpr std::int64_t A = N * P <= 3 ? 4 : N * P <= 6 ? 2 : 1; // maxima side by side, as many as registers hold
    constexpr Real none = MaxPlus<Real>::zero;
    const std::int64_t Y = p[0]->Y;
    const Real* const w = p[0]->shared_weights();
    Real* here[N];
    const Real* u[N];
    for (std::int64_t n = 0; n < N; ++n) here[n] = p[n]->alpha(from), u[n] = p[n]->unary(from);
    for (std::int64_t t = from; t < to; ++t) {
        if (t % positions_between_checks == 0) machine::check_stop();
        Pack best[A][N][P], score, v;
        if (t == 0) {
            for (std::int64_t n = 0; n < N; ++n)
                for (std::int64_t k = 0; k < P; ++k) machine::get<Real>(best[0][n][k], u[n] + k * lanes);
        } else {
            for (std::int64_t a = 0; a < A; ++a)
                for (std::int64_t n = 0; n < N; ++n)
                    for (std::int64_t k = 0; k < P; ++k) best[a][n][k] = Pack{} + none;
            const auto take = [&](std::int64_t i, Pack (&most)[N][P]) CHAFFINCH_INLINE_LAMBDA {
                for (std::int64_t n = 0; n < N; ++n) {
                    const Real value = here[n][i - S];
                    for (std::int64_t k = 0; k < P; ++k) {
                        machine::get<Real>(score, w + i * S + k * lanes);
                        score += value;
                        most[n][k] = machine::larger(score, most[n][k]);
                    }
                }
            };
            std::int64_t i = 0;
            for (; i + A <= Y; i += A)
                for (std::int64_t a = 0; a < A; ++a) take(i + a, best[a]);
            for (; i < Y; ++i) take(i, best[0]);
            for (std::int64_t n = 0; n < N; ++n)
                for (std::int64_t k = 0; k < P; ++k) {
                    for (std::int64_t a = 1; a < A; ++a) best[0][n][k] = machine::larger(best[a][n][k], best[0][n][k]);
                    machine::get<Real>(v, u[n] + k * lanes);
                    best[0][n][k] += v;
                }
        }
        for (std::int64_t n = 0; n < N; ++n) {
            Pack most = best[0][n][0];
            for (std::int64_t k = 1; k < P; ++k) most = machine::larger(best[0][n][k], most);
            const Real top = machine::largest(most);
            blocked[n] = top == none && blocked[n] < 0 ? t : blocked[n];
            for (std::int64_t k = 0; k < P; ++k) machine::put<Real>(here[n] + k * lanes, best[0][n][k] - top);
            here[n] += S, u[n] += S;
        }
    }
}

// The first of the largest scores; 0 if none is a score, which happens when sums overflow a float.
template <std::int64_t P, class Real> CHAFFINCH_INLINE std::int64_t first_best(const machine::Pack<Real> (&score)[P]) {
    using Number = machine::Flag<Real>;
    machine::Pack<Real> most = machine::Pack<Real>{} + MaxPlus<Real>::zero;
    for (std::int64_t k = 0; k < P; ++k) most = machine::larger(score[k], most);
    const Real top = machine::largest(most);
    machine::Pack<Number> first = machine::Pack<Number>{} + std::numeric_limits<Number>::max(); // of each lane
    for (std::int64_t k = P - 1; k >= 0; --k)
        first = machine::select(score[k] == top, machine::numbered<Number>() + static_cast<Number>(k * machine::lanes), first);
    return top > MaxPlus<Real>::zero ? static_cast<std::int64_t>(-machine::largest(-first)) : 0;
}

// labels[n][t] for last[n] > t >= last[n] - steps; labels[n][last[n]] is given. columns: W transposed, [Y][S].
template <std::int64_t P, std::int64_t N, class Real>
CHAFFINCH_INLINE void lockstep_trace(Lockstep<Real> p, const Real* columns, const std::int64_t* last, std::int64_t steps,
                                     std::int32_t* const* labels) {
    constexpr std::int64_t lanes = machine::lanes;
    std::int64_t c[N];
    for (std::int64_t n = 0; n < N; ++n) c[n] = labels[n][last[n]];
    for (std::int64_t s = 1; s <= steps; ++s)
        for (std::int64_t n = 0; n < N; ++n) {
            const Real *source = p[n]->alpha(last[n] - s), *column = columns + c[n] * P * lanes;
            machine::Pack<Real> score[P], w;
            for (std::int64_t k = 0; k < P; ++k) {
                machine::get<Real>(score[k], source + k * lanes), machine::get<Real>(w, column + k * lanes);
                score[k] += w;
            }
            c[n] = first_best<P, Real>(score);
            labels[n][last[n] - s] = static_cast<std::int32_t>(c[n]);
        }
}

// Calls work<P>() for rows of P packs.
template <class Work> CHAFFINCH_INLINE void by_packs(std::int64_t S, Work&& work) {
    static_assert(most_lockstep_packs == 4);
    switch (S / machine::lanes) {
    case 1: work.template operator()<1>(); break;
    case 2: work.template operator()<2>(); break;
    case 3: work.template operator()<3>(); break;
    case 4: work.template operator()<4>(); break;
    default: break;
    }
}

// The forward pass of N = 1 or 2 sentences.
template <class Real>
CHAFFINCH_INLINE void climb_in_lockstep(Lockstep<Real> p, const ChainSentence<Real>* x, std::int64_t N, std::int64_t* blocked) {
    for (std::int64_t n = 0; n < N; ++n) p[n]->lift(x[n]), p[n]->open_rows(), blocked[n] = -1;
    by_packs(p[0]->S, [&]<std::int64_t P>() CHAFFINCH_INLINE_LAMBDA {
        if (N == 1) return lockstep_forward<P, 1, Real>(p, 0, x[0].T, blocked);
        const std::int64_t both = std::min(x[0].T, x[1].T), longer = x[0].T > x[1].T ? 0 : 1;
        lockstep_forward<P, 2, Real>(p, 0, both, blocked);
        lockstep_forward<P, 1, Real>(p + longer, both, x[longer].T, blocked + longer);
    });
}

// The labels of two sentences, from the last to the first. W of the first is transposed.
template <class Real> CHAFFINCH_INLINE void trace_in_lockstep(Lockstep<Real> p, std::int32_t* const* labels) {
    by_packs(p[0]->S, [&]<std::int64_t P>() CHAFFINCH_INLINE_LAMBDA {
        const std::int64_t both = std::min(p[0]->T, p[1]->T) - 1, longer = p[0]->T > p[1]->T ? 0 : 1;
        const std::int64_t last[] = {p[0]->T - 1, p[1]->T - 1}, rest = last[longer] - both;
        for (std::int64_t n = 0; n < 2; ++n) {
            machine::Pack<Real> score[P];
            for (std::int64_t k = 0; k < P; ++k) machine::get<Real>(score[k], p[n]->alpha(last[n]) + k * machine::lanes);
            labels[n][last[n]] = static_cast<std::int32_t>(first_best<P, Real>(score));
        }
        lockstep_trace<P, 2, Real>(p, p[0]->column(0), last, both, labels);
        lockstep_trace<P, 1, Real>(p + longer, p[0]->column(0), &rest, rest, labels + longer);
    });
}

} // namespace chaffinch::structures
