// Rows of features from Python: everything that a kernel trusts is checked here, once.
#pragma once

#include "arrays.hpp"
#include "part_rows.hpp"
#include "score.hpp"

namespace chaffinch::bindings {

// T rows: bounds rise within ids, and the ids between them are below F.
inline void check_rows(const In<std::int64_t>& ptr, const In<std::int32_t>& ids, std::size_t T, std::int64_t F) {
    if (ptr.size() != T + 1) throw nb::value_error("ptr must have one bound more than there are rows");
    const std::int64_t first = ptr.data()[0];
    std::int64_t last = first;
    if (first < 0) throw nb::value_error("ptr must not be negative");
    for (const std::int64_t p : span(ptr)) {
        if (p < last) throw nb::value_error("ptr must not decrease");
        last = p;
    }
    if (last > static_cast<std::int64_t>(ids.size())) throw nb::value_error("ptr runs past ids");
    if (!scorers::all_below(span(ids).subspan(first, last - first), F)) throw nb::index_error("feature id out of range");
}

// The same of P parts, with as many values as ids.
inline scorers::PartRows checked_rows(const In<std::int64_t>& ptr, const In<std::int32_t>& ids, const In<float>& values,
                             std::size_t P, std::size_t F) {
    if (ids.size() != values.size()) throw nb::value_error("ids and values must have the same length");
    check_rows(ptr, ids, P, static_cast<std::int64_t>(F));
    return {span(ptr), span(ids), span(values)};
}

} // namespace chaffinch::bindings
