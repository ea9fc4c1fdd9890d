// Kernels of trees: fragments that two trees share, counted over pairs of nodes.
//
//   K(a, b) = sum over nodes n of a, m of b of  D(n, m)
//
//   subtree (ST)        D = 0 unless the productions are equal, else  lambda prod_k D(child_k(n), child_k(m))
//   subset tree (SST)   D = 0 unless the productions are equal, else  lambda prod_k (1 + D(child_k(n), child_k(m)))
//   partial tree (PTK)  D = 0 unless the labels are equal, else  mu (lambda^2 + sum over equally long subsequences I, J
//                       of the children of  lambda^(d(I) + d(J)) prod_k D(I_k, J_k)),   d(I) = last - first
//
// Collins and Duffy 2002; Vishwanathan and Smola 2003; Moschitti 2006. Terminals (nodes without children) are part of
// their parent's production in ST and SST, and nodes like others in PTK. Only pairs with equal productions (labels) are
// visited: the nodes of `a` are listed by production, and those of `b` are taken children first.
#pragma once

#include "key_numbers.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::kernels {

// Nodes of each tree in postorder. A node's children are numbered within its tree.
struct TreeBank {
    std::vector<std::int64_t> ptr;         // [N+1]    nodes of each tree
    std::vector<std::int64_t> child_ptr;   // [nodes+1]
    std::vector<std::int32_t> children;    // [edges]
    std::vector<std::int32_t> label;       // [nodes]  numbers of label keys
    std::vector<std::int32_t> production;  // [nodes]  numbers of production keys; -1 for terminals
    text::KeyNumbers labels, productions;

    // arity[k] says how many of the subtrees before node k are its children. False if these are not trees.
    static bool valid(std::span<const std::int64_t> ptr, std::span<const std::int32_t> arity);
    TreeBank(std::span<const std::int64_t> ptr, std::span<const std::uint64_t> labels,
             std::span<const std::int32_t> arity);
    std::int64_t N() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
};

enum class TreeKernelKind { subtree, subset_tree, partial_tree };

struct TreeKernel {
    TreeKernelKind kind = TreeKernelKind::subset_tree;
    double lambda = 0.4;
    double mu = 0.4; // partial trees: the cost of a level of depth
};

void tree_gram(const TreeKernel& kernel, const TreeBank& A, std::span<const std::int64_t> a, const TreeBank& B,
               std::span<const std::int64_t> b, bool symmetric, std::size_t threads, double* out);

void tree_diagonal(const TreeKernel& kernel, const TreeBank& A, std::span<const std::int64_t> a, std::size_t threads,
                   double* out);

} // namespace chaffinch::kernels
