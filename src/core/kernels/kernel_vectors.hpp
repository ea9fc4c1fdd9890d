// Kernels of vectors: a function of the inner product, over blocks of the Gram matrix.
//
//   linear       a.b
//   polynomial   (gamma a.b + offset)^degree
//   rbf          exp(-gamma |a - b|^2),   |a - b|^2 = |a|^2 + |b|^2 - 2 a.b
//   sigmoid      tanh(gamma a.b + offset)
//
// Inner products of dense rows are blocked, or bits that are counted where all values are 0 and 1; those of sparse rows walk an inverted index of B, so that only features
// that both rows have are touched. Every entry is summed in the order of its features: the same bytes for any number of
// threads, and for any way of cutting A into pieces.
#pragma once

#include "examples.hpp"

#include <cstdint>
#include <span>

namespace chaffinch {

enum class VectorKernelKind { linear, polynomial, rbf, sigmoid };

struct VectorKernel {
    VectorKernelKind kind = VectorKernelKind::linear;
    int degree = 1;
    float gamma = 1;
    float offset = 0;
};

struct DenseRows {
    const float* values = nullptr; // [n][d]
    std::int64_t n = 0, d = 0;
};

// out[i][j] = k(A_i, B_j)
void dense_gram(const VectorKernel& kernel, const DenseRows& A, const DenseRows& B, std::size_t threads,
                float* out); // [A.n][B.n]

// The same of sparse rows over the same features.
void sparse_gram(const VectorKernel& kernel, const Examples& A, const Examples& B, std::size_t threads,
                 float* out); // [A.N][B.N]

// out[i][g][c] = sum over j of group g of  K_ij w_jc,   the block K of A and B never kept: the scores of many rows from a
// dual expansion, support vectors in groups one after the other.
void dense_expansion(const VectorKernel& kernel, const DenseRows& A, const DenseRows& B,
                     std::span<const std::int64_t> bounds, // [G+1]  from 0 to B.n
                     const float* w,                       // [B.n][C]
                     std::int64_t C, std::size_t threads,
                     float* out); // [A.n][G][C]
// The same of sparse rows, all of one group.
void sparse_expansion(const VectorKernel& kernel, const Examples& A, const Examples& B,
                      const float* w, // [B.N][C]
                      std::int64_t C, std::size_t threads,
                      float* out); // [A.N][C]

} // namespace chaffinch
