#include "similarity.hpp"

#include <algorithm>

namespace chaffinch::text {

namespace {

// row[k] = the longest common subsequence of a[..] so far and the first k of b.
std::int64_t common(const Letters& a, const Letters& b, std::vector<std::int64_t>& row) {
    row.assign(b.size() + 1, 0);
    for (const char32_t c : a) {
        std::int64_t diagonal = 0;
        for (std::size_t k = 1; k <= b.size(); ++k) {
            const std::int64_t above = row[k];
            row[k] = c == b[k - 1] ? diagonal + 1 : std::max(row[k], row[k - 1]);
            diagonal = above;
        }
    }
    return row.back();
}

} // namespace

void similarities(std::span<const Letters> a, std::span<const Letters> b, std::span<float> out) {
    std::vector<std::int64_t> row;
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t longer = std::max(a[i].size(), b[j].size());
            out[i * b.size() + j] =
                longer == 0 ? 0.0f : static_cast<float>(common(a[i], b[j], row)) / static_cast<float>(longer);
        }
}

} // namespace chaffinch::text
