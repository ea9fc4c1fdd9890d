// Matchings in a bipartite graph with nulls: each of n sources is linked to one of m targets or to none, and so is each
// target. With edge[i][j] the score of a link and source[i], target[j] those of staying alone,
//
//   s(y) = sum over links (i, j) of edge[i][j] + sum over lone i of source[i] + sum over lone j of target[j]
//
// The best: shortest augmenting paths with potentials, a row at a time (Jonker and Volgenant 1987; Crouse 2016 for
// rectangular ones). The k best: Murty 1968, each solution split into problems with a row forced or forbidden.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::structures {

struct MatchingScores {
    std::int64_t n, m;
    std::span<const double> edge;   // [n][m]; -inf forbids a link
    std::span<const double> source; // [n]; -inf: this source must be linked
    std::span<const double> target; // [m]
};

inline constexpr std::int32_t alone = -1;

// links[i]: the target of source i, or alone. False: nothing is allowed.
bool best_matching(const MatchingScores& x, std::span<std::int32_t> links);

// Up to k matchings, best first, end to end in `links`; their scores in `scores`. Returns how many there are.
std::int64_t best_matchings(const MatchingScores& x, std::int64_t k, std::vector<std::int32_t>& links,
                            std::vector<double>& scores);

} // namespace chaffinch::structures
