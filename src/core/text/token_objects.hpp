// Sentences as JSON objects with lists of words and tags, one per line: read to columns, and written with labels.
#pragma once

#include "interner.hpp"
#include "json_value.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chaffinch::text {

// words:  key of the list of words
// others: keys of further lists, one cell per word
// tags:   key of the list that labels replace; empty: there is none
// kept:   lists whose cells become ids: 0 is the words, then the others, then the tags
struct TokenKeys {
    std::string words;
    std::vector<std::string> others;
    std::string tags;
    std::vector<std::size_t> kept;

    std::size_t lists() const { return 1 + others.size() + !tags.empty(); } // L
};

// Objects by row, views of the lines or of ``made``.
struct TokenObjects {
    struct Column {
        Interner types;                // empty if the tables of types are the caller's
        std::vector<std::int32_t> ids; // [tokens]
    };
    TokenKeys keys;
    std::vector<Column> columns;         // [kept]
    std::vector<std::int64_t> ptr{0};    // [N+1] sentence bounds into the ids
    std::vector<JsonValue> ids;          // [N]   null if a row has none
    std::vector<std::string_view> lists; // [N][L] spelling of each list, cells as strings
    std::vector<JsonField> fields;       // all others, row by row
    std::vector<std::size_t> ends;       // [N]   where the fields of a row end
    std::deque<std::string> made;
};

// The objects of lines of UTF-8 without NUL; blank lines are no rows. Nothing if a line has something that JsonReader does not
// know, no list of words, an empty word or cell, lists of different lengths, an id that is neither a string nor a whole number, a
// field with the name of a list that is written, or a carriage return that ends no line. shared: tables that number the strings of
// each kept list, also if there is nothing; none: the objects have their own
std::optional<TokenObjects> read_token_objects(std::string_view lines, TokenKeys keys, std::span<Interner* const> shared = {});

// The rows as lines of id, tokens, further lists, tags and fields. labels: spelt as JSON, by id; ids: [tokens]
std::string labelled_lines(const TokenObjects& rows, std::span<const std::string> labels, std::span<const std::int32_t> ids);

} // namespace chaffinch::text
