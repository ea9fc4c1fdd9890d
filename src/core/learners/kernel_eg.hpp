// Exponentiated gradient on the simplex dual of the multiclass margin with a kernel, an example at a time.
//
//   F_n(y)  = sum_m beta_m(y) k(x_m, x_n),   beta_m(y) = C_m ([y = y_m] - mu_m(y)),   g_n(y) = [y != y_n] + F_n(y)
//   mu_n(y) := mu_n(y) exp(eta_n g_n(y)), normalised
//
// A step s = mu' - mu raises the dual by  C_n s.g_n - k(x_n, x_n) C_n^2 |s|^2 / 2,  which is known before the step:
// eta_n grows while this is positive and is halved otherwise.
//
// Bartlett et al. 2004, "Exponentiated gradient algorithms for large-margin structured classification".
#pragma once

#include "aligned.hpp"

#include <cstdint>
#include <span>

namespace chaffinch::learners {

struct EgProblem {
    std::span<const std::int32_t> y; // [N]  each in [0, Y)
    std::span<const double> C;       // [N]
    std::span<const double> k;       // [N]  k(x, x), above 0
    std::int64_t Y;
};

struct EgState {
    double* mu;   // [N][S], S = padded(Y), 0 beyond Y
    double* beta; // [N][S]
    double* eta;  // [N]
};

// Steps on these examples, one after the other; rows: their rows of the Gram matrix, [which][N].
void eg_steps(const EgProblem& problem, std::span<const std::int64_t> which, const float* rows, const EgState& state);

// F of `count` examples, [count][S].
void eg_scores(std::int64_t count, const float* rows, std::int64_t N, std::int64_t S, const double* beta, double* F);

} // namespace chaffinch::learners
