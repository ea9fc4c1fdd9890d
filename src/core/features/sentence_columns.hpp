// Columns that depend on the whole sentence or document: brackets, counts so far, runs of capitals, phrases.
#pragma once

#include "elsewhere.hpp"
#include "extraction.hpp"
#include "interner.hpp"
#include "phrases.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chaffinch::features {

enum class SentenceFunction : std::uint8_t {
    bos,              // the first token
    eos,              // the last
    brackets,         // inside brackets or not
    commas,           // commas before the token: 0 1 2 3+
    numbers,          // numbers before the token
    position,         // tokens before it, in buckets
    remaining,        // tokens after it, in buckets
    sentence_length,  // in buckets
    mostly_capitals,  // more than half of the sentence's words have no lower-case letter
    first_word,       // value of `argument` at the first token
    last_word,        // at the last token
    last_punctuation, // of `argument` at the nearest token before that has one
    last_preposition,
    seen,         // which trigger words stand before the token
    run_length,   // of the run of capitalised words it stands in: 0 1 2 3 4+
    run_place,    // its place in the run: 0 1 2 3+
    run,          // the run itself
    quoted,       // between quotation marks
    elsewhere,    // whether its word also occurs capitalised, or lower-cased, elsewhere in the document
    // For a capitalised word that also occurs capitalised elsewhere in the document:
    elsewhere_before, // value of `argument` before the run of the nearest such occurrence
    elsewhere_after,  // after it
    elsewhere_run,    // its place in the longest run among them, and the run's length
    elsewhere_first,  // value of `argument` at the first word of that run
    phrases,      // B or I of the longest listed phrase, with the lists it is on
    phrases_list, // the same for the one list `argument`
};

// Whether a function reads a word column, its argument.
constexpr bool reads_column(SentenceFunction f) {
    using enum SentenceFunction;
    return f == first_word || f == last_word || f == last_punctuation || f == last_preposition ||
           f == elsewhere_before || f == elsewhere_after || f == elsewhere_first;
}

// Whether a function reads the other uses of a word in its document.
constexpr bool looks_elsewhere(SentenceFunction f) {
    using enum SentenceFunction;
    return f == elsewhere || f == elsewhere_before || f == elsewhere_after || f == elsewhere_run || f == elsewhere_first;
}

struct SentenceColumn {
    SentenceFunction function;
    std::int32_t argument = -1; // a word column, or a list of phrases
};

// What the functions read, besides the columns of the frame.
struct Sentences {
    std::span<const std::uint32_t> traits;    // [T] of the frame's tokens
    const Elsewhere *elsewhere = nullptr;     // if a function reads it
    std::span<const std::int32_t> phrase_ids; // [T], or empty: words of the phrases
    const Phrases *phrases = nullptr;
    std::span<const Phrases::Lists> combinations;
    std::span<const std::int32_t> words; // [T] ids into strings
    const text::Interner *strings = nullptr;
    const text::Interner *runs = nullptr; // the runs that have ids
};

// Fills column c of the frame. n_argument: values of the argument's column, whose "none so far" follows them.
void fill_sentence_column(std::size_t c, const SentenceColumn &column, std::int32_t n_argument,
                          const Sentences &input, Frame &frame);

// The fixed values of a function, in order of id; empty if they come from a column or from the text.
std::vector<std::string> fixed_values(SentenceFunction function, std::span<const std::string> triggers,
                                      std::span<const std::string> lists,
                                      std::span<const Phrases::Lists> combinations);

// Gives an id to the text of every run of capitalised words.
void intern_runs(std::span<const std::int64_t> ptr, std::span<const std::int32_t> words,
                 std::span<const std::uint32_t> traits, const text::Interner &strings, text::Interner &runs);

} // namespace chaffinch::features
