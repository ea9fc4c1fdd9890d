// Documents as rows of weighted features, and the two operations of learners on the weights of a row.
//
//   gather   s[y]    = sum over the features f of example n of  v_f w[f][y]
//   scatter  w[f][y] += v_f d[y]  for the same features
//
// The last row of w is the bias, a feature that every example has with the value `bias` (0: there is none).
#pragma once

#include "aligned.hpp"

#include <cstdint>
#include <span>

namespace chaffinch::features {

struct Examples {
    std::span<const std::int64_t> ptr;  // [N+1]
    std::span<const std::int32_t> ids;  // [nnz]  each in [0, F)
    std::span<const float> values;      // [nnz], or empty: every value is 1, or that of its feature times that of its row
    std::int64_t F = 0;                 // features; row F of w is the bias
    float bias = 0;
    std::span<const float> by_feature = {}; // [F], or empty
    std::span<const float> by_row = {};     // [N], if there is a value by feature

    std::int64_t N() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
    // The value of cell k, which is in row n.
    float value(std::int64_t n, std::int64_t k) const {
        if (!values.empty()) return values[static_cast<std::size_t>(k)];
        return by_feature.empty() ? 1.0f : by_feature[ids[k]] * by_row[n];
    }
};

// |x_n|^2, the bias included.
inline float squared_norm(const Examples& x, std::int64_t n) {
    double sum = static_cast<double>(x.bias) * x.bias;
    for (std::int64_t k = x.ptr[n]; k < x.ptr[n + 1]; ++k) sum += static_cast<double>(x.value(n, k)) * x.value(n, k);
    return static_cast<float>(sum);
}

namespace rows {

constexpr std::int64_t ahead = 8; // rows of w lie far apart: prefetch those of the next features

// The values of the cells of row n.
struct Values {
    const std::int32_t* ids;
    const float *values, *by_feature;
    float by_row;

    CHAFFINCH_INLINE Values(const Examples& x, std::int64_t n)
        : ids(x.ids.data()), values(x.values.empty() ? nullptr : x.values.data()),
          by_feature(x.by_feature.empty() ? nullptr : x.by_feature.data()), by_row(by_feature ? x.by_row[n] : 1.0f) {}
    CHAFFINCH_INLINE float operator[](std::int64_t k) const {
        return values ? values[k] : by_feature ? by_feature[ids[k]] * by_row : 1.0f;
    }
};

// P packs of lanes in registers, from column `first` of rows of stride S. Inlined into every clone of the caller. Odd
// and even cells have separate sums, which do not depend on each other.
template <int P>
CHAFFINCH_INLINE void gather_packs(const Examples& x, std::int64_t n, const float* w, std::int64_t S, float* out) {
    machine::Pack<float> even[P] = {}, odd[P] = {};
    const std::int64_t begin = x.ptr[n], end = x.ptr[n + 1];
    const Values value(x, n);
    const auto add = [&](machine::Pack<float>* sum, const float* row, float v) {
        for (int p = 0; p < P; ++p) {
            machine::Pack<float> here;
            machine::get(here, row + p * machine::lanes);
            sum[p] += v * here;
        }
    };
    const auto ask = [&](std::int64_t k) {
        const float* next = w + value.ids[k] * S;
        __builtin_prefetch(next);
        if (P > 1) __builtin_prefetch(next + 16);
    };
    std::int64_t k = begin;
    for (; k + ahead + 1 < end; k += 2) {
        ask(k + ahead), ask(k + ahead + 1);
        add(even, w + value.ids[k] * S, value[k]);
        add(odd, w + value.ids[k + 1] * S, value[k + 1]);
    }
    for (; k + 1 < end; k += 2) {
        add(even, w + value.ids[k] * S, value[k]);
        add(odd, w + value.ids[k + 1] * S, value[k + 1]);
    }
    if (k < end) add(even, w + value.ids[k] * S, value[k]);
    if (x.bias != 0) add(odd, w + x.F * S, x.bias);
    for (int p = 0; p < P; ++p) machine::put(out + p * machine::lanes, even[p] + odd[p]);
}

template <int P>
CHAFFINCH_INLINE void scatter_packs(const Examples& x, std::int64_t n, const float* d, std::int64_t S, float* w) {
    machine::Pack<float> step[P];
    for (int p = 0; p < P; ++p) machine::get(step[p], d + p * machine::lanes);
    const Values value(x, n);
    const auto add = [&](float* row, float v) {
        for (int p = 0; p < P; ++p) {
            machine::Pack<float> here;
            machine::get(here, row + p * machine::lanes);
            here += v * step[p];
            machine::put(row + p * machine::lanes, here);
        }
    };
    for (std::int64_t k = x.ptr[n]; k < x.ptr[n + 1]; ++k) add(w + value.ids[k] * S, value[k]);
    if (x.bias != 0) add(w + x.F * S, x.bias);
}

// How many packs are taken at once, as a type.
template <int P> struct Packs {
    static constexpr int count = P;
};

// Calls `packs` for column ranges from y on that cover [0, S): four packs at a time, then the rest.
template <class Do> CHAFFINCH_INLINE void by_packs(std::int64_t S, const Do& packs) {
    std::int64_t y = 0;
    for (; S - y >= 4 * machine::lanes; y += 4 * machine::lanes) packs(Packs<4>{}, y);
    switch ((S - y) / machine::lanes) {
    case 3: packs(Packs<3>{}, y); break;
    case 2: packs(Packs<2>{}, y); break;
    case 1: packs(Packs<1>{}, y); break;
    default: break;
    }
}

} // namespace rows

// s[0..S) of example n; S is a whole number of lanes.
CHAFFINCH_INLINE void gather(const Examples& x, std::int64_t n, const float* w, std::int64_t S, float* s) {
    rows::by_packs(S, [&](auto packs, std::int64_t y) CHAFFINCH_INLINE_LAMBDA {
        rows::gather_packs<packs.count>(x, n, w + y, S, s + y);
    });
}

CHAFFINCH_INLINE void scatter(const Examples& x, std::int64_t n, const float* d, std::int64_t S, float* w) {
    rows::by_packs(S, [&](auto packs, std::int64_t y) CHAFFINCH_INLINE_LAMBDA {
        rows::scatter_packs<packs.count>(x, n, d + y, S, w + y);
    });
}

} // namespace chaffinch::features
