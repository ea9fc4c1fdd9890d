// Text to symbols: UTF-8 documents cut into words or characters, each distinct one kept once.
#pragma once

#include "interner.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace chaffinch::text {

// What a code point is to a tokeniser; the caller brings the table, so that it agrees with the caller's Unicode.
enum CharKind : std::uint8_t { mark_char = 0, word_char = 1, space_char = 2 };

constexpr std::size_t ascii_points = 0x80;
constexpr std::size_t code_points = 0x110000;

struct TokenRule {
    std::span<const std::uint8_t> kinds; // [ascii_points or code_points] CharKind of each code point
    std::int32_t shortest;               // fewest characters of a word that is kept
    bool marks;                          // each mark is a token of its own
    bool lower;                          // lower-case ASCII letters (other letters: before the text comes here)
};

enum class Cut {
    words,          // symbols are words; one segment per document
    chars,          // symbols are characters, runs of white space are one space; one segment per document
    chars_in_words, // symbols are characters; one segment per word, with a space at either end
};

// Part of the documents, in order.
struct SymbolBlock {
    std::vector<std::int32_t> ids;        // [positions]   symbol at each position
    std::vector<std::uint32_t> segments;  // [segments+1]  bounds into ids; no n-gram crosses one
    std::vector<std::uint32_t> documents; // [documents+1] bounds into segments
};

// Documents as sequences of symbols, in blocks whose bounds depend on the texts alone.
struct Symbols {
    Interner types; // in order of first sight
    std::vector<SymbolBlock> blocks;
};

// texts: valid UTF-8; ASCII only if rule.kinds has ascii_points entries. Threads: 0 for all cores.
Symbols symbols_of(std::span<const std::string_view> texts, Cut cut, TokenRule rule, std::size_t threads);

// Documents as symbols of a frozen table: Interner::absent stands for what it does not hold.
SymbolBlock known_symbols(std::span<const std::string_view> texts, Cut cut, const TokenRule& rule, const Interner& types);

// Bounds of runs of texts that hold about block_bytes each.
std::vector<std::size_t> block_bounds(std::span<const std::string_view> texts, std::size_t block_bytes);

// Each id replaced by that of its new name: several types may share one (stems). names: [types]
void rename_types(Symbols& symbols, std::span<const std::string_view> names, std::size_t threads);

// Where the words of one text are, in code points: appends starts and ends (exclusive).
void word_offsets(std::string_view text, TokenRule rule, std::vector<std::int64_t>& starts,
                  std::vector<std::int64_t>& ends);

} // namespace chaffinch::text
