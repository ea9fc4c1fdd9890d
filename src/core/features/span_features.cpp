#include "span_features.hpp"

#include <algorithm>
#include <bit>

namespace chaffinch::features {

namespace {

constexpr std::uint64_t mixed(std::uint64_t h, std::uint64_t value) {
    h = (h ^ value) * 0xff51afd7ed558ccdULL;
    return h ^ (h >> 32);
}

constexpr std::uint64_t length_bucket(std::int64_t n) {
    constexpr std::int64_t bounds[] = {1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36};
    std::uint64_t b = 0;
    for (const std::int64_t bound : bounds) b += n > bound;
    return b;
}

std::uint64_t value_at(const SpanColumns& x, const SpanAtom& a, std::int64_t t) {
    if (t < 0 || t >= x.T) return 0;
    return static_cast<std::uint64_t>(std::max(-1, x.columns[static_cast<std::size_t>(a.column)][t]) + 2);
}

} // namespace

template <class Take> void SpanFeatures::each(const SpanColumns& x, std::int64_t i, std::int64_t j, Take&& take) const {
    for (std::size_t m = 0; m + 1 < ptr_.size(); ++m) {
        std::uint64_t h = mixed(0x9e3779b97f4a7c15ULL, m + 1);
        bool whole = true;
        for (std::int64_t k = ptr_[m]; k < ptr_[m + 1] && whole; ++k) {
            const SpanAtom& a = atoms_[static_cast<std::size_t>(k)];
            switch (a.kind) {
            case SpanAtom::first: h = mixed(h, value_at(x, a, i + a.offset)); break;
            case SpanAtom::last: h = mixed(h, value_at(x, a, j - 1 + a.offset)); break;
            case SpanAtom::length: h = mixed(h, length_bucket(j - i)); break;
            case SpanAtom::sequence:
                whole = j - i <= a.offset;
                for (std::int64_t t = i; whole && t < j; ++t) h = mixed(h, value_at(x, a, t));
                h = mixed(h, 1);
                break;
            case SpanAtom::inside: {
                std::uint64_t met = 0;
                for (std::int64_t t = i; t < j; ++t) met |= 1ULL << (value_at(x, a, t) % 64);
                for (; met; met &= met - 1) take(mixed(h, static_cast<std::uint64_t>(std::countr_zero(met))));
                whole = false;
                break;
            }
            }
        }
        if (whole) take(h == KeyTable::no_key ? 0 : h);
    }
}

void SpanFeatures::count(const SpanColumns& x, std::int64_t i, std::int64_t j) {
    each(x, i, j, [&](std::uint64_t key) { table_.count_hashed(key); });
}

void SpanFeatures::freeze(std::int32_t least) {
    const auto [keys, counts] = table_.drained();
    std::vector<std::uint64_t> kept;
    for (std::size_t f = 0; f < keys.size(); ++f)
        if (counts[f] >= least) kept.push_back(keys[f]);
    restore(std::move(kept));
}

bool SpanFeatures::restore(std::vector<std::uint64_t> keys) {
    keys_ = std::move(keys);
    table_.clear(keys_.size());
    for (std::size_t f = 0; f < keys_.size(); ++f)
        if (!table_.set(keys_[f], static_cast<std::int32_t>(f))) return false;
    return true;
}

void SpanFeatures::extract(const SpanColumns& x, const std::uint8_t* open, std::vector<std::int64_t>& ptr,
                           std::vector<std::int32_t>& ids) const {
    const structures::Spans spans{x.T};
    for (std::int64_t i = 0; i < x.T; ++i)
        for (std::int64_t j = i + 1; j <= x.T; ++j) {
            if (j - i == 1 || !open || open[spans.at(i, j)])
                each(x, i, j, [&](std::uint64_t key) {
                    if (const std::int32_t id = table_.find_hashed(key); id != KeyTable::absent) ids.push_back(id);
                });
            ptr.push_back(static_cast<std::int64_t>(ids.size()));
        }
}

} // namespace chaffinch::features
