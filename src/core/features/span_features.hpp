// Features of spans: the values at their ends, beside and inside them, and their length.
#pragma once

#include "key_table.hpp"
#include "tree.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::features {

// One look at a span [i, j) of a sentence.
struct SpanAtom {
    enum Kind : std::int32_t {
        first,    // the column's value at i + offset
        last,     // at j - 1 + offset
        length,   // j - i, in buckets
        sequence, // all values of the column, if there are at most `offset`
        inside,   // each value of the column in the span, one feature each (numbers modulo 64); stands alone
    };
    Kind kind;
    std::int32_t column, offset;
};

// A sentence's columns of ids: column c of word t is columns[c][t]; positions outside the sentence and negative ids
// count as 0.
struct SpanColumns {
    std::vector<const std::int32_t*> columns;
    std::int64_t T;
};

// Templates, and the ids that their features have. Keys are 64-bit hashes: two features share one id with a chance of
// about n^2 / 2^65.
class SpanFeatures {
  public:
    // templates: atoms of template m are atoms[ptr[m]] .. atoms[ptr[m + 1]]
    SpanFeatures(std::vector<SpanAtom> atoms, std::vector<std::int64_t> ptr)
        : atoms_(std::move(atoms)), ptr_(std::move(ptr)) {}

    std::int64_t size() const { return static_cast<std::int64_t>(keys_.size()); }
    const std::vector<std::uint64_t>& keys() const { return keys_; }

    // Counts the features of one span; freeze keeps the frequent ones.
    void count(const SpanColumns& x, std::int64_t i, std::int64_t j);
    void freeze(std::int32_t least);
    // Sets these keys as features 0, 1 ..; false if a key occurs twice.
    bool restore(std::vector<std::uint64_t> keys);

    // Appends the ids of every span that is open (or one word long) and the bounds of its row: S more than before.
    void extract(const SpanColumns& x, const std::uint8_t* open, std::vector<std::int64_t>& ptr,
                 std::vector<std::int32_t>& ids) const;

  private:
    template <class Take> void each(const SpanColumns& x, std::int64_t i, std::int64_t j, Take&& take) const;

    std::vector<SpanAtom> atoms_;
    std::vector<std::int64_t> ptr_;
    KeyTable table_{KeyTable::no_key, false};
    std::vector<std::uint64_t> keys_;
};

} // namespace chaffinch::features
