// Scores of all labels for documents, s[n][y] = w_y.x_n, from weights in 32 bits or quantised to 8.
#pragma once

#include "examples.hpp"

#include <cstddef>

namespace chaffinch::scorers {

void choice_scores(const features::Examples& x, std::int64_t Y,
                   const float* w, // [F+1][padded(Y)]
                   std::size_t threads,
                   float* out); // [N][Y]

} // namespace chaffinch::scorers
