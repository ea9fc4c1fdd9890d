// Text with other cells in some places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chaffinch::text {

// The text with cells [C][labels] in C places per token, all else copied, and an end.
// places: [tokens][C][2] where each cell begins and ends, in ascending order   ids: [tokens] the label of each
struct RelabelledText {
    std::string_view text;
    std::span<const std::int64_t> places;
    std::span<const std::vector<std::string>> cells;
    std::span<const std::int32_t> ids;
    std::string_view end;

    std::size_t size() const;                         // in bytes
    void write(char* out, std::size_t bytes) const; // as many as size() says
};

} // namespace chaffinch::text
