// Column files: one token per line, cells side by side, a blank line between sentences. Only this file knows the
// format: tables for training and documents for reading both come from here, in chunks.
#pragma once

#include "cell_numbers.hpp"
#include "interner.hpp"
#include "line_marks.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chaffinch::text {

enum class Split {
    separator, // at every separator: empty cells count
    spaces,    // at runs of spaces and tabs, those at either end ignored
    last,      // once, at the last separator
    whole,     // not at all: the line is its only cell
};

struct ColumnRules {
    Split split = Split::separator;
    std::string separator = "\t";
    std::int32_t columns = 1;       // cells that every line must have
    std::vector<std::int32_t> kept; // which cells to keep, in this order
    std::int32_t word = 0;          // the cell that must not be empty
    std::string comment;            // lines that start so are remarks; empty: none do
    std::string group;              // lines that start so (and end there or go on with a space, a tab or the
                                    // separator) begin a new group; empty: none do
    bool stray_comments = false;    // before a sentence, a line "# ..." with another count of cells is a remark
    bool number_rows = false;       // the first cell is a number; rows with a range (3-4) or a decimal (3.1) are left out
    std::int64_t longest = 1 << 23; // bytes a line may have
    bool remarks = true;            // keep the remarks
    std::vector<std::int32_t> marked{}; // cells whose places in the input are kept, in ascending order
};

// The first thing wrong with the input; reading stops there.
struct ColumnFault {
    enum class Kind { none, columns, empty_word, row_number, long_line, nul, utf8, carriage_return };
    Kind kind = Kind::none;
    std::int64_t line = 0;  // 1-based
    std::int32_t found = 0; // cells, for Kind::columns
    std::string content;    // the line, shortened to the bytes a message can show
};

// Sentences that are complete: columns[k] holds the strings of the cell kept[k].
struct SentenceBlock {
    struct Column {
        Interner types;                // empty if the tables of types are the caller's
        std::vector<std::int32_t> ids; // [tokens]
    };
    std::vector<Column> columns;
    std::vector<std::int64_t> ptr{0};   // [N+1] sentence bounds into the ids
    std::vector<std::int64_t> lines;    // [N]   line of the first token, 1-based
    std::vector<std::int32_t> groups;   // [N]   groups begun so far: 0 before the first
    std::vector<std::string> remarks;   // comment and group lines, in order
    std::vector<std::int64_t> heads{0}; // [N+1] those before sentence n are remarks heads[n] .. heads[n+1]
    std::vector<std::int64_t> places;   // [tokens][marked][2] where a cell begins and ends in all that was fed
};

class ColumnText {
  public:
    // `line` is the number of the first line that will be fed. shared: tables that number the strings of each kept cell, also of
    // sentences that a fault follows; none: each block has its own
    explicit ColumnText(ColumnRules rules, std::int64_t line = 1, std::vector<Interner*> shared = {});

    // Reads on; false once there is a fault.
    bool feed(std::string_view bytes);
    // The end of the input closes the last line and the last sentence.
    bool finish();
    // The sentences completed since the last call.
    SentenceBlock take();

    const ColumnFault& fault() const { return fault_; }
    bool keeps_remarks() const { return rules_.remarks; }

  private:
    bool read_lines(std::string_view block);
    bool read_each();
    bool read_line(std::string_view line);
    bool read_token(std::string_view line);
    std::size_t cut(std::string_view line);
    std::size_t split(std::string_view line);
    bool add(std::string_view line, std::size_t found);
    Interner& types(std::size_t k) { return shared_.empty() ? block_.columns[k].types : *shared_[k]; }
    bool starts_group(std::string_view line) const;
    void remark(std::string_view line);
    void end_sentence();
    bool fail(ColumnFault::Kind kind, std::string_view line, std::int32_t found = 0);

    ColumnRules rules_;
    std::vector<Interner*> shared_;       // [kept] or none
    std::vector<CellNumbers> numbers_;    // [kept]
    std::vector<std::string_view> cells_; // [columns] of the line at hand
    std::size_t needed_;                  // first cells up to the last that is kept or marked
    bool cuts_;                           // separators are single bytes: LineMarks finds cells
    std::array<bool, 256> odd_{};         // first bytes of lines that may be blank or a remark
    LineMarks marks_;                     // of the lines at hand
    std::string pending_;                 // an incomplete line
    SentenceBlock block_;                 // complete sentences, then the tokens of the one being read
    std::int64_t tokens_ = 0;             // rows in block_
    std::int64_t line_;                   // number of the next line
    std::int64_t first_line_ = 0;         // of the sentence being read
    std::int64_t read_ = 0;               // bytes of all lines read before those at hand
    std::string_view lines_;              // the lines at hand
    std::int32_t group_ = 0;
    ColumnFault fault_;
};

// How often a byte occurs.
std::size_t occurrences(std::string_view bytes, char sign);

// The bytes before the first NUL or malformed UTF-8 (RFC 3629), all of them if there is none.
std::size_t sound_prefix(std::string_view bytes);

} // namespace chaffinch::text
