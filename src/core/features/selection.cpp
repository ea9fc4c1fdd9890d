#include "selection.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace chaffinch::features {

namespace {

constexpr std::size_t rows_per_block = 512;

// Calls work(n) for every row, in blocks of rows.
template <class Work> void each_row(std::size_t N, std::size_t threads, Work&& work) {
    machine::parallel_blocks((N + rows_per_block - 1) / rows_per_block, threads, [&](std::size_t b) {
        const std::size_t end = std::min(N, (b + 1) * rows_per_block);
        for (std::size_t n = b * rows_per_block; n < end; ++n) work(n);
    });
}

} // namespace

void count_by_label(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids,
                    std::span<const float> values, std::span<const std::int64_t> label_ptr,
                    std::span<const std::int32_t> labels, std::int64_t Y, std::span<double> out) {
    for (std::size_t n = 0; n + 1 < ptr.size(); ++n)
        for (std::int64_t l = label_ptr[n]; l < label_ptr[n + 1]; ++l)
            for (std::int64_t k = ptr[n]; k < ptr[n + 1]; ++k)
                out[static_cast<std::size_t>(ids[k] * Y + labels[l])] += values.empty() ? 1.0 : double{values[k]};
}

void keep_columns(std::span<std::int64_t> ptr, std::span<std::int32_t> ids, std::span<float> values,
                  std::span<const std::int32_t> to, std::size_t threads) {
    const std::size_t N = ptr.size() - 1;
    std::vector<std::int64_t> sizes(N);
    each_row(N, threads, [&](std::size_t n) {
        std::vector<std::pair<std::int32_t, float>> row;
        for (std::int64_t k = ptr[n]; k < ptr[n + 1]; ++k)
            if (to[ids[k]] >= 0) row.emplace_back(to[ids[k]], values[k]);
        std::ranges::sort(row);
        std::int64_t k = ptr[n];
        for (const auto& [id, value] : row) {
            ids[k] = id;
            values[k++] = value;
        }
        sizes[n] = static_cast<std::int64_t>(row.size());
    });
    std::int64_t end = 0;
    for (std::size_t n = 0; n < N; ++n) {
        const std::int64_t start = ptr[n];
        std::copy_n(ids.begin() + start, sizes[n], ids.begin() + end);
        std::copy_n(values.begin() + start, sizes[n], values.begin() + end);
        ptr[n] = end;
        end += sizes[n];
    }
    ptr[N] = end;
}

std::int64_t thin_rows(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, std::span<const float> values,
                       std::span<const std::uint8_t> keep, std::span<const std::int32_t> ends,
                       std::span<const std::int32_t> norms, std::span<std::int64_t> new_ptr, std::span<std::int32_t> new_ids,
                       std::span<float> new_values) {
    std::int64_t to = 0;
    new_ptr[0] = 0;
    for (std::size_t n = 0; n + 1 < ptr.size(); ++n) {
        std::int64_t k = ptr[n];
        for (std::size_t b = 0; k < ptr[n + 1]; ++b) { // the last turn takes what is after the blocks
            const bool block = b < ends.size();
            const int norm = block ? norms[b] : 0;
            const std::int64_t first = to;
            double before = 0.0, after = 0.0;
            for (; k < ptr[n + 1] && (!block || ids[k] < ends[b]); ++k) {
                const double v = values[k], size = norm == 2 ? v * v : std::abs(v);
                before += size;
                if (!keep[ids[k]]) continue;
                after += size;
                new_ids[to] = ids[k];
                new_values[to++] = values[k];
            }
            if (norm == 0 || after == before || after == 0.0) continue;
            const double growth = norm == 2 ? std::sqrt(before / after) : before / after;
            for (std::int64_t i = first; i < to; ++i) new_values[i] = static_cast<float>(new_values[i] * growth);
        }
        new_ptr[n + 1] = to;
    }
    return to;
}

void weigh(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, std::span<const double> scale,
           Weighting weighting, std::size_t threads, std::span<float> values) {
    each_row(ptr.size() - 1, threads, [&](std::size_t n) {
        const auto weighted = [&](std::int64_t k) {
            double tf = weighting.binary ? 1.0 : double{values[k]};
            if (weighting.sublinear && tf != 1.0) tf = 1.0 + std::log(tf);
            return scale.empty() ? tf : tf * scale[ids[k]];
        };
        double size = 0.0;
        if (weighting.norm == 0) size = 1.0;
        for (std::int64_t k = ptr[n]; weighting.norm != 0 && k < ptr[n + 1]; ++k) {
            const double v = weighted(k);
            size += weighting.norm == 2 ? v * v : std::abs(v);
        }
        if (weighting.norm == 2) size = std::sqrt(size);
        if (size == 0.0) size = 1.0;
        for (std::int64_t k = ptr[n]; k < ptr[n + 1]; ++k) values[k] = static_cast<float>(weighted(k) / size);
    });
}

void inverse_norms(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, std::span<const float> scale,
                   int norm, std::size_t threads, std::span<float> out) {
    each_row(ptr.size() - 1, threads, [&](std::size_t n) {
        double size = 0.0;
        for (std::int64_t k = ptr[n]; norm != 0 && k < ptr[n + 1]; ++k) {
            const double v = scale[ids[k]];
            size += norm == 2 ? v * v : std::abs(v);
        }
        if (norm == 2) size = std::sqrt(size);
        out[n] = size == 0.0 ? 1.0f : static_cast<float>(1.0 / size);
    });
}

} // namespace chaffinch::features
