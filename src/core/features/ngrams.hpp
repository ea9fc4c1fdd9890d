// Counting n-grams of symbols exactly, level by level: the n-gram at a position is the node of its first n-1
// symbols and one more symbol, 64 bits that identify it. No string is built, and no key can collide.
#pragma once

#include "tokenise.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::features {

// Rows of features: row n is ids[ptr[n] .. ptr[n+1]], rising, each with how often it occurs.
struct NGramRows {
    std::vector<std::int64_t> ptr; // [N+1]
    std::vector<std::int32_t> ids; // [nnz]
    std::vector<float> values;     // [nnz], or empty if only presence was requested
};

// Which n-grams are features.
struct NGramRule {
    std::int32_t low, high;              // shortest and longest n
    std::int64_t least, most;            // in at least and at most this many documents
    std::span<const std::uint8_t> stops; // [types] 1 for stop words: n-grams of nothing else are no features
    std::int32_t pad;                    // symbol around words, or -1: "pad ... pad" counts at any length
    bool presence = false;               // rows say which features a document has, not how often
};

// Nodes 0 .. S-1 are the symbols, node S+k is the n-gram of node parents[k] and then symbol lasts[k].
struct Trie {
    std::vector<std::int32_t> symbols;  // [S]   which type each symbol is
    std::vector<std::int32_t> parents;  // [K]   below S+k
    std::vector<std::int32_t> lasts;    // [K]   below S
    std::vector<std::int32_t> features; // [S+K] feature of each node, or -1
};

struct CountedNGrams {
    Trie trie;
    std::vector<std::int64_t> totals;    // [F] occurrences; features are numbered by falling total, then by n,
    std::vector<std::int32_t> documents; // [F] documents that hold it;  then by first sight
    NGramRows rows;
};

// Consumes the blocks of the symbols to free their memory; their types stay.
CountedNGrams count_ngrams(text::Symbols& symbols, const NGramRule& rule, std::size_t threads);

// A 64-bit mix of a node and a symbol.
inline std::uint64_t mix(std::uint64_t node, std::uint64_t symbol) {
    std::uint64_t h = (node * 0x9e3779b97f4a7c15ULL) ^ (symbol + 0x632be59bd9b4e019ULL) * 0xd6e8feb86659fd93ULL;
    h = (h ^ (h >> 32)) * 0xe7037ed1a0b428dbULL;
    return h ^ (h >> 29);
}

} // namespace chaffinch::features
