#include "expected_brackets.hpp"

#include <algorithm>
#include <limits>

namespace chaffinch::structures {

void expected_tree(std::int64_t T, std::int64_t Y, const float* marginals, std::int64_t stride,
                   const BracketLabels& how, const std::uint8_t* leaf, const std::uint8_t* phrase, TreeNode* nodes) {
    constexpr float none = -std::numeric_limits<float>::infinity();
    constexpr float hair = 1e-4f; // decides between labels with the same brackets
    const Spans spans{T};
    std::vector<float> bracket(static_cast<std::size_t>(how.count)), best(static_cast<std::size_t>(spans.count()));
    std::vector<std::int32_t> label(best.size(), -1), split(best.size(), -1);
    for (std::int64_t length = 1; length <= T; ++length)
        for (std::int64_t i = 0, j = length; j <= T; ++i, ++j) {
            const std::int64_t s = spans.at(i, j);
            const float* p = marginals + s * stride;
            const std::uint8_t* may = length == 1 ? leaf : phrase;
            std::ranges::fill(bracket, 0.0f);
            bool any = false;
            for (std::int64_t A = 0; A < Y; ++A) {
                if (p[A] <= 0) continue;
                any = true;
                for (std::int64_t k = how.ptr[A]; k < how.ptr[A + 1]; ++k) bracket[how.brackets[k]] += p[A];
            }
            // A word and the whole sentence must have a label, even one with a negative score.
            const bool must = length == 1 || length == T;
            float most = must ? none : 0.0f;
            for (std::int64_t A = 0; A < Y && (any || must); ++A) {
                if (may && !may[A]) continue;
                if (length > 1 && how.ptr[A] == how.ptr[A + 1]) continue;
                float value = hair * p[A];
                for (std::int64_t k = how.ptr[A]; k < how.ptr[A + 1]; ++k) value += bracket[how.brackets[k]] - how.toll;
                if (value > most) most = value, label[s] = static_cast<std::int32_t>(A);
            }
            float inner = length == 1 ? 0.0f : none;
            for (std::int64_t k = i + 1; k < j; ++k)
                if (const float x = best[spans.at(i, k)] + best[spans.at(k, j)]; x > inner)
                    inner = x, split[s] = static_cast<std::int32_t>(k);
            best[s] = (most == none ? 0 : most) + inner;
        }
    std::vector<TreeNode> waiting{{0, static_cast<std::int32_t>(T), 0}};
    while (!waiting.empty()) {
        TreeNode node = waiting.back();
        waiting.pop_back();
        const std::int64_t s = spans.at(node.start, node.end);
        node.label = label[s];
        *nodes++ = node;
        if (split[s] < 0) continue;
        waiting.push_back({split[s], node.end, 0});
        waiting.push_back({node.start, split[s], 0});
    }
}

} // namespace chaffinch::structures
