#include "score.hpp"

#include "clones.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace chaffinch {

namespace {

// Rows of w lie far apart: ask for those of a few features ahead, one request per cache line.
inline void prefetch_row(const float* row, std::int64_t S) {
    for (std::int64_t y = 0; y < S; y += 16) __builtin_prefetch(row + y);
}

constexpr std::int64_t ahead = 12;

} // namespace

CHAFFINCH_HOT void score_rows(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* w,
                              std::int64_t S, float* out) {
    const std::int64_t end = ptr.empty() ? 0 : ptr.back();
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
        float* __restrict here = out + static_cast<std::int64_t>(t) * S;
        std::fill_n(here, S, 0.0f);
        for (std::int64_t k = ptr[t]; k < ptr[t + 1]; ++k) {
            if (k + ahead < end) prefetch_row(w + ids[k + ahead] * S, S);
            const float* row = w + ids[k] * S;
            for (std::int64_t y = 0; y < S; ++y) here[y] += row[y];
        }
    }
}

CHAFFINCH_HOT void add_rows(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* delta,
                            float step, std::int64_t S, float* w) {
    const std::int64_t end = ptr.empty() ? 0 : ptr.back();
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
        const float* __restrict here = delta + static_cast<std::int64_t>(t) * S;
        if (std::all_of(here, here + S, [](float d) { return d == 0; })) continue;
        for (std::int64_t k = ptr[t]; k < ptr[t + 1]; ++k) {
            if (k + ahead < end) prefetch_row(w + ids[k + ahead] * S, S);
            float* row = w + ids[k] * S;
            for (std::int64_t y = 0; y < S; ++y) row[y] += step * here[y];
        }
    }
}

double squared_length(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* delta,
                      std::int64_t Y, std::int64_t S) {
    struct Use {
        std::int32_t feature;
        std::int64_t t;
    };
    std::vector<Use> uses;
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t)
        for (std::int64_t k = ptr[t]; k < ptr[t + 1]; ++k) uses.push_back({ids[k], static_cast<std::int64_t>(t)});
    std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.feature < b.feature; });
    std::vector<double> row(static_cast<std::size_t>(Y));
    double sum = 0;
    for (std::size_t k = 0; k < uses.size();) {
        std::ranges::fill(row, 0.0);
        const std::int32_t feature = uses[k].feature;
        for (; k < uses.size() && uses[k].feature == feature; ++k)
            for (std::int64_t y = 0; y < Y; ++y) row[y] += static_cast<double>(delta[uses[k].t * S + y]);
        sum += std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
    }
    return sum;
}

bool all_below(std::span<const std::int32_t> ids, std::int64_t F) {
    return std::ranges::all_of(ids, [F](std::int32_t f) { return f >= 0 && f < F; });
}

} // namespace chaffinch
