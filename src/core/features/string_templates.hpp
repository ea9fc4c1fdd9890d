// Templates that expand to strings, and a dictionary of the strings that have weights: features as CRF++ and Wapiti
// define them.
//
//   template   a sequence of pieces: literal text, or a column of the token at an offset
//   feature    the number in the dictionary of the pieces' texts, end to end
//
// No string is built. A polynomial hash of texts end to end follows from the hashes of the texts,
//
//   hash(ab) = hash(a) * base^|b| + hash(b)   (mod 2^64)
//
// and a string of the dictionary with this hash is compared piece by piece.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace chaffinch::features {

// A text with its hash. Both tools use C strings: text after a NUL is not part of the feature; `cut` marks this.
struct HashedText {
    std::string_view text;
    std::uint64_t hash = 0;
    std::uint64_t power = 1; // base^|text|
    bool cut = false;
};

HashedText hashed(std::string_view text);

struct TemplatePiece {
    enum Place : std::int32_t { literal = 0, relative = 1, from_start = 2, from_end = 3 };
    std::int32_t place = literal;
    std::int32_t index = 0;  // of the literal, or of the column
    std::int32_t offset = 0; // relative: from the token; from_start: from the first token; from_end: from the last
};

// One column of a table: the strings of E positions before the sentence, nearest first, of E positions after it, nearest
// first, then those of the tokens.
struct StringColumn {
    std::vector<HashedText> values;    // [2E + types]
    std::span<const std::int32_t> ids; // [tokens]
};

// Rows of features of all tokens: for their labels, and for pairs of labels; the first token of a sentence has none of
// the latter.
struct StringRows {
    std::vector<std::int64_t> ptr, pair_ptr;
    std::vector<std::int32_t> ids, pair_ids;
};

class StringTemplates {
  public:
    enum Kind : std::uint8_t { unary = 1, pair = 2, both = 3 };
    static constexpr std::int32_t absent = -1;

    // keys: distinct; bounds: of each template in pieces; edges: E >= 1
    StringTemplates(std::vector<char> bytes, std::vector<std::int64_t> key_bounds, std::vector<char> literals,
                    std::vector<std::int64_t> literal_bounds, std::vector<TemplatePiece> pieces,
                    std::vector<std::int64_t> bounds, std::vector<std::uint8_t> kinds, std::int32_t edges);
    StringTemplates(const StringTemplates&) = delete;
    StringTemplates& operator=(const StringTemplates&) = delete;

    std::int64_t size() const { return static_cast<std::int64_t>(key_bounds_.size()) - 1; }
    std::int32_t edges() const { return edges_; }
    std::string_view key(std::int64_t k) const {
        return {bytes_.data() + key_bounds_[k], static_cast<std::size_t>(key_bounds_[k + 1] - key_bounds_[k])};
    }

    // One more than the last column that a piece reads.
    std::int64_t columns() const {
        std::int64_t most = 0;
        for (const TemplatePiece& p : pieces_)
            if (p.place != TemplatePiece::literal) most = std::max<std::int64_t>(most, p.index + std::int64_t{1});
        return most;
    }

    StringRows rows(std::span<const std::int64_t> sentences, std::span<const StringColumn> columns,
                    std::size_t threads) const;

  private:
    using Pieces = std::span<const HashedText* const>;
    struct Position {
        std::int64_t first, t, T; // token t of the sentence of T tokens that begins at token `first`
    };
    std::int32_t find(Pieces pieces, std::uint64_t hash) const;
    std::int64_t value(const TemplatePiece& piece, Position here, std::span<const std::int32_t> ids) const;
    std::int32_t feature(std::int64_t number, std::int64_t first, std::int64_t t, std::int64_t T,
                         std::span<const StringColumn> columns, std::vector<const HashedText*>& texts) const;

    struct Slot {
        std::uint32_t tag = 0;
        std::int32_t key = absent;
    };

    std::vector<char> bytes_;
    std::vector<std::int64_t> key_bounds_;
    std::vector<char> literal_bytes_;
    std::vector<HashedText> literals_;
    std::vector<TemplatePiece> pieces_;
    std::vector<std::int64_t> bounds_;
    std::vector<std::uint8_t> kinds_;
    std::int32_t edges_;
    std::vector<Slot> slots_; // [power of two] linear probing, at most half full
};

} // namespace chaffinch::features
