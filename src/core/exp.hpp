// exp for float rows: no branch, no table, no library call, so that a loop over a row becomes vector code.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#if defined(__GNUC__)
#define CHAFFINCH_INLINE [[gnu::always_inline]] inline
#else
#define CHAFFINCH_INLINE inline
#endif

namespace chaffinch {

//   x = n ln 2 + r, |r| <= ln 2 / 2      exp(x) = 2^n exp(r)
// exp(r) by the Cephes polynomial (Moshier). Relative error below 2e-7 on [-87.3, 88]; 0 below that range
// (minus infinity included), so that a forbidden part has exactly no weight. Above 88 it saturates.
CHAFFINCH_INLINE float row_exp(float x) {
    constexpr float lowest = -87.3f, highest = 88.0f, round = 12582912.0f; // 1.5 * 2^23
    const bool vanishes = x < lowest;
    x = vanishes ? lowest : x;
    x = x > highest ? highest : x;
    const float n = (x * 1.44269504088896341f + round) - round;
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r * r + r) + 1.0f;
    const auto exponent = (static_cast<std::int32_t>(n) + 127) << 23;
    const float e = p * std::bit_cast<float>(exponent);
    return vanishes ? 0.0f : e;
}

CHAFFINCH_INLINE double row_exp(double x) { return std::exp(x); }

} // namespace chaffinch
