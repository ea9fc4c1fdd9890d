// Fertile matchings: each of n sources and m targets has two places, and the best answer is a matching of places.
//
//   first link     takes the first place of i and of j       edge[i][j]
//   more_source    the second of i, the first of j           more_source[i][j]
//   more_target    the first of i, the second of j           more_target[i][j]
//
// and a first place that stays empty scores source[i] or target[j]. The parts of a pair of sentences are these five
// blocks end to end, in this order: P = 3 n m + n + m.
#pragma once

#include "assignment.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::structures {

inline std::int64_t fertile_parts(std::int64_t n, std::int64_t m) { return 3 * n * m + n + m; }

// The places as an assignment problem of 2n sources and 2m targets.
class FertilePlaces {
  public:
    void set(std::int64_t n, std::int64_t m, std::span<const double> parts); // [P]
    MatchingScores scores() const { return {2 * n_, 2 * m_, edge_, source_, target_}; }

    // The part of a link between two places.
    std::int64_t part(std::int64_t row, std::int64_t column) const {
        const std::int64_t kind = row >= n_ ? 1 : column >= m_ ? 2 : 0;
        return (kind * n_ + row % n_) * m_ + column % m_;
    }

  private:
    std::int64_t n_ = 0, m_ = 0;
    std::vector<double> edge_, source_, target_;
};

} // namespace chaffinch::structures
