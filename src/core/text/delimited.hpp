// Rows of cells: CSV, whose cells may be quoted, and TSV, whose cells are not.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chaffinch::text {

// Cells by column, views of the text or of ``made``: cells with doubled quote marks, without them.
struct CellTable {
    std::vector<std::vector<std::string_view>> columns;
    std::deque<std::string> made;
};

// The cells of whole rows; blank lines are no rows. Nothing if a row has a fault: other cells than the first has, a
// quoted cell that is not closed or is followed by text, or a carriage return that ends no line.
std::optional<CellTable> read_cells(std::string_view rows, char sign, bool quoted);

// Where the last complete row of CSV ends; 0 if there is none. A quote mark opens a cell at its start only, also after a byte
// order mark; if a closed cell is followed by text, the row ends with the line.
std::size_t last_row_end(std::string_view rows, char sign);

// The lines of a text, which end at LF or CR LF, as one column. Nothing if a carriage return ends no line.
std::optional<CellTable> read_text_lines(std::string_view text);

// The N rows of columns of cells. quoted: a cell is quoted if it holds a comma, a quote mark or a line end, or is empty or
// padded; a quote mark in it is doubled.
std::string joined_rows(std::span<const std::span<const std::string_view>> columns, std::size_t N, std::string_view sign,
                        bool quoted);

} // namespace chaffinch::text
