// Sorting short arrays of small numbers faster than by comparison.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace chaffinch {

// Sorts by key(item), a uint32, byte by byte from the lowest; stable. scratch is overwritten.
template <class Item, class Key> void radix_sort(std::vector<Item>& items, std::vector<Item>& scratch, Key&& key) {
    if (items.size() < 48) {
        std::ranges::stable_sort(items, {}, key);
        return;
    }
    std::uint32_t used = 0; // bits that any key has set
    for (const Item& item : items) used |= key(item);
    scratch.resize(items.size());
    for (int shift = 0; shift < 32 && (used >> shift) != 0; shift += 8) {
        std::array<std::uint32_t, 256> next{};
        for (const Item& item : items) ++next[(key(item) >> shift) & 0xff];
        std::uint32_t start = 0;
        for (std::uint32_t& n : next) {
            const std::uint32_t count = n;
            n = start;
            start += count;
        }
        for (const Item& item : items) scratch[next[(key(item) >> shift) & 0xff]++] = item;
        items.swap(scratch);
    }
}

} // namespace chaffinch
