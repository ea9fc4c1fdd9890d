#include "relabel.hpp"

#include <algorithm>

namespace chaffinch::text {

namespace {

// Whether the line from ``at`` on is that of a token.
bool is_token(std::string_view lines, std::size_t at) {
    const std::size_t start = at;
    while (at < lines.size() && lines[at] >= '0' && lines[at] <= '9') ++at;
    return at > start && at < lines.size() && lines[at] == '\t';
}

bool ends_cell(char c) { return c == '\t' || c == '\n'; }

} // namespace

std::optional<std::string> relabelled(std::string_view lines, std::span<const LabelColumn> columns,
                                      std::span<const std::int32_t> ids) {
    std::string out;
    out.reserve(lines.size() + lines.size() / 8);
    std::size_t token = 0, copied = 0; // what stands before ``copied`` is in ``out``
    for (std::size_t at = 0; at < lines.size();) {
        if (is_token(lines, at)) {
            if (token == ids.size()) return std::nullopt;
            std::size_t place = 0;
            for (const LabelColumn& column : columns) {
                for (; place < column.place; ++place) {
                    while (at < lines.size() && !ends_cell(lines[at])) ++at;
                    if (at == lines.size() || lines[at] == '\n') return std::nullopt;
                    ++at;
                }
                out.append(lines.substr(copied, at - copied));
                out.append(column.cells[static_cast<std::size_t>(ids[token])]);
                while (at < lines.size() && !ends_cell(lines[at]) && lines[at] != '\r') ++at;
                copied = at;
            }
            ++token;
        }
        at = std::min(lines.find('\n', at), lines.size() - 1) + 1;
    }
    if (token < ids.size()) return std::nullopt;
    out.append(lines.substr(copied));
    return out;
}

} // namespace chaffinch::text
