#include "score.hpp"

#include "bounds.hpp"
#include "clones.hpp"
#include "exp.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace chaffinch::scorers {

namespace {

// Rows of w lie far apart: prefetch the rows of the next features, one request per cache line.
CHAFFINCH_INLINE void prefetch_row(const float* row, std::int64_t S) {
    for (std::int64_t y = 0; y < S; y += 16) __builtin_prefetch(row + y);
}

constexpr std::int64_t ahead = 32;
constexpr std::int64_t most_packs = 8; // of a row that are summed in registers at a time

// out[0 .. P lanes) = the sum of the rows' first P packs. Prefetches the row `ahead` features later.
template <std::int64_t P, bool valued>
CHAFFINCH_INLINE void sum_packs(const std::int32_t* ids, const float* values, std::int64_t n, std::int64_t more,
                                const float* w, std::int64_t S, float* out) {
    machine::Pack<float> sum[P] = {};
    for (std::int64_t k = 0; k < n; ++k) {
        if (k + ahead < more) prefetch_row(w + ids[k + ahead] * S, P * machine::lanes);
        const float* row = w + ids[k] * S;
        for (std::int64_t p = 0; p < P; ++p) {
            machine::Pack<float> part;
            machine::get(part, row + p * machine::lanes);
            if constexpr (valued) part *= values[k];
            sum[p] += part;
        }
    }
    for (std::int64_t p = 0; p < P; ++p) machine::put(out + p * machine::lanes, sum[p]);
}

// `more` ids follow, n of them are summed.
template <bool valued>
CHAFFINCH_INLINE void sum_row(const std::int32_t* ids, const float* values, std::int64_t n, std::int64_t more,
                              const float* w, std::int64_t S, float* out) {
    machine::in_packs<most_packs>(S, [&]<std::int64_t P>(std::int64_t y) CHAFFINCH_INLINE_LAMBDA {
        sum_packs<P, valued>(ids, values, n, more, w + y, S, out + y);
    });
    for (std::int64_t rest = S / machine::lanes * machine::lanes; rest < S; ++rest) { // the stride is not a whole number of packs
        out[rest] = 0;
        for (std::int64_t k = 0; k < n; ++k) out[rest] += valued ? values[k] * w[ids[k] * S + rest] : w[ids[k] * S + rest];
    }
}

template <bool valued>
CHAFFINCH_INLINE void score_each(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* w,
                                 std::int64_t S, float* out, const float* values) {
    const std::int64_t end = ptr.back();
    for (std::int64_t k = ptr.front(); k < std::min(end, ptr.front() + ahead); ++k) prefetch_row(w + ids[k] * S, S);
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t)
        sum_row<valued>(ids.data() + ptr[t], valued ? values + ptr[t] : nullptr, ptr[t + 1] - ptr[t], end - ptr[t], w, S,
                        out + static_cast<std::int64_t>(t) * S);
}

// P packs of one position, as in score_halved_rows. A row is added to both sums, to one of them as zeros, because the
// branch would be unpredictable.
template <std::int64_t P, bool valued>
CHAFFINCH_INLINE void sum_halved_packs(const std::int32_t* ids, const float* values, std::int64_t n, std::int64_t more,
                                       const float* w, std::int64_t S, float* out) {
    using Bits = machine::Pack<std::int32_t>;
    machine::Pack<float> first[P] = {}, second[P] = {};
    const machine::Pack<float> zero = {};
    for (std::int64_t k = 0; k < n; ++k) {
        if (k + ahead < more) prefetch_row(w + ids[k + ahead] * S, P * machine::lanes);
        const float* row = w + ids[k] * S;
        const Bits in_second = Bits{} - half_of(ids[k]);
        for (std::int64_t p = 0; p < P; ++p) {
            machine::Pack<float> part;
            machine::get(part, row + p * machine::lanes);
            if constexpr (valued) part *= values[k];
            first[p] += machine::select(in_second, zero, part);
            second[p] += machine::select(in_second, part, zero);
        }
    }
    for (std::int64_t p = 0; p < P; ++p) {
        const machine::Pack<float> sum = first[p] + second[p];
        machine::put(out + p * machine::lanes, sum);
    }
}

