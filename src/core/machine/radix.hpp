// Radix sort for short arrays of small numbers; faster than sorting by comparison.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace chaffinch::machine {

// Sorts by key(item), a uint32, by digits of up to ten bits, lowest digit first; stable. scratch is overwritten.
template <class Item, class Key> void radix_sort(std::vector<Item>& items, std::vector<Item>& scratch, Key&& key) {
    if (items.size() < 48) {
        std::ranges::stable_sort(items, {}, key);
        return;
    }
    std::uint32_t used = 0; // bits that any key has set
    for (const Item& item : items) used |= key(item);
    const int width = std::bit_width(used), digits = (width + 9) / 10;
    const int bits = digits == 0 ? 0 : (width + digits - 1) / digits;
    const std::uint32_t mask = (1u << bits) - 1;
    scratch.resize(items.size());
    std::array<std::uint32_t, 1 << 10> next;
    for (int shift = 0; shift < width; shift += bits) {
        std::fill_n(next.begin(), std::size_t{1} << bits, 0);
        for (const Item& item : items) ++next[(key(item) >> shift) & mask];
        std::uint32_t start = 0;
        for (std::uint32_t digit = 0; digit <= mask; ++digit) start += std::exchange(next[digit], start);
        for (const Item& item : items) scratch[next[(key(item) >> shift) & mask]++] = item;
        items.swap(scratch);
    }
}

} // namespace chaffinch::machine
