// The values of features beside their ids, if there are any.
#pragma once

#include "arrays.hpp"
#include "converters.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace chaffinch::bindings {

using Values = std::optional<In<float>>;

// The values of nnz features, finite; null if none were given: all are 1.
inline const float* checked_values(const Values& values, std::size_t nnz) {
    if (!values) return nullptr;
    expect(values->size() == nnz, "there must be one value per feature id");
    expect(std::ranges::all_of(span(*values), [](float v) { return std::isfinite(v); }), "values must be finite");
    return values->data();
}

} // namespace chaffinch::bindings
