// Packs compared with a bound, and masks from bytes. NEON has single instructions for both that GCC does not find.
#pragma once

#include "pack.hpp"

#ifdef __aarch64__
#include <arm_neon.h>
#endif

namespace chaffinch::machine {

// x within [-bound, bound]. bound >= 0
CHAFFINCH_INLINE Pack<float> within(const Pack<float>& x, const Pack<float>& bound) {
#ifdef __aarch64__
    return {vmaxq_f32(vminq_f32(x.low, bound.low), -bound.low), vmaxq_f32(vminq_f32(x.high, bound.high), -bound.high)};
#else
    return larger(smaller(x, bound), -bound);
#endif
}

// The lanes with |x| > bound: -1, the others 0. bound >= 0
CHAFFINCH_INLINE Pack<std::int32_t> beyond(const Pack<float>& x, const Pack<float>& bound) {
#ifdef __aarch64__
    return {vreinterpretq_s32_u32(vcagtq_f32(x.low, bound.low)), vreinterpretq_s32_u32(vcagtq_f32(x.high, bound.high))};
#else
    return select(x < Pack<float>{}, -x, x) > bound;
#endif
}

// The lanes whose byte is not 0: -1, the others 0.
CHAFFINCH_INLINE Pack<std::int32_t> flagged(const std::uint8_t* bytes) {
#ifdef __aarch64__
    const uint8x8_t eight = vld1_u8(bytes);
    const int16x8_t wider = vmovl_s8(vreinterpret_s8_u8(vtst_u8(eight, eight)));
    return {vmovl_s16(vget_low_s16(wider)), vmovl_high_s16(wider)};
#else
    Vector<std::uint8_t, lanes> eight;
    std::memcpy(&eight, bytes, sizeof eight);
#ifdef __x86_64__
    return __builtin_convertvector(eight, Pack<std::int32_t>) != 0;
#else
    std::int32_t flags[lanes];
    for (std::int64_t l = 0; l < lanes; ++l) flags[l] = -(eight[l] != 0);
    Pack<std::int32_t> pack;
    get<std::int32_t>(pack, flags);
    return pack;
#endif
#endif
}

} // namespace chaffinch::machine
