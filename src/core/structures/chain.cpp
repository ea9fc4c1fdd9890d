// The max programme: Viterbi and max-marginals.
#include "chain.hpp"

#include "chain_lockstep.hpp"
#include "chain_viterbi.hpp"
#include "clones.hpp"

namespace chaffinch::structures {

namespace {

constexpr std::int64_t least_columns = 8; // positions; shorter sentences do not pay for the columns of W

template <class Real>
CHAFFINCH_INLINE std::int64_t climb(MaxProgramme<Real>& p, const ChainSentence<Real>& x, bool ends) {
    p.lift(x, ends);
    return p.forward(x);
}

// out[t][y] = max over the states with label y of alpha_t + beta_t
template <class Real>
CHAFFINCH_INLINE void read_max_marginals(MaxProgramme<Real>& p, const ChainSentence<Real>& x, double best, Real* out) {
    p.backward(
        x,
        [&](std::int64_t t, const Real* beta) __attribute__((always_inline)) {
            constexpr Real never = MaxPlus<Real>::zero;
            const Real* alpha = p.alpha(t);
            Real* row = out + t * p.Y;
            std::fill_n(row, p.Y, never);
            Real top = never;
            for (std::int64_t k = 0; k < p.width(t); k += p.S)
                for (std::int64_t y = 0; y < p.Y; ++y) {
                    const Real score = alpha[k + y] + beta[k + y];
                    row[y] = score > row[y] ? score : row[y];
                    top = score > top ? score : top;
                }
            for (std::int64_t y = 0; y < p.Y; ++y)
                row[y] = static_cast<Real>(best + static_cast<double>(row[y] - top));
        },
        [](std::int64_t, const Real*, const Real*) {});
}

} // namespace

// Plain functions, so that each can be cloned for the machine's vectors.
CHAFFINCH_HOT std::int64_t max_forward(MaxProgramme<float>& p, const ChainSentence<float>& x, bool ends) {
    return climb(p, x, ends);
}
std::int64_t max_forward(MaxProgramme<double>& p, const ChainSentence<double>& x, bool ends) { return climb(p, x, ends); }
CHAFFINCH_HOT void max_trace(MaxProgramme<float>& p, std::int64_t last, std::int32_t* labels) { trace_columns(p, last, labels); }
void max_trace(MaxProgramme<double>& p, std::int64_t last, std::int32_t* labels) { trace_columns(p, last, labels); }

using Blocks = std::int64_t*; // [N]
CHAFFINCH_HOT void max_lockstep(Lockstep<float> p, const ChainSentence<float>* x, std::int64_t N, Blocks blocked) {
    climb_in_lockstep(p, x, N, blocked);
}
CHAFFINCH_HOT void max_lockstep_trace(Lockstep<float> p, std::int32_t* const* labels) { trace_in_lockstep(p, labels); }

template <class Real> ChainViterbi<Real>::ChainViterbi() : state_(std::make_unique<State>()) {}
template <class Real> ChainViterbi<Real>::~ChainViterbi() = default;
template <class Real> ChainViterbi<Real>::ChainViterbi(ChainViterbi&&) noexcept = default;
template <class Real> ChainViterbi<Real>& ChainViterbi<Real>::operator=(ChainViterbi&&) noexcept = default;

template <class Real> void ChainViterbi<Real>::prepare(const ChainPotentials<Real>& potentials) {
    state_->programme.prepare(potentials);
    state_->potentials = potentials;
    state_->other_prepared = false;
}

template <class Real> Found ChainViterbi<Real>::operator()(const ChainSentence<Real>& x, std::int32_t* labels) {
    auto& p = state_->programme;
    Found found;
    std::int64_t blocked = 0;
    if constexpr (State::has_lockstep) {
        MaxProgramme<Real>* const one = &p;
        if (state_->narrow(x)) machine::may_throw([&] { max_lockstep(&one, &x, 1, &blocked); });
    }
    if (blocked >= 0) found.blocked = state_->climbed(x);
    if (found.blocked >= 0) return found;
    const ChainState last = best_last(p);
    if (p.second() || x.pairs || x.T < least_columns) {
        trace(p, x, x.T - 1, last, labels);
    } else {
        if (!p.is_transposed()) p.transpose();
        max_trace(p, last.c, labels);
    }
    found.value = path_score(p, x, labels);
    return found;
}

template <class Real>
void ChainViterbi<Real>::two(const ChainSentence<Real> (&x)[2], std::int32_t* const (&labels)[2], Found (&found)[2]) {
    if constexpr (State::has_lockstep) {
        State& s = *state_;
        std::int64_t blocked[2] = {0, 0};
        MaxProgramme<Real>* const p[] = {&s.programme, &s.other};
        if (s.narrow(x[0]) && s.narrow(x[1])) {
            if (!s.other_prepared) s.other.prepare(s.potentials), s.other_prepared = true;
            machine::may_throw([&] { max_lockstep(p, x, 2, blocked); });
        }
        if (blocked[0] < 0 && blocked[1] < 0) {
            if (!s.programme.is_transposed()) s.programme.transpose();
            max_lockstep_trace(p, labels);
            for (std::size_t n = 0; n < 2; ++n) found[n] = {path_score(*p[n], x[n], labels[n]), -1};
            return;
        }
    }
    for (std::size_t n = 0; n < 2; ++n) found[n] = (*this)(x[n], labels[n]);
}

template <class Real> Found ChainViterbi<Real>::max_marginals(const ChainSentence<Real>& x, Real* out) {
    auto& p = state_->programme;
    if (!p.is_transposed()) p.transpose();
    Found found;
    found.blocked = state_->climbed(x);
    if (found.blocked >= 0) return found;
    found.value = p.log_total();
    read_max_marginals(p, x, found.value, out);
    return found;
}

template class ChainViterbi<float>;
template class ChainViterbi<double>;

} // namespace chaffinch::structures
