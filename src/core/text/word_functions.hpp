// Functions of one word that become columns: lower case, shapes, affixes, capitalisation, folded numbers.
#pragma once

#include "code_points.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chaffinch::text {

enum class WordFunction : std::uint8_t {
    identity,
    lower,
    shape,       // Xxxx -> Xx, 1,200 -> d,d: runs squeezed
    long_shape,  // Xxxx, d,ddd
    prefix,      // the first `parameter` code points, if the word is long enough
    suffix,      // the last ones
    caps,        // lower, initial, upper, mixed or none, and what else is in the word
    digit,       // "all" or "some"
    hyphen,      // "yes" inside a word
    fold,        // lower-cased, each run of digits written 0
    length,      // code points, in buckets
    punctuation, // lower-cased, of punctuation only
    preposition, // lower-cased, of prepositions only
    bit,         // "1" if bit `parameter`, from the left, of a word of hexadecimal digits is set
    cluster,     // the first `parameter` bits of its cluster's path (0: all of them)
    external,    // computed elsewhere
};

// What sentence columns ask of a word, as bits.
enum Trait : std::uint32_t {
    opens_bracket = 1u << 0,
    closes_bracket = 1u << 1,
    is_comma = 1u << 2,
    is_number = 1u << 3,
    is_punctuation = 1u << 4,
    is_preposition = 1u << 5,
    is_capitalised = 1u << 6,
    is_lower = 1u << 7,
    is_upper = 1u << 8,
    opens_quote = 1u << 9,
    closes_quote = 1u << 10, // a straight quotation mark does both
    trigger = 1u << 16, // and the 15 bits above: which of the trigger words it is
};

// A word taken apart once, for all functions; the buffers are reused from word to word.
class Word {
  public:
    // `lower` is only looked at for words beyond ASCII; ASCII is lowered here. `text` must outlive the use.
    void read(std::string_view text, std::string_view lower, CodePoints &points);

    std::string_view text() const { return text_; }
    std::string_view lower() const { return lower_; }

    // Writes the value to out; false if the word has none.
    bool value(WordFunction function, std::int32_t parameter, std::string &out) const;

    // All traits but prepositions and triggers, which are word lists.
    std::uint32_t traits() const;

  private:
    void caps(std::string &out) const;
    bool has(char c) const { return text_.find(c) != std::string_view::npos; }

    std::string_view text_;
    std::string lower_;
    std::vector<std::uint32_t> starts_;                                // [code points + 1] bytes
    std::vector<Kind> kinds_;                                          // [code points]
    std::uint32_t uppers_ = 0, lowers_ = 0, digits_ = 0, letters_ = 0; // letters of any kind
};

bool is_ascii(std::string_view text);

} // namespace chaffinch::text
