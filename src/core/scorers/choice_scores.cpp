#include "choice_scores.hpp"

#include "clones.hpp"
#include "may_throw.hpp"
#include "parallel.hpp"

#include <algorithm>

namespace chaffinch::scorers {

namespace {

constexpr std::int64_t block = 256; // documents a thread takes at a time

}

CHAFFINCH_HOT static void score_block(const features::Examples& x, std::int64_t begin, std::int64_t end, std::int64_t Y,
                                      const float* w, float* out) {
    const std::int64_t S = machine::padded(Y);
    machine::AlignedVector<float> s(static_cast<std::size_t>(S));
    for (std::int64_t n = begin; n < end; ++n) {
        features::gather(x, n, w, S, s.data());
        std::copy_n(s.data(), Y, out + n * Y);
    }
}

void choice_scores(const features::Examples& x, std::int64_t Y, const float* w, std::size_t threads, float* out) {
    const std::int64_t N = x.N();
    machine::parallel_blocks(static_cast<std::size_t>((N + block - 1) / block), threads, [&](std::size_t b) {
        const std::int64_t begin = static_cast<std::int64_t>(b) * block;
        machine::may_throw([&] { score_block(x, begin, std::min(N, begin + block), Y, w, out); });
    });
}

} // namespace chaffinch::scorers
