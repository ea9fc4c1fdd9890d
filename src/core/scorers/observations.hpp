// The observations of a linear chain, in three forms. phi_t is the feature vector of position t; each form scores
// positions, updates the weights, and gives the inner products of its positions:
//
//   score    out[t][y]  = phi_t . w[.][y]
//   add      w[f][y]   += step sum_t phi_t[f] delta[t][y]
//   gram     G[t][s]    = phi_t . phi_s                            over the positions from .. from + T
//   sq_norm  |w|^2 of the first rows of w, those of the observations
//
// Sparse: lists of features with values, or of value one. Dense: rows of D numbers. Monomials: products of up to three
// features of a list, the explicit form of a polynomial kernel over binary vectors.
#pragma once

#include "aligned.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::scorers {

class SparseObservations {
  public:
    SparseObservations(std::span<const std::int64_t> ptr, // [tokens+1]
                       std::span<const std::int32_t> ids, // [nnz], each in [0, F)
                       std::int64_t F,
                       const float* values = nullptr);    // [nnz] or null: all are 1
    void score(std::int64_t from, std::int64_t T, const float* w, std::int64_t S, float* out);
    void add(std::int64_t from, std::int64_t T, const float* delta, float step, std::int64_t S, float* w);
    void gram(std::int64_t from, std::int64_t T, float* G); // [T][T]
    double sq_norm(const float* w, std::int64_t S) const;

  private:
    std::span<const std::int64_t> ptr_;
    std::span<const std::int32_t> ids_;
    const float* values_;
    std::vector<std::int32_t> count_; // [F]
    std::vector<double> sums_;        // [F]  of the values, if there are any
};

class DenseObservations {
  public:
    DenseObservations(const float* rows, std::int64_t D) : rows_(rows), D_(D) {} // [tokens][D]
    void score(std::int64_t from, std::int64_t T, const float* w, std::int64_t S, float* out);
    void add(std::int64_t from, std::int64_t T, const float* delta, float step, std::int64_t S, float* w);
    void gram(std::int64_t from, std::int64_t T, float* G);
    double sq_norm(const float* w, std::int64_t S) const;

  private:
    const float* rows_;
    std::int64_t D_;
};

// (gamma x.x' + offset)^degree for binary x, as a sum over common features i, pairs i < j and triples i < j < k:
// with d = x.x', d^2 = d + 2 C(d,2) and d^3 = d + 6 C(d,2) + 6 C(d,3). A monomial of size m has phi^2 = square[m].
// w holds phi w, so that scoring is a plain sum; moving it multiplies by square[m].
//
// Row 0 is the constant, rows 1 .. D the features, then the pairs (i, j) at C(j,2) + i and the triples at
// C(k,3) + C(j,2) + i.
class MonomialMap {
  public:
    MonomialMap(std::int64_t D, int degree, double gamma, double offset);

    std::int64_t rows() const { return first_[static_cast<std::size_t>(degree_) + 1]; }
    std::int64_t features() const { return D_; }
    double kernel(double product) const;
    const std::array<double, 4>& squares() const { return square_; }
    const std::array<std::int64_t, 5>& firsts() const { return first_; }

    // The rows of a list of features (each once, rising), by size; bounds[m] is where size m begins, bounds[4] the end.
    void expand(std::span<const std::int32_t> features, std::vector<std::int32_t>& rows,
                std::array<std::int64_t, 5>& bounds) const;
    std::int64_t expanded(std::int64_t n) const; // how many rows n features make

  private:
    std::int64_t D_;
    int degree_;
    double gamma_, offset_;
    std::array<double, 4> square_{};
    std::array<std::int64_t, 5> first_{}; // row at which size m begins
};

class MonomialObservations {
  public:
    MonomialObservations(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const MonomialMap& map)
        : ptr_(ptr), ids_(ids), map_(map) {}
    void score(std::int64_t from, std::int64_t T, const float* w, std::int64_t S, float* out);
    void add(std::int64_t from, std::int64_t T, const float* delta, float step, std::int64_t S, float* w);
    void gram(std::int64_t from, std::int64_t T, float* G);
    double sq_norm(const float* w, std::int64_t S) const;

  private:
    std::span<const std::int32_t> list(std::int64_t t) const {
        return ids_.subspan(static_cast<std::size_t>(ptr_[t]), static_cast<std::size_t>(ptr_[t + 1] - ptr_[t]));
    }

    std::span<const std::int64_t> ptr_;
    std::span<const std::int32_t> ids_;
    MonomialMap map_;
    std::vector<std::int32_t> rows_;
};

// out[t][y] = sum over d of x[t][d] w[d][y], T rows of D numbers, in blocks of rows that share a reading of w.
void dense_score(const float* x, std::int64_t T, std::int64_t D, const float* w, std::int64_t S, float* out);

// w[d][y] += step sum over t of x[t][d] delta[t][y].
void dense_add(const float* x, std::int64_t T, std::int64_t D, const float* delta, float step, std::int64_t S, float* w);

} // namespace chaffinch::scorers
