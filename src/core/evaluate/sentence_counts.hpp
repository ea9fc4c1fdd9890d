// Counts per sentence in sparse rows, and their sums over resampled sentences: every score of a test set is a
// function of such sums, so intervals and paired tests need nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::evaluate {

struct SentenceCounts {
    std::vector<std::int64_t> ptr{0};  // [N+1] row bounds
    std::vector<std::int32_t> columns; // [nnz]
    std::vector<std::int32_t> values;  // [nnz]
};

struct CountRows {
    std::span<const std::int64_t> ptr;
    std::span<const std::int32_t> columns;
    std::span<const std::int32_t> values;
};

// How often a sentence enters a sample: N draws with replacement, or once by the toss of a coin.
enum class Draw { bootstrap, coin };

// sums[r] = sum over the sentences n of  times(r, n) * row n;  the same bytes for any number of threads.
void resampled_sums(const CountRows& rows, std::int64_t K, Draw draw, std::uint64_t seed, std::size_t threads,
                    std::span<std::int64_t> sums); // [R][K] overwritten

} // namespace chaffinch::evaluate
