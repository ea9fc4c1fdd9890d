// Sentences two by two, those of similar length together: what is done in lockstep then leaves little over.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace chaffinch::structures {

// Calls two(m, n) or one(n) until each of the sentences from .. to-1 that is not empty has had its turn.
template <class Two, class One>
void in_twos(std::span<const std::int64_t> bounds, std::int64_t from, std::int64_t to, Two&& two, One&& one) {
    const auto length = [&](std::int64_t n) { return bounds[n + 1] - bounds[n]; };
    std::vector<std::int64_t> order(static_cast<std::size_t>(to - from));
    std::iota(order.begin(), order.end(), from);
    std::ranges::stable_sort(order, std::greater(), length);
    while (!order.empty() && length(order.back()) == 0) order.pop_back();
    std::size_t k = 0;
    for (; k + 2 <= order.size(); k += 2) two(order[k], order[k + 1]);
    if (k < order.size()) one(order[k]);
}

} // namespace chaffinch::structures
