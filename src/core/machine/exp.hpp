// exp for a pack of floats: no branch, no table, no library call.
#pragma once

#include "aligned.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace chaffinch::machine {

//   x = n ln 2 + r, |r| <= ln 2 / 2      exp(x) = 2^n exp(r)
// exp(r) by the Cephes polynomial (Moshier). Relative error below 2e-7 on [-87.3, 88]; exactly 0 below that range
// (minus infinity included), so that a forbidden part has no weight at all. Above 88 it saturates.
CHAFFINCH_INLINE void exp_in_place(Pack<float>& x) {
    constexpr float lowest = -87.3f, highest = 88.0f, round = 12582912.0f; // 1.5 * 2^23
    const auto vanishes = x < lowest;
    x = select(vanishes, Pack<float>{} + lowest, x);
    x = select(x > highest, Pack<float>{} + highest, x);
    const Pack<float> n = (x * 1.44269504088896341f + round) - round;
    const Pack<float> r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    Pack<float> p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r * r + r) + 1.0f;
    const Pack<float> power = read_as<float>((converted<std::int32_t, float>(n) + 127) << 23);
    x = select(vanishes, Pack<float>{}, p * power);
}

CHAFFINCH_INLINE void exp_in_place(Pack<double>& x) {
    double all[lanes];
    put<double>(all, x);
    for (double& value : all) value = std::exp(value);
    get<double>(x, all);
}

// out[i] = exp(x[i])
void exp_rows(const float* x, std::int64_t n, float* out);

} // namespace chaffinch::machine
