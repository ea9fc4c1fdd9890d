// Binary trees over the spans of a sentence, each node with a label, scored by spans and by pairs of parent and child.
//
//   s(y) = sum over nodes (i, j, A) of  span[ij][A]
//        + sum over left children (i, k, B) under A of   span[ik][Y + A] + left[B][A]
//        + sum over right children (k, j, C) under A of  span[kj][2Y + A] + right[C][A]
//
// A child sees its parent's label, never its sibling's: a cell is a row of labels, and a span is put together from
// two rows at each split. O(T^3 Y + T^2 Y^2) in place of O(T^3 Y^3).
#pragma once

#include <cstdint>
#include <vector>

namespace chaffinch::structures {

// Spans [i, j) of T words in rows: by start, of one start the shortest first.
struct Spans {
    std::int64_t T;
    std::int64_t count() const { return T * (T + 1) / 2; }
    std::int64_t at(std::int64_t i, std::int64_t j) const { return i * T - i * (i - 1) / 2 + (j - i - 1); }
};

template <class Real> struct TreePotentials {
    std::int64_t T, Y;
    const Real* span;                  // [S][stride]; -inf forbids
    std::int64_t stride;               // of a row of `span`
    bool roles;                        // columns Y .. 3Y are there
    const Real* left;                  // [Y][Y] child, parent; or null: zero
    const Real* right;                 // the same
    const std::uint8_t* left_allowed;  // [Y][Y] which child may stand under which parent; null: any
    const std::uint8_t* right_allowed; // the same
    const std::uint8_t* root;          // [Y] labels of the whole; null: any
    const std::uint8_t* leaf;          // [Y] labels of single words; null: any
    const std::uint8_t* phrase;        // [Y] labels of longer spans; null: any
    const std::uint8_t* open;          // [S] longer spans that may be nodes; null: all

    bool allowed(std::int64_t i, std::int64_t j, std::int64_t y) const {
        if (i == 0 && j == T && root && !root[y]) return false;
        const std::uint8_t* here = j - i == 1 ? leaf : phrase;
        return !here || here[y];
    }
    bool closed(std::int64_t s, std::int64_t length) const { return length > 1 && open && !open[s]; }
};

// A node of a tree in preorder; a tree over T words has 2T - 1.
struct TreeNode {
    std::int32_t start, end, label;
};

template <class Real> struct TreeExpectations {
    Real* span; // [S][stride] as the potentials, overwritten in the columns that those have
    Real* left; // [Y][Y], overwritten; or null
    Real* right;
};

// The best tree; of equals the first when read node by node in preorder as (end, label). False if there is none.
bool tree_argmax(const TreePotentials<float>&, double& score, TreeNode* nodes);
bool tree_argmax(const TreePotentials<double>&, double& score, TreeNode* nodes);

// The k best trees, best first, ties in the order of argmax: scores and nodes are appended. Fewer if fewer exist.
void tree_kbest(const TreePotentials<float>&, std::int64_t k, std::vector<double>& scores, std::vector<TreeNode>& nodes);
void tree_kbest(const TreePotentials<double>&, std::int64_t k, std::vector<double>& scores, std::vector<TreeNode>& nodes);

// log Z and its gradient; -inf if there is no tree.
double tree_logsum(const TreePotentials<float>&, const TreeExpectations<float>&);
double tree_logsum(const TreePotentials<double>&, const TreeExpectations<double>&);

} // namespace chaffinch::structures
