#include "crf_update.hpp"

#include "bounds.hpp"
#include "clones.hpp"
#include "score.hpp"

#include <algorithm>
#include <cstring>

namespace chaffinch::learners {

CHAFFINCH_HOT void move(std::int64_t n, const float* d, float step, float* to) {
    for (std::int64_t k = 0; k < n; ++k) to[k] += step * d[k];
}

CHAFFINCH_HOT void move_where(std::int64_t n, const float* d, float step, const std::uint8_t* trainable, float* to) {
    for (std::int64_t k = 0; k < n; ++k) to[k] += trainable[k] ? step * d[k] : 0.0f;
}

// P packs of one position's features.
template <std::int64_t P, bool valued>
CHAFFINCH_INLINE void add_packs_where(std::span<const std::int32_t> ids, std::int64_t from, std::int64_t to,
                                      std::int64_t end, const float* delta, float step, std::int64_t S,
                                      const std::uint8_t* trainable, float* w, [[maybe_unused]] const float* values) {
    constexpr std::int64_t ahead = 24;
    machine::Pack<float> d[P];
    for (std::int64_t p = 0; p < P; ++p) {
        machine::get(d[p], delta + p * machine::lanes);
        if constexpr (!valued) d[p] *= step;
    }
    for (std::int64_t k = from; k < to; ++k) {
        if (k + ahead < end) {
            __builtin_prefetch(trainable + ids[k + ahead] * S);
            for (std::int64_t y = 0; y < P * machine::lanes; y += 16) __builtin_prefetch(w + ids[k + ahead] * S + y);
        }
        const std::uint8_t* may = trainable + ids[k] * S;
        float* row = w + ids[k] * S;
        for (std::int64_t p = 0; p < P; ++p) {
            machine::Pack<float> own, by = d[p];
            machine::get(own, row + p * machine::lanes);
            if constexpr (valued) by *= step * values[k];
            own += machine::select(machine::flagged(may + p * machine::lanes), by, machine::Pack<float>{});
            machine::put(row + p * machine::lanes, own);
        }
    }
}

// S: whole lanes.
CHAFFINCH_HOT void add_rows_where(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids,
                                  const float* delta, float step, std::int64_t S, const std::uint8_t* trainable,
                                  float* w, const float* values) {
    const std::int64_t end = ptr.back();
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
        const float* here = delta + static_cast<std::int64_t>(t) * S;
        if (std::all_of(here, here + S, [](float d) { return d == 0; })) continue;
        machine::in_packs(S, [&]<std::int64_t P>(std::int64_t y) CHAFFINCH_INLINE_LAMBDA {
            if (values)
                add_packs_where<P, true>(ids, ptr[t], ptr[t + 1], end, here + y, step, S, trainable + y, w + y, values);
            else
                add_packs_where<P, false>(ids, ptr[t], ptr[t + 1], end, here + y, step, S, trainable + y, w + y, nullptr);
        });
    }
}

CHAFFINCH_HOT double squared_norm(std::int64_t n, const float* w) {
    double sum = 0;
    constexpr std::int64_t run = 4096;
    for (std::int64_t from = 0; from < n; from += run) {
        float lane[machine::lanes] = {};
        const std::int64_t to = std::min(n, from + run);
        for (std::int64_t k = from; k < to; k += machine::lanes)
            for (std::int64_t l = 0; l < machine::lanes; ++l) lane[l] += w[k + l] * w[k + l];
        for (const float s : lane) sum += static_cast<double>(s);
    }
    return sum;
}

void add_rows(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids, const float* delta, float step,
              std::int64_t S, const std::uint8_t* trainable, float* w, const float* values) {
    if (trainable)
        add_rows_where(ptr, ids, delta, step, S, trainable, w, values);
    else
        scorers::add_rows(ptr, ids, delta, step, S, w, values);
}

void add_parts(const CrfShape& shape, const CrfData& data, std::int64_t n, const CrfParts<float>& d, float step,
               const std::uint8_t* trainable, float* w) {
    const auto begin = static_cast<std::size_t>(data.begin(n)), bounds = static_cast<std::size_t>(data.length(n)) + 1;
    add_rows(data.ptr.subspan(begin, bounds), data.ids, d.nodes.data(), step, shape.S(), trainable, w, data.values);
    add_chain(shape, data, n, d, step, trainable, w);
}

void add_chain(const CrfShape& shape, const CrfData& data, std::int64_t n, const CrfParts<float>& d, float step,
               const std::uint8_t* trainable, float* w) {
    const std::int64_t begin = data.begin(n), T = data.length(n), chain = shape.pair(), YY = shape.Y * shape.Y;
    const auto add = [&](std::int64_t size, const float* from, std::int64_t at) {
        if (trainable)
            move_where(size, from, step, trainable + at, w + at);
        else
            move(size, from, step, w + at);
    };
    add(shape.chain_size(), d.chain.data(), chain);
    const auto L = static_cast<std::int64_t>(shape.observations.size());
    for (std::int64_t t = 1; t < T; ++t)
        for (std::int64_t l = 0; l < L; ++l) {
            const std::int64_t o = data.observed[(begin + t) * L + l];
            if (o < 0) continue;
            add(YY, d.bigrams.data() + (t - 1) * YY, shape.bigrams(static_cast<std::size_t>(l)) + o * shape.bigram_stride());
        }
}

} // namespace chaffinch::learners
