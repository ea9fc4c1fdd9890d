#include "shared_rows.hpp"

#include <algorithm>

namespace chaffinch::learners {

namespace {

constexpr std::int32_t often = 1 << 10; // features this frequent need no finer order

struct Shared {
    std::int32_t features = 0; // met more than once
    std::size_t alone = 0;     // features met once
};

// place[f]: the rank of f among the features that occur more than once, by falling count; -1 if it occurs once or
// never.
Shared place_shared(const features::Examples& x, std::vector<std::int32_t>& place) {
    place.assign(static_cast<std::size_t>(x.F), 0);
    for (const std::int32_t f : x.ids) ++place[f];
    std::vector<std::int32_t> start(often + 1);
    Shared found;
    for (const std::int32_t count : place) {
        if (count > 1) ++start[std::min(count, often) - 1]; // those above count - 1 come first
        found.alone += count == 1;
    }
    for (std::int32_t c = often; c-- > 0;) {
        const std::int32_t here = start[c];
        start[c] = found.features;
        found.features += here;
    }
    for (std::int32_t& p : place) p = p > 1 ? start[std::min(p, often) - 1]++ : -1;
    return found;
}

} // namespace

SharedRows::SharedRows(const features::Examples& all, bool whole) : all_(all), own_(static_cast<std::size_t>(all.N())), norm_(own_) {
    const auto [F, alone] = whole ? Shared{static_cast<std::int32_t>(all.F), 0} : place_shared(all, place_);
    if (F == all.F) {
        place_ = {};
        for (std::int64_t n = 0; n < all.N(); ++n) norm_[n] = squared_norm(all, n);
        rows_ = all;
        return;
    }
    const bool ones = all.values.empty() && all.by_feature.empty();
    const std::size_t shared = all.ids.size() - alone;
    ids_.resize(shared + 1), values_.resize(ones ? 0 : shared + 1), own_cells_.resize(alone + 1); // one is not kept
    ptr_.reserve(all.ptr.size()), own_ptr_.reserve(all.ptr.size());
    ptr_.push_back(0), own_ptr_.push_back(0);
    // Every cell is written to both sides and kept on one, because a branch would be unpredictable.
    std::int32_t* id = ids_.data();
    float* value = ones ? nullptr : values_.data();
    Cell* own_cell = own_cells_.data();
    for (std::int64_t n = 0; n < all.N(); ++n) {
        const features::rows::Values values(all, n);
        float own = 0, square = 0;
        for (std::int64_t k = all.ptr[n], end = all.ptr[n + 1]; k < end; ++k) {
            const std::int32_t f = all.ids[k], p = place_[f];
            const float v = values[k];
            const bool kept = p >= 0;
            *id = p, id += kept;
            if (value) *value = v, value += kept;
            *own_cell = {f, v}, own_cell += !kept;
            square += v * v;
            own += kept ? 0.0f : v * v;
        }
        ptr_.push_back(id - ids_.data()), own_ptr_.push_back(own_cell - own_cells_.data());
        own_[n] = own, norm_[n] = square + all.bias * all.bias;
    }
    ids_.resize(shared), values_.resize(ones ? 0 : shared);
    rows_ = {ptr_, ids_, values_, F, all.bias};
}

void SharedRows::spread(const float* shared, std::int64_t S,
                        const std::function<void(std::int64_t, float*)>& coefficients, float* w) const {
    if (whole()) {
        std::copy_n(shared, (all_.F + 1) * S, w);
        return;
    }
    for (std::int64_t f = 0; f < all_.F; ++f) {
        if (place_[f] < 0)
            std::fill_n(w + f * S, S, 0.0f);
        else
            std::copy_n(shared + place_[f] * S, S, w + f * S);
    }
    std::copy_n(shared + rows_.F * S, S, w + all_.F * S);
    machine::AlignedVector<float> d(static_cast<std::size_t>(S));
    for (std::int64_t n = 0; n < all_.N(); ++n) {
        if (own_ptr_[n] == own_ptr_[n + 1]) continue;
        coefficients(n, d.data());
        for (std::int64_t k = own_ptr_[n]; k < own_ptr_[n + 1]; ++k) {
            const auto [f, v] = own_cells_[k];
            for (std::int64_t y = 0; y < S; ++y) w[f * S + y] = v * d[y];
        }
    }
}

machine::AlignedVector<float> SharedRows::spread(machine::AlignedVector<float>&& shared, std::int64_t S,
                                        const std::function<void(std::int64_t, float*)>& coefficients) const {
    if (whole()) return std::move(shared);
    machine::AlignedVector<float> w(static_cast<std::size_t>((all_.F + 1) * S));
    spread(shared.data(), S, coefficients, w.data());
    return w;
}

} // namespace chaffinch::learners