template <bool valued>
CHAFFINCH_INLINE void score_halved_each(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* w,
                                        std::int64_t S, float* out, const float* values) {
    const std::int64_t end = ptr.back();
    for (std::int64_t k = ptr.front(); k < std::min(end, ptr.front() + ahead); ++k) prefetch_row(w + ids[k] * S, S);
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
        const std::int32_t* from = ids.data() + ptr[t];
        const float* by = valued ? values + ptr[t] : nullptr;
        const std::int64_t n = ptr[t + 1] - ptr[t], more = end - ptr[t];
        float* to = out + static_cast<std::int64_t>(t) * S;
        machine::in_packs(S, [&]<std::int64_t P>(std::int64_t y) CHAFFINCH_INLINE_LAMBDA {
            sum_halved_packs<P, valued>(from, by, n, more, w + y, S, to + y);
        });
    }
}

// P packs of one position, as in score_shrunk_rows.
template <std::int64_t P, bool valued>
CHAFFINCH_INLINE void sum_shrunk_packs(const std::int32_t* ids, const float* values, std::int64_t n, std::int64_t more,
                                       const float* u, std::int64_t S, float shrink, float least, float* out,
                                       float* active) {
    using Count = machine::Pack<std::int32_t>;
    machine::Pack<float> sum[P] = {};
    std::conditional_t<valued, machine::Pack<float>, Count> square[P] = {};
    const machine::Pack<float> zero = {}, bound = zero + shrink, floor = zero + least;
    for (std::int64_t k = 0; k < n; ++k) {
        if (k + ahead < more) prefetch_row(u + ids[k + ahead] * S, P * machine::lanes);
        const float* row = u + ids[k] * S;
        for (std::int64_t p = 0; p < P; ++p) {
            machine::Pack<float> here;
            machine::get(here, row + p * machine::lanes);
            const machine::Pack<float> outside = here - machine::within(here, bound);
            const Count counted = machine::beyond(here, floor); // -1 if so
            if constexpr (valued) {
                sum[p] += values[k] * outside;
                square[p] += machine::select(counted, zero + values[k] * values[k], zero);
            } else {
                sum[p] += outside;
                square[p] -= counted;
            }
        }
    }
    for (std::int64_t p = 0; p < P; ++p) {
        machine::put(out + p * machine::lanes, sum[p]);
        if constexpr (valued)
            machine::put(active + p * machine::lanes, square[p]);
        else
            machine::put(active + p * machine::lanes, machine::converted<float, std::int32_t>(square[p]));
    }
}

template <bool valued>
CHAFFINCH_INLINE void score_shrunk_each(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids,
                                        const float* u, std::int64_t S, float shrink, float least, float* out,
                                        float* active, const float* values) {
    const std::int64_t end = ptr.back();
    for (std::int64_t k = ptr.front(); k < std::min(end, ptr.front() + ahead); ++k) prefetch_row(u + ids[k] * S, S);
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
        const std::int32_t* from = ids.data() + ptr[t];
        const float* by = valued ? values + ptr[t] : nullptr;
        const std::int64_t n = ptr[t + 1] - ptr[t], more = end - ptr[t];
        float *to = out + static_cast<std::int64_t>(t) * S, *on = active + static_cast<std::int64_t>(t) * S;
        machine::in_packs(S, [&]<std::int64_t P>(std::int64_t y) CHAFFINCH_INLINE_LAMBDA {
            sum_shrunk_packs<P, valued>(from, by, n, more, u + y, S, shrink, least, to + y, on + y);
        });
    }
}

// w[f][0 .. P lanes) += step * v delta[0 .. P lanes) for the features f of one position.
template <std::int64_t P, bool valued>
CHAFFINCH_INLINE void add_packs(const std::int32_t* ids, [[maybe_unused]] const float* values, std::int64_t n,
                                std::int64_t more, const float* delta, float step, std::int64_t S, float* w) {
    machine::Pack<float> d[P], own;
    for (std::int64_t p = 0; p < P; ++p) {
        machine::get(d[p], delta + p * machine::lanes);
        if constexpr (!valued) d[p] *= step;
    }
    for (std::int64_t k = 0; k < n; ++k) {
        if (k + ahead < more) prefetch_row(w + ids[k + ahead] * S, P * machine::lanes);
        float* row = w + ids[k] * S;
        for (std::int64_t p = 0; p < P; ++p) {
            machine::get(own, row + p * machine::lanes);
            if constexpr (valued)
                own += step * values[k] * d[p];
            else
                own += d[p];
            machine::put(row + p * machine::lanes, own);
        }
    }
}

