// How a sentence's parts move the weights.
#pragma once

#include "crf.hpp"

namespace chaffinch {

// w += step * F_n(d): the scatter of parts d of sentence n. trainable [size]: 0 keeps a weight as it is; null: all move.
void add_parts(const CrfShape& shape, const CrfData& data, std::int64_t n, const CrfParts<float>& d, float step,
               const std::uint8_t* trainable, float* w);

// to[k] += step * d[k]
void move(std::int64_t n, const float* d, float step, float* to);

// |w|^2, short runs in float, their sum in double. n: whole lanes.
double squared_norm(std::int64_t n, const float* w);

} // namespace chaffinch
