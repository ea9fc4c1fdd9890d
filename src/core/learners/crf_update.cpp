#include "crf_update.hpp"

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

// S: whole lanes.
CHAFFINCH_HOT void add_rows_where(std::span<const std::int64_t> ptr, std::span<const std::int32_t> ids,
                                  const float* delta, float step, std::int64_t S, const std::uint8_t* trainable,
                                  float* w, const float* values) {
    constexpr std::int64_t ahead = 24;
    const std::int64_t end = ptr.back();
    for (std::size_t t = 0; t + 1 < ptr.size(); ++t) {
        const float* __restrict here = delta + static_cast<std::int64_t>(t) * S;
        if (std::all_of(here, here + S, [](float d) { return d == 0; })) continue;
        for (std::int64_t k = ptr[t]; k < ptr[t + 1]; ++k) {
            if (k + ahead < end) {
                __builtin_prefetch(trainable + ids[k + ahead] * S);
                for (std::int64_t y = 0; y < S; y += 16) __builtin_prefetch(w + ids[k + ahead] * S + y);
            }
            const std::uint8_t* may = trainable + ids[k] * S;
            float* row = w + ids[k] * S;
            const float by = values ? step * values[k] : step;
            for (std::int64_t y = 0; y < S; y += machine::lanes) {
                machine::Pack<std::int32_t> flags;
                machine::Pack<float> d, to;
                machine::get(flags, may + y);
                machine::get(d, here + y);
                machine::get(to, row + y);
                d *= by;
                to += machine::select(flags != 0, d, machine::Pack<float>{});
                machine::put(row + y, to);
            }
        }
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
