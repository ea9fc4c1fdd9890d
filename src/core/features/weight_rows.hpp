// Rows of weights in eight bits: q = round(w / s), s = max |w| / 127 of each row.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chaffinch::features {

// out[f] = max over y of |w[f][y]|
void row_strengths(std::int64_t rows, std::int64_t S, const float* w, std::size_t threads, float* out);

// The first Y columns of each row into q and s; w is rounded to what they stand for.
void round_rows(std::int64_t rows, std::int64_t Y, std::int64_t S, std::size_t threads,
                float* w,       // [rows][S]
                std::int8_t* q, // [rows][Y]
                float* s);      // [rows]

} // namespace chaffinch::features
