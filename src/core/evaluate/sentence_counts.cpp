#include "sentence_counts.hpp"

#include "parallel.hpp"
#include "random.hpp"

#include <algorithm>

namespace chaffinch::evaluate {

namespace {

void draw_times(Draw draw, machine::Random& random, std::span<std::int32_t> times) { // [N]
    const std::size_t N = times.size();
    if (draw == Draw::bootstrap) {
        std::ranges::fill(times, 0);
        for (std::size_t n = 0; n < N; ++n) ++times[random.below(N)];
        return;
    }
    for (std::size_t n = 0; n < N; n += 64) {
        std::uint64_t coins = random.next();
        for (std::size_t i = n; i < std::min(n + 64, N); ++i, coins >>= 1) times[i] = coins & 1;
    }
}

} // namespace

void resampled_sums(const CountRows& rows, std::int64_t K, Draw draw, std::uint64_t seed, std::size_t threads,
                    std::span<std::int64_t> sums) {
    const std::size_t N = rows.ptr.size() - 1;
    const std::size_t width = static_cast<std::size_t>(K);
    const std::size_t R = width == 0 ? 0 : sums.size() / width;
    // Each sample has a generator of its own, so that it does not matter which thread draws it.
    std::vector<std::uint64_t> seeds(R);
    machine::Random seeder(seed);
    for (auto& s : seeds) s = seeder.next();

    constexpr std::size_t block = 16;
    machine::parallel_blocks((R + block - 1) / block, threads, [&](std::size_t b) {
        std::vector<std::int32_t> times(N);
        for (std::size_t r = b * block; r < std::min((b + 1) * block, R); ++r) {
            machine::Random random(seeds[r]);
            draw_times(draw, random, times);
            const auto sum = sums.subspan(r * width, width);
            std::ranges::fill(sum, 0);
            for (std::size_t n = 0; n < N; ++n) {
                if (times[n] == 0) continue;
                for (std::int64_t k = rows.ptr[n]; k < rows.ptr[n + 1]; ++k)
                    sum[rows.columns[k]] += static_cast<std::int64_t>(times[n]) * rows.values[k];
            }
        }
    });
}

} // namespace chaffinch::evaluate
