// The tree with the most brackets expected to be right (Goodman 1996, "Parsing algorithms and metrics"): over all
// bracketings the maximum of
//   sum over its brackets (i, j, X) of  p(X at ij) - toll
#pragma once

#include "tree.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace chaffinch::structures {

// Label A stands for the brackets brackets[ptr[A]] .. brackets[ptr[A + 1]]: none, one, or those of a unary chain.
struct BracketLabels {
    std::vector<std::int64_t> ptr;      // [Y+1]
    std::vector<std::int32_t> brackets; // ids of bracket labels
    std::int64_t count;                 // of bracket labels
    float toll;
};

// marginals: [S][stride] p(label at span). Words get the likeliest of the labels with their brackets; a longer span
// without a bracket of its own has label -1. phrase: [Y] labels that longer spans may have. Nodes in preorder.
void expected_tree(std::int64_t T, std::int64_t Y, const float* marginals, std::int64_t stride,
                   const BracketLabels& how, const std::uint8_t* leaf, const std::uint8_t* phrase, TreeNode* nodes);

} // namespace chaffinch::structures
