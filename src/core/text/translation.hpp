// Word translation probabilities, learnt from sentence pairs alone.
//
//   IBM model 1:  p(f_1 .. f_m | e_1 .. e_n) ~ prod_j sum_{i=0..n} t(f_j | e_i),   e_0 the null word
//   EM:           c(e, f)  = sum over tokens j with f_j = f of  (number of i with e_i = e) t(f|e) / sum_i t(f|e_i)
//                 t(f|e)   = c(e, f) / sum_f c(e, f)
//
// Brown et al. 1993. Cells of t are the pairs of words that occur in one sentence pair; a cell is summed by one thread in
// the order of the text, so that any number of threads gives the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace chaffinch::text {

struct SentencePairs {
    std::span<const std::int64_t> e_ptr; // [N+1]
    std::span<const std::int32_t> e;     // ids below E
    std::span<const std::int64_t> f_ptr; // [N+1]
    std::span<const std::int32_t> f;     // ids below F
    std::int64_t E, F;

    std::int64_t pairs() const { return static_cast<std::int64_t>(e_ptr.size()) - 1; }
};

class TranslationTable {
  public:
    TranslationTable(const SentencePairs& x, std::size_t threads);

    // Runs `rounds` rounds of EM from a uniform t. Returns the last round's log-likelihood (before its M step).
    double train(std::int64_t rounds, std::size_t threads);

    std::span<const std::int64_t> rows() const { return rows_; }       // [E+2]  cells of e; row E is the null word
    std::span<const std::int32_t> columns() const { return columns_; } // [cells]  f, ascending in a row
    std::span<const double> t() const { return t_; }                   // [cells]
    std::vector<std::int32_t> together() const;                        // [cells]  in how many pairs e and f meet

  private:
    std::int64_t cell(std::int64_t e, std::int32_t f) const;

    std::vector<std::int64_t> rows_;
    std::vector<std::int32_t> columns_;
    std::vector<double> t_;
    // For each token f_j the cells of (e_i, f_j), i = 0 .. n (null last); then for each cell the tokens that have it.
    std::vector<std::int64_t> token_ptr_, token_cells_, cell_ptr_;
    std::vector<std::int64_t> cell_tokens_;
    std::vector<std::int32_t> token_pair_;
};

// out[i][j] = table[cell of (e_i, f_j)], `missing` if there is none.
void look_up(std::span<const std::int64_t> rows, std::span<const std::int32_t> columns, std::span<const float> table,
             std::span<const std::int32_t> e, std::span<const std::int32_t> f, float missing, std::span<float> out);

} // namespace chaffinch::text
