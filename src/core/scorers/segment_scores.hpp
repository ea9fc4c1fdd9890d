// Scores of segments from the features of their tokens, by place, and from the features of the whole span.
//
//   segment[t][l-1][y] = sum over k < l of place(y, k, l) at t + k  +  sum over the features g of the span of  span[g][y]
//
// Label 0 is for tokens outside: its segments have length 1 and its place is 0. A segment of another label y has places
// as in BIOES: alone, first, inside, last, at 1 + 4 (y - 1). So a model without span features is a chain over BIOES tags
// whose pairs of labels are those of whole segments.
#pragma once

#include "aligned.hpp"
#include "segments.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::scorers {

enum Place : std::int64_t { alone, first, inside, last };

struct SegmentShape {
    std::int64_t F, G;                // features of tokens, of spans
    std::int64_t Y, L;                // labels, longest segment
    std::span<const std::int32_t> longest; // [Y] of each label, at most L; 1 for label 0

    std::int64_t places() const { return 1 + 4 * (Y - 1); }
    std::int64_t S() const { return padded_places_; } // stride of a row of places
    std::int64_t Z() const { return padded_labels_; } // stride of a row of labels
    static std::int64_t place(std::int64_t y, std::int64_t k, std::int64_t length) {
        if (y == 0) return 0;
        return 1 + 4 * (y - 1) + (length == 1 ? alone : k == 0 ? first : k == length - 1 ? last : inside);
    }
    // Blocks of the flat weights: token [F][S], span [G][Z], pair [Y][Z], start [Z], end [Z].
    std::int64_t span_at() const { return F * S(); }
    std::int64_t pair_at() const { return span_at() + G * Z(); }
    std::int64_t start_at() const { return pair_at() + Y * Z(); }
    std::int64_t end_at() const { return start_at() + Z(); }
    std::int64_t size() const { return end_at() + Z(); }

    SegmentShape(std::int64_t F, std::int64_t G, std::int64_t L, std::span<const std::int32_t> longest);

  private:
    std::int64_t padded_places_, padded_labels_;
};

// Sentences end to end. Span (t, l) is row t L + l - 1; rows that reach past a sentence's end are empty.
struct SegmentRows {
    std::span<const std::int64_t> sentences;            // [N+1] bounds in tokens
    std::span<const std::int64_t> token_ptr, span_ptr;  // [T+1], [T L + 1]
    std::span<const std::int32_t> token_ids, span_ids;
    const float* token_values = nullptr; // of the features of tokens; null: all are 1
};

// Room for one sentence.
struct SegmentWorkspace {
    machine::AlignedVector<float> places;  // [T][S] scores of tokens by place
    machine::AlignedVector<float> spans;   // [T L][Z]
    machine::AlignedVector<double> summed; // [T+1][Y] running sums of the place inside
    std::vector<double> segment, pair, start, end;
    structures::SegmentScores view;
};

// The scores of sentence n under scale * w. cost: [T][S] added to the places; or null.
void score_segments(const SegmentShape& shape, const SegmentRows& rows, std::int64_t n, const float* w, float scale,
                    const float* cost, SegmentWorkspace& out);

} // namespace chaffinch::scorers
