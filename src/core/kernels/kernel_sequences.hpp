// Kernels of sequences of symbols (characters, words).
//
//   subsequence  K_p(s, t) = sum over common subsequences u of length p of lambda^(span in s + span in t)
//                (Lodhi et al. 2002), summed over lengths low .. high; gaps cost through the span
//   mismatch     sum over pairs of n-grams of how many n-grams lie within m changes of both (Leslie et al. 2004): a
//                function I(h) of the number h of places where the two differ
//   n-grams      counts of every n-gram, for kernels that are inner products of those (the spectrum)
//
// A row of A is run against sixteen sequences of B at a time, one in each lane.
#pragma once

#include "key_numbers.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::kernels {

struct SequenceBank {
    std::vector<std::int64_t> ptr;    // [N+1]
    std::vector<std::int32_t> symbol; // numbers of keys
    text::KeyNumbers numbers;

    SequenceBank(std::span<const std::int64_t> ptr, std::span<const std::uint64_t> keys);
    std::int64_t N() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
};

inline constexpr int longest_subsequence = 8;

// out[i][j] for sequences a[i] of A and b[j] of B; if `symmetric`, A and a are B and b.
void subsequence_gram(const SequenceBank& A, std::span<const std::int64_t> a, const SequenceBank& B,
                      std::span<const std::int64_t> b, bool symmetric, int low, int high, float lambda,
                      std::size_t threads, double* out);

void mismatch_gram(const SequenceBank& A, std::span<const std::int64_t> a, const SequenceBank& B,
                   std::span<const std::int64_t> b, bool symmetric, int n,
                   std::span<const double> shared, // [most places + 1]  I(h); zero beyond
                   std::size_t threads, double* out);

// The n-grams of each sequence, low <= n <= high: keys in rising order, each once, and how often.
struct NgramCounts {
    std::vector<std::int64_t> ptr;
    std::vector<std::uint64_t> keys;
    std::vector<float> counts;
};
NgramCounts ngram_counts(std::span<const std::int64_t> ptr, std::span<const std::uint64_t> keys, int low, int high);

} // namespace chaffinch::kernels
