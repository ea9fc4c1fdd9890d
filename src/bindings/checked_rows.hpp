// Rows of part features as they cross the border: everything that a kernel trusts is checked here, once.
#pragma once

#include "arrays.hpp"
#include "part_rows.hpp"
#include "score.hpp"

namespace chaffinch::bindings {

// P rows, bounds within ids, as many values as ids, ids below F.
inline PartRows checked_rows(const In<std::int64_t>& ptr, const In<std::int32_t>& ids, const In<float>& values,
                             std::size_t P, std::size_t F) {
    if (ptr.size() != P + 1) throw nb::value_error("ptr must have one bound more than there are parts");
    if (ids.size() != values.size()) throw nb::value_error("ids and values must have the same length");
    std::int64_t last = ptr.data()[0];
    if (last < 0) throw nb::value_error("ptr must not be negative");
    for (const std::int64_t p : span(ptr)) {
        if (p < last) throw nb::value_error("ptr must not decrease");
        last = p;
    }
    if (last > static_cast<std::int64_t>(ids.size())) throw nb::value_error("ptr runs past ids");
    if (!all_below(span(ids), static_cast<std::int64_t>(F))) throw nb::index_error("feature id out of range");
    return {span(ptr), span(ids), span(values)};
}

} // namespace chaffinch::bindings
