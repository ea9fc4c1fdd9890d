// Greedy tagging with sums that round as in the tool that trained the model: from left to right, each label given the
// two before. Among equal scores the greater label wins, as in NLTK's perceptron tagger.
#pragma once

#include "ordered_sums.hpp"

#include <cstdint>
#include <span>

namespace chaffinch::search {

// Features in slots, summed slot by slot; -1: none. A label before the sentence is Y (next to it) or Y + 1.
struct GreedyContext {
    std::int64_t slots;                            // S
    std::int64_t before, before2, both, with_word; // slots of what the labels before determine
    std::span<const std::int32_t> of_before;       // [Y+2]       the feature of the label before
    std::span<const std::int32_t> of_before2;      // [Y+2]       of the label before that
    std::span<const std::int32_t> of_both;         // [Y+2][Y+2]  of the label before and the one before that
    std::span<const std::int64_t> word_ptr;        // [G+1]       rows of words: labels before, and features with them
    std::span<const std::int32_t> word_labels;
    std::span<const std::int32_t> word_features;
    std::span<const std::uint8_t> allowed;         // [Y]         labels that may be chosen
};

struct GreedyInput {
    std::span<const std::int64_t> sentences; // [N+1]
    std::span<const std::int32_t> fixed;     // [T][S]  features that do not depend on labels
    std::span<const std::int32_t> words;     // [T]     row of the word, or -1
    std::span<const std::int32_t> known;     // [T]     the label of tokens that are not searched, or -1
};

void ordered_greedy(const scorers::OrderedSums<double>& weights, const GreedyContext& context, const GreedyInput& x,
                    std::size_t threads,
                    std::int32_t* labels, // [T]
                    double* scores);      // [T][Y], or null; those of known tokens are 0

} // namespace chaffinch::search
