// Which brackets a label stands for, checked.
#pragma once

#include "arrays.hpp"
#include "expected_brackets.hpp"

#include <algorithm>

namespace chaffinch::bindings {

inline void check_bounds(std::span<const std::int64_t> bounds, std::size_t total) {
    expect(!bounds.empty() && bounds.front() == 0 && bounds.back() == static_cast<std::int64_t>(total),
           "bounds must run from 0 to the end");
    for (std::size_t n = 0; n + 1 < bounds.size(); ++n) expect(bounds[n] <= bounds[n + 1], "bounds must not decrease");
}

inline structures::BracketLabels bracket_labels(const In<std::int64_t>& ptr, const In<std::int32_t>& ids, float toll) {
    check_bounds(span(ptr), ids.size());
    structures::BracketLabels how{{ptr.data(), ptr.data() + ptr.size()}, {ids.data(), ids.data() + ids.size()}, 0, toll};
    for (const std::int32_t b : how.brackets) {
        expect(b >= 0, "a bracket below 0");
        how.count = std::max<std::int64_t>(how.count, b + 1);
    }
    return how;
}

} // namespace chaffinch::bindings
