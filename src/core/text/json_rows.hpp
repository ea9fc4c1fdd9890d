// Documents as JSON objects, one per line: read, written with further fields, and turned to cells and back.
#pragma once

#include "delimited.hpp"
#include "json_value.hpp"

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chaffinch::text {

// texts:   keys of the text; the first of them that is not null holds it
// labels:  keys of a label, or of a list of labels
// refused: keys that are not read here
struct JsonKeys {
    std::vector<std::string> texts;
    std::vector<std::string> labels;
    std::vector<std::string> refused;
};

// Objects by row, views of the lines or of ``made``. Ids and labels are null if a row has none.
struct JsonRows {
    std::vector<JsonValue> texts, ids, labels; // [N]
    std::vector<JsonField> fields;             // all others, row by row
    std::vector<std::size_t> ends;             // [N] where the fields of a row end
    std::deque<std::string> made;
};

// The objects of lines of UTF-8 without NUL; blank lines are no rows. Nothing if a line has something that JsonReader does not
// know, a key that is refused, a text, id or label of another type, two keys of labels, or a carriage return that ends no line.
std::optional<JsonRows> read_json_rows(std::string_view lines, const JsonKeys& keys);

// A cell of JSON: a string; a string that is left out if it is empty; or a value as it is spelt.
enum class JsonForm : std::uint8_t { string, optional, spelt };

// Fields of every row: name and cells [N].
struct JsonColumn {
    std::string_view name;
    JsonForm form;
    std::span<const std::string_view> cells;
};

// The rows as lines of id, text, label, fields, and further fields.
std::string json_lines(const JsonRows& rows, std::span<const JsonColumn> further);

// Columns as lines of objects.
std::string json_lines(std::span<const JsonColumn> columns, std::size_t N);

// Names and cells, all as text: "text", "label" and "id", which may be empty cells, and the fields. Nothing if rows have other
// fields than the first, an empty label or id, or a list of labels.
struct NamedCells {
    std::vector<std::string_view> names;
    CellTable cells;
};
std::optional<NamedCells> cells_of(const JsonRows& rows);

} // namespace chaffinch::text
