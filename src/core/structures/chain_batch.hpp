// Many sentences in one call, over threads. Sentences are cut into blocks that do not depend on the number of threads,
// and sums over sentences are reduced in block order: the same bytes out for any thread count.
#pragma once

#include "chain.hpp"

#include <cstdint>
#include <span>

namespace chaffinch::structures {

template <class Real> struct ChainBatch {
    ChainPotentials<Real> shared;
    std::span<const std::int64_t> bounds;  // [N+1]  sentence n is rows bounds[n] .. bounds[n+1]; may be empty
    const Real* unary = nullptr;           // [total][stride]
    std::int64_t stride = 0;
    const std::uint8_t* allowed = nullptr; // [total][Y]
    const Real* pairs = nullptr;           // [total - sentences that are not empty][Y][Y], sentence after sentence
};

// The first sentence that has no allowed labelling (position as in Found), or -1.
struct Blocked {
    std::int64_t sentence = -1, position = -1;
};

template <class Real>
Blocked viterbi_batch(const ChainBatch<Real>& batch, std::size_t threads,
                      std::int32_t* labels, // [total]
                      double* scores);      // [N]

template <class Real>
Blocked kbest_batch(const ChainBatch<Real>& batch, std::int64_t k, std::size_t threads,
                    std::int32_t* labels,  // [k total]  sentence n at k bounds[n], its paths [k][T]
                    double* scores,        // [N][k]
                    std::int64_t* counts); // [N]  how many of the k exist

// unary and pairs of `out` are rows of the whole batch; pair, triple, first and last are summed over it.
template <class Real>
Blocked marginals_batch(const ChainBatch<Real>& batch, std::size_t threads, const ChainExpectations<Real>& out,
                        double* log_z); // [N]

template <class Real>
Blocked log_z_batch(const ChainBatch<Real>& batch, std::size_t threads, double* log_z); // [N]

template <class Real>
Blocked max_marginals_batch(const ChainBatch<Real>& batch, std::size_t threads, Real* out); // [total][Y]

template <class Real>
Blocked sample_batch(const ChainBatch<Real>& batch, std::int64_t n, std::uint64_t seed, std::size_t threads,
                     std::int32_t* labels); // [n total]  as in kbest_batch

} // namespace chaffinch::structures
