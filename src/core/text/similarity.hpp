// Spelling similarity of two words: the longest common subsequence over the length of the longer (Melamed 1995).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace chaffinch::text {

using Letters = std::vector<char32_t>;

// out[i][j] in [0, 1]
void similarities(std::span<const Letters> a, std::span<const Letters> b, std::span<float> out);

} // namespace chaffinch::text
