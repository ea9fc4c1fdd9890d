// The linear chain, first and second order: labels y_0 .. y_{T-1} scored by
//
//   s(y) = sum_t unary[t][y_t]  + start[y_0] + end[y_{T-1}]
//        + sum_{t>=1} pair[y_{t-1}][y_t] + pairs[t-1][y_{t-1}][y_t]                             first order
//        + sum_{t>=2} triple[y_{t-2}][y_{t-1}][y_t] + first[y_0][y_1] + last[y_{T-2}][y_{T-1}]  second order
//
// For kernels that call it once per sentence: make one object per thread, `prepare` it when pair, start or end have
// changed, then call it for each sentence. Nothing is allocated once the longest sentence has been seen.
//
//   ChainPotentials<float> p{.Y = Y, .pair = pair, .pair_stride = S, .start = start, .end = end};
//
//   ChainViterbi<float> viterbi;
//   viterbi.prepare(p);
//   Found best = viterbi({.unary = scores, .T = T, .stride = S}, labels);         // labels: int32 [T]
//
//   ChainMarginals<float> marginals;
//   marginals.prepare(p);
//   Found z = marginals({.unary = scores, .T = T, .stride = S},                   // z.value is log Z
//                       {.unary = gamma, .unary_stride = S,                       // [T][S] overwritten
//                        .pair = expected, .pair_stride = S});                    // [Y][S] added to
//
// The gradient of log Z for start and end is the first and the last row of gamma. Found.blocked >= 0 says that no
// labelling is allowed: the first position that cannot be reached, or T if the sequence cannot end; outputs are
// then untouched. Rows of w and of scores best have stride S = padded(Y); any stride >= Y works.
//
// A mask or a potential of -inf forbids; +inf and NaN must not occur. Ties: of all best labellings, the one whose
// reading from the last label to the first is smallest (final label first, then each label before it).
#pragma once

#include "aligned.hpp"
#include "random.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace chaffinch::structures {

// The potentials that do not depend on the position. A null pointer: absent. The arrays must not change before the next
// prepare(): sentences whose potentials have a very wide range are summed by a second or third programme, made when
// first needed.
template <class Real> struct ChainPotentials {
    std::int64_t Y = 0;
    int order = 1;
    const Real* pair = nullptr; // [Y][pair_stride]  previous label, label
    std::int64_t pair_stride = 0;
    const Real* start = nullptr;                 // [Y]
    const Real* end = nullptr;                   // [Y]
    const std::uint8_t* transitions = nullptr;   // [Y][Y]  0: forbidden
    const std::uint8_t* start_allowed = nullptr; // [Y]
    const std::uint8_t* end_allowed = nullptr;   // [Y]
    const Real* triple = nullptr;                // [Y][Y][Y]  order 2
    const Real* first = nullptr;                 // [Y][Y]     order 2, on (y_0, y_1)
    const Real* last = nullptr;                  // [Y][Y]     order 2, on (y_{T-2}, y_{T-1})
};

// One sentence, T >= 1.
template <class Real> struct ChainSentence {
    const Real* unary = nullptr; // [T][stride]
    std::int64_t T = 0;
    std::int64_t stride = 0;
    const std::uint8_t* allowed = nullptr; // [T][Y]  0: forbidden at this position
    const Real* pairs = nullptr;           // [T-1][Y][Y]  order 1: added to pair
};

struct Found {
    double value = 0;          // the best score, or log Z
    std::int64_t blocked = -1; // first position that no allowed labelling reaches; T: none may end there; -1: none
};

// Where expectations go. A null pointer: not wanted.
template <class Real> struct ChainExpectations {
    Real* unary = nullptr; // [T][unary_stride]  overwritten (first Y of each row)
    std::int64_t unary_stride = 0;
    Real* pair = nullptr; // [Y][pair_stride]   added to: sum over t of p(y_{t-1}, y_t)
    std::int64_t pair_stride = 0;
    Real* pairs = nullptr;  // [T-1][Y][Y]        overwritten
    Real* triple = nullptr; // [Y][Y][Y]          added to; order 2
    Real* first = nullptr;  // [Y][Y]             added to; order 2
    Real* last = nullptr;   // [Y][Y]             added to; order 2
};

template <class Real> class ChainViterbi {
  public:
    ChainViterbi();
    ~ChainViterbi();
    ChainViterbi(ChainViterbi&&) noexcept;
    ChainViterbi& operator=(ChainViterbi&&) noexcept;

    void prepare(const ChainPotentials<Real>& potentials);
    Found operator()(const ChainSentence<Real>& x, std::int32_t* labels); // labels [T]

    // Two sentences at once, with the same answers in less time.
    void two(const ChainSentence<Real> (&x)[2], std::int32_t* const (&labels)[2], Found (&found)[2]);

    // The k best labellings, best first; equal scores in the order of ties above. Returns how many there are
    // (at most k); a blocked sentence has none. labels [k][T], scores [k].
    std::int64_t best(const ChainSentence<Real>& x, std::int64_t k, std::int32_t* labels, double* scores,
                      std::int64_t& blocked);

    // out[t][y] = the best score of all labellings with y at t (-inf if there is none). out [T][Y]
    Found max_marginals(const ChainSentence<Real>& x, Real* out);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

template <class Real> class ChainMarginals {
  public:
    ChainMarginals();
    ~ChainMarginals();
    ChainMarginals(ChainMarginals&&) noexcept;
    ChainMarginals& operator=(ChainMarginals&&) noexcept;

    void prepare(const ChainPotentials<Real>& potentials);
    Found operator()(const ChainSentence<Real>& x, const ChainExpectations<Real>& out);
    Found log_z(const ChainSentence<Real>& x); // the forward half alone

    // n labellings drawn from p(y) = exp(s(y) - log Z). labels [n][T]
    Found sample(const ChainSentence<Real>& x, std::int64_t n, machine::Random& random, std::int32_t* labels);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

extern template class ChainViterbi<float>;
extern template class ChainViterbi<double>;
extern template class ChainMarginals<float>;
extern template class ChainMarginals<double>;

} // namespace chaffinch::structures
