#include "part_rows.hpp"

#include "clones.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace chaffinch::scorers {

CHAFFINCH_HOT void score_parts(const PartRows& x, std::span<const double> w, std::span<double> out) {
    for (std::int64_t p = 0; p < x.parts(); ++p) {
        double sum = 0;
        for (std::int64_t k = x.ptr[p]; k < x.ptr[p + 1]; ++k) sum += static_cast<double>(x.values[k]) * w[x.ids[k]];
        out[p] = sum;
    }
}

CHAFFINCH_HOT void add_parts(const PartRows& x, std::span<const double> delta, double step, std::span<double> w) {
    for (std::int64_t p = 0; p < x.parts(); ++p) {
        if (delta[p] == 0) continue;
        const double by = step * delta[p];
        for (std::int64_t k = x.ptr[p]; k < x.ptr[p + 1]; ++k) w[x.ids[k]] += by * static_cast<double>(x.values[k]);
    }
}

double parts_squared_length(const PartRows& x, std::span<const double> delta) {
    std::vector<std::pair<std::int32_t, double>> moved;
    for (std::int64_t p = 0; p < x.parts(); ++p) {
        if (delta[p] == 0) continue;
        for (std::int64_t k = x.ptr[p]; k < x.ptr[p + 1]; ++k)
            moved.emplace_back(x.ids[k], delta[p] * static_cast<double>(x.values[k]));
    }
    std::ranges::stable_sort(moved, {}, &std::pair<std::int32_t, double>::first);
    double total = 0;
    for (std::size_t a = 0; a < moved.size();) {
        double sum = 0;
        const std::int32_t id = moved[a].first;
        for (; a < moved.size() && moved[a].first == id; ++a) sum += moved[a].second;
        total += sum * sum;
    }
    return total;
}

double parts_dot(std::span<const double> a, std::span<const double> b) {
    double total = 0;
    for (std::size_t p = 0; p < a.size(); ++p)
        if (a[p] != 0 && b[p] != 0) total += a[p] * b[p];
    return total;
}

} // namespace chaffinch::scorers
