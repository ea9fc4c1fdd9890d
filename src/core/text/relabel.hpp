// Rows of numbered tokens, as in CoNLL-U, with other cells in some columns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chaffinch::text {

// A column from 0, and its cells by the label of the token.
struct LabelColumn {
    std::size_t place;
    std::vector<std::string_view> cells;
};

// Tokens are the lines whose first cell is a number; ids are their labels. All else is copied. Nothing if there are more
// or fewer tokens than ids, or a token without one of the columns. columns: by place
std::optional<std::string> relabelled(std::string_view lines, std::span<const LabelColumn> columns,
                                      std::span<const std::int32_t> ids);

} // namespace chaffinch::text
