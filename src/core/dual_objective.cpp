#include "dual_objective.hpp"

#include "clones.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <vector>

namespace chaffinch {

namespace {

constexpr std::int64_t block = 512;

}

CHAFFINCH_HOT static void gather_one(const Examples& x, std::int64_t n, const float* w, std::int64_t S, float* scores) {
    gather(x, n, w, S, scores);
}

CHAFFINCH_HOT static double squares(const float* w, std::int64_t n) {
    Pack<double> sum{};
    Pack<float> here;
    for (std::int64_t k = 0; k < n; k += lanes) {
        get<float>(here, w + k);
        const Pack<double> wide = __builtin_convertvector(here, Pack<double>);
        sum += wide * wide;
    }
    double total = 0;
    for (std::int64_t l = 0; l < lanes; ++l) total += sum[l];
    return total;
}

DualObjective dual_objective(const Examples& x, const float* w, std::int64_t S, std::size_t threads,
                             const ExampleObjective& example) {
    const std::int64_t N = x.N(), blocks = (N + block - 1) / block;
    std::vector<DualObjective> sums(static_cast<std::size_t>(blocks));
    parallel_blocks(static_cast<std::size_t>(blocks), threads, [&](std::size_t b) {
        AlignedVector<float> scores(static_cast<std::size_t>(S));
        const std::int64_t begin = static_cast<std::int64_t>(b) * block;
        for (std::int64_t n = begin; n < std::min(N, begin + block); ++n) {
            gather_one(x, n, w, S, scores.data());
            example(n, scores.data(), sums[b]);
        }
    });
    const double length = squares(w, (x.F + 1) * S) / 2;
    DualObjective total{length, -length};
    for (const DualObjective& sum : sums) total.primal += sum.primal, total.dual += sum.dual;
    return total;
}

} // namespace chaffinch
