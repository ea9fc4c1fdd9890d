#include "shared_rows.hpp"

#include <algorithm>

namespace chaffinch {

namespace {

constexpr std::int32_t often = 1 << 10; // features met this often need no finer order

// place[f]: where f stands among the features met more than once, by falling counts; -1 where it is met once or never.
std::int32_t place_shared(const Examples& x, std::vector<std::int32_t>& place) {
    place.assign(static_cast<std::size_t>(x.F), 0);
    for (const std::int32_t f : x.ids) ++place[f];
    std::vector<std::int32_t> start(often + 1);
    for (const std::int32_t count : place)
        if (count > 1) ++start[std::min(count, often) - 1]; // those above count - 1 come first
    std::int32_t total = 0;
    for (std::int32_t c = often; c-- > 0;) {
        const std::int32_t here = start[c];
        start[c] = total;
        total += here;
    }
    for (std::int32_t& p : place) p = p > 1 ? start[std::min(p, often) - 1]++ : -1;
    return total;
}

} // namespace

SharedRows::SharedRows(const Examples& all) : all_(all), ptr_{0} {
    const std::int32_t F = place_shared(all, place_);
    if (F == all.F) {
        place_ = {};
        own_.assign(static_cast<std::size_t>(all.N()), 0.0f);
        for (std::int64_t n = 0; n < all.N(); ++n) norm_.push_back(squared_norm(all, n));
        rows_ = all;
        return;
    }
    ids_.reserve(all.ids.size());
    const bool ones = all.values.empty() && all.by_feature.empty();
    if (!ones) values_.reserve(all.ids.size());
    for (std::int64_t n = 0; n < all.N(); ++n) {
        double own = 0, shared = static_cast<double>(all.bias) * all.bias;
        for (std::int64_t k = all.ptr[n]; k < all.ptr[n + 1]; ++k) {
            const std::int32_t p = place_[all.ids[k]];
            const double v = all.value(n, k);
            (p < 0 ? own : shared) += v * v;
            if (p < 0) continue;
            ids_.push_back(p);
            if (!ones) values_.push_back(all.value(n, k));
        }
        ptr_.push_back(static_cast<std::int64_t>(ids_.size()));
        own_.push_back(static_cast<float>(own));
        norm_.push_back(static_cast<float>(own + shared));
    }
    rows_ = {ptr_, ids_, values_, F, all.bias};
}

void SharedRows::spread(const float* shared, std::int64_t S,
                        const std::function<void(std::int64_t, float*)>& coefficients, float* w) const {
    if (whole()) {
        std::copy_n(shared, (all_.F + 1) * S, w);
        return;
    }
    for (std::int64_t f = 0; f < all_.F; ++f) {
        float* row = w + f * S;
        if (place_[f] < 0)
            std::fill_n(row, S, 0.0f);
        else
            std::copy_n(shared + place_[f] * S, S, row);
    }
    std::copy_n(shared + rows_.F * S, S, w + all_.F * S);
    AlignedVector<float> d(static_cast<std::size_t>(S));
    for (std::int64_t n = 0; n < all_.N(); ++n) {
        if (own_[n] == 0) continue;
        coefficients(n, d.data());
        for (std::int64_t k = all_.ptr[n]; k < all_.ptr[n + 1]; ++k)
            if (place_[all_.ids[k]] < 0) {
                float* row = w + all_.ids[k] * S;
                const float v = all_.value(n, k);
                for (std::int64_t y = 0; y < S; ++y) row[y] = v * d[y];
            }
    }
}

AlignedVector<float> SharedRows::spread(AlignedVector<float>&& shared, std::int64_t S,
                                        const std::function<void(std::int64_t, float*)>& coefficients) const {
    if (whole()) return std::move(shared);
    AlignedVector<float> w(static_cast<std::size_t>((all_.F + 1) * S));
    spread(shared.data(), S, coefficients, w.data());
    return w;
}

} // namespace chaffinch
