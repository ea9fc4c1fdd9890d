// The other uses of a word in its document: their capitalisation, and the runs of capitalised words around them.
#pragma once

#include "word_functions.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::features {

// Calls take(first, last) for every run of capitalised words, last exclusive.
template <class Take> void each_run(std::span<const std::uint32_t> traits, Take take) {
    const std::size_t T = traits.size();
    for (std::size_t t = 0; t < T; ++t) {
        if (!(traits[t] & text::is_capitalised)) continue;
        const std::size_t first = t;
        while (t < T && (traits[t] & text::is_capitalised)) ++t;
        take(first, t);
    }
}

// A run of capitalised words, last exclusive, and the tokens around it; -1 at the sentence's edges.
struct CapitalRun {
    std::int32_t first, last, before, after;
};

struct Elsewhere {
    // Whether the word occurs at another token of the document capitalised (not first in its sentence) = 0, only
    // lower-cased = 1, both = 2, neither = -1.
    std::vector<std::int8_t> cases; // [T]

    // Of a capitalised word, the other token that has it capitalised: the one of the nearest sentence, and the first one
    // of those in the longest runs. -1: none.
    std::vector<std::int32_t> nearest, longest; // [T]

    std::vector<CapitalRun> runs;
    std::vector<std::int32_t> run_of; // [T]  -1 outside
};

// groups [N]: sentences of equal number in a row are one document; empty: each sentence is.
Elsewhere find_elsewhere(std::span<const std::int64_t> ptr, std::span<const std::int32_t> lower,
                         std::span<const std::uint32_t> traits, std::span<const std::int32_t> groups);

} // namespace chaffinch::features
