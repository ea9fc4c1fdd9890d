// Derivations by a grammar of binary rules: trees scored by rules, words and spans.
//
//   s(y) = top[root] + sum over words (t, A) of leaf[t][A]
//        + sum over nodes (i, j, A -> B C) of rule[A -> B C] + span[ij][A]
#pragma once

#include "tree.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace chaffinch::structures {

// Rules by number, sorted by children and by parent. Many rules share their children (the parents of an annotated
// grammar differ only in annotation): a pair of children is combined once, and its parents are rows of labels.
class Grammar {
  public:
    Grammar(std::int64_t Y, std::span<const std::int32_t> rules); // [R][3] parent, left, right: all below Y

    // A run of consecutive parents; their weights are whole packs.
    struct Run {
        std::int32_t parent, packs;
        std::int64_t first; // into weights in the order of `place`
    };

    std::int64_t Y, R;
    std::vector<std::int32_t> parent, left, right; // [R]
    std::vector<std::int64_t> parent_ptr;          // [Y+1]
    std::vector<std::int32_t> by_parent;           // [R]; of one parent by left, then right child
    std::vector<std::int64_t> left_ptr;            // [Y+1] into the pairs
    std::vector<std::int32_t> pair_right;          // [pairs]; of one left child by right child
    std::vector<std::int64_t> run_ptr;             // [pairs+1]
    std::vector<Run> runs;
    std::vector<std::int64_t> place; // [R] of each rule among the weights
    std::int64_t W;                  // weights, padding of packs included
};

template <class Real> struct DerivationPotentials {
    const Grammar* grammar;
    std::int64_t T;
    const Real* leaf;           // [T][Y]; -inf forbids
    const Real* rule;           // [R]
    const Real* span;           // [S][Y], of spans of two words or more; or null: zero
    const Real* top;            // [Y]; or null: zero
    const std::uint8_t* root;   // [Y] labels of the whole; null: any
    const std::uint8_t* open;   // [S] spans of two words or more that may be nodes; null: all

    // The score of label A as the root's label, beyond its inside score; -inf if A is not allowed at the root.
    Real above(std::int64_t A) const {
        return root && !root[A] ? -std::numeric_limits<Real>::infinity() : top ? top[A] : 0;
    }
};

template <class Real> struct DerivationExpectations {
    Real* leaf; // [T][Y]
    Real* rule; // [R]; or null: not wanted
    Real* span; // [S][Y]; or null: not wanted
    Real* top;  // [Y]; or null
    double least = 0; // nodes less likely than this are not expanded
};

// As for trees (tree.hpp).
bool derivation_argmax(const DerivationPotentials<float>&, double& score, TreeNode* nodes);
bool derivation_argmax(const DerivationPotentials<double>&, double& score, TreeNode* nodes);
void derivation_kbest(const DerivationPotentials<float>&, std::int64_t k, std::vector<double>& scores,
                      std::vector<TreeNode>& nodes);
void derivation_kbest(const DerivationPotentials<double>&, std::int64_t k, std::vector<double>& scores,
                      std::vector<TreeNode>& nodes);
double derivation_logsum(const DerivationPotentials<float>&, const DerivationExpectations<float>&);
double derivation_logsum(const DerivationPotentials<double>&, const DerivationExpectations<double>&);

} // namespace chaffinch::structures
