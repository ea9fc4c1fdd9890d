// A sentence cut into labelled segments of at most L positions: a semi-Markov chain (Sarawagi and Cohen 2004).
//
//   s(y) = sum over segments (t, l, y) of segment[t][l-1][y] + sum over neighbours of pair[y'][y] + start[y_1] + end[y_n]
//
//   in[s][y]    = (+)_y' alpha[s][y'] (x) pair[y'][y],   in[0] = start       the weight of what ends before s, y next
//   alpha[e][y] = (+)_l  in[e-l][y] (x) segment[e-l][l-1][y]
//   out[s][y]   = (+)_l  segment[s][l-1][y] (x) beta[s+l][y]
//   beta[s][y'] = (+)_y  pair[y'][y] (x) out[s][y],      beta[T] = end
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::structures {

struct SegmentScores {
    std::int64_t T, L, Y;
    std::span<const double> segment; // [T][L][Y]; -inf forbids
    std::span<const double> pair;    // [Y][Y]
    std::span<const double> start;   // [Y]
    std::span<const double> end;     // [Y]
};

struct Segment {
    std::int32_t start, length, label;
};

// The k best, end to end; bounds[r] is where answer r ends. Ties: the last segment with the smaller label, then the
// shorter one, then the same for the segment before. Fewer if fewer exist.
void best_segments(const SegmentScores& x, std::int64_t k, std::vector<Segment>& segments,
                   std::vector<std::int64_t>& bounds, std::vector<double>& scores);

// log Z, -inf if nothing is allowed; the marginals of every part, overwritten.
double sum_segments(const SegmentScores& x, std::span<double> segment, std::span<double> pair, std::span<double> start,
                    std::span<double> end);

} // namespace chaffinch::structures