template <bool valued>
CHAFFINCH_INLINE void add_each(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* delta,
                               float step, std::int64_t S, float* w, const float* values) {
    const std::int64_t end = ptr.empty() ? 0 : ptr.back();
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
        const float* here = delta + static_cast<std::int64_t>(t) * S;
        if (std::all_of(here, here + S, [](float d) { return d == 0; })) continue;
        const std::int64_t from = ptr[t], n = ptr[t + 1] - from;
        machine::in_packs(S, [&]<std::int64_t P>(std::int64_t y) CHAFFINCH_INLINE_LAMBDA {
            add_packs<P, valued>(ids.data() + from, valued ? values + from : nullptr, n, end - from, here + y, step, S, w + y);
        });
        for (std::int64_t rest = S / machine::lanes * machine::lanes; rest < S; ++rest) // the stride is not a whole number of packs
            for (std::int64_t k = from; k < from + n; ++k)
                w[ids[k] * S + rest] += (valued ? step * values[k] : step) * here[rest];
    }
}

} // namespace

CHAFFINCH_HOT void score_rows(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* w,
                              std::int64_t S, float* out, const float* values) {
    if (ptr.empty()) return;
    if (values)
        score_each<true>(ptr, ids, w, S, out, values);
    else
        score_each<false>(ptr, ids, w, S, out, nullptr);
}

CHAFFINCH_HOT void score_halved_rows(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* w,
                                     std::int64_t S, float* out, const float* values) {
    if (ptr.empty()) return;
    if (values)
        score_halved_each<true>(ptr, ids, w, S, out, values);
    else
        score_halved_each<false>(ptr, ids, w, S, out, nullptr);
}

CHAFFINCH_HOT void score_shrunk_rows(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* u,
                                     std::int64_t S, float shrink, float least, float* out, float* active,
                                     const float* values) {
    if (ptr.empty()) return;
    if (values)
        score_shrunk_each<true>(ptr, ids, u, S, shrink, least, out, active, values);
    else
        score_shrunk_each<false>(ptr, ids, u, S, shrink, least, out, active, nullptr);
}

CHAFFINCH_HOT void add_rows(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* delta,
                            float step, std::int64_t S, float* w, const float* values) {
    if (values)
        add_each<true>(ptr, ids, delta, step, S, w, values);
    else
        add_each<false>(ptr, ids, delta, step, S, w, nullptr);
}

double squared_length(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* delta,
                      std::int64_t Y, std::int64_t S, const float* values) {
    struct Use {
        std::int32_t feature;
        float value;
        std::int64_t t;
    };
    std::vector<Use> uses;
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t)
        for (std::int64_t k = ptr[t]; k < ptr[t + 1]; ++k) uses.push_back({ids[k], values ? values[k] : 1.0f, static_cast<std::int64_t>(t)});
    std::stable_sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.feature < b.feature; });
    std::vector<double> row(static_cast<std::size_t>(Y));
    double sum = 0;
    for (std::size_t k = 0; k < uses.size();) {
        std::ranges::fill(row, 0.0);
        const std::int32_t feature = uses[k].feature;
        for (; k < uses.size() && uses[k].feature == feature; ++k)
            for (std::int64_t y = 0; y < Y; ++y) row[y] += static_cast<double>(uses[k].value) * static_cast<double>(delta[uses[k].t * S + y]);
        sum += std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
    }
    return sum;
}

bool all_below(std::span<const std::int32_t> ids, std::int64_t F) {
    return std::ranges::all_of(ids, [F](std::int32_t f) { return f >= 0 && f < F; });
}

} // namespace chaffinch::scorers
