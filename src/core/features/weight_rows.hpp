// Rows of weights made smaller: without small weights, or in eight bits, q = round(w / s), s = max |w| / 127 of each row.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chaffinch::features {

// out[f] = max over y < Y of |w[f][y]|; rows have stride S
void row_strengths(std::int64_t rows, std::int64_t Y, std::int64_t S, const float* w, std::size_t threads, float* out);

// The rows that are kept, one after the other, weights below `least` and negative zeros as 0.
void kept_rows(std::int64_t rows, std::int64_t Y, std::int64_t S,
               const float* w,           // [rows][S]
               const std::uint8_t* keep, // [rows]
               float least,
               float* out); // [kept][Y]

// Quantises the first Y columns of each row into q and s; w is rounded to the quantised values.
void round_rows(std::int64_t rows, std::int64_t Y, std::int64_t S, std::size_t threads,
                float* w,       // [rows][S]
                std::int8_t* q, // [rows][Y]
                float* s);      // [rows]

} // namespace chaffinch::features
