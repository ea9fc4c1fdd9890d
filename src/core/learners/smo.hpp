// The support vector machine with a kernel, by sequential minimal optimisation.
//
//   primal   min over w, b of   |w|^2 / 2 + sum_n C_n max(0, 1 - t_n (w.phi(x_n) + b)),     t_n = +1 or -1
//   dual     max over a of      sum_n a_n - 1/2 sum_nm a_n a_m t_n t_m k(x_n, x_m),   0 <= a_n <= C_n,  sum_n t_n a_n = 0
//
// With g_n = sum_m a_m t_m k(x_m, x_n) and f_n = t_n - g_n, a is optimal if
//
//   max of f over `up` <= min of f over `low`,    up: t_n a_n may still rise,   low: t_n a_n may still fall
//
// One step takes i, the worst of `up`, and the j of `low` with the largest second-order gain (Fan, Chen and Lin 2005),
// and moves t_i a_i up and t_j a_j down by d = min((f_i - f_j) / (k_ii + k_jj - 2 k_ij), the room to the bounds).
// Examples at a bound that cannot be in a violating pair are skipped until the others are solved (shrinking, Joachims
// 1999).
#pragma once

#include "aligned.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace chaffinch::learners {

// Row n of the Gram matrix of the problem's examples, valid until two more rows have been requested. It is padded to
// whole packs; the padding is ignored.
using GramRow = std::function<const float*(std::int64_t)>;

struct SvmObjective {
    double primal = 0, dual = 0;
    double bias = 0; // b
};

class Smo {
  public:
    Smo(GramRow row, std::span<const double> diagonal, std::span<const float> t, std::span<const double> C, bool shrinking);

    // Up to `steps` steps; returns max f over up - min f over low: below the tolerance, it is done.
    double run(std::int64_t steps, double tolerance);
    SvmObjective objective();
    std::int64_t steps() const { return steps_; }
    std::span<const double> alpha() const { return {alpha_.data(), static_cast<std::size_t>(N_)}; }

  private:
    void shrink(double most, double least);
    void wake();
    void place(std::int64_t at);

    GramRow row_;
    std::int64_t N_;
    bool shrinking_;
    std::vector<double> diagonal_, t_, C_, alpha_;
    // Active examples, padded to whole packs with examples that are neither up nor low.
    std::int64_t active_ = 0, since_shrinking_ = 0;
    std::vector<std::int64_t> index_;
    machine::AlignedVector<double> f_, up_, low_; // up, low: 0 if the example is in the set, else -inf and +inf
    machine::AlignedVector<float> k_;             // diagonal
    std::vector<double> resting_f_;      // [N] stale f of the skipped examples
    std::int64_t steps_ = 0;
};

// Many problems over one Gram matrix: problem p has the examples members[ptr[p]:ptr[p+1]] with signs t.
struct SvmProblems {
    std::span<const std::int64_t> ptr;
    std::span<const std::int64_t> members;
    std::span<const float> t;
    std::span<const double> C; // of each member
};
// Each stops when no condition is violated by more than the tolerance, or its gap is below that fraction of its primal.
void solve_svms(const float* K, std::int64_t N, const SvmProblems& problems, double tolerance, double gap,
                std::int64_t most_steps, std::size_t threads,
                double* alpha,             // [members]
                SvmObjective* objectives); // [problems]

} // namespace chaffinch::learners
