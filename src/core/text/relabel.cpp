#include "relabel.hpp"

#include <algorithm>

namespace chaffinch::text {

namespace {

bool is_token(std::string_view line) {
    const std::string_view number = line.substr(0, line.find('\t'));
    return !number.empty() && number.size() < line.size() &&
           std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
}

// Appends a row with other cells; false if it has not all of the columns.
bool append(std::string& out, std::string_view row, std::span<const LabelColumn> columns, std::int32_t id) {
    std::size_t at = 0, place = 0;
    for (const LabelColumn& column : columns) {
        const std::size_t start = at;
        for (; place < column.place; ++place) {
            at = row.find('\t', at);
            if (at == std::string_view::npos) return false;
            ++at;
        }
        out.append(row.substr(start, at - start));
        out.append(column.cells[static_cast<std::size_t>(id)]);
        at = std::min(row.find_first_of("\t\r", at), row.size());
    }
    out.append(row.substr(at));
    return true;
}

} // namespace

std::optional<std::string> relabelled(std::string_view lines, std::span<const LabelColumn> columns,
                                      std::span<const std::int32_t> ids) {
    std::string out;
    out.reserve(lines.size() + lines.size() / 8);
    std::size_t token = 0;
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        if (!is_token(line))
            out.append(line);
        else if (token == ids.size() || !append(out, line, columns, ids[token++]))
            return std::nullopt;
        lines.remove_prefix(line.size());
        if (!lines.empty()) {
            out.push_back('\n');
            lines.remove_prefix(1);
        }
    }
    if (token < ids.size()) return std::nullopt;
    return out;
}

} // namespace chaffinch::text
