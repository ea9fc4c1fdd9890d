// Rows of features, column by column: counts per label, columns picked, values weighted.
#pragma once

#include <cstdint>
#include <span>

namespace chaffinch::features {

// out[f][y] += value of feature f, over the documents labelled y.
void count_by_label(std::span<const std::int64_t> ptr,       // [N+1]
                    std::span<const std::int32_t> ids,       // [nnz] below F
                    std::span<const float> values,           // [nnz], or empty: all 1
                    std::span<const std::int64_t> label_ptr, // [N+1]
                    std::span<const std::int32_t> labels,    // [label_ptr[N]] below Y
                    std::int64_t Y,
                    std::span<double> out);                  // [F][Y]

// Keeps the columns with to[f] >= 0 under their new numbers, in place; each row stays in rising order of id.
void keep_columns(std::span<std::int64_t> ptr,      // [N+1] rewritten
                  std::span<std::int32_t> ids,      // [nnz] the first ptr[N] are left meaningful
                  std::span<float> values,          // [nnz] likewise
                  std::span<const std::int32_t> to, // [F]
                  std::size_t threads);

// Drops columns without renumbering the others; a block of columns with a norm is rescaled to its old norm.
// Returns the number of cells that are left.
std::int64_t thin_rows(std::span<const std::int64_t> ptr,    // [N+1]
                       std::span<const std::int32_t> ids,    // [nnz] rising in each row
                       std::span<const float> values,        // [nnz]
                       std::span<const std::uint8_t> keep,   // [F]
                       std::span<const std::int32_t> ends,   // [blocks] first column after each block; columns after the
                                                             // last block have no norm
                       std::span<const std::int32_t> norms,  // [blocks] 0: none, 1: sum of absolute values, 2: Euclidean
                       std::span<std::int64_t> new_ptr,      // [N+1]
                       std::span<std::int32_t> new_ids,      // [nnz] the first new_ptr[N] are written
                       std::span<float> new_values);         // [nnz] likewise

// How counts become values:  v = tf(count) * scale[id], then v /= |row| if asked.
struct Weighting {
    bool binary;    // tf = 1
    bool sublinear; // tf = 1 + ln(count)
    int norm;       // 0: none, 1: sum of absolute values, 2: Euclidean
};

void weigh(std::span<const std::int64_t> ptr, // [N+1]
           std::span<const std::int32_t> ids, // [nnz]
           std::span<const double> scale,     // [F], or empty: all 1
           Weighting weighting,
           std::size_t threads,
           std::span<float> values);          // [nnz] counts in, weighted out

// For rows that hold every feature once with the value scale[id]: the factors that give them norm 1.
void inverse_norms(std::span<const std::int64_t> ptr, // [N+1]
                   std::span<const std::int32_t> ids, // [nnz]
                   std::span<const float> scale,      // [F]
                   int norm,                          // 0: none, then 1; 1 or 2
                   std::size_t threads,
                   std::span<float> out);             // [N]

} // namespace chaffinch::features
