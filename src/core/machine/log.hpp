// log for float rows: no branch, no table, no library call, so that a loop over a row becomes vector code.
#pragma once

#include "exp.hpp"

#include <bit>
#include <cstdint>

namespace chaffinch::machine {

//   x = 2^n m, sqrt(1/2) <= m < sqrt(2)      log(x) = n ln 2 + log(1 + r), r = m - 1
// log(1 + r) by the Cephes polynomial (Moshier). For normal positive x only.
CHAFFINCH_INLINE float row_log(float x) {
    constexpr std::int32_t sqrt_half = 0x3f3504f3;
    const auto bits = std::bit_cast<std::int32_t>(x) - sqrt_half;
    const auto n = static_cast<float>(bits >> 23);
    const float r = std::bit_cast<float>((bits & 0x007fffff) + sqrt_half) - 1.0f;
    float p = 7.0376836292e-2f;
    p = p * r - 1.1514610310e-1f;
    p = p * r + 1.1676998740e-1f;
    p = p * r - 1.2420140846e-1f;
    p = p * r + 1.4249322787e-1f;
    p = p * r - 1.6668057665e-1f;
    p = p * r + 2.0000714765e-1f;
    p = p * r - 2.4999993993e-1f;
    p = p * r + 3.3333331174e-1f;
    const float z = r * r;
    float tail = p * r * z;
    tail += n * -2.12194440e-4f;
    tail -= 0.5f * z;
    return (r + tail) + n * 0.693359375f;
}

} // namespace chaffinch::machine
