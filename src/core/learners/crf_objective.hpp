// The penalised negative log-likelihood of a whole training set, for batch learners.
//
//   f(w)  = sum_n k_n (log Z(x_n) - s(x_n, y_n))  +  c2 |w|^2          k_n: the weight of sentence n
//   f'(w) = sum_n k_n (E_w parts - gold parts)  +  2 c2 w
//
// The gradient of the unary rows is X' delta, delta[t] = expected - gold at token t, and is gathered feature by
// feature over the tokens that have it: no thread needs a gradient of its own, and every sum runs in one order, so
// the result has the same bytes for any number of threads.
#pragma once

#include "crf.hpp"

#include <cstddef>
#include <vector>

namespace chaffinch::learners {

// The tokens of each feature, in rising order: the transpose of (ptr, ids).
struct FeatureTokens {
    std::vector<std::int64_t> ptr;    // [F+1]
    std::vector<std::int32_t> tokens; // [nnz]
    std::vector<float> values;        // [nnz] of the feature at the token; empty: all are 1
};

// values: [nnz] beside ids, or null
FeatureTokens transposed(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, std::int64_t F,
                         const float* values = nullptr);

template <class Real> class CrfObjective {
  public:
    // trainable: [size]  0: this weight is fixed and not penalised; null: all are trained.
    CrfObjective(const CrfShape& shape, const CrfData& data, double c2, const std::uint8_t* trainable,
                 std::size_t threads);

    // The value; gradient [size], overwritten.
    double operator()(const Real* w, Real* gradient);

    // The diagonal of the Fisher information of the unary weights and of the pairs, as if positions were independent:
    // sum_n k_n v^2 p (1 - p), without the penalty. diagonal [size], overwritten.
    void fisher(const Real* w, Real* diagonal);

  private:
    enum class Want { gradient, fisher };
    double sweep(const Real* w, Real* out, Want want);

    const CrfShape& shape_;
    const CrfData& data_;
    double c2_;
    const std::uint8_t* trainable_;
    std::size_t threads_;
    FeatureTokens index_;
    std::vector<std::int64_t> blocks_; // bounds in sentences
    machine::AlignedVector<Real> delta_;        // [T][S]
};

extern template class CrfObjective<float>;
extern template class CrfObjective<double>;

} // namespace chaffinch::learners
