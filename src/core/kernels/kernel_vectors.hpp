// Kernels of vectors: a function of the inner product, over blocks of the Gram matrix.
//
//   linear       a.b
//   polynomial   (gamma a.b + offset)^degree
//   rbf          exp(-gamma |a - b|^2),   |a - b|^2 = |a|^2 + |b|^2 - 2 a.b
//   sigmoid      tanh(gamma a.b + offset)
//
// Inner products of dense rows are blocked, or count bits if all values are 0 and 1; those of sparse rows use an
// inverted index of B, so that only features of both rows are touched. Every entry is summed in the order of its
// features: the same bytes for any number of threads and any partition of A. The preparation of B can be kept, so that
// a block of a single row stays cheap.
#pragma once

#include "examples.hpp"
#include "kernel_products.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::kernels {

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

// Dense rows as the right side of blocks: as bits if all are 0 or 1, else as panels, one per piece. The caller keeps
// the rows themselves.
class PackedRows {
  public:
    // apart: for kernels of |a - b|: the mean of the rows becomes the origin, if that helps
    // cuts:  [pieces+1], the bounds of the pieces; bits: whether bits may be used
    PackedRows(const DenseRows& rows, bool apart, std::vector<std::int64_t> cuts, bool bits = true);
    PackedRows(const DenseRows& rows, bool apart) : PackedRows(rows, apart, {0, rows.n}) {}

    const DenseRows& rows() const { return rows_; }
    bool apart() const { return apart_; }
    bool binary() const { return binary_; }
    std::int64_t words() const { return (rows_.d + 63) / 64; }
    const std::vector<std::int64_t>& cuts() const { return cuts_; }
    std::int64_t columns(std::size_t piece) const { return cuts_[piece + 1] - cuts_[piece]; }
    const std::vector<float>& middle() const { return middle_; } // [d], or empty if the rows are not moved
    const float* norms(std::size_t piece) const { return apart_ ? norms_.data() + cuts_[piece] : nullptr; }
    const std::uint64_t* bits(std::size_t piece) const { return bits_.data() + cuts_[piece] * words(); }
    const Panels& panels(std::size_t piece) const { return panels_[piece]; }

  private:
    DenseRows rows_;
    bool apart_, binary_;
    std::vector<std::int64_t> cuts_;
    std::vector<float> middle_, norms_;
    std::vector<std::uint64_t> bits_; // [n][words]
    std::vector<Panels> panels_;      // [pieces]
};

// Sparse rows as the right side of blocks: the rows and values of each feature.
struct IndexedRows {
    std::vector<std::int64_t> ptr; // [F+1]
    std::vector<std::int32_t> row; // [nnz]
    std::vector<float> value;      // [nnz]
    std::vector<float> norms;      // [N]  |b|^2

    explicit IndexedRows(const features::Examples& rows);
    std::int64_t N() const { return static_cast<std::int64_t>(norms.size()); }
};

// out[i][j] = k(A_i, B_j);  B.apart() as the kernel has it
void dense_gram(const VectorKernel& kernel, const DenseRows& A, const PackedRows& B, std::size_t threads,
                float* out); // [A.n][B.n]

// The same of sparse rows over the same features.
void sparse_gram(const VectorKernel& kernel, const features::Examples& A, const IndexedRows& B, std::size_t threads,
                 float* out); // [A.N][B.N]

// out[i][g][c] = sum over j of group g of  K_ij w_jc,   without storing the block K of A and B: the scores of many rows
// from a dual expansion, with support vectors in consecutive groups.
void dense_expansion(const VectorKernel& kernel, const DenseRows& A, const DenseRows& B,
                     std::span<const std::int64_t> bounds, // [G+1]  from 0 to B.n
                     const float* w,                       // [B.n][C]
                     std::int64_t C, std::size_t threads,
                     float* out); // [A.n][G][C]
// The same of sparse rows, all of one group.
void sparse_expansion(const VectorKernel& kernel, const features::Examples& A, const IndexedRows& B,
                      const float* w, // [B.N][C]
                      std::int64_t C, std::size_t threads,
                      float* out); // [A.N][C]

} // namespace chaffinch::kernels
