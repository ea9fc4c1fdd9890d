#include "observations.hpp"

#include "clones.hpp"
#include "score.hpp"

#include <algorithm>
#include <cmath>

namespace chaffinch::scorers {

namespace {

bool is_zero(const float* row, std::int64_t S) {
    return std::all_of(row, row + S, [](float d) { return d == 0; });
}

// R rows of x against P packs of columns of w: the block of sums stays in registers.
template <int R, int P>
CHAFFINCH_INLINE void dense_block(const float* x, std::int64_t D, const float* w, std::int64_t S, float* out) {
    machine::Pack<float> sum[R][P] = {};
    for (std::int64_t d = 0; d < D; ++d) {
        machine::Pack<float> row[P];
        for (int p = 0; p < P; ++p) machine::get(row[p], w + d * S + p * machine::lanes);
        for (int r = 0; r < R; ++r) {
            const float v = x[r * D + d];
            for (int p = 0; p < P; ++p) sum[r][p] += v * row[p];
        }
    }
    for (int r = 0; r < R; ++r)
        for (int p = 0; p < P; ++p) machine::put(out + r * S + p * machine::lanes, sum[r][p]);
}

template <int R>
CHAFFINCH_INLINE void dense_rows(const float* x, std::int64_t D, const float* w, std::int64_t S, float* out) {
    std::int64_t y = 0;
    for (; y + 2 * machine::lanes <= S; y += 2 * machine::lanes) dense_block<R, 2>(x, D, w + y, S, out + y);
    for (; y + machine::lanes <= S; y += machine::lanes) dense_block<R, 1>(x, D, w + y, S, out + y);
}

float dot(const float* a, const float* b, std::int64_t n) {
    float sum[machine::lanes] = {};
    std::int64_t k = 0;
    for (; k + machine::lanes <= n; k += machine::lanes)
        for (std::int64_t l = 0; l < machine::lanes; ++l) sum[l] += a[k + l] * b[k + l];
    float total = 0;
    for (const float s : sum) total += s;
    for (; k < n; ++k) total += a[k] * b[k];
    return total;
}

double squares(const float* w, std::int64_t n) {
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) sum += static_cast<double>(w[k]) * static_cast<double>(w[k]);
    return sum;
}

double choose(std::int64_t n, int m) {
    double ways = 1;
    for (int i = 0; i < m; ++i) ways = ways * static_cast<double>(n - i) / (i + 1);
    return ways;
}

std::int64_t choose2(std::int64_t n) { return n * (n - 1) / 2; }
std::int64_t choose3(std::int64_t n) { return n * (n - 1) * (n - 2) / 6; }

} // namespace

// S is a whole number of lanes.
CHAFFINCH_HOT void dense_score(const float* x, std::int64_t T, std::int64_t D, const float* w, std::int64_t S,
                               float* out) {
    std::int64_t t = 0;
    for (; t + 4 <= T; t += 4) dense_rows<4>(x + t * D, D, w, S, out + t * S);
    for (; t < T; ++t) dense_rows<1>(x + t * D, D, w, S, out + t * S);
}

CHAFFINCH_HOT void dense_add(const float* x, std::int64_t T, std::int64_t D, const float* delta, float step,
                             std::int64_t S, float* w) {
    for (std::int64_t t = 0; t < T; ++t) {
        const float* __restrict here = delta + t * S;
        if (is_zero(here, S)) continue;
        for (std::int64_t d = 0; d < D; ++d) {
            const float v = step * x[t * D + d];
            if (v == 0) continue;
            float* __restrict row = w + d * S;
            for (std::int64_t y = 0; y < S; ++y) row[y] += v * here[y];
        }
    }
}

SparseObservations::SparseObservations(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids,
                                       std::int64_t F, const float* values)
    : ptr_(ptr), ids_(ids), values_(values), count_(static_cast<std::size_t>(F)),
      sums_(values ? static_cast<std::size_t>(F) : 0) {}

void SparseObservations::score(std::int64_t from, std::int64_t T, const float* w, std::int64_t S, float* out) {
    score_rows(ptr_.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(T + 1)), ids_, w, S, out, values_);
}

void SparseObservations::add(std::int64_t from, std::int64_t T, const float* delta, float step, std::int64_t S,
                             float* w) {
    add_rows(ptr_.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(T + 1)), ids_, delta, step, S, w, values_);
}

void SparseObservations::gram(std::int64_t from, std::int64_t T, float* G) {
    for (std::int64_t t = 0; t < T; ++t) {
        const std::int64_t a = ptr_[from + t], b = ptr_[from + t + 1];
        if (values_) {
            for (std::int64_t k = a; k < b; ++k) sums_[ids_[k]] += static_cast<double>(values_[k]);
            for (std::int64_t s = t; s < T; ++s) {
                double product = 0;
                for (std::int64_t k = ptr_[from + s]; k < ptr_[from + s + 1]; ++k)
                    product += static_cast<double>(values_[k]) * sums_[ids_[k]];
                G[t * T + s] = G[s * T + t] = static_cast<float>(product);
            }
            for (std::int64_t k = a; k < b; ++k) sums_[ids_[k]] = 0;
            continue;
        }
        for (std::int64_t k = a; k < b; ++k) ++count_[ids_[k]];
        for (std::int64_t s = t; s < T; ++s) {
            std::int64_t common = 0;
            for (std::int64_t k = ptr_[from + s]; k < ptr_[from + s + 1]; ++k) common += count_[ids_[k]];
            G[t * T + s] = G[s * T + t] = static_cast<float>(common);
        }
        for (std::int64_t k = a; k < b; ++k) count_[ids_[k]] = 0;
    }
}

