// How a sentence's parts move the weights.
#pragma once

#include "crf.hpp"

namespace chaffinch {

// Weights of which some are not trained: trainable [size], 0 keeps a weight as it is; null: all move.

// add_rows with such weights. S: whole lanes.
void add_rows_where(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* delta, float step,
                    std::int64_t S, const std::uint8_t* trainable, float* w);

// w += step * d of sentence n, of the chain's block and of the bigram rows.
void add_chain(const CrfShape& shape, const CrfData& data, std::int64_t n, const CrfParts<float>& d, float step,
               const std::uint8_t* trainable, float* w);

// to[k] += step * d[k]
void move(std::int64_t n, const float* d, float step, float* to);

// |w|^2, short runs in float, their sum in double. n: whole lanes.
double squared_norm(std::int64_t n, const float* w);

} // namespace chaffinch
