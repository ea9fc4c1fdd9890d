// Rows of cells as lines with a label as their last cell, and a blank line after each sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace chaffinch::text {

// ptr: [N+1] sentence bounds   places: [tokens][C][2] where each cell begins and ends in the text   ids: [tokens] of the labels
struct LabelledRows {
    std::string_view text;
    std::span<const std::int64_t> ptr;
    std::span<const std::int64_t> places;
    std::size_t columns; // C
    std::string_view separator;
    std::span<const std::string> labels;
    std::span<const std::int32_t> ids;

    std::size_t size() const;                         // in bytes
    void write(char* out, std::size_t bytes) const; // as many as size() says
};

} // namespace chaffinch::text
