// Updates of the weights by a sentence's parts.
#pragma once

#include "crf.hpp"

namespace chaffinch::learners {

// trainable [size]: 0 keeps a weight fixed; null: all are trained.

// add_rows of score.hpp, for trainable weights only. S: whole lanes.
void add_rows(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* delta, float step,
              std::int64_t S, const std::uint8_t* trainable, float* w, const float* values);

// w += step * F_n(d): the scatter of parts d of sentence n.
void add_parts(const CrfShape& shape, const CrfData& data, std::int64_t n, const CrfParts<float>& d, float step,
               const std::uint8_t* trainable, float* w);

// The same of the chain's block and of the bigram rows alone.
void add_chain(const CrfShape& shape, const CrfData& data, std::int64_t n, const CrfParts<float>& d, float step,
               const std::uint8_t* trainable, float* w);

// to[k] += step * d[k]
void move(std::int64_t n, const float* d, float step, float* to);

// |w|^2, short runs in float, their sum in double. n: whole lanes.
double squared_norm(std::int64_t n, const float* w);

} // namespace chaffinch::learners
