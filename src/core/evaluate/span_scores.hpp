// Counts spans in two label sequences under rules given as tables: the conventions are data.
#pragma once

#include "sentence_counts.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::evaluate {

// The part of a tag that says where in a span it is: B I O E S U L . [ ] and "any other".
inline constexpr std::size_t tag_prefixes = 11;
inline constexpr std::uint8_t outside_prefix = 2;

struct Tag {
    std::uint8_t prefix;
    std::int32_t type;
};

// What a pair of neighbouring tags means, by prefix before, prefix here, and whether their types are equal.
struct SpanRules {
    static constexpr std::uint8_t starts = 1, ends = 2, inside = 4;
    std::span<const std::uint8_t> cells; // [prefixes][prefixes][2] bits of the three above
    // Loose: a span ends wherever the table says so. Otherwise it ends only if it started and never left the inside.
    bool loose;
    // conlleval counts a span at its start and marks it correct at its end, while streaming.
    bool streamed;
    std::int32_t boundary_type; // the type of the O between sentences
    std::int32_t first_type;    // and of the O before the first one
};

struct SpanTable {
    std::vector<std::int32_t> sentence; // [spans]
    std::vector<std::int64_t> begin;    // [spans] token index
    std::vector<std::int64_t> end;      // [spans] token index, exclusive
    std::vector<std::int32_t> type;     // [spans]
};

// Columns of the counts: tokens, tokens right, sentences, sentences right, then spans whatever their type
// (gold, predicted, right), then the same three for each type.
inline constexpr std::int32_t typed_columns_from = 7;

// The counts of each sentence, y gold and y_hat predicted.
SentenceCounts tag_counts(std::span<const std::int32_t> y,     // [tokens] label ids
                          std::span<const std::int32_t> y_hat, // [tokens]
                          std::span<const std::int64_t> ptr,   // [N+1] sentence bounds
                          std::span<const Tag> tags,           // [labels]; empty: no spans are counted
                          std::int32_t types, const SpanRules& rules);

// The same summed over all sentences, without a row for each.
std::vector<std::int64_t> tag_totals(std::span<const std::int32_t> y, std::span<const std::int32_t> y_hat,
                                     std::span<const std::int64_t> ptr, std::span<const Tag> tags,
                                     std::int32_t types, const SpanRules& rules);

// The spans of one sequence.
SpanTable spans_of(std::span<const std::int32_t> y, std::span<const std::int64_t> ptr, std::span<const Tag> tags,
                   const SpanRules& rules);

} // namespace chaffinch::evaluate
