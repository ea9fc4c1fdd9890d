#include "delimited.hpp"

#include "code_points.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace chaffinch::text {

namespace {

// The white space of Unicode and the separators U+001C to U+001F: what str.strip of Python removes.
constexpr bool is_space(std::uint32_t c) {
    if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_padded(std::string_view cell) {
    std::size_t last = cell.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(cell[last]) & 0xC0) == 0x80) --last;
    return is_space(code_point(cell, 0).first) || is_space(code_point(cell, last).first);
}

// Whether a cell holds a comma, a quote mark or the end of a line. Cells are short, so eight bytes at a time beat a search
// for each sign.
bool holds_special(std::string_view cell) {
    constexpr std::uint64_t ones = 0x0101010101010101ULL, high = 0x8080808080808080ULL;
    std::size_t at = 0;
    for (; at + 8 <= cell.size(); at += 8) {
        std::uint64_t word, found = 0;
        std::memcpy(&word, cell.data() + at, 8);
        for (const char sign : {',', '"', '\n', '\r'}) {
            const std::uint64_t other = word ^ (ones * static_cast<unsigned char>(sign));
            found |= (other - ones) & ~other;
        }
        if ((found & high) != 0) return true;
    }
    for (; at < cell.size(); ++at)
        if (const char c = cell[at]; c == ',' || c == '"' || c == '\n' || c == '\r') return true;
    return false;
}

void append_quoted(std::string& out, std::string_view cell) {
    out.push_back('"');
    for (std::size_t at = 0; at < cell.size();) {
        const std::size_t mark = cell.find('"', at);
        out.append(cell.substr(at, mark - at));
        if (mark == std::string_view::npos) break;
        out.append("\"\"");
        at = mark + 1;
    }
    out.push_back('"');
}

// Reads one cell after the other; ``at`` is behind the last one.
class CellReader {
  public:
    CellReader(std::string_view rows, char sign, bool quoted, CellTable& table)
        : rows_(rows), sign_(sign), quoted_(quoted), table_(table) {}

    bool ended() const { return at_ == rows_.size(); }

    // Skips the end of a line, if it stands here.
    bool skip_line_end() {
        const std::size_t n = rows_.substr(at_, 1) == "\n" ? 1 : rows_.substr(at_, 2) == "\r\n" ? 2 : 0;
        at_ += n;
        return n > 0;
    }

    bool skip_sign() {
        const bool here = !ended() && rows_[at_] == sign_;
        at_ += here;
        return here;
    }

    std::optional<std::string_view> cell() {
        if (quoted_ && !ended() && rows_[at_] == '"') return quoted_cell();
        if (at_ >= line_end_) line_end_ = std::min(rows_.find('\n', at_), rows_.size());
        const std::string_view rest = rows_.substr(at_, line_end_ - at_);
        std::string_view cell = rest.substr(0, rest.find(sign_));
        cell = cell.substr(0, cell.find('\r'));
        at_ += cell.size();
        return cell;
    }

  private:
    std::optional<std::string_view> quoted_cell() {
        const std::size_t start = ++at_;
        bool doubled = false;
        for (;;) {
            at_ = rows_.find('"', at_);
            if (at_ == std::string_view::npos) return std::nullopt;
            if (rows_.substr(at_ + 1, 1) != "\"") break;
            doubled = true;
            at_ += 2;
        }
        const std::string_view inside = rows_.substr(start, at_ - start);
        ++at_;
        if (!doubled) return inside;
        std::string& single = table_.made.emplace_back();
        for (std::size_t i = 0; i < inside.size(); ++i) {
            single.push_back(inside[i]);
            i += inside[i] == '"';
        }
        return single;
    }

    std::string_view rows_;
    char sign_;
    bool quoted_;
    CellTable& table_;
    std::size_t at_ = 0;
    std::size_t line_end_ = 0; // of the line of the last cell that was not quoted
};

} // namespace

std::optional<CellTable> read_cells(std::string_view rows, char sign, bool quoted) {
    CellTable table;
    CellReader reader(rows, sign, quoted, table);
    bool first = true;
    while (!reader.ended()) {
        if (reader.skip_line_end()) continue;
        std::size_t column = 0;
        do {
            const std::optional<std::string_view> cell = reader.cell();
            if (!cell) return std::nullopt;
            if (first) table.columns.emplace_back();
            if (column == table.columns.size()) return std::nullopt;
            table.columns[column++].push_back(*cell);
        } while (reader.skip_sign());
        if (column < table.columns.size() || !(reader.ended() || reader.skip_line_end())) return std::nullopt;
        first = false;
    }
    return table;
}

std::size_t last_row_end(std::string_view rows, char sign) {
    const auto ends_cell = [&](std::size_t at) { return at == rows.size() || rows[at] == '\n' || rows[at] == sign; };
    std::size_t last = 0, outside = 0, from = 0; // outside: where the bytes outside of quoted cells begin
    while (outside < rows.size()) {
        const std::size_t mark = std::min(rows.find('"', from), rows.size());
        const bool opens = mark == 0 || ends_cell(mark - 1) || (mark == 3 && rows.starts_with("\xEF\xBB\xBF"));
        if (mark < rows.size() && !opens) {
            from = mark + 1;
            continue;
        }
        const std::size_t end = rows.substr(outside, mark - outside).rfind('\n');
        if (end != std::string_view::npos) last = outside + end + 1;
        std::size_t at = mark;
        do {
            at = rows.find('"', at + 1);
            if (at == std::string_view::npos) return last;
        } while (rows.substr(++at, 1) == "\"");
        outside = from = ends_cell(at) ? at : std::min(rows.find('\n', at), rows.size());
    }
    return last;
}

std::optional<CellTable> read_text_lines(std::string_view text) {
    CellTable table;
    std::vector<std::string_view>& lines = table.columns.emplace_back();
    const bool returns = text.find('\r') != std::string_view::npos;
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        const std::size_t taken = line.size();
        if (returns && line.ends_with('\r') && taken < text.size()) line.remove_suffix(1);
        if (returns && line.find('\r') != std::string_view::npos) return std::nullopt;
        lines.push_back(line);
        text.remove_prefix(std::min(taken + 1, text.size()));
    }
    return table;
}

std::string joined_rows(std::span<const std::span<const std::string_view>> columns, std::size_t N, std::string_view sign,
                        bool quoted) {
    std::string out;
    std::size_t size = 0;
    for (const std::span<const std::string_view> column : columns)
        for (const std::string_view cell : column) size += cell.size() + sign.size();
    out.reserve(size + size / 16);
    for (std::size_t row = 0; row < N; ++row) {
        bool begun = false;
        for (const std::span<const std::string_view> column : columns) {
            const std::string_view cell = column[row];
            if (std::exchange(begun, true)) out.append(sign);
            if (quoted && (cell.empty() || is_padded(cell) || holds_special(cell)))
                append_quoted(out, cell);
            else
                out.append(cell);
        }
        out.push_back('\n');
    }
    return out;
}

} // namespace chaffinch::text
