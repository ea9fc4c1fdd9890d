// Tokens to feature ids: one loop per template over columns that lie side by side.
#pragma once

#include "key_table.hpp"
#include "templates.hpp"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace chaffinch::features {

// Whole sentences with their columns, each sentence between margins wide enough for every offset:
//
//     values[c][cell]   value id of column c, or -1 for none; margins hold the marks of the boundary, or -1
//
// so that an atom is values[column][cell + offset] with no test for the sentence's end.
struct Frame {
    std::vector<std::int32_t> cell;   // [T] where each token is
    std::vector<std::int64_t> bounds; // [N+1] sentences, in tokens of this frame
    std::vector<std::int32_t> values; // [C][cells]
    std::size_t cells = 0;

    std::size_t size() const { return cell.size(); }
    std::span<std::int32_t> column(std::size_t c) { return std::span(values).subspan(c * cells, cells); }
    std::span<const std::int32_t> column(std::size_t c) const {
        return std::span(values).subspan(c * cells, cells);
    }
};

// How far templates look to either side, and whether positions outside a sentence have ids of their own: the mark
// d to the left of the first token has id n + d - 1, d to the right of the last n + left + d - 1, where n is
// the number of values of the column.
struct Margins {
    std::int32_t left = 0;
    std::int32_t right = 0;
    bool marked = true;

    std::uint64_t radix(std::int32_t n) const {
        const std::uint64_t marks = marked ? static_cast<std::uint64_t>(left) + right : 0;
        return static_cast<std::uint64_t>(n) + marks > 0 ? static_cast<std::uint64_t>(n) + marks : 1;
    }
};

// Lays out cells for sentences of these lengths (bounds of the frame) and makes room for C columns.
void lay_out(std::span<const std::int64_t> ptr, std::size_t columns, const Margins &margins, Frame &frame);

// Fills the margins of column c, which has n values.
void fill_margins(std::size_t c, std::int32_t n, const Margins &margins, Frame &frame);

// Rows of ids in memory that can shrink without a copy.
struct TokenRows {
    std::vector<std::int64_t> ptr; // [T+1]
    std::unique_ptr<std::int32_t[], decltype(&std::free)> ids{nullptr, &std::free};

    void reserve(std::size_t n);
    void shrink(std::size_t n);
};

// The tables of one template: its own, and one per join before it.
struct TemplateTables {
    std::vector<Stage> stages;
    std::vector<KeyTable> tables; // one per stage; the last holds the features
    bool window = false;
    std::vector<Atom> atoms;
    std::int32_t n_values = 0; // window: marks of the boundary start here

    TemplateTables(const Template &pattern, std::span<const std::uint64_t> radix, std::int32_t n_values);

    std::size_t slots() const { return window ? atoms.size() : 1; }
    KeyTable &features() { return tables.back(); }
    const KeyTable &features() const { return tables.back(); }

    // out[slot][t] = id or absent, for all tokens of the frame; `count` gives ids to what is new.
    void count(const Frame &frame, std::span<std::int32_t> out);
    void find(const Frame &frame, std::span<std::int32_t> out) const;
};

} // namespace chaffinch::features
