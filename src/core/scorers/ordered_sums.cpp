#include "ordered_sums.hpp"

#include "parallel.hpp"

#include <algorithm>

namespace chaffinch::scorers {

namespace {

constexpr std::int64_t block_cells = 1 << 16;

} // namespace

template <class Weight>
void OrderedSums<Weight>::add(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids,
                              std::span<const double> values, std::int64_t t, std::vector<Weight>& sums,
                              double* out) const {
    sums.assign(static_cast<std::size_t>(C_), Weight{0});
    for (std::int64_t k = ptr[t]; k < ptr[t + 1]; ++k) {
        const std::int64_t f = ids[k], begin = bounds_[f], end = bounds_[f + 1];
        if (values.empty()) {
            if (end - begin == C_) { // every column, in order
                for (std::int64_t c = 0; c < C_; ++c) sums[c] += weights_[begin + c];
            } else {
                for (std::int64_t i = begin; i < end; ++i) sums[columns_[i]] += weights_[i];
            }
        } else {
            const auto value = static_cast<Weight>(values[k]);
            for (std::int64_t i = begin; i < end; ++i) sums[columns_[i]] += value * weights_[i];
        }
    }
    std::ranges::copy(sums, out);
}

template <class Weight>
void OrderedSums<Weight>::sum(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids,
                              std::span<const double> values, std::size_t threads, double* out) const {
    const auto T = static_cast<std::int64_t>(ptr.size()) - 1;
    const std::int64_t step = std::max<std::int64_t>(1, block_cells / C_);
    const auto blocks = static_cast<std::size_t>((T + step - 1) / step);
    machine::parallel_blocks(blocks, threads, [&](std::size_t b) {
        std::vector<Weight> sums;
        const auto begin = static_cast<std::int64_t>(b) * step;
        for (std::int64_t t = begin; t < std::min(T, begin + step); ++t) add(ptr, ids, values, t, sums, out + t * C_);
    });
}

template class OrderedSums<float>;
template class OrderedSums<double>;

} // namespace chaffinch::scorers