double SparseObservations::sq_norm(const float* w, std::int64_t S) const {
    return squares(w, static_cast<std::int64_t>(count_.size()) * S);
}

double DenseObservations::sq_norm(const float* w, std::int64_t S) const { return squares(w, D_ * S); }

void DenseObservations::score(std::int64_t from, std::int64_t T, const float* w, std::int64_t S, float* out) {
    dense_score(rows_ + from * D_, T, D_, w, S, out);
}

void DenseObservations::add(std::int64_t from, std::int64_t T, const float* delta, float step, std::int64_t S,
                            float* w) {
    dense_add(rows_ + from * D_, T, D_, delta, step, S, w);
}

void DenseObservations::gram(std::int64_t from, std::int64_t T, float* G) {
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t s = t; s < T; ++s)
            G[t * T + s] = G[s * T + t] = dot(rows_ + (from + t) * D_, rows_ + (from + s) * D_, D_);
}

MonomialMap::MonomialMap(std::int64_t D, int degree, double gamma, double offset)
    : D_(D), degree_(degree), gamma_(gamma), offset_(offset) {
    const double g = gamma, c = offset;
    if (degree == 1) square_ = {c, g, 0, 0};
    if (degree == 2) square_ = {c * c, g * g + 2 * g * c, 2 * g * g, 0};
    if (degree == 3)
        square_ = {c * c * c, g * g * g + 3 * g * g * c + 3 * g * c * c, 6 * g * g * g + 6 * g * g * c, 6 * g * g * g};
    first_ = {0, 1, 1 + D, 1 + D + choose2(D), 1 + D + choose2(D) + choose3(D)};
}

double MonomialMap::kernel(double product) const { return std::pow(gamma_ * product + offset_, degree_); }

std::int64_t MonomialMap::expanded(std::int64_t n) const {
    double total = 0;
    for (int m = 0; m <= degree_; ++m) total += choose(n, m);
    return static_cast<std::int64_t>(total + 0.5);
}

void MonomialMap::expand(std::span<const std::int32_t> features, std::vector<std::int32_t>& rows,
                         std::array<std::int64_t, 5>& bounds) const {
    const auto n = static_cast<std::int64_t>(features.size());
    rows.resize(static_cast<std::size_t>(expanded(n)));
    std::int32_t* out = rows.data();
    const auto at = [&] { return static_cast<std::int64_t>(out - rows.data()); };
    *out++ = 0;
    bounds[0] = 0;
    bounds[1] = at();
    for (std::int64_t i = 0; i < n; ++i) *out++ = static_cast<std::int32_t>(first_[1]) + features[i];
    bounds[2] = at();
    if (degree_ >= 2)
        for (std::int64_t j = 1; j < n; ++j) {
            const auto base = static_cast<std::int32_t>(first_[2] + choose2(features[j]));
            for (std::int64_t i = 0; i < j; ++i) *out++ = base + features[i];
        }
    bounds[3] = at();
    if (degree_ >= 3)
        for (std::int64_t k = 2; k < n; ++k)
            for (std::int64_t j = 1; j < k; ++j) {
                const auto base = static_cast<std::int32_t>(first_[3] + choose3(features[k]) + choose2(features[j]));
                for (std::int64_t i = 0; i < j; ++i) *out++ = base + features[i];
            }
    bounds[4] = at();
}

void MonomialObservations::score(std::int64_t from, std::int64_t T, const float* w, std::int64_t S, float* out) {
    std::array<std::int64_t, 5> bounds{};
    for (std::int64_t t = 0; t < T; ++t) {
        map_.expand(list(from + t), rows_, bounds);
        const std::array<std::int64_t, 2> all{0, bounds[4]};
        score_rows(all, rows_, w, S, out + t * S);
    }
}

void MonomialObservations::add(std::int64_t from, std::int64_t T, const float* delta, float step, std::int64_t S,
                               float* w) {
    std::array<std::int64_t, 5> bounds{};
    for (std::int64_t t = 0; t < T; ++t) {
        if (is_zero(delta + t * S, S)) continue;
        map_.expand(list(from + t), rows_, bounds);
        for (std::size_t m = 0; m < 4; ++m) {
            const std::array<std::int64_t, 2> size{bounds[m], bounds[m + 1]};
            if (size[0] < size[1])
                add_rows(size, rows_, delta + t * S, step * static_cast<float>(map_.squares()[m]), S, w);
        }
    }
}

double MonomialObservations::sq_norm(const float* w, std::int64_t S) const {
    double sum = 0;
    for (std::size_t m = 0; m < 4; ++m) {
        const std::int64_t from = map_.firsts()[m], to = std::min(map_.firsts()[m + 1], map_.rows());
        if (from < to) sum += squares(w + from * S, (to - from) * S) / map_.squares()[m];
    }
    return sum;
}

void MonomialObservations::gram(std::int64_t from, std::int64_t T, float* G) {
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t s = t; s < T; ++s) {
            const auto a = list(from + t), b = list(from + s);
            std::int64_t common = 0;
            for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
                common += a[i] == b[j];
                const bool left = a[i] <= b[j], right = b[j] <= a[i];
                i += left;
                j += right;
            }
            G[t * T + s] = G[s * T + t] = static_cast<float>(map_.kernel(static_cast<double>(common)));
        }
}

} // namespace chaffinch::scorers
