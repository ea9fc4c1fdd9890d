#include "weight_rows.hpp"

#include "aligned.hpp"
#include "clones.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace chaffinch::features {

namespace {

constexpr std::int64_t block = 8192; // rows a thread takes at a time

template <class Work> void over_blocks(std::int64_t rows, std::size_t threads, Work&& work) {
    machine::parallel_blocks(static_cast<std::size_t>((rows + block - 1) / block), threads, [&](std::size_t b) {
        const std::int64_t begin = static_cast<std::int64_t>(b) * block;
        work(begin, std::min(rows, begin + block));
    });
}

// Rounds up to a number with zero lower 16 bits, which a file then need not store.
CHAFFINCH_INLINE float short_float(float a) {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) + 0xffffu) & 0xffff0000u);
}

} // namespace

CHAFFINCH_HOT static void strengths(std::int64_t begin, std::int64_t end, std::int64_t Y, std::int64_t S, const float* w,
                                    float* out) {
    const std::int64_t whole = Y / machine::lanes * machine::lanes;
    for (std::int64_t f = begin; f < end; ++f) {
        const float* row = w + f * S;
        machine::Pack<float> largest{};
        for (std::int64_t y = 0; y < whole; y += machine::lanes) {
            machine::Pack<float> a;
            machine::get(a, row + y);
            a = machine::select(a < 0, -a, a);
            largest = machine::larger(a, largest);
        }
        float most = machine::largest(largest);
        for (std::int64_t y = whole; y < Y; ++y) most = std::max(most, std::fabs(row[y]));
        out[f] = most;
    }
}

CHAFFINCH_HOT static void rounded(std::int64_t begin, std::int64_t end, std::int64_t Y, std::int64_t S, float* w,
                                  std::int8_t* q, float* s) {
    for (std::int64_t f = begin; f < end; ++f) {
        float* row = w + f * S;
        float most = 0;
        for (std::int64_t y = 0; y < Y; ++y) {
            const float a = std::fabs(row[y]);
            most = a > most ? a : most;
        }
        const float scale = short_float(most / 127.0f), inverse = scale > 1e-37f ? 1.0f / scale : 0.0f;
        s[f] = scale;
        for (std::int64_t y = 0; y < Y; ++y) {
            const float steps = std::nearbyint(std::clamp(row[y] * inverse, -127.0f, 127.0f));
            q[f * Y + y] = static_cast<std::int8_t>(steps);
            row[y] = steps * scale;
        }
    }
}

void row_strengths(std::int64_t rows, std::int64_t Y, std::int64_t S, const float* w, std::size_t threads, float* out) {
    over_blocks(rows, threads, [&](std::int64_t begin, std::int64_t end) { strengths(begin, end, Y, S, w, out); });
}

CHAFFINCH_HOT void kept_rows(std::int64_t rows, std::int64_t Y, std::int64_t S, const float* w, const std::uint8_t* keep,
                             float least, float* out) {
    for (std::int64_t f = 0; f < rows; ++f) {
        if (!keep[f]) continue;
        const float* __restrict row = w + f * S;
        for (std::int64_t y = 0; y < Y; ++y) out[y] = std::fabs(row[y]) >= least ? row[y] + 0.0f : 0.0f;
        out += Y;
    }
}

void round_rows(std::int64_t rows, std::int64_t Y, std::int64_t S, std::size_t threads, float* w, std::int8_t* q,
                float* s) {
    over_blocks(rows, threads, [&](std::int64_t begin, std::int64_t end) { rounded(begin, end, Y, S, w, q, s); });
}

} // namespace chaffinch::features
